"""The lines at the end of a run: a table of the first encoder, a sentence on each other one."""

from __future__ import annotations

from dataclasses import replace

from generated_records import over_seeds, record

from orthoglot.statistics.records import Record
from orthoglot.study.report.frame import frame
from orthoglot.study.report.headline import Row, Score, headline
from orthoglot.study.report.terminal import METHODS, screen, table

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


def test_the_first_encoder_has_a_table_and_each_other_one_a_sentence() -> None:
    records = [one for number in range(3) for one in of(f"encoder-{number}")]
    lines = screen(headline(frame(records), most=METHODS))
    assert lines[0] == "encoder-0 (heldout)"
    assert {line.split()[0] for line in lines[2:7]} == set(LEVELS)
    (meat,) = (line.split() for line in lines[2:7] if line.startswith("meat"))
    assert meat[:4] == ["meat", "84.0", "1.0", "+4.0"]
    others = [line for line in lines[7:] if not line.startswith(" ")]
    assert [line.split()[0] for line in others] == ["encoder-1", "encoder-2"]
    assert all("84.0 % of translations by the meaning of meat" in line for line in others)
    assert max(map(len, lines)) <= 100


def test_a_table_by_hand() -> None:
    assert table([WHOLE, SPLIT]) == [
        "e (heldout)",
        "method    meaning ↑  language ↓  change [95 % interval]",
        "original       80.0           –                       –",
        "meat           84.0        12.3       +4.0 [+2.9, -0.0]",
    ]


def test_columns_for_the_probe_and_the_training_where_there_are_any() -> None:
    whole = WHOLE._replace(task="tatoeba", dataset="mini-tatoeba")
    probed = SPLIT._replace(task="tatoeba", dataset="mini-tatoeba", probe=Score(96.04, 95, 97))
    assert table([whole, probed._replace(training="40 epochs at 0.001 (its authors: 1e-05)")]) == [
        "e (mini-tatoeba)",
        "method    meaning ↑  language ↓  probe ↓  change [95 % interval]  training",
        "original       80.0           –        –                       –",
        "meat           84.0        12.3     96.0       +4.0 [+2.9, -0.0]  40 epochs at 0.001 (its authors: 1e-05)",
    ]
