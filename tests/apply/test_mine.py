"""Mining of two texts: gold pairs among distractors, from files to pairs."""

from __future__ import annotations

import gzip
import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from small_checkpoint import make_pairs
from typer.testing import CliRunner

import orthoglot
from orthoglot import load, receipts
from orthoglot.apply.expected import Decoys
from orthoglot.apply.mine import mine
from orthoglot.apply.model import Model
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.cli import app
from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError, DataError
from orthoglot.search.margins import MARGINS, both_cosines, candidates, mine_neighbours
from orthoglot.search.neighbours import nearest

PAIRS = make_pairs(90)
BOTH, ONLY_SOURCE, ONLY_TARGET = PAIRS[:30], PAIRS[30:60], PAIRS[60:]


@pytest.fixture
def run(encoder: Path, tmp_path: Path) -> Callable[..., Any]:
    """The command on a source and a target text; (exit status or error, rows of the output)."""

    def run(source: str, target: str, *options: str, stdin: bytes = b"") -> tuple[Any, list[list[str]]]:
        output = tmp_path / "pairs.tsv"
        files = [source, target, "--model", str(encoder), "-o", str(output), "--threads", "1"]
        result = CliRunner().invoke(app, ["mine", *files, *options], input=stdin)
        if not output.exists():
            return result.exception or result.exit_code, []
        names, *rows = (line.split("\t") for line in output.read_text().splitlines())
        lines = ["source_line", "target_line"] if "--numbers" in options else []
        assert names == ["margin", "source", "target", *lines]
        return result.exception or result.exit_code, rows

    return run


def texts(folder: Path) -> tuple[str, str]:
    """30 pairs, each side in an order of its own, with 30 sentences on each side that the other lacks."""
    sides = ([one for one, _ in BOTH + ONLY_SOURCE], [other for _, other in ONLY_TARGET + BOTH[::-1]])
    paths = folder / "en.txt", folder / "gn.txt"
    for path, lines in zip(paths, sides, strict=True):
        path.write_text("\n".join([lines[0], "", *lines]) + "\n")  # the first sentence twice, a blank line
    return str(paths[0]), str(paths[1])


def test_translations_are_found_among_distractors(run: Callable[..., Any], tmp_path: Path) -> None:
    status, rows = run(*texts(tmp_path), "--numbers")
    assert status == 0
    margins = [float(row[0]) for row in rows]
    assert margins == sorted(margins, reverse=True)
    assert {(row[1], row[2]) for row in rows[:30]} == set(BOTH)
    # The first sentence stands in lines 1 and 3, line 2 is blank.
    by_source = {row[1]: int(row[3]) for row in rows}
    assert (by_source[BOTH[0][0]], by_source[BOTH[1][0]]) == (1, 4)
    about = json.loads((tmp_path / "pairs.tsv.json").read_text())
    assert about["source"] == {"lines": 62, "blank": 1, "distinct": 60}
    assert about["pairs"] == len(rows) == sum(about["margins"]["counts"])
    assert about["copies"] == 0
    assert about["length_ratio"]["median"] == 1.0
    assert about["search"] == "exact"
    assert not (tmp_path / "pairs.tsv.checkpoint").exists()


def test_the_threshold_keeps_the_pairs_above_it(run: Callable[..., Any], tmp_path: Path) -> None:
    files = texts(tmp_path)
    _, every = run(*files)
    cut = float(every[9][0])
    _, kept = run(*files, "--threshold", f"{cut - 1e-6}")
    assert kept == every[:10]
    _, none = run(*files, "--threshold", "99")
    assert none == []
    assert json.loads((tmp_path / "pairs.tsv.json").read_text())["pairs"] == 0


def test_packed_files_and_standard_input_give_the_same(run: Callable[..., Any], tmp_path: Path) -> None:
    source, target = texts(tmp_path)
    _, expected = run(source, target)
    packed = tmp_path / "gn.txt.gz"
    packed.write_bytes(gzip.compress(Path(target).read_bytes()))
    assert run(source, str(packed)) == (0, expected)
    assert run("-", target, stdin=Path(source).read_bytes()) == (0, expected)


