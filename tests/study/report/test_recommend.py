from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import pytest
from generated_records import a_run, over_seeds
from typer.testing import CliRunner

from orthoglot.cli import app
from orthoglot.errors import ConfigError
from orthoglot.statistics.records import ALL, Record, write_records
from orthoglot.study.report.recommend import BETTER, TIED, USES, WORSE, recommend, table, verdict

Cell = tuple[str, str]


def run(scores: Mapping[Cell, Mapping[str, Sequence[float]]], width: float | None = 0.5) -> list[Record]:
    """Records of {(encoder, task): {method: values by seed}}, accuracy of the meaning view."""
    return [
        one
        for (encoder, task), methods in scores.items()
        for method, values in methods.items()
        for subset in ("en->de", ALL)
        for one in over_seeds(
            encoder,
            method,
            "sentence" if method == "original" else "meaning",
            task,
            task,
            subset,
            "P@1",
            values=values,
            width=width,
        )
    ]


def test_ranks_by_hand() -> None:
    """Cell 1: dream 1, 2; seed 2, 1; original 3, 3. Cell 2: seed 1, dream and original share 2.5."""
    records = run(
        {
            ("a", "heldout"): {"original": [50], "dream": [60, 60], "seed": [55, 65]},
            ("a", "tatoeba"): {"original": [70], "dream": [70, 70], "seed": [80, 80]},
        }
    )
    advice = recommend(records, "retrieval")
    ranks = {place.method: place.rank for place in advice.standings}
    assert ranks == {
        "seed": pytest.approx((1.5 + 1) / 2),
        "dream": pytest.approx((1.5 + 2.5) / 2),
        "original": pytest.approx((3 + 2.5) / 2),
    }
    assert [place.method for place in advice.standings] == ["seed", "dream", "original"]
    assert [place.points for place in advice.standings] == pytest.approx([70, 65, 60])
    assert advice.cells == ["a: heldout heldout", "a: tatoeba tatoeba"]
    assert advice.lacking == []


def test_a_difference_is_shown_by_interval_and_seeds() -> None:
    """Intervals of half a point on each side: a difference of levels reaches one point to each side."""
    records = run(
        {("a", "heldout"): {"seed": [60, 60], "dream": [58, 58], "meat": [59.5, 59.5], "centering": [57, 61]}}
    )
    first, *others = recommend(records, "retrieval").standings
    assert first.method == "seed"
    found = {place.method: place for place in others}
    assert found["dream"].worse == WORSE
    assert (found["dream"].low, found["dream"].high) == (pytest.approx(-3), pytest.approx(-1))
    assert found["meat"].worse == TIED
    assert found["centering"].worse == TIED
    told = verdict(recommend(records, "retrieval"))
    assert (
        told
        == "For retrieval seed has the best mean rank, but was not shown to be better than meat, centering."
    )


def test_seeds_that_disagree_show_nothing() -> None:
    records = run({("a", "heldout"): {"seed": [60, 60, 60], "dream": [40, 40, 61]}}, width=0.1)
    (other,) = recommend(records, "retrieval").standings[1:]
    assert other.high is not None
    assert other.high < 0
    assert other.worse == TIED


def test_rank_and_points_may_disagree_and_the_table_says_so() -> None:
    cells = {(encoder, "heldout"): {"seed": [50.2], "dream": [50]} for encoder in "abc"}
    cells["d", "heldout"] = {"seed": [10], "dream": [90]}
    _, dream = recommend(run(cells), "retrieval").standings
    assert dream.worse == BETTER
    assert "not shown to be better than dream" in verdict(recommend(run(cells), "retrieval"))


def test_paired_differences_to_the_original_sharpen_the_interval() -> None:
    scores = {("a", "heldout"): {"original": [50, 50], "seed": [60, 60], "dream": [59, 59]}}
    records = run(scores, width=5)
    assert [place.worse for place in recommend(records, "retrieval").standings] == [TIED, TIED, TIED]
    for method, gain in (("seed", 10), ("dream", 9)):
        about = "a", method, "meaning", "heldout", "heldout", ALL, "difference-P@1:original"
        records += over_seeds(*about, values=[gain, gain], width=0.3)
    _, dream, original = recommend(records, "retrieval").standings
    assert (dream.low, dream.high) == (pytest.approx(-1.6), pytest.approx(-0.4))
    assert (original.low, original.high) == (pytest.approx(-10.3), pytest.approx(-9.7))
    assert dream.worse == original.worse == WORSE
    assert (
        verdict(recommend(records, "retrieval"))
        == "For retrieval seed is best; each of the other 2 is worse."
    )


def test_a_record_without_an_interval_shows_nothing() -> None:
    records = run({("a", "heldout"): {"seed": [60], "dream": [10]}}, width=None)
    (dream,) = recommend(records, "retrieval").standings[1:]
    assert (dream.low, dream.high, dream.worse) == (None, None, TIED)


def test_a_method_that_a_cell_lacks_is_left_out_and_listed() -> None:
    records = run({("a", "heldout"): {"seed": [60], "dream": [10]}, ("b", "heldout"): {"seed": [60]}})
    advice = recommend(records, "retrieval")
    assert [place.method for place in advice.standings] == ["seed"]
    assert advice.left_out == ["dream"]
    assert advice.lacking == ["tatoeba"]
    assert verdict(advice) == "For retrieval seed is the only method of this run."
    assert "Left out, as some cell lacks them: dream." in table(advice).note


def test_each_use_reads_its_own_tasks() -> None:
    records = a_run(["labse", "me5-base"])
    cells = {use: {name.split(": ")[1] for name in recommend(records, use).cells} for use in USES}
    assert cells == {
        "retrieval": {"heldout test", "tatoeba tatoeba"},
        "scoring": {"sts sts17", "sts sts17-turkish", "sts stsb", "qe mlqe"},
        "search": {"code-switched code-switched", "tatoeba tatoeba"},
    }
    points = {
        (r.encoder, r.dataset): r.value
        for r in records
        if (r.method, r.view, r.subset, r.seed) == ("seed", "meaning", ALL, None)
        if r.metric == {"sts": "spearman", "qe": "pearson"}.get(r.task)
    }
    (seed,) = [place for place in recommend(records, "scoring").standings if place.method == "seed"]
    assert len(points) == 2 * 4
    assert seed.points == pytest.approx(fmean(points.values()))


def test_nothing_to_rank_is_reported_and_an_unknown_use_refused() -> None:
    records = run({("a", "heldout"): {"seed": [60]}})
    assert verdict(recommend(records, "scoring")).startswith("No advice for scoring")
    with pytest.raises(ConfigError, match="no use called cooking; there are retrieval, scoring, search"):
        recommend(records, "cooking")


def test_json_has_the_standings_of_each_use(tmp_path: Path) -> None:
    values = {"original": [50], "dream": [60, 60], "seed": [55, 65]}
    write_records(tmp_path / "records.jsonl", run({("a", "heldout"): values}))
    told = CliRunner().invoke(
        app, ["study", "results", "--advice", str(tmp_path / "records.jsonl"), "--json"]
    )
    found = {one["use"]: one for one in json.loads(told.stdout)}
    assert list(found) == list(USES)
    assert {one["method"] for one in found["retrieval"]["standings"]} == set(values)
