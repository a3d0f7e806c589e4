"""Whatever stands in a file of vectors, weights, results or settings, a reader gives a sound value or one line.

A file that stands alone and holds other numbers of the right type and shape is another sound file: nothing can tell it
from a good one. Where a receipt or a digest is, every change is refused.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import xlmr
from faults import inject
from generated_records import a_run
from mutations import COUNT, mutations
from safetensors.numpy import save_file
from typer.testing import CliRunner

from orthoglot import receipts
from orthoglot.cli import app
from orthoglot.decomposers.base import META, WEIGHTS, Decomposer, load_decomposer
from orthoglot.embeddings import store as stores
from orthoglot.embeddings.store import EmbeddingStore, digests_of, index_digest
from orthoglot.encoders.folder import card, check_revision, load_encoder, save_card, stated
from orthoglot.errors import ConfigError, DataError
from orthoglot.statistics.records import Record, read_records, write_records
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.summary import Key, read_scores, write_scores
from orthoglot.study import config
from orthoglot.study.report.frame import frame

KEY = "0123456789abcdef"
WORDS = [f"word {n}" for n in range(9)]


def attempts(path: Path, read: Callable[[], Any]) -> Callable[[bytes], Any]:
    """Puts a damaged content in the place of a file, and reads it."""

    def attempt(damaged: bytes) -> Any:
        path.write_bytes(damaged)
        return read()

    return attempt


def refuse_all(suite: str, content: bytes, attempt: Callable[[bytes], Any], count: int = COUNT) -> None:
    """Every change of a file with a receipt or a digest is refused."""
    assert inject(suite, mutations(content, count), attempt, lambda value: True).refused == count


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Vectors of nine sentences."""
    folder = tmp_path / "embeddings"
    folder.mkdir()
    digests = digests_of(WORDS, "en")
    order = np.argsort(digests)
    np.save(folder / stores.VECTORS, np.random.default_rng(1).normal(size=(9, 4)).astype(np.float32))
    np.save(folder / stores.DIGESTS, digests[order])
    np.save(folder / stores.ROWS, order)
    meta = {"encoder": "toy", "identity": "abc", "dim": 4, "n": 9, "dtype": "float32"}
    text = json.dumps(meta | {"index": index_digest(digests[order], order)}, indent=1)
    (folder / stores.META).write_text(text)
    return folder


@pytest.mark.parametrize("name", [stores.VECTORS, stores.DIGESTS, stores.ROWS, stores.META])
def test_a_damaged_store_is_vectors_or_one_line(name: str, store: Path) -> None:
    def read() -> tuple[np.ndarray, np.ndarray]:
        opened = EmbeddingStore.open(store, "abc")
        rows = opened.rows(WORDS, "en")
        return rows, opened.take(rows)

    expected = read()

    def wrong(value: tuple[np.ndarray, np.ndarray]) -> bool:
        rows, vectors = value
        sound = vectors.shape == (9, 4) and vectors.dtype == np.float32 and bool(np.isfinite(vectors).all())
        same = np.array_equal(vectors, expected[1]) or name == stores.VECTORS
        return not (sound and same and np.array_equal(rows, expected[0]))

    content = (store / name).read_bytes()
    inject(f"store, {name}", mutations(content), attempts(store / name, read), wrong)


def test_a_damaged_store_of_a_job_is_always_refused(store: Path) -> None:
    receipts.write(store, KEY)
    path = store / stores.VECTORS
    refuse_all("store with a receipt", path.read_bytes(), attempts(path, lambda: receipts.check(store, KEY)))


@pytest.fixture
def decomposer(tmp_path: Path) -> Path:
    """Means of two languages."""
    folder = tmp_path / "decomposer"
    folder.mkdir()
    means = np.random.default_rng(1).normal(size=(2, 6)).astype(np.float32)
    Decomposer("centering", "m", "toy", "abc", ["de", "zh"], 6, {"means": means}, {"seed": 1}).save(folder)
    return folder


