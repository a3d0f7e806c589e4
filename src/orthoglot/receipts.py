"""Receipts: `FOLDER/receipt/KEY.json` states that a folder is the whole result of the job with this key.

A receipt lists every other file of the folder with its size and SHA-256. A receipt that cannot be read counts as
absent.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from orthoglot.errors import DataError

NAME = "receipt"
# What `check` has compared by digest: size and modification time of each file, by folder. Any of it may be deleted.
VERIFIED = Path(".cache/verified")


def path(folder: Path, key: str) -> Path:
    """The receipt of the job with this key."""
    return folder / NAME / f"{key}.json"


def write(folder: Path, key: str) -> None:
    """Write the receipt of `folder`; call it last."""
    files = {
        str(file.relative_to(folder)): [file.stat().st_size, file_digest(file)]
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    receipt = path(folder, key)
    receipt.parent.mkdir()
    receipt.write_text(json.dumps({"key": key, "files": files}, indent=1), encoding="utf-8")


def read_key(folder: Path) -> str | None:
    """The key of the job whose result `folder` is; None without a receipt, or if a listed file is absent or resized."""
    for receipt in sorted((folder / NAME).glob("*.json")):
        files = _files(receipt)
        if files is not None and all(_size(folder / name) == size for name, (size, _) in files.items()):
            return receipt.stem
    return None


def check(folder: Path, key: str) -> None:
    """Compare a folder with its receipt: by digest the first time, later by size and modification time.

    Raises:
        DataError: the folder is not the result of this job, or one of its files is not as the job wrote it.
    """
    files = _files(path(folder, key))
    if files is None or read_key(folder) != key:
        raise DataError(f"{folder}: is not the result of job {key}; run the jobs before this one first")
    cache = VERIFIED / f"{folder}.json"
    try:
        verified = json.loads(cache.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        verified = None
    verified = verified if isinstance(verified, dict) else {}
    now: dict[str, Any] = {}
    for name, (_, digest) in files.items():
        stat = (folder / name).stat()
        now[name] = [stat.st_size, stat.st_mtime_ns, digest]
        if verified.get(name) != now[name] and file_digest(folder / name) != digest:
            raise DataError(f"{folder / name}: is damaged (its SHA-256 is not {digest}); {remedy(folder)}")
    if now != verified:
        cache.parent.mkdir(parents=True, exist_ok=True)
        # Jobs that run side by side check the same folder.
        partial = cache.with_name(f"{cache.name}.{os.getpid()}")
        partial.write_text(json.dumps(now), encoding="utf-8")
        partial.replace(cache)


def problems(top: Path) -> Iterator[str]:
    """What is wrong below a folder, one line for each file: damaged, absent, or listed in no receipt.

    A folder without a receipt holds no results, as after `git clone`.
    """
    known: set[Path] = set()
    for receipt in sorted(top.glob(f"**/{NAME}/*.json")):
        folder = receipt.parents[1]
        files = _files(receipt)
        known.add(receipt)
        if files is None:
            yield f"{receipt}: is not a receipt; {remedy(folder)}"
            continue
        for name, (_, digest) in files.items():
            known.add(folder / name)
            if not (folder / name).is_file():
                yield f"{folder / name}: is absent; {remedy(folder)}"
            elif file_digest(folder / name) != digest:
                yield f"{folder / name}: is damaged; {remedy(folder)}"
    for file in sorted(top.rglob("*")) if known else ():
        if file.is_file() and file not in known and file.name != ".gitignore":
            yield f"{file}: is listed in no receipt; remove it if it is not yours"


def sources_digest(modules: Sequence[str]) -> str:
    """SHA-256 of the texts of modules of this package, in their order."""
    found = hashlib.sha256()
    for module in modules:
        stem = Path(__file__).parents[1].joinpath(*module.split("."))
        file = stem.with_suffix(".py") if stem.with_suffix(".py").is_file() else stem / "__init__.py"
        found.update(file.read_bytes() if file.is_file() else b"")
    return found.hexdigest()


def remedy(folder: Path) -> str:
    """The command that restores a damaged folder."""
    return f"restore it with `dvc checkout --force {folder}`, or remove {folder} and run snakemake again"


def _files(receipt: Path) -> dict[str, tuple[int, str]] | None:
    """Size and SHA-256 by file name; None if there is no such receipt, or something else in its place."""
    try:
        content = json.loads(receipt.read_text(encoding="utf-8"))
        found = {str(name): (int(size), str(digest)) for name, (size, digest) in content["files"].items()}
        return found if content["key"] == receipt.stem else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else -1


def file_digest(file: Path) -> str:
    """SHA-256 of a file; "missing" where there is none, as workflow/digests.py writes it."""
    if not file.is_file():
        return "missing"
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
