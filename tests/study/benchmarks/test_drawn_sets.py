"""Test sets drawn from a corpus of OPUS: which pairs, that the same seed gives the same, and that the draw is fair."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from opus_server import OpusServer, write_opus
from pydantic import ValidationError
from shipped_settings import shipped_values
from workspace import Workspace

from orthoglot.errors import ConfigError, DataError
from orthoglot.random_streams import derive
from orthoglot.study import config
from orthoglot.study.benchmarks import distinct_sample
from orthoglot.study.benchmarks.collect import collect
from orthoglot.study.benchmarks.collected import read_all, read_source, sentence_keys
from orthoglot.study.benchmarks.distinct_sample import sample
from orthoglot.study.benchmarks.kinds import local, opus
from orthoglot.study.benchmarks.kinds.opus import DrawnSettings
from orthoglot.study.fetching.forecast import estimates
from orthoglot.study.fetching.opus import fetch
from orthoglot.text import bitext
from orthoglot.text.bitext import SentencePair
from orthoglot.text.keys import normalised

# 6 pairs of every two of 40 sentences, so that sides repeat.
GRID = [SentencePair(f"Satz {a}", f"sentence {b}") for a, b in product(range(40), repeat=2)]


def drawn(pairs: Sequence[SentencePair], most: int, seed: int = 1) -> list[SentencePair]:
    return sample(lambda: iter(pairs), most, seed)[0]


def straightforward(pairs: Sequence[SentencePair], most: int, seed: int) -> list[SentencePair]:
    """The same with all pairs in memory: sorted by hash, then one after the other."""
    person = derive(seed, "distinct sample").to_bytes(8, "big")

    def place(pair: SentencePair) -> bytes:
        return hashlib.blake2b("\t".join(pair).encode(), digest_size=8, person=person).digest()

    kept: list[SentencePair] = []
    for pair in sorted(set(pairs), key=place):
        a, b = map(normalised, pair)
        before = [[normalised(one[side]) for one in kept] for side in (0, 1)]
        if a and b and a != b and a not in before[0] and b not in before[1] and len(kept) < most:
            kept.append(pair)
    return kept


@pytest.mark.parametrize("block", [7, 20_000])
@pytest.mark.parametrize("most", [1, 9, 39, 40, 900])
def test_the_pairs_are_those_of_a_draw_in_memory(
    most: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bitext, "BLOCK", block)
    others = [("same", "Same!"), ("...", "dots"), ("Ende", "?!"), ("SATZ 3", "sentence, 5"), ("neu", "new")]
    pairs = [*GRID, *(SentencePair(*pair) for pair in others)] * 2
    for seed in range(3):
        assert drawn(pairs, most, seed) == straightforward(pairs, most, seed)


def test_the_order_and_the_number_of_repetitions_change_nothing() -> None:
    expected = drawn(GRID, 20)
    shuffled = Random(1).sample(GRID + GRID[:700] * 3, len(GRID) + 2100)
    assert drawn(shuffled, 20) == expected
    assert drawn(GRID, 20, seed=2) != expected
    assert drawn(GRID, 20)[:7] == drawn(GRID, 7)


def test_what_is_left_out_is_counted() -> None:
    pairs = [("a", "b"), ("a", "b"), ("A!", "c"), ("same", "same"), ("-", "d")]
    kept, counts = sample(lambda: iter([SentencePair(*pair) for pair in pairs]), 10, 1)
    assert len(kept) == 1
    assert counts == Counter(read=5, repeated=1, copy=1, empty=1)


def test_text_that_repeats_itself_is_read_again_and_no_other() -> None:
    times: list[int] = []

    def read(pairs: Sequence[SentencePair]) -> Iterator[SentencePair]:
        times.append(1)
        return iter(pairs)

    sample(lambda: read([SentencePair(f"a {n}", f"b {n}") for n in range(5000)]), 100, 1)
    assert len(times) == 1
    # 5,000 distinct pairs with 100 distinct sources: the first 151 of them have no 100.
    repeated = [SentencePair(f"a {n % 100}", f"b {n}") for n in range(5000)]
    times.clear()
    kept, counts = sample(lambda: read(repeated), 100, 1)
    assert len(times) > 1
    assert len(kept) == 100
    assert counts["read"] == 5000


def test_memory_holds_a_small_part_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitext, "BLOCK", 10)
    sizes: list[int] = []
    first = distinct_sample._first

    def seen(places: Any, pairs: Sequence[SentencePair], room: int) -> Any:
        sizes.append(len(pairs))
        return first(places, pairs, room)

    monkeypatch.setattr(distinct_sample, "_first", seen)
    drawn([SentencePair(f"a {n}", f"b {n}") for n in range(4000)], 20)
    assert max(sizes) <= 2 * 31 + 10


def test_every_pair_is_drawn_equally_often() -> None:
    pairs = [SentencePair(f"a {n}", f"b {n}") for n in range(60)]
    seeds = 600
    hits = Counter(pair for seed in range(seeds) for pair in drawn(pairs, 15, seed))
    expected = seeds * 15 / 60
    # Chi-squared of 60 cells, each of a hypergeometric draw: mean 59 (1 - 15 / 60), below 80 but for one in 100,000.
    assert sum((hits[pair] - expected) ** 2 / expected for pair in pairs) < 80
    firsts = Counter(drawn(pairs, 15, seed)[0] for seed in range(seeds))
    assert sum((firsts[pair] - 10) ** 2 / 10 for pair in pairs) < 120


def shipped() -> config.Params:
    return config.check(shipped_values())


def settings(**values: Any) -> DrawnSettings:
    about = {"kind": "opus", "corpus": "Crawl", "version": "v5", "pivot": "en", "languages": ["de", "bg"]}
    return DrawnSettings.model_validate({**about, "licence": "CC0-1.0", "source": "crawl-v5", **values})


def test_a_set_is_fetched_from_opus_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    german = [(f"Satz {n}", f"sentence {n}") for n in range(300)]
    bulgarian = [(f"Изречение {n}", f"sentence {n % 20}") for n in range(50)]
    write_opus(tmp_path / "opus", "Crawl", {("de", "en"): german, ("bg", "en"): bulgarian}, "v5")
    one = settings(most=40)
    (tmp_path / "fetched").mkdir()
    with OpusServer(tmp_path / "opus") as server:
        fetch(one.release, server.api, tmp_path / "fetched")
    output = tmp_path / "crawl"
    output.mkdir()
    collect(one, None, output, tmp_path / "fetched")
    bg, de = opus.read(output)
    assert (de.name, de.source, de.target, len(de.source_sentences)) == ("crawl", "de", "en", 40)
    assert set(zip(de.source_sentences, de.target_sentences, strict=True)) <= set(german)
    assert len(bg.source_sentences) == len(set(bg.target_sentences)) == 20
    counts = json.loads((output / "counts.json").read_text())
    assert counts["de"] == {"kept": 40, "read": 300, "repeated": 0, "copy": 0, "empty": 0}
    assert (counts["bg"]["kept"], counts["bg"]["repeated"]) == (20, 30)
    assert read_source(output) == "crawl-v5"
    assert local.read(output) == []
    assert read_all(output) == [bg, de]
    # Training text gets none of them, on either side.
    assert sentence_keys([output]).keys() == {
        normalised(text) for one in (de, bg) for text in (*one.source_sentences, *one.target_sentences)
    }


def test_a_run_fetches_and_draws_and_trains_on_none_of_it(tmp_path: Path) -> None:
    pairs = [(f"la ba {n}", f"fo na {n}") for n in range(200)]
    write_opus(tmp_path / "opus", "Crawl", {("qaa", "qab"): pairs}, "v5")
    (tmp_path / "texts").mkdir()
    mine = tmp_path / "texts/mine.tsv"
    mine.write_text("".join(f"{first}\t{second}\n" for first, second in pairs))
    entry = settings(pivot="qaa", languages=["qab"], most=30, listed=False).model_dump()
    workspace = Workspace.make(tmp_path / "w")
    workspace.edit(
        benchmarks__drawn=entry,
        corpora__mine={"kind": "local", "pairs": ["qaa-qab"], "files": [str(mine)], "licence": "own"},
        presets__mini__benchmarks=["mini-tatoeba", "drawn"],
        presets__mini__corpora=["mini", "mine"],
    )
    with OpusServer(tmp_path / "opus") as server:
        api = {"ORTHOGLOT_OPUS_API": server.api}
        answer = workspace.run("orthoglot", "study", "fetch", "--preset", "mini", **api)
        asked = len(server.requests)
        workspace.run("snakemake", "--cores", "2", "data/mini/bitext/qaa-qab", **api)
        assert len(server.requests) == asked == 2
    assert "0 files and 1 corpora of OPUS are in .cache/fetched: benchmarks.drawn" in answer.stdout
    (found,) = opus.read(workspace.folder / "data/mini/benchmarks/drawn")
    assert len(found.source_sentences) == 30
    counts = json.loads((workspace.folder / "data/mini/bitext/qaa-qab/counts.json").read_text())
    assert counts["benchmarks"]["drawn"] == 30
    assert workspace.jobs_due("data/mini/bitext/qaa-qab") == {}


def test_the_plan_says_what_a_set_takes() -> None:
    rows = estimates({"benchmarks.paracrawl": shipped().benchmarks["paracrawl"].release})
    assert len(rows) == 21
    assert {row.pairs for row in rows} == {200_000}
    assert 25e9 < sum(row.download or 0 for row in rows) < 27e9
    assert {row.licence for row in rows} == {"CC0-1.0"}
    assert shipped().releases_of("mini") == {}


def test_wrong_settings_and_archives_are_one_line(tmp_path: Path) -> None:
    for values, message in (
        ({"languages": ["de", "de"]}, "names something twice"),
        ({"languages": ["en"]}, "en"),
        ({"most": 0}, "most"),
        ({"corpus": "../Crawl"}, "corpus"),
    ):
        with pytest.raises(ValidationError, match=message):
            settings(**values)
    with pytest.raises(ConfigError, match="Crawl v5 of OPUS was not fetched"):
        collect(settings(), None, tmp_path)
    with pytest.raises(DataError, match=r"no file for de, bg, e\.g\. .*/en-de\.zip"):
        collect(settings(), None, tmp_path, tmp_path)
    write_opus(tmp_path, "Crawl", {("de", "en"): [("?", "!"), ("…", "-")]}, "v5")
    (tmp_path / "OPUS-Crawl/v5/moses/de-en.txt.zip").rename(tmp_path / "en-de.zip")
    with pytest.raises(DataError, match="no pair has a sentence on either side"):
        collect(settings(languages=["de"]), None, tmp_path, tmp_path)
