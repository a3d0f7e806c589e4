from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from evaluation_fixtures import SETTINGS
from generated_records import METHODS, a_run, over_seeds, record

from orthoglot.statistics.records import ALL, Record
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.summary import Key
from orthoglot.study.papers.claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    UNTESTABLE,
    Case,
    Outcome,
    evaluate_claims,
    verdict,
)
from orthoglot.study.papers.matching import Run
from orthoglot.study.papers.published import DECOMPOSER_PAPERS, P_AT_1, PAPERS, Claim
from orthoglot.study.report.comparisons import compare_methods
from orthoglot.study.report.frame import Measured


def claims(records: list[Record]) -> list[Outcome]:
    return [
        one for name in DECOMPOSER_PAPERS for one in evaluate_claims(Run(PAPERS[name], Measured(records)))
    ]


def outcome(records: list[Record], text: str) -> Outcome:
    (found,) = [one for one in claims(records) if text in one.claim.text]
    return found


def case(records: list[Record], text: str) -> Case:
    (found,) = outcome(records, text).cases
    return found


def only(records: list[Record], text: str) -> str:
    """The verdict that all of its cases that count have."""
    (found,) = outcome(records, text).counts
    return found


def level(
    method: str,
    values: Sequence[float],
    task: str = "tatoeba",
    metric: str = P_AT_1,
    view: str = "language",
    encoder: str = "labse",
    width: float | None = 1.0,
    subset: str = ALL,
) -> list[Record]:
    """A method's records on a data set of one subset."""
    names = encoder, method, "sentence" if method == "original" else view, task, task
    subsets = ("en-de" if task in ("sts", "qe") else "en->de", ALL) if subset == ALL else (subset,)
    return [r for one in subsets for r in over_seeds(*names, one, metric, values=values, width=width)]


def apart(
    method: str,
    baseline: str,
    values: Sequence[float],
    task: str = "tatoeba",
    kind: str = "difference-P@1",
    view: str = "language",
    width: float = 0.5,
) -> list[Record]:
    """A paired difference, by seed too."""
    return over_seeds(
        "labse", method, view, task, task, ALL, f"{kind}:{baseline}", values=values, width=width
    )


def claim_about(above: float = -math.inf, below: float = math.inf) -> Claim:
    return Claim("", "", (), above=above, below=below)


@pytest.mark.parametrize(
    ("low", "high", "seeds", "decided"),
    [
        (2.1, 3.0, [2.5, 2.6], HOLDS),
        (2.1, math.inf, [2.5, math.inf], HOLDS),
        (2.1, 3.0, [2.5, 1.9], UNDECIDED),  # a seed disagrees
        (1.9, 3.0, [2.5, 2.6], UNDECIDED),  # the interval spans the edge
        (1.0, 1.9, [1.5, 1.6], FAILS),
        (1.0, 1.9, [1.5, 2.6], UNDECIDED),
        (None, 3.0, [2.5], UNDECIDED),
    ],
)
def test_a_case_is_decided_by_its_whole_interval_and_every_seed(
    low: float | None, high: float, seeds: list[float], decided: str
) -> None:
    assert verdict(claim_about(above=2.0), low, high, seeds) == decided


def test_a_two_sided_region_and_an_effect_of_exactly_nothing() -> None:
    region = claim_about(-1.3, 1.3)
    assert verdict(region, -0.5, 1.0, [0.1]) == HOLDS
    assert verdict(region, 1.4, 2.0, [1.7]) == FAILS
    assert verdict(region, 1.0, 2.0, [1.7]) == UNDECIDED
    assert verdict(claim_about(above=0.0), 0.0, 0.0, [0.0]) == FAILS


def test_the_ratio_of_leakage_and_its_interval_by_hand() -> None:
    host, ours = level("meat", [40, 50, 60]), level("meat+oracle", [10, 10, 10])
    plain = case(host + ours, "at least to half")
    assert plain.value == pytest.approx(50 / 10)
    assert (plain.low, plain.high) == (pytest.approx(49 / 11), pytest.approx(51 / 9))
    assert plain.seeds == pytest.approx((4, 5, 6))
    assert plain.verdict == HOLDS
    paired = case(host + ours + apart("meat+oracle", "meat", [-30, -40, -50]), "at least to half")
    corners = [h / (h + d) for h in (49, 51) for d in (-40.5, -39.5)]
    assert (paired.low, paired.high) == (pytest.approx(min(corners)), pytest.approx(max(corners)))
    assert "paired" in paired.ground


