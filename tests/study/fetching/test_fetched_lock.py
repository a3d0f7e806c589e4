"""Archives that are fetched once, held against their first digest, and used again without a network."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opus_server import OpusServer, write_opus, write_zip
from opus_settings import opus_settings
from opustools import OpusRead

from orthoglot.corpora.prepare import prepare
from orthoglot.errors import DataError, OfflineError
from orthoglot.study.corpora.kinds.opus import read_moses_zip
from orthoglot.study.fetching import download as download_module
from orthoglot.study.fetching import lock as opus_lock
from orthoglot.study.fetching.opus import fetch
from orthoglot.study.jobs.prepare import PrepareSettings
from orthoglot.text.prepared import read_split

PACKAGES = {
    ("de", "en"): [("eins", "one")],
    ("en", "fr"): [("two", "deux")],
    ("en", "it"): [("three", "tre")],
}
ARCHIVE = "/OPUS-Voices/v1/moses/de-en.txt.zip"


GOOD = "".join(f"sentence number {n} of many\n" for n in range(50))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpusServer]:
    monkeypatch.setattr(download_module, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.chdir(tmp_path)
    write_opus(tmp_path / "opus", "Voices", PACKAGES)
    with OpusServer(tmp_path / "opus") as running:
        yield running


@pytest.fixture
def get(server: OpusServer, tmp_path: Path) -> Callable[..., Path]:
    """Fetch pairs of the corpus into a new folder, with the lock and the cache."""

    def get(name: str, *pairs: str, **pins: dict[str, str]) -> Path:
        output, checkpoint = tmp_path / name, tmp_path / f"{name}.checkpoint"
        lock, cache = tmp_path / "fetched.lock", tmp_path / "cache"
        output.mkdir()
        fetch(opus_settings(*pairs, **pins), server.api, output, checkpoint, lock=lock, cache=cache)
        return output

    return get


def test_the_first_download_is_recorded_and_shared(
    get: Callable[..., Path], server: OpusServer, tmp_path: Path
) -> None:
    first = get("first", "en-de", "en-fr")
    known = json.loads((tmp_path / "fetched.lock").read_text())
    assert list(known) == ["Voices/v1/en-de", "Voices/v1/en-fr"]
    archive = (first / "en-de.zip").read_bytes()
    digest = hashlib.sha256(archive).hexdigest()
    entry = {"path": ARCHIVE, "sha256": digest, "size": len(archive), "version": "v1"}
    assert known["Voices/v1/en-de"] == entry
    # Another preset fetches what it does not share, and nothing else.
    asked = len(server.requests)
    second = get("second", "en-de", "en-it")
    paths = [path for path, _ in server.requests[asked:]]
    assert paths == ["/opusapi/", "/OPUS-Voices/v1/moses/en-it.txt.zip"]
    assert (second / "en-de.zip").read_bytes() == archive
    assert (first / "manifest.json").read_text() != (second / "manifest.json").read_text()
    one, other = (json.loads((folder / "manifest.json").read_text())["files"] for folder in (first, second))
    assert one["en-de"] == other["en-de"]


def test_an_archive_that_changed_is_refused(get: Callable[..., Path], tmp_path: Path) -> None:
    get("first", "en-de")
    (cached,) = (tmp_path / "cache").iterdir()
    cached.unlink()
    write_opus(tmp_path / "opus", "Voices", PACKAGES | {("de", "en"): [("zwei", "two")]})  # as many bytes
    with pytest.raises(DataError, match=r"Voices/v1/en-de: SHA-256 is .* remove this entry"):
        get("second", "en-de")
    assert not list((tmp_path / "second").iterdir())
    assert not list((tmp_path / "second.checkpoint").glob("*.zip"))
    # Without its entry, the new archive is taken.
    (tmp_path / "fetched.lock").write_text("{}")
    third = get("third", "en-de")
    assert [tuple(pair) for pair in read_moses_zip(third / "en-de.zip", "en", "de")] == [("two", "zwei")]


@pytest.mark.parametrize("target", [GOOD.upper() + "mehr\n", GOOD.upper() + "mehr", GOOD.upper()[:-40]])
def test_an_archive_of_unequal_sides_never_enters_the_lock(
    target: str, get: Callable[..., Path], tmp_path: Path
) -> None:
    write_zip(tmp_path / "opus" / ARCHIVE.lstrip("/"), {"X.de-en.en": GOOD, "X.de-en.de": target})
    with pytest.raises(DataError, match=r"X\.de-en\.en has 50 lines but X\.de-en\.de has (51|49)"):
        get("first", "en-de")
    assert not (tmp_path / "fetched.lock").exists()
    assert not list(tmp_path.rglob("en-de.zip"))
    # A last line without a line feed is a line.
    write_zip(tmp_path / "opus" / ARCHIVE.lstrip("/"), {"X.de-en.en": GOOD, "X.de-en.de": GOOD.upper()[:-1]})
    assert (get("second", "en-de") / "en-de.zip").is_file()


def test_a_damaged_archive_of_the_cache_is_fetched_again(
    get: Callable[..., Path], server: OpusServer, tmp_path: Path
) -> None:
    first = get("first", "en-de")
    (cached,) = (tmp_path / "cache").iterdir()
    archive = cached.read_bytes()
    cached.unlink()
    cached.write_bytes(archive[:-1] + b"x")
    second = get("second", "en-de")
    assert (second / "en-de.zip").read_bytes() == archive == (first / "en-de.zip").read_bytes()
    assert cached.read_bytes() == archive


def test_a_pin_overrides_the_cache(get: Callable[..., Path]) -> None:
    get("first", "en-de")
    with pytest.raises(DataError, match="expected 0000"):
        get("second", "en-de", sha256={"en-de": "0" * 64})


def test_without_a_network_only_the_cache_is_used(
    get: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = get("first", "en-de", "en-fr")

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setenv("ORTHOGLOT_OFFLINE", "1")
    second = get("second", "en-de", "en-fr")
    assert (second / "en-fr.zip").read_bytes() == (first / "en-fr.zip").read_bytes()
    with pytest.raises(OfflineError, match=r"Voices/v1/en-it: no sound copy in .*cache, .*ORTHOGLOT_OFFLINE"):
        get("third", "en-de", "en-it")
    assert not (tmp_path / "third" / "manifest.json").exists()


def test_without_a_network_a_finished_archive_of_a_stopped_run_counts(
    get: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = get("first", "en-de")
    shutil.rmtree(tmp_path / "cache")
    shutil.copytree(first, tmp_path / "second.checkpoint")
    monkeypatch.setenv("ORTHOGLOT_OFFLINE", "1")
    second = get("second", "en-de")
    assert (second / "en-de.zip").read_bytes() == (first / "en-de.zip").read_bytes()
    (tmp_path / "third.checkpoint").mkdir()
    (tmp_path / "third.checkpoint" / "en-de.zip").write_bytes(b"of another time")
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(OfflineError, match="Voices/v1/en-de: no sound copy in"):
        get("third", "en-de")


def test_an_archive_of_another_size_is_refused_before_it_is_fetched(
    get: Callable[..., Path], server: OpusServer, tmp_path: Path
) -> None:
    get("first", "en-de")
    shutil.rmtree(tmp_path / "cache")
    write_zip(tmp_path / "opus" / ARCHIVE.lstrip("/"), {"X.de": "drei\n" * 99, "X.en": "three\n" * 99})
    with pytest.raises(DataError, match=r"Voices/v1/en-de: .* bytes, expected .*fetched\.lock"):
        get("second", "en-de")
    assert not list((tmp_path / "second.checkpoint").glob("en-de.zip*"))


def test_archives_come_from_a_mirror_of_the_files(
    get: Callable[..., Path], server: OpusServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpusServer(tmp_path / "opus") as mirror:
        monkeypatch.setenv("ORTHOGLOT_OPUS_MIRROR", f"{mirror.address}/")
        get("first", "en-de")
        assert [path for path, _ in mirror.requests] == [ARCHIVE]
    assert [path for path, _ in server.requests] == ["/opusapi/"]
    assert json.loads((tmp_path / "fetched.lock").read_text())["Voices/v1/en-de"]["path"] == ARCHIVE


def test_a_damaged_lock_file_is_one_line(get: Callable[..., Path], tmp_path: Path) -> None:
    for content in ("<<<<<<< HEAD", "[]", '{"Voices/v1/en-de": {"sha": "1"}}'):
        (tmp_path / "fetched.lock").write_text(content)
        with pytest.raises(DataError, match=r"fetched\.lock: damaged"):
            opus_lock.read(tmp_path / "fetched.lock")
    (tmp_path / "fetched.lock").unlink()
    (tmp_path / "fetched.lock").mkdir()
    with pytest.raises(DataError, match=r"fetched\.lock: is a folder"):
        opus_lock.read(tmp_path / "fetched.lock")


def test_processes_that_write_the_lock_file_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from orthoglot.study.fetching.lock import Archive, record\n"
        "for n in range(20):\n"
        "    record(Path('fetched.lock'), f'X/v1/{sys.argv[1]}-{n}', "
        "Archive(path='/x', sha256='a' * 64, size=1, version='v1'))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, name], cwd=tmp_path) for name in ("a", "b", "c")]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(opus_lock.read(tmp_path / "fetched.lock")) == 60


def test_two_processes_may_fetch_one_archive(server: OpusServer, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from orthoglot.study.fetching.opus import fetch\n"
        "from orthoglot.study.corpora.kinds.opus import OpusSettings\n"
        "settings = OpusSettings(kind='opus', corpus='Voices', version='v1', pairs=['en-de', 'en-fr'], licence='x')\n"
        "output = Path(sys.argv[2]); output.mkdir()\n"
        "fetch(settings, sys.argv[1], output, output / 'checkpoint', lock=Path('fetched.lock'), cache=Path('cache'))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, server.api, str(tmp_path / name)], cwd=tmp_path)
        for name in ("one", "two")
    ]
    assert [process.wait() for process in running] == [0, 0]
    assert (tmp_path / "one/en-de.zip").read_bytes() == (tmp_path / "two/en-de.zip").read_bytes()
    assert sorted(opus_lock.read(tmp_path / "fetched.lock")) == ["Voices/v1/en-de", "Voices/v1/en-fr"]


def test_opus_read_writes_the_same_lines(shared_data: Path, tmp_path: Path) -> None:
    name = "OPUS-GlobalVoices/v2018q4/moses/aym-en.txt.zip"
    archive = tmp_path / "GlobalVoices_v2018q4_moses_aym-en.txt.zip"
    archive.write_bytes((shared_data / "opus_mirror" / name).read_bytes())
    written = [tmp_path / code for code in ("aym", "en")]
    OpusRead(
        directory="GlobalVoices",
        source="aym",
        target="en",
        release="v2018q4",
        preprocess="moses",
        write=[str(path) for path in written],
        write_mode="moses",
        download_dir=str(tmp_path),
        suppress_prompts=True,
    ).printPairs()
    ours = list(read_moses_zip(archive, "ay", "en"))
    for side, path in enumerate(written):
        assert "".join(f"{pair[side]}\n" for pair in ours).encode() == path.read_bytes()


LONG = "".join(random.Random(1).choices("abcdefghij klmno", k=10_000_000))


@pytest.mark.parametrize(
    ("source", "target", "outcome"),
    [
        ("a\0b sentence\n" + GOOD, "ein Satz mit\0Null\n" + GOOD.upper(), 51),
        ("one\u2028sentence\n" + GOOD, "ein\u2028Satz ist das\n" + GOOD.upper(), 51),
        ("one sentence\r\n" + GOOD, "ein Satz\r\n" + GOOD.upper(), 51),
        (LONG + "\n" + GOOD, "kurz\n" + GOOD.upper(), {"too_long": 1}),
        ("\n" + GOOD, "leer\n" + GOOD.upper(), {"empty": 1}),
        (b"caf\xe9 sentence\n" + GOOD.encode(), b"ein Satz\n" + GOOD.upper().encode(), "line 1 is not UTF-8"),
        ("", "", "are empty"),
    ],
    ids=["NUL", "U+2028", "CR", "10 MB line", "blank line", "not UTF-8", "empty corpus"],
)
def test_strange_text_is_an_error_or_a_counted_drop_and_shifts_no_line(
    source: str | bytes,
    target: str | bytes,
    outcome: object,
    server: OpusServer,
    get: Callable[..., Path],
    tmp_path: Path,
) -> None:
    write_zip(tmp_path / "opus" / ARCHIVE.lstrip("/"), {"X.de-en.en": source, "X.de-en.de": target})
    folder = get("fetched", "en-de")
    settings = PrepareSettings.model_validate(
        {
            "pair": "en-de",
            "sources": [{"name": "X", "kind": "opus", "paths": [str(folder / "en-de.zip")]}],
            "cleaning": {"drop_copies": False},
            "splits": {"valid": 0, "test": 0},
        }
    )
    output = tmp_path / "prepared"
    output.mkdir()
    if isinstance(outcome, str):
        with pytest.raises(DataError, match=outcome):
            prepare(settings, output)
        assert not list(output.iterdir())
        return
    prepare(settings, output)
    kept = read_split(output, "train")
    dropped = json.loads((output / "counts.json").read_text())["dropped"]
    assert len(kept) == (outcome if isinstance(outcome, int) else 50)
    if isinstance(outcome, dict):
        assert {reason: count for reason, count in dropped.items() if count} == outcome
    assert all(pair.target == pair.source.upper() for pair in kept if pair.source.endswith("many"))
