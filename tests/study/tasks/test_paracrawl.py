"""Few queries among many candidates."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from orthoglot.statistics.records import LEFT_OUT
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.tasks.base import TaskData
from orthoglot.study.tasks.kinds import paracrawl, tatoeba
from orthoglot.study.tasks.kinds.paracrawl import MarginRetrieval, make
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.text.bitext import write_pairs
from orthoglot.text.held_out import read_held_out


def task(n: int, queries: int) -> MarginRetrieval:
    pairs = PairSet("big", "de", "en", [f"d{i}" for i in range(n)], [f"e{i}" for i in range(n)])
    return MarginRetrieval("paracrawl", pairs, queries)


def test_hits_are_the_definition() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(120, 10)) + 1
    y = x + 0.8 * rng.normal(size=x.shape)
    found = task(120, 25).score({"source": x.astype(np.float32), "target": y.astype(np.float32)}).scores
    for queries, candidates, hits in ((x, y, found["de->en"]), (y, x, found["en->de"])):
        a, b = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries[:25], candidates))
        cosine = a @ b.T
        near_a, near_b = (
            np.sort(cosine, axis=1)[:, -4:].mean(axis=1),
            np.sort(cosine, axis=0)[-4:].mean(axis=0),
        )
        margin = cosine / ((near_a[:, None] + near_b) / 2)
        fourth = np.sort(cosine, axis=1)[:, [-4]]
        assert (
            hits.tolist() == (np.where(cosine >= fourth, margin, -1).argmax(axis=1) == np.arange(25)).tolist()
        )
    assert 0 < found["de->en"].mean() < 1


def test_a_pair_without_direction_is_left_out() -> None:
    x = np.eye(6, dtype=np.float32)
    y = x.copy()
    y[1] = 0
    found = task(6, 4).score({"source": x, "target": y}).scores
    assert found["de->en"].tolist() == found["en->de"].tolist() == [1, LEFT_OUT, 1, 1]


def test_queries_and_candidates_are_limited_and_stated(
    world: SimpleNamespace, settings: EvaluationSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paracrawl, "QUERIES", 7)
    monkeypatch.setattr(paracrawl, "CANDIDATES", 20)
    data = TaskData(settings, read_held_out(world.bitext), world.benchmarks)
    tasks = make("paracrawl", data)
    assert {one.dataset for one in tasks} == {"test", "benchmark"}
    for one in tasks:
        facts = one.facts("x")
        assert (facts["queries"], facts["candidates"], facts["chance"]) == (7, 20, 5)
        assert len(one.keys()) == 7
        assert len(set(one.sides()["source"][0])) == 20
    again = make("paracrawl", data)
    assert [one.sides() for one in again] == [one.sides() for one in tasks]


def test_pairs_drawn_from_opus_are_for_this_task_alone(tmp_path: Path, settings: EvaluationSettings) -> None:
    drawn = [(f"d{i}", f"e{i}") for i in range(30)]
    write_pairs(tmp_path / "de-en.drawn.tsv.gz", drawn)
    data = TaskData(settings, {}, [tmp_path])
    (one,) = make("paracrawl", data)
    assert (one.dataset, one.facts("x")["candidates"], one.facts("x")["queries"]) == (tmp_path.name, 30, 30)
    sides = one.sides()
    assert sorted(zip(sides["source"][0], sides["target"][0], strict=True)) == sorted(drawn)
    assert tatoeba.make("tatoeba", data) == []
