"""Fitting to one's own bitext: a folder that stands alone, numbers that a plain count confirms."""

from __future__ import annotations

import gzip
import json
import logging
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import ems_encoders
import numpy as np
import pytest
import torch
import zstandard
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from small_checkpoint import DIM, POSITIONS, make_pairs, write_checkpoint, write_tsv
from typer.testing import CliRunner

import orthoglot
from orthoglot import catalogue
from orthoglot.apply import fit as module
from orthoglot.apply import held_out_retrieval
from orthoglot.apply.early_checks import texts_by_pair
from orthoglot.apply.encoder_copy import Checkpoint, copy_encoder, licence_of, stated_limit
from orthoglot.apply.export import export
from orthoglot.apply.fit import fit
from orthoglot.apply.held_out_retrieval import table
from orthoglot.apply.ready import Ready
from orthoglot.cli import app
from orthoglot.decomposers.architectures.plda import ARCHITECTURE as PLDA
from orthoglot.decomposers.architectures.plda import Prior, Scatter
from orthoglot.decomposers.base import load_decomposer, unit
from orthoglot.decomposers.closed_forms import gather
from orthoglot.encoders.folder import card
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.formats.base import Source
from orthoglot.formats.sources import read_source
from orthoglot.statistics.records import Record, read_records
from orthoglot.text.held_out import UnseenPairs
from orthoglot.text.keys import normalised
from orthoglot.text.prepared import read_split
from orthoglot.text.splitting import SplitSettings, split_of
from orthoglot.training.settings import DecompositionSettings

RECIPE = DecompositionSettings(learning_rate=1e-3, batch_size=64, max_epochs=40, patience=10)
SPLITS = SplitSettings(seed=1, valid=0.1, test=0.2, max_train=0, max_valid=0, max_test=0)


def run(root: Path, folder: Path, texts: dict[str, list[Source]], **changes: Any) -> list[Record]:
    """Fit into root/model with the checkpoint kept in root/work."""
    given: dict[str, Any] = {"name": "seed", "recipe": RECIPE, "splits": SPLITS, "seed": 1, **changes}
    return fit(
        given.get("encoder", Checkpoint(str(folder), pooling="mean", max_tokens=20)),
        texts,
        given["name"],
        catalogue.method(given["name"]),
        given["recipe"],
        given["splits"],
        seed=given["seed"],
        device="cpu",
        checkpoint=root / "work",
        output=root / "model",
        start=given.get("start"),
        realign=given.get("realign", False),
    )


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("hub") / "tiny-xlmr", offset=0.1)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pairs = make_pairs(700)
    shouted = [(a.upper() + "!", b + " b00") for a, b in pairs[:100]]  # the same pivots in other clothes
    return write_tsv(tmp_path_factory.mktemp("text") / "en-gn.tsv", [*pairs, *shouted])


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, checkpoint: Path, text: Path) -> tuple[Path, list[Record]]:
    """A finished fit; its root and what it measured."""
    root = tmp_path_factory.mktemp("done")
    return root, run(root, checkpoint, texts_by_pair([str(text)], ["en-gn"]))


