"""Pairs for a person to judge: what is drawn, what is read, and what it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orthoglot.apply.review import digest, draw, read
from orthoglot.errors import DataError
from orthoglot.search.margins import Mined
from orthoglot.statistics.intervals import wilson

PAIRS = Mined(np.arange(100), np.arange(100)[::-1], np.linspace(1.5, 0.9, 100))
OF = digest("model", ["one"])
TEXTS = [f"one\t{n}" for n in range(100)], [f"eins {n}" for n in range(100)]


def judge(path: Path, words: list[str]) -> None:
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([head, *(word + row for word, row in zip(words, rows, strict=True))]) + "\n")


def test_pairs_above_the_threshold_are_drawn_at_random_and_judgements_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "review.tsv"
    assert draw(path, PAIRS, TEXTS, 1.1, 20, OF) == 20
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    margins = [float(row[3]) for row in rows]
    assert min(margins) >= 1.1
    assert len({*margins}) == 20
    assert margins != sorted(margins, reverse=True)
    for row in rows:
        number = int(row[4].removeprefix("one "))
        assert row[5] == f"eins {99 - number}"
        assert float(row[3]) == PAIRS.margins[number]
    judge(path, ["yes"] * 12 + [" Y"] * 2 + ["no", "0"] + [""] * 4)
    judged = read(path, 1.1, OF)
    assert judged == (16, 14, [14 / 16, *wilson(14 / 16, 16, 0.95)], 4)
    # Of a higher threshold those above it count.
    higher = sorted(margins)[10]
    above = [
        word
        for word, margin in zip(["y"] * 14 + ["n"] * 2 + [""] * 4, margins, strict=True)
        if margin >= higher
    ]
    assert read(path, higher, OF)[:2] == (len([word for word in above if word]), above.count("y"))


def test_fewer_pairs_than_asked_for_are_all_there_are(tmp_path: Path) -> None:
    assert draw(tmp_path / "a.tsv", PAIRS, TEXTS, 1.4, 50, OF) == (PAIRS.margins >= 1.4).sum()
    assert read(tmp_path / "a.tsv", 1.4, OF) == (0, 0, [0.0, 0.0, 1.0], (PAIRS.margins >= 1.4).sum())


@pytest.mark.parametrize(
    ("change", "threshold", "message"),
    [
        (lambda text: text.replace("\n\t", "\nmaybe\t", 1), 1.1, "line 2: 'maybe' is neither yes nor no"),
        (lambda text: text.replace("right", "wrong", 1), 1.1, "its columns are not right, of, threshold"),
        (lambda text: text, 1.0, r"drawn above 1\.1000, and the threshold is 1\.0000: remove it"),
        (
            lambda text: text.replace(OF, "0" * 16, 1),
            1.1,
            "its pairs are of other texts, another model or options",
        ),
        (lambda text: text.replace("1.1", "x", 1), 1.1, "line 2: could not convert"),
    ],
)
def test_other_files_are_refused(change: object, threshold: float, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    draw(path, PAIRS, TEXTS, 1.1, 5, OF)
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    with pytest.raises(DataError, match=message):
        read(path, threshold, OF)
