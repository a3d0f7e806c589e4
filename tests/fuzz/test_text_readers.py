"""Whatever stands in a file of text, a reader gives text or one line with the cause."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
import zstandard
from faults import inject
from mutations import COUNT, mutations

from orthoglot import catalogue
from orthoglot.errors import DataError
from orthoglot.formats.base import Source
from orthoglot.formats.kinds.po import entries
from orthoglot.formats.sources import read_source
from orthoglot.formats.tmx_output import units_kept
from orthoglot.registry import load
from orthoglot.study import config
from orthoglot.study.benchmarks import kinds
from orthoglot.study.benchmarks.collect import collect
from orthoglot.study.benchmarks.collected import read_all
from orthoglot.study.corpora.kinds.opus import read_moses_zip
from orthoglot.study.fetching import lock as opus_lock
from orthoglot.study.fetching.opus import ENTRIES
from orthoglot.text.bitext import decoded, read_json, read_lines, read_pairs

PAIRS = [(f"sentence {n} of a <b>text</b>, %s", f"Satz {n} eines <b>Textes</b>, %s") for n in range(12)]
TSV = "".join(f"{source}\t{target}\n" for source, target in PAIRS).encode()
LINES = [f"sentence {n} of a text" for n in range(40)]
TMX = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header srclang="en"/><body>'
    + "".join(
        f'<tu><tuv xml:lang="en"><seg>word {n} &amp; more</seg></tuv>'
        f'<tuv xml:lang="de"><seg>Wort <ph>{n}</ph></seg></tuv></tu>\n'
        for n in range(5)
    )
    + "</body></tmx>\n"
).encode()
XLIFF = (
    '<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
    '<file source-language="en" target-language="de"><body>'
    + "".join(
        f'<trans-unit id="{n}"><source>word {n}</source><target state="final">Wort {n}</target></trans-unit>\n'
        for n in range(5)
    )
    + "</body></file></xliff>\n"
).encode()
PO = (
    'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    '"Plural-Forms: nplurals=2; plural=n != 1;\\n"\n\n'
    'msgctxt "menu"\nmsgid "Open %s"\nmsgstr "%s öffnen"\n\n'
    '#, fuzzy\nmsgid "a file"\nmsgid_plural "%d files"\nmsgstr[0] "eine Datei"\nmsgstr[1] "%d Dateien"\n'
).encode()
LOCK = {
    f"X/v1/en-{code}": {"path": "/x", "sha256": "a" * 64, "size": 7, "version": "v1"} for code in ("de", "fr")
}
ANSWER = {
    "corpora": [
        {"corpus": "X", "version": "v1", "source": "de", "target": "en", "alignment_pairs": 7, "size": 3}
        | {"latest": "True", "url": "https://a.org/x.zip"}
    ]
}


def source(kind: str, suffix: str) -> Callable[[Path], object]:
    """Reads a file as a source of sentence pairs."""

    def read(path: Path) -> object:
        settings = Source.model_validate({"name": "x", "kind": kind, "paths": [str(path)]})
        return list(read_source(settings, "en", "de"))

    read.suffix = suffix  # type: ignore[attr-defined]
    return read


def copied(path: Path) -> bytes:
    """A memory of which all units are kept is the file itself, wherever the damage is."""
    copy = b"".join(units_kept(path, {number: {} for number in range(99)}))
    assert copy == path.read_bytes()
    return copy


READERS: dict[str, tuple[bytes, str, Callable[[Path], object]]] = {
    "tsv": (TSV, "x.tsv", lambda path: list(read_pairs([path]))),
    "jsonl": (b'{"a": [1, 2.5], "b": "c"}\n' * 5, "x.jsonl", lambda path: list(read_json(path))),
    "tmx": (TMX, "x.tmx", source("tmx", ".tmx")),
    "copy of tmx": (TMX, "x.tmx", copied),
    "xliff": (XLIFF, "x.xliff", source("xliff", ".xliff")),
    "po": (PO, "x.po", lambda path: list(entries(path))),
    "fetched.lock": (json.dumps(LOCK, indent=1).encode(), "fetched.lock", opus_lock.read),
}


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_text_or_one_line(name: str, tmp_path: Path) -> None:
    content, file, read = READERS[name]
    path = tmp_path / file
    path.write_bytes(content)
    assert read(path)

    def attempt(damaged: bytes) -> object:
        path.write_bytes(damaged)
        return read(path)

    inject(f"read {name}", mutations(content), attempt)


def test_another_way_of_packing_in_an_archive_is_one_line(tmp_path: Path) -> None:
    """The library for bzip2 says that data are damaged by an error that names no fault of the system."""
    content = bytearray(PACKED["zip"][0])
    entry = content.rindex(b"PK\x01\x02")
    for place in (content.index(b"PK\x03\x04", 1) + 8, entry + 10):
        content[place : place + 2] = (zipfile.ZIP_BZIP2).to_bytes(2, "little")
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    with pytest.raises(DataError, match="truncated or corrupt"):
        PACKED["zip"][1](path)


def zip_of(members: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, text in members.items():
            archive.writestr(zipfile.ZipInfo(member), text, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


PACKED: dict[str, tuple[bytes, Callable[[Path], object]]] = {
    "gz": (gzip.compress("\n".join(LINES).encode(), mtime=0), lambda path: list(read_lines(path))),
    "zst": (
        zstandard.ZstdCompressor(write_checksum=True).compress("\n".join(LINES).encode()),
        lambda path: list(read_lines(path)),
    ),
    "zip": (
        zip_of({"X.de-en.de": "\n".join(LINES).upper(), "X.de-en.en": "\n".join(LINES)}),
        lambda path: [pair.source for pair in read_moses_zip(path, "en", "de")],
    ),
}


@pytest.mark.parametrize("name", PACKED)
def test_a_damaged_packed_file_never_becomes_another_text(name: str, tmp_path: Path) -> None:
    content, read = PACKED[name]
    path = tmp_path / f"x.{name}"
    path.write_bytes(content)
    assert read(path) == LINES

    def attempt(damaged: bytes) -> object:
        path.write_bytes(damaged)
        return read(path)

    def wrong(value: Any) -> bool:
        # What no longer begins like a packed file is text of its own; a part that is there twice is there twice.
        packed = path.read_bytes()[:2] == content[:2]
        return packed and value != LINES and len(value) <= len(LINES)

    inject(f"read {name}", mutations(content), attempt, wrong)


def test_a_damaged_answer_of_opus_is_rows_or_one_line() -> None:
    from orthoglot.study.fetching import download, opus

    answer = SimpleNamespace(url="http://x")

    def attempt(damaged: bytes) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(download, "_response", lambda *_, **__: nullcontext(answer))
            patch.setattr(download, "_chunks", lambda _: [damaged])
            return opus._rows("http://x", {}, ENTRIES)

    content = json.dumps(ANSWER).encode()
    assert attempt(content)
    inject("answer of OPUS", mutations(content), attempt)


def test_damaged_settings_are_settings_or_one_line(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    preset = {"mini": catalogue.mapping(catalogue.shipped())["presets"]["mini"]}
    values = {**catalogue.mapping(catalogue.shipped()), "preset": "mini", "presets": preset}
    content = yaml.safe_dump(values, sort_keys=False).encode()
    path.write_bytes(content)
    assert config.load(path)

    def attempt(damaged: bytes) -> object:
        path.write_bytes(damaged)
        return config.load(path)

    # A reading takes 0.1 s: a tenth of the damaged copies.
    inject("read params.yaml", mutations(content, max(COUNT // 10, 50)), attempt)


BENCHMARK_FILES: dict[str, tuple[dict[str, Any], dict[str, bytes]]] = {
    "local": ({"files": "{foreign}-{pivot}.tsv", "languages": ["de"], "pivot": "en"}, {"de-en.tsv": TSV}),
    "sts": (
        {
            "files": "sts.tsv",
            "pairs": ["en-de"],
            "columns": {"source": "a", "target": "b", "gold": "score", "item": "a"},
        },
        {"sts.tsv": b"a\tb\tscore\none\teins\t1.5\ntwo\tzwei\t4\nthree\tdrei\t0\n"},
    ),
    "nway": (
        {"files": "nway.tsv", "languages": ["en", "de"]},
        {"nway.tsv": b"en\tde\none\teins\ntwo\tzwei\n"},
    ),
    "classification": (
        {"files": "{language}.{split}.csv", "languages": ["en", "de"], "splits": {"valid": "test"}},
        {
            "en.train.csv": b'text,label\n"a dog, a cat",a\n"a ""b""",b\n',
            "en.test.csv": b"text,label\none,a\ntwo,b\n",
            "de.test.csv": b"text,label\neins,a\nzwei,b\n",
        },
    ),
}
XQUAD_R = {
    "data": [
        {
            "paragraphs": [
                {
                    "context": "One day. Two.",
                    "sentences": ["One day.", "Two."],
                    "sentence_breaks": [[0, 8], [9, 13]],
                    "qas": [
                        {"id": "q", "question": "How many?", "answers": [{"answer_start": 9, "text": "Two"}]}
                    ],
                }
            ]
        }
    ]
}


