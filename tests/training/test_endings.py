"""Sentences about how trainings ended."""

from __future__ import annotations

import logging

import pytest

from orthoglot.training.decompose import log_endings
from orthoglot.training.endings import warnings
from orthoglot.training.settings import DecompositionSettings, MethodSettings


def ending(epochs: int, best: int, capped: bool) -> dict[str, int | str]:
    return {"epochs": epochs, "best_epoch": best, "stopped": "cap" if capped else "patience"}


@pytest.mark.parametrize(
    ("endings", "expected"),
    [
        ([(40, 38, True)] * 3, ["stopped by max_epochs 40 with patience left: 3 of 3 seeds"]),
        ([(40, 38, True), (33, 22, False)], ["stopped by max_epochs 40 with patience left: 1 of 2 seeds"]),
        ([(12, 1, False)], ["best epoch among the first two of 12: 1 of 1 seed"]),
        ([(12, 2, False)], []),
        (
            [(11, 0, False), (12, 1, False), (20, 9, False)],
            ["best epoch among the first two of 11 to 12: 2 of 3 seeds"],
        ),
        (
            [(5, 0, True)],
            [
                "best epoch among the first two of 5: 1 of 1 seed",
                "stopped by max_epochs 5 with patience left: 1 of 1 seed",
            ],
        ),
        # Of two epochs one of the first two is best, whatever happens.
        ([(2, 1, True)], ["stopped by max_epochs 2 with patience left: 1 of 1 seed"]),
        ([(2, 1, False)], []),
        ([], []),
    ],
)
def test_warnings(endings: list[tuple[int, int, bool]], expected: list[str]) -> None:
    assert warnings([ending(*one) for one in endings]) == expected


def test_the_job_logs_one_line_and_what_is_doubtful(caplog: pytest.LogCaptureFixture) -> None:
    method = MethodSettings.model_validate(
        {"architecture": "two_head", "terms": {"meat.language": 1.0}, "stopping": "retrieval"}
    )
    with caplog.at_level(logging.INFO):
        log_endings(
            method, DecompositionSettings(max_epochs=40), "m", [ending(12, 0, False), ending(40, 38, True)]
        )
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("INFO", "m: best epoch by retrieval: 1 of 12, 39 of 40 (at most 40)"),
        ("WARNING", "m: best epoch among the first two of 12: 1 of 2 seeds"),
        ("WARNING", "m: stopped by max_epochs 40 with patience left: 1 of 2 seeds"),
    ]
