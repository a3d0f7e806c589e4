"""A language pair that several processes prepare has the bytes of one process."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from orthoglot.corpora import pair_spool, spool
from orthoglot.corpora.pair_spool import PairSpool, write
from orthoglot.corpora.prepare import add_pairs, choose_pairs, prepare, write_counts
from orthoglot.errors import DataError
from orthoglot.formats import kinds
from orthoglot.formats.base import Source
from orthoglot.study.corpora.tally_file import load_tally, save_tally
from orthoglot.study.jobs.prepare import PrepareSettings
from orthoglot.text import bitext, shifts
from orthoglot.text.bitext import Item, SentencePair, bad_row, write_pairs
from orthoglot.text.shifts import Turns, joined, windows_without_runs

WORDS = [
    "der Hund",
    "Der Hund!",
    "die Katze",
    "ein 1",
    "ein 2",
    "Haus",
    "lang " * 9,
    "naïve",
    "x",
    *(f"w{n}" for n in range(9)),
]
BENCHMARK = {"derhundhaus": ("set",), "x": ("set", "other")}


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows, turns and shards of a few lines."""
    monkeypatch.setattr(bitext, "BLOCK", 40)
    monkeypatch.setattr(shifts, "WINDOW", 40)
    monkeypatch.setattr(shifts, "OVERLAP", 15)
    monkeypatch.setattr(shifts, "TURN", 2)
    monkeypatch.setattr(pair_spool, "SHARD", 23)
    monkeypatch.setattr(spool, "SHARD", 23)
    monkeypatch.setattr(spool, "WAITING", 1000)


def in_parts(settings: PrepareSettings, jobs: int, folder: Path) -> dict[str, bytes]:
    """The files that so many processes leave, each of which reads what the ones before have written."""
    parts = [folder / f"part{job}" for job in range(jobs)]
    for job, part in enumerate(parts):
        part.mkdir(parents=True)
        spool_of_part = PairSpool(part, settings.splits)
        save_tally(add_pairs(settings, spool_of_part, ["set", "other"], BENCHMARK, job, jobs), part)
        spool_of_part.lines.save()
        spool_of_part.rows.save()
    tallies = [*map(load_tally, parts)]
    spools = [PairSpool(part, settings.splits, keep=True) for part in parts]
    chosen, output = folder / "chosen", folder / "out"
    chosen.mkdir()
    output.mkdir()
    save_tally(choose_pairs(settings, spools, tallies, chosen), chosen)
    written: Counter[str] = Counter()
    for job in range(jobs):
        spools = [PairSpool(part, settings.splits, keep=True) for part in parts]
        written.update(write(spools, chosen, settings.splits, output, job, jobs))
    write_counts(settings, load_tally(chosen), written, output)
    return {path.name: path.read_bytes() for path in output.iterdir()}


def in_one(settings: PrepareSettings, output: Path) -> dict[str, bytes]:
    output.mkdir()
    prepare(settings, output, ["set", "other"], BENCHMARK)
    return {path.name: path.read_bytes() for path in output.iterdir()}


def corpora(folder: Path, seed: int, **cleaning: Any) -> PrepareSettings:
    """Three sources that draw from the same pairs, many of which are the same in letters and digits alone."""
    drawn = random.Random(seed)
    pool = [[" ".join(drawn.choices(WORDS, k=drawn.randint(0, 4))) for _ in range(2)] for _ in range(1500)]
    sources = []
    for name, count in (("a", 700), ("b", drawn.randrange(1, 500)), ("a", 130)):
        pairs = [
            SentencePair(*(side + drawn.choice(["", "!", " ..."]) for side in drawn.choice(pool)))
            for _ in range(count)
        ]
        path = folder / f"{len(sources)}.tsv.gz"
        write_pairs(path, pairs)
        limit = drawn.choice([0, 0, 60])
        sources.append({"name": name, "kind": "local", "paths": [str(path)], "max_pairs": limit})
    caps = {"max_train": drawn.choice([0, 70, 69]), "max_valid": drawn.choice([0, 5]), "max_test": 0}
    return PrepareSettings.model_validate(
        {
            "pair": "de-en",
            "sources": sources,
            "cleaning": {"max_ratio": 2.5, **cleaning},
            "splits": {"seed": seed, "valid": 0.2, "test": 0.3, **caps},
        }
    )


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("seed", range(12))
def test_any_number_of_parts_gives_the_bytes_of_one_process(seed: int, tmp_path: Path) -> None:
    settings = corpora(tmp_path, seed, drop_duplicates=seed != 3, drop_shifted=seed % 4 != 2)
    expected = in_one(settings, tmp_path / "one")
    counts = json.loads(expected["counts.json"])
    assert counts["kept"]["train"] > 2 * spool.SHARD
    assert min(counts["dropped"][name] for name in ("ratio", "repeated_held_out", "benchmark")) > 0
    assert counts["dropped"].get("duplicate", 0) > 20 or seed == 3
    assert counts["benchmarks"]["other"] > 0
    for jobs in (1, 2, 3, 7):
        assert in_parts(settings, jobs, tmp_path / str(jobs)) == expected, jobs


