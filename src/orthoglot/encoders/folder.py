"""An encoder folder: its card, its checkpoint, and the identity of the encoder.

Needs no PyTorch, so that a program that only checks an identity starts fast.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from orthoglot.encoders import kinds
from orthoglot.encoders.settings import Pooling, Precision
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.file_format import check_format
from orthoglot.receipts import file_digest
from orthoglot.settings import Count

if TYPE_CHECKING:
    from orthoglot.encoders.base import Encoder

# Where the folder of a decomposer that stands alone keeps its encoder.
ENCODER = "encoder"
COMMIT = re.compile(r"[0-9a-f]{40}")
# The first step of a sentence-transformers model without a network.
STATIC = "StaticEmbedding"
# What changes a vector: weights, their shapes, and how text becomes ids.
DECISIVE = (
    "*.safetensors",
    "config.json",
    "modules.json",
    "sentence_*config.json",
    "config_sentence_transformers.json",
    "tokenizer*",
    "sentencepiece*",
    "spiece*",
    "vocab*",
    "merges.txt",
    "added_tokens.json",
    "special_tokens_map.json",
)


class Card(BaseModel):
    """What every encoder.json may state, and of which type it is; each kind states more."""

    model_config = ConfigDict(strict=True, extra="allow")

    kind: str
    name: str = ""
    checkpoint: str = "."
    revision: str = ""
    pooling: Pooling = "mean"
    prefix: str = ""
    max_tokens: Count = 512
    languages: list[str] = []
    dim: Count = 1
    bits: Count = 1


def load_encoder(folder: Path, device: str = "auto", precision: Precision = "float32") -> Encoder:
    """Open an encoder folder; the network computes in `precision`, and its vectors are float32.

    Raises:
        ConfigError: The kind is unknown.
        DataError: There is no such folder, or it is damaged.
    """
    kind = card(folder)["kind"]
    if kind not in kinds.names() or (load := kinds.kind(kind).load) is None:
        known = (name for name in kinds.names() if kinds.kind(name).load)
        raise ConfigError(f"encoder {folder}: unknown kind {kind!r}; known are {', '.join(known)}")
    return load(folder, device, precision)


def identity(folder: Path, digests: Mapping[Path, str] | None = None) -> str:
    """SHA-256 over encoder.json and the names and bytes of the files that decide its vectors.

    It does not depend on the folder's path. A linked checkpoint is read where it is.

    Args:
        folder: An encoder folder.
        digests: SHA-256 of files by path, where they are known; the others are read.
    """
    described = card(folder)
    checkpoint = checkpoint_folder(folder, described)
    files: list[tuple[str, Path]] = []
    for place in (folder, checkpoint):
        paths = {path for pattern in DECISIVE for path in place.glob(pattern) if path.is_file()}
        files += [(path.name, path) for path in sorted(paths)]
    if described["kind"] == "sentence-transformers":
        for home in sorted({module.folder for module in modules(checkpoint)} - {checkpoint}):
            paths = {path for path in home.rglob("*") if path.is_file()}
            files += [(path.relative_to(checkpoint).as_posix(), path) for path in sorted(paths)]
    # A folder that is its own checkpoint counts twice, but is read once.
    digests = {path: (digests or {}).get(path) or file_digest(path) for path in {path for _, path in files}}
    digest = hashlib.sha256((folder / "encoder.json").read_bytes())
    for name, path in files:
        digest.update(f"{name} {digests[path]}\n".encode())
    return digest.hexdigest()


class Module(NamedTuple):
    """A step of a sentence-transformers model."""

    kind: str  # its class
    folder: Path  # of its files


def modules(place: Path) -> list[Module]:
    """The steps that modules.json lists, in order; an absent or damaged file is a DataError."""
    path = place / "modules.json"
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        return [Module(str(step["type"]), place / str(step["path"])) for step in listed]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def begins_static(place: Path) -> bool:
    """Whether a checkpoint is a static encoder; a damaged modules.json is a DataError."""
    steps = modules(place) if (place / "modules.json").is_file() else []
    return bool(steps) and steps[0].kind.endswith(f".{STATIC}")


def checkpoint_folder(folder: Path, described: dict[str, Any]) -> Path:
    """The folder of the checkpoint that an encoder's card names; "." is the encoder folder itself.

    Raises:
        OfflineError: The checkpoint is not on this machine.
    """
    checkpoint = described.get("checkpoint", ".")
    if checkpoint == ".":
        return folder
    known = described["kind"] in kinds.names()
    place = kinds.kind(described["kind"]).place if known else None
    return (place or locate)(checkpoint, described.get("revision", ""))


def stated(folder: Path, *names: str) -> tuple[Path, dict[str, Any]]:
    """The folder of an encoder's checkpoint, and the fields of its card with these names; languages are a tuple.

    Raises:
        DataError: The card is damaged, lacks a field, or states it in another type.
        OfflineError: The checkpoint is not on this machine.
    """
    described = card(folder)
    if missing := [name for name in names if name not in described]:
        raise DataError(f"encoder {folder / 'encoder.json'}: does not state {', '.join(missing)}")
    fields = {name: described[name] for name in names}
    if "languages" in fields:
        fields["languages"] = tuple(fields["languages"])
    return checkpoint_folder(folder, described), fields


def save_card(output: Path, card: dict[str, Any]) -> None:
    """Write encoder.json: the kind, the name and what this kind needs to open the encoder."""
    text = json.dumps(card, indent=1, sort_keys=True)
    (output / "encoder.json").write_text(text + "\n", encoding="utf-8")


def card(folder: Path) -> dict[str, Any]:
    """What encoder.json says."""
    path = folder / "encoder.json"
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"encoder {path}: cannot be read ({error})") from error
    if not isinstance(described, dict) or "kind" not in described:
        raise DataError(f"encoder {path}: does not state its kind")
    check_format(path, described)
    try:
        Card.model_validate(described)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(f"encoder {path}: {place} is {first['input']!r:.100}: {first['msg']}") from error
    return described


def locate(checkpoint: str, revision: str) -> Path:
    """The folder of a checkpoint: itself, or the hub's local copy at exactly that commit; never downloads.

    Raises:
        ConfigError: It is a hub id without a commit hash.
        OfflineError: It is not on this machine; the message has the command that fetches it.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    check_revision(checkpoint, revision)
    if os.path.isdir(checkpoint):
        return Path(checkpoint)
    fetch = f"fetch it with: hf download {checkpoint} --revision {revision}"
    try:
        place = Path(snapshot_download(checkpoint, revision=revision, local_files_only=True))
    except HFValidationError as error:
        raise ConfigError(f"checkpoint {checkpoint!r}: neither a folder nor a hub id") from error
    except LocalEntryNotFoundError as error:
        raise OfflineError(
            f"checkpoint {checkpoint} at {revision} is not on this machine; {fetch}"
        ) from error
    # An interrupted download leaves some of the files.
    config = "tokenizer.json" if begins_static(place) else "config.json"
    for needed in ((config,), ("*.safetensors", "pytorch_model*.bin")):
        if not any(any(place.rglob(pattern)) for pattern in needed):
            raise OfflineError(
                f"checkpoint {checkpoint} at {revision}: {needed[0]} is not on this machine; {fetch}"
            )
    return place


def locate_converted(checkpoint: str, files: Sequence[str], hint: str) -> Path:
    """The folder of a converted encoder that holds these files; if one is absent, an OfflineError gives the `hint`."""
    place = Path(checkpoint)
    for name in files:
        if not (place / name).is_file():
            raise OfflineError(f"{place / name} is not on this machine; {hint}")
    return place


def check_revision(checkpoint: str, revision: str) -> None:
    """Refuse what is neither a folder nor a hub id with a commit, as a branch may change."""
    # False also for a name that no folder can have, where Path.is_dir raises an error.
    if os.path.isdir(checkpoint):
        return
    if revision == "local":
        raise ConfigError(
            f"checkpoint {checkpoint!r}: no such folder; docs/encoders.md says how to get one of the catalogue"
        )
    if not COMMIT.fullmatch(revision):
        raise ConfigError(
            f"checkpoint {checkpoint!r}: no such folder, and as a hub id it needs a commit of 40 hex digits"
            f" as revision, not {revision!r}; orthoglot get NAME fetches an encoder of the catalogue"
        )
