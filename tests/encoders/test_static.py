"""Static encoders: small random ones beside sentence-transformers and model2vec, and what cannot be opened."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from checkpoints import WORDS
from damaged_checkpoints import Damage, pickled, said, weights, without_a_weight
from hub_server import HubServer, Repository
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers
from typer.testing import CliRunner

import orthoglot
from orthoglot.apply.encoder_copy import Checkpoint, copy_encoder
from orthoglot.apply.export import export
from orthoglot.cli import app
from orthoglot.encoders import kinds
from orthoglot.encoders.checkpoint import from_folder
from orthoglot.encoders.folder import identity, load_encoder, locate
from orthoglot.encoders.frozen_folder import link
from orthoglot.encoders.kinds.sentence_transformers import SentenceTransformersSettings
from orthoglot.encoders.sentence_transformer import SentenceTransformersEncoder, link_sentence_transformers
from orthoglot.errors import ConfigError, DataError

SENTENCES = ["the cat sat", "a mat", "on the mat the cat sat on a mat", "cat", "a dog sat"]
DIM = 6


def splitter() -> Tokenizer:
    """A tokenizer of whole words; what it does not know is token 0."""
    built = Tokenizer(
        models.WordLevel({word: n for n, word in enumerate(["<unk>", *WORDS])}, unk_token="<unk>")
    )
    built.pre_tokenizer = pre_tokenizers.Whitespace()
    return built


def static(folder: Path) -> Path:
    """A table, a Dense and a Normalize, as the library saves them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        dense = Dense(DIM, 4, activation_function=torch.nn.Tanh())
        steps = [StaticEmbedding(splitter(), embedding_dim=DIM), dense, Normalize()]
    SentenceTransformer(modules=steps, device="cpu").save(str(folder), create_model_card=False)
    return folder


def similarity(folder: Path) -> Path:
    """The files of static-similarity-mrl-multilingual-v1 on the hub: a table in a folder of its own, no config.json."""
    static(folder / "saved")
    table = folder / "0_StaticEmbedding"
    table.mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.move(folder / "saved" / name, table / name)
    step = {"idx": 0, "name": "0", "path": table.name, "type": "sentence_transformers.models.StaticEmbedding"}
    (folder / "modules.json").write_text(json.dumps([step]))
    shutil.rmtree(folder / "saved")
    return folder


def potion(folder: Path, *, half: bool = False, shared: bool = False) -> Path:
    """What model2vec saves, as potion-multilingual-128M has it; newer tables share rows, which have weights."""
    draw = np.random.default_rng(0)
    size = len(WORDS) + 1
    table = draw.standard_normal((4 if shared else size, DIM)).astype(np.float16 if half else np.float32)
    more = {"token_mapping": draw.integers(4, size=size), "weights": draw.random(size)} if shared else {}
    config = {"model_type": "model2vec", "normalize": True}
    StaticModel(table, splitter(), config=config, normalize=True, **more).save_pretrained(folder)
    (folder / "README.md").unlink()
    return folder


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def linked(checkpoint: Path, output: Path, **changes: object) -> Path:
    output.mkdir()
    settings = {
        "kind": "sentence-transformers",
        "checkpoint": str(checkpoint),
        "revision": "",
        "licence": "x",
    }
    link_sentence_transformers(
        SentenceTransformersSettings.model_validate({**settings, **changes}), "tiny", output
    )
    return output


FORMS: dict[str, Callable[[Path], Path]] = {
    "sentence-transformers": static,
    "a folder of its own": similarity,
    "model2vec": potion,
    "model2vec in float16": lambda folder: potion(folder, half=True),
    "model2vec with shared rows": lambda folder: potion(folder, shared=True),
}


@pytest.mark.parametrize("form", FORMS)
def test_vectors_are_the_librarys(form: str, tmp_path: Path) -> None:
    place = FORMS[form](tmp_path / "checkpoint")
    encoder = load_encoder(linked(place, tmp_path / "e"), "cpu")
    library = SentenceTransformer(str(place), device="cpu").float().encode(SENTENCES)
    for budget in (1, 64):
        vectors = encoder.encode(SENTENCES, "en", budget)
        np.testing.assert_allclose(unit(vectors), unit(library), atol=1e-6)
    assert (encoder.name, encoder.dim, encoder.languages) == ("tiny", library.shape[1], ())
    assert vectors.dtype == np.float32
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() > 0.01  # without a closing Normalize
    assert encoder.encode([], "en", 64).shape == (0, encoder.dim)