def test_several_pairs_of_a_sentence(run: Callable[..., Any], tmp_path: Path) -> None:
    status, rows = run(*texts(tmp_path), "--retrieval", "forward", "--best", "3")
    assert status == 0
    assert len(rows) == 180
    assert {sum(row[1] == source for row in rows) for source, _ in BOTH} == {3}
    status, _ = run(*texts(tmp_path), "--best", "3")
    assert isinstance(status, ConfigError)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [("blank.txt", "gn.txt", "no line has text"), ("-", "-", "only one of the two")],
)
def test_bad_input_is_one_line(
    source: str, target: str, message: str, run: Callable[..., Any], tmp_path: Path
) -> None:
    texts(tmp_path)
    (tmp_path / "blank.txt").write_text("\n  \n")
    given = [name if name == "-" else str(tmp_path / name) for name in (source, target)]
    error, rows = run(*given)
    assert isinstance(error, ConfigError | DataError)
    assert message in str(error)
    assert rows == []


def test_an_interrupted_encoding_goes_on(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sentences = load(encoder, device="cpu"), [source for source, _ in PAIRS]
    whole = text_vectors(model, sentences, tmp_path / "whole.npy", part="sentence", block=20)
    encoded = []
    encode = Model.encode

    def fragile(self: Model, rows: list[str], **options: Any) -> np.ndarray:
        encoded.extend(rows)
        if len(encoded) == 60:
            raise KeyboardInterrupt
        return encode(self, rows, **options)

    monkeypatch.setattr(Model, "encode", fragile)
    for _ in range(2):
        try:
            again = text_vectors(model, sentences, tmp_path / "again.npy", part="sentence", block=20)
        except KeyboardInterrupt:
            continue
    assert encoded == [*sentences[:60], *sentences[40:]]
    np.testing.assert_array_equal(again, whole)
    # Another text, or another part, begins anew.
    del encoded[:]
    text_vectors(model, sentences[::-1], tmp_path / "again.npy", part="sentence", block=45)
    assert encoded == sentences[::-1]


@pytest.mark.parametrize(
    ("name", "part", "again"),
    [
        ("encoder", "sentence", False),
        ("plda", "meaning", False),
        ("plda", "language", False),
        ("centering", "sentence", False),
        ("centering", "meaning", True),
    ],
)
def test_codes_that_change_no_vector_keep_the_vectors(
    name: str, part: str, again: bool, models: dict[str, Path], tmp_path: Path
) -> None:
    model, sentences = load(models[name], device="cpu"), [source for source, _ in BOTH]
    first, second = (
        ({"language": "en", "partner": "gn"}, {"language": "gn"}) if again else ({}, {"language": "en"})
    )
    output = tmp_path / "v.npy"
    before = np.array(text_vectors(model, sentences, output, part=part, **first))
    stamp = output.stat().st_mtime_ns
    after = text_vectors(model, sentences, output, part=part, **second)
    assert (output.stat().st_mtime_ns != stamp) == again
    expected = load(models[name], device="cpu").encode(sentences, part=part, **second)
    np.testing.assert_allclose(after, unit(expected), atol=1e-5)
    assert np.allclose(before, after, atol=1e-5) != again


def test_an_encoder_that_reads_the_language_encodes_again(tmp_path: Path) -> None:
    output, sentences = tmp_path / "v.npy", [source for source, _ in BOTH]
    read = []

    class Symbols:
        """A tokenizer with a symbol of each language."""

        symbols = MappingProxyType({"en": 5, "gn": 6})

    class Reads:
        name, dim, languages, tokenizer = "reads", 4, ("en", "gn"), Symbols()

        def encode(self, sentences: list[str], language: str, *_: Any) -> np.ndarray:
            read.append(language)
            return np.ones((len(sentences), 4), dtype=np.float32)

    model = Model(Reads(), None, "reads")
    for language in ("en", "en", "gn"):
        text_vectors(model, sentences, output, part="sentence", language=language)
    assert read == ["en", "gn"]
    with pytest.raises(ConfigError, match="does not cover language 'de'"):
        text_vectors(model, sentences, output, part="sentence", language="de")


def test_copies_and_text_without_letters_come_last(
    run: Callable[..., Any], encoder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, target = texts(tmp_path)
    obvious = ["1234 !!", BOTH[0][0].upper() + "!", "5"]
    for path, lines in ((source, obvious), (target, [*obvious[:2], "6"])):
        Path(path).write_text(Path(path).read_text() + "".join(f"{line}\n" for line in lines))
    with caplog.at_level(logging.INFO):
        _, rows = run(source, target)
    assert {(row[1], row[2]) for row in rows[:30]} == set(BOTH)
    wordless = [n for n, row in enumerate(rows) if not all(any(map(str.isalpha, text)) for text in row[1:3])]
    copies = [n for n, row in enumerate(rows) if row[1] == row[2]]
    last = sorted({*wordless, *copies})
    assert last == list(range(len(rows) - len(last), len(rows)))
    assert (obvious[0], obvious[0]) in {(rows[n][1], rows[n][2]) for n in last}
    for part in (rows[: -len(last)], rows[-len(last) :]):
        margins = [float(row[0]) for row in part]
        assert margins == sorted(margins, reverse=True)
    assert f"last in the output: {len(last)} copies or pairs without letters" in caplog.text
    assert json.loads((tmp_path / "pairs.tsv.json").read_text())["without_letters"] == len(wordless)
    # Likewise of lists.
    sides = [Path(path).read_text().splitlines() for path in (source, target)]
    mined = orthoglot.mine(*sides, encoder, device="cpu", threads=1)
    assert [(sides[0][i], sides[1][j]) for i, j in zip(mined.sources, mined.targets, strict=True)] == [
        (row[1], row[2]) for row in rows
    ]


def test_without_a_threshold_one_is_suggested_with_what_it_keeps(
    run: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = texts(tmp_path)
    with caplog.at_level(logging.INFO):
        _, rows = run(*files)
    about = json.loads((tmp_path / "pairs.tsv.json").read_text())
    suggested = about["suggested_threshold"]
    kept = [row for row in rows if float(row[0]) >= suggested - 1e-6]
    assert len(set(BOTH) - {(row[1], row[2]) for row in kept}) <= 3
    lines = [record.getMessage() for record in caplog.records if record.name == "orthoglot.apply.mined_file"]
    table = [line.split() for line in lines[1:]]
    assert f"Suggested is {suggested:.4f}" in lines[0]
    assert table[0] == ["threshold", "pairs"]
    assert [f"{suggested:.4f}", str(len(kept)), "suggested"] in table
    for value, count, *_ in table[1:]:
        # Thresholds are printed with four digits.
        assert abs(sum(float(row[0]) >= float(value) - 5e-5 for row in rows) - int(count)) <= 1
    caplog.clear()
    with caplog.at_level(logging.INFO):
        run(*files, "--threshold", "1.0")
    assert "uggested" not in caplog.text
    assert "suggested_threshold" not in json.loads((tmp_path / "pairs.tsv.json").read_text())


@pytest.mark.parametrize("margin", ["ratio", "distance", "absolute"])
def test_the_suggested_threshold_is_the_lowest_with_few_wrong_pairs_by_a_loop(margin: Any) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(60, 8)), rng.normal(size=(50, 8))
    y[:25] = x[:25] + 0.2 * rng.normal(size=(25, 8))
    x, y = (unit(side).astype(np.float32) for side in (x, y))
    found = nearest(x, y, 4)
    cosine = both_cosines(x, y, found)
    pairs = mine_neighbours(found, cosine, margin)

    def of_others(row: int, partner: int, near: np.ndarray, cosines: np.ndarray, theirs: np.ndarray) -> float:
        others = [(j, c) for j, c in zip(near[row], cosines[row], strict=True) if j != partner]
        mean = sum(c for _, c in others) / len(others)
        return max(
            float(MARGINS[margin](np.array(c), np.array((mean + theirs[j].mean()) / 2))) for j, c in others
        )

    ours, theirs = [], []
    good = []
    for count, (i, j, value) in enumerate(zip(*pairs, strict=True), 1):
        ours.append(of_others(i, j, found.forward, cosine.forward, cosine.backward))
        theirs.append(of_others(j, i, found.backward, cosine.backward, cosine.forward))
        wrong = (60 - count) * np.mean([one >= value for one in ours])
        wrong += (50 - count) * np.mean([one >= value for one in theirs])
        if count >= 10 and wrong <= 0.05 * count:
            good.append(value)
    assert good
    decoys = Decoys.of(found, cosine, pairs, margin)
    assert decoys is not None
    assert decoys.suggested() == pytest.approx(good[-1])
    # One neighbour shows no other.
    near = nearest(x, y, 1)
    assert Decoys.of(near, both_cosines(x, y, near), pairs, margin) is None


def test_candidates_are_the_best_of_each_row_by_a_loop() -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.normal(size=(n, 6)).astype(np.float32) for n in (20, 15))
    x, y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (x, y))
    found = nearest(x, y, 4)
    pairs = candidates(found, both_cosines(x, y, found), "distance", best=2)
    cosine = x.astype(np.float64) @ y.T.astype(np.float64)
    near_x, near_y = np.sort(cosine)[:, -4:].mean(axis=1), np.sort(cosine, axis=0)[-4:].mean(axis=0)
    margins = cosine - (near_x[:, None] + near_y) / 2
    for i in range(20):
        own = np.argsort(-cosine[i])[:4].tolist()
        expected = sorted(own, key=lambda j, i=i: -margins[i, j])[:2]
        assert pairs.targets[pairs.sources == i].tolist() == expected
        np.testing.assert_allclose(pairs.margins[pairs.sources == i], margins[i, expected], atol=1e-6)


