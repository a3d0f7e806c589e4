"""Files with addresses: fetched once, compared with the lock ever after, and read by test sets."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from lying_server import LyingServer, head
from opus_server import OpusServer
from workspace import Workspace

from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.study.benchmarks.collect import collect
from orthoglot.study.benchmarks.kinds.local import SETTINGS, read
from orthoglot.study.corpora.patterns import name_of
from orthoglot.study.fetching import download as download_module
from orthoglot.study.fetching.files import MIRROR, fetch, remote_files

HOST = "raw.example.org"
FOLDER = "owner/LASER/0123abc/data/tatoeba/v1"
# As LASER has them: a file for each side, languages with three letters.
TEXTS = {
    "tatoeba.deu-eng.deu": "Guten Tag.\nZwei Hunde.\n",
    "tatoeba.deu-eng.eng": "Good day.\nTwo dogs.\n",
    "tatoeba.fra-eng.fra": "Bonjour.\nDeux chiens.\nTrois chats.\n",
    "tatoeba.fra-eng.eng": "Hello.\nTwo dogs.\nThree cats.\n",
}
ENTRY = {
    "kind": "local",
    "files": [
        f"https://{HOST}/{FOLDER}/tatoeba.{{foreign}}-{{pivot}}.{side}" for side in ("{foreign}", "{pivot}")
    ],
    "spelling": "iso639-3",
    "pivot": "en",
    "languages": ["de", "fr"],
    "licence": "CC-BY-2.0-FR",
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpusServer]:
    """A server with copies of the files, which stands in for their own."""
    monkeypatch.setattr(download_module, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "mirror" / HOST / FOLDER
    place.mkdir(parents=True)
    for name, text in TEXTS.items():
        (place / name).write_text(text, encoding="utf-8")
    with OpusServer(tmp_path / "mirror") as running:
        monkeypatch.setenv(MIRROR, running.address)
        yield running


@pytest.fixture
def get(server: OpusServer, tmp_path: Path) -> Callable[[str], Path]:
    """Fetch the files of the test set into a new folder, with the lock and the cache."""
    addresses = SETTINGS.model_validate(ENTRY).addresses

    def get(name: str) -> Path:
        output = tmp_path / name
        output.mkdir()
        checkpoint = tmp_path / f"{name}.checkpoint"
        fetch(addresses, output, checkpoint, lock=tmp_path / "fetched.lock", cache=tmp_path / "cache")
        return output

    return get


def test_fetched_files_are_the_served_ones_and_the_lock_states_them(
    get: Callable[[str], Path], tmp_path: Path
) -> None:
    output = get("first")
    assert {path.name: path.read_text() for path in output.rglob("*.*") if path.is_file()} == TEXTS
    lock = json.loads((tmp_path / "fetched.lock").read_text())
    for name, text in TEXTS.items():
        entry = lock[f"{HOST}/{FOLDER}/{name}"]
        assert (entry["size"], entry["sha256"]) == (
            len(text.encode()),
            hashlib.sha256(text.encode()).hexdigest(),
        )


def test_a_file_is_asked_for_once_even_without_a_network(
    get: Callable[[str], Path], server: OpusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    get("first")
    asked = len(server.requests)
    assert asked == len(TEXTS)
    monkeypatch.setenv("ORTHOGLOT_OFFLINE", "1")
    assert len(list(get("second").rglob("tatoeba.*"))) == len(TEXTS)
    assert len(server.requests) == asked


def test_a_damaged_copy_in_the_cache_is_fetched_again(get: Callable[[str], Path], tmp_path: Path) -> None:
    get("first")
    for stored in (tmp_path / "cache").iterdir():
        stored.unlink()
        stored.write_text("damaged")
    output = get("second")
    assert (output / HOST / FOLDER / "tatoeba.fra-eng.fra").read_text() == TEXTS["tatoeba.fra-eng.fra"]


@pytest.mark.parametrize("text", ["Guten Tag.\nZwei Katzen\n", "Guten Tag.\nZwei Hunde.\n\n"])
def test_another_file_than_that_of_the_lock_is_refused(
    text: str, get: Callable[[str], Path], tmp_path: Path
) -> None:
    get("first")
    for stored in (tmp_path / "cache").iterdir():
        stored.unlink()
    served = tmp_path / "mirror" / HOST / FOLDER / "tatoeba.deu-eng.deu"
    served.write_text(text)
    with pytest.raises(DataError, match="remove this entry from"):
        get("second")
    assert not list((tmp_path / "second").iterdir())
    served.write_text(TEXTS[served.name])
    (tmp_path / "second").rmdir()
    get("second")


def test_a_first_download_that_may_not_be_whole_never_enters_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download_module, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.chdir(tmp_path)
    text = b"one\ntwo\n" * 999
    packed = {
        "a.txt": text,
        "a.txt.gz": gzip.compress(text),
        "a.txt.xz": lzma.compress(text),
        "a.tar.bz2": bz2.compress(text),
    }
    page = b"<!doctype html><title>Sign in</title>"

    def answer(content: bytes, *headers: str) -> str | None:
        """What the lock has after this answer; None if it was refused."""
        lock = tmp_path / "fetched.lock"
        lock.unlink(missing_ok=True)
        with (
            LyingServer(lambda: [head("200 OK", *headers), content]) as server,
            TemporaryDirectory() as folder,
        ):
            monkeypatch.setenv(MIRROR, server.address)
            try:
                fetch(
                    [f"https://{HOST}/{name}"],
                    Path(folder),
                    Path(folder, "c"),
                    lock=lock,
                    cache=tmp_path / "cache",
                )
            except (DataError, OfflineError):
                assert not lock.exists()
                return None
            return json.loads(lock.read_text())[f"{HOST}/{name}"]["sha256"]

    for name, content in packed.items():
        digest = hashlib.sha256(content).hexdigest()
        half = content[: len(content) // 2]
        assert answer(content, f"Content-Length: {len(content)}") == digest
        # Without a length, the format alone says where the file ends.
        assert answer(content) == (None if name == "a.txt" else digest)
        assert answer(half) is None
        # As long as the server says: nobody can know more of a text.
        if name != "a.txt":
            assert answer(half, f"Content-Length: {len(half)}") is None
            assert answer(text, f"Content-Length: {len(text)}") is None
        assert answer(page, f"Content-Length: {len(page)}") is None
        assert answer(content, f"Content-Length: {len(content)}", "Content-Type: text/html") == (
            None if name == "a.txt" else digest
        )


def test_a_file_of_the_lock_may_come_as_any_type_and_without_a_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, lock = b"<html> is a tag\n", tmp_path / "fetched.lock"
    entry = {"path": "/a.txt", "sha256": hashlib.sha256(text).hexdigest(), "size": len(text), "version": ""}
    lock.write_text(json.dumps({f"{HOST}/a.txt": entry}))
    options = {"lock": lock, "cache": tmp_path / "cache"}
    with LyingServer(lambda: [head("200 OK", "Content-Type: text/html"), text]) as server:
        monkeypatch.setenv(MIRROR, server.address)
        fetch([f"https://{HOST}/a.txt"], tmp_path, tmp_path / "c", **options)
    assert (tmp_path / HOST / "a.txt").read_bytes() == text
    shutil.rmtree(tmp_path / "cache")
    shutil.rmtree(tmp_path / "c")
    page = b"<html>Sign in"
    with LyingServer(
        lambda: [head("200 OK", "Content-Type: text/html", "Content-Length: 13"), page]
    ) as server:
        monkeypatch.setenv(MIRROR, server.address)
        with pytest.raises(DataError, match="a web page in place of the file"):
            fetch([f"https://{HOST}/a.txt"], tmp_path, tmp_path / "c", **options)


def test_what_the_server_lacks_is_one_line(get: Callable[[str], Path], server: OpusServer) -> None:
    (server.folder / HOST / FOLDER / "tatoeba.deu-eng.deu").unlink()
    with pytest.raises(DataError, match=r"tatoeba\.deu-eng\.deu: HTTP 404"):
        get("absent")


def test_without_a_network_some_files_that_are_not_here_are_named_and_all_counted(
    get: Callable[[str], Path], server: OpusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORTHOGLOT_OFFLINE", "1")
    with pytest.raises(
        OfflineError, match=r"no sound copy in .*cache, and ORTHOGLOT_OFFLINE is set"
    ) as error:
        get("offline")
    assert sum(f"https://{HOST}/{FOLDER}/{name}" in str(error.value) for name in TEXTS) == 3
    assert "and 1 more: no sound copy in" in str(error.value)
    assert not server.requests


@pytest.mark.parametrize(
    "address",
    [
        "https://",
        "https://a.org",
        "https://a.org/",
        "https:///a.txt",
        "https://../a.txt",
        "https://receipt/a.txt",
        "https://me:secret@a.org/a.txt",
        "https://a.org/a//b.txt",
        "https://a.org/../a.txt",
        "https://a.org/a/..",
        "https://a.org/a.txt?raw=1",
        "https://a.org/a.zip#",
        "https://a.org/a.zip#../b",
        "https://[::1/a.txt",
        "https://[/a.txt",
        "https://a.org/a\0.txt",
        "https://a.org/a\nb.txt",
        "https://a.org/a.txt ",
    ],
)
def test_what_is_no_address_of_a_file_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="not the address of a file"):
        name_of(address)
    if "#" not in address:
        with pytest.raises(ConfigError, match="not the address of a file"):
            remote_files([address])
    assert name_of("http://127.0.0.1:80/a/b.txt") == "127.0.0.1:80/a/b.txt"


def test_two_files_of_a_pair_make_its_rows(get: Callable[[str], Path], tmp_path: Path) -> None:
    settings = SETTINGS.model_validate(ENTRY)
    output = tmp_path / "tatoeba"
    output.mkdir()
    with pytest.raises(ConfigError, match=r"tatoeba\.deu-eng\.deu was not fetched"):
        collect(settings, None, output)
    collect(settings, None, output, get("first"))
    sets = {each.pair: (list(each.source_sentences), list(each.target_sentences)) for each in read(output)}
    assert sets == {
        "de-en": (["Guten Tag.", "Zwei Hunde."], ["Good day.", "Two dogs."]),
        "fr-en": (["Bonjour.", "Deux chiens.", "Trois chats."], ["Hello.", "Two dogs.", "Three cats."]),
    }


def test_a_file_of_an_archive_is_fetched_with_it_and_locked_as_the_archive(
    server: OpusServer, tmp_path: Path
) -> None:
    place = server.folder / HOST / "x.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("a/one.txt", "1\n")
        archive.writestr("a/two.txt", "2\n")
    addresses = [f"https://{HOST}/x.zip#a/{name}.txt" for name in ("one", "two")]
    folders = {name: tmp_path / name for name in ("output", "checkpoint")}
    folders["output"].mkdir()
    fetch(addresses, *folders.values(), lock=tmp_path / "fetched.lock", cache=tmp_path / "cache")
    assert len(server.requests) == 1
    assert [(folders["output"] / name_of(address)).read_text() for address in addresses] == ["1\n", "2\n"]
    assert list(json.loads((tmp_path / "fetched.lock").read_text())) == [f"{HOST}/x.zip"]
    with pytest.raises(DataError, match=r"x\.zip has no file a/three\.txt"):
        fetch(
            [addresses[0].replace("one", "three")],
            *folders.values(),
            lock=tmp_path / "fetched.lock",
            cache=tmp_path / "cache",
        )


def test_the_command_fetches_a_preset_and_compares_it_later(server: OpusServer, tmp_path: Path) -> None:
    corpus = {
        "kind": "local",
        "pairs": ["qaa-qab"],
        "files": [f"https://{HOST}/c.{{target}}.tsv"],
        "licence": "own",
    }
    (server.folder / HOST / "c.qab.tsv").write_text("a\tb\n")
    workspace = Workspace.make(tmp_path / "w")
    workspace.edit(
        benchmarks__fetched=ENTRY,
        corpora__more=corpus,
        presets__mini__benchmarks=["mini-tatoeba", "fetched"],
        presets__mini__corpora=["mini", "more"],
    )
    answer = workspace.run("orthoglot", "study", "fetch", "--preset", "mini")
    assert (
        "5 files and 0 corpora of OPUS are in .cache/fetched: benchmarks.fetched, corpora.more"
        in answer.stdout
    )
    assert len(server.requests) == 5
    workspace.run("orthoglot", "study", "fetch", "--preset", "mini", ORTHOGLOT_OFFLINE="1")
    assert len(server.requests) == 5
    plan = workspace.run("orthoglot", "study", "plan", "--preset", "mini").stdout
    (row,) = [line.split() for line in plan.splitlines() if line.startswith("corpora.more ")]
    assert row == ["corpora.more", "1", "files", "?", "4", "B", "4", "B", "?", "own"]
    (server.folder / HOST / "c.qab.tsv").write_text("a\tc\n")
    refused = workspace.run("orthoglot", "study", "fetch", "--preset", "mini", "--check", check=False)
    assert refused.returncode == 4
    assert "raw.example.org/c.qab.tsv: SHA-256 is" in refused.stdout
    assert "1 of 5 files are not as fetched.lock has them" in refused.stdout
    both = workspace.run("orthoglot", "study", "fetch", "--all", "--preset", "mini", check=False)
    assert "--all, --preset: give one of them" in both.stdout


def test_a_run_trains_on_a_corpus_by_address(server: OpusServer, tmp_path: Path) -> None:
    corpus = {
        "kind": "local",
        "pairs": ["qaa-qab"],
        "files": [f"https://{HOST}/c.zip#{{target}}.tsv"],
        "licence": "own",
    }
    with zipfile.ZipFile(server.folder / HOST / "c.zip", "w") as archive:
        archive.writestr("qab.tsv", "".join(f"saying {n}\tspruch {n}\n" for n in range(400)))
    workspace = Workspace.make(tmp_path / "w")
    workspace.edit(corpora__fetched=corpus, presets__mini__corpora=["mini", "fetched"])
    target = "data/mini/bitext/qaa-qab"
    ran = workspace.jobs_run("snakemake", "--cores", "2", target)
    assert {target, "data/mini/files/corpora.fetched", "data/mini/invented/mini"} < set(ran)
    counts = json.loads((workspace.folder / target / "counts.json").read_text())
    assert counts["in"]["fetched"] == 400
    assert workspace.jobs_due(target) == {}


def test_a_run_fetches_a_test_set_and_repeats_nothing(server: OpusServer, tmp_path: Path) -> None:
    entry = ENTRY | {"spelling": "canonical", "pivot": "qaa", "languages": ["qab"]}
    names = [f"tatoeba.qab-qaa.{side}" for side in ("qab", "qaa")]
    for name in names:
        (tmp_path / "mirror" / HOST / FOLDER / name).write_text(f"a line of {name}\n")
    workspace = Workspace.make(tmp_path / "w")
    workspace.edit(benchmarks__fetched=entry, presets__mini__benchmarks=["mini-tatoeba", "fetched"])
    target = "data/mini/benchmarks/fetched"
    assert workspace.jobs_run("snakemake", "--cores", "2", target) == [
        target,
        "data/mini/files/benchmarks.fetched",
    ]
    assert gzip.decompress((workspace.folder / target / "qab-qaa.tsv.gz").read_bytes()).decode() == (
        "a line of tatoeba.qab-qaa.qab\ta line of tatoeba.qab-qaa.qaa\n"
    )
    assert workspace.jobs_due(target) == {}
    asked = len(server.requests)
    shutil.rmtree(workspace.folder / "data")
    workspace.run("snakemake", "--cores", "2", target, ORTHOGLOT_OFFLINE="1")
    assert len(server.requests) == asked == len(names)
    workspace.edit(benchmarks__fetched__files=["https://a.org/a.txt?{foreign}", entry["files"][1]])
    refused = workspace.run("snakemake", "-n", "--cores", "2", check=False).stdout
    assert "benchmarks.fetched: https://a.org/a.txt?qab: not the address of a file" in refused