def test_folder_stands_alone_and_a_plain_count_gives_its_scores(
    done: tuple[Path, list[Record]], tmp_path: Path
) -> None:
    root, records = done
    shutil.copytree(root / "model", tmp_path / "elsewhere")
    model = orthoglot.load(tmp_path / "elsewhere", device="cpu")
    test = read_split(root / "work/bitext/en-gn", "test")
    trained = [pair for split in ("train", "valid") for pair in read_split(root / "work/bitext/en-gn", split)]
    seen = [{normalised(pair[side]) for pair in trained} for side in (0, 1)]
    kept = [p for p in test if normalised(p[0]) not in seen[0] and normalised(p[1]) not in seen[1]]
    by = {(record.subset, record.view): record for record in records}
    assert set(by) == {
        (s, v) for s in ("en->gn", "gn->en", "all") for v in ("sentence", "meaning", "language")
    }
    for view in ("sentence", "meaning", "language"):
        sides = [model.encode([pair[side] for pair in kept], part=view) for side in (0, 1)]
        x, y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
        # All sentences of the side are candidates, those of the training too; the queries' own come first.
        every = [dict.fromkeys(pair[side] for pair in (*trained, *test)) for side in (0, 1)]
        others = [[s for s in every[side] if s not in {p[side] for p in kept}] for side in (0, 1)]
        far = [model.encode(more, part=view) for more in others]
        u, v = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in far)
        there = 100 * np.mean((x @ np.vstack([y, v]).T).argmax(axis=1) == np.arange(len(kept)))
        back = 100 * np.mean((y @ np.vstack([x, u]).T).argmax(axis=1) == np.arange(len(kept)))
        assert by["en->gn", view].facts["candidates"] == str(len(kept) + len(others[1]))
        assert by["gn->en", view].facts["candidates"] == str(len(kept) + len(others[0]))
        assert by["en->gn", view].n == len(kept) > 100
        assert by["en->gn", view].value == pytest.approx(there, abs=1e-5)
        assert by["gn->en", view].value == pytest.approx(back, abs=1e-5)
        mean = by["all", view]
        assert mean.value == pytest.approx((there + back) / 2, abs=1e-5)
        assert mean.low is not None
        assert mean.high is not None
        assert mean.low <= mean.value <= mean.high
    assert by["all", "meaning"].value > by["all", "sentence"].value + 5
    assert by["all", "language"].value < by["all", "sentence"].value
    assert read_records(root / "model/records.jsonl") == records


def test_plda_chooses_its_shrinkage_and_is_exported(checkpoint: Path, text: Path, tmp_path: Path) -> None:
    records = run(tmp_path, checkpoint, texts_by_pair([str(text)], ["en-gn"]), name="plda")
    details = load_decomposer(tmp_path / "model").details
    assert {"shrinkage", "validation"} <= set(details)
    values = {record.view: record.value for record in records if record.subset == "all"}
    assert values["meaning"] > values["sentence"] + 5
    assert values["language"] < values["sentence"]
    for part in ("meaning", "language"):
        assert export(tmp_path / "model", tmp_path / part, part=part) < 1e-5


def a_ready_model(seed: int) -> Ready:
    """Of vectors of the tiny encoder's size that point one way."""
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=(300, DIM)) + 4
    source, target = (unit(meaning + 0.3 * rng.normal(size=meaning.shape)) for _ in range(2))
    moments, pairs, _ = gather(PLDA, [(source, target, ("de", "en"))], ["de", "en"], DIM)
    return Ready(
        Prior(Scatter.of(moments, pairs), {"shrinkage": 0.9}), {"text": {"c": "CC0-1.0"}}, f"sha{seed}"
    )


def test_a_fit_from_the_ready_model_is_on_record_and_differs_from_one_without(
    checkpoint: Path, text: Path, tmp_path: Path
) -> None:
    texts, start = texts_by_pair([str(text)], ["en-gn"]), a_ready_model(1)
    run(tmp_path, checkpoint, texts, name="plda", start=start)
    fitted = load_decomposer(tmp_path / "model")
    assert (fitted.details["shrinkage"], fitted.details["prior_pairs"]) == (0.9, 300)
    made = json.loads((tmp_path / "model/fit.json").read_text())
    assert made["start"] == {"sha256": "sha1", "text": {"c": "CC0-1.0"}}
    export(tmp_path / "model", tmp_path / "exported")
    card_text = (tmp_path / "exported/README.md").read_text()
    assert "- started from a ready map of orthoglot, 300 sentence pairs of c (CC0-1.0)\n" in card_text
    # The same again is done; from another ready model it is another model.
    run(tmp_path, checkpoint, texts, name="plda", start=start)
    with pytest.raises(ConfigError, match="holds another model"):
        run(tmp_path, checkpoint, texts, name="plda", start=a_ready_model(2))
    shutil.rmtree(tmp_path / "model")
    run(tmp_path, checkpoint, texts, name="plda")
    alone = load_decomposer(tmp_path / "model")
    assert "prior_pairs" not in alone.details
    assert np.abs(alone.weights["mean"] - fitted.weights["mean"]).max() > 0.01


