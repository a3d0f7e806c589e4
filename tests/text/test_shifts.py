"""Runs of pairs whose translations stand some lines away, or nowhere: `orthoglot.text.shifts`."""

from __future__ import annotations

import csv
import json
import random
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from orthoglot.corpora.prepare import prepare
from orthoglot.errors import ConfigError
from orthoglot.study.jobs.prepare import PrepareSettings
from orthoglot.text import shifts
from orthoglot.text.bitext import LeftOut, SentencePair
from orthoglot.text.prepared import read_split
from orthoglot.text.shifts import Run, find_runs, find_runs_of_vectors, parallel, said, without_runs

NUMBERS = {3: "three", 4: "four", 5: "five"}
ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
DEVANAGARI = str.maketrans("0123456789", "०१२३४५६७८९")


def bitext(
    n: int, seed: int = 1, numbers: float = 0.5, names: float = 0.4, digits: dict[int, int] | None = None
):
    """Sentences of two invented languages that share some of their numbers and names."""
    draw = random.Random(seed)

    def word(syllables: int) -> str:
        return "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(syllables))

    people = [word(4).title() for _ in range(200)]
    words = [[word(draw.randint(1, 3)) for _ in range(1000)] for _ in range(2)]
    sides: tuple[list[str], list[str]] = ([], [])
    for _ in range(n):
        one, other = ([draw.choice(some) for _ in range(draw.randint(3, 10))] for some in words)
        if draw.random() < numbers:
            number = str(draw.choice([draw.randint(2, 40), draw.randint(1990, 2025)]))
            one.append(number)
            if draw.random() < 0.9:
                other.insert(0, number.translate(digits or {}))
        if draw.random() < names:
            name = people[int(200 * draw.random() ** 2)]
            one.insert(1, name)
            if draw.random() < 0.8:
                other.append(name + draw.choice(["", "ka"]))
        for side, sentence in zip(sides, (one, other), strict=True):
            side.append(" ".join(sentence))
    return sides


def shuffled(sentences: list[str], seed: int = 5) -> list[str]:
    return random.Random(seed).sample(sentences, len(sentences))


def test_parallel_text_has_no_run():
    for seed in range(30):
        assert find_runs(*bitext(400 + 50 * seed, seed)) == []


def test_false_alarms_of_text_that_says_least_are_bounded(monkeypatch):
    # A line is for an offset as often as against it: the worst text that is not shifted.
    monkeypatch.setattr(shifts, "FALSE_ALARMS", 0.1)
    draw, alarms = np.random.default_rng(0), 0
    for _ in range(200):
        signs = draw.choice([-1.0, 0.0, 1.0], size=(500, len(shifts.OFFSETS)))
        scores = {0: np.zeros(500)} | dict(zip(shifts.OFFSETS, signs.T, strict=True))
        factors = shifts._log_factors(scores)
        alarms += bool(shifts._runs(shifts._states(factors, 0), factors))
    assert alarms <= 200 * 0.1


@pytest.mark.parametrize(("share", "least", "most"), [(0.1, 0, 20), (0.3, 150, 200)])
def test_false_alarms_of_unrelated_runs_are_bounded(monkeypatch, share, least, most):
    # Of the lines that differ, one in ten is for a line far away: the worst text that counts as parallel.
    monkeypatch.setattr(shifts, "FALSE_ALARMS", 0.1)
    draw, alarms = np.random.default_rng(0), 0
    for _ in range(200):
        shape = 500, len(shifts.FAR)
        signs = np.where(draw.random(shape) < share, 1.0, -1.0) * (draw.random(shape) < 0.7)
        scores = dict.fromkeys((0, *shifts.OFFSETS), np.zeros(500))
        factors = shifts._log_factors(scores | dict(zip(shifts.FAR, signs.T, strict=True)))
        alarms += bool(shifts._runs(shifts._states(factors, 0), factors))
    assert least <= alarms <= most


@pytest.mark.parametrize("offset", shifts.OFFSETS)
def test_a_shift_is_found_from_its_line_on(offset):
    source, target = bitext(900)
    place = 400
    if offset < 0:  # lines of the translation are missing
        target = target[:place] + target[place - offset :]
        source = source[:offset]
    else:  # lines of the source are missing
        source = source[:place] + source[place + offset :]
        target = target[:-offset]
    [run] = find_runs(source, target)
    assert (run.offset, run.stop) == (offset, len(source))
    assert place - 15 <= run.start <= place + 15


