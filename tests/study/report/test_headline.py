"""The first table of the report, on records whose numbers are known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from generated_records import DEFINITIONS, DREAM, over_seeds, record

from orthoglot.statistics.records import Record
from orthoglot.study.report.frame import frame
from orthoglot.study.report.headline import Score, best_first, family, headline, sentences

METHODS = (
    "original",
    "lsar",
    "dream",
    "meat",
    "plda",
    "centering",
    "dream+oracle",
    "seed",
    "meat+oracle",
)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lsar", "plda"):
        monkeypatch.setitem(DEFINITIONS, name, (name, "none", ""))


def levels(
    encoder: str, task: str, meaning: dict[str, float], language: dict[str, float] | None = None
) -> list[Record]:
    """Scores of both views, 1 for a language view that is not stated, and changes with an interval of +-1."""
    found = []
    for method, value in meaning.items():
        about = encoder, method
        if method == "original":
            found += over_seeds(*about, "sentence", task, "test", "all", "P@1", values=[value])
            continue
        other = (language or {}).get(method, 1.0)
        found += over_seeds(*about, "meaning", task, "test", "all", "P@1", values=[value] * 2)
        found += over_seeds(*about, "language", task, "test", "all", "P@1", values=[other] * 2)
        change = value - meaning["original"]
        compared = (*about, "meaning", task, "test", "all")
        changes = over_seeds(*compared, "difference-P@1:original", values=[change] * 2)
        changes.append(record(*compared, "p-P@1:original", 0.01, width=None))
        found += [replace(one, facts={"baseline_view": "sentence"}) for one in changes]
    return found


def test_the_training_of_a_method_stands_beside_its_authors_rate() -> None:
    values = {"original": 80.0, "centering": 82.0, "meat": 84.0}
    stated = [
        replace(one, facts={**one.facts, "training": "40 epochs at 0.001"}) if one.method == "meat" else one
        for one in levels("e", "heldout", values)
    ]
    terms = frozenset(DEFINITIONS["meat"][2].split(","))

    def trainings(authors: dict[frozenset[str], str]) -> list[str]:
        return [row.training for row in headline(frame(stated), authors=authors)]

    assert trainings({terms: "1e-05"}) == ["", "", "40 epochs at 0.001 (its authors: 1e-05)"]
    # The authors' own rate, and a method whose authors are not known.
    assert (
        trainings({terms: "0.001"})
        == trainings({frozenset({"x=1"}): "1e-05"})
        == ["", "", "40 epochs at 0.001"]
    )
    assert [row.training for row in headline(frame(levels("e", "heldout", values)))] == [""] * 3


def test_best_is_what_is_shown_to_gain_then_what_finds_most() -> None:
    rows = headline(
        frame(levels("e", "heldout", {"original": 80.0, "centering": 81.0, "meat": 84.0, "seed": 82.0}))
    )
    divided = [row._replace(tone="") if row.method == "meat" else row for row in rows[1:]]
    assert [row.method for row in best_first(divided)] == ["seed", "centering", "meat"]
    assert "by the meaning of seed" in sentences(rows[:1] + divided)[0][1]


def test_the_undivided_ours_the_published_and_the_best_of_each_family() -> None:
    values = dict(zip(METHODS, (80, 82, 84, 81, 92, 83, 86, 79, 81), strict=True))
    # Both readings of MEAT find as many translations by meaning, so the lower language view decides.
    records = levels("e", "heldout", values, {"meat": 60, "meat+oracle": 2})
    found = headline(frame(records))
    assert [(one.method, one.family, one.role) for one in found] == [
        ("original", "undivided vector", "undivided"),
        ("plda", "ours", "ours"),
        ("centering", "closed form", "best"),
        ("dream", "DREAM", "published"),
        ("dream+oracle", "DREAM", "best"),
        ("meat", "MEAT", "published"),
        ("meat+oracle", "MEAT", "best"),
        ("seed", "SEED", "published"),
    ]
    assert found[0].meaning.value == 80
    assert found[0].language is found[0].change is None
    assert found[1].meaning == Score(92, 91, 93)
    assert found[1].language == Score(1, 0, 2)
    assert found[1].change == Score(12, 11, 13)
    assert [one.tone for one in found] == ["", "good", "good", "good", "good", "good", "good", "bad"]


def test_each_encoder_has_tatoeba_where_it_was_scored_and_the_same_methods() -> None:
    one = levels("one", "heldout", {"original": 50, "meat": 90, "meat+oracle": 60})
    one += levels("one", "tatoeba", {"original": 20, "meat": 30, "meat+oracle": 40})
    two = levels("two", "heldout", {"original": 70, "meat": 74, "meat+oracle": 65})
    found = headline(frame(one + two))
    assert [(row.encoder, row.task, row.method, row.meaning.value) for row in found] == [
        ("one", "tatoeba", "original", 20),
        ("one", "tatoeba", "meat", 30),
        ("one", "tatoeba", "meat+oracle", 40),
        ("two", "heldout", "original", 70),
        ("two", "heldout", "meat", 74),
        ("two", "heldout", "meat+oracle", 65),
    ]
    # On average over the encoders meat is the best of its family as soon as it is 16 ahead on one of them.
    two = levels("two", "heldout", {"original": 70, "meat": 82, "meat+oracle": 65})
    assert {row.method for row in headline(frame(one + two))} == {"original", "meat"}


def test_of_too_many_the_undivided_ours_and_the_best_stay() -> None:
    values = dict(zip(METHODS, (80, 82, 84, 81, 92, 83, 86, 79, 81), strict=True))
    records = frame(levels("e", "heldout", values))
    assert [one.method for one in headline(records, most=2)] == ["original", "plda"]
    assert [one.method for one in headline(records, most=3)] == ["original", "plda", "dream+oracle"]
    assert len(headline(records, most=6)) == 6


def test_a_change_without_evidence_has_no_tone_and_none_is_made_up() -> None:
    records = levels("e", "heldout", {"original": 80, "meat": 90})
    unsure = [replace(one, value=0.2) if one.metric.startswith("p-") else one for one in records]
    assert [one.tone for one in headline(frame(unsure))] == ["", ""]
    alone = [one for one in records if one.method == "meat" and one.metric == "P@1"]
    (row,) = headline(frame(alone))
    assert row.change is None


def test_no_retrieval_no_row() -> None:
    records = over_seeds("e", "meat", "meaning", "sts", "sts17", "all", "spearman", values=[50.0])
    assert headline(frame(records)) == []


@pytest.mark.parametrize(
    ("architecture", "terms", "expected"),
    [
        ("original", "", "undivided vector"),
        ("plda", "", "ours"),
        ("lsar", "", "closed form"),
        ("two_head", DREAM, "DREAM"),
        ("two_head", f"{DREAM},oracle.intra_class=1,orthogonality.abs=1", "DREAM"),
        ("two_head of vectors with centre overall", "oracle.intra_class=1", "ORACLE"),
        ("residual", "lancer.correlation=1,seed.meaning=1", "SEED"),
        # Terms of a module of the user's own.
        ("residual", "far_apart.opposition=1,seed.meaning=1", "far_apart + SEED"),
        ("residual", "mine.opposition=1", "mine"),
        ("sparse_autoencoder", "langsae.reconstruction=1", "LangSAE"),
    ],
)
def test_families_are_read_from_what_was_trained(architecture: str, terms: str, expected: str) -> None:
    assert family(architecture, terms) == expected


def test_an_encoder_is_summed_up_in_a_sentence() -> None:
    better = levels("e", "heldout", {"original": 80, "meat": 90, "plda": 92})
    worse = levels("f", "heldout", {"original": 80, "meat": 70, "plda": 75})
    (one, first), (two, second) = sentences(headline(frame(better + worse)))
    assert (one, two) == ("e", "f")
    assert first.startswith("finds 92.0 % of translations by the meaning of plda, 80.0 % by the undivided")
    assert "(+12.0 [+11.0, +13.0])" in first
    assert "80.0 % of translations by the undivided vector; none of these" in second
    alone = [record for record in better if record.method == "meat"]
    ((_, third),) = sentences(headline(frame(alone)))
    assert third.startswith("finds most with meat: 90.0 %")
    whole = [record for record in better if record.method == "original"]
    assert sentences(headline(frame(whole))) == []


def test_a_language_that_can_be_read_from_the_meaning_is_stated() -> None:
    records = levels("e", "heldout", {"original": 80, "meat": 90, "plda": 92})
    for method, view, value in (
        ("original", "sentence", 99.0),
        ("plda", "meaning", 96.0),
        ("plda", "sentence", 99.0),
        ("plda", "language", 40.0),
    ):
        about = "language-probe", "test", "all", "accuracy"
        records += over_seeds("e", method, view, *about, values=[value])
    found = headline(frame(records))
    assert {row.method: row.probe and row.probe.value for row in found} == {
        "original": 99,
        "plda": 96,
        "meat": None,
    }
    ((_, line),) = sentences(found)
    assert line.endswith(
        "From that meaning a linear classifier reads the language of 96.0 % of sentences, from the undivided vector "
        "of 99.0 %."
    )