def test_a_ratio_to_nothing_is_infinite_and_not_an_error() -> None:
    found = case(level("meat", [50, 50]) + level("meat+oracle", [0.5, 0], width=0.5), "at least to half")
    assert found.high == math.inf
    assert found.seeds == (100, math.inf)
    assert found.verdict == HOLDS


def test_a_host_near_chance_has_nothing_to_halve() -> None:
    """Chance is 0.1 in these records."""
    found = outcome(level("meat", [0.2, 0.2]) + level("meat+oracle", [0.1, 0.1]), "at least to half")
    assert found.verdict == found.cases[0].verdict == UNTESTABLE
    assert "chance (0.10) is half of meat's 0.20 or more" in found.reason
    assert case(level("meat", [3, 3]) + level("meat+oracle", [0.1, 0.1]), "at least").verdict != UNTESTABLE


def test_meaning_may_move_by_a_point() -> None:
    methods = level("meat", [50], view="meaning") + level("meat+oracle", [51], view="meaning")
    for value, decided in ((0.5, HOLDS), (-3.0, FAILS), (1.2, UNDECIDED)):
        records = methods + apart("meat+oracle", "meat", [value, value], view="meaning")
        assert case(records, "at most 1.3 points").verdict == decided


@pytest.mark.parametrize(
    ("before", "after", "decided"),
    [
        (30.0, 10.0, HOLDS),
        (-30.0, -10.0, HOLDS),  # towards 0 is upwards here
        (10.0, -4.0, HOLDS),
        (10.0, -30.0, FAILS),  # past 0 and further away than before
        (10.0, 9.8, UNDECIDED),
    ],
)
def test_towards_zero_is_about_the_size_of_a_correlation(before: float, after: float, decided: str) -> None:
    about: dict[str, Any] = {"task": "sts", "metric": "spearman"}
    records = level("dream", [before, before], **about) + level("dream+oracle", [after, after], **about)
    change = abs(after) - abs(before)
    paired = apart("dream+oracle", "dream", [change, change], task="sts", kind="difference-abs-spearman")
    found = case(records + paired, "toward 0")
    assert found.value == pytest.approx(abs(before) - abs(after))
    assert (found.low, found.high) == (pytest.approx(-change - 0.5), pytest.approx(-change + 0.5))
    assert found.verdict == decided
    # The difference of the correlations themselves says nothing about sizes.
    signed = apart("dream+oracle", "dream", [after - before], task="sts", kind="difference-spearman")
    assert case(records + signed, "toward 0").verdict == UNDECIDED


def test_claims_about_one_encoder_are_not_decided_on_another() -> None:
    def leaks(encoder: str) -> list[Record]:
        return level("meat", [60], encoder=encoder) + level("dream", [20], encoder=encoder)

    elsewhere = outcome(leaks("ems-small"), "MEAT leaks more")
    assert elsewhere.verdict == UNTESTABLE
    assert "made about labse, not in this run" in elsewhere.reason
    assert [(one.verdict, one.counts) for one in elsewhere.cases] == [(HOLDS, False)]
    assert only(leaks("labse-cls"), "MEAT leaks more") == HOLDS  # LaBSE too, by another vector
    both = outcome(leaks("ems-small") + leaks("labse"), "MEAT leaks more")
    assert both.counts == {HOLDS: 1}
    assert both.verdict == "holds in 1 of 1"


@pytest.mark.parametrize("text", ["at least to half", "at most 1.3 points", "toward 0"])
def test_oracles_claims_are_about_its_encoders_and_hosts(text: str) -> None:
    """Other encoders' and hosts' cases are shown, and do not count."""
    task, metric = ("sts", "spearman") if "toward" in text else ("tatoeba", P_AT_1)
    view = "meaning" if "points" in text else "language"

    def of(encoder: str, host: str, ours: str) -> list[Record]:
        about: dict[str, Any] = {"task": task, "metric": metric, "view": view, "encoder": encoder}
        return level(host, [50], **about) + level(ours, [20], **about)

    everything = [
        r for e in ("labse", "laser2", "infoxlm-large", "ems-small") for r in of(e, "meat", "meat+oracle")
    ]
    everything += of("labse", "seed", "seed+oracle")
    found = outcome(everything, text)
    assert found.claim.encoders == ("laser", "infoxlm", "labse")
    counted = [(one.encoder, one.quantity.split(",")[0]) for one in found.cases if one.counts]
    assert sorted(encoder for encoder, _ in counted) == ["infoxlm-large", "labse", "laser2"]
    assert not any("seed" in quantity for _, quantity in counted)
    others = [(one.encoder, "seed" in one.quantity) for one in found.cases if not one.counts]
    assert sorted(others) == [("ems-small", False), ("labse", True)]
    assert outcome(of("ems-small", "meat", "meat+oracle"), text).verdict == UNTESTABLE


