"""Translation memories in XML: TMX and XLIFF, read in constant memory, without entities or other files."""

from __future__ import annotations

import gzip
import json
import re
import socket
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.parsers import expat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.corpora.prepare import prepare
from orthoglot.errors import DataError
from orthoglot.formats.base import Source
from orthoglot.formats.forms import form_of
from orthoglot.formats.kinds import tmx
from orthoglot.formats.pairs import read as read_file
from orthoglot.formats.sources import read_source
from orthoglot.study.corpora.kinds.local import LocalSettings
from orthoglot.study.jobs.prepare import PrepareSettings
from orthoglot.text import xml_memory
from orthoglot.text.bitext import LeftOut, SentencePair, write_pairs

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><header srclang="en" datatype="plaintext"><note>by hand</note></header><body>
{units}
</body></tmx>
"""
XLIFF = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en-US" target-language="de" datatype="plaintext" original="a"><body>
{units}
</body></file>
<file source-language="en" target-language="fr" datatype="plaintext" original="b"><body>
<trans-unit id="9"><source>Tree</source><target>Arbre</target></trans-unit>
</body></file></xliff>
"""
XLIFF2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de-DE">
<file id="f"><unit id="u">{units}</unit></file></xliff>
"""
LAUGHS = """<!DOCTYPE {root} [<!ENTITY a0 "ha">{entities}]>"""


def unit(**segments: str) -> str:
    variants = "".join(f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in segments.items())
    return f"<tu>{variants}</tu>\n"


def read(path: Path, pair: str = "en-de") -> list[Any]:
    kind = form_of([str(path)])
    source = Source.model_validate({"name": "memory", "kind": kind, "paths": [str(path)]})
    return list(read_source(source, *pair.split("-")))


def sides(path: Path, source: str, target: str) -> list[Any]:
    """The items in two languages or varieties of languages."""
    kind = form_of([str(path)])
    return list(read_source(Source(name="memory", kind=kind, paths=[str(path)]), source, target))


def write(path: Path, form: str, units: str, encoding: str = "utf-8") -> Path:
    path.write_text(form.format(units=units), encoding=encoding)
    return path


def test_units_of_a_tmx_file(tmp_path: Path) -> None:
    units = (
        unit(en="A tree", de="Ein Baum", fr="Un arbre")
        + '<tu><prop type="x">note</prop><tuv lang="DE-de"><seg>Haus</seg></tuv>'
        + '<tuv lang="EN-us"><seg>House</seg></tuv></tu>'
        + unit(en="Wood", fr="Bois")
        + unit(en="Open", de=" ")
        + unit(en="A &lt;b&gt;big&lt;/b&gt; %s &amp; more", de="&lt;b&gt;Mehr&lt;/b&gt; als %s")
        + unit(
            en='Click <bpt i="1">&lt;a&gt;</bpt>here<ept i="1">&lt;/a&gt;</ept> for <ph x="1">%d</ph> <hi>cats</hi>',
            de='<hi>Katzen</hi>: <ph x="1">%d</ph>, <bpt i="1">{\\b </bpt>hier<ept i="1">}</ept>',
        )
        + unit(en='<ph x="1">%d</ph> dogs', de="Hunde")
        # a placeholder in a tag is a part of the tag
        + unit(
            en='<bpt i="1">&lt;a href="%s"&gt;</bpt>Home<ept i="1"/>',
            de='<bpt i="1">&lt;a&gt;</bpt>Start<ept i="1"/>',
        )
    )
    items = read(write(tmp_path / "m.tmx", TMX, units))
    assert items == [
        ("A tree", "Ein Baum"),
        ("House", "Haus"),
        LeftOut("other_languages"),
        LeftOut("untranslated"),
        ("A big X & more", "Mehr als X"),
        ("Click here for X cats", "Katzen: X, hier"),
        LeftOut("placeholders"),
        ("Home", "Start"),
    ]
    assert read(tmp_path / "m.tmx", "fr-en")[0] == ("Un arbre", "A tree")
    with pytest.raises(
        DataError, match=r"no translation unit is in en and ja; its languages are DE-de, EN-us, de"
    ):
        read(tmp_path / "m.tmx", "en-ja")


def test_of_variants_the_plainest_counts_and_the_first_of_equal_ones(tmp_path: Path) -> None:
    units = unit(**{"en-GB": "Colour", "en": "Color", "zh-TW": "顏色", "zh-Hans": "颜色"})
    twice = unit(en="a", zh="甲").replace("</tu>", '<tuv xml:lang="en"><seg>b</seg></tuv></tu>')
    path = write(tmp_path / "m.tmx", TMX, units + twice + unit(en="Ship", **{"zh-TW": "船"}))
    further = LeftOut("further_variant")
    # A language alone was asked for, so its other varieties are counted.
    assert read(path, "en-zh") == [
        ("Color", "颜色"), further, further,
        ("a", "甲"), further,
        ("Ship", "船"),
    ]  # fmt: skip
    assert read(path, "en-zh_TW") == [("Color", "顏色"), further, LeftOut("other_languages"), ("Ship", "船")]


def test_a_blank_variant_hides_no_other_and_further_ones_are_counted(tmp_path: Path) -> None:
    def variants(tag: str, *texts: str) -> str:
        return "".join(f'<tuv xml:lang="{tag}"><seg>{one}</seg></tuv>' for one in texts)

    units = [
        ("See you",), ("Bis bald", "Bis dann", "", "Ciao"),
        ("", "Good night", "Night"), (" ", "Gute Nacht"),
        ("", " "), ("Leer",),
        ("Empty",), ("",),
    ]  # fmt: skip
    text = "".join(
        f"<tu>{variants('en', *sources)}{variants('de', *targets)}</tu>"
        for sources, targets in zip(units[::2], units[1::2], strict=True)
    )
    further = LeftOut("further_variant")
    assert read(write(tmp_path / "m.tmx", TMX, text)) == [
        ("See you", "Bis bald"), further, further,
        ("Good night", "Gute Nacht"), further,
        ("", "Leer"),
        LeftOut("untranslated"),
    ]  # fmt: skip


def test_line_breaks_of_the_layout_become_one_space(tmp_path: Path) -> None:
    laid_out = {"en": "\n\t\tThe  garden\n\n  is <hi>\n closed</hi>.\n", "de": "Der Garten\r\nist zu. "}
    assert read(write(tmp_path / "m.tmx", TMX, unit(**laid_out))) == [
        ("The  garden is closed.", "Der Garten ist zu.")
    ]
    # A line break that the file writes as a character is text.
    assert read(write(tmp_path / "m.tmx", TMX, unit(en="a&#13;b", de=" c ")))[0] == ("a\rb", " c ")
    units = "<trans-unit><source>\n  A\n  tree\n</source><target>\n Ein\n Baum</target></trans-unit>"
    assert read(write(tmp_path / "m.xlf", XLIFF, units))[0] == ("A tree", "Ein Baum")


def test_units_of_xliff_1_2(tmp_path: Path) -> None:
    units = """
    <trans-unit id="1" approved="yes">
      <source>Hello <g id="1">big</g> <x id="2" equiv-text="{{ name }}"/><x id="3"/></source>
      <target state="final">Hallo <x id="2" equiv-text="{{ name }}"/>, <g id="1">großer</g><x id="3"/></target>
      <alt-trans><source>Other</source><target>Anderes</target></alt-trans></trans-unit>
    <group id="g"><trans-unit id="2"><source>Save</source>
      <target state="needs-translation">Save</target></trans-unit></group>
    <trans-unit id="3" approved="no"><source>Open</source><target>Auf</target></trans-unit>
    <trans-unit id="4"><source>Print</source></trans-unit>"""
    path = write(tmp_path / "m.xlf", XLIFF, units)
    assert read(path) == [
        ("Hello big X", "Hallo X, großer"),
        LeftOut("fuzzy"),
        LeftOut("fuzzy"),
        LeftOut("untranslated"),
        LeftOut("other_languages"),
    ]
    assert read(path, "de-en")[0] == ("Hallo X, großer", "Hello big X")
    assert read(path, "en-fr")[-1] == ("Tree", "Arbre")
    with pytest.raises(DataError, match="its languages are en-US-de, en-fr"):
        read(path, "en-ru")


def test_a_language_that_the_file_does_not_state_is_that_of_the_sides(tmp_path: Path) -> None:
    units = """<trans-unit id="1"><source>Tree</source><target xml:lang="de-AT">Baum</target></trans-unit>
    <trans-unit id="2"><source>Tree</source><target xml:lang="fr">Arbre</target></trans-unit>
    <trans-unit id="3"><source>Wood</source><target>Holz</target></trans-unit>"""
    path = write(tmp_path / "m.xlf", XLIFF.replace(' target-language="de"', ""), units)
    other = LeftOut("other_languages")
    assert read(path) == [("Tree", "Baum"), other, other, other]
    assert read(path, "fr-en") == [other, ("Arbre", "Tree"), other, ("Arbre", "Tree")]
    with pytest.raises(DataError, match=r"its languages are .*en-US-\(not stated\)"):
        read(path, "en-ru")


def test_a_unit_without_a_source_or_not_to_be_translated_is_left_out(tmp_path: Path) -> None:
    units = """<trans-unit id="1"><target>Baum</target></trans-unit>
    <trans-unit id="2" translate="no"><source>Tree</source><target>Tree</target></trans-unit>
    <group translate="no"><trans-unit id="3"><source>Oak</source><target>Eiche</target></trans-unit></group>
    <trans-unit id="4"><source>Wood</source><target>Holz</target></trans-unit>"""
    path = write(tmp_path / "m.xlf", XLIFF, units)
    assert read(path)[:4] == [LeftOut("untranslated")] * 3 + [("Wood", "Holz")]


def test_units_of_xliff_2(tmp_path: Path) -> None:
    units = """<segment id="1" state="final"><source>A <pc id="1">red</pc> <ph id="2" disp="%s"/></source>
      <target>Ein <pc id="1">roter</pc> <ph id="2" disp="%s"/></target></segment>
      <ignorable><source> </source></ignorable>
      <segment id="2" state="initial"><source>Car</source><target>Car</target></segment>
      <segment id="3"><source>Bus</source><target>Bus<cp hex="0001"/></target></segment>"""
    path = write(tmp_path / "m.xliff", XLIFF2, units)
    assert read(path) == [("A red X", "Ein roter X"), LeftOut("fuzzy"), ("Bus", "Bus")]


@pytest.mark.parametrize(
    ("form", "code"),
    [
        (TMX, "<ph>&lt;br/&gt;</ph>"),
        (TMX, " <ph>&lt;BR&gt;</ph> "),
        (TMX, '<bpt i="1">&lt;p class="x"&gt;</bpt>'),
        (TMX, '<ph type="lb"/>'),
        (TMX, "<ph>&#10;</ph>"),
        (TMX, "<br/>"),
        (XLIFF, '<x id="1" ctype="lb"/>'),
        (XLIFF, '<x id="1" ctype="x-br" equiv-text="&lt;br&gt;"/>'),
        (XLIFF, '<x id="1" equiv-text="&#10;"/>'),
        (XLIFF2, '<ph id="1" type="fmt" subType="xlf:lb"/>'),
        (XLIFF2, '<cp hex="0009"/>'),
        (XLIFF2, '<cp hex="000A"/>'),
    ],
)
def test_a_code_for_a_break_divides_words(form: str, code: str, tmp_path: Path) -> None:
    sides = f"one{code}two", f"eins{code}zwei"
    units = {
        TMX: unit(en=sides[0], de=sides[1]),
        XLIFF: f'<trans-unit id="1"><source>{sides[0]}</source><target>{sides[1]}</target></trans-unit>',
        XLIFF2: f"<segment><source>{sides[0]}</source><target>{sides[1]}</target></segment>",
    }[form]
    path = write(tmp_path / ("m.tmx" if form is TMX else "m.xliff"), form, units)
    assert read(path)[0] == ("one two", "eins zwei")
    assert read_file([path], ("en", "de")).pairs == [("one two", "eins zwei")]


@pytest.mark.parametrize("code", ["<ph>&lt;b&gt;</ph>", '<ph type="bold"/>', "<ph>&lt;img src=x&gt;</ph>"])
def test_other_codes_divide_no_word(code: str, tmp_path: Path) -> None:
    path = write(tmp_path / "m.tmx", TMX, unit(en=f"on{code}e", de=f"ein{code}s"))
    assert read(path) == [("one", "eins")]


def test_text_that_a_tracked_change_removes_is_no_text(tmp_path: Path) -> None:
    mark = '<mrk mtype="x-sdl-{}">{}</mrk>'
    target = f"Der Preis ist {mark.format('deleted', 4)}{mark.format('added', 5)} Euro."
    source = "The price is 5 euros."
    units = f'<trans-unit id="1"><source>{source}</source><target>{target}</target></trans-unit>'
    path = write(tmp_path / "m.sdlxliff", XLIFF, units)
    assert read(path)[0] == (source, "Der Preis ist 5 Euro.")
    assert read_file([path], ("en", "de")).pairs == [(source, "Der Preis ist 5 Euro.")]


UNSTATED = """<xliff version="1.2"><file original="a" source-language="{source}" datatype="plaintext"><body>
<trans-unit id="1"><source>{text}</source><target>{translation}</target></trans-unit></body></file></xliff>"""


@pytest.mark.parametrize(
    ("source", "languages", "pair"),
    [
        ("en", ("en", "de"), ("one", "eins")),
        ("en-GB", ("de-AT", "en"), ("eins", "one")),
        ("pt-BR", ("pt-BR", "pt-PT"), ("one", "eins")),
    ],
)
def test_a_target_without_a_language_is_in_the_other_one(
    source: str, languages: tuple[str, str], pair: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "m.xliff"
    path.write_text(UNSTATED.format(source=source, text="one", translation="eins"))
    assert sides(path, *languages) == [pair]
    assert read_file([path], languages).pairs == [pair]
    with pytest.raises(DataError, match="no translation is in fr and de"):
        sides(path, "fr", "de")


@pytest.mark.parametrize("form", [TMX, XLIFF, XLIFF2])
def test_entities_and_document_types_are_refused(form: str, tmp_path: Path) -> None:
    root, name = ("tmx", "m.tmx") if form is TMX else ("xliff", "m.xlf")
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    types = [
        LAUGHS.format(root=root, entities=entities),
        f'<!DOCTYPE {root} [<!ENTITY a9 SYSTEM "{secret.as_uri()}">]>',
        f'<!DOCTYPE {root} SYSTEM "x.dtd" [<!ENTITY % more SYSTEM "{secret.as_uri()}"> %more;]>',
        f"<!-- {'x' * 70_000} --><!DOCTYPE {root} []>",
    ]
    units = unit(en="&a9;", de="&a9;")
    for doctype in types:
        start, end = form.format(units=units).split(f"<{root}", 1)
        (tmp_path / name).write_text(f"{start}{doctype}\n<{root}{end}")
        with pytest.raises(
            DataError, match=rf"{name}: has a document type with declarations of its own"
        ) as refused:
            read(tmp_path / name)
        assert "\n" not in str(refused.value)
    # An entity that nothing declares is no text either, whatever another file may declare.
    for doctype in ("", f'<!DOCTYPE {root} SYSTEM "{secret.as_uri()}">'):
        start, end = form.format(units=units).split(f"<{root}", 1)
        (tmp_path / name).write_text(f"{start}{doctype}<{root}{end}")
        with pytest.raises(DataError, match="not well-formed"):
            read(tmp_path / name)


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE tmx SYSTEM "tmx14.dtd">',
        "<!DOCTYPE tmx SYSTEM 'http://127.0.0.1:9/tmx11.dtd'>",
        '<!DOCTYPE tmx PUBLIC "-//LISA OSCAR:1998//DTD for Translation Memory eXchange//EN" "tmx14.dtd" >',
        "<!DOCTYPE tmx>",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_alone_is_read_and_nothing_is_fetched(
    doctype: str, encoding: str, tmp_path: Path
) -> None:
    # If it were read, this file would end the reading.
    (tmp_path / "tmx14.dtd").write_text("<!ELEMENT")
    text = TMX.format(units=unit(en="A tree &amp; more", de="Ein Baum")).replace("UTF-8", encoding)
    (tmp_path / "m.tmx").write_text(text.replace("<tmx", f"{doctype}\n<tmx"), encoding=encoding)
    with patched_sockets():
        assert read(tmp_path / "m.tmx") == [("A tree & more", "Ein Baum")]


@contextmanager
def patched_sockets() -> Iterator[None]:
    """No socket and, but for the memory, no file may be opened."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "socket", None)
        patch.setattr(socket, "create_connection", None)
        yield


