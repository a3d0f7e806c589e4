"""mteb's scores of our models: through the adapter, through an export, and our own measures on the same texts."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from requests import ConnectTimeout
from safetensors.numpy import load_file
from scipy import stats
from small_checkpoint import DIM, make_pairs, write_checkpoint
from test_export import decomposer, model_folder, opened
from torch import nn

import orthoglot
from orthoglot.apply.export import export
from orthoglot.decomposers.base import unit
from orthoglot.encoders.folder import identity
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.languages import _LANGUAGES
from orthoglot.search.hits import hits
from orthoglot.search.neighbours import nearest
from orthoglot.search.pair_cosines import cosines

mteb = pytest.importorskip("mteb", reason="the extra `mteb` is not installed")

from datasets import Dataset, DatasetDict  # noqa: E402
from datasets.exceptions import DatasetNotFoundError  # noqa: E402
from huggingface_hub.utils import httpx  # noqa: E402
from mteb.abstasks import AbsTaskBitextMining, AbsTaskSTS  # noqa: E402
from mteb.abstasks.task_metadata import TaskMetadata  # noqa: E402
from mteb.models import CachedEmbeddingWrapper, EncoderProtocol, ModelMeta  # noqa: E402
from mteb.models.model_meta import ScoringFunction  # noqa: E402
from mteb.results.task_result import TaskError, TaskResult  # noqa: E402

from orthoglot.apply.mteb_model import TASKS, MtebModel, _languages, _sizes  # noqa: E402
from orthoglot.apply.mteb_tasks import run  # noqa: E402

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


def changed(folder: Path, place: Path, **stated: Any) -> Path:
    """A copy of a model whose encoder's card states more, and which the decomposer fits to."""
    shutil.copytree(folder, place)
    card = place / "encoder/encoder.json"
    card.write_text(json.dumps(json.loads(card.read_text()) | stated))
    decomposer("residual", DIM, identity(card.parent)).save(place)
    return place


def test_mteb_finds_nothing_wrong_with_the_model(folder: Path) -> None:
    """mteb's own check of a model: its tasks of every kind, on text that comes with it."""
    found = mteb.mock_run(MtebModel(folder, device="cpu"))
    assert found.all_passed, found.to_markdown()
    ran = {name for name, result in found.items() if isinstance(result, TaskResult)}
    assert {"MockBitextMiningTask", "MockSTSTask", "MockClassificationTask", "MockRetrievalTask"} <= ran
    assert not [name for name, result in found.items() if isinstance(result, TaskError)]
    model = MtebModel(folder, device="cpu")
    assert isinstance(model, EncoderProtocol)
    vectors = model.model.encode(A[:3])
    np.testing.assert_allclose(model.similarity(vectors, vectors), cosine_table(vectors), atol=1e-6)


def cosine_table(vectors: np.ndarray) -> np.ndarray:
    return unit(vectors) @ unit(vectors).T


@pytest.mark.parametrize("part", ["meaning", "language", "sentence"])
def test_what_mteb_is_told_is_on_record(part: str, folder: Path, tmp_path: Path) -> None:
    model = changed(folder, tmp_path / "model", prefix="a00 ", languages=["en", "gn", "sw"])
    made = {"encoder": {"licence": "Apache-2.0"}, "bitext": {"en-gn": ["mine.tsv"]}}
    (model / "fit.json").write_text(json.dumps(made | {"text": {"en-gn": {"kept": {"train": 5}}}}))
    meta = MtebModel(model, part, "cpu").mteb_model_meta
    network = load_file(model / "encoder/model.safetensors")
    maps = 0 if part == "sentence" else DIM * DIM + DIM
    assert meta.n_parameters == sum(array.size for array in network.values()) + maps
    assert meta.n_embedding_parameters == network["embeddings.word_embeddings.weight"].size
    assert meta.memory_usage_mb == pytest.approx(4 * meta.n_parameters / 2**20, abs=0.05)
    assert (meta.max_tokens, meta.embed_dim, meta.use_instructions) == (20, DIM, True)
    assert (meta.license, meta.open_weights) == ("apache-2.0", True)
    assert meta.languages == ["eng-Latn", "grn-Latn", *(["swa-Latn"] if part == "sentence" else [])]
    assert meta.revision == orthoglot.load(model, "cpu").identity
    assert meta.similarity_fn_name == ScoringFunction.COSINE
    assert meta.training_datasets is None  # nobody knows what this encoder saw
    unknown = ("release_date", "reference", "adapted_from", "public_training_code", "public_training_data")
    assert not any(getattr(meta, name) for name in unknown)
    # It is written beside the scores, and read again.
    again = ModelMeta.model_validate_json_resolved(json.dumps(meta.to_dict()))
    assert again == meta
    assert hash(again) == hash(meta)
    assert meta.name != meta.adapted_from
    assert (meta.experiment_name, str(tmp_path) in meta.to_python()) == (None, False)