@pytest.mark.parametrize(
    ("options", "starts"),
    [([], True), (["--encoder", "mine"], False), (["--method", "centering"], False)],
)
def test_without_an_encoder_the_command_starts_from_the_ready_model(
    monkeypatch: pytest.MonkeyPatch, text: Path, tmp_path: Path, options: list[str], starts: bool
) -> None:
    given: list[Any] = []
    monkeypatch.setattr("orthoglot.apply.ready_model.default", lambda: tmp_path)
    monkeypatch.setattr(module, "fit", lambda *_, start, **__: given.append(start) or [])
    monkeypatch.setattr(held_out_retrieval, "table", lambda _: "")
    command = ["fit", "--bitext", str(text), "--pair", "en-gn", "--output", str(tmp_path / "out"), *options]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert [one is not None for one in given] == [starts]


def test_a_run_that_only_vectors_show_is_named_by_its_units(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    n, start = 160, 60
    vectors = unit(np.random.default_rng(1).normal(size=(n, 16)).astype(np.float32))
    words = ["".join(chr(97 + int(digit)) for digit in f"{number:03}") for number in range(n)]
    translation = [number if number < start else number - 1 for number in range(n)]
    lines = [f"q{words[i]}\tz{words[translation[i]]}\n" for i in range(n)]
    lines.insert(5, "\tz\n")  # what cleaning has dropped is in no store, and counts as a unit
    (tmp_path / "a.tsv").write_text("".join(lines))

    class Store:
        def find(self, sentences: list[str], language: str) -> np.ndarray:
            letters = "q" if language == "en" else "z"
            known = {f"{letters}{word}": number for number, word in enumerate(words)}
            return np.array([known.get(sentence, -1) for sentence in sentences])

        def take(self, rows: np.ndarray) -> np.ndarray:
            return vectors[rows]

    store: Any = Store()
    [text] = texts_by_pair([str(tmp_path / "a.tsv")], ["en-gn"])["en-gn"]
    module.warn_of_runs(store, text, "en-gn")
    assert "a.tsv: by their vectors, " in caplog.text
    # The last line before the shift has its translation in the next one, too.
    assert f"units {start + 1} to {n + 1}: the translation stands one line after" in caplog.text
    caplog.clear()
    (tmp_path / "a.tsv").write_text("".join(f"q{word}\tz{word}\n" for word in words))
    module.warn_of_runs(store, text, "en-gn")
    assert not caplog.text


@pytest.mark.parametrize("realign", [False, True])
def test_a_shifted_run_is_left_out_or_paired_anew(
    checkpoint: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, realign: bool
) -> None:
    numbered = [tuple(f"{side} {1000 + row}" for side in pair) for row, pair in enumerate(make_pairs(500))]
    source, target = zip(*numbered, strict=True)
    table = write_tsv(
        tmp_path / "en-gn.tsv", list(zip(source[:-1], target[:300] + target[301:], strict=True))
    )
    run(tmp_path, checkpoint, texts_by_pair([str(table)], ["en-gn"]), name="plda", realign=realign)
    counts = json.loads((tmp_path / "model/fit.json").read_text())["text"]["en-gn"]
    assert counts["dropped"].get("shifted", 0) == (1 if realign else 199)
    assert counts["runs"] == {table.name: [{"start": 300, "stop": 499, "offset": -1}]}
    assert "units 301 to 499: the translation stands one line before" in caplog.text
    pairs = [
        pair
        for split in ("train", "valid", "test")
        for pair in read_split(tmp_path / "work/bitext/en-gn", split)
    ]
    assert set(numbered).issuperset(pairs)


def test_pivot_sentences_never_cross_the_splits(done: tuple[Path, list[Record]]) -> None:
    folder = done[0] / "work/bitext/en-gn"
    keys = {s: {normalised(p.source) for p in read_split(folder, s)} for s in ("train", "valid", "test")}
    assert all(keys.values())
    assert not keys["train"] & (keys["valid"] | keys["test"])
    assert not keys["valid"] & keys["test"]
    assert sum(map(len, keys.values())) == 700


def test_what_made_it_is_on_record(done: tuple[Path, list[Record]], text: Path) -> None:
    made = json.loads((done[0] / "model/fit.json").read_text())
    assert made["sha256"] == {"en-gn": [[module.digest(text)]]}
    assert made["bitext"] == {"en-gn": ["en-gn.tsv"]}
    assert made["text"]["en-gn"]["in"] == {"en-gn.tsv": 800}
    assert made["encoder"] == {
        "name": "tiny-xlmr",
        "identity": json.loads((done[0] / "model/decomposer.json").read_text())["identity"],
        "licence": "not stated",
    }
    assert made["recipe"] == RECIPE.model_dump()


def test_table_has_a_row_per_direction_and_the_mean_last(done: tuple[Path, list[Record]]) -> None:
    lines = table(done[1]).splitlines()
    assert lines[0] == "| Retrieval | original | meaning | language | candidates | n |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| en->gn", "| gn->en", "| all"]
    mean = next(r for r in done[1] if (r.subset, r.view) == ("all", "meaning"))
    assert f"| {mean.value:.1f} [{mean.low:.1f}, {mean.high:.1f}] |" in lines[-1]