@pytest.mark.parametrize("kind", BENCHMARK_FILES)
def test_damaged_test_sets_are_sets_or_one_line(kind: str, tmp_path: Path) -> None:
    described, files = BENCHMARK_FILES[kind]
    described = {**described, "files": f"{tmp_path}/{described['files']}", "kind": kind, "licence": "own"}
    settings = load(kinds, kind).SETTINGS.model_validate(described)
    (name, content), output = next(iter(files.items())), tmp_path / "out"
    output.mkdir()
    for other, text in files.items():
        (tmp_path / other).write_bytes(text)

    def attempt(damaged: bytes) -> object:
        (tmp_path / name).write_bytes(damaged)
        collect(settings, None, output)
        return read_all(output)

    assert attempt(content)
    inject(f"test set {kind}", mutations(content), attempt)


def test_a_damaged_file_of_questions_is_a_pool_or_one_line(tmp_path: Path) -> None:
    content = json.dumps(XQUAD_R).encode()
    for code in ("en", "de"):
        (tmp_path / f"{code}.json").write_bytes(content)
    about = {"kind": "pool", "form": "xquad-r", "questions": f"{tmp_path}/{{language}}.json"}
    settings = load(kinds, "pool").SETTINGS.model_validate(
        {**about, "languages": ["en", "de"], "licence": "own"}
    )
    output = tmp_path / "out"
    output.mkdir()

    def attempt(damaged: bytes) -> object:
        (tmp_path / "de.json").write_bytes(damaged)
        collect(settings, None, output)
        return read_all(output)

    assert attempt(content)
    with pytest.raises(DataError, match="has half a character"):
        attempt(content.replace(b"How", b"\\ud800"))
    inject("test set pool", mutations(content), attempt)


def test_one_long_line_takes_time_in_proportion_to_its_length() -> None:
    def read(line: bytes) -> list[str]:
        return list(decoded((line[start : start + 512] for start in range(0, len(line), 512)), "x"))

    # 32,000 chunks: copied anew with each, they would take minutes, and `inject` allows 20 seconds of the processor.
    inject(
        "one long line", [b"x" * (16 << 20)], read, lambda lines: [len(line) for line in lines] != [16 << 20]
    )


def test_a_reader_that_fails_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORTHOGLOT_FAULTS", raising=False)  # these are not the project's readers

    def read(_: bytes) -> None:
        raise KeyError("x")

    with pytest.raises(AssertionError, match="KeyError"):
        inject("broken", [b"x"], read)
    with pytest.raises(AssertionError, match="a wrong value"):
        inject("broken", [b"x"], lambda content: content, lambda value: True)
    with pytest.raises(AssertionError, match="200000 characters"):
        inject("broken", [b"x"], lambda _: (_ for _ in ()).throw(DataError("x" * 200_000)))
