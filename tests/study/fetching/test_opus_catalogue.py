"""Looking up what OPUS holds, offline: the same answers as opustools gives, from a table that is whole or made anew."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from opus_settings import opus_settings
from opustools.db_operations import DbOperations

from orthoglot.errors import ConfigError
from orthoglot.languages import of_locale, spellings
from orthoglot.study.corpora.kinds.opus import OpusSettings, Preprocess
from orthoglot.study.fetching import catalogue as opus_catalogue
from orthoglot.study.fetching.catalogue import archives, entries, left_out, table

pytestmark = pytest.mark.usefixtures("without_a_network")


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's cache, and an installed opustools whose catalogue has three files; returns the packed catalogue."""
    whole, packed = tmp_path / "opusdata.db", tmp_path / "opustools/opusdata.db.gz"
    packed.parent.mkdir()
    with closing(sqlite3.connect(whole)) as database:
        database.execute(
            "CREATE TABLE opusfile (id, source, target, corpus, preprocessing, version, url, size,"
            " alignment_pairs, latest)"
        )
        for row in (
            (1, "aym", "en", "Voices", "moses", "v1", "https://opus/1", 7, 300, "False"),
            (2, "aym", "en", "Voices", "moses", "v2", "https://opus/2", 8, "", "True"),
            (3, "aym", "en", "Voices", "tmx", "v2", "https://opus/3", 9, 300, "True"),
        ):
            database.execute(f"INSERT INTO opusfile VALUES ({', '.join('?' * len(row))})", row)
        database.commit()
    packed.write_bytes(gzip.compress(whole.read_bytes()))

    class Installed:
        version = "9"

        def locate_file(self, path: str) -> Path:
            return tmp_path / path

    monkeypatch.setattr(opus_catalogue, "distribution", lambda _: Installed())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return packed


settings = partial(opus_settings, corpus="Europarl", version="v8")


def test_the_rows_are_those_that_opustools_finds(tmp_path: Path) -> None:
    packed = Path(str(opus_catalogue.distribution("opustools").locate_file("opustools/opusdata.db.gz")))
    with gzip.open(packed) as source, open(tmp_path / "opusdata.db", "wb") as unpacked:
        shutil.copyfileobj(source, unpacked)
    theirs = DbOperations(db_file=str(tmp_path / "opusdata.db"))
    for corpus, version in (("Europarl", "v8"), ("GlobalVoices", "v2018q4"), ("CCAligned", "latest")):
        rows = theirs.get_corpora({"corpus": corpus, "version": version, "preprocessing": "moses"})
        ours = entries(corpus, version)
        assert len(ours) > 100
        found = {(one.url, one.kibibytes, one.pairs, one.source, one.target, one.version) for one in ours}
        names = ("url", "size", "alignment_pairs", "source", "target", "version")
        assert found == {tuple(row[name] or 0 for name in names) for row in rows}

    kinds: tuple[Preprocess, ...] = ("xml", "raw")
    for kind, source, target in product(kinds, ("en", None), ("aym", None)):
        asked = {"corpus": "GlobalVoices", "version": "v2018q4", "preprocessing": kind}
        asked |= {"source": source or target, "target": target if source else None}
        rows = theirs.get_corpora({name: value for name, value in asked.items() if value})
        ours = entries("GlobalVoices", "v2018q4", kind, source=source, target=target)
        assert {one.url for one in ours} == {row["url"] for row in rows}
        assert any(not one.target for one in ours)