@pytest.mark.parametrize(
    ("original", "meaning", "said"), [(99.2, 99.5, True), (98.9, 99.5, False), (99.5, 98.0, False)]
)
def test_a_table_in_which_nothing_can_be_better_says_so(
    original: float, meaning: float, said: bool, done: tuple[Path, list[Record]]
) -> None:
    values = {"sentence": original, "meaning": meaning, "language": 3.0}
    records = []
    for record in done[1]:
        value = values[record.view]
        records.append(replace(record, value=value, low=value - 1, high=value + 0.4))
    assert (held_out_retrieval.SATURATED in table(records)) == said
    # An encoder alone is compared with nothing.
    assert held_out_retrieval.SATURATED not in table(
        [record for record in records if record.view == "sentence"]
    )


def test_moses_files_in_any_packing_give_the_same_weights(
    done: tuple[Path, list[Record]], checkpoint: Path, text: Path, tmp_path: Path
) -> None:
    sides = zip(*(line.split("\t") for line in text.read_text().splitlines()), strict=True)
    source, target = (("\n".join(side) + "\n").encode() for side in sides)
    (tmp_path / "t.en.gz").write_bytes(gzip.compress(source))
    (tmp_path / "t.gn.zst").write_bytes(zstandard.compress(target))
    texts = texts_by_pair([f"{tmp_path}/t.en.gz,{tmp_path}/t.gn.zst"], ["en-gn"])
    records = run(tmp_path, checkpoint, texts)
    assert records == done[1]
    weights = [root / "model/weights.safetensors" for root in (tmp_path, done[0])]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_columns_of_a_wider_table_give_the_same_weights(
    done: tuple[Path, list[Record]], checkpoint: Path, text: Path, tmp_path: Path
) -> None:
    rows = [line.split("\t") for line in text.read_text().splitlines()]
    wide = tmp_path / "wide.tsv"
    wide.write_text("gn\tlast\ten\n" + "".join(f"{b}\t{b[::-1]}\t{a}\n" for a, b in rows))
    run(tmp_path, checkpoint, texts_by_pair([str(wide)], ["en-gn"], ["en", "gn"]))
    weights = [(root / "model/weights.safetensors").read_bytes() for root in (done[0], tmp_path)]
    assert weights[0] == weights[1]
    assert json.loads((tmp_path / "model/fit.json").read_text())["columns"] == {"en-gn": [["en", "gn"]]}
    # Other columns of the same file are another text.
    other = texts_by_pair([str(wide)], ["en-gn"], ["en", "last"])
    with pytest.raises(ConfigError, match="holds another model"):
        run(tmp_path, checkpoint, other)
    shutil.rmtree(tmp_path / "model")
    run(tmp_path, checkpoint, other)
    found = read_split(tmp_path / "work/bitext/en-gn", "train")
    assert {pair.target for pair in found} <= {b[::-1] for _, b in rows}
    assert (tmp_path / "model/weights.safetensors").read_bytes() != weights[0]


