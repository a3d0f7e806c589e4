"""The ready map of an encoder of the catalogue: where it is found, whether it belongs to the weights, its model."""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from orthoglot.apply import ready
from orthoglot.apply.model_folders import MAP, READY
from orthoglot.apply.ready_model import decomposer_of
from orthoglot.atomic import building
from orthoglot.encoders.checkpoint import cause
from orthoglot.encoders.folder import COMMIT, DECISIVE, card, checkpoint_folder, identity, modules, save_card
from orthoglot.encoders.kinds import kind
from orthoglot.encoders.settings import FrozenSettings
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.receipts import file_digest

MOST = 2**29  # bytes of a file that a server sends; a map of 4,096 dimensions has 67 MB


def put(file: Path, settings: FrozenSettings, name: str, folder: Path) -> ready.Ready:
    """Put a map beside the weights of its encoder: FOLDER/encoder.json, and FOLDER/ready, the decomposer with the map.

    Args:
        file: What `ready.save` wrote.
        settings: The encoder's entry of the catalogue.
        name: The name of the entry.
        folder: The encoder's checkpoint, as `orthoglot get` writes it.
    Raises:
        DataError: the map is damaged, or of other vectors than these weights give with these settings.
    """
    model = ready.load(file)
    stated = model.about.get("vectors", {})
    for fact, value in vectors_of(settings, folder).items():
        if stated.get(fact) != value:
            theirs = f"{model.about['encoder']} with {fact} {stated.get(fact)!r}"
            raise DataError(f"map {file}: made of {theirs}; {name} in {folder} has {value!r}")
    here = {"checkpoint": str(folder.resolve()), "revision": "local", "package": None}
    update = {field: value for field, value in here.items() if hasattr(settings, field)}
    make = kind(settings.kind).make
    assert make is not None
    with TemporaryDirectory() as trial:
        make(settings.model_copy(update=update), name, Path(trial))
        described = card(Path(trial)) | {"checkpoint": "."}
    if described["dim"] != len(model.prior.scatter.mean):
        dims = f"{len(model.prior.scatter.mean)} numbers, and those of {name} have {described['dim']}"
        raise DataError(f"map {file}: of vectors with {dims}")
    if package := getattr(settings, "package", None):
        described["bits"] = package.bits
    if package or COMMIT.fullmatch(getattr(settings, "revision", "")):
        described["origin"] = settings.checkpoint
    decomposer = decomposer_of(model, name)
    with building(folder / READY) as partial:
        save_card(folder, described)
        replace(decomposer, identity=identity(folder)).save(partial)
        shutil.copyfile(file, partial / MAP)
    return model


def vectors_of(settings: FrozenSettings, folder: Path) -> dict[str, str]:
    """What decides an encoder's vectors, as its map states it: settings, and the SHA-256 of its files.

    A commit of the hub counts with its repository, and the weights. Without a commit, all files that change a vector
    count (`orthoglot.encoders.folder.DECISIVE`), and the place does not.

    Args:
        settings: The encoder's entry of the catalogue.
        folder: Its encoder folder, or its checkpoint.
    Raises:
        DataError: There are no weights in safetensors.
    """
    fields = ("kind", "revision", "pooling", "prefix")
    stated = {field: str(getattr(settings, field)) for field in fields if hasattr(settings, field)}
    patterns: tuple[str, ...] = DECISIVE
    if COMMIT.fullmatch(stated.get("revision", "")):
        stated["checkpoint"], patterns = settings.checkpoint, ("*.safetensors",)
    described = folder / "encoder.json"
    place = checkpoint_folder(folder, card(folder)) if described.is_file() else folder
    folders = {place}
    if settings.kind == "sentence-transformers":
        folders |= {module.folder for module in modules(place)}
    paths = sorted({path for home in folders for pattern in patterns for path in home.glob(pattern)})
    if not any(path.suffix == ".safetensors" for path in paths):
        raise DataError(f"{place}: holds no .safetensors weights, to which a map could belong")
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(place).as_posix()} {file_digest(path)}\n".encode())
    return {**stated, "files": digest.hexdigest()}


def find(place: str, name: str, scratch: Path) -> Path | None:
    """The map of an encoder, or None where there is none.

    Args:
        place: A file; a folder or an address with NAME.safetensors; or OWNER/NAME@COMMIT of the model hub. `#sha256=`
            and the digest of the file may follow.
        name: The name of the encoder's entry.
        scratch: A folder for a file from elsewhere.
    Raises:
        ConfigError: a commit without 40 hex digits, a repository that the hub cannot have, or another pin.
        OfflineError: a server cannot be reached, or has an error.
        DataError: the file is not the pinned one, or too large.
    """
    pinned = ""
    if "#" in place and not Path(place).exists():
        place, _, pinned = place.rpartition("#")
        if not re.fullmatch("sha256=[0-9a-fA-F]{64}", pinned):
            raise ConfigError(f"map {place}#{pinned}: after # write sha256= and 64 hex digits")
    file_name = f"{name}.safetensors"
    repository, _, commit = place.partition("@")
    if re.match("https?://", place):
        address = place if place.endswith(".safetensors") else f"{place.rstrip('/')}/{file_name}"
        file = _downloaded(address, scratch / file_name)
    elif Path(place).is_dir():
        file = Path(place) / file_name
    elif Path(place).is_file() or not commit:
        file = Path(place)
    elif not COMMIT.fullmatch(commit):
        raise ConfigError(
            f"{place}: no such file or folder; of the model hub give OWNER/NAME@COMMIT, with 40 hex digits"
        )
    else:
        file = _of_hub(repository, commit, file_name)
    if file is None or not file.is_file():
        return None
    if pinned and (digest := f"sha256={file_digest(file)}") != pinned.lower():
        raise DataError(f"map {place}: has {digest}, not {pinned}")
    return file


def _downloaded(address: str, file: Path) -> Path | None:
    import requests
    from huggingface_hub.constants import HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:
        raise OfflineError(f"map {address}: not fetched, as HF_HUB_OFFLINE is set")
    size = 0
    try:
        with requests.get(address, timeout=60, stream=True) as answer, file.open("wb") as output:
            if answer.status_code == 404:
                return None
            answer.raise_for_status()
            for block in answer.iter_content(2**20):
                output.write(block)
                if (size := size + len(block)) > MOST:
                    raise DataError(f"map {address}: larger than {MOST} bytes")
    except requests.RequestException as error:
        raise OfflineError(f"map {address}: cannot be fetched ({cause(error)})") from error
    return file


def _of_hub(repository: str, commit: str, file: str) -> Path | None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
    )

    try:
        return Path(hf_hub_download(repository, file, revision=commit))
    except LocalEntryNotFoundError as error:  # an EntryNotFoundError, too
        raise OfflineError(
            f"map {repository}: {file} at {commit} is not on this machine, and the model hub cannot be reached"
        ) from error
    except HFValidationError as error:
        raise ConfigError(
            f"map {repository}@{commit}: neither a file or folder nor OWNER/NAME of the hub"
        ) from error
    except EntryNotFoundError:
        return None
    except (OSError, HfHubHTTPError) as error:
        raise OfflineError(f"map {repository}: cannot be fetched ({cause(error)})") from error