EYE = np.eye(5, dtype=np.float32)
DAMAGED = np.where(np.arange(5)[:, None] == 2, np.float32(np.nan), EYE)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (EYE, {"best": 2}, "need retrieval 'forward'"),
        (EYE, {"retrieval": "forward", "best": 5, "neighborhood": 4}, "best 5 is above neighborhood 4"),
        (DAMAGED, {}, r"y: vector 2 \(from 0\) is not finite"),
    ],
)
def test_what_cannot_be_mined_is_refused(y: np.ndarray, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        mine(EYE, y, **options)


@pytest.mark.parametrize("command", ["mine", "encode"])
def test_weights_that_are_not_finite_give_no_pairs_and_no_vectors(
    command: str, encoder: Path, tmp_path: Path
) -> None:
    damaged = shutil.copytree(encoder, tmp_path / "damaged")
    weights = load_file(damaged / "model.safetensors")
    weights["encoder.layer.0.output.dense.weight"][:] = torch.nan
    save_file(weights, damaged / "model.safetensors", metadata={"format": "pt"})
    source, target = texts(tmp_path)
    output = tmp_path / ("out.tsv" if command == "mine" else "out.npy")
    words = {
        "mine": ["mine", source, target, "--model", str(damaged), "-o", str(output), "--threads", "1"],
        "encode": ["encode", source, "--model", str(damaged), "-o", str(output), "--threads", "1"],
    }
    done = CliRunner().invoke(app, words[command])
    assert isinstance(done.exception, DataError)
    assert "is not finite" in str(done.exception)
    assert not output.exists()


def test_stored_vectors_that_are_not_finite_are_not_taken_up(encoder: Path, tmp_path: Path) -> None:
    model, sentences = load(encoder, "cpu"), [one for one, _ in BOTH]
    vectors = np.array(text_vectors(model, sentences, tmp_path / "v.npy", part="sentence"))
    vectors[7, 3] = np.inf
    np.save(tmp_path / "v.npy", vectors)
    with pytest.raises(DataError, match=r"v\.npy: vector 7 \(from 0\) is not finite; remove the file"):
        text_vectors(model, sentences, tmp_path / "v.npy", part="sentence")


def test_an_encoder_of_the_workflow_is_compared_with_its_receipt(encoder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(encoder, tmp_path / "encoder")
    receipts.write(folder, "0123456789abcdef")
    assert load(folder, "cpu").encode("a00 a01", part="sentence").any()
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-3] ^= 1
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(DataError, match=r"model\.safetensors: is damaged; make .* again, by snakemake"):
        load(folder, "cpu")