def test_the_table_of_a_static_encoder_counts_as_embeddings() -> None:
    assert _sizes(nn.Sequential(nn.EmbeddingBag(5, 3), nn.Linear(3, 2))) == (15 + 8, 15)


@pytest.mark.parametrize(
    ("error", "expected", "cause"),
    [
        (httpx.ConnectError("no route"), OfflineError, "no route"),
        (httpx.ReadTimeout("timed out"), OfflineError, "timed out"),
        (ConnectTimeout("timed out"), OfflineError, "timed out"),
        (ValueError("row 3\nis torn"), DataError, "row 3 is torn"),
        (DatasetNotFoundError("gated"), DataError, "gated"),
    ],
)
def test_data_that_mteb_does_not_get_is_a_line(
    error: Exception,
    expected: type,
    cause: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load_data(*_: Any, **__: Any) -> None:
        raise error

    task = Similarity()
    task.metadata = Similarity.metadata.model_copy(update={"is_public": False})
    monkeypatch.setattr(task, "load_data", load_data)
    monkeypatch.setattr(warnings, "warn", lambda *_, **__: None)  # mteb's, of a task that is not public
    with pytest.raises(expected, match=f"^mteb's InventedSimilarity: {cause}$"):
        run(MtebModel(folder, device="cpu"), [task], tmp_path)


def test_a_fault_of_the_code_is_not_one_of_the_data(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def encode(*_: Any, **__: Any) -> None:
        raise KeyError("text")

    model = MtebModel(folder, device="cpu")
    monkeypatch.setattr(model, "encode", encode)
    with pytest.raises(KeyError):
        run(model, [Similarity()], tmp_path)


def test_scores_are_those_of_the_subsets_that_are_asked_for(folder: Path, tmp_path: Path) -> None:
    model = MtebModel(folder, device="cpu")
    both = run(model, [Columns()], tmp_path)
    task = Columns()
    task.hf_subsets = ["grn_Latn-eng_Latn"]
    assert [score.subset for score in both] == [*DIRECTIONS]
    assert [score.subset for score in run(model, [task], tmp_path)] == task.hf_subsets


def test_nothing_is_told_that_is_not_on_record(folder: Path) -> None:
    meta = MtebModel(folder, device="cpu").mteb_model_meta
    assert (meta.license, meta.open_weights, meta.training_datasets) == (None, None, None)
    assert not meta.use_instructions
    assert MtebModel(folder, "sentence", "cpu").mteb_model_meta.languages is None


@pytest.mark.parametrize("part", ["meaning", "sentence"])
def test_text_is_training_data_where_all_of_it_is_known(part: str, folder: Path, tmp_path: Path) -> None:
    made = {"bitext": {"en-gn": ["mine.tsv", "Tatoeba.tsv"]}, "text": {"en-gn": {"kept": {"train": 5}}}}
    # mteb knows what this encoder was trained on.
    known = changed(folder, tmp_path / "known", origin="intfloat/multilingual-e5-small")
    meta = MtebModel(known, part, "cpu").mteb_model_meta
    assert meta.training_datasets == (
        set() if part == "sentence" else None
    )  # the decomposer's is not on record
    (known / "fit.json").write_text(json.dumps(made))
    meta = MtebModel(known, part, "cpu").mteb_model_meta
    assert meta.adapted_from == "intfloat/multilingual-e5-small"
    assert (meta.reference is None) == (part == "meaning")
    assert meta.training_datasets == (set() if part == "sentence" else {"mine.tsv", "Tatoeba.tsv", "Tatoeba"})
    found = meta.get_training_datasets()
    assert found is not None
    assert "MSMARCO" in found
    assert ("Tatoeba" in found) == (part == "meaning")
    assert meta.is_zero_shot_on(["Tatoeba"]) == (part == "sentence")
    # Trained here, from scratch: its card has the text.
    training = {"network": {"layers": 1}, "text": {"en-gn": {"corpora": ["bible"], "pairs": 9}}}
    scratch = changed(folder, tmp_path / "scratch", training=training)
    (scratch / "fit.json").write_text(json.dumps(made))
    expected = {
        "bible",
        "BibleNLPBitextMining",
        *(["mine.tsv", "Tatoeba.tsv", "Tatoeba"] if part == "meaning" else []),
    }
    assert MtebModel(scratch, part, "cpu").mteb_model_meta.training_datasets == expected
    # From a checkpoint that nothing is known of.
    tuned = changed(folder, tmp_path / "tuned", training={"text": training["text"], "start": "xlmr"})
    (tuned / "fit.json").write_text(json.dumps(made))
    assert MtebModel(tuned, part, "cpu").mteb_model_meta.training_datasets is None


def test_an_exported_folder_says_what_its_card_says_and_no_more(folder: Path, tmp_path: Path) -> None:
    known = changed(folder, tmp_path / "known", origin="intfloat/multilingual-e5-small", prefix="a00 ")
    export(known, tmp_path / "out", licence="mit")
    meta = MtebModel(tmp_path / "out", device="cpu").mteb_model_meta
    assert meta.name == "orthoglot/out-sentence"
    assert (meta.license, meta.adapted_from) == ("mit", "intfloat/multilingual-e5-small")
    assert (meta.languages, meta.use_instructions) == (["eng-Latn", "grn-Latn"], True)
    # It was fitted on text that no file here names.
    assert (meta.training_datasets, meta.reference) == (None, None)


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("CC-BY-NC-4.0", "cc-by-nc-4.0"),
        ("mit, apache-2.0", "multiple"),
        ("llama3", None),  # of the hub's list alone
        ("ours, https://example.org/x", "https://example.org/x"),
        ("Our own", None),
    ],
)
def test_a_licence_is_one_of_mtebs_or_an_address(
    licence: str, expected: str | None, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "model")
    (tmp_path / "model/fit.json").write_text(json.dumps({"encoder": {"licence": licence}}))
    meta = MtebModel(tmp_path / "model", device="cpu").mteb_model_meta
    assert (meta.license, meta.open_weights) == (expected, True if expected else None)


def test_languages_and_tasks_are_spelled_as_mteb_spells_them() -> None:
    two = json.loads((Path(mteb.__file__).parent / "languages/iso_639_1_to_3.json").read_text())
    known = {code: _languages([code]) for code in _LANGUAGES}
    # Groups of languages, which ISO 639-3 has no code of.
    assert [code for code, found in known.items() if not found] == ["nah", "oto", "bh"]
    for code, found in known.items():
        assert not found or code not in two or found == [f"{two[code]}-{found[0][4:]}"]
    assert _languages(["qaa"]) == []
    for names in TASKS.values():
        assert [task.metadata.name for task in mteb.get_tasks(tasks=list(names))]


def test_vectors_that_mteb_stores_are_the_models(folder: Path, tmp_path: Path) -> None:
    direct = scored(MtebModel(folder, device="cpu"), Pairs())
    for _ in range(2):  # first stored, then read
        stored = CachedEmbeddingWrapper(MtebModel(folder, device="cpu"), tmp_path / "stored")
        found = scored(stored, Pairs())
        stored.close()
        assert found["eng-grn"]["f1"] == pytest.approx(direct["eng-grn"]["f1"], abs=1e-6)


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