def parts_of(folder: Path) -> np.ndarray:
    loaded = load_decomposer(folder)
    vectors = np.ones((2, loaded.dim), dtype=np.float32)
    return loaded.transform(vectors, loaded.languages[:1] * 2).meaning


def test_damaged_weights_are_always_refused(decomposer: Path) -> None:
    path = decomposer / WEIGHTS
    refuse_all(f"decomposer, {WEIGHTS}", path.read_bytes(), attempts(path, lambda: parts_of(decomposer)))


def test_damaged_weights_without_a_stated_digest_are_finite_weights_or_one_line(decomposer: Path) -> None:
    meta = json.loads((decomposer / META).read_text())
    del meta["sha256"]
    (decomposer / META).write_text(json.dumps(meta))
    path = decomposer / WEIGHTS

    def wrong(meaning: np.ndarray) -> bool:
        return meaning.shape != (2, 6) or not np.isfinite(meaning).all()

    inject(
        "decomposer, weights of an earlier version",
        mutations(path.read_bytes()),
        attempts(path, lambda: parts_of(decomposer)),
        wrong,
    )


def test_a_damaged_description_of_a_decomposer_is_one_or_one_line(decomposer: Path) -> None:
    expected, path = parts_of(decomposer), decomposer / META
    # Two languages may have other names, which is another description; their vectors are the same.
    inject(
        f"decomposer, {META}",
        mutations(path.read_bytes()),
        attempts(path, lambda: parts_of(decomposer)),
        lambda meaning: not np.array_equal(meaning, expected),
    )


def test_a_damaged_decomposer_of_a_job_is_always_refused(decomposer: Path) -> None:
    receipts.write(decomposer, KEY)
    path = decomposer / META
    refuse_all("decomposer with a receipt", path.read_bytes(), attempts(path, lambda: parts_of(decomposer)))


CARD = {
    **{"kind": "pretrained", "name": "tiny", "checkpoint": ".", "revision": "", "pooling": "mean"},
    **{"prefix": "query: ", "max_tokens": 8, "languages": ["de", "en"], "dim": 8},
}


def test_a_checkpoint_with_a_name_that_no_folder_can_have_is_one_line(tmp_path: Path) -> None:
    save_card(tmp_path, {**CARD, "checkpoint": "<a>" * 2000, "revision": ""})
    with pytest.raises(ConfigError, match="no such folder"):
        stated(tmp_path, "name")
    with pytest.raises(ConfigError, match="no such folder"):
        check_revision("<a>" * 2000, "main")


def test_a_damaged_card_of_an_encoder_is_one_or_one_line(tmp_path: Path) -> None:
    save_card(tmp_path, CARD)
    path = tmp_path / "encoder.json"

    def read() -> dict[str, Any]:
        described = card(tmp_path)
        stated(tmp_path, "name", "languages", "pooling", "max_tokens", "prefix")
        return described

    def wrong(described: Mapping[str, Any]) -> bool:
        types = all(isinstance(described.get(fact, value), type(value)) for fact, value in CARD.items())
        return (
            not types or described["pooling"] not in ("cls", "pooler", "mean") or described["max_tokens"] < 1
        )

    inject("encoder.json", mutations(path.read_bytes()), attempts(path, read), wrong)


