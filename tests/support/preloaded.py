"""Python's programs, such as `snakemake`, as copies of a process that has imported what earlier ones imported.

More than half of a start is the import of packages. Each command is a process of its own, which runs the program's file
in its folder and environment. It imports the modules of a workspace itself, as these differ.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

PREFIXES = sys.prefix, sys.base_prefix


class Forked:
    """What `subprocess.Popen` offers, for a process of the server; it leads a session."""

    def __init__(self, command: Sequence[str], cwd: Path, env: Mapping[str, str], output: IO[str]) -> None:
        self.returncode: int | None = None
        self._answer, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = json.dumps([*map(str, command), str(cwd), {**env}]).encode()
        with theirs:
            socket.send_fds(_server(), [request], [output.fileno(), theirs.fileno()])
        self.pid = int(self._answer.recv(100))

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, or minus the signal, once it has ended."""
        if self.returncode is None:
            self._answer.settimeout(timeout)
            self.returncode = int(self._answer.recv(100))
        return self.returncode

    def poll(self) -> int | None:
        """The exit status, or None as long as it runs."""
        with suppress(BlockingIOError):
            self.wait(0)
        return self.returncode


@functools.cache
def _server() -> socket.socket:
    """The way to the server, which ends when this process does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    fixed = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    with theirs:
        server = subprocess.Popen(
            [sys.executable, __file__], stdin=theirs, env={**environment, **fixed}, start_new_session=True
        )

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _serve(control: socket.socket) -> tuple[list[str], str, dict[str, str]]:
    """Start the processes that are asked for; returns in each of them, what it is to run."""
    names, to_learn = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    while True:
        request, files, *_ = socket.recv_fds(control, 1 << 20, 2)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not request:
            os._exit(0)
        with suppress(BlockingIOError):
            _learn(names.recv(1 << 20, socket.MSG_DONTWAIT).decode().split())
        if os.fork():
            for file in files:
                os.close(file)
            continue
        output, answer = files[0], socket.socket(fileno=files[1])
        if process := os.fork():
            os.close(output)
            answer.send(str(process).encode())
            answer.send(str(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])).encode())
            os._exit(0)
        os.setsid()
        for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
            os.dup2(file, number)
        answer.close()
        os.close(output)
        control.detach()
        atexit.register(_tell, to_learn, {*sys.modules})
        *command, folder, environment = json.loads(request)
        return command, folder, environment


def _tell(to_learn: socket.socket, known: set[str]) -> None:
    """At the end of a command: what it imported of Python and of packages."""
    files = ((name, getattr(module, "__file__", None)) for name, module in [*sys.modules.items()])
    new = [name for name, file in files if name not in known and str(file).startswith(PREFIXES)]
    with suppress(OSError):
        to_learn.send(" ".join(new).encode(), socket.MSG_DONTWAIT)


def _learn(names: list[str]) -> None:
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _run(command: Sequence[str], folder: str, environment: dict[str, Any]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = [*command]
    sys.path[:1] = [str(Path(command[0]).parent), *environment["PYTHONPATH"].split(os.pathsep)]
    runpy.run_path(command[0], run_name="__main__")


if __name__ == "__main__":
    _run(*_serve(socket.socket(fileno=0)))
