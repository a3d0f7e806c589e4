"""Finding, fetching and reading OPUS packages, sound and hostile ones."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opus_server import OpusServer, write_opus, write_zip
from opus_settings import opus_settings
from opustools import OpusGet

from orthoglot.errors import ConfigError, DataError
from orthoglot.formats.sources import read_source
from orthoglot.study.corpora.archives import check_zip
from orthoglot.study.corpora.kinds.opus import OpusSettings, Source, read_moses_zip
from orthoglot.study.fetching import download as download_module
from orthoglot.study.fetching import opus as opus_module
from orthoglot.study.fetching.opus import fetch, list_entries

PAIRS = [(f"kuna {n}", f"what {n}") for n in range(300)]
PACKAGES = {
    ("aym", "en"): PAIRS,
    ("en", "zh_cn"): [(f"one {n}", f"一 {n}") for n in range(7)],
    ("en", "pt"): [("plain", "simples")],
    ("en", "pt_br"): [("regional", "regional do Brasil")],
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("opus")
    write_opus(folder, "Voices", PACKAGES)
    return folder


@pytest.fixture
def server(served: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpusServer]:
    monkeypatch.setattr(download_module, "FIRST_PAUSE_SECONDS", 0.001)
    with OpusServer(served) as running:
        yield running


def test_entries_are_those_of_the_question(server: OpusServer) -> None:
    assert len(list_entries(server.api)) == 4
    (entry,) = list_entries(server.api, source="en", target="aym", version="latest")
    assert (entry.source, entry.target, entry.pairs, entry.latest) == ("aym", "en", 300, True)
    assert entry.url == f"{server.address}/OPUS-Voices/v1/moses/aym-en.txt.zip"
    assert list_entries(server.api, corpus="Nothing") == []


def test_opustools_gets_the_same_rows_from_this_server(server: OpusServer, tmp_path: Path) -> None:
    client = OpusGet(source="en", directory="Voices", preprocess="moses", download_dir=str(tmp_path))
    client.url = client.url.replace("https://opus.nlpl.eu/opusapi", server.api)
    rows, _ = client.get_corpora_data()
    ours = list_entries(server.api, source="en", corpus="Voices", version="latest")
    assert [row["url"] for row in rows] == [entry.url for entry in ours]
    assert len(ours) == 4


def test_a_corpus_is_fetched_whichever_way_round_and_however_spelled(
    server: OpusServer, tmp_path: Path
) -> None:
    fetch(opus_settings("en-ay", "en-zh", "pt-en"), server.api, tmp_path)
    assert list(read_moses_zip(tmp_path / "en-ay.zip", "en", "ay")) == [(b, a) for a, b in PAIRS]
    assert list(read_moses_zip(tmp_path / "en-ay.zip", "ay", "en")) == PAIRS
    assert next(read_moses_zip(tmp_path / "en-zh.zip", "en", "zh")) == ("one 0", "一 0")
    assert list(read_moses_zip(tmp_path / "pt-en.zip", "pt", "en")) == [("simples", "plain")]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["files"]["en-ay"] == {
        "path": "/OPUS-Voices/v1/moses/aym-en.txt.zip",
        "sha256": hashlib.sha256((tmp_path / "en-ay.zip").read_bytes()).hexdigest(),
        "version": "v1",
    }
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["en-ay.zip", "en-zh.zip", "manifest.json", "pt-en.zip"]


@pytest.mark.parametrize(
    ("code", "spelled"),
    [
        ("sr", "sr@latin"), ("sr", "sr@Latn"), ("sr", "sr_Latn"), ("ca", "ca@valencia"), ("be", "be_tarask"),
        ("es", "es_AR"), ("zh", "zh_HK"), ("zh", "zh_Hant"), ("en", "en_gb"), ("bn", "bn_IN"), ("de", "de_AT"),
        ("ar", "ar_TN"), ("ckb", "cb"), ("zh", "cn"), ("ceb", "cx"), ("el", "gr"), ("ja", "jap"), ("sr", "me"),
        ("nb", "no_nb"), ("nso", "ns"), ("szl", "sz"), ("zza", "zz"),
    ],
)  # fmt: skip
def test_any_region_of_a_language_is_read_and_can_be_named(code: str, spelled: str, tmp_path: Path) -> None:
    other = "fr"
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for suffix, text in ((other, "un\n"), (spelled, "one\n")):
            archive.writestr(f"GNOME.{other}-{spelled}.{suffix}", text)
        archive.writestr("README", "")
    assert list(read_moses_zip(tmp_path / "x.zip", other, code)) == [("un", "one")]
    values = opus_settings(f"{other}-{code}").model_dump() | {"spellings": {code: [spelled]}}
    assert list(OpusSettings.model_validate(values).archives(f"{other}-{code}")) == [f"{other}-{spelled}"]


def test_all_spellings_that_are_named_are_fetched_and_read_as_one_language(tmp_path: Path) -> None:
    packages = {
        ("en", "zh_cn"): [("one", "一")],
        ("en", "zh_tw"): [("two", "二")],
        ("en", "zh"): [("three", "三")],
    }
    write_opus(tmp_path / "opus", "Voices", packages)
    output = tmp_path / "fetched"
    output.mkdir()
    values = opus_settings("en-zh").model_dump() | {"spellings": {"zh": ["zh_tw", "zh_cn"]}}
    digest = hashlib.sha256(
        (tmp_path / "opus/OPUS-Voices/v1/moses/en-zh_cn.txt.zip").read_bytes()
    ).hexdigest()
    wanted = OpusSettings.model_validate(values | {"sha256": {"en-zh_cn": digest}})
    with OpusServer(tmp_path / "opus") as running:
        fetch(wanted, running.api, output, lock=tmp_path / "fetched.lock", cache=tmp_path / "cache")
    assert sorted(path.name for path in output.glob("*.zip")) == ["en-zh_cn.zip", "en-zh_tw.zip"]
    assert set(json.loads((tmp_path / "fetched.lock").read_text())) == {
        "Voices/v1/en-zh_cn",
        "Voices/v1/en-zh_tw",
    }
    source = Source(name="voices", **wanted.pair_sources(str(output))["en-zh"])
    assert list(read_source(source, "en", "zh")) == [("two", "二"), ("one", "一")]
    assert (
        len(list(read_source(source.model_copy(update={"max_pairs": 1}), "en", "zh"))) == 2
    )  # one is left out
    other = tmp_path / "other"
    other.mkdir()
    pinned = wanted.model_copy(update={"sha256": {"en-zh_tw": digest}})
    with OpusServer(tmp_path / "opus") as running, pytest.raises(DataError, match="SHA-256"):
        fetch(pinned, running.api, other)


@pytest.mark.parametrize("fault", ["503", "cut", "stall"])
def test_faults_on_the_way_do_not_show_in_the_bytes(
    fault: str, server: OpusServer, served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opus_module, "download", partial(download_module.download, timeout=0.3))
    server.faults["aym-en.txt.zip"] = [fault]
    server.faults["/opusapi/"] = ["503"]
    fetch(opus_settings("en-ay"), server.api, tmp_path)
    original = served / "OPUS-Voices/v1/moses/aym-en.txt.zip"
    assert (tmp_path / "en-ay.zip").read_bytes() == original.read_bytes()


def test_a_stopped_fetch_goes_on_from_its_checkpoint(server: OpusServer, tmp_path: Path) -> None:
    for name in ("output", "again", "checkpoint"):
        (tmp_path / name).mkdir()
    server.faults["zh_cn.txt.zip"] = ["404"]
    with pytest.raises(DataError):
        fetch(opus_settings("en-ay", "en-zh"), server.api, tmp_path / "output", tmp_path / "checkpoint")
    fetch(opus_settings("en-ay", "en-zh"), server.api, tmp_path / "again", tmp_path / "checkpoint")
    assert [path for path, _ in server.requests].count("/OPUS-Voices/v1/moses/aym-en.txt.zip") == 1
    assert len(list(read_moses_zip(tmp_path / "again" / "en-ay.zip", "en", "ay"))) == 300


@pytest.mark.parametrize(
    ("wanted", "cause"),
    [
        (opus_settings("en-de"), r"OPUS has no en-de in Voices v1; it has aym-en, en-pt, en-pt_br, en-zh_cn"),
        (opus_settings("en-ay", version="v9"), r"OPUS has no Voices v9; known: v1"),
        (opus_settings("en-ay", corpus="Voice"), r"OPUS has no corpus 'Voice'; near ones are Voices"),
    ],
)
def test_what_opus_lacks_is_told_with_what_it_has(
    wanted: OpusSettings, cause: str, server: OpusServer, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=cause):
        fetch(wanted, server.api, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fault", "pins", "message"),
    [
        ("ok", {"en-ay": "0" * 64}, "expected 0000"),
        ("wrong_bytes", {}, r"en-ay\.zip is truncated or corrupt"),
    ],
)
def test_another_or_a_corrupt_package_stops_the_fetch(
    fault: str, pins: dict[str, str], message: str, server: OpusServer, tmp_path: Path
) -> None:
    server.faults["aym-en.txt.zip"] = [fault]
    with pytest.raises(DataError, match=message):
        fetch(opus_settings("en-ay", sha256=pins), server.api, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("answer", ["[]", '{"corpora": {}}', '{"corpora": [{"corpus": "Voices"}]}'])
def test_an_answer_that_is_not_opus_is_refused(answer: str, tmp_path: Path) -> None:
    (tmp_path / "strange.json").write_text(answer)
    with OpusServer(tmp_path) as running, pytest.raises(DataError, match="not a"):
        list_entries(f"{running.address}/strange.json")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "http://[::1/de-en.txt.zip"),
        ("url", "file:///etc/passwd"),
        ("url", "de-en.txt.zip"),
        ("url", "http://a.org"),
        ("url", None),
        ("size", -1),
        ("size", "²"),
        ("alignment_pairs", -1),
        ("latest", "perhaps"),
    ],
)
def test_a_row_of_opus_with_an_odd_value_is_refused_in_one_line(
    field: str, value: object, served: Path, tmp_path: Path
) -> None:
    rows = json.loads((served / "opusapi.json").read_text())["corpora"]
    (tmp_path / "odd.json").write_text(json.dumps({"corpora": [rows[0] | {field: value}]}))
    with (
        OpusServer(tmp_path) as running,
        pytest.raises(DataError, match=rf"(?s)not an answer of OPUS: .*{field}"),
    ):
        list_entries(f"{running.address}/odd.json")


def test_macos_leftovers_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "mac.zip"
    write_zip(path, {"X.de-en.de": "eins\n", "X.de-en.en": "one\n", "__MACOSX/X.de-en.de": "junk\njunk\n"})
    assert list(read_moses_zip(path, "en", "de")) == [("one", "eins")]


@pytest.mark.parametrize(
    ("members", "cause"),
    [
        ({"X.de": "eins\nzwei\n", "X.en": "one\n"}, r"X\.de has 2 lines but .*X\.en has 1"),
        ({"X.de-en.de": "", "X.de-en.en": ""}, "are empty"),
        ({"X.de-en.de": "eins\n", "README": ""}, "has 0 members in en, not 1; it holds X.de-en.de, README"),
        ({"a.de": "1\n", "b.de": "1\n", "b.en": "1\n"}, "has 2 members in de"),
        ({"../X.de": "eins\n", "X.en": "one\n"}, r"'\.\./X\.de' leads out of the archive"),
        ({"/X.de": "eins\n", "X.en": "one\n"}, "leads out"),
        ({"a\\..\\X.de": "eins\n", "X.en": "one\n"}, "leads out"),
        ({"C:X.de": "eins\n", "X.en": "one\n"}, "leads out"),
        ({"X.de": "0" * 50_000_000, "X.en": "one\n"}, "a bomb"),
    ],
)  # fmt: skip
def test_a_package_that_is_wrong_is_refused(members: dict[str, str], cause: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.zip"
    write_zip(path, members)
    with pytest.raises(DataError, match=cause):
        list(read_moses_zip(path, "de", "en"))


def test_links_duplicate_names_and_encryption_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("X.de")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match=r"'X\.de' is a link"):
        check_zip(tmp_path / "link.zip")
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("X.de", "eins")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("X.de", "zwei")
    with pytest.raises(DataError, match=r"'X\.de' is there twice"):
        check_zip(tmp_path / "twice.zip")
    with zipfile.ZipFile(tmp_path / "locked.zip", "w") as archive:
        archive.writestr("X.de", "eins")
        archive.infolist()[0].flag_bits |= 1
    with pytest.raises(DataError, match=r"'X\.de' is encrypted"):
        check_zip(tmp_path / "locked.zip")


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.99])
def test_a_truncated_zip_is_refused(kept: float, served: Path, tmp_path: Path) -> None:
    whole = (served / "OPUS-Voices/v1/moses/aym-en.txt.zip").read_bytes()
    path = tmp_path / "cut.zip"
    path.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(DataError, match=r"cut\.zip is truncated or corrupt"):
        check_zip(path)


def test_an_impossible_offset_is_damage_not_an_operating_system_error(served: Path, tmp_path: Path) -> None:
    whole = bytearray((served / "OPUS-Voices/v1/moses/aym-en.txt.zip").read_bytes())
    # Bytes 16 to 19 of the end record: a table of contents one byte further on than it is puts the first
    # member one byte before the file.
    place = slice(whole.rfind(b"PK\x05\x06") + 16, whole.rfind(b"PK\x05\x06") + 20)
    whole[place] = (int.from_bytes(whole[place], "little") + 1).to_bytes(4, "little")
    path = tmp_path / "offset.zip"
    path.write_bytes(whole)
    with pytest.raises(DataError, match=r"offset\.zip is truncated or corrupt"):
        check_zip(path)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_bytes_give_the_same_pairs_or_a_clean_error(
    data: st.DataObject, served: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = bytearray((served / "OPUS-Voices/v1/moses/en-zh_cn.txt.zip").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("fuzz") / "damaged.zip"
    path.write_bytes(whole)
    try:
        pairs = list(read_moses_zip(path, "en", "zh"))
    except DataError:
        return
    assert pairs == PACKAGES["en", "zh_cn"]


def test_the_real_replica_is_fetched_and_read(shared_data: Path, tmp_path: Path) -> None:
    with OpusServer(shared_data / "opus_mirror") as running:
        fetch(
            opus_settings("en-ay", "es-ay", corpus="GlobalVoices", version="v2018q4"), running.api, tmp_path
        )
        (tmp_path / "ru").mkdir()
        wanted = opus_settings("en-ru", corpus="ELRC-3075-wikipedia_health", version="latest")
        fetch(wanted, running.api, tmp_path / "ru")
    known = {entry["path"]: entry["sha256"] for entry in json.loads(
        (shared_data / "manifest.json").read_text("utf-8"))["files"]}  # fmt: skip
    for pair, name in (("en-ay", "aym-en"), ("es-ay", "aym-es")):
        source, target = pair.split("-")
        pairs = list(read_moses_zip(tmp_path / f"{pair}.zip", source, target))
        assert len(pairs) == 500
        digest = hashlib.sha256((tmp_path / f"{pair}.zip").read_bytes()).hexdigest()
        assert digest == known[f"opus_mirror/OPUS-GlobalVoices/v2018q4/moses/{name}.txt.zip"]
    russian = list(read_moses_zip(tmp_path / "ru" / "en-ru.zip", "en", "ru"))
    assert len(russian) == 500
    cyrillic = sum(any("а" <= letter <= "я" for letter in pair.target.lower()) for pair in russian)
    assert cyrillic > 450
