"""Which printed numbers a preset measures, counted from its settings alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from shipped_settings import shipped_values

from orthoglot.study import config
from orthoglot.study.cli.plan import counts
from orthoglot.study.papers.measured import NO_ENCODER, NO_LANGUAGE, NO_METHOD, NO_TASK, NO_TUNING
from orthoglot.study.papers.published import load_paper, printed_numbers
from orthoglot.study.papers.reachable import STAND_IN, Count, subsets_of

ROOT = Path(__file__).parents[3]
# As docs/papers.md names it, paper by preset.
PRESETS = {
    "oracle": "oracle",
    "seed-sts": "seed",
    "seed-qe": "seed",
    "ems-62": "ems-encoders",
    "xrete": "xrete",
}
FORMS = ROOT / "workflow/papers-small.yaml"
SMALL = {
    "oracle-small": "oracle",
    "seed-small": "seed",
    "ems-62-small": "ems-encoders",
    "xrete-small": "xrete",
}


def counted(preset: str, paper: str, **changes: Any) -> dict[str, Count]:
    """The tables of a paper, with some settings of the preset changed."""
    if preset in SMALL:
        settings = config.load(ROOT / "params.yaml", {**yaml.safe_load(FORMS.read_text()), "preset": preset})
    else:
        values = shipped_values()
        values["presets"][preset] |= changes
        settings = config.check(values | {"preset": preset})
    return {one.table: one for one in counts(load_paper(paper), settings)}


@cache
def whole(preset: str, paper: str) -> dict[str, Count]:
    return counted(preset, paper)


def reasons(tables: Mapping[str, Count]) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in tables.values():
        for (_, reason), numbers in one.missing.items():
            found[reason] += numbers
    return found


@pytest.mark.parametrize(("preset", "paper"), PRESETS.items())
def test_the_page_has_as_many_numbers_as_the_preset_measures(preset: str, paper: str) -> None:
    page = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    rows = [row for row in page.splitlines() if row.startswith(f"| `{preset}` |")]
    assert len(rows) == 1, f"docs/papers.md does not count {preset}"
    stated = {
        table: tuple(map(int, numbers)) for table, *numbers in re.findall(r"(\w+): (\d+) of (\d+)", rows[0])
    }
    tables = whole(preset, paper)
    assert stated == {name: (tables[name].measured, tables[name].printed) for name in stated}
    left = [one for name, one in tables.items() if name not in stated]
    assert not any(one.measured for one in left), "a table that the page does not name"


@pytest.mark.parametrize(("preset", "paper"), PRESETS.items())
def test_every_printed_number_is_counted_once(preset: str, paper: str) -> None:
    tables = whole(preset, paper)
    printed = Counter(one.table for one in printed_numbers(paper) if one.value)
    assert {name: one.printed for name, one in tables.items()} == printed
    assert all(one.measured + one.missing.total() == one.printed for one in tables.values())


@pytest.mark.parametrize(("preset", "paper"), SMALL.items())
def test_a_small_form_lacks_no_encoder_method_or_task(preset: str, paper: str) -> None:
    assert not {NO_ENCODER, NO_METHOD, NO_TASK, NO_TUNING} & set(reasons(counted(preset, paper)))


def test_what_a_preset_loses_is_what_is_missing() -> None:
    of_labse = Counter(one.table for one in printed_numbers("oracle") if one.encoder == "labse" and one.value)
    without = counted("oracle", "oracle", encoders=["laser2", "infoxlm-large"])
    for table, one in without.items():
        assert one.missing["labse", NO_ENCODER] == of_labse[table]
    methods = [name for name in shipped_values()["presets"]["oracle"]["methods"] if "without" not in name]
    assert counted("oracle", "oracle", methods=methods)["4"].missing["labse", NO_METHOD] == 12
    tasks = {"tasks": ["heldout"], "long_tail": []}
    alone = counted("oracle", "oracle", evaluation=tasks)
    assert alone["8"].measured == 351
    assert set(reasons({"3": alone["3"]})) == {NO_TASK}


def test_one_reading_of_a_method_is_enough() -> None:
    released = ["dream-released", "dream+oracle-released", "meat", "meat+oracle-released"]
    assert counted("oracle", "oracle", methods=released)["8"].measured == 351
    assert counted("oracle", "oracle", methods=[*released[:2], "meat"])["8"].measured < 351


def test_a_part_of_the_languages_and_a_stand_in_do_not_count() -> None:
    languages = ["de", "en", "es", "fr", "zh"]
    sliced = counted("oracle", "oracle", languages=languages)
    # Four pairs of twelve, each with the three encoders and nine rows, and no mean over all.
    assert sliced["8"].measured == 4 * 27
    assert set(reasons({"8": sliced["8"]})) == {NO_LANGUAGE}
    dev = counted("ems-62", "ems-encoders", benchmarks=["bucc"])
    assert dev["IX"].measured == 0
    assert dev["IX"].missing["ems", STAND_IN] > 0


def test_a_task_records_the_parts_that_are_counted() -> None:
    """Against the records of a run."""
    table = pd.read_parquet(ROOT / "measurements/small-ems/ems-40.parquet")
    table = table[~table["metric"].str.contains(":")]
    benchmarks = config.load(ROOT / "params.yaml").benchmarks
    compared = 0
    for (task, dataset), rows in table.groupby(["task", "dataset"]):
        if dataset in benchmarks:
            assert set(rows["subset"]) - {"all"} == set(subsets_of(benchmarks[dataset], str(task)))
            compared += 1
    assert compared > 2


def test_the_readme_has_the_sums() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for title, presets in {
        "ORACLE": ["oracle"],
        "SEED": ["seed-qe", "seed-sts"],
        "EMS": ["ems-62"],
        "Emma-X": ["xrete"],
    }.items():
        (row,) = [line for line in readme.splitlines() if line.startswith(f"| {title} |")]
        runs = [whole(preset, PRESETS[preset]) for preset in presets]
        # Each table in the preset that fills it.
        best = [max((run[table] for run in runs), key=lambda one: one.measured) for table in runs[0]]
        measured, printed = sum(one.measured for one in best), sum(one.printed for one in best)
        assert row.endswith(f"| {measured:,} of {printed:,} |"), (title, measured, printed)
        assert all(preset in row for preset in presets)
