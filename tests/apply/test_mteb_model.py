"""mteb's scores of our models: through the adapter, through an export, and our own measures on the same texts."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from small_checkpoint import DIM, make_pairs, write_checkpoint
from test_export import decomposer, model_folder, opened

import orthoglot
from orthoglot.apply.export import export
from orthoglot.decomposers.base import unit
from orthoglot.encoders.folder import identity
from orthoglot.errors import ConfigError, DataError
from orthoglot.tasks.graded_pairs import cosines
from orthoglot.tasks.neighbours import nearest
from orthoglot.tasks.retrieval import hits

mteb = pytest.importorskip("mteb", reason="the extra `mteb` is not installed")

from datasets import Dataset, DatasetDict  # noqa: E402
from mteb.abstasks import AbsTaskBitextMining, AbsTaskSTS  # noqa: E402
from mteb.abstasks.task_metadata import TaskMetadata  # noqa: E402

from orthoglot.apply.mteb_model import MtebModel  # noqa: E402

DOCS = Path(__file__).resolve().parents[2] / "docs/use.md"
A, B = (list(side) for side in zip(*make_pairs(80), strict=True))
GOLD = np.random.default_rng(5).uniform(0, 5, size=len(A)).tolist()
DIRECTIONS = {"eng_Latn-grn_Latn": ["eng-Latn", "grn-Latn"], "grn_Latn-eng_Latn": ["grn-Latn", "eng-Latn"]}


def described(name: str, kind: str, subsets: dict[str, list[str]], score: str) -> TaskMetadata:
    return TaskMetadata(
        name=name,
        type=kind,
        eval_langs=subsets,
        main_score=score,
        description="Invented words.",
        reference="https://example.org",
        dataset={"path": "none", "revision": "none"},
        category="t2t",
        eval_splits=["test"],
        modalities=["text"],
    )


class Columns(AbsTaskBitextMining):
    """A text in two languages, each a column, as FLORES and NTREX are in mteb."""

    parallel_subsets = True
    metadata = described("InventedColumns", "BitextMining", DIRECTIONS, "f1")

    def load_data(self, **_: Any) -> None:
        self.dataset = DatasetDict(test=Dataset.from_dict({"eng_Latn": A, "grn_Latn": B}))
        self.data_loaded = True


class Pairs(AbsTaskBitextMining):
    """A subset of two languages, as Tatoeba is in mteb."""

    metadata = described("InventedPairs", "BitextMining", {"eng-grn": ["eng-Latn", "grn-Latn"]}, "f1")

    def load_data(self, **_: Any) -> None:
        self.dataset = {"eng-grn": DatasetDict(test=Dataset.from_dict({"sentence1": A, "sentence2": B}))}
        self.data_loaded = True


class Similarity(AbsTaskSTS):
    """A subset of one language."""

    min_score, max_score = 0, 5
    metadata = described("InventedSimilarity", "STS", {"grn": ["grn-Latn"]}, "cosine_spearman")

    def load_data(self, **_: Any) -> None:
        columns = {"sentence1": B, "sentence2": B[::-1], "score": GOLD}
        self.dataset = {"grn": DatasetDict(test=Dataset.from_dict(columns))}
        self.data_loaded = True


def scored(model: Any, task: Any, **options: Any) -> dict[str, dict[str, float]]:
    """mteb's scores by subset."""
    result = mteb.evaluate(model, task, **({"cache": None, "show_progress_bar": False} | options))
    return {one["hf_subset"]: one for one in result.task_results[0].scores["test"]}