def test_every_code_of_opus_can_be_named_or_is_refused_with_a_reason(tmp_path: Path) -> None:
    packed = Path(str(opus_catalogue.distribution("opustools").locate_file("opustools/opusdata.db.gz")))
    with gzip.open(packed) as source, open(tmp_path / "opusdata.db", "wb") as unpacked:
        shutil.copyfileobj(source, unpacked)
    with closing(sqlite3.connect(tmp_path / "opusdata.db")) as database:
        rows = database.execute("SELECT source FROM opusfile UNION SELECT target FROM opusfile").fetchall()
    codes = sorted({code for (code,) in rows} - {""})
    refused, regional = dict[str, str](), list[str]()
    for code in codes:
        language = of_locale(code) or "en"
        pair = f"{'de' if language == 'en' else 'en'}-{language}"
        try:
            corpus = opus_settings(pair, spellings={language: [code]})
        except ValueError as error:
            refused[code] = str(error)
            continue
        ((spelled, sides),) = corpus.archives(pair).items()
        assert (spelled, sides[1]) == (f"{pair.partition('-')[0]}-{code}", [code])
        regional += [code] * ("_" in code and code not in spellings(language))
    assert len(codes) == 730
    # Numbers of files, languages mixed within one text, and codes that nobody can tell the language of.
    assert " ".join(sorted(refused)) == (
        "784 801 804 805 807 816 846 863 cycl de-en-no-priors eml foo hb ic md po py qa qd ry simple tc tmx toki tz v1 "
        "ze_en ze_zh zh_en zh_zh"
    )
    assert all(
        f"unknown language code '{(of_locale(code) or code)}'" in reason or f": {code}; known: " in reason
        for code, reason in refused.items()
    )
    assert len(regional) == 70
    assert {"es_AR", "zh_HK", "bn_IN", "de_AT", "sr_ME", "ca_valencia"} <= {*regional}


def test_latest_is_refused_with_the_name_of_the_newest_release() -> None:
    for kind in ("moses", "xml"):
        wanted = settings("en-de", version="latest", preprocess=kind)
        cause = (
            r"corpora\.mine: version: latest is another text tomorrow; name a release, such as v8, the newest"
        )
        with pytest.raises(ConfigError, match=cause):
            archives({"mine": wanted})
    with pytest.raises(ConfigError, match=r"name a release$"):
        archives({"mine": settings("en-de", corpus="Later", version="latest", listed=False)})


def test_documents_and_alignments_are_found_with_a_hint_where_there_are_none() -> None:
    corpus = settings("en-ay", "es-ay", corpus="GlobalVoices", version="v2018q4", preprocess="raw")
    found = archives({"a": corpus})["a"]
    assert {key: one.url.partition("v2018q4/")[2] for key, one in found["en-ay"].items()} == {
        "raw/en-ay.xml.gz": "xml/aym-en.xml.gz",
        "raw/en-ay.source.zip": "raw/en.zip",
        "raw/en-ay.target.zip": "raw/aym.zip",
    }
    assert left_out(corpus, found) == {"en-ay": [], "es-ay": []}


def test_a_corpus_without_such_files_is_refused_with_a_hint(few: Path) -> None:
    with pytest.raises(ConfigError, match=r"no raw files of Voices; give another `preprocess`"):
        archives({"a": settings("en-ay", corpus="Voices", version="v1", preprocess="raw")})


def test_a_pair_is_found_in_either_order_and_any_spelling() -> None:
    found = archives(
        {
            "a": settings("en-de", "de-en", "en-pt"),
            "b": settings("en-ay", corpus="GlobalVoices", version="v2018q4"),
            "c": settings("en-fa", corpus="Tatoeba", version="v2022-03-03"),
            "d": settings("en-ay", corpus="NLLB", version="v1"),
            "e": settings("en-qu", corpus="Later", listed=False),
        }
    )
    assert list(found) == ["a", "b", "c", "d"]
    spelled = [
        (one.source, one.target)
        for pairs in found.values()
        for archive in pairs.values()
        for one in archive.values()
    ]
    assert spelled == [("de", "en"), ("de", "en"), ("en", "pt"), ("aym", "en"), ("en", "pes"), ("ay", "en")]
    assert found["a"]["en-de"]["en-de"].pairs == 1_961_119
    assert found["a"]["en-de"]["en-de"].kibibytes == 206_840