def test_a_translation_memory_gives_the_same_weights(
    done: tuple[Path, list[Record]], checkpoint: Path, text: Path, tmp_path: Path
) -> None:
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="gn"><seg>{target}</seg></tuv></tu>'
        for source, target in (line.split("\t") for line in text.read_text().splitlines())
    )
    memory = tmp_path / "memory.tmx"
    memory.write_text(f'<tmx version="1.4"><header/><body>{units}<tu/></body></tmx>')
    texts = texts_by_pair([str(memory)], ["en-gn"])
    assert [(source.name, source.kind) for source in texts["en-gn"]] == [("memory.tmx", "tmx")]
    run(tmp_path, checkpoint, texts)
    counts = json.loads((tmp_path / "model/fit.json").read_text())["text"]["en-gn"]
    assert counts["dropped"]["other_languages"] == 1
    weights = [(root / "model/weights.safetensors").read_bytes() for root in (done[0], tmp_path)]
    assert weights[0] == weights[1]


def test_a_memory_is_read_in_the_region_that_the_pair_names(
    checkpoint: Path, text: Path, tmp_path: Path
) -> None:
    rows = [line.split("\t") for line in text.read_text().splitlines()]
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="pt-PT"><seg>longe {source}</seg></tuv>'
        f'<tuv xml:lang="pt-BR"><seg>{target}</seg></tuv></tu>'
        for source, target in rows
    )
    memory = tmp_path / "memory.tmx"
    memory.write_text(f'<tmx version="1.4"><header/><body>{units}</body></tmx>')
    texts = texts_by_pair([str(memory)], ["en-pt_BR"])
    assert [*texts] == ["en-pt"]
    assert [(pair.source, pair.target) for pair in read_source(texts["en-pt"][0], "en", "pt")] == [
        (source, target) for source, target in rows
    ]
    run(tmp_path, checkpoint, texts, name="plda")
    assert json.loads((tmp_path / "model/fit.json").read_text())["tags"] == {"en-pt": [["en", "pt_BR"]]}
    with pytest.raises(ConfigError, match="holds another model"):
        run(tmp_path, checkpoint, texts_by_pair([str(memory)], ["en-pt_PT"]), name="plda")


def test_interrupted_fit_goes_on_and_a_finished_one_is_found_done(
    checkpoint: Path,
    text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    done: tuple[Path, list[Record]],
) -> None:
    class NotAgain(Exception):  # noqa: N818 - no error, a sign
        pass

    def forbidden(*_: Any, **__: Any) -> None:
        raise NotAgain

    texts = texts_by_pair([str(text)], ["en-gn"])
    with monkeypatch.context() as patch:
        patch.setattr(module, "fit_decomposer", forbidden)
        with pytest.raises(NotAgain):
            run(tmp_path, checkpoint, texts)
    assert not (tmp_path / "model").exists()
    monkeypatch.setattr(module, "embed", forbidden)  # from here on the vectors must be found
    monkeypatch.setattr(module, "prepare", forbidden)
    run(tmp_path, checkpoint, texts)
    before = {path: path.read_bytes() for path in (tmp_path / "model").rglob("*") if path.is_file()}
    twin = {path: path.read_bytes() for path in (done[0] / "model").rglob("*") if path.is_file()}
    assert {p.relative_to(tmp_path): c for p, c in before.items()} == {
        p.relative_to(done[0]): c for p, c in twin.items()
    }
    monkeypatch.setattr(module, "fit_decomposer", forbidden)
    run(tmp_path, checkpoint, texts)
    (tmp_path / "work").rename(tmp_path / "later")  # the text would be prepared anew
    with pytest.raises(ConfigError, match=r"model: holds another model \(seed, en-gn\); remove it"):
        run(tmp_path, checkpoint, texts, name="centering")
    (tmp_path / "later").rename(tmp_path / "work")
    assert {path: path.read_bytes() for path in before} == before
    shutil.rmtree(tmp_path / "model")
    with pytest.raises(NotAgain):  # the vectors are found
        run(tmp_path, checkpoint, texts, seed=2)


