"""Signs of a collapse are those that the training warns of."""

from __future__ import annotations

import numpy as np
import pytest

from orthoglot.study.pretraining.emma_x_diagnostics import alarming, alarms, has_votes, signs

USUAL = {
    **{
        f"valid.{who}_rank_{n}": share
        for who in ("classifier", "encoder")
        for n, share in ((1, 0.1), (2, 0.9))
    },
    **{"valid.score_1": 0.8, "valid.score_2": 0.1, "valid.agreement": 0.9, "valid.spread": 0.5},
    **{"valid.retrieval": 90.0, "valid.retrieval_error": 1.0, "valid.total": 1.0, "train.total": 1.0},
    **{"phase": 2.0, "best": 1.0},
}


def history(*changes: dict[str, float]) -> list[dict[str, float]]:
    """Two epochs of Phase 1, then one of Phase 2 for each change."""
    told = {"phase": 1.0, "valid.retrieval_error": 1.0, "best": 1.0}
    first = [{**told, "epoch": float(e), "valid.retrieval": 50.0 + e} for e in range(2)]
    return [*first, *({**USUAL, "epoch": 2.0 + e, **change} for e, change in enumerate(changes))]


@pytest.mark.parametrize(
    ("change", "sign", "told"),
    [
        (
            {"valid.classifier_rank_1": 0.991},
            0,
            "the classifier gives one rank below 2 to over 99% of all pairs",
        ),
        ({"valid.encoder_rank_1": 0.995}, 1, "the encoder gives one rank below 2 to over 99% of all pairs"),
        ({"valid.agreement": 0.49}, 2, "encoder and classifier agree on under 50% of all pairs"),
        ({"valid.score_2": 0.81}, 3, "the ranks' cosines are out of order"),
        ({"valid.spread": 0.019}, 4, "all vectors are nearly one: spread under 0.02"),
    ],
)
def test_an_alarming_epoch_is_marked_and_told(change: dict[str, float], sign: int, told: str) -> None:
    rows = history({}, change, {}, change)
    for place, found in enumerate(signs(rows)):
        marked = [3, 5] if place == sign else []
        assert np.flatnonzero(found.alarming).tolist() == marked
    assert list(alarms(rows)) == [f"{told} (epoch 3, 5)"]
    assert [alarming(rows[: n + 1]) for n in range(len(rows))] == [[], [], [], [told], [], [told]]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"valid.classifier_rank_2": 1.0, "valid.classifier_rank_1": 0.0},
        {"valid.agreement": 0.5, "valid.spread": 0.02, "valid.score_2": 0.8},
    ],
)
def test_what_is_as_it_should_be_is_not_told(change: dict[str, float]) -> None:
    assert not list(alarms(history(change)))


def test_a_fall_of_retrieval_larger_than_its_sampling_error_has_votes_with_its_epochs() -> None:
    """Two standard errors of a difference: 2 * sqrt(3^2 + 4^2) = 10."""
    best = {"valid.retrieval": 95.0, "valid.retrieval_error": 3.0}
    falls = [{"valid.retrieval": value, "valid.retrieval_error": 4.0} for value in (85.0, 84.9, 60.0, 90.0)]
    rows = history({}, best, *falls)
    assert np.flatnonzero(signs(rows)[-1].alarming).tolist() == [5, 6]
    told = "translations found first fell from 95.0 % in epoch 3 to {} % in epoch {}, more than two standard errors"
    assert list(alarms(rows)) == [f"{told.format(60.0, 6)} (epoch 5, 6)"]
    assert alarming(rows[:6]) == [told.format(84.9, 5)]
    assert alarming(rows[:7]) == [told.format(60.0, 6)]
    assert alarming(rows) == []


def test_a_fall_is_from_the_epoch_that_phase_1_left() -> None:
    rows = history({"valid.retrieval": 50.0})
    assert not list(alarms(rows))
    rows[0] |= {"valid.retrieval": 80.0, "best": 0.0}  # found more, and was not kept
    assert not list(alarms(rows))
    rows[1] |= {"valid.retrieval": 80.0}
    assert next(alarms(rows)).startswith(
        "translations found first fell from 80.0 % in epoch 1 to 50.0 % in epoch 2"
    )
    for row in rows:
        del row["valid.retrieval_error"]
    assert not list(alarms(rows))  # nothing says what is noise


def test_lines_are_the_history_and_nothing_in_phase_1() -> None:
    change = {"valid.agreement": 0.7, "valid.retrieval_of_few": 3.0, "valid.encoder_finds": 0.25}
    votes, _, agreement, _, _, translations = signs(history({}, change))
    np.testing.assert_array_equal(votes.lines["rank 2"], [np.nan, np.nan, 90, 90])
    np.testing.assert_allclose(agreement.lines["agreement"], [np.nan, np.nan, 90, 70])
    assert translations.lines["found first"].tolist() == [50, 51, 90, 90]
    assert translations.lines["rank 1 by encoder"][-1] == 25
    assert translations.lines["found first, few pairs"][-1] == 3
    assert "rank 1 by classifier" not in translations.lines


def test_only_histories_with_votes_are_told() -> None:
    assert has_votes(history({}))
    assert not has_votes(history())
    assert not has_votes([{"epoch": 0.0, "valid.agreement": float("nan")}])
