"""Mining, scoring and encoding of lists in Python: the command line's numbers, and the page that shows them."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_checkpoint import make_pairs
from typer.testing import CliRunner

import orthoglot
from orthoglot.cli import app
from orthoglot.encoders.threads import cpu_threads
from orthoglot.errors import ConfigError, DataError

PAIRS = make_pairs(40, seed=3)
DOCS = Path(__file__).resolve().parents[2] / "docs/use.md"


def test_mine_gives_positions_in_the_lists(encoder: Path, tmp_path: Path) -> None:
    english = [PAIRS[0][0], "", *(pair[0] for pair in PAIRS[:30])]
    guarani = [" ", *(pair[1] for pair in PAIRS[10:][::-1])]
    found = orthoglot.mine(english, guarani, encoder, neighborhood=3, threshold=1.0, device="cpu")
    paths = tmp_path / "en", tmp_path / "gn"
    for path, lines in zip(paths, (english, guarani), strict=True):
        path.write_text("\n".join(lines) + "\n")
    output = tmp_path / "out.tsv"
    given = ["mine", *map(str, paths), "--model", str(encoder), "-o", str(output), "--numbers"]
    assert CliRunner().invoke(app, [*given, "-k", "3", "--threshold", "1", "--threads", "1"]).exit_code == 0
    rows = [line.split("\t") for line in output.read_text().splitlines()][1:]
    assert found.sources.tolist() == [int(row[3]) - 1 for row in rows]
    assert found.targets.tolist() == [int(row[4]) - 1 for row in rows]
    np.testing.assert_allclose(found.margins, [float(row[0]) for row in rows], atol=1e-5)
    pairs = {(english[i], guarani[j]) for i, j, _ in zip(*found, strict=True)}
    assert len(pairs & set(PAIRS[10:30])) == 20
    assert 1 not in found.sources
    assert 2 not in found.sources  # the second of two equal sentences


def test_score_gives_arrays(encoder: Path) -> None:
    source = [PAIRS[0][0], "", PAIRS[1][0]]
    target = [PAIRS[0][1], PAIRS[1][1], PAIRS[1][0]]
    found = orthoglot.score(source, target, orthoglot.load(encoder, device="cpu"))
    assert found.flag.tolist() == ["", "blank", "copy"]
    assert np.isnan(found.score).tolist() == [False, True, False]
    assert found.score[2] == -1
    assert found.similarity[2] == pytest.approx(1, abs=1e-5)
    x, y = (orthoglot.load(encoder, device="cpu").encode(one, part="sentence") for one in PAIRS[0])
    assert found.score[0] == pytest.approx(x @ y / np.linalg.norm(x) / np.linalg.norm(y), abs=1e-5)
    with pytest.raises(DataError, match="1 sources but 2 translations"):
        orthoglot.score(["a"], ["b", "c"], encoder)


# Text that is invented, in languages that the identifier does not know.
UNKNOWN = {"source_language": "qaa", "target_language": "qab"}


def test_filter_keeps_what_the_command_keeps_however_the_rows_are_batched(
    models: dict[str, Path], tmp_path: Path
) -> None:
    good = make_pairs(60, seed=7)
    wrong = [(first[0], second[1]) for first, second in zip(good[40:50], good[50:], strict=True)]
    pairs = [*good[:40], *wrong, (good[3][0],) * 2, ("", good[4][1]), ("12", "13"), *good[40:60]]
    random.Random(1).shuffle(pairs)
    (tmp_path / "in.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    given = ["filter", str(tmp_path / "in.tsv"), "-o", str(tmp_path / "out.tsv"), "--threshold", "0.8"]
    languages = ["--source-language", "qaa", "--target-language", "qab"]
    done = CliRunner().invoke(app, [*given, "--model", str(models["plda"]), *languages])
    assert done.exit_code == 0, done.output
    kept = [tuple(line.split("\t")) for line in (tmp_path / "out.tsv").read_text().splitlines()]
    assert 20 < len(kept) < 66
    model = orthoglot.load(models["plda"], device="cpu")
    for size in (len(pairs), 7, 1):
        masks = [
            orthoglot.filter(*zip(*pairs[start : start + size], strict=True), model, threshold=0.8, **UNKNOWN)
            for start in range(0, len(pairs), size)
        ]
        assert {mask.dtype for mask in masks} == {np.dtype(bool)}
        assert [pair for pair, stays in zip(pairs, np.concatenate(masks), strict=True) if stays] == kept


def test_filter_judges_each_pair_alone(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each translation stands a line later, `score` flags the run, and `filter` looks at cosines alone."""
    source = [f"{one} {number}" for number, (one, _) in enumerate(make_pairs(400, seed=5), 1000)]
    target = source[1:] + source[:1]
    model = orthoglot.load(encoder, device="cpu")
    assert {"shifted"} == {*orthoglot.score(source, target, model, **UNKNOWN).flag}
    assert orthoglot.filter(source, target, model, threshold=-0.99, **UNKNOWN).all()
    monkeypatch.setattr("orthoglot.apply.score.identified", lambda *_: "other_language")
    short = ["ab", "cd", "ef ab cd ef ab cd ef"]
    # What the identifier says of fewer than 20 bytes is a guess.
    kept = orthoglot.filter(
        source[:3], short, model, threshold=-0.99, source_language="en", target_language="nl"
    )
    assert kept.tolist() == [True, True, False]