MIB = 1 << 20


@pytest.mark.parametrize(
    ("start", "filling", "mebibytes", "cause"),
    [
        ('<tmx><header x="', b"a" * MIB, 80, "a tag or comment is longer than 16 MiB"),
        ("<tmx><!-- ", b"<b> " * (MIB // 4), 80, "a tag or comment is longer than 16 MiB"),
        ("<tmx><?pi ", b"<? " * (MIB // 3), 80, "a tag or comment is longer than 16 MiB"),
        ('<!DOCTYPE tmx SYSTEM "', b"a" * MIB, 80, "a tag or comment is longer than 16 MiB"),
        ("", b" " * MIB, 2048, "a text is longer than 32 MiB"),
        ("<tmx><body>", b" \n" * (MIB // 2), 2048, "a text is longer than 32 MiB"),
        ("<tmx><body><tu><tuv><seg>", b"a" * MIB, 2048, "a text is longer than 32 MiB"),
    ],
)
def test_one_huge_part_is_refused_in_linear_time_and_little_memory(
    start: str, filling: bytes, mebibytes: int, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def huge(_: Path) -> Iterator[bytes]:
        yield start.encode()
        for _ in range(mebibytes):
            sizes.append(len(filling))
            yield filling

    fed: list[int] = []
    real = expat.ParserCreate

    class Counting:
        def __init__(self, *arguments: Any) -> None:
            self.__dict__["parser"] = real(*arguments)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.parser, name)

        def __setattr__(self, name: str, value: Any) -> None:
            setattr(self.parser, name, value)

        def Parse(self, data: bytes, *last: bool) -> Any:  # noqa: N802
            fed.append(len(data))
            # What is not complete is read once more.
            fed.append(max(sum(fed[::2]) - len(data) - self.parser.CurrentByteIndex, 0))
            return self.parser.Parse(data, *last)

    monkeypatch.setattr(xml_memory, "unpacked", huge)
    monkeypatch.setattr(xml_memory.expat, "ParserCreate", Counting)
    tracemalloc.start()
    with pytest.raises(DataError, match=cause):
        read(tmp_path / "m.tmx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(sizes) <= 40 * MIB
    assert sum(fed) <= 3 * sum(sizes) + MIB
    assert peak < 400 * MIB


def test_long_parts_below_the_limit_are_read(tmp_path: Path) -> None:
    note, comment = "n" * (3 * MIB), "<c>" * MIB
    units = f"<!-- {comment} -->" + unit(en="A tree", de="Ein Baum").replace("<tu>", f'<tu x="{note}">')
    assert read(write(tmp_path / "m.tmx", TMX, units)) == [("A tree", "Ein Baum")]


@pytest.mark.parametrize(
    ("name", "form", "pair"),
    [
        ("m.tmx", TMX, unit(en="{0}1", de="{0}2")),
        (
            "m.xliff",
            XLIFF,
            '<trans-unit id="1"><source>{0}1</source><target>{0}2</target></trans-unit>',
        ),
    ],
)
def test_a_unit_of_many_lines_is_written_again(name: str, form: str, pair: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, form, pair.format("a tree\n" * 50_000))
    for score in (0.25, 0.5):
        read_file([path], ("en", "de")).write(path, ("score",), [(0, (score,))])
        again = read_file([path], ("en", "de")).with_columns(["score"])
        assert again.pairs == [(("a tree " * 50_000) + "1", ("a tree " * 50_000) + "2")]
        assert (again.names[2:], again.rows[0][2:]) == (["score"], [f"{score:.6f}"])


def test_of_two_varieties_the_named_one_is_read(tmp_path: Path) -> None:
    both = unit(**{"en": "The train", "pt-PT": "O comboio", "pt-BR": "O trem"})
    one = unit(**{"en": "A bus", "pt-PT": "Um autocarro"})
    path = write(tmp_path / "m.tmx", TMX, both + one)
    assert sides(path, "en", "pt_BR") == [("The train", "O trem"), LeftOut("other_languages")]
    assert sides(path, "en", "pt-PT") == [("The train", "O comboio"), ("A bus", "Um autocarro")]
    assert sides(path, "pt-br", "pt-pt") == [("O trem", "O comboio"), LeftOut("other_languages")]
    assert sides(path, "pt", "pt-PT") == [("O trem", "O comboio"), LeftOut("other_languages")]
    with pytest.raises(
        DataError, match="no translation unit is in en and pt-AO; its languages are en, pt-BR, pt-PT"
    ):
        sides(path, "en", "pt-AO")
    chinese = unit(**{"en": "Color", "zh-CN": "颜色", "zh-TW": "顏色"}) + unit(
        **{"en": "Ship", "zh-CN": "船"}
    )
    path = write(tmp_path / "m.tmx", TMX, chinese)
    assert sides(path, "en", "zh-TW") == [("Color", "顏色"), LeftOut("other_languages")]
    assert sides(path, "en", "zh-Hant") == [("Color", "顏色"), LeftOut("other_languages")]
    assert sides(path, "zh-CN", "zh-TW") == [("颜色", "顏色"), LeftOut("other_languages")]


def test_a_file_without_the_named_variety_serves_if_it_does_not_say_another(tmp_path: Path) -> None:
    path = write(tmp_path / "m.tmx", TMX, unit(en="A tree", pt="Uma árvore"))
    assert sides(path, "en-US", "pt-BR") == [("A tree", "Uma árvore")]
    path = write(tmp_path / "m.tmx", TMX, unit(**{"en": "A tree", "pt-PT": "Uma árvore"}))
    with pytest.raises(DataError, match="no translation unit is in pt-BR and pt-PT"):
        sides(path, "pt-BR", "pt-PT")


def test_a_language_alone_takes_what_is_there_and_says_which(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    units = unit(**{"en": "a", "pt-PT": "b", "pt-BR": "c"}) + unit(**{"en": "d", "pt-BR": "e"})
    path = write(tmp_path / "m.tmx", TMX, units + unit(**{"en": "f", "pt-PT": "g", "pt-AO": "h"}))
    with caplog.at_level("INFO"):
        further = LeftOut("further_variant")
        assert sides(path, "en", "pt") == [("a", "b"), further, ("d", "e"), ("f", "g"), further]
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: pt is pt-PT (2) and pt-BR (1), not pt-AO"
    ]
    caplog.clear()
    with caplog.at_level("INFO"):
        sides(path, "en", "pt_BR")
    assert caplog.records == []


def test_files_of_an_xliff_in_two_varieties_are_kept_apart(tmp_path: Path) -> None:
    def file(source: str, target: str, text: str) -> str:
        return (
            f'<file source-language="{source}" target-language="{target}" original="x"><body>'
            f"<trans-unit><source>{text}</source><target>{text} {target}</target></trans-unit></body></file>"
        )

    other = LeftOut("other_languages")
    path = tmp_path / "m.xlf"
    path.write_text(f"<xliff>{file('en-US', 'zh-TW', 'a')}{file('en-US', 'zh-CN', 'b')}</xliff>")
    assert sides(path, "en", "zh-TW") == [("a", "a zh-TW"), other]
    assert sides(path, "zh_CN", "en") == [other, ("b zh-CN", "b")]
    assert sides(path, "en", "zh") == [("a", "a zh-TW"), ("b", "b zh-CN")]
    path.write_text(f"<xliff>{file('en-US', 'en-GB', 'color')}{file('pt', 'pt-BR', 'x')}</xliff>")
    assert sides(path, "en-US", "en-GB") == [("color", "color en-GB"), other]
    assert sides(path, "en-GB", "en-US") == [("color en-GB", "color"), other]
    assert sides(path, "pt-BR", "pt") == [other, ("x pt-BR", "x")]
    path.write_text(f"<xliff>{file('en', 'ca-ES-valencia', 'a')}{file('en', 'sr-Latn-RS', 'b')}</xliff>")
    assert sides(path, "en", "ca") == [("a", "a ca-ES-valencia"), other]
    assert sides(path, "en", "sr@latin") == [other, ("b", "b sr-Latn-RS")]


@pytest.mark.parametrize(
    "tag", ["ca-ES-valencia", "es-x-int-SDL", "de-DE-1996", "zh-CHS", "es-ES_tradnl", "en-GB-oxendict"]
)
def test_a_tag_with_a_variety_is_its_language(tag: str, tmp_path: Path) -> None:
    path = write(tmp_path / "m.tmx", TMX, unit(**{"fr": "Un arbre", tag: "text"}))
    assert sides(path, "fr", tag[:2]) == sides(path, "fr", tag) == [("Un arbre", "text")]
    with pytest.raises(DataError, match=f"its languages are {', '.join(sorted(['fr', tag]))}"):
        sides(path, "fr", "it")


def test_the_text_as_it_was_read_is_beside_the_text_to_encode(tmp_path: Path) -> None:
    code, end = '<bpt i="1">&lt;a&gt;</bpt>', '<ept i="1">&lt;/a&gt;</ept>'
    units = (
        unit(en="A &lt;b&gt;big&lt;/b&gt; %s &amp;amp; more", de="&lt;b&gt;Mehr&lt;/b&gt; als %s")
        + unit(en=f"Go {code}on{end} <ph>%d</ph>", de=f"<ph>%d</ph>, {code}los{end}")
        + unit(en="If a&lt;b and c&gt;d", de="Wenn a&lt;b und c&gt;d")
        + unit(en="&amp;File", de="&amp;Datei")
    )
    source = Source(name="m", kind="tmx", paths=[str(write(tmp_path / "m.tmx", TMX, units))])
    read_units = list(tmx.units(source, "en", "de"))
    assert [one.number for one in read_units] == [0, 1, 2, 3]
    assert [one.written for one in read_units] == [
        ("A <b>big</b> %s &amp; more", "<b>Mehr</b> als %s"),
        ("Go on %d", "%d, los"),
        ("If a<b and c>d", "Wenn a<b und c>d"),
        ("&File", "&Datei"),
    ]
    assert [one.item for one in read_units] == [
        ("A big X & more", "Mehr als X"),
        ("Go on X", "X, los"),
        ("If a<b and c>d", "Wenn a<b und c>d"),
        ("File", "Datei"),
    ]


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"<html><body/></html>", "its root is <html>, not <tmx>"),
        (b"<tmx><body><tu></body></tmx>", "not well-formed"),
        (b"<tmx><body></body>", "not well-formed"),
        (b"", "not well-formed"),
        (b'<?xml version="1.0" encoding="klingon"?><tmx/>', "not well-formed"),
        (b"<tmx><body></body></tmx>", "its languages are none"),
        (b"<tmx>" + b"<hi>" * 5000, "<hi> is nested more than 200 deep"),
    ],
)
def test_what_is_no_memory_is_refused_by_name(content: bytes, cause: str, tmp_path: Path) -> None:
    (tmp_path / "m.tmx").write_bytes(content)
    with pytest.raises(DataError, match=cause):
        read(tmp_path / "m.tmx")


def test_packed_files_and_other_encodings_give_the_same(tmp_path: Path) -> None:
    units = "".join(unit(en=f"word {n}", de=f"Wört {n}") for n in range(300))
    plain = read(write(tmp_path / "m.tmx", TMX, units))
    assert len(plain) == 300
    (tmp_path / "m.tmx.gz").write_bytes(gzip.compress((tmp_path / "m.tmx").read_bytes()))
    assert read(tmp_path / "m.tmx.gz") == plain
    text = TMX.format(units=units).replace("UTF-8", "UTF-16")
    (tmp_path / "wide.tmx").write_bytes(text.encode("utf-16"))
    assert read(tmp_path / "wide.tmx") == plain
    (tmp_path / "m.tmx.gz").write_bytes((tmp_path / "m.tmx.gz").read_bytes()[:-20])
    with pytest.raises(DataError, match="truncated"):
        read(tmp_path / "m.tmx.gz")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for count in (1_500, 6_000):
        path = tmp_path / f"{count}.tmx"
        units = (unit(en=f"Sentence number {n}", de=f"Satz Nummer {n}") for n in range(count))
        with path.open("w") as file:
            head, tail = TMX.split("{units}")
            file.write(head)
            file.writelines(units)
            file.write(tail)
        source = Source(name="m", kind="tmx", paths=[str(path)])
        tracemalloc.start()
        assert sum(1 for _ in read_source(source, "en", "de")) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), min_size=1)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5))
