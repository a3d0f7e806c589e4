"""Text of one language: what is dropped and counted, shards, and what a damaged file does."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from orthoglot.errors import DataError
from orthoglot.study.pretraining import prepare_text as module
from orthoglot.study.pretraining.prepare_text import PrepareTextSettings, prepare_text
from orthoglot.text.bitext import SentencePair, write_pairs
from orthoglot.text.prepared import describe_text, stream_text

CLEANING = {"min_characters": 3, "max_characters": 30, "max_ratio": 4.0}


def settings(*paths: Path) -> PrepareTextSettings:
    sources = [{"name": path.stem, "path": str(path)} for path in paths]
    return PrepareTextSettings.model_validate({"language": "gn", "sources": sources, "cleaning": CLEANING})


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def bitext(place: Path, pair: str, **splits: list[tuple[str, str]]) -> Path:
    folder = place / pair
    folder.mkdir()
    kept = {"train": 0, "valid": 0, "test": 0}
    for split, rows in splits.items():
        kept[split] = write_pairs(folder / f"{split}-00000.tsv.zst", [SentencePair(*row) for row in rows])
    (folder / "counts.json").write_text(json.dumps({"in": {"invented": 3}, "kept": kept}))
    return folder


def test_every_sentence_is_kept_or_counted_and_what_is_held_out_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SHARD", 2)
    first = write_lines(
        tmp_path / "first", ["Mba'e  porã?", "x", "mba'e pora", "MBA'E PORÃ", "...", "y" * 31]
    )
    second = write_lines(
        tmp_path / "second", ["held out one", "seen in training", "Benchmark!", "a last one", "another"]
    )
    pairs = [
        bitext(tmp_path, "es-gn", train=[("uno", "seen in training")], valid=[("dos", "Held out: one")]),
        bitext(tmp_path, "en-es", test=[("a last one", "tres")]),  # of another language
    ]
    benchmark = tmp_path / "benchmark"
    benchmark.mkdir()
    write_pairs(benchmark / "gn-en.tsv.gz", [SentencePair("benchmark", "prueba")])
    output = tmp_path / "gn"
    output.mkdir()
    prepare_text(settings(first, second), pairs, [benchmark], output)
    kept = ["Mba'e porã?", "mba'e pora", "seen in training", "a last one", "another"]
    assert list(stream_text(output)) == kept
    counts: dict[str, Any] = json.loads((output / "counts.json").read_text())
    assert counts["shards"] == [2, 2, 1]
    assert counts["in"] == {"first": 6, "second": 5}
    reasons = ("duplicate", "empty", "too_short", "too_long", "benchmark", "held_out")
    assert counts["dropped"] == dict.fromkeys(reasons, 1)
    assert counts["benchmarks"] == {"benchmark": 1}
    assert describe_text(output) == {"corpora": ["first", "second"], "sentences": 5}
    shards = sorted(output.glob("text-*.txt.gz"))
    again = tmp_path / "again"
    again.mkdir()
    prepare_text(settings(first, second), pairs, [benchmark], again)
    assert [path.read_bytes() for path in shards] == [(again / path.name).read_bytes() for path in shards]


def test_a_sentence_much_like_an_earlier_one_goes_if_asked_for(tmp_path: Path) -> None:
    sentence = "Ko'ápe oĩ peteĩ ñe'ẽ 1"
    lines = [sentence, "ambue", sentence.upper(), sentence.replace("1", "2"), "Ambue!"]
    asked = settings(write_lines(tmp_path / "own", lines))
    asked = asked.model_copy(update={"cleaning": asked.cleaning.model_copy(update={"near_duplicates": 0.7})})
    (tmp_path / "gn").mkdir()
    prepare_text(asked, [], [], tmp_path / "gn")
    assert list(stream_text(tmp_path / "gn")) == lines[:2]
    assert json.loads((tmp_path / "gn/counts.json").read_text())["dropped"] == {
        "duplicate": 2,
        "near_duplicate": 1,
    }


def test_a_held_out_sentence_that_a_benchmark_has_is_counted_as_the_benchmarks(tmp_path: Path) -> None:
    pairs = [bitext(tmp_path, "es-gn", test=[("uno", "both")])]
    benchmark = tmp_path / "benchmark"
    benchmark.mkdir()
    write_pairs(benchmark / "gn-en.tsv.gz", [SentencePair("both", "prueba")])
    output = tmp_path / "gn"
    output.mkdir()
    prepare_text(settings(write_lines(tmp_path / "own", ["Both.", "mine"])), pairs, [benchmark], output)
    assert json.loads((output / "counts.json").read_text())["dropped"] == {"benchmark": 1}


def test_nothing_left_and_a_damaged_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gn: no sentence is left: read 2, dropped"):
        prepare_text(settings(write_lines(tmp_path / "short", ["a", "b"])), [], [], tmp_path)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(b"one sentence\n" * 50)[:-9])
    with pytest.raises(DataError, match="truncated or corrupt"):
        prepare_text(settings(cut), [], [], tmp_path)
