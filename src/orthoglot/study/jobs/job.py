"""One job of the workflow: it leaves the complete output folder with its receipt, or nothing."""

from __future__ import annotations

import fcntl
import gc
import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orthoglot import atomic, receipts
from orthoglot.errors import ConfigError, DataError
from orthoglot.study.jobs import digests

logger = logging.getLogger("orthoglot")
LOCKS = Path(".cache/locks")


def parts(settings: Any, code: Mapping[str, str], files: Mapping[str, str]) -> dict[str, Any]:
    """What the key of a job is a digest of, besides verb, folder and the keys of the inputs; a receipt states it.

    Args:
        settings: The job's settings; licences change no result and are left out.
        code: Digests of its code.
        files: SHA-256 of the user's files that it reads.
    """
    return {"settings": _decisive(settings), "code": code, "files": files}


def key_of(verb: str, folder: str, parts: Mapping[str, Any], inputs: Mapping[str, Mapping[str, str]]) -> str:
    """The key of a job.

    Args:
        verb: The job's verb.
        folder: The folder that it makes.
        parts: See `parts`.
        inputs: The key of each folder that it reads, by role and folder.
    """
    return digests.digest([verb, folder, parts, inputs])


def speed_of(folder: str | Path, key: str) -> Path:
    """Where the speed of a training is recorded (`orthoglot.training.speed`): beside its log, by key.

    It is no part of a result, and may be deleted.
    """
    return Path("logs") / f"{folder}.{key}.speed"


def _decisive(settings: Any) -> Any:
    if not isinstance(settings, dict):
        return settings
    return {name: _decisive(value) for name, value in settings.items() if name != "licence"}


class Job:
    """What one verb has to do.

    Args:
        verb: The name of a module beside this one.
        text: JSON, as workflow/plan.py makes it: settings, input folders, output folder, and the key that they and the
            code must have.
    Raises:
        ConfigError: anything else.
    """

    def __init__(self, verb: str, text: str) -> None:
        self.verb = verb
        self.text = text
        try:
            content = json.loads(text)
            self.key: str = content["key"]
            self.output = Path(content["output"])
            self.settings: dict[str, Any] = content["settings"]
            self._inputs: dict[str, dict[str, str]] = content["inputs"]
            self._selects: list[str] = content["selects"]
            self._files: dict[str, str] = content["files"]
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"not a job of the workflow ({error})") from error
        self.device: str = content.get("device", "auto")
        self.api: str = content.get("api", "")
        self.curves: dict[str, Any] = content.get("curves", {})
        self.frozen: bool = content.get("frozen", False)
        self.processes = 1
        self.checkpoint = Path("checkpoints") / self.key

    def folders(self, role: str) -> list[Path]:
        """The input folders with this role."""
        return [Path(folder) for folder in self._inputs.get(role, {})]

    def speeds(self, role: str) -> dict[Path, Path]:
        """Where the speed of each training in the input folders with this role is recorded, by folder."""
        return {Path(folder): speed_of(folder, key) for folder, key in self._inputs.get(role, {}).items()}

    def folder(self, role: str) -> Path:
        """The only input folder with this role."""
        (folder,) = self.folders(role)
        return folder

    def file_digests(self, role: str) -> dict[Path, str]:
        """SHA-256 of the files of the only input folder with this role, by path; `run` compares the files with them.

        It is empty where files are compared by size alone.
        """
        folder = self.folder(role)
        receipt = None if receipts.trusting() else receipts.read(folder)
        return {folder / name: digest for name, (_, digest) in receipt.files.items()} if receipt else {}

    def seeds(self, role: str) -> list[Path]:
        """The folders seed1, seed2, ... in the input folders with this role, by number."""
        return [
            seed
            for folder in self.folders(role)
            for seed in sorted(folder.glob("seed*"), key=lambda place: int(place.name.removeprefix("seed")))
        ]

    def previous(self) -> Path | None:
        """The output folder as an earlier job left it; None if there is none, or one that is damaged."""
        return self.output if receipts.read_key(self.output, record=True) else None

    def run(self, work: Callable[[Path], None]) -> None:
        """Let `work` fill the output folder, then write its receipt.

        Raises:
            DataError: an input folder is not the result of the job in the plan, or is damaged; the code of the job
                or an outside file has changed since the plan was made.
        """
        self._check_sources()
        inputs = self._check_inputs()
        # The objects of imported libraries stay: looking at them again and again takes half the time of tokenising.
        gc.freeze()
        with self._lock() as waited:
            if not waited or receipts.read_key(self.output, record=True) != self.key:
                with atomic.building(self.output) as output:
                    work(output)
                    self._check_sources()
                    # What was damaged while the job ran may have been read.
                    self._check_inputs()
                    receipts.write(output, self.key, inputs, self._parts())
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        logger.info("done: %s", self.output)

    def _check_inputs(self) -> dict[str, tuple[str, str | None]]:
        """Compare every input folder with its receipt; its key and contents, for the receipt of this job."""
        read: dict[str, tuple[str, str | None]] = {}
        for folder, key in (item for folders in self._inputs.values() for item in folders.items()):
            receipts.check(Path(folder), key, record=True)
            read[folder] = (key, None if receipts.trusting() else receipts.contents(Path(folder), key))
        return read

    def code(self) -> str:
        """A digest of the code that the job uses."""
        return digests.digest(self._parts()["code"])

    def _parts(self) -> dict[str, Any]:
        code = digests.job_code(self.verb, self.settings, self._selects)
        return parts(self.settings, code, self._files)

    def _check_sources(self) -> None:
        """Refuse outside files and code that are not those that the key was made from."""
        again = "has changed since this run began; run snakemake again"
        for path, digest in self._files.items():
            if receipts.file_digest(Path(path)) != digest:
                raise DataError(f"{path}: {again}")
        digests.forget()
        if key_of(self.verb, str(self.output), self._parts(), self._inputs) != self.key:
            raise DataError(f"{self.output}: its code {again}")

    @contextmanager
    def _lock(self) -> Iterator[bool]:
        """Be the only process that makes this folder; yields whether another one made it meanwhile.

        A killed workflow may leave the process of a job running.
        """
        path = LOCKS / f"{self.output}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w") as self.lock:
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                waited = False
            except BlockingIOError:
                logger.info("%s: another process makes it; waiting", self.output)
                fcntl.flock(self.lock, fcntl.LOCK_EX)
                waited = True
            yield waited
