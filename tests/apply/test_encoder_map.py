"""Ready maps of encoders: made of free text, found in a folder, a release and the hub, refused, loaded, fitted from."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import checkpoints
import numpy as np
import pytest
import torch
import yaml
from checkpoints import WORDS
from click.testing import Result
from hub_server import HubServer, Repository
from laser_files import write_laser1
from packed_use import write_packed
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers
from typer.testing import CliRunner

import orthoglot
from orthoglot import catalogue
from orthoglot.apply import ready, ready_model
from orthoglot.apply.encoder_map import find, vectors_of
from orthoglot.apply.export import export
from orthoglot.cli import app
from orthoglot.decomposers.architectures.plda import ARCHITECTURE as PLDA
from orthoglot.decomposers.architectures.plda import Prior, Scatter, apply, maps
from orthoglot.decomposers.base import Languages, load_decomposer, unit
from orthoglot.decomposers.closed_forms import gather
from orthoglot.encoders import laser_release, usem3
from orthoglot.encoders.folder import card, load_encoder
from orthoglot.encoders.kinds import kind
from orthoglot.encoders.laser import LaserSizes
from orthoglot.encoders.settings import FrozenSettings
from orthoglot.errors import ConfigError, DataError, OfflineError

COMMIT = "1" * 40
NO_LANGUAGE = Languages([], None, [])


def sentences(seed: int, n: int = 200) -> list[str]:
    """Sentences of three to eight words of the tiny encoders."""
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, draw.integers(3, 9))) for _ in range(n)]


def static(folder: Path) -> Path:
    """A table of rows for words, as the library saves it."""
    tokens = {word: n for n, word in enumerate(["<unk>", *WORDS])}
    splitter = Tokenizer(models.WordLevel(tokens, unk_token="<unk>"))
    splitter.pre_tokenizer = pre_tokenizers.Whitespace()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        step = StaticEmbedding(splitter, embedding_dim=6)
    SentenceTransformer(modules=[step], device="cpu").save(str(folder), create_model_card=False)
    return folder


def laser(folder: Path) -> Path:
    files = write_laser1(folder.with_name("files"), LaserSizes(vocabulary=60, width=6, hidden=5, layers=2))
    laser_release.convert(*files, folder)
    return folder


def use(folder: Path) -> Path:
    folder.mkdir()
    (packed := folder.with_name("packed")).mkdir()
    write_packed(packed)
    usem3.convert(packed / "weights.npz", packed / "sp.model", folder)
    return folder


LIBRARY = {"kind": "sentence-transformers", "revision": "local", "prefix": "a cat "}
# Of each kind of encoder: its builder, and the entry of the catalogue.
LAYOUTS: dict[str, tuple[Callable[[Path], Path], dict[str, Any]]] = {
    "labse": (
        checkpoints.bert,
        {"kind": "pretrained", "revision": "local", "pooling": "pooler", "prefix": "a "},
    ),
    "bge": (checkpoints.xlmr, {"kind": "pretrained", "revision": "local", "pooling": "cls"}),
    "sonar": (
        checkpoints.sonar,
        {"kind": "pretrained", "revision": "local", "pooling": "mean", "languages": ["de", "en"]},
    ),
    "qwen": (checkpoints.qwen3, LIBRARY),
    "gemma": (checkpoints.embeddinggemma, LIBRARY),
    "granite": (checkpoints.granite, LIBRARY),
    "mmbert": (checkpoints.mmbert, LIBRARY),
    "minilm": (checkpoints.minilm, LIBRARY),
    "static": (static, LIBRARY),
    "laser": (laser, {"kind": "laser"}),
    "use": (use, {"kind": "use"}),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def entry(name: str, **changes: Any) -> FrozenSettings:
    """An encoder of a params.yaml here, whose weights are in weights/NAME."""
    build, stated = LAYOUTS[name]
    place = Path("weights") / name
    if not place.exists():
        Path("built").mkdir(exist_ok=True)
        built = build(Path("built") / name)
        place.parent.mkdir(exist_ok=True)
        shutil.move(built, place)
    written = {"checkpoint": str(place), "max_tokens": 12, "licence": "none", **stated, **changes}
    Path("params.yaml").write_text(yaml.safe_dump({"encoders": {name: written}}))
    settings = catalogue.encoders(Path("params.yaml"))[name]
    assert isinstance(settings, FrozenSettings)
    return settings


def made(name: str, settings: FrozenSettings, file: Path, **changes: str) -> Scatter:
    """Do what `make ready-model ENCODER=NAME` does after its run, on a little text."""
    home = Path("models/ready/encoders") / name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    make = kind(settings.kind).make
    assert make is not None
    make(settings, name, home)
    encoder = load_encoder(home)
    texts = sentences(1)
    sides = [texts, [f"{text} {word}" for text, word in zip(texts, sentences(2), strict=True)]]
    source, target = (
        unit(encoder.encode(side, code, 2048)) for side, code in zip(sides, ("en", "de"), strict=True)
    )
    moments, pairs, _ = gather(PLDA, [(source, target, ("en", "de"))], ["de", "en"], encoder.dim)
    scatter = Scatter.of(moments, pairs)
    about = {
        "encoder": name,
        "vectors": vectors_of(settings, home) | changes,
        "text": {},
        "made": "2026-11-29",
    }
    ready.save(Prior(scatter, {"shrinkage": 0.5}), about, file)
    return ready.load(file).prior.scatter


def get(*words: str) -> Result:
    return CliRunner().invoke(app, ["get", *words])


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_map_of_every_kind_of_encoder_is_made_found_and_loaded_by_name(name: str) -> None:
    settings = entry(name)
    scatter = made(name, settings, Path("maps") / f"{name}.safetensors")
    done = get(name, "--map", "maps")
    assert done.exit_code == 0, done.output
    model = orthoglot.load(name, device="cpu")
    text = sentences(3, 20)
    own = load_encoder(Path("models/ready/encoders") / name).encode(text, "en", 2048)
    sentence, meaning, language = model.parts(text, language="en")
    np.testing.assert_array_equal(sentence, own)
    expected = apply(maps(scatter, shrinkage=0.5), unit(own), NO_LANGUAGE)
    for part, of in zip((meaning, language), expected, strict=True):
        np.testing.assert_allclose(part, of, atol=1e-4 * np.abs(of).max())
    # The folder can be moved, and a second map replaces the first.
    shutil.copytree(Path("weights") / name, "moved")
    assert orthoglot.load("moved", device="cpu").identity == model.identity
    prior, about, digest = ready.load(Path("maps") / f"{name}.safetensors")
    ready.save(prior._replace(settings={"shrinkage": 0.9}), about, Path("other.safetensors"))
    assert get(name, "--map", "other.safetensors").exit_code == 0
    second = orthoglot.load(name, device="cpu").decomposer
    assert second is not None
    assert second.details["shrinkage"] == 0.9
    assert second.details["ready"] != digest


def test_export_takes_the_model_of_a_map() -> None:
    made("minilm", entry("minilm"), Path("minilm.safetensors"))
    assert get("minilm", "--map", "minilm.safetensors").exit_code == 0
    assert export(Path("weights/minilm"), Path("exported")) < 1e-4
    meaning = orthoglot.load("minilm", device="cpu").encode(text := sentences(4, 5), part="meaning")
    exported = SentenceTransformer("exported", device="cpu").encode(text)
    np.testing.assert_allclose(unit(exported), unit(meaning), atol=1e-4)


def test_the_ready_models_file_is_read_as_ever() -> None:
    """Its arrays by their bytes, and the maps beside those of the numbers read without this module, to the bit."""
    arrays = load_file(ready.FILE)
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + arrays[name].tobytes())
    assert digest.hexdigest() == "599964f51385c457be77d4f59f1099e080b51d76b344538eef1f2830dd79b1e1"
    stated = ready.facts()
    matrices = {}
    for name in ("total", "within", "between", "spread"):
        sizes = arrays[f"{name}.sizes"].astype(np.float64)
        matrices[name] = np.eye(384)
        rows, columns = np.triu_indices(384, 1)
        matrices[name][rows, columns] = matrices[name][columns, rows] = arrays[f"{name}.correlations"]
        matrices[name] *= np.outer(sizes, sizes)
    mean = arrays["mean"].astype(np.float64)
    squares = matrices.pop("total") + np.outer(mean, mean)
    scatter = Scatter(mean, squares, **matrices, **stated["scatter"], languages=stated["languages"])
    expected = maps(scatter, **stated["settings"])
    weights = ready_model.decomposer_of(ready.load(), "small").weights
    assert weights.keys() == expected.keys()
    for name, weight in weights.items():
        np.testing.assert_array_equal(weight, expected[name].astype(np.float32))


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"revision": "another"}, "made of labse with revision 'local'; labse in weights/labse has 'another'"),
    ({"pooling": "mean"}, "made of labse with pooling 'pooler'; labse in weights/labse has 'mean'"),
    ({"prefix": "query: "}, "made of labse with prefix 'a '; labse in weights/labse has 'query: '"),
]


@pytest.mark.parametrize(("changes", "cause"), CHANGES)
def test_a_map_of_other_vectors_is_refused(changes: dict[str, Any], cause: str) -> None:
    made("labse", entry("labse"), Path("labse.safetensors"))
    entry("labse", **changes)
    done = get("labse", "--map", "labse.safetensors")
    assert done.exit_code == 1
    assert cause in str(done.exception or done.output)
    assert not Path("weights/labse/ready").exists()
    assert not Path("weights/labse/encoder.json").exists()


def test_a_map_of_other_weights_of_another_entry_or_commit_is_refused() -> None:
    settings = entry("labse")
    made("labse", settings, Path("labse.safetensors"))
    weights = Path("weights/labse/model.safetensors")
    tensors = load_file(weights)
    first = next(iter(tensors))
    save_file({**tensors, first: tensors[first] + 1}, weights, {"format": "pt"})
    assert "made of labse with files" in failure("labse", "labse.safetensors")
    entry("bge")
    cause = "made of labse with pooling 'pooler'; bge in weights/bge has 'cls'"
    assert cause in failure("bge", "labse.safetensors")
    hub = settings.model_copy(update={"revision": COMMIT, "checkpoint": "owner/labse"})
    assert vectors_of(hub, Path("weights/labse"))["checkpoint"] == "owner/labse"
    # The place of a folder says nothing: a colleague has it elsewhere.
    shutil.copytree("weights/labse", "elsewhere")
    assert vectors_of(settings, Path("elsewhere")) == vectors_of(settings, Path("weights/labse"))
    assert "checkpoint" not in vectors_of(settings, Path("elsewhere"))


def test_files_that_change_a_vector_decide_to_whom_a_map_belongs() -> None:
    settings = entry("minilm")
    place = Path("weights/minilm")
    first = vectors_of(settings, place)
    pinned = settings.model_copy(update={"revision": COMMIT})
    of_commit = vectors_of(pinned, place)
    pooling = next(place.glob("*_Pooling/config.json"))
    pooling.write_text(pooling.read_text().replace("mean", "max"))
    assert vectors_of(settings, place) != first
    assert vectors_of(pinned, place) == of_commit  # the commit has them
    # Files that this kind does not read decide nothing.
    settings = entry("labse")
    first = vectors_of(settings, place := Path("weights/labse"))
    (place / "2_Dense").mkdir()
    shutil.copy(place / "model.safetensors", place / "2_Dense")
    assert vectors_of(settings, place) == first
    (place / "tokenizer.json").write_text((place / "tokenizer.json").read_text() + " ")
    assert vectors_of(settings, place) != first
    (place / "model.safetensors").rename(place / "pytorch_model.bin")
    with pytest.raises(DataError, match=r"weights/labse: holds no \.safetensors weights"):
        vectors_of(settings, place)


def test_weights_that_are_here_are_not_replaced_by_way_of_a_map() -> None:
    for name, words in (("static", ["--from", "elsewhere"]), ("laser", ["a.pt", "b", "c"])):
        made(name, entry(name), Path(f"{name}.safetensors"))
        done = get(name, *words, "--map", f"{name}.safetensors")
        assert isinstance(done.exception, ConfigError)
        assert "exists; for its map give --map without" in str(done.exception)


def stated(file: Path, content: Any) -> None:
    """Write a map with another header."""
    save_file(load_file(file), file, {"ready": json.dumps(content)})


@pytest.mark.parametrize(
    "change",
    [
        3,
        None,
        {"vectors": []},
        {"vectors": None},
        {"scatter": {"doubt": "x", "pairs": 200}},
        {"scatter": {"doubt": 0.5, "pairs": -5}},
        {"text": None},
        {"epochs": 3},
    ],
)
def test_a_header_of_something_else_is_refused(change: Any) -> None:
    made("static", entry("static"), file := Path("static.safetensors"))
    header = ready.facts(file)
    del header["sha256"]
    stated(file, header)
    assert ready.load(file).about["encoder"] == "static"
    stated(file, header | change if isinstance(change, dict) else change)
    assert "cannot be read" in failure("static", str(file))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("mean", np.zeros(10**6, dtype=np.float32)),
        ("mean", np.zeros((6, 6), dtype=np.float32)),
        ("within.correlations", np.zeros(14, dtype=np.float16)),
        ("within.correlations", np.full(15, np.nan, dtype=np.float16)),
        ("spread.sizes", np.full(6, np.inf, dtype=np.float32)),
    ],
)
def test_arrays_of_another_shape_or_without_a_number_are_refused(name: str, array: np.ndarray) -> None:
    made("static", entry("static"), file := Path("static.safetensors"))
    header = ready.facts(file)
    del header["sha256"]
    save_file({**load_file(file), name: array}, file, {"ready": json.dumps(header)})
    assert "finite numbers" in failure("static", str(file))
    assert not Path("weights/static/encoder.json").exists()


def test_a_map_of_another_dimension_is_refused() -> None:
    settings = entry("static")
    made("static", settings, Path("static.safetensors"))
    prior, about, _ = ready.load(Path("static.safetensors"))
    small = prior.scatter
    matrices = {name: getattr(small, name)[:4, :4] for name in ("squares", "within", "between", "spread")}
    cut = Scatter(small.mean[:4], **matrices, doubt=small.doubt, pairs=small.pairs, languages=small.languages)
    ready.save(Prior(cut, prior.settings), about, Path("static.safetensors"))
    assert "of vectors with 4 numbers, and those of static have 6" in failure("static", "static.safetensors")


def failure(name: str, place: str) -> str:
    """What the command line says of a map that it refuses; nothing is beside the weights then."""
    done = get(name, "--map", place)
    assert done.exit_code == 1
    assert not (Path("weights") / name / "ready").exists()
    return str(done.exception or done.output)


def cut_short(content: bytes) -> bytes:
    return content[:-5]


def changed_number(content: bytes) -> bytes:
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


def changed_header(content: bytes) -> bytes:
    return content.replace(b"within.sizes", b"wothin.sizes")


def changed_date(content: bytes) -> bytes:
    return content.replace(b"2026-11-29", b"2026-11-28")


def no_map(_: bytes) -> bytes:
    return b"<html>not found</html>"


@pytest.mark.parametrize("damage", [cut_short, changed_number, changed_header, changed_date, no_map])
def test_a_damaged_map_is_refused(damage: Callable[[bytes], bytes]) -> None:
    made("static", entry("static"), file := Path("static.safetensors"))
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(DataError, match=r"map static\.safetensors: cannot be read"):
        ready.load(file)
    assert "cannot be read" in failure("static", str(file))


def test_a_map_with_settings_of_something_else_is_refused() -> None:
    made("static", entry("static"), file := Path("static.safetensors"))
    prior, about, _ = ready.load(file)
    ready.save(Prior(prior.scatter, {"shrinkage": 2}), about, file)
    assert "shrinkage" in failure("static", str(file))


def test_without_a_map_the_encoder_is_got_and_a_line_says_how_to_make_one() -> None:
    entry("minilm")
    shutil.move("weights/minilm", "source")
    done = get("minilm", "--from", "source")
    assert done.exit_code == 0, done.output
    assert "no ready map; make ready-model ENCODER=minilm makes one" in done.stderr
    shutil.rmtree("weights/minilm")
    done = get("minilm", "--from", "source", "--map", "nowhere")
    assert done.exit_code == 1
    assert "no map at nowhere" in str(done.exception or done.output)
    assert load_encoder_of("weights/minilm") == 8  # the encoder alone is there
    settings = entry("minilm", map="nowhere/minilm.safetensors")
    shutil.rmtree("weights/minilm")
    done = get("minilm", "--from", "source")
    assert done.exit_code == 0, done.output
    assert "no ready map at nowhere/minilm.safetensors" in done.stderr
    # The place that the entry names is taken without --map.
    made("minilm", settings, Path("nowhere/minilm.safetensors"))
    shutil.rmtree("weights/minilm")
    assert get("minilm", "--from", "source").exit_code == 0
    assert orthoglot.load("minilm", device="cpu").decomposer is not None


def load_encoder_of(folder: str) -> int:
    model = orthoglot.load(folder, device="cpu")
    assert model.decomposer is None
    return model.encoder.dim


@pytest.fixture
def release(here: Path) -> Iterator[str]:
    """The address of a server with the files of the folder maps."""
    (here / "maps").mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=str(here / "maps"))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_release_has_a_map_by_its_address_or_that_of_its_folder(
    release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    made("static", entry("static"), file := Path("maps/static.safetensors"))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    for place in (release, f"{release}/", f"{release}/static.safetensors#sha256={digest}"):
        copy = find(place, "static", Path())
        assert copy is not None
        assert copy.read_bytes() == file.read_bytes()
    assert find(release, "labse", Path()) is None
    assert find(f"{release}#sha256={digest.upper()}", "static", Path()) is not None
    with pytest.raises(DataError, match=f"has sha256={digest}, not sha256=0"):
        find(f"{release}#sha256={'0' * 64}", "static", Path())
    for pin in ("sha256=00", "sha256=", "", f"SHA256={digest}", f"sha256:{digest}", "md5=00"):
        with pytest.raises(ConfigError, match="after # write sha256= and 64 hex digits"):
            find(f"{release}#{pin}", "static", Path())
    assert get("static", "--map", release).exit_code == 0
    assert orthoglot.load("static", device="cpu").usual_part == "meaning"
    monkeypatch.setattr("orthoglot.apply.encoder_map.MOST", 100)
    with pytest.raises(DataError, match="larger than 100 bytes"):
        find(release, "static", Path())
    with pytest.raises(OfflineError, match="cannot be fetched"):
        find("http://127.0.0.1:9/", "static", Path())
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(OfflineError, match="HF_HUB_OFFLINE is set"):
        find(release, "static", Path())


def test_the_hub_has_a_map_at_a_commit(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = here / "files/labse.safetensors"
    file.parent.mkdir()
    file.write_bytes(b"map")
    code = (
        "from pathlib import Path; from orthoglot.apply.encoder_map import find\n"
        f"print(find('owner/maps@{COMMIT}', 'labse', Path()).read_bytes(), find('owner/maps@{COMMIT}', 'bge', Path()))"
    )
    cache = str(here / "home")
    with HubServer(Repository(file.parent, "owner/maps", COMMIT)) as hub:
        environment = {**os.environ, "HF_ENDPOINT": hub.endpoint, "HF_HUB_OFFLINE": "0", "HF_HOME": cache}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "b'map' None\n", done.stderr
    # Offline, from the hub's cache.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", f"{cache}/hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    copy = find(f"owner/maps@{COMMIT}", "labse", here)
    assert copy is not None
    assert copy.read_bytes() == b"map"
    with pytest.raises(OfflineError, match=r"static\.safetensors at 1+ is not on this machine"):
        find(f"owner/maps@{COMMIT}", "static", here)
    with pytest.raises(ConfigError, match="give OWNER/NAME@COMMIT"):
        find("owner/maps@main", "labse", here)
    assert find("owner/maps", "labse", here) is None
    with pytest.raises(ConfigError, match="nor OWNER/NAME of the hub"):
        find(f"a/b/c@{COMMIT}", "labse", here)


def test_a_fit_starts_from_the_map_of_its_encoder(here: Path) -> None:
    made("labse", entry("labse"), Path("labse.safetensors"))
    text = [f"{a}\t{b}\n" for a, b in zip(sentences(5, 300), sentences(6, 300), strict=True)]
    Path("pairs.tsv").write_text("".join(text))

    def fit(encoder: str, output: str) -> dict[str, Any]:
        words = ["--bitext", "pairs.tsv", "--pair", "en-gn", "--output", output, "--threads", "1"]
        done = CliRunner().invoke(app, ["fit", "--encoder", encoder, *words])
        assert done.exit_code == 0, done.output
        content: dict[str, Any] = json.loads((here / output / "fit.json").read_text())
        return content

    assert get("labse", "--map", "labse.safetensors").exit_code == 0
    for encoder, output in (("weights/labse", "first"), ("labse", "second")):
        record = fit(encoder, output)
        digest = hashlib.sha256(Path("labse.safetensors").read_bytes()).hexdigest()
        assert record["start"]["sha256"] == digest
        assert load_decomposer(here / output).details["prior_pairs"] == 200
        # The copy has the encoder's settings, and no map.
        assert card(here / output / "encoder")["prefix"] == "a "
        assert not (here / output / "encoder/ready").exists()
    # A map of other weights is no start.
    weights = Path("weights/labse/model.safetensors")
    tensors, content = load_file(weights), weights.read_bytes()
    save_file({name: tensor + 1 for name, tensor in tensors.items()}, weights, {"format": "pt"})
    words = ["--bitext", "pairs.tsv", "--pair", "en-gn", "--output", "third", "--threads", "1"]
    done = CliRunner().invoke(app, ["fit", "--encoder", "labse", *words])
    assert done.exit_code == 1
    assert "trained on encoder" in str(done.exception)
    weights.write_bytes(content)
    shutil.rmtree("weights/labse/ready")
    assert "start" not in fit("weights/labse", "alone")