@pytest.mark.parametrize("shared", [False, True])
def test_vectors_are_model2vecs_but_for_unknown_tokens_which_it_drops(shared: bool, tmp_path: Path) -> None:
    place = potion(tmp_path / "checkpoint", shared=shared)
    vectors = unit(load_encoder(linked(place, tmp_path / "e"), "cpu").encode(SENTENCES, "", 64))
    theirs = StaticModel.from_pretrained(place).encode(SENTENCES)
    np.testing.assert_allclose(vectors[:-1], theirs[:-1], atol=1e-6)
    assert np.abs(vectors[-1] - theirs[-1]).max() > 0.01


def test_a_vector_is_the_mean_of_its_rows_by_hand(tmp_path: Path) -> None:
    encoder = load_encoder(linked(potion(tmp_path / "checkpoint"), tmp_path / "e", prefix="query "), "cpu")
    table = np.random.default_rng(0).standard_normal((len(WORDS) + 1, DIM))
    rows = [1 + WORDS.index(word) for word in ("query", "the", "cat")]
    np.testing.assert_allclose(encoder.encode(["the cat"], "", 8), [table[rows].mean(0)], atol=1e-6)


def test_bfloat16_halves_the_table_alone(tmp_path: Path) -> None:
    folder = linked(static(tmp_path / "checkpoint"), tmp_path / "e")
    plain, rounded = (load_encoder(folder, "cpu", precision) for precision in ("float32", "bfloat16"))
    types = [{weight.dtype for weight in step.parameters()} for step in rounded.model]
    assert types == [{torch.bfloat16}, {torch.float32}]
    a, b = (encoder.encode(SENTENCES, "en", 64) for encoder in (plain, rounded))
    assert 1e-5 < np.abs(a - b).max() < 0.02
    with pytest.raises(ConfigError, match="int8"):
        load_encoder(folder, "cpu", "int8")


def test_a_long_sentence_is_truncated_here_and_in_the_export(tmp_path: Path) -> None:
    place = static(tmp_path / "checkpoint")
    long, short = ["the cat sat on a mat"], ["the cat sat"]
    whole = load_encoder(linked(place, tmp_path / "whole"), "cpu")
    folder = linked(place, tmp_path / "e", max_tokens=3)
    cut = load_encoder(folder, "cpu")
    np.testing.assert_array_equal(cut.encode(long, "", 8), cut.encode(short, "", 8))
    assert np.abs(whole.encode(long, "", 8) - whole.encode(short, "", 8)).max() > 0.01
    export(folder, tmp_path / "out")
    exported = SentenceTransformer(str(tmp_path / "out"), device="cpu")
    np.testing.assert_allclose(exported.encode(long), cut.encode(short, "", 8), atol=1e-6)


@pytest.mark.parametrize(("limit", "most"), [(None, 10**6), (5, 5)])
def test_the_limit_is_the_one_of_the_tokenizer(limit: int | None, most: int, tmp_path: Path) -> None:
    place = static(tmp_path / "checkpoint")
    if limit:
        tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        tokenizer.enable_truncation(limit)
        tokenizer.save(str(place / "tokenizer.json"))
    output = tmp_path / "e"
    output.mkdir()
    copy_encoder(Checkpoint(str(place)), ["en"], output)
    assert json.loads((output / "encoder.json").read_text())["max_tokens"] == most


@pytest.mark.parametrize("form", FORMS)
def test_it_is_fitted_and_its_export_gives_our_vectors(form: str, tmp_path: Path) -> None:
    place = FORMS[form](tmp_path / "checkpoint")
    draw = random.Random(0)
    texts = [draw.choices(WORDS, k=draw.randint(3, 8)) for _ in range(300)]
    lines = [f"{' '.join(words)}\t{' '.join(words[::-1][1:])}\n" for words in texts]
    (tmp_path / "en-es.tsv").write_text("".join(lines))
    command = ["fit", "--bitext", str(tmp_path / "en-es.tsv"), "--pair", "en-es", "--encoder", str(place)]
    done = CliRunner().invoke(app, [*command, "--output", str(tmp_path / "model")])
    assert done.exit_code == 0, done.output
    model = orthoglot.load(tmp_path / "model", "cpu")
    off = export(tmp_path / "model", tmp_path / "out")
    assert off <= 1e-6
    theirs = SentenceTransformer(str(tmp_path / "out"), device="cpu").encode(SENTENCES)
    np.testing.assert_allclose(theirs, unit(model.encode(SENTENCES)), atol=1e-5)


def test_what_has_no_token_or_no_covered_language_is_refused(tmp_path: Path) -> None:
    folder = linked(static(tmp_path / "checkpoint"), tmp_path / "e", languages=["en"])
    encoder = load_encoder(folder, "cpu")
    with pytest.raises(DataError, match="sentence 1 has no token"):
        encoder.encode(["cat", " "], "en", 1)
    with pytest.raises(ConfigError, match="does not cover language 'gn'"):
        encoder.encode(["cat"], "gn", 1)


