"""An encoder's folder: its card, where its checkpoint lies, and by its bytes which encoder it is.

Needs no PyTorch, so that whoever only checks an identity starts fast.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from orthoglot.errors import ConfigError, DataError, OfflineError

COMMIT = re.compile(r"[0-9a-f]{40}")
# What changes a vector: weights, their shapes, and how text becomes ids.
DECISIVE = (
    "*.safetensors",
    "config.json",
    "tokenizer*",
    "sentencepiece*",
    "spiece*",
    "vocab*",
    "merges.txt",
    "added_tokens.json",
    "special_tokens_map.json",
)


def identity(folder: Path) -> str:
    """SHA-256 over encoder.json and the names and bytes of the files that decide its vectors.

    The same settings and weights give the same identity wherever the folder lies; a linked checkpoint is read
    at its place.
    """
    described = card(folder)
    digest = hashlib.sha256((folder / "encoder.json").read_bytes())
    for place in (folder, _checkpoint(folder, described)):
        for path in sorted({path for pattern in DECISIVE for path in place.glob(pattern) if path.is_file()}):
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{path.name} {content}\n".encode())
    return digest.hexdigest()


def _checkpoint(folder: Path, described: dict[str, Any]) -> Path:
    checkpoint = described.get("checkpoint", ".")
    return folder if checkpoint == "." else locate(checkpoint, described["revision"])


def card(folder: Path) -> dict[str, Any]:
    """What encoder.json says."""
    path = folder / "encoder.json"
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"encoder {path}: cannot be read ({error})") from error
    if not isinstance(described, dict) or "kind" not in described:
        raise DataError(f"encoder {path}: does not state its kind")
    return described


def locate(checkpoint: str, revision: str) -> Path:
    """The folder of a checkpoint: itself, or the hub's local copy at exactly that commit; never downloads.

    Raises:
        ConfigError: a hub id without a commit hash.
        OfflineError: not on this machine; the message tells the command that fetches it.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    check_revision(checkpoint, revision)
    if Path(checkpoint).is_dir():
        return Path(checkpoint)
    try:
        return Path(snapshot_download(checkpoint, revision=revision, local_files_only=True))
    except HFValidationError as error:
        raise ConfigError(f"checkpoint {checkpoint!r}: neither a folder nor a hub id") from error
    except LocalEntryNotFoundError as error:
        raise OfflineError(_fetch_hint(checkpoint, revision)) from error


def check_revision(checkpoint: str, revision: str) -> None:
    """Refuse what is neither a folder nor a hub id at a commit: `main` may be another model tomorrow."""
    if not Path(checkpoint).is_dir() and not COMMIT.fullmatch(revision):
        raise ConfigError(
            f"checkpoint {checkpoint!r}: no such folder, and as a hub id it needs a commit of 40 hex digits"
            f" as revision, not {revision!r}"
        )


def _fetch_hint(checkpoint: str, revision: str) -> str:
    return (
        f"checkpoint {checkpoint} at {revision} is not on this machine; fetch it with: "
        f"hf download {checkpoint} --revision {revision}"
    )
