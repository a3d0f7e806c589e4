"""Stands for the command `orthoglot`: runs the verb and lists its functions that ran in .cache/trace/KEY.json."""

from __future__ import annotations

import cProfile
import json
import threading
from importlib import _bootstrap  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

profile = cProfile.Profile(builtins=False)
find_and_load = _bootstrap._find_and_load
loading = 0


def load_unseen(*arguments: Any) -> Any:
    """Load a module; what runs meanwhile is no part of the job."""
    global loading
    if threading.current_thread() is not threading.main_thread():
        return find_and_load(*arguments)
    profile.disable()
    loading += 1
    try:
        return find_and_load(*arguments)
    finally:
        loading -= 1
        if not loading:
            profile.enable()


def ran() -> list[tuple[str, str]]:
    """Module and function of all of the package that ran."""
    codes = [entry.code for entry in profile.getstats()]
    places = [(code.co_filename.partition("/src/orthoglot/")[2], code.co_qualname) for code in codes]
    return sorted({(module, function) for module, function in places if module})


def main() -> None:
    from orthoglot.cli import main as real
    from orthoglot.study.jobs.job import Job

    keys: list[str] = []
    run = Job.run

    def run_and_tell(self: Job, work: Any) -> None:
        keys.append(self.key)
        run(self, work)

    Job.run = run_and_tell  # type: ignore[method-assign]
    _bootstrap._find_and_load = load_unseen
    profile.enable()
    try:
        real()
    finally:
        profile.disable()
        if keys:
            path = Path(f".cache/trace/{keys[0]}.json")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(ran()))


if __name__ == "__main__":
    main()