def test_two_shifts_and_the_text_between_and_after():
    source, target = bitext(1200)
    shifted = target[:300] + target[301:600] + target[601:900] + ["x", "y"] + target[900:]
    runs = find_runs(source, shifted)
    assert [run.offset for run in runs] == [-1, -2]
    assert np.allclose([*runs[0][:2], *runs[1][:2]], [300, 600, 600, 900], atol=12)


def test_unrelated_text_is_found_at_the_end_and_alone():
    source, target = bitext(3000, numbers=0.8, names=0.8)
    [run] = find_runs(source, target[:1500] + shuffled(target[1500:]))
    assert run.offset is None
    assert (run.start, run.stop) == (pytest.approx(1500, abs=80), 3000)
    assert find_runs(source, shuffled(target)) == [Run(0, 3000, None)]


@pytest.mark.parametrize("digits", [ARABIC, DEVANAGARI])
def test_digits_of_every_script_are_numbers(digits):
    source, target = bitext(400, names=0, numbers=0.9, digits=digits)
    assert find_runs(source, target) == []
    [run] = find_runs(source[:-1], target[1:])
    assert run == Run(0, 399, -1)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ([], []),
        (["Year 1"], ["Jahr 2"]),
        (["Year 1990"] * 500, ["Jahr 1991"] * 500),
        (["Year 1990", "Year 1991"] * 500, ["Jahr 1991", "Jahr 1990"] * 500),
        (["", " "] * 300, [""] * 600),
    ],
)
def test_short_repeated_and_empty_text_says_nothing(source, target):
    assert find_runs(source, target) == []


def test_text_without_anything_in_common_says_nothing():
    source, target = bitext(2000, numbers=0, names=0)
    assert find_runs(source, shuffled(target)) == []


def test_ten_shifted_lines_are_too_few():
    source, target = bitext(600)
    assert find_runs(source, target[:300] + target[301:310] + ["x"] + target[310:]) == []


def test_a_run_goes_on_from_window_to_window_and_memory_is_a_window(monkeypatch):
    monkeypatch.setattr(shifts, "WINDOW", 300)
    monkeypatch.setattr(shifts, "OVERLAP", 100)
    source, target = bitext(2000)
    pairs = [SentencePair(*pair) for pair in zip(source[:-1], target[:700] + target[701:], strict=True)]
    read = 0

    def items():
        nonlocal read
        for pair in pairs:
            read += 1
            yield pair

    runs: list[Run] = []
    for number, item in enumerate(without_runs(items(), runs), 1):
        assert read - number <= 400
        assert item == pairs[number - 1] or item == LeftOut("shifted")
    [run] = runs
    assert (run.start, run.stop, run.offset) == (pytest.approx(700, abs=12), 1999, -1)


def test_units_without_a_pair_count_where_a_run_is():
    source, target = bitext(600)
    items = [SentencePair(*pair) for pair in zip(source[:-1], target[1:], strict=True)]
    runs: list[Run] = []
    out = list(without_runs(iter([LeftOut("fuzzy")] * 7 + items), runs))
    assert runs == [Run(7, 606, -1)]
    assert len(out) == 606


def test_realigned_pairs_are_translations(monkeypatch):
    monkeypatch.setattr(shifts, "WINDOW", 300)
    monkeypatch.setattr(shifts, "OVERLAP", 100)
    source, target = bitext(1500)
    right = set(zip(source, target, strict=True))
    pairs = list(zip(source[:-1], target[:500] + target[501:], strict=True))
    assert len(right.intersection(parallel(pairs))) == pytest.approx(500, abs=12)
    anew = parallel(pairs, realign=True)
    assert right.issuperset(anew)
    assert len(anew) > 1450


def test_vectors_show_a_shift_and_those_of_a_bad_encoder_nothing():
    draw = np.random.default_rng(2)

    def unit(rows):
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    meaning = draw.normal(size=(500, 16))
    source, target = (unit(meaning + 0.5 * draw.normal(size=meaning.shape)) for _ in range(2))
    assert find_runs_of_vectors(source, target) == []
    assert find_runs_of_vectors(source[:-2], target[2:]) == [Run(0, 498, -2)]
    assert find_runs_of_vectors(unit(draw.normal(size=(500, 16))), target) == []


