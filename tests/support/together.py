"""Commands of orthoglot in processes of their own, all at once.

A server imports the libraries once. It reads a round from each line of standard input, a list of command lines as JSON,
and starts a process for each of them. When all have ended, it prints how.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self


class Ended(NamedTuple):
    """How a command ended: its exit status, or minus the signal that ended it, and its standard error."""

    status: int
    said: str


class Together:
    """The server, for the tests."""

    def __enter__(self) -> Self:
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        return self

    def __call__(self, *commands: Sequence[object]) -> list[Ended]:
        """Run a round."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps([[*map(str, command)] for command in commands]) + "\n")
        return [Ended(*one) for one in json.loads(self._server.stdout.readline())]

    def __exit__(self, *_: object) -> None:
        self._server.communicate("")


def _start(command: Sequence[str], said: Path) -> int:
    """Start the command in a new process."""
    if process := os.fork():
        return process
    from orthoglot import cli

    status = 70
    try:
        for number, place in enumerate((os.devnull, os.devnull, str(said))):
            os.dup2(os.open(place, os.O_RDWR | os.O_CREAT), number)
        sys.argv = ["orthoglot", *command]
        try:
            cli.main()
            status = 0
        except SystemExit as ended:
            status = int(ended.code or 0)
    finally:
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    """Serve."""
    import torch

    from orthoglot.apply import calibrate, evaluate, explore, export, fit, mine, score  # noqa: F401

    torch.set_num_threads(1)
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as folder:
            commands = json.loads(line)
            files = [Path(folder) / str(number) for number in range(len(commands))]
            processes = [_start(command, file) for command, file in zip(commands, files, strict=True)]
            ends = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
            print(json.dumps([(end, file.read_text()) for end, file in zip(ends, files, strict=True)]))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