def test_several_pairs_share_pivots_and_several_texts_a_pair(checkpoint: Path, tmp_path: Path) -> None:
    pairs = make_pairs(300, seed=3)
    first = write_tsv(tmp_path / "a.tsv", pairs[:200])
    second = write_tsv(tmp_path / "b.tsv", pairs[200:])
    third = write_tsv(tmp_path / "c.tsv", [(a, b[::-1].replace("b", "") + " b01") for a, b in pairs])
    texts = texts_by_pair([str(first), str(third), str(second)], ["en-gn", "en-ay", "en-gn"])
    assert {pair: [one.paths for one in found] for pair, found in texts.items()} == {
        "en-gn": [[str(first)], [str(second)]],
        "en-ay": [[str(third)]],
    }
    records = run(tmp_path, checkpoint, texts)
    assert {r.subset for r in records} == {"en->gn", "gn->en", "en->ay", "ay->en", "all"}
    splits: dict[str, set[str]] = {"train": set(), "test": set()}
    for pair in texts:
        for split, sentences in splits.items():
            sentences.update(p.source for p in read_split(tmp_path / "work/bitext" / pair, split))
    assert not splits["train"] & splits["test"]
    by = {(r.subset, r.view): r for r in records}
    means = [
        by[f"{a}->{b}", "meaning"].value for a, b in (("en", "gn"), ("gn", "en"), ("en", "ay"), ("ay", "en"))
    ]
    assert by["all", "meaning"].value == pytest.approx(np.mean(means), abs=1e-5)


