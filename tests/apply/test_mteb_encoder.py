"""mteb evaluates a model folder: its scores are ours, and it states languages where it can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_checkpoint import make_pairs, write_checkpoint
from test_export import model_folder

import orthoglot
from orthoglot.errors import DataError
from orthoglot.tasks.retrieval import hits

mteb = pytest.importorskip("mteb", reason="needs the extra mteb")

PAIRS = make_pairs(40)
A, B = (list(side) for side in zip(*PAIRS, strict=True))


def task(columns: dict[str, list[str]], languages: dict[str, list[str]]) -> Any:
    """A task of mteb on text in memory, whose subsets are pairs of columns."""
    from datasets import Dataset
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.abstasks.text.bitext_mining import AbsTaskBitextMining

    class Invented(AbsTaskBitextMining):
        parallel_subsets = "sentence1" not in columns
        metadata = TaskMetadata(
            name="InventedBitextMining",
            dataset={"path": "invented", "revision": "1"},
            description="Invented sentences.",
            type="BitextMining",
            category="t2t",
            modalities=["text"],
            eval_splits=["test"],
            eval_langs=languages,
            main_score="accuracy",
            date=("2026-01-01", "2026-01-02"),
            reference=None,
            domains=[],
            task_subtypes=[],
            license="cc0-1.0",
            annotations_creators="derived",
            dialect=[],
            sample_creation="created",
            bibtex_citation="",
        )

        def load_data(self, **options: Any) -> None:
            whole = Dataset.from_dict(columns)
            subsets = {name: {"test": whole} for name in languages}
            self.dataset = {"test": whole} if self.parallel_subsets else subsets
            self.data_loaded = True

    return Invented()


def scores(model: Any, of: Any) -> dict[str, float]:
    """Accuracy by subset."""
    (result,) = mteb.evaluate(model, of, cache=None, show_progress_bar=False).task_results
    return {one["hf_subset"]: one["accuracy"] for one in result.scores["test"]}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"), offset=0.6)


def test_its_accuracy_is_p_at_1(tmp_path: Path, checkpoint: Path) -> None:
    from orthoglot.apply.mteb_encoder import MtebEncoder

    folder = model_folder(tmp_path, checkpoint, "discriminant", pooling="mean", max_tokens=22)
    model = orthoglot.load(folder)
    bitext = task({"sentence1": A, "sentence2": B}, {"eng-grn": ["eng-Latn", "grn-Latn"]})
    for part in ("meaning", "language", "sentence"):
        found = scores(MtebEncoder(folder, part), bitext)
        forward, _ = hits(model.encode(A, part=part), model.encode(B, part=part))
        assert 0 < forward.mean() < 1
        assert found == {"eng-grn": pytest.approx(forward.mean(), abs=1e-6)}


def test_a_method_by_language_is_scored_where_the_language_is_stated(
    tmp_path: Path, checkpoint: Path
) -> None:
    from orthoglot.apply.mteb_encoder import MtebEncoder

    folder = model_folder(tmp_path, checkpoint, "centering", pooling="mean", max_tokens=22)
    model = orthoglot.load(folder)
    columns = {"eng_Latn": A, "grn_Latn": B}
    pairs = {
        f"{a}-{b}": [a.replace("_", "-"), b.replace("_", "-")] for a in columns for b in columns if a != b
    }
    forward, backward = hits(model.encode(A, language="en"), model.encode(B, language="gn"))
    assert scores(MtebEncoder(folder), task(columns, pairs)) == {
        "eng_Latn-grn_Latn": pytest.approx(forward.mean(), abs=1e-6),
        "grn_Latn-eng_Latn": pytest.approx(backward.mean(), abs=1e-6),
    }
    unstated = task({"sentence1": A, "sentence2": B}, {"eng-grn": ["eng-Latn", "grn-Latn"]})
    with pytest.raises(DataError, match="give the vectors' language"):
        scores(MtebEncoder(folder), unstated)


def test_results_are_kept_apart_by_method_part_and_weights(tmp_path: Path, checkpoint: Path) -> None:
    from orthoglot.apply.mteb_encoder import MtebEncoder, stated_language

    folder = model_folder(tmp_path, checkpoint, "discriminant", pooling="mean", max_tokens=22)
    abouts = [MtebEncoder(folder, part).mteb_model_meta for part in ("meaning", "language")]
    abouts.append(MtebEncoder(folder / "encoder", "sentence").mteb_model_meta)
    assert len({(about.name, about.revision) for about in abouts}) == 3
    assert len({about.revision for about in abouts}) == 2
    assert stated_language("default", {"default": ["fra-Latn"]}) == "fr"
    assert stated_language("default", {"default": ["fra-Latn", "deu-Latn"]}) is None
    assert stated_language("cmn_Hans", {}) == "zh"
    assert stated_language("en-fr", {}) is None
    assert stated_language("xyz_Latn", {}) is None
    assert np.isfinite(MtebEncoder(folder).model.encode("a01 b02")).all()
