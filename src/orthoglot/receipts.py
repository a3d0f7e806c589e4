"""Receipts: `FOLDER/receipt/KEY.json` states that a folder is the whole result of the job with this key.

A receipt lists every other file of the folder with its size and SHA-256, and the folders that the job read. A folder
is the result of a job if its files are those of its only receipt, byte for byte. Hidden files do not count.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from orthoglot.atomic import check_no_folder
from orthoglot.errors import DataError

NAME = "receipt"
# Where the workflow remembers which bytes it has compared (`Record`). Any of it may be deleted.
VERIFIED = Path(".cache/verified")
# Set to 1, files are compared by size alone: for one run, by somebody who knows that they are whole.
TRUST = "ORTHOGLOT_TRUST_FILES"
# A file that changed so shortly before it was read may change again without another time.
SETTLED = 2 * 10**9


class Receipt(NamedTuple):
    """What a receipt states; the file has the SHA-256 of all this besides."""

    key: str  # of the job
    files: Mapping[str, tuple[int, str]]  # size and SHA-256 of every file, by its path in the folder
    # the key and `contents`, as they were then, of every folder that the job read; None for contents that nobody
    # compared
    inputs: Mapping[str, tuple[str, str | None]]
    # what the key was made from, besides the keys of the inputs: settings, digests of modules and of the user's files
    parts: Mapping[str, Mapping[str, object]]


class Record:
    """Which files of a folder were compared by digest, by their state then: device, inode, size, and times of change.

    The clock alone sets the time at which an inode changed, so new bytes are a new state, whatever their size and date,
    but where the clock is set back to the very nanosecond (docs/reliability.md).
    """

    def __init__(self, folder: Path) -> None:
        self.path = VERIFIED / f"{folder}.json"
        self.known = load_cache(self.path)
        self.now: dict[str, str] = {}

    def digest(self, name: str, file: Path) -> str:
        """SHA-256 of a file, which is read only if its state is new."""
        before = state(file)
        known = self.known.get(name)
        if before is not None and isinstance(known, str) and known.startswith(before + " "):
            digest = known.rpartition(" ")[2]
        else:
            digest = file_digest(file)
        if before is not None and before == state(file):
            self.now[name] = f"{before} {digest}"
        return digest

    def save(self) -> None:
        """Spare later processes the reading."""
        if self.now != self.known:
            save_cache(self.path, self.now)


def path(folder: Path, key: str) -> Path:
    """The receipt of the job with this key."""
    return folder / NAME / f"{key}.json"


def write(
    folder: Path,
    key: str,
    inputs: Mapping[str, tuple[str, str | None]] | None = None,
    parts: Mapping[str, object] | None = None,
    without: Iterable[str] = (),
) -> None:
    """Write the receipt of `folder`; call it last.

    Args:
        folder: The folder with all files of the result.
        key: The key of the job.
        inputs: Key and `contents` of each folder that the job read.
        parts: What else the key was made from, as `Receipt` has it.
        without: Files that their owner may change.
    """
    owned = set(without)
    files = {
        name: (file.stat().st_size, file_digest(file)) for name, file in _files(folder) if name not in owned
    }
    place = path(folder, key)
    place.parent.mkdir()
    content = {"key": key, "files": files, "inputs": dict(inputs or {}), "parts": dict(parts or {})}
    content["sha256"] = digest_of(content)
    place.write_text(json.dumps(content, indent=1), encoding="utf-8")


def read(folder: Path) -> Receipt | None:
    """What the only receipt of a folder states; None without one, or with something else in its place."""
    try:
        (place,) = (place for place in (folder / NAME).iterdir() if not place.name.startswith("."))
        content = json.loads(place.read_bytes())
        whole = content.pop("sha256") == digest_of(content) and place.name == f"{content['key']}.json"
        files = {str(name): (int(size), str(digest)) for name, (size, digest) in content["files"].items()}
        inputs = {str(folder): (str(key), then) for folder, (key, then) in content["inputs"].items()}
        parts = {str(name): dict(values) for name, values in content.get("parts", {}).items()}
        # A receipt may come from an object store.
        within = not any(Path(name).is_absolute() or ".." in Path(name).parts for name in files)
        return Receipt(str(content["key"]), files, inputs, parts) if whole and within else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def read_key(folder: Path, record: bool = False) -> str | None:
    """The key of the job whose undamaged result `folder` is; None if it is no such result.

    With `record`, files that a `Record` knows are not read again: for folders of a workspace.
    """
    receipt = read(folder)
    return receipt.key if receipt and next(faults(folder, record), None) is None else None


def check(folder: Path, key: str, record: bool = False) -> None:
    """Compare a folder that a job reads with the receipt of job `key`, by SHA-256; for `record` see `read_key`.

    Raises:
        DataError: the folder is not the result of this job, or one of its files is not as the job wrote it.
    """
    receipt = read(folder)
    if receipt is None or receipt.key != key:
        raise DataError(f"{folder}: is not the result of job {key}; run the jobs before this one first")
    if fault := next(faults(folder, record), None):
        raise DataError(f"{fault}; run snakemake again, which makes {folder} again")


def faults(folder: Path, record: bool = False) -> Iterator[str]:
    """What is wrong with the result that `folder` holds, a line for each file; for `record` see `read_key`."""
    receipt = read(folder)
    if receipt is None:
        yield f"{folder / NAME}: holds no readable receipt"
        return
    seen = Record(folder) if record and not trusting() else None
    there = dict(_files(folder))
    for name, (size, digest) in receipt.files.items():
        file = there.pop(name, None)
        read_digest = partial(seen.digest, name) if seen else file_digest
        if fault := _fault(folder / name if file is None else file, size, digest, read_digest):
            yield fault
    for file in there.values():
        yield f"{file}: is listed in no receipt"
    if seen:
        seen.save()


def check_whole(place: Path) -> None:
    """Compare a file or a folder of a result with the receipt, by SHA-256, for a command that is no job.

    The receipt lies in the folder itself, in the one that holds it, or in the next one, as that of
    METHOD/seed1/weights.safetensors does. What has no receipt there is no result of a job, and is not compared.

    Raises:
        DataError: a file is absent, or not as the job wrote it.
    """
    place = place.absolute()
    home = next((home for home in (place, *place.parents[:2]) if any(home.glob(f"{NAME}/*.json"))), None)
    if home is None:
        return
    again = f"make {home} again, by snakemake, fit or export, or copy it again"
    if (receipt := read(home)) is None:
        raise DataError(f"{home / NAME}: holds no readable receipt; {again}")
    top = place.relative_to(home)
    there = [name for name in receipt.files if Path(name).is_relative_to(top)]
    if not there and place.is_dir():
        return  # a folder of somebody else's
    for name in there or [str(top)]:
        size, digest = receipt.files.get(name, (-1, ""))
        if fault := _fault(home / name, size, digest, file_digest):
            raise DataError(f"{fault}; {again}")


def holds(file: Path) -> bool:
    """Whether a folder has a file that not every folder of its kind has, and has it whole.

    Raises:
        DataError: the folder's receipt lists it, and it is absent or not as the job wrote it.
    """
    receipt = read(file.parent)
    if not file.exists() and (receipt is None or file.name not in receipt.files):
        return False
    check_whole(file)
    return True


def listed(top: Path, name: str) -> list[Path]:
    """The files of this name below a folder, in order: those that are there, and those that a receipt says to be."""
    there = set(top.rglob(name))
    for folder in {place.parents[1] for place in top.glob(f"**/{NAME}/*.json")}:
        receipt = read(folder)
        there |= {folder / file for file in (receipt.files if receipt else ()) if Path(file).name == name}
    return sorted(there)


def contents(folder: Path, key: str) -> str:
    """SHA-256 of what the receipt of this key states about the files of a folder; empty without such a receipt."""
    receipt = read(folder)
    if receipt is None or receipt.key != key:
        return ""
    return digest_of(receipt.files)


def outdated(folder: Path, contents: Callable[[str, str], str]) -> list[str]:
    """The folders of which other bytes are there now than those that the result in `folder` was computed from.

    `contents` gives those of an input, by its folder and key. A folder that is absent, or that another job has made
    since, says nothing.
    """
    receipt = read(folder)
    inputs = receipt.inputs.items() if receipt else ()
    compared = [(source, key, then) for source, (key, then) in inputs if then is not None]
    return [source for source, key, then in compared if contents(source, key) not in ("", then)]


def problems(top: Path, workspace: Path = Path()) -> dict[Path, list[str]]:
    """What is wrong below `top`, by folder of a job; for a file that belongs to no job, by the file.

    A folder without any receipt holds no results, as after `git clone`. Inputs in receipts are relative to `workspace`.
    """
    by_folder: dict[Path, list[str]] = {}
    results = sorted({receipt.parents[1] for receipt in top.glob(f"**/{NAME}/*")})
    for folder in results:
        lines = [*faults(folder)]
        for source in outdated(folder, lambda source, key: contents(workspace / source, key)):
            lines.append(f"{folder}: was computed from other bytes of {source} than are there now")
        receipt = read(folder)
        if receipt and any(then is None for _, then in receipt.inputs.values()):
            lines.append(f"{folder}: was computed with {TRUST}=1, from files that nobody compared")
        if lines:
            by_folder[folder] = lines
    for _, file in _files(top) if results else ():
        if not any(folder in file.parents for folder in results):
            by_folder[file] = [f"{file}: is listed in no receipt; remove it if it is not yours"]
    return by_folder


def _fault(file: Path, size: int, digest: str, read_digest: Callable[[Path], str]) -> str | None:
    """What is wrong with a file of which a receipt states size and digest, or None."""
    if file.is_dir():
        return f"{file}: is a folder in the place of a file (rm -r removes it)"
    if not file.is_file():
        return f"{file}: is absent"
    if file.stat().st_size != size or not (trusting() or read_digest(file) == digest):
        return f"{file}: is damaged"
    return None


def trusting() -> bool:
    """Whether this process compares files by size alone."""
    return os.environ.get(TRUST) == "1"


def digest_of(content: object) -> str:
    """SHA-256 of a value as JSON, whatever the order of its keys."""
    return _sha256(json.dumps(content, sort_keys=True))


def file_digest(file: Path) -> str:
    """SHA-256 of a file; "missing" where there is none, as orthoglot.study.jobs.digests writes it."""
    if not file.is_file():
        return "missing"
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def state(file: Path) -> str | None:
    """What changes whenever the bytes of a file do; None for a file that changed just now."""
    stat = file.stat()
    if stat.st_ctime_ns > time.time_ns() - SETTLED:
        return None
    return f"{stat.st_dev}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ctime_ns}"


def load_cache(file: Path) -> dict[str, object]:
    """What `save_cache` has written; empty for anything else, such as half of it."""
    try:
        digest, _, text = file.read_text(encoding="utf-8").partition("\n")
        known = json.loads(text) if digest == _sha256(text) else {}
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def save_cache(file: Path, known: Mapping[str, object]) -> None:
    """Write what can be computed again; jobs that run at the same time may write the same file."""
    text = json.dumps(known)
    check_no_folder(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    partial.write_text(f"{_sha256(text)}\n{text}", encoding="utf-8")
    partial.replace(file)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Path in the folder and path of each file below it, but for receipts and what is hidden, in order."""
    for here, folders, names in os.walk(folder):
        place = Path(here)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and (name != NAME or place != folder)
        )
        # A link to a folder is not followed: it is no file that a job has written.
        for name in sorted([*names, *(name for name in folders if (place / name).is_symlink())]):
            if not name.startswith("."):
                yield str((place / name).relative_to(folder)), place / name


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
