"""Tables of encoders by language: EMS IV to XIII, and those of Emma-X beyond its tasks' means."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from generated_records import record
from markupsafe import escape

from orthoglot.statistics.records import ALL, Record
from orthoglot.study.papers.matching import Run
from orthoglot.study.papers.measured import NO_DATA, NO_LANGUAGE, NO_RUN, PaperCell, cells, further_cells
from orthoglot.study.papers.published import DATA_SETS, PAPERS, SUITES, printed_numbers
from orthoglot.study.papers.table import heading, write_paper
from orthoglot.study.report.frame import Measured

# Task, data set here, source, metric, values by subset.
MEASURED = [
    ("tatoeba", "tatoeba", "tatoeba", "P@1", {"en->de": 99, "de->en": 98, "en->max": 70, "max->en": 60}),
    ("nway", "flores", "flores-200", "P@1", {"de->en": 90, "en->de": 91, "af->gu": 11, "gu->af": 13}),
    ("geometry", "flores", "flores-200", "kl-d", {"head": 0.5, "long-tail": 1.5, ALL: 1.25}),
    ("mining", "bucc", "bucc-2018-xtreme-dev", "F1:best", {"zh-en": 90}),
    ("classification", "mldoc", "mldoc", "accuracy", {"en->de": 80, "de->en": 70}),
    ("classification", "books", "amazon-v1-books", "accuracy", {"en->ja": 60, "ja->en": 66}),
    ("classification", "xnli-all", "xnli", "accuracy", {"all->de": 55, "all->sw": 45}),
]


def a_run(encoder: str = "mine", checkpoint: str = "") -> list[Record]:
    found = []
    for task, dataset, source, metric, values in MEASURED:
        for subset, value in {ALL: sum(values.values()) / len(values), **values}.items():
            one = record(encoder, "original", "sentence", task, dataset, subset, metric, float(value))
            facts = {**one.facts, "source": source, "checkpoint": checkpoint}
            found += [replace(one, seed=seed, facts=facts) for seed in (None, 0)]
    return found


def own(paper: str) -> dict[tuple[str, str, str, str], PaperCell]:
    """The cells of the run's encoder by table, data set, subset and direction."""
    found = further_cells(Run(PAPERS[paper], Measured(a_run())))
    return {
        (one.printed.table, one.printed.dataset, one.printed.subset, one.printed.direction): one
        for one in found
    }


def value(cell: PaperCell) -> float:
    assert cell.measured is not None
    return cell.measured.value


def test_an_encoder_stands_in_the_columns_of_each_table_of_ems() -> None:
    found = own("ems-encoders")
    assert value(found["IV", "tatoeba-58", "en-de", "both"]) == 98.5
    assert value(found["IV", "tatoeba-58", "en-max", "both"]) == 65
    assert found["V", "tatoeba-37", "all", "both"].over == ("en-de", "en-max")
    assert found["V", "tatoeba-45", "all", "both"].over == ("en-de",)
    assert value(found["VII", "flores-240", "af-gu", "both"]) == 12
    assert value(found["IX", "bucc-training", "en-zh", ""]) == 90
    assert value(found["XI", "mldoc", "en-de", "en->xx"]) == 80
    assert value(found["XI", "mldoc", "en-de", "xx->en"]) == 70
    assert value(found["XI", "mldoc", "all", "both"]) == 75
    assert value(found["XII", "amazon-v1-books", "en-ja", "xx->en"]) == 66
    reasons = {place[:3]: cell.reason for place, cell in found.items() if cell.measured is None}
    assert reasons["IV", "tatoeba-58", "en-af"] == NO_LANGUAGE
    assert reasons["XII", "amazon-v1-dvd", "en-ja"] == NO_DATA
    assert found["XII", "amazon-v1", "all", "both"].over == ("amazon-v1-books en-ja",)
    # Of these tables nothing was measured, and the paper's rows alone are shown.
    assert not {place[0] for place in found} & {"VI", "X", "XIII"}