def test_language_that_the_encoder_never_saw_is_warned_of_and_then_served(
    text: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "ems"
    sentences = {"en": [line for a, b in make_pairs(200) for line in (a, b)]}
    ems_encoders.write(home, sentences, ems_encoders.network(max_tokens=24))
    with pytest.raises(ConfigError, match="does not cover language 'gn'"):
        orthoglot.load(home).encode(["b01 b02"], part="sentence", language="gn")
    with caplog.at_level(logging.WARNING):
        run(
            tmp_path,
            home,
            texts_by_pair([str(text)], ["en-gn"]),
            encoder=Checkpoint(str(home)),
            name="centering",
        )
    assert "tiny never saw gn (it covers en)" in caplog.text
    model = orthoglot.load(tmp_path / "model")
    assert model.encode(["b01 b02"], language="gn").shape == (1, 16)
    assert json.loads((tmp_path / "model/fit.json").read_text())["languages_new_to_the_encoder"] == ["gn"]
    assert json.loads((home / "encoder.json").read_text())["languages"] == ["en"]
    with pytest.raises(ConfigError, match="says pooling, prefix; leave the options out"):
        copy_encoder(Checkpoint(str(home), pooling="cls", prefix="q: "), ["en"], tmp_path)


def test_the_languages_of_a_checkpoint_are_those_of_its_readme(
    checkpoint: Path, text: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stated = Path(shutil.copytree(checkpoint, tmp_path / "stated"))
    (stated / "README.md").write_text("---\nlanguage: [deu, multilingual, en]\n---\n")
    with caplog.at_level(logging.WARNING):
        run(tmp_path, stated, texts_by_pair([str(text)], ["en-gn"]), name="centering")
    assert "never saw gn (it covers de, en)" in caplog.text
    assert json.loads((tmp_path / "model/fit.json").read_text())["languages_new_to_the_encoder"] == ["gn"]
    assert card(tmp_path / "model/encoder")["languages"] == ["de", "en", "gn"]


def test_linked_checkpoint_is_copied_without_other_formats(checkpoint: Path, tmp_path: Path) -> None:
    linked = shutil.copytree(checkpoint, tmp_path / "linked")
    (linked / "pytorch_model.bin").write_bytes(b"pickle")
    (linked / "onnx").mkdir()
    (linked / "README.md").write_text("---\nlicense: mit\n---\n# Tiny\n")
    home = tmp_path / "home"
    home.mkdir()
    first = tmp_path / "first"
    first.mkdir()
    copy_encoder(Checkpoint(str(linked), "tiny", pooling="cls", max_tokens=9, prefix="b00 "), ["en"], first)
    card = json.loads((first / "encoder.json").read_text())
    (home / "encoder.json").write_text(json.dumps({**card, "checkpoint": str(linked), "revision": "local"}))
    second = tmp_path / "second"
    second.mkdir()
    copy_encoder(Checkpoint(str(home)), ["en"], second)
    names = [sorted(path.name for path in place.rglob("*")) for place in (first, second)]
    assert names[0] == names[1]
    assert not {"pytorch_model.bin", "onnx"} & set(names[0])
    shutil.rmtree(linked)
    vectors = [orthoglot.load(place).encode(["a01 a02"], part="sentence") for place in (first, second)]
    np.testing.assert_array_equal(*vectors)
    assert licence_of(first) == "mit"
    (first / "README.md").write_text("---\n[\n---\n")
    assert licence_of(first) == "not stated"


def test_sentence_transformers_model_runs_its_own_steps_and_is_copied_whole(
    checkpoint: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    torch.manual_seed(3)
    dense = Dense(DIM, 6, activation_function=torch.nn.Tanh())
    modules = [Transformer(str(checkpoint)), Pooling(DIM, pooling_mode="max"), dense, Normalize()]
    model = SentenceTransformer(modules=modules, device="cpu")
    model.max_seq_length = 12
    model.save(str(tmp_path / "sbert"), create_model_card=False)
    (tmp_path / "home").mkdir()
    copy_encoder(Checkpoint(str(tmp_path / "sbert")), ["en"], tmp_path / "home")
    assert json.loads((tmp_path / "home/encoder.json").read_text())["max_tokens"] == 12
    (tmp_path / "link").mkdir()
    card = {**json.loads((tmp_path / "home/encoder.json").read_text()), "checkpoint": str(tmp_path / "sbert")}
    (tmp_path / "link/encoder.json").write_text(json.dumps(card))
    (tmp_path / "again").mkdir()
    copy_encoder(Checkpoint(str(tmp_path / "link")), ["en"], tmp_path / "again")
    (tmp_path / "pooled").mkdir()
    with caplog.at_level(logging.WARNING):
        copy_encoder(Checkpoint(str(tmp_path / "sbert"), pooling="mean"), ["en"], tmp_path / "pooled")
    assert any(re.search(r"--pooling leaves out \S+\.Dense$", one) for one in caplog.messages)
    (tmp_path / "sbert/modules.json").write_text("{")
    with pytest.raises(DataError, match=r"modules\.json: cannot be read"):
        copy_encoder(Checkpoint(str(tmp_path / "sbert")), ["en"], tmp_path)
    shutil.rmtree(tmp_path / "sbert")
    sentences = [a for a, _ in make_pairs(5)]
    for home in ("home", "again"):
        vectors = orthoglot.load(tmp_path / home, device="cpu").encode(sentences, part="sentence")
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        np.testing.assert_allclose(unit, model.encode(sentences), atol=1e-6)
        assert np.abs(unit - vectors).max() > 0.01


def test_a_sentence_transformers_models_limit_holds_whoever_says_how_to_pool(
    checkpoint: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "stated"
    shutil.copytree(checkpoint, folder)
    (tmp_path / "home").mkdir()

    def limit() -> int:
        copy_encoder(Checkpoint(str(folder), pooling="mean"), ["en"], tmp_path / "home")
        return json.loads((tmp_path / "home/encoder.json").read_text())["max_tokens"]

    with pytest.raises(ConfigError, match="max_tokens is 128"):  # a transformers folder does not count
        limit()
    (folder / "modules.json").write_text("[]")
    with pytest.raises(ConfigError, match="does not say how it pools"):
        copy_encoder(Checkpoint(str(folder)), ["en"], tmp_path / "home")
    (folder / "modules.json").write_text('[{"type": "sentence_transformers.models.Transformer", "path": ""}]')
    assert limit() == POSITIONS - 2
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    assert limit() == 12
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": null}')
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}))
    assert stated_limit(folder) is None
    (folder / "tokenizer_config.json").write_text("{")
    with pytest.raises(DataError, match=r"tokenizer_config\.json: cannot be read"):
        stated_limit(folder)


def test_what_cannot_be_fitted_is_refused_before_any_work(
    checkpoint: Path, text: Path, tmp_path: Path
) -> None:
    texts = texts_by_pair([str(text)], ["en-gn"])
    (tmp_path / "model").mkdir()
    (tmp_path / "model/precious.txt").write_text("mine")
    with pytest.raises(ConfigError, match="exists and was not written by orthoglot fit"):
        run(tmp_path, checkpoint, texts)
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["precious.txt"]
    (tmp_path / "model/fit.json").write_text("{")
    with pytest.raises(ConfigError, match=r"fit\.json is damaged; remove it or name another folder"):
        run(tmp_path, checkpoint, texts)
    shutil.rmtree(tmp_path / "model")
    with pytest.raises(DataError, match=r"absent\.tsv does not exist"):
        run(tmp_path, checkpoint, texts_by_pair([str(tmp_path / "absent.tsv")], ["en-gn"]))
    with pytest.raises(DataError, match=f"{tmp_path} is no file"):
        run(tmp_path, checkpoint, texts_by_pair([str(tmp_path)], ["en-gn"]))
    with pytest.raises(ConfigError, match="no such folder, and as a hub id it needs a commit"):
        run(tmp_path, checkpoint, texts, encoder=Checkpoint("nobody/nothing", pooling="mean"))
    pinned = Checkpoint("nobody/nothing", revision="0" * 40, pooling="mean")
    with pytest.raises(OfflineError, match="hf download nobody/nothing"):
        run(tmp_path, checkpoint, texts, encoder=pinned)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ConfigError, match="does not say how it pools"):
        run(tmp_path, checkpoint, texts, encoder=Checkpoint(str(checkpoint)))
    few = texts_by_pair([str(write_tsv(tmp_path / "few.tsv", make_pairs(8)))], ["en-gn"])
    with pytest.raises(DataError, match="too few to measure; raise the test share"):
        run(tmp_path, checkpoint, few, splits=SPLITS.model_copy(update={"test": 0.0}))
    assert not (tmp_path / "model").exists()


