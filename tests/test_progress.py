"""Long work tells its rate and what is left: a bar on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import sys

import pytest

from orthoglot import progress


def test_elsewhere_than_on_a_terminal_a_line_tells_done_total_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = iter(range(0, 1000, 20))  # every look at the clock is 20 s after the last
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    with caplog.at_level(logging.INFO, logger="orthoglot.progress"):
        assert list(progress.track("abcdef", total=6, label="embed", unit="chunks")) == list("abcdef")
    assert [record.getMessage() for record in caplog.records] == [
        "embed 2/6, 0.05 chunks/s, 80 s left",
        "embed 4/6, 0.05 chunks/s, 40 s left",
        "embed 6/6, 0.05 chunks/s, 0 s left",
    ]


def test_amounts_add_up_and_long_times_are_in_minutes_and_hours(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = iter(range(0, 1000, 40))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    with (
        caplog.at_level(logging.INFO, logger="orthoglot.progress"),
        progress.Meter(total=100_000, label="embed", unit="sentences") as meter,
    ):
        for count in (0, 800, 40_000, 58_000, 2_000):
            meter.add(count)
    assert [record.getMessage() for record in caplog.records] == [
        "embed 800/100000, 10 sentences/s, 2 h 45 min left",
        "embed 40800/100000, 340 sentences/s, 3 min left",
        "embed 98800/100000, 618 sentences/s, 2 s left",
        "embed 100800/100000, 504 sentences/s, 0 s left",  # more than was expected
    ]


def test_bytes_have_units_and_may_become_fewer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(0, 1000, 40))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    with (
        caplog.at_level(logging.INFO, logger="orthoglot.progress"),
        progress.Meter(total=80_000_000, label="fetch", unit="bytes") as meter,
    ):
        for count in (60_000_000, -20_000_000):
            meter.add(count)
    assert [record.getMessage() for record in caplog.records] == [
        "fetch 60.0MB/80.0MB, 1.50MB/s, 13 s left",
        "fetch 40.0MB/80.0MB, 500kB/s, 80 s left",
    ]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.Meter(total=80_000_000, label="fetch", unit="bytes") as meter:
        meter.add(40_000_000)
    assert "40.0M/80.0M" in capsys.readouterr().err


def test_quick_work_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert list(progress.track(range(100), total=100, label="embed")) == list(range(100))
    assert not caplog.records


def test_on_a_terminal_a_bar_on_standard_error_tells_the_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(progress.track(range(5), total=5, label="embed", unit="chunks")) == list(range(5))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "embed: 100%" in shown.err
    assert "5/5" in shown.err
    assert "chunks/s" in shown.err
