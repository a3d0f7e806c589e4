"""Decomposers: NumPy and PyTorch agree, parts add up, files come back, no PyTorch is needed to apply one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from orthoglot import receipts
from orthoglot.decomposers.base import Decomposer, load_decomposer
from orthoglot.decomposers.modules import Maps, linear
from orthoglot.errors import DataError
from orthoglot.random_streams import stream


def build(architecture: str, weights: dict[str, np.ndarray]) -> Decomposer:
    return Decomposer(architecture, "m", "toy", "abc", ["de", "zh"], 6, weights, {"seed": 1})


def weights_of(module: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


@pytest.mark.parametrize("architecture", ["two_head", "residual"])
def test_numpy_and_torch_give_the_same_parts(architecture: str, tmp_path: Path) -> None:
    module = Maps(architecture, 6, stream(0))
    build(architecture, weights_of(module)).save(tmp_path)
    vectors = torch.randn(9, 6, generator=stream(1))
    with torch.no_grad():
        expected = module(vectors)
    parts = load_decomposer(tmp_path).transform(vectors.numpy(), "de")
    for name in ("sentence", "meaning", "language"):
        np.testing.assert_allclose(getattr(parts, name), getattr(expected, name), atol=1e-6)
        assert getattr(parts, name).dtype == np.float32


def test_residual_parts_add_up() -> None:
    vectors = torch.randn(9, 6, generator=stream(1))
    parts = Maps("residual", 6, stream(0))(vectors)
    torch.testing.assert_close(parts.meaning + parts.language, vectors)


def test_initial_weights_depend_on_the_generator_alone_and_are_spread_as_usual() -> None:
    state = torch.get_rng_state()
    layer, again = linear(400, 100, stream(3)), linear(400, 100, stream(3))
    assert torch.equal(layer.weight, again.weight)
    assert torch.equal(torch.get_rng_state(), state)
    bound = 1 / 20  # 1 / sqrt(400)
    assert bound * 0.99 < layer.weight.abs().max() <= bound
    assert abs(layer.weight.std().item() - bound / 3**0.5) < 1e-3


def test_centering_takes_a_language_per_row() -> None:
    means = np.stack([np.zeros(6), np.ones(6)]).astype(np.float32)
    parts = build("centering", {"means": means}).transform(np.ones((3, 6)), ["zh", "de", "zh"])
    assert parts.meaning[:, 0].tolist() == [0, 1, 0]
    assert parts.language[:, 0].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("shape", "languages", "message"),
    [
        ((1, 6), "fr", "no weights of language 'fr'; known: de, zh"),
        ((1, 6), "", r"give the vectors' language \(--language\); known: de, zh"),
        ((3, 5), "de", r"\(3, 5\), expected \(N, 6\)"),
        ((3, 6), ["de", "de"], "3 vectors but 2 languages"),
    ],
)
def test_vectors_and_languages_that_do_not_fit_are_refused(
    shape: tuple[int, int], languages: str | list[str], message: str
) -> None:
    decomposer = build("centering", {"means": np.zeros((2, 6), dtype=np.float32)})
    with pytest.raises(DataError, match=message):
        decomposer.transform(np.ones(shape), languages)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    decomposer = build("residual", weights_of(Maps("residual", 6, stream(0))))
    with pytest.raises(DataError, match="cannot be read"):
        load_decomposer(tmp_path)
    decomposer.save(tmp_path)
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(DataError, match="cannot be read"):
        load_decomposer(tmp_path)


WEIGHTS: dict[str, dict[str, np.ndarray]] = {
    "int32": {"means": np.ones((2, 6), dtype=np.int32)},
    "float16": {"means": np.ones((2, 6), dtype=np.float16)},
    "transposed": {"means": np.ones((6, 2), dtype=np.float32)},
    "a language too many": {"means": np.ones((3, 6), dtype=np.float32)},
    "flat": {"means": np.ones(12, dtype=np.float32)},
    "absent": {},
    "unknown": {"means": np.ones((2, 6), dtype=np.float32), "more": np.ones(1, dtype=np.float32)},
    "NaN": {"means": np.full((2, 6), np.nan, dtype=np.float32)},
    "infinite": {"means": np.full((2, 6), np.inf, dtype=np.float32)},
}


@pytest.mark.parametrize("damage", WEIGHTS)
def test_weights_that_are_not_the_architectures_are_neither_saved_nor_loaded(
    damage: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="decomposer m: "):
        build("centering", WEIGHTS[damage]).save(tmp_path)
    build("centering", {"means": np.ones((2, 6), dtype=np.float32)}).save(tmp_path)
    save_file(WEIGHTS[damage], tmp_path / "weights.safetensors")
    with pytest.raises(DataError, match="SHA-256"):
        load_decomposer(tmp_path)
    # As folders of earlier versions are, whose weights have no stated digest.
    meta = json.loads((tmp_path / "decomposer.json").read_text())
    del meta["sha256"]
    (tmp_path / "decomposer.json").write_text(json.dumps(meta))
    with pytest.raises(DataError, match="decomposer m: "):
        load_decomposer(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"dim": "6"},
        {"dim": 0},
        {"dim": 7},
        {"languages": "de"},
        {"languages": [1, 2]},
        {"languages": ["de"]},
        {"method": None},
        {"details": []},
        {"architecture": "centring"},
        {"architecture": ["centering"]},
        {"more": 1},
    ],
)
def test_a_description_of_another_type_or_size_is_refused(changes: dict[str, object], tmp_path: Path) -> None:
    build("centering", {"means": np.ones((2, 6), dtype=np.float32)}).save(tmp_path)
    meta = json.loads((tmp_path / "decomposer.json").read_text())
    (tmp_path / "decomposer.json").write_text(json.dumps(meta | changes))
    with pytest.raises(DataError, match=f"decomposer {tmp_path}"):
        load_decomposer(tmp_path)


def test_a_decomposer_of_the_workflow_is_compared_with_its_receipt(tmp_path: Path) -> None:
    folder = tmp_path / "centering/seed1"
    folder.mkdir(parents=True)
    build("centering", {"means": np.ones((2, 6), dtype=np.float32)}).save(folder)
    receipts.write(folder.parent, "0123456789abcdef")
    assert load_decomposer(folder).languages == ["de", "zh"]
    text = (folder / "decomposer.json").read_text()
    (folder / "decomposer.json").write_text(text.replace('"zh"', '"ja"'))
    with pytest.raises(DataError, match=r"decomposer\.json: is damaged"):
        load_decomposer(folder)


def test_applying_needs_no_torch(tmp_path: Path) -> None:
    build("two_head", weights_of(Maps("two_head", 6, stream(0)))).save(tmp_path)
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from orthoglot.decomposers.base import load_decomposer\n"
        f"parts = load_decomposer(Path({str(tmp_path)!r})).transform([[1.0] * 6], 'de')\n"
        "assert parts.meaning.shape == (1, 6)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