def test_of_two_archives_of_one_pair_the_larger_is_taken() -> None:
    found = archives({"a": settings("en-cs", corpus="News-Commentary", version="v16")})
    both = [one for one in entries("News-Commentary", "v16") if {one.source, one.target} == {"cs", "en"}]
    assert {one.pairs for one in both} == {883, 218_509}
    assert found["a"]["en-cs"]["en-cs"].pairs == 218_509


def test_all_spellings_that_are_named_are_found_and_the_others_are_known_to_be_left_out() -> None:
    ted = settings("en-zh", "en-pt", corpus="TED2020", version="v1")
    assert {pair: list(found) for pair, found in archives({"a": ted})["a"].items()} == {
        "en-zh": ["en-zh"],
        "en-pt": ["en-pt"],
    }
    some = settings("en-zh", "en-pt", corpus="TED2020", version="v1", spellings={"zh": ["zh_tw", "zh"]})
    found = archives({"a": some})["a"]
    assert {name: one.pairs for name, one in found["en-zh"].items()} == {"en-zh_tw": 404_726, "en-zh": 16_382}
    assert {pair: [one.target for one in others] for pair, others in left_out(some, found).items()} == {
        "en-zh": ["zh_cn"],
        "en-pt": ["pt_br"],
    }
    with pytest.raises(
        ConfigError, match=r"\.a: OPUS has no en-zht in TED2020 v1; it has en-zh, en-zh_cn, en-zh_tw$"
    ):
        archives({"a": settings("en-zh", corpus="TED2020", version="v1", spellings={"zh": ["zht"]})})


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (settings("en-gn"), r"corpora\.mine: OPUS has no en-gn in Europarl v8; it has bg-en, "),
        (settings("en-de", version="v9"), r"no Europarl v9; known: v3, v7, v8; give `listed: false`"),
        (
            settings("en-de", corpus="Europrl"),
            r"no corpus 'Europrl', near ones are Europarl, .*`listed: false`",
        ),
    ],
)
def test_what_opus_does_not_hold_is_refused_by_name(wanted: OpusSettings, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        archives({"mine": wanted})


def test_the_table_holds_moses_archives_and_is_made_once(few: Path) -> None:
    path = table()
    assert path.parent == few.parents[1] / "cache/orthoglot"
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    written = path.stat().st_mtime_ns
    (first,) = entries("Voices", "v1")
    (latest,) = entries("Voices", "latest")
    assert (first.pairs, latest.pairs, latest.version) == (300, 0, "v2")
    assert entries("Voices", "v3") == entries("Other", "v1") == []
    assert path.stat().st_mtime_ns == written


@pytest.mark.parametrize("damage", ["nothing", "cut", "overwritten", "unfinished"])
def test_a_table_that_is_not_whole_is_made_anew(few: Path, damage: str) -> None:
    path = table()
    whole = path.read_bytes()
    if damage == "unfinished":
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA user_version = 0")
    else:
        path.write_bytes(
            {"nothing": b"", "cut": whole[: len(whole) // 2], "overwritten": b"x" * len(whole)}[damage]
        )
    opus_catalogue._is_whole.cache_clear()
    assert [one.pairs for one in entries("Voices", "v1")] == [300]


def test_another_catalogue_has_a_table_of_its_own(few: Path) -> None:
    first = table()
    few.write_bytes(few.read_bytes() + gzip.compress(b""))
    assert table() != first


def test_a_damaged_catalogue_leaves_nothing_behind(few: Path) -> None:
    few.write_bytes(few.read_bytes()[:-9])
    with pytest.raises(EOFError):
        table()
    assert not list((few.parents[1] / "cache/orthoglot").iterdir())


def test_processes_that_unpack_at_once_do_not_meet(tmp_path: Path) -> None:
    code = "from orthoglot.study.fetching.catalogue import entries; print(len(entries('Europarl', 'v8')))"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", code]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [process.communicate(timeout=120)[0] for process in running] == ["211\n", "211\n"]
    assert len(list((tmp_path / "orthoglot").iterdir())) == 1
