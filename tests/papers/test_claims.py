from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from generated_records import METHODS, a_run, over_seeds, record

from orthoglot.papers.claims import Claim, claims
from orthoglot.papers.verdicts import FAILS, HOLDS, UNDECIDED, UNTESTABLE, Case
from orthoglot.statistics.records import ALL, Record


def told(records: list[Record], text: str) -> Claim:
    (found,) = [claim for claim in claims(records) if text in claim.text]
    return found


def case(records: list[Record], text: str) -> Case:
    (found,) = told(records, text).cases
    return found


def level(
    method: str,
    values: Sequence[float],
    task: str = "tatoeba",
    metric: str = "P@1",
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
    assert "paired" in paired.how


def test_a_ratio_to_nothing_is_infinite_and_not_an_error() -> None:
    found = case(level("meat", [50, 50]) + level("meat+oracle", [0.5, 0], width=0.5), "at least to half")
    assert found.high == math.inf
    assert found.seeds == (100, math.inf)
    assert found.verdict == HOLDS


def test_a_host_near_chance_has_nothing_to_halve() -> None:
    """Chance is 0.1 in these records."""
    found = told(level("meat", [0.2, 0.2]) + level("meat+oracle", [0.1, 0.1]), "at least to half")
    assert found.verdict == found.cases[0].verdict == UNTESTABLE
    assert "chance (0.10) is half of meat's 0.20 or more" in found.reason
    assert case(level("meat", [3, 3]) + level("meat+oracle", [0.1, 0.1]), "at least").verdict != UNTESTABLE


def test_meaning_may_move_by_a_point() -> None:
    methods = level("meat", [50], view="meaning") + level("meat+oracle", [51], view="meaning")
    for value, verdict in ((0.5, HOLDS), (-3.0, FAILS), (1.2, UNDECIDED)):
        records = methods + apart("meat+oracle", "meat", [value, value], view="meaning")
        assert case(records, "at most 1.3 points").verdict == verdict


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (30.0, 10.0, HOLDS),
        (-30.0, -10.0, HOLDS),  # towards 0 is upwards here
        (10.0, -4.0, HOLDS),
        (10.0, -30.0, FAILS),  # past 0 and further away than before
        (10.0, 9.8, UNDECIDED),
    ],
)
def test_towards_zero_is_about_the_size_of_a_correlation(before: float, after: float, verdict: str) -> None:
    about = {"task": "sts", "metric": "spearman"}
    records = level("dream", [before, before], **about) + level("dream+oracle", [after, after], **about)  # type: ignore[arg-type]
    change = [after - before, after - before]
    records += apart("dream+oracle", "dream", change, task="sts", kind="difference-spearman")
    found = case(records, "toward 0")
    assert found.value == pytest.approx(abs(before) - abs(after))
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high
    assert found.verdict == verdict


def test_a_correlation_whose_interval_holds_zero_may_have_moved_all_the_way() -> None:
    about = {"task": "sts", "metric": "spearman"}
    records = level("dream", [10.0], **about) + level("dream+oracle", [0.2], **about)  # type: ignore[arg-type]
    records += apart("dream+oracle", "dream", [-9.8], task="sts", kind="difference-spearman")
    found = case(records, "toward 0")
    assert (found.low, found.high) == (pytest.approx(10 - 0.7), pytest.approx(10))  # 0.2 give or take 0.5


def test_claims_about_one_encoder_are_not_decided_on_another() -> None:
    def leaks(encoder: str) -> list[Record]:
        return level("meat", [60], encoder=encoder) + level("dream", [20], encoder=encoder)

    elsewhere = told(leaks("ems-small"), "MEAT leaks more")
    assert elsewhere.verdict == UNTESTABLE
    assert "made about labse, not in this run" in elsewhere.reason
    assert [one.verdict for one in elsewhere.cases] == [HOLDS]
    assert told(leaks("labse-cls"), "MEAT leaks more").verdict == HOLDS  # LaBSE too, by another vector
    both = told(leaks("ems-small") + leaks("labse"), "MEAT leaks more")
    assert both.verdict == HOLDS
    assert both.reason == "of 1 cases: holds 1"


def test_one_case_against_it_is_enough() -> None:
    good = level("meat", [50]) + level("meat+oracle", [5])
    bad = level("meat", [50], task="heldout") + level("meat+oracle", [49], task="heldout")
    vague = level("meat", [50], task="code-switched") + level("meat+oracle", [25], task="code-switched")
    claim = "at least to half"
    assert told(good, claim).verdict == HOLDS
    assert told(good + vague, claim).verdict == UNDECIDED
    assert told(good + vague + bad, claim).verdict == FAILS
    assert told(good + vague + bad, claim).reason == "of 3 cases: holds 1, does not hold 1, undecided 1"