def test_a_batch_may_be_empty_and_a_text_may_not_be_none(encoder: Path) -> None:
    model = orthoglot.load(encoder, device="cpu")
    nothing = orthoglot.filter([], np.array([], dtype=object), model, threshold=0.5, **UNKNOWN)
    assert (nothing.dtype, nothing.shape) == (np.dtype(bool), (0,))
    with pytest.raises(TypeError, match=r"target\[1\] is None"):
        orthoglot.filter(["a", "b"], ["c", None], model, threshold=0.5, **UNKNOWN)
    with pytest.raises(DataError, match="2 sources but 1 translations"):
        orthoglot.filter(["a", "b"], ["c"], model, threshold=0.5, **UNKNOWN)
    for threshold in (1.5, float("nan")):
        with pytest.raises(ConfigError, match=f"threshold {threshold}: scores are between -1 and 1"):
            orthoglot.filter(["a"], ["b"], "no-such-folder", threshold=threshold, **UNKNOWN)
    with pytest.raises(ConfigError, match="unknown language code 'zzz'"):
        orthoglot.filter(
            ["a"], ["b"], "no-such-folder", threshold=0.5, source_language="zzz", target_language="en"
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"best": 2}, "several pairs"),
        ({"best": 0}, "best 0: give a whole number, 1 or more"),
        ({"neighborhood": True}, "neighborhood True"),
        ({"neighborhood": 2.5}, "neighborhood 2.5"),
        ({"neighborhood": "4"}, "neighborhood '4'"),
        ({"retrieval": "foo"}, "retrieval 'foo': give 'forward', 'backward', 'max', 'intersection'"),
        ({"margin": "foo"}, "margin 'foo': give 'ratio', 'distance', 'absolute'"),
        ({"threshold": float("nan")}, "threshold nan: give a finite number"),
        ({"threshold": "1.0"}, "threshold '1.0'"),
        ({"source_language": "zzz"}, "unknown language code 'zzz'"),
        ({"device": "gpu"}, "device 'gpu': unknown"),
        ({"threads": 0}, "threads 0: give a whole number"),
    ],
)
def test_options_of_mining_are_checked_before_the_model_is_opened(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        orthoglot.mine(["a"], ["b"], "no-such-folder", **options)


def test_numbers_of_numpy_are_numbers(encoder: Path) -> None:
    sides = [pair[0] for pair in PAIRS[:9]], [pair[1] for pair in PAIRS[:9]]
    numbers: dict[str, Any] = {"neighborhood": np.int64(3), "threshold": np.float32(0.5)}
    mined = orthoglot.mine(*sides, encoder, **numbers, device="cpu")
    np.testing.assert_array_equal(
        mined, orthoglot.mine(*sides, encoder, neighborhood=3, threshold=0.5, device="cpu")
    )


def test_a_bar_is_drawn_when_it_is_asked_for(encoder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = orthoglot.load(encoder, device="cpu")
    texts = [pair[0] for pair in PAIRS]
    plain = model.encode(texts, part="sentence")
    orthoglot.mine(texts, texts, model, device="cpu")
    orthoglot.score(texts, texts, model)
    assert "%|" not in capfd.readouterr().err
    np.testing.assert_array_equal(model.encode(texts, part="sentence", progress=True), plain)
    assert "encode: 100%|" in capfd.readouterr().err
    orthoglot.mine(texts, texts, model, device="cpu", progress=True)
    assert capfd.readouterr().err.count("100%|") >= 2
    orthoglot.score(texts, texts, model, progress=True)
    assert "score: 100%|" in capfd.readouterr().err


def test_threads_are_those_before_afterwards(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    used = []
    encode = orthoglot.load(encoder, device="cpu")
    inner = encode.encode
    monkeypatch.setattr(
        encode, "encode", lambda *args, **kw: used.append(torch.get_num_threads()) or inner(*args, **kw)
    )
    orthoglot.mine(PAIRS[0], PAIRS[1], encode, neighborhood=1, device="cpu", threads=before + 1)
    assert used == [before + 1] * 2
    assert torch.get_num_threads() == before
    with pytest.raises(KeyError), cpu_threads(before + 2):
        raise KeyError
    assert torch.get_num_threads() == before


def test_the_page_runs(encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"```python\n(import orthoglot\n\nenglish = .*?)```", DOCS.read_text(), re.DOTALL)
    opened = orthoglot.load(encoder, device="cpu")
    model = orthoglot.load
    english, dutch = zip(*PAIRS, strict=True)
    (tmp_path / "en.txt").write_text("\n".join(english))
    (tmp_path / "nl.txt").write_text("\n".join(dutch))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(orthoglot, "load", lambda folder: opened if folder == "my-model" else model(folder))
    space: dict[str, object] = {}
    exec(compile(block, str(DOCS), "exec"), space)
    assert len(space["pairs"].margins) == 40
    assert space["scores"].score.shape == (40,)
    assert json.dumps(space["good"])
