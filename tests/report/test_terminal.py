"""The table at the end of a run: never more lines than asked for, and the numbers of its rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from generated_records import over_seeds, record

from orthoglot.report.headline import Row, Score
from orthoglot.report.terminal import chosen, table
from orthoglot.statistics.records import Record
from orthoglot.statistics.table import frame

LEVELS = {"original": 80.0, "centering": 82.0, "dream": 78.0, "meat": 84.0, "seed": 81.0}
WHOLE = Row(
    "e", "original", "undivided vector", "undivided", "heldout", "test", Score(80.04, 79, 81), None, None, ""
)
SPLIT = WHOLE._replace(
    method="meat", language=Score(12.34, 11, 13), meaning=Score(84, 83, 85), change=Score(3.96, 2.9, -0.04)
)


def of(encoder: str, task: str = "heldout") -> list[Record]:
    found = []
    for method, value in LEVELS.items():
        views = ("sentence",) if method == "original" else ("meaning", "language")
        for view in views:
            level = 1.0 if view == "language" else value
            found += over_seeds(encoder, method, view, task, "test", "all", "P@1", values=[level])
        if method != "original":
            compared = (encoder, method, "meaning", task, "test", "all")
            changes = over_seeds(*compared, "difference-P@1:original", values=[value - LEVELS["original"]])
            changes.append(record(*compared, "p-P@1:original", 0.01, width=None))
            found += [replace(one, facts={"baseline_view": "sentence"}) for one in changes]
    return found


@pytest.mark.parametrize("encoders", [1, 2, 3, 4, 9])
def test_the_table_has_at_most_ten_lines_and_the_undivided_vector_of_each_encoder_shown(
    encoders: int,
) -> None:
    records = [one for number in range(encoders) for one in of(f"encoder-{number}")]
    rows = chosen(frame(records))
    assert len(table(rows)) <= 10
    shown = list(dict.fromkeys(row.encoder for row in rows))
    assert len(shown) == min(encoders, 5)
    for encoder in shown:
        own = [row for row in rows if row.encoder == encoder]
        assert own[0].method == "original"
        assert encoder == shown[-1] or len(own) > 1
    assert [row.method for row in rows if row.encoder == "encoder-0"][:1] == ["original"]


def test_of_one_encoder_all_methods_are_shown_with_their_numbers() -> None:
    rows = chosen(frame(of("e")))
    assert {row.method for row in rows} == set(LEVELS)
    lines = table(rows)
    (meat,) = (line.split() for line in lines if "meat" in line and "encoder" not in line)
    assert meat[:4] == ["meat", "84.0", "1.0", "+4.0"]


def test_a_line_by_hand() -> None:
    assert table([WHOLE, SPLIT, SPLIT._replace(encoder="f")]) == [
        "encoder      method    meaning ↑  language ↓  change [95 % interval]",
        "e (heldout)  original       80.0           –                       –",
        "             meat           84.0        12.3       +4.0 [+2.9, -0.0]",
        "f (heldout)  meat           84.0        12.3       +4.0 [+2.9, -0.0]",
    ]


def test_a_column_for_the_probe_where_there_is_one() -> None:
    probed = SPLIT._replace(task="tatoeba", dataset="mini-tatoeba", probe=Score(96.04, 95, 97))
    assert table([WHOLE._replace(task="tatoeba", dataset="mini-tatoeba"), probed]) == [
        "encoder           method    meaning ↑  language ↓  probe ↓  change [95 % interval]",
        "e (mini-tatoeba)  original       80.0           –        –                       –",
        "                  meat           84.0        12.3     96.0       +4.0 [+2.9, -0.0]",
    ]
