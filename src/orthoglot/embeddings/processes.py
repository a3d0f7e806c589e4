"""Share independent items of work among processes, one per device."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Lock
from typing import Any, TypeVar

from orthoglot.progress import Done

T = TypeVar("T")
# Works on items, and yields once after each; reports progress meanwhile, from any of its threads.
Work = Callable[[Sequence[T], Done], Iterator[object]]


def in_processes(
    start: Callable[[str], Work[T]], devices: Sequence[str], items: Sequence[T], done: Done
) -> None:
    """Start a process per device that works on every n-th item, and wait until all items are finished.

    However this process ends, the others end at the latest after their current items.

    Args:
        start: Called once in each process with its device. It is pickled.
        devices: One process each; a device may be named more than once.
        items: They are pickled.
        done: Called here with what the processes report.
    Raises:
        OSError: A process ended before its work did, as when memory runs out.
        Exception: What the work raised.
    """
    context = get_context("spawn")
    level = logging.getLogger().getEffectiveLevel()
    processes: dict[Connection, SpawnProcess] = {}
    left: dict[Connection, int] = {}
    try:
        for number, device in enumerate(devices[: len(items)]):
            share = items[number :: len(devices)]
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(
                target=_work,
                args=(writer, start, device, share, level),
                name=f"process {number} on {device}",
            )
            process.start()
            # The only writer is then in the other process, whose end is the end of what can be read.
            writer.close()
            processes[reader], left[reader] = process, len(share)
        while busy := [reader for reader, count in left.items() if count]:
            heard = wait(busy)
            for reader in (reader for reader in busy if reader in heard):
                try:
                    kind, value = reader.recv()
                except EOFError:
                    processes[reader].join()
                    status = processes[reader].exitcode
                    raise OSError(f"{processes[reader].name} ended early, with status {status}") from None
                if kind == "failed":
                    raise value
                if kind == "done":
                    done(value)
                else:
                    left[reader] -= 1
    finally:
        for process in processes.values():
            process.terminate()
            process.join()


def _work(
    writer: Connection,
    start: Callable[[str], Work[T]],
    device: str,
    items: Sequence[T],
    level: int,
) -> None:
    """Send progress, finished items, or the error that ended the work, from the other process."""
    logging.basicConfig(level=level, format=f"%(asctime)s {device} %(message)s", datefmt="%H:%M:%S")
    sending = Lock()

    def send(kind: str, value: Any) -> None:
        with sending:
            writer.send((kind, value))

    try:
        for _ in start(device)(items, lambda count: send("done", count)):
            send("item", None)
    except BrokenPipeError:
        return
    except Exception as error:
        send("failed", error)