def test_a_text_whose_test_part_was_taken_out_before_is_named(checkpoint: Path, tmp_path: Path) -> None:
    pairs = [pair for pair in make_pairs(400) if split_of(pair[0], SPLITS) == "train"]
    texts = texts_by_pair([str(write_tsv(tmp_path / "train.tsv", pairs))], ["en-gn"])
    with pytest.raises(
        DataError, match=rf"none of {len(pairs)} pairs .* \(a training shard .* --test-share above"
    ):
        run(tmp_path, checkpoint, texts)
    beyond = SPLITS.model_copy(update={"test": SPLITS.test + SPLITS.valid + 0.1})
    run(tmp_path, checkpoint, texts, name="plda", splits=beyond)


@pytest.mark.parametrize(("count", "warned"), [(29, True), (30, False)])
def test_few_test_pairs_come_with_a_warning(
    count: int, warned: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    unseen = {"en-gn": UnseenPairs(make_pairs(count), 0)}
    monkeypatch.setattr(held_out_retrieval, "read_held_out", lambda _: unseen)
    assert held_out_retrieval.held_out([]) == unseen
    assert (f"en-gn: {count} test pairs are few: the intervals are rough" in caplog.text) == warned


@pytest.mark.parametrize(
    ("bitext", "pairs", "message"),
    [
        (["a.tsv"], [], "1 --bitext but 0 --pair"),
        (["a,b,c"], ["en-gn"], "a b c: give one file, or a source and its translation"),
        (["-", "-"], ["en-gn", "en-ay"], "only one --bitext can be standard input"),
        (["a.csv,b.csv"], ["en-gn"], "say --columns, one of each file"),
        (["a.tmx,b.tmx"], ["en-gn"], "a file of this form holds both languages; name one file"),
        (["a.tsv"], ["gn"], "write two codes and a hyphen"),
        (["a.tsv"], ["en-grn"], 'write it "en-gn"'),
        (["a.tmx"], ["pt_BR-pt_PT"], "pt_BR and pt_PT are one language, pt"),
    ],
)
def test_texts_and_pairs_must_fit_together(bitext: list[str], pairs: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        texts_by_pair(bitext, pairs)