def test_a_mean_is_compared_over_the_languages_that_were_measured() -> None:
    run = Run(PAPERS["ems-encoders"], Measured(a_run("labse", "LaBSE")))
    (cell,) = [
        one
        for one in cells(run)
        if one.printed[1:3] + one.printed[6:8] == ("IV", "labse", "tatoeba-58", "all")
    ]
    assert (cell.over, cell.like) == (("en-de", "en-max"), pytest.approx((99.4 + 71.1) / 2))
    assert cell.difference == pytest.approx((98.5 + 65) / 2 - (99.4 + 71.1) / 2)


def test_geometry_and_whole_flores_are_those_of_other_languages() -> None:
    found = own("xrete")
    shapes = [
        one for one in further_cells(Run(PAPERS["xrete"], Measured(a_run()))) if one.printed.metric == "kl-d"
    ]
    assert {one.printed.subset: value(one) for one in shapes} == {"head": 0.5, "long-tail": 1.5, "all": 1.25}
    assert {one.stand_in for one in shapes} == {"flores-200"}
    head = found["3", "flores-68", "all", "xx->en"]
    assert (value(head), head.over, head.stand_in) == (90, ("en-de",), "flores-200")
    assert found["3", "flores-135", "all", "xx->en"].reason == NO_RUN
    assert value(found["10", "xnli", "sw", "all->xx"]) == 45


@pytest.mark.parametrize("paper", SUITES)
def test_no_number_is_lost_and_what_has_none_is_grey_with_its_reason(paper: str, tmp_path: Path) -> None:
    further = [
        record("mine", "dream", "meaning", "geometry", "flores", "all", "kl-d", 2, seed=seed)
        for seed in (None, 1)
    ]
    write_paper(Run(PAPERS[paper], Measured([*a_run("labse", "LaBSE"), *further])), tmp_path)
    text = (tmp_path / f"{paper}-table.md").read_text()
    page = (tmp_path / f"{paper}-table.html").read_text()
    parts = {title: text.split(f"### Table {title}:")[1].split("###")[0] for title in PAPERS[paper].tables}
    for table, part in parts.items():
        rows = [re.split(r" *\| *", line)[1:-1] for line in part.splitlines() if line.startswith("|")]
        printed = Counter(one.value for one in printed_numbers(paper) if one.table == table)
        shown = Counter(cell.split(" ")[0] for row in rows if row[3:4] == ["published"] for cell in row[4:])
        assert shown - Counter({"–": shown["–"]}) == printed
        assert len(set(rows[0][4:])) == len(rows[0][4:])
    for why in {
        *PAPERS[paper].unmeasured.values(),
        *(one.data.unmeasured for one in printed_numbers(paper)),
    } - {""}:
        assert f"No run: {why}." in text
        assert f'class="absent" title="{escape(why)}"' in page
    # A cell of an encoder that is not in the run, and one of data that are not.
    assert re.search(
        r'<td class="absent" title="its checkpoint is not in this run">[0-9.]+ <small>no encoder', page
    )
    assert re.search(
        r'<td class="absent" title="the data set is not in this run[^"]*">– <small>no data', page
    )
    assert "Grey: not measured here." in page
    # The geometry has no arrow, as each of its metrics has its own.
    assert ("| mine | dream | meaning | measured |" in text) == (paper == "xrete")


def test_columns_of_a_table_have_headings_of_their_own() -> None:
    for name, paper in PAPERS.items():
        for table in paper.tables:
            columns = dict.fromkeys(one.column for one in printed_numbers(name) if one.table == table)
            headings = [heading(paper, column) for column in columns]
            assert len(set(headings)) == len(headings), (name, table)
    books = "classification", "amazon-v1-books", "en-ja", "xx->en", "accuracy", "0..100"
    assert heading(PAPERS["ems-encoders"], books) == "books ja→en"


def test_reasons_are_of_encoders_and_data_sets_that_have_none() -> None:
    for name in SUITES:
        paper = PAPERS[name]
        assert set(paper.unmeasured) == {
            one for one, checkpoints in paper.encoders.items() if not checkpoints
        }
    for data in DATA_SETS.values():
        assert not (data.unmeasured and data.members)
