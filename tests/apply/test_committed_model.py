"""A model folder of the first stable format, which every later 1.x opens: `model-1.0` is never made anew.

It was made in the root of the repository, with `tests/support` on the path, by

    root, work = Path("tests/apply/model-1.0"), Path("/tmp/made")
    fit(
        Checkpoint(str(write_checkpoint(work / "tiny", offset=0.1)), pooling="mean", max_tokens=20, licence="cc0-1.0"),
        texts_by_pair([str(write_tsv(work / "words.tsv", make_pairs(500)))], ["en-gn"]), "plda", method_named("plda"),
        DecompositionSettings(), SplitSettings(seed=1, valid=0.1, test=0.1, max_train=0, max_valid=0, max_test=0),
        seed=1, device="cpu", checkpoint=work / "work", output=root / "model",
    )
    model, texts = orthoglot.load(root / "model", "cpu"), ["a00 a01 a02", "b00 b01 b02", "a79 b79"]
    parts = model.parts(texts)._asdict()
    (root / "calibration.json").write_text(calibrate(model, make_pairs(100, seed=2)).as_json())
    expected = {"texts": texts, "identity": model.identity}
    expected |= {part: [[float(f"{x:.7g}") for x in row] for row in rows.tolist()] for part, rows in parts.items()}
    (root / "expected.json").write_text(json.dumps(expected) + "\\n")
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from huggingface_hub import metadata_load
from small_checkpoint import make_pairs
from typer.testing import CliRunner

import orthoglot
from orthoglot import receipts
from orthoglot.apply.calibration import Calibration
from orthoglot.apply.export import export
from orthoglot.cli import app
from orthoglot.errors import ConfigError, DataError
from orthoglot.statistics.records import read_records

COMMITTED = Path(__file__).with_name("model-1.0")
EXPECTED: dict[str, Any] = json.loads((COMMITTED / "expected.json").read_text(encoding="utf-8"))
# Of the largest entry of a vector: other processors add in another order.
TOLERANCE = 1e-5


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(COMMITTED / "model", tmp_path / "model"))


def test_the_folder_is_small_and_all_of_it_is_in_the_repository() -> None:
    files = [path for path in COMMITTED.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 200_000
    stated = receipts.read(COMMITTED / "model")
    assert stated is not None
    assert len(files) == len(stated.files) + 3  # the receipt, the calibration, the vectors
    listed = subprocess.run(["git", "ls-files"], cwd=COMMITTED, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no checkout of git here")
    assert {COMMITTED / name for name in listed.stdout.splitlines()} == {*files}


@pytest.mark.parametrize("part", ["sentence", "meaning", "language"])
def test_it_opens_and_gives_the_committed_vectors(part: str) -> None:
    expected = np.array(EXPECTED[part])
    model = orthoglot.load(COMMITTED / "model", "cpu")
    found = model.encode(EXPECTED["texts"], part=part)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())
    assert model.identity == EXPECTED["identity"]


def test_its_calibration_and_its_records_are_read(tmp_path: Path) -> None:
    calibration = Calibration.load(COMMITTED / "calibration.json")
    assert calibration.model == EXPECTED["identity"]
    for name, side in zip(("a.txt", "b.txt"), zip(*make_pairs(30, seed=3), strict=True), strict=True):
        (tmp_path / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    given = ["mine", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "-o", str(tmp_path / "pairs.tsv")]
    given += ["--model", str(COMMITTED / "model"), "--calibration", str(COMMITTED / "calibration.json")]
    called = CliRunner().invoke(app, given)
    assert called.exit_code == 0, called.output
    names, *rows = (tmp_path / "pairs.tsv").read_text(encoding="utf-8").splitlines()
    assert "probability" in names.split("\t")
    assert rows
    # It is of before texts had a mean of their own.
    assert not json.loads((tmp_path / "pairs.tsv.json").read_text())["options"]["own_mean"]
    refused = CliRunner().invoke(app, [*given, "--own-mean"])
    assert isinstance(refused.exception, ConfigError)
    assert "made with another --own-mean (False, not True); another --precision" in str(refused.exception)
    records = read_records(COMMITTED / "model/records.jsonl")
    assert {record.view for record in records} == {"sentence", "meaning", "language"}


def test_it_is_exported_with_what_is_on_record(tmp_path: Path) -> None:
    assert export(COMMITTED / "model", tmp_path / "out") <= 1e-6
    front = metadata_load(tmp_path / "out/README.md")
    assert front is not None
    assert (front["license"], front["language"]) == ("cc0-1.0", ["en", "gn"])
    (index,) = front["model-index"]
    found = {one["dataset"]["config"]: one["metrics"][0]["value"] for one in index["results"]}
    records = read_records(COMMITTED / "model/records.jsonl")
    expected = {record.subset: record.value / 100 for record in records if record.view == "meaning"}
    assert found == pytest.approx(expected, abs=5e-7)
    assert "- text en-gn: words.tsv, " in (tmp_path / "out/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "weights.safetensors",
        "decomposer.json",
        "encoder/model.safetensors",
        "encoder/encoder.json",
        "encoder/tokenizer.json",
    ],
)
def test_a_damaged_copy_is_refused(name: str, copy: Path) -> None:
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(DataError):
        orthoglot.load(copy, "cpu")


@pytest.mark.parametrize("stated", [2, "1.5", None])
@pytest.mark.parametrize("name", ["decomposer.json", "encoder/encoder.json"])
def test_a_folder_of_a_later_format_is_refused_in_one_line_that_names_both(
    name: str, stated: Any, copy: Path
) -> None:
    path = copy / name
    path.write_text(json.dumps({"format": stated, **json.loads(path.read_text())}), encoding="utf-8")
    shutil.rmtree(copy / receipts.NAME)
    receipts.write(copy, "0" * 16)
    with pytest.raises(
        DataError, match=f"{name}: has format .*, but orthoglot .* reads format 1; use"
    ) as caught:
        orthoglot.load(copy, "cpu")
    assert repr(stated) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_that_states_the_first_format_opens(copy: Path) -> None:
    path = copy / "decomposer.json"
    path.write_text(json.dumps({"format": 1, **json.loads(path.read_text())}), encoding="utf-8")
    shutil.rmtree(copy / receipts.NAME)
    found = orthoglot.load(copy, "cpu").encode(EXPECTED["texts"])
    np.testing.assert_allclose(found, EXPECTED["meaning"], rtol=0, atol=1e-4)
