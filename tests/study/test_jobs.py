"""What the jobs of the workflow load: no library that takes seconds and that a job does not use."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = {"torch", "transformers", "sentence_transformers", "sklearn", "scipy.stats", "pandas"}


@pytest.mark.parametrize(
    ("verb", "used"),
    [
        ("benchmark", set()),
        ("decompose", set()),
        ("evaluate", set()),
        ("gather", set()),
        ("generate", set()),
        ("clean", set()),
        ("choose", set()),
        ("pack", set()),
        ("prepare", set()),
        ("report", {"pandas"}),
        ("shard", set()),
        ("stack", set()),
        ("tabulate", {"pandas"}),
    ],
)
def test_the_module_of_a_verb_loads_no_library_that_takes_seconds_and_that_it_does_not_use(
    verb: str, used: set[str]
) -> None:
    code = f"import sys, orthoglot.study.jobs.{verb}\nprint(*sorted({SLOW} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*done.stdout.split()} <= used