def own_code(model: Path) -> None:
    said("modules.json", lambda listed: listed[1].update(type="own.Dense"))(model)
    (model / "own.py").write_text(f"import os\nos.mkdir({str(model / 'broken-into')!r})\n")


def more_tokens(model: Path) -> None:
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.add_tokens(["dog"])
    tokenizer.save(str(model / "tokenizer.json"))


DAMAGE: dict[str, tuple[Damage, str]] = {
    "own code": (own_code, "without its own code"),
    "pickled table": (pickled(""), r"no \.safetensors weights"),
    "pickled step": (pickled("1_Dense"), r"no \.safetensors weights"),
    "no tokenizer": (lambda model: (model / "tokenizer.json").unlink(), "tokenizer.json is absent"),
    "broken tokenizer": (lambda model: (model / "tokenizer.json").write_text("{"), "cannot be read"),
    "no table": (weights("", without_a_weight), "cannot be read"),
    "a row less": (more_tokens, "has 9 tokens, but rows of 8 only"),
    "not finite": (
        weights("", lambda tensors: tensors["embedding.weight"].fill_(torch.nan)),
        r"embedding\.weight is not finite",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_model_is_refused_and_its_code_never_run(damage: str, tmp_path: Path) -> None:
    change, message = DAMAGE[damage]
    place = static(tmp_path / "checkpoint")
    change(place)
    with pytest.raises((ConfigError, DataError), match=message):
        linked(place, tmp_path / "e")
    assert not (place / "broken-into").exists()


@pytest.mark.parametrize("name", ["0_StaticEmbedding/model.safetensors", "0_StaticEmbedding/tokenizer.json"])
def test_identity_follows_table_and_tokenizer(name: str, tmp_path: Path) -> None:
    place = similarity(tmp_path / "checkpoint")
    folder = linked(place, tmp_path / "e")
    before = identity(folder)
    with (place / name).open("ab") as file:
        file.write(b" ")
    assert identity(folder) != before


def test_a_copy_of_the_hubs_files_is_whole_and_its_tokenizer_says_what_it_does_not_know(
    tmp_path: Path,
) -> None:
    place = similarity(tmp_path / "checkpoint")
    entry = SentenceTransformersSettings(
        kind="sentence-transformers", checkpoint=str(place), revision="", licence="x"
    )
    from_folder(entry, "tiny", place, tmp_path / "copy")
    assert locate(str(tmp_path / "copy"), "") == tmp_path / "copy"
    opened = kinds.kind("sentence-transformers").tokenizer
    assert opened is not None
    tokenizer = opened(tmp_path / "copy", "tiny")
    assert tokenizer.encode(["the dog"], "", 8).ids.tolist() == [1, tokenizer.unknown]
    (place / "0_StaticEmbedding/model.safetensors").unlink()
    with pytest.raises(DataError, match=r"holds no config\.json or no weights"):
        from_folder(entry, "tiny", place, tmp_path / "other")


def test_the_files_of_the_hub_are_enough(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from orthoglot.encoders import folder, sentence_transformer as st\n"
        "from orthoglot.encoders.kinds.sentence_transformers import SentenceTransformersSettings as Settings\n"
        "given = Settings.model_validate_json(sys.argv[1]); output = Path(sys.argv[2])\n"
        "st.link_sentence_transformers(given, 'small', output)\n"
        "print(folder.load_encoder(output, 'cpu').encode(['the cat'], '', 8).tolist())\n"
    )
    place, output = similarity(tmp_path / "checkpoint"), tmp_path / "e"
    output.mkdir()
    given = {
        "kind": "sentence-transformers",
        "checkpoint": "owner/small",
        "revision": "a" * 40,
        "licence": "x",
    }
    with HubServer(Repository(place, "owner/small", "a" * 40)) as hub:
        where = {"HF_ENDPOINT": hub.endpoint, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "home")}
        command = [sys.executable, "-c", code, json.dumps(given), str(output)]
        done = subprocess.run(
            command, env={**os.environ, **where}, check=True, capture_output=True, text=True
        )
    whole = load_encoder(linked(place, tmp_path / "whole"), "cpu").encode(["the cat"], "", 8)
    np.testing.assert_allclose(json.loads(done.stdout), whole, atol=1e-7)


def test_a_static_encoder_is_no_network_to_be_fine_tuned(tmp_path: Path) -> None:
    place = static(tmp_path / "checkpoint")
    folder = linked(place, tmp_path / "e")
    with pytest.raises(ConfigError, match="does not begin with a Transformer"):
        SentenceTransformersEncoder.load(folder)
    link(
        SentenceTransformersSettings(
            kind="sentence-transformers", checkpoint=str(place), revision="", licence="x"
        ),
        "tiny",
        tmp_path,
    )
