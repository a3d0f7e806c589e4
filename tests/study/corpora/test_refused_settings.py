"""Entries of corpora and benchmarks that cannot be are refused with their cause."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from orthoglot.errors import ConfigError
from orthoglot.study.config import BenchmarkSettings, CorpusSettings

OPUS = {"kind": "opus", "corpus": "Voices", "version": "v1", "pairs": ["en-zh"]}
LOCAL = {"kind": "local", "pairs": ["en-de"], "files": ["m.tmx"]}
PARALLEL = {"kind": "multi-parallel", "files": "x.{language}.txt", "languages": ["en", "de"]}
GETTEXT = {"kind": "gettext", "languages": ["de"]}
FOLDER = GETTEXT | {"folder": "x"}
PIN = {"version": "1", "sha256": "0" * 64}


@pytest.mark.parametrize(
    ("values", "changes", "message"),
    [
        (OPUS, {"spellings": {"zh": ["zh_xx"]}}, "spellings.zh: zh_xx; known: zh, cmn"),
        (OPUS, {"spellings": {"zh": []}}, "spellings.zh: name at least one, each once"),
        (OPUS, {"spellings": {"zh": ["zh", "zh"]}}, "spellings.zh: name at least one, each once"),
        (
            OPUS | {"spellings": {"zh": ["zh_tw"]}},
            {"sha256": {"en-zh": "0" * 64}},
            "sha256 names en-zh, which is none",
        ),
        (LOCAL, {"pairs": ["en-de", "en-fr"], "files": ["m.po"]}, "the same for two"),
        (LOCAL, {"files": ["m.tmx", "n.tmx"]}, "name one file"),
        (LOCAL, {"files": ["m.po.gz"]}, "unpack it"),
        (PARALLEL, {"languages": ["de", "cs"]}, "name the pivot en, too"),
        (PARALLEL, {"files": "x.txt"}, "the same for two languages"),
        (PARALLEL, {"languages": {"en": "eng", "de": "eng"}}, "the same for two languages"),
        (PARALLEL, {"files": "{pair}.txt"}, "may name {language}"),
        (PARALLEL, {"languages": ["en"]}, "at least 2"),
        (GETTEXT, {}, "packages or a folder"),
        (GETTEXT, {"packages": {"a; rm": PIN}}, "a name consists"),
        (GETTEXT, {"packages": {"a": PIN | {"sha256": "0"}}}, r"packages\.a\.sha256"),
        (FOLDER, {"languages": ["de", "en"]}, "language of the messages"),
        (FOLDER, {"languages": ["de", "de"]}, "twice"),
        (FOLDER, {"pivot": "ja", "min_words": 2}, "without spaces"),
        (FOLDER, {"packages": {"a": PIN}}, "packages or"),
    ],
)
def test_a_corpus_that_cannot_be_is_refused(
    values: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        TypeAdapter(CorpusSettings).validate_python({"licence": "none"} | values | changes)


NAMED = {"source": "s1_{source}", "target": "s2_{target}", "gold": "score", "item": "id"}
GRADED = {"kind": "sts", "files": "x.tsv", "pairs": ["de-zh"], "columns": NAMED}
NUMBERED = dict.fromkeys(NAMED, 1)
MIXED = {"kind": "code-switched", "pivot": "en", "languages": ["de", "fr"], "seed": 1}
MIXED |= {"files": "set.{foreign}-{pivot}.tsv", "dictionaries": "words.{pivot}-{foreign}.txt"}
WIDE = {"kind": "nway", "files": "wide.tsv", "languages": ["de", "fr"]}
MINING = {"kind": "mining", "files": "{name}.{language}", "gold": "{name}.gold", "pairs": ["de-en"]}
LABELLED = {"kind": "classification", "files": "{language}.{split}", "languages": ["de", "en"]}
SHARES = {"by": "id", "valid": 0.1, "test": 0.5}


@pytest.mark.parametrize(
    ("values", "changes", "message"),
    [
        (GRADED, {"pairs": ["de-deu"]}, 'write it "de-de"'),
        (GRADED, {"pairs": ["de"]}, "write two codes"),
        (GRADED, {"pairs": ["de-zh", "de-zh"]}, "names something twice"),
        (GRADED, {"pairs": []}, "at least 1 item"),
        (GRADED, {"columns": NAMED | {"gold": 3}}, "names of all four columns, or numbers"),
        (GRADED, {"columns": dict.fromkeys(NAMED, 0)}, "numbered from 1"),
        (GRADED, {"columns": NAMED | {"gold": "{lang}"}}, "columns: '{lang}' may name {source}, {target}"),
        (GRADED, {"pairs": ["de-zh", "de-fr"], "columns": NUMBERED}, "the same for two pairs"),
        (MIXED, {"languages": ["de", "ja"]}, "ja is written without spaces"),
        (MIXED, {"dictionaries": "words.txt"}, "the same for two languages"),
        (MIXED, {"files": "x/{lang}"}, "may name {foreign}, {pivot}, {mini}, not 'lang'"),
        (WIDE, {"languages": ["de"]}, "at least 2"),
        (WIDE, {"languages": ["de", "de"]}, "twice"),
        (WIDE, {"languages": {"de": "one", "fr": "one"}}, "names something twice"),
        (WIDE, {"files": "{lang}.tsv"}, r"files: '\{lang\}.tsv' may name \{mini\}"),
        (MINING, {"train_files": "x.{language}"}, "give both"),
        (MINING, {"files": "one"}, "two sides"),
        (MINING, {"gold": "{what}"}, "gold: '{what}' may name"),
        (MINING, {"pairs": ["de-en", "de-en"]}, "tell them apart"),
        (LABELLED, {"files": "{language}.tsv"}, "train and test"),
        (LABELLED, {"files": "{split}.tsv"}, "two languages"),
        (LABELLED, {"pivot": "fr"}, "fr, in which classifiers learn"),
        (LABELLED, {"text": 1}, "names of all"),
        (LABELLED, {"text": 0, "label": 1}, "from 1 on"),
        (LABELLED, {"together": ["de", "fr"]}, "fr, in which classifiers learn"),
        (LABELLED, {"together": ["de"], "both_ways": True}, "give one of them"),
        (LABELLED, {"divide": SHARES | {"valid": 0.5}}, "nothing to train on"),
        (LABELLED, {"divide": SHARES, "form": "copa"}, "for tables"),
        (LABELLED, {"divide": SHARES | {"by": 1}}, "names of both"),
    ],
)
def test_a_benchmark_that_cannot_be_is_refused(
    values: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValidationError, ConfigError), match=message):
        TypeAdapter(BenchmarkSettings).validate_python({"licence": "none"} | values | changes)