def test_cases_are_counted_instead_of_one_against_it_being_enough() -> None:
    good = level("meat", [50]) + level("meat+oracle", [5])
    bad = level("meat", [50], task="heldout") + level("meat+oracle", [49], task="heldout")
    vague = level("meat", [50], task="code-switched") + level("meat+oracle", [25], task="code-switched")
    found = outcome(good + vague + bad, "at least to half")
    assert found.counts == {HOLDS: 1, FAILS: 1, UNDECIDED: 1}
    assert found.verdict == "holds in 1 of 3"
    assert found.reason == "holds 1, does not hold 1, undecided 1"
    assert found.row()["counts"] == {HOLDS: 1, FAILS: 1, UNDECIDED: 1, UNTESTABLE: 0}
    assert outcome(good, "at least to half").verdict == "holds in 1 of 1"


def test_of_many_cases_without_an_effect_as_many_err_as_the_intervals_allow() -> None:
    """24 true differences that lie on the region's edge, each with a 95 % interval: one of them does not hold in
    1 - 0.975^24 = 46 % of such runs, so that a verdict which one case decides would say so. Of the cases 2.5 % do not
    hold and 2.5 % hold, 0.6 of 24 each, as the note of the table says, and also where they share their sentences.
    """
    random = np.random.default_rng(7)
    runs, cases, claim = 4000, 24, claim_about(above=0.0)
    for shared in (0.0, 0.8):
        noise = random.standard_normal((runs, cases)) * (1 - shared**2) ** 0.5
        found = noise + shared * random.standard_normal((runs, 1))
        decided = np.array([[verdict(claim, x - 1.96, x + 1.96, [x]) for x in run] for run in found])
        fails, holds = (decided == FAILS).sum(axis=1), (decided == HOLDS).sum(axis=1)
        assert fails.mean() == pytest.approx(0.6, abs=0.1)
        assert holds.mean() == pytest.approx(0.6, abs=0.1)
        if not shared:
            assert (fails > 0).mean() == pytest.approx(0.46, abs=0.03)


def correlated(
    correlation: float, gold: np.ndarray, random: np.random.Generator, shared: np.ndarray
) -> np.ndarray:
    """Predictions that correlate with the gold scores as stated, and with each other through `shared`."""
    noise = 0.9 * shared + (1 - 0.81) ** 0.5 * random.standard_normal(len(gold))
    return correlation * gold + (1 - correlation**2) ** 0.5 * noise


def test_the_sizes_of_two_correlations_are_compared_on_the_same_draws() -> None:
    """Where ORACLE makes a small correlation larger, "toward 0" must hold by chance alone.

    The host's correlation is 0.06 and the method's 0.08 in truth, on 250 items: taking the host's for known, as this
    claim once did, it held in 19 % of such runs; drawn jointly it may in 2.5 %.
    """
    settings = SETTINGS.model_copy(update={"resamples": 300})
    random = np.random.default_rng(11)
    runs, jointly = 100, 0
    claim = claim_about(above=0.0)
    for _ in range(runs):
        gold, shared = random.standard_normal(250), random.standard_normal(250)
        keys = np.arange(250, dtype=np.uint64)
        scored = {
            ("labse", method): {
                Key("sts", "sts", "en-de", "language", 1, "correlation"): Scores(
                    np.stack([correlated(truth, gold, random, shared), gold], axis=1), keys
                )
            }
            for method, truth in (("dream", 0.06), ("dream+oracle", -0.08))
        }
        found = {
            r.metric: r
            for r in compare_methods(scored, settings, {}, hosts={"dream+oracle": "dream"})
            if r.seed is None
        }
        size = found["difference-abs-spearman:dream"]
        assert size.low is not None
        assert size.high is not None
        jointly += verdict(claim, -size.high, -size.low, [-size.value]) == HOLDS
    assert jointly / runs <= 0.05