@pytest.mark.parametrize("name", ["encoder.json", "config.json", "tokenizer.json", "model.safetensors"])
def test_a_damaged_encoder_gives_finite_vectors_or_one_line(name: str, tmp_path: Path) -> None:
    folder = xlmr(tmp_path / "encoder")
    save_card(folder, CARD)
    path = folder / name
    expected = load_encoder(folder, "cpu").encode(["the cat", "a mat"], "", 64)

    def wrong(vectors: np.ndarray) -> bool:
        return vectors.shape != expected.shape or not np.isfinite(vectors).all()

    # Opening one takes 0.3 s: a hundredth of the damaged copies.
    inject(
        f"encoder, {name}",
        mutations(path.read_bytes(), max(COUNT // 100, 20)),
        attempts(path, lambda: load_encoder(folder, "cpu").encode(["the cat", "a mat"], "", 64)),
        wrong,
    )


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Records of a report, as lines and as a table."""
    about = "heldout", "test", "all", "meaning", "größer", "seed"
    records = [
        Record(*about, seed, "P@1", 50.25, 40.0, 60.5, 100, {"confidence": "0.95"}) for seed in (1, 2, None)
    ]
    write_records(tmp_path / "records.jsonl", records)
    frame(records).to_parquet(tmp_path / "records.parquet", index=False)
    return tmp_path


@pytest.mark.parametrize("name", ["records.jsonl", "records.parquet"])
def test_damaged_records_are_records_or_one_line(name: str, results: Path) -> None:
    path = results / name

    def wrong(records: list[Record]) -> bool:
        # Whatever a record is made of, it refuses what no task can have measured.
        return not records or [Record(**asdict(one)) for one in records] != records

    inject(f"read {name}", mutations(path.read_bytes()), attempts(path, lambda: read_records(path)), wrong)


@pytest.mark.parametrize("name", ["records.jsonl", "records.parquet"])
def test_damaged_records_of_a_job_are_always_refused(name: str, results: Path) -> None:
    receipts.write(results, KEY)
    path = results / name
    refuse_all(f"{name} with a receipt", path.read_bytes(), attempts(path, lambda: read_records(path)))


def test_damaged_scores_are_scores_or_one_line(tmp_path: Path) -> None:
    path, key = tmp_path / "scores.npz", Key("tatoeba", "t", "en->de", "meaning", 1)
    write_scores(path, {key: Scores(np.arange(9) % 2, np.arange(9, dtype=np.uint64))})

    def wrong(found: Mapping[Key, Scores]) -> bool:
        return any(scores.values.tolist() != (np.arange(9) % 2).tolist() for scores in found.values())

    inject("read scores.npz", mutations(path.read_bytes()), attempts(path, lambda: read_scores(path)), wrong)


def test_a_damaged_receipt_is_none(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(bytes(range(256)))
    receipts.write(tmp_path, KEY, {"data/x": ("k", "c")})
    path, expected = receipts.path(tmp_path, KEY), receipts.read(tmp_path)

    def read() -> receipts.Receipt:
        if (found := receipts.read(tmp_path)) is None:
            raise DataError("no readable receipt")
        assert [*receipts.faults(tmp_path)] == []
        return found

    # The same values in another layout of the JSON text are the same receipt.
    inject("receipt", mutations(path.read_bytes()), attempts(path, read), lambda receipt: receipt != expected)


WRONG_TYPES: list[dict[str, Any]] = [
    {"files": {"a": [float("inf"), "x"]}},
    {"files": {"a": 7}},
    {"files": {"a": ["x", "y"]}},
    {"files": [1]},
    {"files": None},
    {"inputs": {"a": 7}},
    {"inputs": [3]},
    {"key": 7},
]


@pytest.mark.parametrize("changes", WRONG_TYPES)
def test_a_receipt_of_other_types_is_none_even_with_its_digest(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("x")
    receipts.write(tmp_path, KEY)
    path = receipts.path(tmp_path, KEY)
    content = json.loads(path.read_text()) | changes
    del content["sha256"]
    content["sha256"] = receipts.digest_of(content)
    path.write_text(json.dumps(content))
    assert receipts.read(tmp_path) is None
    assert [*receipts.faults(tmp_path)] == [f"{tmp_path}/receipt: holds no readable receipt"]


def test_a_damaged_memory_of_digests_is_forgotten(tmp_path: Path) -> None:
    path, known = tmp_path / "digests.json", {"files": {"1:2:3": "abc"}, "parts": {"a:b": ["c", []]}}
    receipts.save_cache(path, known)
    read = attempts(path, lambda: receipts.load_cache(path))
    inject("memory of digests", mutations(path.read_bytes()), read, lambda value: value not in ({}, known))


def test_damaged_catalogues_are_settings_or_one_line(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[2] / "catalogue", tmp_path / "catalogue")
    shutil.copy(Path(__file__).parents[2] / "params.yaml", tmp_path)
    path = tmp_path / "catalogue/methods.yaml"
    read = attempts(path, lambda: config.load(tmp_path / "params.yaml"))
    assert read(path.read_bytes())
    # A reading takes a second or more: a thousandth of the damaged copies.
    inject("catalogue/methods.yaml", mutations(path.read_bytes(), max(COUNT // 1000, 10)), read)


def test_a_list_bomb_takes_neither_memory_nor_time(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[2] / "catalogue", tmp_path / "catalogue")
    text = (Path(__file__).parents[2] / "params.yaml").read_text()
    lists = ["&b0 [x, x, x, x, x, x, x, x, x]"]
    lists += [f"&b{n} [{', '.join([f'*b{n - 1}'] * 9)}]" for n in range(1, 12)]  # 9^12 names
    bomb = f"[{', '.join(lists)}]"
    for key in ("loss", "preset", "methods"):
        lines = [f"{key}: {bomb}" if line.startswith(f"{key}:") else line for line in text.splitlines()]
        content = "\n".join(lines).encode()
        read = attempts(tmp_path / "params.yaml", lambda: config.load(tmp_path / "params.yaml"))
        assert inject(f"list bomb as {key}", [content], read).refused == 1
        with pytest.raises(ConfigError) as raised:
            read(content)
        assert len(str(raised.value)) < 1000


def test_flipped_numbers_of_a_lone_file_are_another_file(tmp_path: Path) -> None:
    # What no reader can notice: without a receipt or a digest this is what somebody may have saved.
    save_file({"means": np.ones((2, 6), dtype=np.float32)}, tmp_path / WEIGHTS)
    facts = {"architecture": "centering", "method": "m", "encoder": "toy", "identity": "abc"}
    (tmp_path / META).write_text(json.dumps({**facts, "languages": ["de", "zh"], "dim": 6, "details": {}}))
    content = bytearray((tmp_path / WEIGHTS).read_bytes())
    content[-2] ^= 1
    (tmp_path / WEIGHTS).write_bytes(content)
    assert load_decomposer(tmp_path).weights["means"][1, 5] != 1


COMMANDS = {
    "summary": ["summary", "{folder}"],
    "recommend": ["recommend", "{folder}/records.jsonl"],
    "table": ["table", "oracle", "{folder}/records.jsonl", "{folder}/out"],
    "claims": ["claims", "{folder}/records.jsonl", "{folder}/out"],
    "compare": ["compare", "{folder}/records.jsonl", "{folder}/records.jsonl"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_for_people_say_what_is_wrong_with_damaged_records(command: str, tmp_path: Path) -> None:
    records = [one for one in a_run(["labse"], ["original", "seed"]) if one.task in ("heldout", "sts")]
    signed = [replace(one, facts={**one.facts, "confidence": "0.95"}) for one in records]
    path = tmp_path / "records.jsonl"
    write_records(path, signed[:60])
    words = [word.format(folder=tmp_path) for word in COMMANDS[command]]

    def read() -> str:
        done = CliRunner().invoke(app, words)
        if done.exception:
            raise done.exception
        return done.stdout

    content = path.read_bytes()
    attempts(path, read)(content)
    # A command takes 0.1 s: a fiftieth of the damaged copies.
    damaged = mutations(content, max(COUNT // 50, 60))
    inject(f"{command} of damaged records", damaged, attempts(path, read), lambda text: "nan" in text)
