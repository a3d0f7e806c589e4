"""Benchmarks come out in one layout, whatever the spelling of their files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orthoglot.corpora.benchmarks import collect, read_benchmark, sentence_keys
from orthoglot.corpora.bitext import SentencePair, write_pairs
from orthoglot.corpora.settings import BenchmarkSettings
from orthoglot.errors import ConfigError, DataError


def _settings(files: str, *languages: str, **changes: str) -> BenchmarkSettings:
    values = {"kind": "local", "spelling": "iso639-3", "pivot": "en", "licence": "CC0-1.0"} | changes
    return BenchmarkSettings.model_validate(values | {"files": files, "languages": list(languages)})


@pytest.fixture
def files(tmp_path: Path) -> str:
    write_pairs(tmp_path / "set.cmn-eng.tsv.gz", [SentencePair("你好", "Hello"), SentencePair("嗨", "Hi.")])
    (tmp_path / "set.deu-eng.tsv.gz").write_text("Hallo\tHello\n")
    return str(tmp_path / "set.{foreign}-{pivot}.tsv.gz")


def test_files_become_sets_by_language_with_canonical_codes(files: str, tmp_path: Path) -> None:
    output = tmp_path / "greetings"
    output.mkdir()
    collect(_settings(files, "zh", "de"), None, output)
    german, chinese = read_benchmark(output)
    assert (german.name, german.foreign, german.pivot) == ("greetings", "de", "en")
    assert (chinese.foreign, chinese.foreign_sentences, chinese.pivot_sentences) == (
        "zh",
        ["你好", "嗨"],
        ["Hello", "Hi."],
    )
    assert json.loads((output / "counts.json").read_text()) == {"de": 1, "zh": 2}
    assert sentence_keys([output]) == {"hallo", "hello", "你好", "嗨", "hi"}


def test_the_invented_worlds_own_set_is_read_from_its_folder(tmp_path: Path) -> None:
    write_pairs(tmp_path / "raw" / "retrieval" / "qab-qaa.tsv.gz", [SentencePair("b", "a")])
    (tmp_path / "mini").mkdir()
    settings = _settings("", "qab", kind="mini", pivot="qaa")
    collect(settings, tmp_path / "raw", tmp_path / "mini")
    (own,) = read_benchmark(tmp_path / "mini")
    assert (own.foreign, own.pivot, own.foreign_sentences, own.pivot_sentences) == (
        "qab",
        "qaa",
        ["b"],
        ["a"],
    )
    with pytest.raises(ConfigError, match="invented world's folder"):
        collect(settings, None, tmp_path / "mini")


def test_all_languages_without_a_file_are_named(files: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file for fr, sw, e\.g\. .*set\.fra-eng"):
        collect(_settings(files, "de", "fr", "sw"), None, tmp_path)


def test_an_empty_folder_is_no_benchmark(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no benchmark"):
        read_benchmark(tmp_path)


def test_tatoeba_is_collected_unchanged(shared_data: Path, tmp_path: Path) -> None:
    files = str(shared_data / "tatoeba" / "tatoeba.{foreign}-{pivot}.tsv.gz")
    collect(_settings(files, "ja", "zh", "de", "sw"), None, tmp_path)
    sizes = {one.foreign: len(one.pivot_sentences) for one in read_benchmark(tmp_path)}
    assert sizes == {"de": 1000, "ja": 1000, "sw": 390, "zh": 1000}