def test_the_message_says_where():
    assert str(Run(1099, 3071, -1)) == "units 1,100 to 3,071: the translation stands one line before"
    assert str(Run(0, 2, 3)) == "units 1 to 2: the translation stands three lines after"
    many = [Run(100 * place, 100 * place + place, None) for place in range(1, 6)]
    assert said(many).startswith("15 units are not parallel and left out: units 301 to 303: the sides share")
    assert said(many).endswith("; and 2 shorter runs")


def prepared(tmp_path: Path, **cleaning) -> tuple[dict, set[SentencePair]]:
    source, target = bitext(1000)
    (tmp_path / "text.tsv").write_text(
        "".join(
            f"{one}\t{other}\n" for one, other in zip(source[:-1], target[:600] + target[601:], strict=True)
        )
    )
    settings = PrepareSettings.model_validate(
        {
            "pair": "en-de",
            "sources": [
                {"name": "news", "kind": "local", "paths": [str(tmp_path / "text.tsv")]}
                | cleaning.pop("of", {})
            ],
            "cleaning": cleaning,
            "splits": {"seed": 1, "valid": 0, "test": 0, "max_train": 0, "max_valid": 0, "max_test": 0},
        }
    )
    output = tmp_path / "out"
    output.mkdir()
    prepare(settings, output)
    right = set(zip(source, target, strict=True))
    return json.loads((output / "counts.json").read_text()), {*read_split(output, "train")} - right


def test_prepare_leaves_a_run_out_and_counts_it(tmp_path, caplog):
    counts, wrong = prepared(tmp_path)
    [run] = counts["runs"]["news"]
    assert (run["start"], run["stop"], run["offset"]) == (pytest.approx(600, abs=12), 999, -1)
    assert counts["dropped"]["shifted"] == run["stop"] - run["start"]
    assert len(wrong) <= 10
    assert "the translation stands one line before" in caplog.text


def test_prepare_realigns_or_keeps_what_it_is_told_to(tmp_path):
    (tmp_path / "a").mkdir()
    counts, wrong = prepared(tmp_path / "a", realign=True)
    assert counts["kept"]["train"] > 960
    assert len(wrong) <= 10
    (tmp_path / "b").mkdir()
    counts, wrong = prepared(tmp_path / "b", drop_shifted=False)
    assert counts["runs"] == {}
    assert len(wrong) > 350


def test_a_sample_is_taken_of_what_is_parallel(tmp_path):
    counts, wrong = prepared(tmp_path, of={"max_pairs": 100})
    assert counts["kept"]["train"] == 100
    assert len(wrong) <= 3
    assert counts["runs"]["news"][0]["stop"] == 999


def test_realign_needs_what_finds_shifts():
    with pytest.raises((ConfigError, ValueError), match="realign: true needs drop_shifted"):
        PrepareSettings.model_validate(
            {
                "pair": "en-de",
                "sources": [],
                "cleaning": {"realign": True, "drop_shifted": False},
                "splits": {},
            }
        )


def test_the_page_has_every_run_of_the_record():
    folder = Path(__file__).parents[2] / "measurements/not-parallel"
    page = (folder / "README.md").read_text()
    with (folder / "shifts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    runs = [row for row in rows if row["first unit"]]
    assert all(f"{int(row['first unit']):,} to {int(row['last unit']):,}" in page for row in runs)
    assert all(row["pair"].removeprefix("en-") in page for row in runs)
    judged = {(row["corpus"], row["pair"]) for row in rows}
    assert f"{len(judged)} language pairs of {len({corpus for corpus, _ in judged})} entries" in page
    pairs = NUMBERS[len({row["pair"] for row in runs})]
    assert f"all that have packages or addresses that were tried, {pairs} have such runs" in page


def test_text_that_says_nothing_stays_after_a_run() -> None:
    source = [f"There are {number} of them." for number in range(1000, 1080)]
    target = [f"Es sind {number}." for number in range(1001, 1081)]
    silent = (["yes"] * 500, ["ja"] * 500)
    found = find_runs(source + silent[0], target + silent[1])
    assert [(run.offset, run.start) for run in found] == [(-1, 0)]
    assert found[0].stop <= 81
    # In the next window the run goes on at first, and no line speaks for it.
    many = [SentencePair("yes", "ja")] * (shifts.WINDOW + 4000)
    runs: list[Run] = []
    items = list(without_runs(chain(map(SentencePair, source, target), many), runs, realign=True))
    assert sum(isinstance(item, LeftOut) for item in items) <= 3