def test_the_ablations_are_compared_with_each_other() -> None:
    records = level("meat+oracle", [8]) + level("meat+oracle-without-ic", [38])
    records += level("meat+oracle-without-is", [9])
    assert case(records, "Dropping IC leaks more").value == pytest.approx(29)
    assert only(records, "Dropping IC leaks more") == HOLDS
    about: dict[str, Any] = {"task": "sts", "metric": "spearman", "view": "meaning"}
    sts = level("meat+oracle", [74.2], **about) + level("meat+oracle-without-is", [72.8], **about)
    assert only(sts, "Dropping IS costs") == UNDECIDED  # 1.4 apart, each give or take 1


def test_every_loss_of_seed_is_asked_for() -> None:
    about: dict[str, Any] = {
        "task": "qe",
        "metric": "pearson",
        "view": "meaning",
        "encoder": "me5-large-instruct",
    }
    values = {"": 49.8, "-without-consistency": 40, "-without-language": 43, "-without-meaning": 30}
    records = [r for less, value in values.items() for r in level(f"seed{less}", [value], **about)]  # type: ignore[arg-type]
    assert [one.verdict for one in outcome(records, "Every loss").cases] == [HOLDS] * 3
    assert only(records, "hurts most") == HOLDS
    values["-without-meaning"] = 48.5
    records = [r for less, value in values.items() for r in level(f"seed{less}", [value], **about)]  # type: ignore[arg-type]
    assert outcome(records, "Every loss").counts == {HOLDS: 2, UNDECIDED: 1}
    assert only(records, "hurts most") == FAILS


def test_seed_is_held_against_the_best_of_its_rivals() -> None:
    about: dict[str, Any] = {"task": "qe", "metric": "pearson", "view": "meaning", "encoder": "me5-base"}
    values = {"original": 35.7, "centering": 40.8, "dream": 43.5, "meat": 43.4, "seed": 47.0, "lsar": 60.0}
    records = [r for method, value in values.items() for r in level(method, [value], **about)]  # type: ignore[arg-type]
    found = case(records, "best average")
    assert found.quantity.startswith("seed − dream,")
    assert found.verdict == HOLDS
    assert only(records, "best average") == HOLDS


def test_centering_is_tested_on_cross_lingual_pairs_alone() -> None:
    about: dict[str, Any] = {"task": "sts", "metric": "pearson", "view": "meaning", "encoder": "me5-base"}
    records = level("original", [80], subset="en-en", **about) + level(
        "centering", [99], subset="en-en", **about
    )
    records += level("original", [80], subset="en-de", **about) + level(
        "centering", [70], subset="en-de", **about
    )
    found = case(records, "hurts cross-lingual")
    assert found.value == pytest.approx(-10)
    assert (found.low, found.high) == (pytest.approx(-12), pytest.approx(-8))
    assert found.data == "sts sts, 1 cross-lingual"
    assert only(records, "hurts cross-lingual") == HOLDS
    qe = level("original", [35], task="qe", metric="pearson", view="meaning", encoder="me5-base")
    qe += level("centering", [41], task="qe", metric="pearson", view="meaning", encoder="me5-base")
    assert only(qe, "helps QE") == HOLDS
    paired = record(
        "me5-base", "centering", "meaning", "qe", "qe", ALL, "difference-pearson:original", 0.2, width=0.3
    )
    assert only([*qe, paired], "helps QE") == UNDECIDED


def test_a_run_of_everything_decides_every_claim_it_can() -> None:
    ablations = ["meat+oracle-without-ic", "meat+oracle-without-is", "seed-without-meaning"]
    ablations += ["seed-without-language", "seed-without-consistency"]
    found = claims(a_run(["labse", "me5-base", "me5-large-instruct"], [*METHODS, *ablations]))
    assert len(found) == 12
    for one in found:
        assert sum(one.counts.values()) == sum(case.counts for case in one.cases)
        assert one.testable > 0
        assert set(one.counts) <= {HOLDS, FAILS, UNDECIDED, UNTESTABLE}