def shifted_text(draw: random.Random, count: int) -> list[SentencePair]:
    """Lines with numbers; those of two runs have the translation of the line before, or none."""

    def line() -> str:
        return " ".join(str(draw.randrange(100)) for _ in range(3))

    numbers = [line() for _ in range(count)]
    targets = [*numbers]
    start = draw.randrange(60, 500)
    targets[start : start + 900] = targets[start - 1 : start + 899]
    far = draw.randrange(1500, 1900)
    targets[far : far + 900] = [line() for _ in range(900)]
    return [SentencePair(f"There are {a}.", f"Es sind {b}.") for a, b in zip(numbers, targets, strict=True)]


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("seed", range(6))
def test_runs_that_go_over_the_ends_of_parts_are_those_of_one_process(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shifts, "WINDOW", 400)
    monkeypatch.setattr(shifts, "OVERLAP", 60)
    monkeypatch.setattr(shifts, "TURN", 1 + seed % 2)
    draw = random.Random(seed)
    sources = []
    for name in ("a", "b"):
        write_pairs(tmp_path / f"{name}.tsv.gz", shifted_text(draw, 3200 + 100 * seed))
        sources.append({"name": name, "kind": "local", "paths": [str(tmp_path / f"{name}.tsv.gz")]})
    values = {"pair": "en-de", "sources": sources, "cleaning": {"realign": seed % 2 == 1}, "splits": {}}
    settings = PrepareSettings.model_validate(values)
    expected = in_one(settings, tmp_path / "one")
    counts = json.loads(expected["counts.json"])
    assert counts["dropped"]["unrelated"] > 1000
    assert max(run["stop"] - run["start"] for run in counts["runs"]["a"]) > 800
    for jobs in (2, 3, 7):
        assert in_parts(settings, jobs, tmp_path / str(jobs)) == expected, jobs


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_each_window_is_one_jobs_and_they_are_in_order(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("WINDOW", 50), ("OVERLAP", 20), ("TURN", 3)):
        monkeypatch.setattr(shifts, name, value)
    for count in (1, 49, 50, 51, 1000, 2049):
        items = shifted_text(random.Random(count), 3000)[:count]
        runs: list[shifts.Run] = []
        whole = [*shifts.without_runs(iter(items), runs)]
        windows, all_runs = [], []
        for job in range(jobs):
            runs_of_job: list[shifts.Run] = []
            windows += [*windows_without_runs(iter(items), runs_of_job, Turns(job, jobs))]
            all_runs += runs_of_job
        assert [*chain.from_iterable(w.items for w in sorted(windows, key=lambda w: w.number))] == whole
        assert joined(all_runs) == runs
        states = {(window.number, window.state) for window in windows}
        assert len(dict(states)) == len(states)
        assert sum(bool(window.items) for window in windows) <= count // 50 + 1


def test_a_job_that_cannot_tell_whether_its_first_lines_are_parallel_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After lines that show a run come as many lines without any word as the job before the turn looks at."""
    for name, value in (("WINDOW", 100), ("OVERLAP", 20), ("TURN", 2)):
        monkeypatch.setattr(shifts, name, value)
    numbers = random.Random(2).sample(range(10**6), 80)
    pairs = [SentencePair(f"a {a}", f"b {b}") for b, a in pairwise(numbers)]
    pairs += [SentencePair("..", "..")] * 140
    pairs += [SentencePair(f"c {n}", f"d {n}") for n in numbers]
    write_pairs(tmp_path / "a.tsv.gz", pairs)
    source = {"name": "odd", "kind": "local", "paths": [str(tmp_path / "a.tsv.gz")]}
    values = {"pair": "en-de", "sources": [source], "cleaning": {}, "splits": {}}
    settings = PrepareSettings.model_validate(values)
    in_one(settings, tmp_path / "one")
    with pytest.raises(
        DataError, match=r"^en-de, odd: a job cannot tell whether its first lines are"
    ) as stopped:
        in_parts(settings, 2, tmp_path / "two")
    assert "\n" not in str(stopped.value)


class Bad:
    """A reader of a form with bad rows at the start alone."""

    @staticmethod
    def read(source: Source, first: str, second: str) -> Iterator[Item]:
        yield from (bad_row(number, "is bad", "?") for number in range(1, 9))
        yield from (SentencePair(f"word {n}", f"wort {n}") for n in range(1000))


@pytest.mark.usefixtures("_small")
def test_bad_rows_are_few_or_many_in_the_whole_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orthoglot.formats.base.load", lambda *_: Bad)
    assert kinds
    source = {"name": "odd", "kind": "local", "paths": ["x"]}
    values = {"pair": "en-de", "sources": [source], "cleaning": {}, "splits": {}}
    settings = PrepareSettings.model_validate(values)
    expected = in_one(settings, tmp_path / "one")
    assert json.loads(expected["counts.json"])["dropped"]["bad_row"] == 8
    assert in_parts(settings, 3, tmp_path / "three") == expected


def test_nothing_to_train_on_is_said_when_pairs_are_chosen(tmp_path: Path) -> None:
    write_pairs(tmp_path / "copies.tsv.gz", [SentencePair("same", "Same")] * 3)
    source = {"name": "copies", "kind": "local", "paths": [str(tmp_path / "copies.tsv.gz")]}
    values = {"pair": "en-de", "sources": [source], "cleaning": {}, "splits": {}}
    with pytest.raises(DataError, match=r"en-de: nothing to train on: read 3, .*'copy': 3"):
        in_parts(PrepareSettings.model_validate(values), 2, tmp_path / "two")
