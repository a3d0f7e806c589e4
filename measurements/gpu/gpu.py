"""Prove and measure everything on a GPU: the same results as a CPU, and how fast each part is.

python measurements/gpu/gpu.py --output FOLDER                 # every part, each at most ten minutes
python measurements/gpu/gpu.py --part search --output FOLDER   # one part; may be repeated
python measurements/gpu/gpu.py --tiny --output FOLDER          # every part on small sizes, on a CPU too: a trial

Each part runs in a process of its own and leaves FOLDER/NAME.json; the page FOLDER/gpu.md is made of these files
alone. A part whose file is there, of the same code, settings and device, is not run again; one that is stopped leaves
what it has measured. The exit status is 1 if a part is not done. Nothing is downloaded:
networks have random weights, and me5-small is used where `orthoglot get` has put it. docs/gpu.md describes the
parts.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from gpu_parts import PARTS
from gpu_parts.page import write_page
from gpu_parts.result import finished, run_part, stopped

# Of a part and of all, in seconds.
LIMIT, ALL = 600, 2400


def main() -> int:
    """Run the parts that are missing, one after the other; 1 if one of them is not done."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", action="append", choices=list(PARTS), help="all without it")
    parser.add_argument("--output", type=Path, required=True, help="folder of the results")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to try the command")
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    # For the processes that parts start.
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    # The server of processes imports what all parts need once, and never touches a GPU.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["gpu_parts.result", "gpu_parts.models"])
    # A run that is terminated goes through `finally`, so that no part of it keeps the GPU.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    started, left = time.monotonic(), []
    for name in chosen.part or PARTS:
        if finished(name, chosen.output, chosen.tiny):
            say(f"{name}: done before")
            continue
        limit = min(LIMIT, ALL - (time.monotonic() - started))
        if limit <= 0:
            say(f"{name}: no time left of {ALL} s; run the command again")
            left.append(name)
            continue
        say(f"{name}: running")
        (chosen.output / f"{name}.json").unlink(missing_ok=True)
        process = processes.Process(target=run_part, args=(name, chosen.output, chosen.tiny))
        process.start()
        try:
            process.join(limit)
            late = process.is_alive()
        finally:
            # With what it has started; alone if it has no group of its own yet.
            process.kill()
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        if late:
            stopped(name, chosen.output, chosen.tiny, f"stopped after {limit:.0f} s")
        elif process.exitcode not in (0, 1):
            stopped(name, chosen.output, chosen.tiny, f"ended with status {process.exitcode}")
        if process.exitcode:
            left.append(name)
        say(f"{name}: {'not done' if process.exitcode else 'done'}")
        write_page(chosen.output)
    write_page(chosen.output)
    say(f"{chosen.output / 'gpu.md'}" + (f"; not done: {', '.join(left)}" if left else ""))
    return bool(left)


def say(line: str) -> None:
    """One line on standard output."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