def test_text_without_markup_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]
) -> None:
    # Nor access keys, which "_" and "&" mark.
    pairs = [[re.sub(r"[]<>{}%$&_[*`]", "", side) + "." for side in pair] for pair in texts]
    path = tmp_path_factory.mktemp("tmx") / "m.tmx"
    path.write_bytes(TMX.replace("{units}", "".join(unit(en=one, de=two) for one, two in pairs)).encode())
    assert read(path) == [SentencePair(*pair) for pair in pairs]


def test_a_memory_in_place_of_a_tsv_file_gives_the_same_pairs_and_counts_what_is_left_out(
    tmp_path: Path,
) -> None:
    pairs = [SentencePair(f"sentence {n}", f"satz {n}") for n in range(200)]
    write_pairs(tmp_path / "m.tsv.gz", pairs)
    more = unit(en="alone", fr="seul") + unit(en="%s", de="nichts")
    write(tmp_path / "m.tmx", TMX, "".join(unit(en=one, de=two) for one, two in pairs) + more)
    counts = {}
    for name in ("m.tsv.gz", "m.tmx"):
        corpus = LocalSettings(kind="local", pairs=["en-de"], files=[str(tmp_path / name)], licence="own")
        source = {"name": "m", **corpus.pair_sources("")["en-de"]}
        output = tmp_path / f"{name}.out"
        output.mkdir()
        settings = {"pair": "en-de", "sources": [source], "cleaning": {}, "splits": {"test": 0.2}}
        prepare(PrepareSettings.model_validate(settings), output)
        counts[name] = json.loads((output / "counts.json").read_text())
    for split in ("train", "valid", "test"):
        packed = [tmp_path / f"{name}.out/{split}-00000.tsv.zst" for name in counts]
        assert packed[0].read_bytes() == packed[1].read_bytes()
    found = counts["m.tmx"]
    assert found["in"] == {"m": 202}
    assert (found["dropped"]["other_languages"], found["dropped"]["placeholders"]) == (1, 1)
    assert sum(found["dropped"].values()) + sum(found["kept"].values()) == 202
    assert found["kept"] == counts["m.tsv.gz"]["kept"]


def test_one_memory_may_serve_several_pairs() -> None:
    many = LocalSettings(kind="local", pairs=["en-de", "en-fr"], files=["m.tmx"], licence="own")
    assert {source["kind"] for source in many.pair_sources("").values()} == {"tmx"}
    forms = {"a.tsv": "local", "a.tsv.gz": "local", "a.xlf.zst": "xliff", "a.xliff": "xliff", "a.mo": "po"}
    assert {name: form_of([name]) for name in forms} == forms