def test_the_ablations_are_compared_with_each_other() -> None:
    records = level("meat+oracle", [8]) + level("meat+oracle-without-ic", [38])
    records += level("meat+oracle-without-is", [9])
    assert case(records, "Dropping IC leaks more").value == pytest.approx(29)
    assert told(records, "Dropping IC leaks more").verdict == HOLDS
    about = {"task": "sts", "metric": "spearman", "view": "meaning"}
    sts = level("meat+oracle", [74.2], **about) + level("meat+oracle-without-is", [72.8], **about)  # type: ignore[arg-type]
    assert told(sts, "Dropping IS costs").verdict == UNDECIDED  # 1.4 apart, each give or take 1


def test_every_loss_of_seed_is_asked_for() -> None:
    about = {"task": "qe", "metric": "pearson", "view": "meaning", "encoder": "me5-large-instruct"}
    values = {"": 49.8, "-without-consistency": 40, "-without-language": 43, "-without-meaning": 30}
    records = [r for less, value in values.items() for r in level(f"seed{less}", [value], **about)]  # type: ignore[arg-type]
    assert [one.verdict for one in told(records, "Every loss").cases] == [HOLDS] * 3
    assert told(records, "hurts most").verdict == HOLDS
    values["-without-meaning"] = 48.5
    records = [r for less, value in values.items() for r in level(f"seed{less}", [value], **about)]  # type: ignore[arg-type]
    assert told(records, "Every loss").verdict == UNDECIDED
    assert told(records, "hurts most").verdict == FAILS


def test_seed_is_held_against_the_best_of_its_rivals() -> None:
    about = {"task": "qe", "metric": "pearson", "view": "meaning", "encoder": "me5-base"}
    values = {"original": 35.7, "centering": 40.8, "dream": 43.5, "meat": 43.4, "seed": 47.0, "lsar": 60.0}
    records = [r for method, value in values.items() for r in level(method, [value], **about)]  # type: ignore[arg-type]
    found = case(records, "best average")
    assert found.quantity.startswith("seed − dream,")
    assert found.verdict == HOLDS
    assert told(records, "best average").verdict == HOLDS


def test_centering_is_tested_on_cross_lingual_pairs_alone() -> None:
    about = {"task": "sts", "metric": "pearson", "view": "meaning", "encoder": "me5-base"}
    records = level("original", [80], subset="en-en", **about) + level(
        "centering", [99], subset="en-en", **about
    )  # type: ignore[arg-type]
    records += level("original", [80], subset="en-de", **about) + level(
        "centering", [70], subset="en-de", **about
    )  # type: ignore[arg-type]
    found = case(records, "hurts cross-lingual")
    assert found.value == pytest.approx(-10)
    assert (found.low, found.high) == (pytest.approx(-12), pytest.approx(-8))
    assert "1 cross-lingual pairs" in found.quantity
    assert told(records, "hurts cross-lingual").verdict == HOLDS
    qe = level("original", [35], task="qe", metric="pearson", view="meaning", encoder="me5-base")
    qe += level("centering", [41], task="qe", metric="pearson", view="meaning", encoder="me5-base")
    assert told(qe, "helps QE").verdict == HOLDS
    paired = record(
        "me5-base", "centering", "meaning", "qe", "qe", ALL, "difference-pearson:original", 0.2, width=0.3
    )
    assert told([*qe, paired], "helps QE").verdict == UNDECIDED


def test_a_run_of_everything_decides_every_claim_it_can() -> None:
    ablations = ["meat+oracle-without-ic", "meat+oracle-without-is", "seed-without-meaning"]
    ablations += ["seed-without-language", "seed-without-consistency"]
    found = claims(a_run(["labse", "me5-base", "me5-large-instruct"], [*METHODS, *ablations]))
    assert len(found) == 12
    assert (
        {claim.text for claim in found if not claim.cases}
        == {
            "ORACLE moves meaning-view retrieval by at most 1.3 points"  # no difference to a host in these records
        }
    )
    for claim in found:
        assert claim.verdict in (HOLDS, FAILS, UNDECIDED, UNTESTABLE)
        assert bool(claim.cases) == (claim.verdict != UNTESTABLE)
