"""Vectors of a text in a file: cut, rounded or as bits, in bounded memory, and after an interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_checkpoint import make_pairs
from typer.testing import CliRunner

from orthoglot import load
from orthoglot.apply.model import Model
from orthoglot.apply.smaller_vectors import compact
from orthoglot.apply.text_vectors import BLOCK, write_vectors
from orthoglot.cli import app
from orthoglot.errors import ConfigError, DataError
from orthoglot.progress import Done
from orthoglot.text.lines import Text

SENTENCES = [side for pair in make_pairs(40) for side in pair]
LINES = 200_000
# Prints the most memory that the command had, in KiB. What `getrusage` gives is at least that of the parent.
MEASURED = (
    "import sys\nfrom pathlib import Path\nfrom orthoglot.cli import main\n"
    "try:\n    main()\nfinally:\n"
    "    lines = Path('/proc/self/status').read_text().splitlines()\n"
    "    print(next(line.split()[1] for line in lines if line.startswith('VmHWM')))\n"
)


def command(model: Path, text: object, output: object) -> list[str]:
    given = [str(text), "--model", str(model), "-o", str(output)]
    return [sys.executable, "-c", MEASURED, "encode", *given, "--threads", "1", "--device", "cpu"]


def peak(model: Path, text: Path, output: Path) -> int:
    """MiB that the command needed."""
    done = subprocess.run(command(model, text, output), capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1]) // 1024


def encoded(model: Path, tmp_path: Path, *options: str) -> np.ndarray:
    """What the command stores of SENTENCES."""
    (tmp_path / "text.txt").write_text("".join(f"{line}\n" for line in SENTENCES))
    given = [
        "encode",
        str(tmp_path / "text.txt"),
        "--model",
        str(model),
        "-o",
        str(tmp_path / "v.npy"),
        *options,
    ]
    called = CliRunner().invoke(app, [*given, "--threads", "1", "--device", "cpu"])
    if called.exception:
        raise called.exception
    assert not (tmp_path / "v.npy.checkpoint").exists()
    return np.load(tmp_path / "v.npy")


@pytest.mark.parametrize("form", [(), ("--dim", "5"), ("--dtype", "int8"), ("--binary",)])
def test_later_vectors_get_the_mean_of_the_first_ones(
    form: tuple[str, ...], models: dict[str, Path], tmp_path: Path
) -> None:
    first = encoded(models["plda"], tmp_path, "--own-mean", *form)
    model = load(models["plda"], device="cpu")
    adapted = model.adapted(model.encode(SENTENCES, part="sentence"))
    named = dict(zip(("dim", "dtype", "binary"), (None, "float32", False), strict=True))
    named |= {"--dim": {"dim": 5}, "--dtype": {"dtype": "int8"}, "--binary": {"binary": True}}.get(
        form[0] if form else "", {}
    )
    expected = adapted.encode(SENTENCES, **named)
    if "--binary" in form:
        assert (np.unpackbits(first) != np.unpackbits(expected)).mean() < 0.01
    else:
        np.testing.assert_allclose(first, expected, atol=1 if "--dtype" in form else 1e-4)
    assert not np.array_equal(first, encoded(models["plda"], tmp_path, *form))
    index = tmp_path / "index.npy"
    (tmp_path / "v.npy").rename(index)
    encoded(models["plda"], tmp_path, "--own-mean", *form)
    (tmp_path / "v.npy.json").rename(tmp_path / "index.npy.json")
    (tmp_path / "few.txt").write_text(f"{SENTENCES[0]}\n\n{SENTENCES[5]}\n")
    given = ["encode", tmp_path / "few.txt", "--model", models["plda"], "-o", tmp_path / "few.npy"]
    done = CliRunner().invoke(
        app, [*map(str, given), "--mean-of", str(index), "--threads", "1", "--device", "cpu", *form]
    )
    assert done.exit_code == 0
    few = np.load(tmp_path / "few.npy")
    if "--binary" in form:  # a number near 0 may fall on either side
        assert (np.unpackbits(few[[0, 2]]) != np.unpackbits(first[[0, 5]])).mean() < 0.05
    else:
        np.testing.assert_allclose(few[[0, 2]], first[[0, 5]], atol=1 if "--dtype" in form else 2e-5)


def test_a_mean_is_of_the_same_model(models: dict[str, Path], tmp_path: Path) -> None:
    encoded(models["plda"], tmp_path)
    for option, message in (
        (["--mean-of", str(tmp_path / "v.npy")], "states no mean of encode --own-mean"),
        (["--mean-of", str(tmp_path / "none.npy")], "none.npy.json does not exist"),
        (["--own-mean", "--mean-of", "v.npy"], "are two means"),
        (["--own-mean", "--part", "language"], "belongs to the meaning part of PLDA"),
    ):
        with pytest.raises((ConfigError, DataError), match=message):
            encoded(models["plda"], tmp_path, *option)
    encoded(models["plda"], tmp_path, "--own-mean")
    with pytest.raises(ConfigError, match="belongs to the meaning part of PLDA"):
        encoded(models["centering"], tmp_path, "--own-mean", "--language", "en")
    with pytest.raises(ConfigError, match="of another model"):
        encoded(models["plda"], tmp_path, "--mean-of", str(tmp_path / "v.npy"), "--precision", "bfloat16")


def test_a_stored_mean_gives_the_adapted_model_again(models: dict[str, Path], tmp_path: Path) -> None:
    model = load(models["plda"], device="cpu")
    adapted = model.adapted(model.encode(SENTENCES, part="sentence"))
    assert model.own_mean is None
    assert adapted.own_mean is not None
    for stored in (json.loads(json.dumps(adapted.own_mean.tolist())), adapted.own_mean.astype(np.float32)):
        again = model.with_own_mean(stored)
        assert again.identity == adapted.identity != model.identity
        np.testing.assert_allclose(again.own_mean, adapted.own_mean, atol=1e-7)
    own = model.encode(SENTENCES, part="sentence")
    twice = model.adapted(-own).adapted(own)
    for again in (model.with_own_mean(twice.own_mean), twice.with_own_mean(twice.own_mean)):
        assert again.identity == twice.identity == adapted.identity
        np.testing.assert_array_equal(again.encode(SENTENCES), twice.encode(SENTENCES))
    first = encoded(models["plda"], tmp_path, "--own-mean")
    by_file = model.with_own_mean(json.loads((tmp_path / "v.npy.json").read_text())["own_mean"])
    np.testing.assert_allclose(by_file.encode(SENTENCES), first, atol=1e-4)
    for wrong in (adapted.own_mean[1:], np.full_like(adapted.own_mean, np.nan)):
        with pytest.raises(DataError, match=r"own mean: .* expected \(32,\) finite numbers"):
            model.with_own_mean(wrong)
    for other, reason in (("centering", "plda has"), ("encoder", "has no decomposer")):
        with pytest.raises(ConfigError, match=reason):
            load(models[other], device="cpu").with_own_mean(adapted.own_mean)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    words = np.random.default_rng(1).integers(80, size=(LINES, 3))
    path.write_text("".join(" ".join(f"a{word:02}" for word in row) + "\n" for row in words))
    return path


@pytest.fixture(scope="module")
def whole(models: dict[str, Path], text: Path) -> tuple[Path, int]:
    """The vectors of the long text, and the MiB that they needed."""
    output = text.with_name("whole.npy")
    return output, peak(models["plda"], text, output)


def test_memory_does_not_grow_with_the_text(
    models: dict[str, Path], text: Path, whole: tuple[Path, int], tmp_path: Path
) -> None:
    (tmp_path / "short.txt").write_text("".join(text.read_text().splitlines(keepends=True)[: 2 * BLOCK]))
    short = peak(models["plda"], tmp_path / "short.txt", tmp_path / "short.npy")
    # The vectors alone are 24 MiB, and the sentences as much.
    assert np.load(whole[0], mmap_mode="r").shape == (LINES, 32)
    assert whole[1] - short < 20


def test_stopped_and_killed_calls_go_on_and_give_the_same_bytes(
    models: dict[str, Path], text: Path, whole: tuple[Path, int], tmp_path: Path
) -> None:
    output = tmp_path / "v.npy"
    note = tmp_path / "v.npy.checkpoint/vectors.npy.json"
    words = command(models["plda"], text, output)

    def stopped_after(blocks: int, how: signal.Signals) -> tuple[int, str]:
        # Of a test run in the background children ignore Ctrl-C.
        process = subprocess.Popen(
            words,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        deadline = time.monotonic() + 120
        while not note.exists() or json.loads(note.read_text())["done"] < blocks * BLOCK:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(process.pid, how)
        return process.wait(), process.communicate()[1]

    status, said = stopped_after(1, signal.SIGINT)
    assert status == 130
    assert said.splitlines()[-1] == (
        f"orthoglot: stopped: what is done is kept in {output}.checkpoint; the same command goes on from there"
    )
    before = json.loads(note.read_text())["done"]
    status, _ = stopped_after(before // BLOCK + 2, signal.SIGKILL)
    assert status == -signal.SIGKILL
    assert not output.exists()
    done = json.loads(note.read_text())["done"]
    assert before < done < LINES
    last = subprocess.run(words, capture_output=True, text=True, check=True)
    assert f"encode: resumed with {done} of {LINES} sentences done" in last.stderr
    assert output.read_bytes() == whole[0].read_bytes()
    assert [path.name for path in tmp_path.iterdir() if "checkpoint" in path.name] == []


def test_a_blank_line_behind_the_last_block_before_a_stop_is_blank(tmp_path: Path) -> None:
    calls = 0

    def fragile(_model: Model, sentences: Sequence[str], _: Done) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return np.array([[float(one)] for one in sentences])

    encoder: Any = None
    toy = Model(encoder, None)
    content, output = Text.of(["1", "2", "", "3", "", "4", "5"]), tmp_path / "v.npy"
    with pytest.raises(KeyboardInterrupt):
        write_vectors(toy, fragile, content, output, (), block=2)
    write_vectors(toy, fragile, content, output, (), block=2)
    np.testing.assert_array_equal(np.load(output)[:, 0], [1, 2, np.nan, 3, np.nan, 4, 5])
    assert calls == 4
    with pytest.raises(DataError, match="the text has become shorter: 1 of 2 sentences are left"):
        write_vectors(toy, fragile, replace(Text.of(["1", "2"]), lines=["1"]), output, ())


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ([], {}),
        (["--part", "language"], {"part": "language"}),
        (["--dim", "5"], {"dim": 5}),
        (["--dtype", "float16"], {"dtype": "float16"}),
        (["--dtype", "int8", "--dim", "12"], {"dtype": "int8", "dim": 12}),
        (["--binary", "--dim", "12"], {"binary": True, "dim": 12}),
    ],
)
def test_command_and_function_give_the_same(
    options: list[str], same: dict[str, Any], models: dict[str, Path], tmp_path: Path
) -> None:
    stored = encoded(models["plda"], tmp_path, *options)
    vectors = load(models["plda"], "cpu").encode(SENTENCES, **same)
    assert stored.dtype == vectors.dtype
    np.testing.assert_array_equal(stored, vectors)
    about = json.loads((tmp_path / "v.npy.json").read_text())
    assert about["options"].items() >= same.items()
    assert about.get("scale") == (127 if "int8" in options else None)


def test_bfloat16_is_another_model_with_nearly_the_same_vectors(
    models: dict[str, Path], tmp_path: Path
) -> None:
    folder = models["plda"]
    stored = encoded(folder, tmp_path, "--precision", "bfloat16")
    model, exact = load(folder, "cpu", precision="bfloat16"), load(folder, "cpu")
    np.testing.assert_array_equal(stored, model.encode(SENTENCES))
    assert model.identity != exact.identity == load(folder, "cpu", "float32").identity
    difference = np.abs(stored - exact.encode(SENTENCES)).max()
    assert 0 < difference < 0.1 * np.abs(stored).max()
    with pytest.raises(ConfigError, match="precision 'float16': unknown; known are float32, bfloat16"):
        load(folder, "cpu", precision="float16")  # type: ignore[arg-type]


def test_numbers_by_hand() -> None:
    vectors = np.array([[3.0, -4.0, 12.0], [0.0, 0.0, 1.0]], dtype=np.float32)
    np.testing.assert_allclose(compact(vectors, dim=2), [[0.6, -0.8], [0, 0]], rtol=1e-6)
    assert compact(vectors, dim=2, dtype="int8").tolist() == [[76, -102], [0, 0]]  # 76.2, -101.6
    assert compact(vectors, dtype="int8").tolist() == [[29, -39, 117], [0, 0, 127]]  # over 13
    assert compact(vectors, binary=True).tolist() == [[0b10100000], [0b00100000]]
    assert compact(vectors, dtype="float16").tolist() == vectors.tolist()
    with pytest.raises(DataError, match=r"float16 does not hold vector 1 \(from 0\)"):
        compact(vectors * np.array([[1], [1e6]], dtype=np.float32), dtype="float16")


@pytest.mark.parametrize(("options", "blank"), [([], np.nan), (["--dtype", "int8"], 0), (["--binary"], 0)])
def test_blank_lines_keep_their_rows_wherever_they_are(
    options: list[str], blank: float, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = encoded(models["plda"], tmp_path, *options)[:3]
    monkeypatch.setitem(globals(), "SENTENCES", ["", " ", SENTENCES[0], "", *SENTENCES[1:3], "\t", ""])
    stored = encoded(models["plda"], tmp_path, *options)
    np.testing.assert_allclose(stored[[2, 4, 5]], full, atol=1e-5)
    np.testing.assert_array_equal(stored[[0, 1, 3, 6, 7]], np.full((5, full.shape[1]), blank))


def test_standard_input_to_standard_output(models: dict[str, Path], tmp_path: Path) -> None:
    words = command(models["plda"], "-", "-")
    given = "".join(f"{line}\n" for line in SENTENCES).encode()
    done = subprocess.run(words, input=given, capture_output=True, check=True)
    (tmp_path / "v.npy").write_bytes(done.stdout)
    with (tmp_path / "v.npy").open("rb") as file:
        found = np.load(file)
    np.testing.assert_array_equal(found, load(models["plda"], "cpu").encode(SENTENCES))


REFUSED: list[tuple[Callable[[dict[str, Path]], Path], dict[str, Any], str]] = [
    (lambda models: models["plda"], {"dim": 33}, "dim 33: the vectors have 32 dimensions"),
    (lambda models: models["plda"], {"dim": 1}, "dim 1: the vectors have 32 dimensions"),
    (
        lambda models: models["plda"],
        {"dim": 4, "part": "language"},
        "dim: the language part of plda has its dimensions in no order of worth",
    ),
    (lambda models: models["centering"], {"dim": 4}, "the meaning part of centering has"),
    (
        lambda models: models["encoder"],
        {"dim": 4, "part": "sentence"},
        "dim: an encoder's own vector has",
    ),
    (
        lambda models: models["plda"],
        {"binary": True, "dtype": "int8"},
        "binary vectors have one bit a dimension: give no dtype int8",
    ),
    (
        lambda models: models["plda"],
        {"dtype": "int4"},
        "unknown; known are float32, float16, int8",
    ),
]


@pytest.mark.parametrize(("model", "options", "line"), REFUSED, ids=[line for *_, line in REFUSED])
def test_what_cannot_be_is_refused_in_one_line(
    model: Callable[[dict[str, Path]], Path], options: dict[str, Any], line: str, models: dict[str, Path]
) -> None:
    opened = load(model(models), "cpu")
    with pytest.raises(ConfigError, match=line):
        opened.encode(["a00"], language="en", **options)