def retrieved(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Our P@1, and mteb's F1 of our neighbours: a sentence that c queries find has precision 1 / c, and recall 1."""
    own = np.arange(len(x))
    found = nearest(unit(x), unit(y)).forward[:, 0]
    f1 = (found == own) * 2 / (1 + np.bincount(found, minlength=len(y)))
    return {"accuracy": float(hits(x, y)[0].mean()), "f1": float(f1.mean())}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mteb")
    return model_folder(root, write_checkpoint(root / "tiny"), "residual", pooling="mean", max_tokens=20)


@pytest.mark.parametrize("part", ["meaning", "language"])
@pytest.mark.parametrize("exported", [False, True])
def test_bitext_mining_has_our_scores(part: str, exported: bool, folder: Path, tmp_path: Path) -> None:
    if exported:
        export(folder, tmp_path / "out", part=part)
        model = opened(tmp_path / "out")
    else:
        model = MtebModel(folder, part, "cpu")
    ours = orthoglot.load(folder, "cpu")
    x, y = (ours.encode(side, part=part) for side in (A, B))
    expected = {"eng_Latn-grn_Latn": retrieved(x, y), "grn_Latn-eng_Latn": retrieved(y, x)}
    assert 0 < expected["eng_Latn-grn_Latn"]["accuracy"] < 1
    for subset, found in scored(model, Columns()).items():
        assert {name: found[name] for name in ("accuracy", "f1")} == pytest.approx(expected[subset], abs=1e-6)
    assert scored(model, Pairs())["eng-grn"]["f1"] == pytest.approx(
        expected["eng_Latn-grn_Latn"]["f1"], abs=1e-6
    )


@pytest.mark.parametrize("part", ["meaning", "sentence"])
def test_similarity_has_our_correlations(part: str, folder: Path) -> None:
    vectors = orthoglot.load(folder, "cpu").encode(B, part=part)
    predicted = cosines(vectors, vectors[::-1])
    found = scored(MtebModel(folder, part, "cpu"), Similarity())["grn"]
    assert found["cosine_pearson"] == pytest.approx(stats.pearsonr(predicted, GOLD)[0], abs=1e-6)
    assert found["cosine_spearman"] == pytest.approx(stats.spearmanr(predicted, GOLD)[0], abs=1e-6)


@pytest.fixture
def centred(folder: Path, tmp_path: Path) -> Path:
    """The model with a mean per language, which is as large as its vectors, in place of its decomposer."""
    shutil.copytree(folder, tmp_path / "centred")
    fitted = decomposer("centering", DIM, identity(folder / "encoder"))
    replace(fitted, weights={"means": 10 * fitted.weights["means"]}).save(tmp_path / "centred")
    return tmp_path / "centred"


def test_a_mean_per_language_is_that_of_the_column(centred: Path) -> None:
    ours = orthoglot.load(centred, "cpu")
    x, y, wrong = (ours.encode(side, language=code) for side, code in ((A, "en"), (B, "gn"), (B, "en")))
    found = scored(MtebModel(centred, device="cpu"), Columns())
    assert found["eng_Latn-grn_Latn"]["accuracy"] == pytest.approx(retrieved(x, y)["accuracy"], abs=1e-6)
    assert found["grn_Latn-eng_Latn"]["accuracy"] == pytest.approx(retrieved(y, x)["accuracy"], abs=1e-6)
    assert abs(retrieved(x, wrong)["accuracy"] - retrieved(x, y)["accuracy"]) > 0.01


def test_a_mean_per_language_is_that_of_the_subset(centred: Path) -> None:
    ours, model = orthoglot.load(centred, "cpu"), MtebModel(centred, device="cpu")
    expected, wrong = (
        stats.pearsonr(cosines(vectors, vectors[::-1]), GOLD)[0]
        for vectors in (ours.encode(B, language=code) for code in ("gn", "en"))
    )
    assert scored(model, Similarity())["grn"]["cosine_pearson"] == pytest.approx(expected, abs=1e-6)
    assert abs(wrong - expected) > 0.01
    with pytest.raises(
        DataError, match=r"InventedPairs, eng-grn \(eng-Latn, grn-Latn\): .*give the vectors' lang"
    ):
        scored(model, Pairs())


def test_scores_that_mteb_keeps_are_those_of_one_model_and_part(
    folder: Path, centred: Path, tmp_path: Path
) -> None:
    kept = mteb.ResultCache(tmp_path / "kept")
    meaning, language = (
        scored(MtebModel(folder, part, "cpu"), Columns(), cache=kept) for part in ("meaning", "language")
    )
    assert meaning != language
    first, again = (MtebModel(folder, device="cpu").mteb_model_meta for _ in range(2))
    assert (first.name, first.revision) == (again.name, again.revision)
    assert first.name == "orthoglot/tiny-my-residual-meaning"
    decomposer("residual", DIM, identity(folder / "encoder"), seed=1).save(centred)
    other = MtebModel(centred, device="cpu").mteb_model_meta
    assert other.name == first.name
    assert other.revision != first.revision


def test_an_encoder_without_a_decomposer_gives_the_sentence(folder: Path) -> None:
    encoder = folder / "encoder"
    model = MtebModel(encoder, device="cpu")
    assert model.mteb_model_meta.name == "orthoglot/tiny-sentence"
    x, y = (orthoglot.load(encoder, "cpu").encode(side, part="sentence") for side in (A, B))
    assert scored(model, Pairs())["eng-grn"]["accuracy"] == pytest.approx(
        retrieved(x, y)["accuracy"], abs=1e-6
    )
    with pytest.raises(ConfigError, match="no decomposer"):
        scored(MtebModel(encoder, "meaning", "cpu"), Pairs())


@pytest.mark.parametrize("subset", ["deu", "code"])
def test_a_language_that_the_encoder_does_not_cover_is_left_open(
    subset: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "covers")
    card = tmp_path / "covers/encoder/encoder.json"
    card.write_text(json.dumps(json.loads(card.read_text()) | {"languages": ["en", "gn"]}))
    decomposer("residual", DIM, identity(card.parent)).save(tmp_path / "covers")
    with pytest.raises(ConfigError, match="de"):
        orthoglot.load(tmp_path / "covers", "cpu").encode(A, language="de")
    subsets = {"deu": ["deu-Latn"], "code": ["python-Code"]}
    task = SimpleNamespace(name="Invented", hf_subsets_to_langscripts=subsets)
    found = MtebModel(tmp_path / "covers", device="cpu").encode(
        [{"text": A[:2]}, {"text": A[2:3]}], task_metadata=task, hf_split="test", hf_subset=subset
    )
    assert (found == unit(orthoglot.load(folder, "cpu").encode(A[:3]))).all()


def test_the_example_of_the_docs_runs(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(
        r"## Evaluate with mteb.*?```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S
    )
    tasks = mteb.get_tasks(
        tasks=["FloresBitextMining"], languages=["eng", "grn"], exclusive_language_filter=True
    )
    assert [(task.metadata.name, sorted(task.hf_subsets)) for task in tasks] == [
        ("FloresBitextMining", sorted(DIRECTIONS))
    ]
    assert "devtest" in tasks[0].metadata.eval_splits
    invented = Columns()
    invented.metadata = Columns.metadata.model_copy(update={"eval_splits": ["devtest"]})
    invented.load_data()
    invented.dataset["devtest"] = invented.dataset["test"]
    monkeypatch.setattr(mteb, "get_tasks", lambda **_: [invented])
    monkeypatch.setattr(mteb, "evaluate", partial(mteb.evaluate, cache=None))
    shutil.copytree(folder, tmp_path / "minilm-gn")
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    ours = orthoglot.load(folder, "cpu")
    found = retrieved(ours.encode(A), ours.encode(B))
    line, *others = capsys.readouterr().out.splitlines()
    assert len(others) == 1
    name, subset, *printed = line.split()
    assert (name, subset) == ("InventedColumns", "eng_Latn-grn_Latn")
    assert list(map(float, printed)) == pytest.approx([found["accuracy"], found["f1"]], abs=1e-6)
