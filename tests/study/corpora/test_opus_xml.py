"""Alignments of OPUS with scores: the pairs of opustools, hostile files, and how they are fetched."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opus_server import (
    DOCTYPE,
    Documents,
    Link,
    Links,
    OpusServer,
    alignment,
    document,
    write_opus,
    write_opus_xml,
    write_zip,
)
from opus_settings import opus_settings
from opustools import OpusGet, OpusRead
from pydantic import ValidationError

from orthoglot.corpora.prepare import prepare
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.formats.sources import read_source
from orthoglot.study.corpora import xces
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.kinds.opus import OpusSettings
from orthoglot.study.corpora.xces import Form, Threshold, read_alignments
from orthoglot.study.fetching import download as download_module
from orthoglot.study.fetching.opus import fetch, list_entries
from orthoglot.study.jobs.prepare import PrepareSettings
from orthoglot.text.bitext import LeftOut, SentencePair
from orthoglot.text.prepared import read_split

LINKS: Links = {
    "2012/a": [
        Link("s1", "s1", {"certainty": "1.5", "overlap": "0.9"}),
        Link("s2 s3", "s2", {"certainty": "0.5", "overlap": "0.4"}),
        Link("s4", "s3 s4", {"certainty": "-0.3"}),
        Link("", "s5", {"certainty": "0"}),
        Link("s5", "s6", {"overlap": "1"}),
    ],
    "b": [Link("7", "7", {"certainty": "0.999"}), Link("8", "8", {"certainty": "1e0"})],
}
AYMARA: Documents = {
    "2012/a": {"s1": "maya .", "s2": "paya", "s3": "kimsa", "s4": "pusi & phisqa", "s5": "suxta"},
    "b": {"8": "kimsaqallqu", "7": "paqallqu"},
}
ENGLISH: Documents = {
    "2012/a": {
        f"s{n}": text for n, text in enumerate(["one .", "two three", "four", "five", "?", "<six>"], 1)
    },
    "b": {"7": "seven", "8": "eight"},
}
PAIRS = [
    ("maya .", "one ."), ("paya kimsa", "two three"), ("pusi & phisqa", "four five"), ("suxta", "<six>"),
    ("paqallqu", "seven"), ("kimsaqallqu", "eight"),
]  # fmt: skip
# Pairs of `PAIRS`, and what is left out, by threshold of the certainty.
KNOWN: dict[float | None, tuple[list[int], dict[str, int]]] = {
    None: ([0, 1, 2, 3, 4, 5], {"not_aligned": 1}),
    0.0: ([0, 1, 4, 5], {"not_aligned": 1, "below_threshold": 1, "no_score": 1}),
    0.5: ([0, 1, 4, 5], {"below_threshold": 2, "no_score": 1}),
    1.0: ([0, 5], {"below_threshold": 4, "no_score": 1}),
}
THRESHOLDS = [*KNOWN]


def write_release(folder: Path) -> None:
    bitexts = {("aym", "en"): LINKS, ("en", "fr"): {"b": LINKS["b"]}}
    documents = {"aym": AYMARA, "en": ENGLISH, "fr": {"b": {"7": "sept", "8": "huit"}}}
    write_opus(folder, "Voices", {("aym", "en"): [("maya", "one")]})
    write_opus_xml(folder, "Voices", bitexts, documents)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpusServer]:
    monkeypatch.setattr(download_module, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.chdir(tmp_path)
    write_release(tmp_path / "opus")
    with OpusServer(tmp_path / "opus") as running:
        yield running


@pytest.fixture
def get(server: OpusServer, tmp_path: Path) -> Callable[..., Path]:
    """Fetch pairs of the corpus into a new folder, with the lock and the cache."""

    def get(name: str, *pairs: str, **others: Any) -> Path:
        output = tmp_path / name
        output.mkdir()
        fetch(
            opus_settings(*pairs, **{"preprocess": "xml"} | others),
            server.api,
            output,
            tmp_path / f"{name}.checkpoint",
            lock=tmp_path / "fetched.lock",
            cache=tmp_path / "cache",
        )
        return output

    return get


def items(folder: Path, pair: str, **others: Any) -> list[SentencePair | LeftOut]:
    corpus = opus_settings(pair, **{"preprocess": "xml"} | others)
    source = parsed({"name": "voices", **corpus.pair_sources(str(folder))[pair]})
    return list(read_source(source, *pair.split("-")))


def pairs_of(read: list[SentencePair | LeftOut]) -> list[SentencePair]:
    return [one for one in read if isinstance(one, SentencePair)]


def of_opustools(folder: Path, source: str, target: str, **others: Any) -> list[tuple[str, str]]:
    """The pairs of `opus_read` in the files of the server, without those that have a blank side."""
    root = folder / "opus/OPUS-Voices/v1"
    kind = others.get("preprocess", "xml")
    with redirect_stderr(io.StringIO()):
        reader = OpusRead(
            directory="Voices",
            source=source,
            target=target,
            release="v1",
            alignment_file=str(root / f"xml/{source}-{target}.xml.gz"),
            source_zip=str(root / f"{kind}/{source}.zip"),
            target_zip=str(root / f"{kind}/{target}.zip"),
            leave_non_alignments_out=True,
            **others,
        )
        return list(reader.yieldPairs())


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_pairs_and_counts_are_known_at_each_threshold(
    threshold: float | None, get: Callable[..., Path]
) -> None:
    kept, left_out = KNOWN[threshold]
    read = items(get("a", "ay-en"), "ay-en", threshold=threshold)
    assert pairs_of(read) == [PAIRS[place] for place in kept]
    assert Counter(one.reason for one in read if isinstance(one, LeftOut)) == left_out


@pytest.mark.parametrize("kind", ["xml", "raw"])
@pytest.mark.parametrize("attribute", ["certainty", "overlap"])
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_opustools_reads_the_same_pairs(
    threshold: float | None, attribute: str, kind: str, get: Callable[..., Path], tmp_path: Path
) -> None:
    chosen = {} if threshold is None else {"attribute": attribute, "threshold": threshold}
    ours = pairs_of(items(get("a", "ay-en", preprocess=kind), "ay-en", preprocess=kind, **chosen))
    # As text, because opustools takes the number 0 for no threshold.
    theirs = chosen | ({"threshold": str(threshold)} if chosen else {})
    assert ours == of_opustools(tmp_path, "aym", "en", preprocess=kind, **theirs)
    assert len(ours) > 0


IDENTIFIERS = [f"s{n}" for n in range(6)]
SIDE = st.lists(st.sampled_from(IDENTIFIERS), max_size=3).map(" ".join)
SCORE = st.dictionaries(
    st.sampled_from(["certainty", "overlap"]), st.floats(-2, 2).map(lambda score: f"{score:.3g}")
)
WORDS = st.lists(st.text("aé一&<>'\"", min_size=1, max_size=4), min_size=1, max_size=4).map(" ".join)
TEXT = st.fixed_dictionaries(dict.fromkeys(IDENTIFIERS, WORDS))


@settings(max_examples=60, deadline=None)
@given(
    links=st.dictionaries(
        st.sampled_from("xyz"), st.lists(st.builds(Link, SIDE, SIDE, SCORE), min_size=1), min_size=1
    ),
    data=st.data(),
    threshold=st.sampled_from([None, 0.0, 0.5, 1.0]),
    kind=st.sampled_from(["xml", "raw"]),
    at_once=st.integers(1, 5),
)
def test_any_alignment_is_read_as_opustools_reads_it(
    links: Links,
    data: st.DataObject,
    threshold: float | None,
    kind: str,
    at_once: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    documents = {code: {name: data.draw(TEXT) for name in links} for code in ("aym", "en")}
    write_opus_xml(folder / "opus", "Voices", {("aym", "en"): links}, documents)
    root = folder / "opus/OPUS-Voices/v1"
    least = None if threshold is None else Threshold("certainty", threshold)
    form = Form(f"Voices/{kind}", words=kind == "xml")
    zips = root / f"{kind}/aym.zip", root / f"{kind}/en.zip"
    scored = any("certainty" in one.scores for held in links.values() for one in held)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xces, "LINKS", at_once)
        if least and not scored:
            with pytest.raises(DataError, match="no link has the score certainty"):
                list(read_alignments(root / "xml/aym-en.xml.gz", zips, form, least))
            return
        ours = list(read_alignments(root / "xml/aym-en.xml.gz", zips, form, least))
        turned = list(read_alignments(root / "xml/aym-en.xml.gz", zips[::-1], form, least))
    chosen = {} if threshold is None else {"attribute": "certainty", "threshold": str(threshold)}
    assert pairs_of(ours) == of_opustools(folder, "aym", "en", preprocess=kind, **chosen)
    assert pairs_of(turned) == [SentencePair(*pair[::-1]) for pair in pairs_of(ours)]
    assert len(ours) == sum(map(len, links.values()))


def test_documents_of_a_language_are_fetched_once_and_shared(
    get: Callable[..., Path], server: OpusServer, tmp_path: Path
) -> None:
    first = get("first", "en-ay")
    assert pairs_of(items(first, "en-ay")) == [pair[::-1] for pair in PAIRS]
    names = ["en-ay.source.zip", "en-ay.target.zip", "en-ay.xml.gz"]
    assert sorted(path.name for path in first.iterdir()) == [*names, "manifest.json"]
    known = json.loads((tmp_path / "fetched.lock").read_text())
    assert list(known) == [f"Voices/v1/xml/{name}" for name in names]
    assert known["Voices/v1/xml/en-ay.source.zip"]["path"] == "/OPUS-Voices/v1/xml/en.zip"
    asked = len(server.requests)
    second = get("second", "ay-en", "en-fr")
    places = [path for path, _ in server.requests[asked:]]
    assert sorted(places) == sorted(
        ["/opusapi/", "/OPUS-Voices/v1/xml/en-fr.xml.gz", "/OPUS-Voices/v1/xml/fr.zip"]
    )
    assert pairs_of(items(second, "en-fr")) == [("seven", "sept"), ("eight", "huit")]
    assert (second / "ay-en.target.zip").samefile(second / "en-fr.source.zip")
    # Nothing is asked for again, not even without a lock entry of the cache's first name.
    asked = len(server.requests)
    get("third", "ay-en", "en-fr")
    assert len(server.requests) == asked


def test_two_pairs_of_one_run_share_a_download(get: Callable[..., Path], server: OpusServer) -> None:
    folder = get("first", "en-ay", "en-fr")
    assert [path for path, _ in server.requests].count("/OPUS-Voices/v1/xml/en.zip") == 1
    assert pairs_of(items(folder, "en-fr")) == [("seven", "sept"), ("eight", "huit")]


def test_without_a_network_only_what_is_here_is_used(
    get: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    get("first", "en-ay")
    monkeypatch.setenv("ORTHOGLOT_OFFLINE", "1")
    get("second", "en-ay")
    with pytest.raises(OfflineError, match=r"Voices/v1/xml/en-fr\.xml\.gz"):
        get("third", "en-fr")


@pytest.mark.parametrize("end", ["aym-en.xml.gz", "xml/aym.zip"])
@pytest.mark.parametrize("fault", ["503", "cut"])
def test_a_fault_on_the_way_does_not_show(
    fault: str, end: str, get: Callable[..., Path], server: OpusServer
) -> None:
    server.faults[end] = [fault]
    assert pairs_of(items(get("a", "ay-en"), "ay-en")) == PAIRS


@pytest.mark.parametrize(
    ("name", "place"), [("ay-en.xml.gz", "xml/aym-en.xml.gz"), ("ay-en.source.zip", "xml/aym.zip")]
)
def test_a_damaged_or_another_file_leaves_nothing(
    name: str, place: str, get: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="SHA-256 is"):
        get("pinned", "ay-en", sha256={f"xml/{name}": "0" * 64})
    file = tmp_path / "opus/OPUS-Voices/v1" / place
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    with pytest.raises(DataError, match="truncated or corrupt"):
        get("cut", "ay-en")
    assert not (tmp_path / "cut" / name).exists()
    assert f"Voices/v1/xml/{name}" not in json.loads((tmp_path / "fetched.lock").read_text())


def test_a_pin_of_documents_that_two_pairs_share_holds(get: Callable[..., Path]) -> None:
    with pytest.raises(DataError, match=r"en-fr\.source\.zip: SHA-256 is .*, expected 000"):
        get("a", "en-ay", "en-fr", sha256={"xml/en-fr.source.zip": "0" * 64})


@pytest.mark.parametrize(
    ("pair", "others", "cause"),
    [
        ("en-de", {}, "OPUS has no en-de in Voices v1; it has aym-en, en-fr"),
        ("en-ay", {"version": "v9"}, "OPUS has no Voices v9; known: v1"),
        ("en-ay", {"corpus": "Moses"}, "OPUS has no xml files of Moses; give another"),
    ],
)
def test_what_opus_lacks_is_told(
    pair: str, others: dict[str, str], cause: str, get: Callable[..., Path], tmp_path: Path
) -> None:
    write_opus(tmp_path / "opus", "Moses", {("aym", "en"): [("maya", "one")]})
    with pytest.raises(ConfigError, match=cause):
        get("a", pair, **others)


def test_documents_that_opus_lacks_are_told(get: Callable[..., Path], tmp_path: Path) -> None:
    answer = tmp_path / "opus/opusapi.json"
    rows = json.loads(answer.read_text())["corpora"]
    answer.write_text(json.dumps({"corpora": [row for row in rows if row["preprocessing"] != "raw"]}))
    with pytest.raises(ConfigError, match="OPUS has no raw documents in aym and en of Voices v1"):
        get("a", "ay-en", preprocess="raw")


def test_opustools_gets_the_same_rows(server: OpusServer, tmp_path: Path) -> None:
    for kind in ("xml", "raw"):
        client = OpusGet(
            source="aym", target="en", directory="Voices", preprocess=kind, download_dir=str(tmp_path)
        )
        client.url = client.url.replace("https://opus.nlpl.eu/opusapi", server.api)
        rows, _ = client.get_corpora_data()
        ours = list_entries(
            server.api, source="aym", target="en", corpus="Voices", version="latest", preprocess=kind
        )  # type: ignore[arg-type]
        assert [row["url"] for row in rows] == [entry.url for entry in ours]
        assert len(ours) == 3


def test_prepared_text_has_the_pairs_above_the_threshold_and_the_counts(
    get: Callable[..., Path], tmp_path: Path
) -> None:
    folder = get("a", "ay-en")
    corpus = opus_settings("ay-en", preprocess="xml", threshold=0.5)
    values = {
        "pair": "ay-en",
        "sources": [{"name": "voices", **corpus.pair_sources(str(folder))["ay-en"]}],
        "cleaning": {"max_ratio": 99.0},
        "splits": {"valid": 0.0, "test": 0.0},
    }
    (tmp_path / "prepared").mkdir()
    prepare(PrepareSettings.model_validate(values), tmp_path / "prepared")
    assert sorted(read_split(tmp_path / "prepared", "train")) == sorted(
        PAIRS[place] for place in KNOWN[0.5][0]
    )
    counts = json.loads((tmp_path / "prepared/counts.json").read_text())
    assert counts["in"] == {"voices": 7}
    assert {reason: count for reason, count in counts["dropped"].items() if count} == KNOWN[0.5][1]


def files(
    folder: Path, links: str, source: str | None = None, target: str | None = None
) -> tuple[Path, tuple[Path, Path]]:
    """An alignment file and two zips with a document each."""
    path = folder / "x.xml.gz"
    path.write_bytes(gzip.compress(links.encode()))
    texts = {"s1": "eins", "s2": "zwei"}
    for code, text in (("de", source), ("en", target)):
        write_zip(folder / f"{code}.zip", {f"X/xml/{code}/d.xml": text or document(texts, words=True)})
    return path, (folder / "de.zip", folder / "en.zip")


def read_files(folder: Path, *given: str | None, least: float | None = None) -> list[SentencePair | LeftOut]:
    path, zips = files(folder, *given)  # type: ignore[arg-type]
    threshold = None if least is None else Threshold("certainty", least)
    return list(read_alignments(path, zips, Form("X/xml", words=True), threshold))


ONE = alignment("de", "en", {"d": [Link("s1", "s1", {"certainty": "1"})]})


@pytest.mark.parametrize("score", ["nan", "NaN", "inf", "-inf", "1e999", "", "1,5", "1_0", "٣", "0x1"])
def test_a_score_that_is_no_number_is_a_bad_row(score: str, tmp_path: Path) -> None:
    links = alignment("de", "en", {"d": [Link("s1", "s1", {"certainty": score})]})
    (item,) = read_files(tmp_path, links, least=-9e9)
    assert isinstance(item, LeftOut)
    assert item.row
    assert item.reason == "bad_row"
    assert item.row.line == 5
    assert "is no number" in item.row.fault
    assert pairs_of(read_files(tmp_path, links)) == [("eins", "eins")]  # nobody asked for the score


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("s1;s1", "s1;s1 s9"), r"names the sentence s9, which de/d\.xml\.gz and en/d\.xml\.gz do not have"),
        (("de/d.xml", "de/e.xml"), r"names de/e\.xml\.gz, which the zips"),
        (("de/d.xml", "../../etc/passwd"), r"names \.\./\.\./etc/passwd\.gz, which the zips"),
        (("s1;s1", "s1"), "does not name the sentences of two sides"),
        (("s1;s1", "s1;s1;s1"), "does not name the sentences of two sides"),
        (("xtargets", "targets"), "does not name the sentences of two sides"),
    ],
)
def test_a_link_that_names_what_is_not_there_is_a_bad_row(
    change: tuple[str, str], fault: str, tmp_path: Path
) -> None:
    (item,) = read_files(tmp_path, ONE.replace(*change))
    assert isinstance(item, LeftOut)
    assert item.row
    assert re.search(fault, item.row.fault)


BOMB = """<?xml version="1.0"?><!DOCTYPE {root} [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>"""
OUTSIDE = """<?xml version="1.0"?><!DOCTYPE {root} [<!ENTITY a SYSTEM "file:///etc/passwd">]>"""
TEXTS = document({"s1": "eins"}, words=True)
HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'


@pytest.mark.parametrize(
    ("links", "source", "cause"),
    [
        (ONE.replace(DOCTYPE, BOMB.format(root="cesAlign")[21:]), None, "declarations of its own"),
        (ONE.replace(DOCTYPE, OUTSIDE.format(root="cesAlign")[21:]), None, "declarations of its own"),
        (
            ONE,
            TEXTS.replace(HEAD, BOMB.format(root="document")),
            r"de\.zip:X/xml/de/d\.xml: has a document type",
        ),
        (ONE, TEXTS.replace(HEAD, OUTSIDE.format(root="document")), "declarations of its own"),
        (ONE, TEXTS.replace("eins", "&eacute;ins"), "not well-formed XML: undefined entity"),
        (
            ONE,
            TEXTS.replace("eins", "&a;").replace(HEAD, HEAD + '<!DOCTYPE document SYSTEM "file:///a.dtd">'),
            "uses the entity a, which it does not declare",
        ),
        (ONE.replace("</cesAlign>", ""), None, r"x\.xml\.gz: not well-formed XML: no element found"),
        (ONE[: len(ONE) // 2], None, "not well-formed XML"),
        (ONE, TEXTS.replace("</document>", "") * 2, "not well-formed XML"),
        ("<html></html>", None, "has no links: no alignment of OPUS"),
        ("", None, "not well-formed XML: no element found"),
    ],
)
def test_a_file_that_is_wrong_is_refused(links: str, source: str | None, cause: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=cause):
        # The sentence is not in the document, so that all of it is read.
        read_files(tmp_path, links.replace("s1;s1", "s1 s9;s1"), source)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_bytes_give_pairs_of_the_text_or_a_clean_error(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    path, zips = files(folder, ONE)
    damaged = data.draw(st.sampled_from([path, zips[0]]))
    content = bytearray(ONE.encode() if data.draw(st.booleans()) else damaged.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged.write_bytes(content)
    try:
        read = list(read_alignments(path, zips, Form("X/xml", words=True), Threshold("certainty", 0.5)))
    except DataError:
        return
    texts = {"eins", "zwei"}
    assert all({*" ".join(pair).split()} <= texts for pair in pairs_of(read))


def test_a_packed_alignment_that_breaks_off_is_refused(tmp_path: Path) -> None:
    path, zips = files(tmp_path, ONE)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DataError, match=r"x\.xml\.gz is truncated or corrupt"):
        list(read_alignments(path, zips, Form("X/xml", words=True)))


def test_a_score_that_no_link_has_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    path, zips = files(tmp_path, ONE)
    with pytest.raises(DataError, match=r"no link has the score overlap; there is certainty$"):
        list(read_alignments(path, zips, Form("X/xml", words=True), Threshold("overlap", 0)))


def test_zips_that_both_have_both_documents_are_refused(tmp_path: Path) -> None:
    path, (source, _) = files(tmp_path, ONE.replace("en/d.xml", "de/d.xml"))
    with pytest.raises(DataError, match=r"has de/d\.xml\.gz and de/d\.xml\.gz, and so has the other zip"):
        list(read_alignments(path, (source, source), Form("X/xml", words=True)))


def test_more_than_one_bad_link_in_a_hundred_is_refused(get: Callable[..., Path], tmp_path: Path) -> None:
    links = {"b": [*LINKS["b"] * 99, Link("7", "missing", {"certainty": "1"})]}
    write_opus_xml(tmp_path / "opus", "Many", {("aym", "en"): links}, {"aym": AYMARA, "en": ENGLISH})
    assert len(pairs_of(items(get("a", "ay-en", corpus="Many"), "ay-en", corpus="Many"))) == 198
    links["b"] += [Link("7", "missing")] * 2
    write_opus_xml(tmp_path / "opus", "More", {("aym", "en"): links}, {"aym": AYMARA, "en": ENGLISH})
    with pytest.raises(DataError, match=r"3 of 201 rows are bad, .* names the sentence missing"):
        items(get("b", "ay-en", corpus="More"), "ay-en", corpus="More")


def test_a_document_is_read_once_where_links_are_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {f"s{n}": f"text {n}" for n in range(100)}
    links = [Link(f"s{n}", f"s{n}") for n in range(100)]
    path, zips = files(tmp_path, alignment("de", "en", {"d": links}), *[document(texts, words=True)] * 2)
    read = Counter[str]()
    sentences = xces._sentences

    def counted(name: str, *given: Any) -> Any:
        read[name] += 1
        return sentences(name, *given)

    monkeypatch.setattr(xces, "_sentences", counted)
    monkeypatch.setattr(xces, "LINKS", 7)
    form = Form("X/xml", words=True)
    assert len(list(read_alignments(path, zips, form))) == 100
    assert set(read.values()) == {1}
    path, zips = files(
        tmp_path, alignment("de", "en", {"d": links[::-1]}), *[document(texts, words=True)] * 2
    )
    turned = [pair.source for pair in pairs_of(list(read_alignments(path, zips, form)))]
    assert turned == [f"text {n}" for n in reversed(range(100))]


def test_opustools_is_not_what_reads_them_because_it_opens_what_an_alignment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "private.xml.gz").write_bytes(gzip.compress(TEXTS.replace("eins", "secret").encode()))
    path, zips = files(tmp_path, ONE.replace("de/d.xml.gz", f"{tmp_path}/private.xml.gz"))
    with redirect_stderr(io.StringIO()):
        reader = OpusRead(
            directory="X", source="de", target="en", alignment_file=str(path), source_zip=str(zips[0]),
            target_zip=str(zips[1]),
        )  # fmt: skip
        assert [*reader.yieldPairs()] == [("secret", "eins")]
    (item,) = read_alignments(path, zips, Form("X/xml", words=True))
    assert isinstance(item, LeftOut)


@pytest.mark.parametrize(
    ("others", "cause"),
    [
        (
            {"threshold": 0.5, "preprocess": "moses"},
            "threshold: Moses archives have no scores; give preprocess",
        ),
        ({"attribute": "overlap"}, "attribute: overlap without a threshold does nothing"),
        ({"threshold": float("nan")}, "finite number"),
        ({"threshold": "0.5"}, "valid number"),
        ({"attribute": "a b", "threshold": 1.0}, "should match pattern"),
        ({"preprocess": "parsed"}, "'moses', 'xml' or 'raw'"),
        ({"sha256": {"en-ay": "0" * 64}}, "sha256 names en-ay, which is none of the pairs"),
        ({"pairs": ["en-es_AR"]}, r"en-es_AR: write the pair en-es, and spellings: \{es: \[es_AR\]\}"),
    ],
)
def test_settings_that_cannot_be_are_refused(others: dict[str, Any], cause: str) -> None:
    values = opus_settings("en-ay", preprocess="xml").model_dump() | others
    with pytest.raises(ValidationError, match=cause):
        OpusSettings.model_validate(values)


def test_a_threshold_is_part_of_what_a_corpus_with_fewer_pairs_reads() -> None:
    corpus = opus_settings(
        "en-ay", "en-fr", preprocess="raw", threshold=1.0, sha256={"raw/en-fr.xml.gz": "0" * 64}
    )
    fewer = corpus.with_pairs(["en-ay"])
    assert fewer.sha256 == {}
    assert fewer.pair_sources("x")["en-ay"] == {
        "kind": "opus", "corpus": "Voices", "preprocess": "raw", "attribute": "certainty", "threshold": 1.0,
        "paths": ["x/en-ay.xml.gz", "x/en-ay.source.zip", "x/en-ay.target.zip"],
    }  # fmt: skip
    assert opus_settings("en-ay").pair_sources("x")["en-ay"] == {"kind": "opus", "paths": ["x/en-ay.zip"]}
