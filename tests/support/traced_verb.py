"""Stands for the command `orthoglot`: runs the verb and lists its functions that ran in .cache/trace/KEY.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

ran: set[tuple[str, str]] = set()


def record(frame: FrameType, event: str, _: Any) -> None:
    code = frame.f_code
    _, inside, module = code.co_filename.partition("/src/orthoglot/")
    function = module, code.co_qualname
    if event != "call" or not inside or function in ran:
        return
    above: FrameType | None = frame
    while above is not None:
        if above.f_code.co_filename.startswith("<frozen importlib"):
            return
        above = above.f_back
    ran.add(function)


def main() -> None:
    sys.setprofile(record)
    from orthoglot.cli import main as real
    from orthoglot.study.jobs.job import Job

    keys: list[str] = []
    run = Job.run

    def run_and_tell(self: Job, work: Any) -> None:
        keys.append(self.key)
        run(self, work)

    Job.run = run_and_tell  # type: ignore[method-assign]
    try:
        real()
    finally:
        sys.setprofile(None)
        if keys:
            path = Path(f".cache/trace/{keys[0]}.json")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(sorted(ran)))


if __name__ == "__main__":
    main()
