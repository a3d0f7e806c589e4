"""Splits share no pivot sentence and no benchmark sentence, and every pair is accounted for."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cleaned import clean
from opus_server import write_zip

from orthoglot.corpora import spool
from orthoglot.corpora.prepare import prepare
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.errors import DataError
from orthoglot.formats.sources import read_source, sampled
from orthoglot.study.benchmarks.collected import sentence_keys
from orthoglot.study.benchmarks.kinds.nway import NWAY
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.kinds.multi_parallel import MultiParallelSettings
from orthoglot.study.jobs.prepare import PrepareSettings
from orthoglot.text import bitext
from orthoglot.text.bitext import LeftOut, SentencePair, read_json, read_pairs, read_rows, write_pairs
from orthoglot.text.keys import normalised
from orthoglot.text.prepared import read_split
from orthoglot.text.splitting import SPLITS, split_and_order, split_of

CLEANING = {"min_characters": 2, "max_characters": 500, "max_ratio": 4.0}
SPLITTING = {"seed": 1, "valid": 0.1, "test": 0.1, "max_train": 0, "max_valid": 0, "max_test": 0}


def _settings(pair: str, *paths: Path, kind: str = "local", **splits: int) -> PrepareSettings:
    return PrepareSettings.model_validate(
        {
            "pair": pair,
            "sources": [{"name": path.stem, "kind": kind, "paths": [str(path)]} for path in paths],
            "cleaning": CLEANING,
            "splits": SPLITTING | splits,
        }
    )


def _prepared(settings: PrepareSettings, output: Path, benchmarks: tuple[Path, ...] = ()) -> dict[str, Any]:
    output.mkdir()
    prepare(settings, output, [path.name for path in benchmarks], sentence_keys(benchmarks))
    counts: dict[str, Any] = json.loads((output / "counts.json").read_text())
    return counts


def _benchmark(folder: Path, *pairs: tuple[str, str]) -> Path:
    folder.mkdir()
    write_pairs(folder / "de-en.tsv.gz", [SentencePair(*pair) for pair in pairs])
    return folder


PAIRS = [SentencePair(f"word {n % 700}", f"wort {n}") for n in range(1000)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write_pairs(tmp_path / "corpus.tsv.gz", PAIRS)
    return tmp_path / "corpus.tsv.gz"


def test_one_pivot_sentence_never_crosses_splits_not_even_between_pairs(tmp_path: Path) -> None:
    pivots: dict[str, set[str]] = {split: set() for split in SPLITS}
    for language in ("de", "fr"):
        pairs = [SentencePair(f"Word {n % 700}{'!' * (n % 3)}", f"{language} {n}") for n in range(1000)]
        write_pairs(tmp_path / f"{language}.tsv.gz", pairs)
        settings = _settings(f"en-{language}", tmp_path / f"{language}.tsv.gz")
        _prepared(settings, tmp_path / language)
        for split in SPLITS:
            pivots[split] |= {normalised(pair.source) for pair in read_split(tmp_path / language, split)}
    assert len(set().union(*pivots.values())) == sum(map(len, pivots.values())) == 700
    assert 40 < len(pivots["test"]) < 100


def test_every_pair_is_accounted_for(corpus: Path, tmp_path: Path) -> None:
    second = tmp_path / "more.tsv.gz"
    write_pairs(second, [*PAIRS[:10], SentencePair("same", "Same!"), SentencePair("new", "neu")])
    benchmark = _benchmark(tmp_path / "bench", ("Wort, 5!", "unrelated"), ("fremd", "WORD 6"))
    counts = _prepared(_settings("en-de", corpus, second), tmp_path / "out", (benchmark,))
    assert counts["in"] == {"corpus.tsv": 1000, "more.tsv": 12}
    assert sum(counts["in"].values()) == sum(counts["dropped"].values()) + sum(counts["kept"].values())
    # wort 5; word 6 with wort 6 and with wort 706; the first two again in the second file.
    assert counts["dropped"]["benchmark"] == 5
    assert counts["dropped"]["copy"] == 1
    assert counts["dropped"]["duplicate"] == 8
    written = [side for split in SPLITS for pair in read_split(tmp_path / "out", split) for side in pair]
    assert not {"word 6", "wort 5"} & set(written)


def test_bytes_do_not_depend_on_the_order_of_the_corpus(corpus: Path, tmp_path: Path) -> None:
    _prepared(_settings("en-de", corpus), tmp_path / "out")
    (tmp_path / "other").mkdir()
    shuffled = random.Random(3).sample(PAIRS, len(PAIRS))
    write_pairs(tmp_path / "other" / "corpus.tsv.gz", shuffled)
    _prepared(_settings("en-de", tmp_path / "other" / "corpus.tsv.gz"), tmp_path / "again")
    for path in (tmp_path / "out").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_caps_take_the_same_first_pairs_and_count_the_rest(corpus: Path, tmp_path: Path) -> None:
    free = _prepared(_settings("en-de", corpus), tmp_path / "free")
    capped = _prepared(_settings("en-de", corpus, max_train=100, max_test=9), tmp_path / "capped")
    assert capped["kept"] == {"train": 100, "valid": free["kept"]["valid"], "test": 9}
    # A held-out sentence above the cap is counted as such, whether it is a repeated one or not.
    late = free["dropped"]["repeated_held_out"] - capped["dropped"]["repeated_held_out"]
    assert late >= 0
    assert capped["dropped"]["over_cap"] == free["kept"]["train"] - 100 + free["kept"]["test"] - 9 + late
    for split in SPLITS:
        first = read_split(tmp_path / "capped", split)
        assert read_split(tmp_path / "free", split)[: len(first)] == first


def test_a_held_out_sentence_stands_once_on_either_side(tmp_path: Path) -> None:
    pairs = [SentencePair(f"word {n % 300}", f"wort {n % 411}") for n in range(3000)]
    write_pairs(tmp_path / "corpus.tsv.gz", pairs)
    counts = _prepared(_settings("en-de", tmp_path / "corpus.tsv.gz"), tmp_path / "out")
    for split in ("valid", "test"):
        held_out = read_split(tmp_path / "out", split)
        assert len(held_out) > 10
        for side in zip(*held_out, strict=True):
            assert len(set(side)) == len(held_out)
    assert counts["dropped"]["repeated_held_out"] > 0


def test_a_package_and_two_plain_files_give_the_same_splits(tmp_path: Path) -> None:
    sides = ["".join(f"{pair[side]}\n" for pair in PAIRS) for side in (0, 1)]
    write_zip(tmp_path / "en-ay.zip", {"X.aym-en.en": sides[0], "X.aym-en.aym": sides[1], "X.aym-en.xml": ""})
    _prepared(_settings("en-ay", tmp_path / "en-ay.zip", kind="opus"), tmp_path / "zipped")
    for name, side in zip(("a", "b"), sides, strict=True):
        (tmp_path / name).write_text(side)
    settings = _settings("en-ay", tmp_path / "a")
    source = settings.sources[0].model_copy(update={"paths": [str(tmp_path / "a"), str(tmp_path / "b")]})
    _prepared(settings.model_copy(update={"sources": [source]}), tmp_path / "plain")
    for split in SPLITS:
        assert read_split(tmp_path / "zipped", split) == read_split(tmp_path / "plain", split)


def test_nothing_to_train_on_is_an_error_that_says_why(tmp_path: Path) -> None:
    write_pairs(tmp_path / "copies.tsv.gz", [SentencePair("same", "Same")] * 3)
    with pytest.raises(DataError, match=r"en-de: nothing to train on: read 3, .*'copy': 3"):
        _prepared(_settings("en-de", tmp_path / "copies.tsv.gz"), tmp_path / "out")


def test_a_small_corpus_may_have_empty_held_out_splits(tmp_path: Path) -> None:
    write_pairs(tmp_path / "small.tsv.gz", [SentencePair("word 1", "wort 1")])
    counts = _prepared(_settings("en-de", tmp_path / "small.tsv.gz"), tmp_path / "out")
    assert counts["kept"] == {"train": 1, "valid": 0, "test": 0}
    assert read_split(tmp_path / "out", "test") == []


def test_benchmarks_are_counted_by_name_and_a_pair_of_two_counts_in_both(
    corpus: Path, tmp_path: Path
) -> None:
    benchmarks = (
        _benchmark(tmp_path / "first", ("WORT: 5", "nothing"), ("Wort 6.", "none")),
        _benchmark(tmp_path / "second", ("something", "word 6"), ("wort 5", "word 7"), ("wort 8", "word 8")),
        _benchmark(tmp_path / "third", ("nowhere", "never")),
    )
    counts = _prepared(_settings("en-de", corpus), tmp_path / "out", benchmarks)
    # first: wort 5, wort 6; second: wort 5, and word 6, word 7 and word 8, each of which stands in two pairs.
    assert counts["benchmarks"] == {"first": 2, "second": 7, "third": 0}
    assert counts["dropped"]["benchmark"] == 7
    train = {
        normalised(side) for split in SPLITS for pair in read_split(tmp_path / "out", split) for side in pair
    }
    assert not train & {"wort5", "wort6", "word6", "word7"}
    assert {"word9", "wort9"} <= train


@pytest.mark.parametrize(
    "corpus",
    [
        "anki.en-zh",
        "tanaka.en-ja",
        "globalvoices.en-ay",
        "mafand.en-sw",
        "stsb_mt.en-de",
        "tico19.en-ar",
        "tldr.en-de",
    ],
)
def test_as_many_benchmark_overlaps_as_the_datas_own_report_counts(
    corpus: str, sets: dict[str, tuple[str, ...]], shared_data: Path
) -> None:
    """Letters and digits, either side, all languages of each set; no other filter drops a pair before."""
    path = f"parallel/{corpus}.tsv.gz"
    known = json.loads((shared_data / "overlaps.json").read_text())["training_vs_test"][path]
    everything = CleaningSettings(max_characters=10**6, drop_copies=False, drop_duplicates=False)
    dropped: Counter[str] = Counter()
    overlaps: Counter[str] = Counter()
    languages = corpus.split(".")[1].split("-")
    pairs = read_pairs([shared_data / path])
    for _ in clean(pairs, everything, languages[0], languages[1], sets, dropped, overlaps):
        pass
    wanted = known["overlap_letters_and_digits_only"]
    assert overlaps == {name: one["lines_either_side"] for name, one in wanted.items()}
    assert max(overlaps.values(), default=0) <= dropped["benchmark"] <= overlaps.total()
    assert dropped.total() == known["lines"]


@pytest.fixture(scope="module")
def sets(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, ...]]:
    """The sentences of every test set that has an overlap with training text, all columns and languages."""
    tables: dict[str, list[Sequence[str]]] = {}
    tables["tatoeba"] = [row for path in (shared_data / "tatoeba").glob("*.gz") for row in read_rows(path)]
    for name in ("flores200.dev", "ntrex128", "americasnlp2021.dev"):
        _, *tables[name] = read_rows(shared_data / f"nway/{name}.tsv.gz")
    tables["sts17"] = []
    for path in (shared_data / "sts").glob("sts17.*"):
        header, *rows = read_rows(path)
        sides = header.index("sentence1"), header.index("sentence2")
        tables["sts17"] += [[row[side] for side in sides] for row in rows]
    header, *rows = read_rows(shared_data / "sts/stsb_multi_mt.dev.tsv.gz")
    columns = [place for place, name in enumerate(header) if name.startswith(("s1_", "s2_"))]
    tables["stsb_multi_mt"] = [[row[place] for place in columns] for row in rows]
    read = [one for path in (shared_data / "tasks").glob("xcopa.*") for _, one in read_json(path)]
    tables["xcopa"] = [[one["premise"], one["choice1"], one["choice2"]] for one in read]
    home = tmp_path_factory.mktemp("sets")
    for name, found in tables.items():
        (home / name).mkdir()
        write_pairs(home / name / NWAY, [[f"column {n}" for n in range(len(found[0]))], *found])
    return sentence_keys(sorted(home.iterdir()))


def _multi_parallel(folder: Path, **changed: Any) -> MultiParallelSettings:
    settings = {"kind": "multi-parallel", "files": str(folder / "x.{language}.txt"), "licence": "own"}
    return MultiParallelSettings.model_validate(settings | changed)


def test_line_aligned_files_lack_a_sentence_in_one_language_alone(tmp_path: Path) -> None:
    lines = {code: [f"{code} {n}" for n in range(400)] for code in ("eng", "deu", "ces")}
    lines["deu"][7] = lines["ces"][8] = lines["eng"][9] = ""
    lines["deu"][11] = lines["eng"][12] = "<range>"  # as eBible marks a verse that an earlier line has
    for code, text in lines.items():
        (tmp_path / f"x.{code}.txt").write_text("\n".join(text) + "\n")
    corpus = _multi_parallel(tmp_path, languages={"en": "eng", "de": "deu", "cs": "ces"})
    sources = corpus.pair_sources("")
    assert set(sources) == {"en-de", "en-cs"}
    kept = {}
    for pair, source in sources.items():
        settings = {"pair": pair, "sources": [{"name": "x", **source}]}
        cleaning = {"cleaning": CLEANING, "splits": SPLITTING}
        counts = _prepared(PrepareSettings.model_validate(settings | cleaning), tmp_path / pair)
        assert counts["in"] == {"x": 400}
        assert counts["dropped"]["empty"] == 2
        assert counts["dropped"]["merged_lines"] == (3 if pair == "en-de" else 2)
        kept[pair] = {p for split in SPLITS for p in read_split(tmp_path / pair, split)}
    assert kept["en-de"] == {(f"eng {n}", f"deu {n}") for n in range(400) if n not in (7, 9, 10, 11, 12)}
    assert kept["en-cs"] == {(f"eng {n}", f"ces {n}") for n in range(400) if n not in (8, 9, 11, 12)}
    (tmp_path / "x.ces.txt").write_text("one line\n")
    with pytest.raises(DataError, match=r"x\.eng\.txt has 400 lines but .*x\.ces\.txt has 1"):
        list(read_source(parsed({"name": "x", **sources["en-cs"]}), "en", "cs"))


def test_a_new_testament_in_many_languages(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data.parent / "data_more/bible_nt"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    languages = {"en": "eng", "cs": "ces", "zh": "cmn", "gv": "glv"}
    corpus = _multi_parallel(folder, files=str(folder / "bible.{language}.tsv.gz"), languages=languages)
    empty = {}
    for pair, source in corpus.pair_sources("").items():
        settings = {"pair": pair, "sources": [{"name": "x", **source}], "cleaning": {}, "splits": {}}
        counts = _prepared(PrepareSettings.model_validate(settings), tmp_path / pair)
        assert counts["in"] == {"x": 7957}
        assert sum(counts["dropped"].values()) + sum(counts["kept"].values()) == 7957
        empty[pair] = counts["dropped"]["empty"]
    # Manx has the Gospels and Acts alone.
    assert empty["en-gv"] > 4000
    assert max(empty["en-cs"], empty["en-zh"]) < 100


def in_memory(settings: PrepareSettings, pairs: list[SentencePair]) -> dict[str, list[SentencePair]]:
    """What `prepare` keeps, with everything in memory: cleaned, divided, sorted by hash, limited."""
    splits: dict[str, list[SentencePair]] = {split: [] for split in SPLITS}

    def part(key: str) -> int:
        return int(split_and_order([key], settings.splits)[1][0]) >> 56

    for pair in clean(pairs, settings.cleaning, *settings.pair.split("-"), {}, Counter(), part=part):
        splits[split_of(pair.source, settings.splits)].append(pair)
    for split, cap in (("train", "max_train"), ("valid", "max_valid"), ("test", "max_test")):
        members = sorted(
            splits[split],
            key=lambda pair: (split_and_order([normalised(pair.source)], settings.splits)[1][0], pair),
        )
        kept: list[SentencePair] = []
        sides: tuple[set[str], set[str]] = (set(), set())
        for pair in members:
            keys = [normalised(side) for side in pair]
            if split == "train" or (keys[0] not in sides[0] and keys[1] not in sides[1]):
                kept.append(pair)
                sides[0].add(keys[0])
                sides[1].add(keys[1])
        splits[split] = kept[: getattr(settings.splits, cap) or None]
    return splits


WORDS = ["der Hund", "Der Hund!", "die Katze", "ein 1", "ein 2", "Haus", "lang " * 9, "世界", "naïve", "x"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("block", [1, 7, 20_000])
def test_passes_over_disk_keep_what_one_pass_in_memory_keeps(
    seed: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bitext, "BLOCK", block)
    monkeypatch.setattr(spool, "SHARD", 23)
    monkeypatch.setattr(spool, "WAITING", block)
    drawn = random.Random(seed)
    pairs = [
        SentencePair(*(" ".join(drawn.choices(WORDS, k=drawn.randint(0, 3))) for _ in range(2)))
        for _ in range(400)
    ]
    write_pairs(tmp_path / "a.tsv.gz", pairs[:250])
    write_pairs(tmp_path / "b.tsv.gz", pairs[250:])
    settings = PrepareSettings.model_validate(
        {
            "pair": "de-ja" if seed % 2 else "de-en",
            "sources": [
                {"name": name, "kind": "local", "paths": [str(tmp_path / f"{name}.tsv.gz")]} for name in "ab"
            ],
            "cleaning": {
                "max_ratio": 2.5,
                "drop_duplicates": seed != 2,
                "near_duplicates": 0.75 * (seed in (3, 5)),
            },
            "splits": {
                "seed": seed,
                "valid": 0.2,
                "test": 0.3,
                "max_train": 40 * (seed % 3),
                "max_valid": 5 * (seed % 2),
                "max_test": 0,
            },
        }
    )
    prepare(settings, tmp_path)
    expected = in_memory(settings, pairs)
    assert {split: read_split(tmp_path, split) for split in SPLITS} == expected
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert counts["kept"] == {split: len(expected[split]) for split in SPLITS}
    assert sum(counts["in"].values()) == sum(counts["dropped"].values()) + sum(counts["kept"].values()) == 400
    assert not list(tmp_path.glob("spool-*"))
    assert len(list(tmp_path.glob("train-*"))) == math.ceil(len(expected["train"]) / 23)


def test_a_limit_of_a_corpus_takes_a_sample_of_it_and_all_of_others(tmp_path: Path) -> None:
    texts = {
        name: [SentencePair(f"{name} source {n}", f"{name} Ziel {n}") for n in range(2000)] for name in "ab"
    }
    for name, pairs in texts.items():
        write_pairs(tmp_path / f"{name}.tsv.gz", pairs)
    sources = [
        {"name": name, "kind": "local", "paths": [str(tmp_path / f"{name}.tsv.gz")], "max_pairs": most}
        for name, most in (("a", 300), ("b", 0))
    ]
    parts = {"cleaning": {}, "splits": {"valid": 0.0, "test": 0.0}}
    settings = PrepareSettings.model_validate({"pair": "en-de", "sources": sources} | parts)
    prepare(settings, tmp_path)
    kept = set(read_split(tmp_path, "train"))
    assert len(kept) == 2300
    assert kept > set(texts["b"])
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert (counts["in"], counts["dropped"]["over_max_pairs"]) == ({"a": 2000, "b": 2000}, 1700)
    # A sample from the whole text: each quarter has about a quarter of it.
    places = [place for place, pair in enumerate(texts["a"]) if pair in kept]
    assert np.histogram(places, bins=4, range=(0, 2000))[0] == pytest.approx([75] * 4, abs=25)


def test_a_sample_is_the_same_whatever_else_is_in_the_text() -> None:
    pairs = [SentencePair(f"source {n}", f"Ziel {n}") for n in range(3000)]
    left = LeftOut("untranslated")

    def of(items: list[SentencePair | LeftOut], most: int) -> list[SentencePair]:
        found = list(sampled(lambda: iter(items), most))
        assert len(found) == len(items)
        assert [one for one in found if one == left] == [one for one in items if one == left]
        return [one for one in found if isinstance(one, SentencePair)]

    some = of([*pairs], 1000)
    assert len(some) == 1000
    # A smaller sample is part of a larger one, but for the pairs at the edge; half of the text brings half of it.
    assert len(set(of([*pairs], 500)) - set(some)) <= 3
    assert len(set(of([*pairs[:1500]], 500)) & set(some)) > 400
    assert of([*pairs[:7], left, *pairs[7:]], 1000) == some
    assert of([*pairs], 3000) == of([*pairs], 5000) == pairs
