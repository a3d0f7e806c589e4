"""Sentence pairs of a user's files: every form in, every form out, and nothing lost on the way."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.errors import ConfigError, DataError
from orthoglot.formats.forms import source_of
from orthoglot.formats.pairs import Pairs, read, read_pairs
from orthoglot.formats.rows import write_rows
from orthoglot.formats.sources import read_source, write_bad_rows
from orthoglot.text.bitext import LeftOut, SentencePair, read_json
from orthoglot.text.program_messages import plain

NAMED = "margin\tsource\ttarget\n1.5\tone\teins\n1.2\ttwo\tzwei\n"
PAIRS = [("one", "eins"), ("two", "zwei")]
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
# As OmegaT exports a project.
OMEGAT = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a memory -->
<!DOCTYPE tmx SYSTEM "tmx11.dtd">
<tmx version="1.1">
  <header creationtool="OmegaT" o-tmf="OmegaT TMX" adminlang="EN-US" datatype="plaintext" segtype="sentence" \
srclang="EN-US">
    <prop type="project">Häuser &amp; Bäume</prop>
  </header>
  <body>
<!-- Default translations -->
    <tu tuid="1" changedate="20200102T030405Z">
      <note>first</note>
      <tuv lang="EN-US">
        <seg>A <bpt i="0"/>tree<ept i="0"/></seg>
      </tuv>
      <tuv lang="DE" changeid="me" changedate="20200102T030405Z"><seg>Ein <bpt i="0"/>Baum<ept i="0"/></seg></tuv>
    </tu>
    <tu tuid="2"><tuv lang="EN-US"><seg>A house</seg></tuv><tuv lang="DE"><seg>Ein Haus</seg></tuv></tu>
    <tu tuid="3" />
<!-- Alternative translations -->
    <tu tuid="4"><tuv lang="DE"><seg>Wald</seg></tuv>
      <tuv lang="EN-US"><seg>Wood &#13; &lt;</seg></tuv></tu><tu tuid="5"><tuv lang="EN-US"><seg>Sea</seg></tuv>
      <tuv lang="DE"><seg>Meer</seg></tuv></tu>
  </body>
</tmx>
"""
WHOLE = {number: OMEGAT.index(f'<tu tuid="{number}"') for number in range(1, 6)}


def write(pairs: Pairs, output: Path, *numbers: int) -> Path:
    pairs.write(output, (), ((number, ()) for number in numbers))
    return output


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("a.tsv", NAMED, []),
        ("a.tsv", "\ufeff" + NAMED, ["source", "target"]),
        ("a.tsv", NAMED.replace("target", "german"), ["source", "german"]),
        ("a.tsv", NAMED, [2, 3]),  # a row of the names is never a pair
        ("a.tsv", NAMED.partition("\n")[2], [2, 3]),
        ("a.tsv", "\ufeffsource\ttarget\n" + "one\teins\ntwo\tzwei\n", []),
        ("a.tsv", "target\tsource\neins\tone\nzwei\ttwo\n", []),
        ("a.tsv", "one\teins\ntwo\tzwei\n", []),
        ("a.tsv", "eins\tone\nzwei\ttwo\n", [2, 1]),
        ("a.csv", 'id,source,target\n1,"one",eins\n2,two,zwei\n', []),
        ("a.csv", "eins,one\nzwei,two\n", [2, 1]),
    ],
)
def test_columns_are_named_or_asked_for(
    name: str, content: str, columns: list[str | int], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    assert read([tmp_path / name], columns=columns).pairs == PAIRS


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        (
            "1\tone\teins\n",
            [],
            "line 1 has 3 columns, not 2, and no names source and target; .* --columns 2,3",
        ),
        ("score\tsource\tother\n", [], "line 1 has 3 columns, not 2"),
        ("one\n", [], "line 1 has 1 columns, not 2"),
        (NAMED, ["source", "swahili"], "no column swahili; its columns are margin, source, target"),
        ("1\tone\teins\n", [2, 4], "line 1 has 3 columns, not 4"),
        (NAMED + "one\teins\n", [], "line 4 has 2 columns, not 3"),
        ("", [], "is empty"),
    ],
)
def test_columns_are_never_guessed(
    content: str, columns: list[str | int], message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(DataError, match=message):
        read([tmp_path / "a.tsv"], columns=columns)


def test_other_columns_stay_beside_their_pairs(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\tscore\tsource\ttarget\n7\t.1\tone\teins\n8\t.2\ttwo\tzwei\n")
    pairs = read([tmp_path / "a.tsv"])
    pairs.write(tmp_path / "b.tsv", ("score", "flag"), [(1, (0.5, "copy")), (0, (None, ""))])
    expected = "x\tscore\tsource\ttarget\tflag\n8\t0.500000\ttwo\tzwei\tcopy\n7\t\tone\teins\t\n"
    assert (tmp_path / "b.tsv").read_text() == expected
    pairs.write(tmp_path / "b.jsonl.zst", ("score",), [(1, (1 / 3,))])
    ((_, line),) = read_json(tmp_path / "b.jsonl.zst")
    assert line == {"x": "8", "source": "two", "target": "zwei", "score": 1 / 3}
    pairs._replace(languages=("en", "de")).write(tmp_path / "b.tmx", ("score",), [(0, (0.5,))])
    text = (tmp_path / "b.tmx").read_text()
    assert '<tu><prop type="x">7</prop><prop type="score">0.500000</prop><tuv xml:lang="en"><seg>one<' in text
    # What nothing is added to keeps its shape: without a row of names, too.
    (tmp_path / "a.tsv").write_text("7\tone\teins\n8\ttwo\tzwei\n")
    bare = read([tmp_path / "a.tsv"], columns=[3, 2])
    assert write(bare, tmp_path / "b.tsv", 0).read_text() == "7\tone\teins\n"
    bare.write(tmp_path / "b.tsv", ("flag",), [(1, ("x",))])
    assert (tmp_path / "b.tsv").read_text() == "column1\ttarget\tsource\tflag\n8\ttwo\tzwei\tx\n"


def test_two_files_and_memories_are_pairs(tmp_path: Path) -> None:
    (tmp_path / "a.en.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (tmp_path / "a.de").write_text("eins\nzwei\n")
    both = read([tmp_path / "a.en.gz", tmp_path / "a.de"])
    assert (both.pairs, both.names, both.languages) == (PAIRS, ["source", "target"], (None, None))
    units = "".join(
        f"<trans-unit><source>{source}</source><target>{target}</target></trans-unit>"
        for source, target in PAIRS
    )
    (tmp_path / "a.xlf").write_text(
        f'<xliff><file source-language="en-US" target-language="de"><body>{units}</body></file></xliff>'
    )
    (tmp_path / "a.po").write_text("".join(f'msgid "{a}"\nmsgstr "{b}"\n\n' for a, b in PAIRS))
    memory = read([tmp_path / "a.xlf"])
    assert (memory.pairs, memory.languages, memory.memory) == (PAIRS, ("en", "de"), tmp_path / "a.xlf")
    assert read([tmp_path / "a.xlf"], ("de", None)).pairs == [pair[::-1] for pair in PAIRS]
    assert read([tmp_path / "a.po"], ("en", "de")).pairs == PAIRS
    with pytest.raises(ConfigError, match=r"a\.po: name its languages with .*; it does not state both"):
        read([tmp_path / "a.po"])
    # The languages of the one are those of the other.
    written = read([write(memory, tmp_path / "b.tmx", 0, 1)])
    assert (written.pairs, written.languages) == (PAIRS, ("en", "de"))


@pytest.mark.parametrize(
    ("files", "columns", "message"),
    [
        (["a", "b", "c"], [], "a b c: give one file, or a source and its translation"),
        (["-", "-"], [], "- -: give one file, or a source"),
        (["a", "b"], [1, 2], "a b: no table, so leave --columns out"),
        (["a.tmx"], [1, 2], "a.tmx: no table, so leave --columns out"),
        (["a.csv", "b.csv"], [], "a.csv b.csv: say --columns, one of each file"),
    ],
)
def test_what_does_not_fit_together_is_refused(files: list[str], columns: list[int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read([Path(file) for file in files], columns=columns)


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.tsv", NAMED, {}),
        ("a.tsv", "one\teins\ntwo\tzwei\n", {}),
        ("a.csv", "de;x;en\neins;1;one\nzwei;2;two\n", {"columns": ["en", "de"]}),
        ("a.csv", "1,eins,one\n2,zwei,two\n", {"columns": [3, 2]}),
        ("a.jsonl", '{"source": "one", "target": "eins"}\n{"source": "two", "target": "zwei"}\n', {}),
        ("a.po", "".join(f'msgid "{a}"\nmsgstr "{b}"\n\n' for a, b in PAIRS), {"languages": ["en", "de"]}),
        (
            "a.tmx",
            "<tmx><header/><body>"
            + "".join(
                f'<tu><tuv xml:lang="de"><seg>{b}</seg></tuv><tuv xml:lang="en"><seg>{a}</seg></tuv></tu>'
                for a, b in PAIRS
            )
            + "</body></tmx>",
            {"languages": ("en", None)},
        ),
    ],
)
def test_pairs_of_any_file_are_a_list_of_two_texts(
    name: str, text: str, options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = read_pairs(path, **options)
    assert (found, {type(pair) for pair in found}) == (PAIRS, {tuple})
    assert read_pairs([str(path)], **options) == read_pairs(str(path), **options) == PAIRS


def test_pairs_of_two_files_are_their_lines(tmp_path: Path) -> None:
    for name, side in zip(("a.en", "a.de"), zip(*PAIRS, strict=True), strict=True):
        (tmp_path / name).write_text("\n".join([*side, ""]))
    assert read_pairs([tmp_path / "a.en", str(tmp_path / "a.de")]) == PAIRS


@pytest.mark.parametrize(
    "languages",
    ["en", "de", ("en",), ("en", "de", "fr"), (), ("en", 3), {"en": 1, "de": 2}, {"en", "de"}, ("", "")],
)
def test_two_languages_are_asked_for(languages: Any, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(NAMED)
    with pytest.raises(ConfigError, match=r"languages is .*: give two codes"):
        read_pairs(tmp_path / "a.tsv", languages)


@pytest.mark.parametrize(
    ("files", "columns", "message"),
    [
        ([], (), r"files is \[\]: give one file"),
        ("", (), r"files is ''"),
        (["a.tsv", "b.tsv", "c.tsv"], (), "give one file"),
        ("a.tsv", ("source",), r"columns is \('source',\): give two names"),
        ("a.tsv", [0, 1], "give two names, or two numbers from 1"),
        ("a.tsv", [1, "b"], "give two names"),
        ("a.tsv", "1,2", "columns is '1,2'"),
        ("a.tsv", [1, 1], "give two names"),
    ],
)
def test_other_files_and_columns_are_refused_with_their_name(files: Any, columns: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_pairs(files, columns=columns)


def test_a_memory_of_two_languages_is_not_asked_which(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(OMEGAT)
    found = read([path])
    assert found.pairs == [
        ("A tree", "Ein Baum"),
        ("A house", "Ein Haus"),
        ("Wood \r <", "Wald"),
        ("Sea", "Meer"),
    ]
    assert (found.languages, found.units, found.left_out) == (
        ("en", "de"),
        [0, 1, 3, 4],
        {2: "other_languages"},
    )
    assert read([path], (None, "en")).pairs[1] == ("Ein Haus", "A house")
    # The header's source language comes first wherever it stands; one that no unit is in does not count.
    path.write_text(OMEGAT.replace('srclang="EN-US"', 'srclang="DE"'))
    assert read([path]).languages == ("de", "en")
    path.write_text(OMEGAT.replace('srclang="EN-US"', 'srclang="fr"'))
    assert read([path]).languages == ("en", "de")
    third = '<tu><tuv lang="fr"><seg>Mer</seg></tuv></tu></body>'
    path.write_text(OMEGAT.replace("</body>", third))
    with pytest.raises(
        ConfigError, match=r"a\.tmx: name its languages with --source-language .*it has EN-US, DE, fr"
    ):
        read([path])
    assert read([path], ("en", "de")).pairs == found.pairs


def cut(*numbers: int) -> str:
    """The text of the memory without the units of these numbers and the white space before them."""
    text = OMEGAT
    for number in sorted(numbers, reverse=True):
        start = WHOLE[number]
        end = OMEGAT.index("/>" if number == 3 else "</tu>", start) + (2 if number == 3 else 5)
        text = text[:start].rstrip() + text[end:]
    return text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "iso-8859-1"])
@pytest.mark.parametrize("kept", [[1, 2, 4, 5], [1, 4], [2], [5], [2, 5], []])
def test_a_memory_keeps_every_byte_of_what_stays(encoding: str, kept: list[int], tmp_path: Path) -> None:
    stated = {"utf-8-sig": "utf-8", "utf-16-le": "utf-16", "utf-16-be": "utf-16"}.get(encoding, encoding)

    def encoded(text: str) -> bytes:
        return text.replace('encoding="UTF-8"', f'encoding="{stated}"').encode(encoding)

    (tmp_path / "a.tmx.gz").write_bytes(gzip.compress(encoded(OMEGAT)))
    found = read([tmp_path / "a.tmx.gz"])
    chosen = [found.units.index(number - 1) for number in kept]
    written = write(found, tmp_path / "b.tmx", *chosen).read_bytes()
    assert written == encoded(cut(*{*WHOLE} - {*kept}))
    if kept:
        assert read([tmp_path / "b.tmx"]).pairs == [found.pairs[number] for number in chosen]


PERCENT = [
    ("10% discount for all", "10%-a rabato por ĉiuj"),
    ("He ate at Marks&Spencer today", "Il a mangé chez Marks&Spencer"),
    ("I <3 you", "Je t'aime <3"),
    ("If a<b and c>d then stop", "Si a<b et c>d, arrête"),
    ("The set {1, 2} is small", "L'ensemble est petit : {1, 2}"),
    ("Use *bold* and **strong** `code`", "Utilisez *gras* et **fort** `code`"),
    ("See [docs](http://a.b) for $HOME", "Voir la doc"),
    ("Up to %20 off", "Jusqu'à 20% de moins"),
    ("&Open <b>%s</b> &gt; go", "&Ouvrir <b>%s</b> &gt; va"),
    ("Room_temperature  is 20 ", "Température_de la pièce 20"),
]


@pytest.mark.parametrize("name", ["a.tmx", "a.xlf", "a.po"])
def test_what_is_written_is_what_was_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "a.po":
        path.write_text("".join(f'msgid "{a}"\nmsgstr "{b}"\n\n' for a, b in PERCENT), encoding="utf-8")
    elif name == "a.tmx":
        write_rows(path, ["source", "target"], PERCENT, languages=("en", "fr"), places=(0, 1))
    else:
        units = "".join(
            f"<trans-unit><source>{escape(a)}</source><target>{escape(b)}</target></trans-unit>"
            for a, b in PERCENT
        )
        file = f'<file source-language="en" target-language="fr"><body>{units}</body></file>'
        path.write_text(f"<xliff>{file}</xliff>", encoding="utf-8")
    found = read([path], ("en", "fr"))
    every = [*range(len(PERCENT))]
    assert [tuple(row) for row in found.rows] == PERCENT
    assert read([write(found, tmp_path / "b.tsv", *every)]).pairs == PERCENT
    write(found, tmp_path / "b.jsonl", *every)
    assert [line for _, line in read_json(tmp_path / "b.jsonl")] == [
        {"source": source, "target": target} for source, target in PERCENT
    ]
    if name != "a.tmx":
        write(found, tmp_path / "b.tmx", *every)
        assert [tuple(row) for row in read([tmp_path / "b.tmx"]).rows] == PERCENT
    # What is encoded has no marks of programs.
    assert found.pairs[8] == ("Open X > go", "Ouvrir X > va")
    assert found.pairs[3] == PERCENT[3]


def tmx_of(*units: dict[str, str], source: str = "en") -> str:
    body = "".join(
        "<tu>"
        + "".join(f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in one.items())
        + "</tu>\n"
        for one in units
    )
    return f'<tmx version="1.4"><header srclang="{source}"/><body>\n{body}</body></tmx>'


def test_two_varieties_of_a_language_are_the_two_sides(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(tmx_of({"pt-PT": "O comboio", "pt-BR": "O trem"}, source="pt-BR"))
    found = read([path])
    assert (found.pairs, found.languages, found.tags) == (
        [("O trem", "O comboio")],
        ("pt", "pt"),
        ("pt-BR", "pt-PT"),
    )
    other = read([path], ("pt_PT", "pt_BR"))
    assert (other.pairs, other.languages, other.tags) == (
        [("O comboio", "O trem")],
        ("pt", "pt"),
        ("pt_PT", "pt_BR"),
    )
    assert read([path], (None, "pt-PT")).pairs == found.pairs
    for tags in (("pt", "pt"), ("pt-BR", "pt_BR"), ("pt_br", "PT-BR")):
        with pytest.raises(
            ConfigError, match=rf"a\.tmx: both sides are {tags[0]}: name two languages, or two varieties"
        ):
            read([path], tags)
    path.write_text(tmx_of({"pt-PT": "O comboio", "en": "The train"}))
    with pytest.raises(
        DataError, match=r"no translation unit is in pt_BR and pt_PT; its languages are en, pt-PT"
    ):
        read([path], ("pt_BR", "pt_PT"))
    path.write_text(tmx_of({"pt-PT": "a", "pt-BR": "b", "pt-AO": "c"}))
    with pytest.raises(ConfigError, match=r"name its languages with .*; it has pt-PT, pt-BR, pt-AO"):
        read([path])


def test_models_see_the_language_and_files_the_tag(tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    units = "<trans-unit><source>The train</source><target>O trem</target></trans-unit>"
    path.write_text(f'<xliff><file source-language="en-US" target-language="pt-BR">{units}</file></xliff>')
    found = read([path])
    assert (found.languages, found.tags) == (("en", "pt"), ("en-US", "pt-BR"))
    text = write(found, tmp_path / "b.tmx", 0).read_text()
    assert 'srclang="en-US"' in text
    assert '<tuv xml:lang="pt-BR"><seg>O trem<' in text
    assert read([tmp_path / "b.tmx"]).tags == ("en-US", "pt-BR")
    (tmp_path / "a.tsv").write_text("The train\tVoz je otišao\n")
    table = read([tmp_path / "a.tsv"], ("en_GB", "sr-Latn"))
    assert (table.languages, table.tags) == (("en", "sr"), ("en_GB", "sr-Latn"))
    assert re.findall('xml:lang="(.*?)"', write(table, tmp_path / "c.tmx", 0).read_text()) == [
        "en-GB",
        "sr-Latn",
    ]
    posix = read([tmp_path / "a.tsv"], ("English", "sr@latin"))
    assert posix.languages == ("en", "sr")
    assert re.findall('xml:lang="(.*?)"', write(posix, tmp_path / "c.tmx", 0).read_text()) == [
        "en",
        "sr-Latn",
    ]
    with pytest.raises(ConfigError, match="unknown language code 'xx'"):
        read([tmp_path / "a.tsv"], ("xx", None))


def test_units_with_two_variants_stay_or_go_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.tmx"
    text = tmx_of({"en": "See you", "de": "Bis bald"}, {"en": "Tree", "de": "Baum"}, {"en": "%s", "de": "x"})
    text = text.replace("<seg>Bis bald", "<seg> </seg></tuv><tuv xml:lang='de'><seg>Bis bald")
    text = text.replace(
        "Bis bald</seg></tuv>", "Bis bald</seg></tuv><tuv xml:lang='de'><seg>Ciao</seg></tuv>"
    )
    path.write_text(text.replace("<tmx", '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx'))
    with caplog.at_level("INFO"):
        found = read([path])
    assert f"{path}: left out 1 further_variant, 1 placeholders" in caplog.text
    assert (found.pairs, found.units) == ([("See you", "Bis bald"), ("Tree", "Baum")], [0, 1])
    assert found.left_out == {2: "placeholders"}
    whole = path.read_text()
    parts = whole.partition("<tu>")[0], *re.findall(r"<tu>.*?</tu>\n", whole), "</body></tmx>"
    assert write(found, tmp_path / "b.tmx", 0).read_text() == f"{parts[0]}{parts[1]}{parts[-1]}"
    found.write(tmp_path / "c.tmx", ("reason",), [(1, ("low",))], others="reason")
    rejected = (tmp_path / "c.tmx").read_text()
    assert rejected.count("<tu>") == 2
    assert '<prop type="reason">low</prop>' in rejected
    assert '<prop type="reason">placeholders</prop>' in rejected
    assert "Bis bald" not in rejected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_is_added_to_a_unit_is_a_prop(encoding: str, tmp_path: Path) -> None:
    text = OMEGAT.replace("UTF-8", encoding)
    (tmp_path / "a.tmx").write_text(text, encoding=encoding)
    found = read([tmp_path / "a.tmx"])
    found.write(
        tmp_path / "b.tmx", ("score", "reason"), [(0, (0.5, "")), (1, (None, "<copy>"))], others="reason"
    )
    expected = cut(4, 5).replace("UTF-8", encoding)
    expected = expected.replace(
        'T030405Z">\n      <note>',
        'T030405Z"><prop type="score">0.500000</prop><prop type="languages">EN-US DE</prop>\n      <note>',
    )
    expected = expected.replace('tuid="2">', 'tuid="2"><prop type="reason">&lt;copy&gt;</prop>')
    assert (tmp_path / "b.tmx").read_text(encoding=encoding) == expected


def test_a_file_may_replace_itself_and_prefixes_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    text = OMEGAT
    for name in ("tmx", "header", "prop", "body", "tuv", "tu ", "tu>", "note", "seg", "bpt", "ept"):
        text = text.replace(f"<{name}", f"<t:{name}").replace(f"</{name}", f"</t:{name}")
    path.write_text(text.replace("<t:tmx", '<t:tmx xmlns:t="urn:tmx"'))
    read([path]).write(path, ("score",), [(2, (1.0,))])
    props = '<t:prop type="score">1.000000</t:prop><t:prop type="languages">EN-US DE</t:prop>'
    assert f'<t:tu tuid="4">{props}<t:tuv lang="DE">' in path.read_text()
    assert read([path]).pairs == [("Wood \r <", "Wald")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (OMEGAT[:-30], "a.tmx: not well-formed XML"),
        (OMEGAT.replace("</tuv>", "", 1), "a.tmx: not well-formed XML"),
        (OMEGAT.replace("tree", "\x01"), "a.tmx: not well-formed XML"),
        (OMEGAT.replace('11.dtd"', "11.dtd\" [<!ENTITY x 'y'>]"), "a.tmx: has a document type"),
        (OMEGAT.replace("<note>first</note>", "<tu/>"), "a.tmx: a <tu> within a <tu>"),
    ],
)
def test_a_broken_memory_is_one_line_and_nothing_is_written(
    content: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.tmx").write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        write(read([tmp_path / "a.tmx"]), tmp_path / "b.tmx", 0)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "b.tmx").exists()


def test_large_memories_are_cut_where_the_parts_of_the_file_end(tmp_path: Path) -> None:
    units = "".join(
        f'  <tu tuid="{n}"><tuv lang="en"><seg>{n} {"x" * (n % 97)}</seg></tuv>'
        f'<tuv lang="de"><seg>ä{n}</seg></tuv></tu>\n'
        for n in range(4000)
    )
    text = f'<tmx version="1.4"><header srclang="en"/><body>\n{units}</body></tmx>'
    assert len(text) > 4 << 16
    (tmp_path / "a.tmx").write_text(text)
    kept = [n for n in range(4000) if n % 3 == 0]
    written = write(read([tmp_path / "a.tmx"]), tmp_path / "b.tmx", *kept).read_text()
    lines = text.splitlines(keepends=True)
    assert written == "".join(line for n, line in enumerate(lines, -1) if n % 3 == 0 or not 0 <= n < 4000)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("b.tmx", "TMX names its languages: give --source-language and --target-language"),
        ("b.xliff", "a .xliff file is written only where one is read; write .tsv, .jsonl or .tmx"),
        ("b.SDLXLIFF", "a .xliff file is written only where one is read"),
        ("b.po", "a .po file is written only where one is read"),
        ("b.csv.gz", "not as .csv"),
        ("b.XLSX", "written as .tsv, .jsonl or .tmx, not as .xlsx"),
        ("b.json", "not as .json"),
        ("b.en-de", "not as .en-de"),
        ("B.TMX.GZ", "TMX names its languages"),
        ("b.JSONL", "two columns have the name x, which JSON lines cannot say"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\tx\tsource\ttarget\n1\t2\tone\teins\n")
    with pytest.raises(ConfigError, match=message):
        read([tmp_path / "a.tsv"]).check_output(tmp_path / name)


# Whatever a cell of TSV can hold: controls, marks of direction, halves of nothing, markup.
CELLS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n"), max_size=12
) | st.sampled_from(
    [
        "\x00\x01",
        "]]>",
        "<!--",
        "&amp;",
        "a\rb",
        "\ufffe",
        "\U0010ffff",
        '"',
        "<b>x</b>",
        "%s",
        "\u2028",
        " ",
        "&#1;",
    ]
)


@given(pairs=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1))
def test_from_tsv_to_tmx_and_back(
    pairs: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("written")
    rows = [tuple(cell.removesuffix("\r") for cell in row) for row in pairs]
    write_rows(folder / "a.tmx", ["source", "note", "target"], rows, languages=("en", "zh"), places=(0, 2))
    # What XML cannot have is a blank; all else is the same text for any program that reads XML.
    legal = [[clean(cell) for cell in row] for row in rows]
    units = ElementTree.parse(folder / "a.tmx").getroot().findall("body/tu")
    assert [[variant.get(XML_LANG) for variant in unit.findall("tuv")] for unit in units] == [
        ["en", "zh"]
    ] * len(rows)
    assert [[segment.text or "" for segment in unit.findall("tuv/seg")] for unit in units] == [
        [source, target] for source, _, target in legal
    ]
    assert [[prop.text for prop in unit.findall("prop")] for unit in units] == [
        [note] if rows[number][1] else [] for number, (_, note, _) in enumerate(legal)
    ]
    # What `fit` encodes is cleaned; back in TSV is what was read.
    found = read([folder / "a.tmx"])
    assert found.languages == ("en", "zh")
    items = [(plain(source, target), (source, target)) for source, _, target in legal]
    items = [(getattr(item, "pair", None) or item, as_read) for item, as_read in items]
    paired = [(item, as_read) for item, as_read in items if not isinstance(item, LeftOut)]
    assert found.pairs == [item for item, _ in paired]
    write(found, folder / "b.tsv", *range(len(found.pairs)))
    if found.pairs:
        lines = [
            tuple(text.translate({9: " ", 10: " ", 13: " "}) for text in as_read) for _, as_read in paired
        ]
        assert read([folder / "b.tsv"]).pairs == lines or lines[0] == ("source", "target")


def clean(text: str) -> str:
    """By the definition of a character in XML 1.0, section 2.2."""
    ranges = (0x9, 0xA), (0xD, 0xD), (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF)
    return "".join(sign if any(low <= ord(sign) <= high for low, high in ranges) else " " for sign in text)


XLIFF = '<xliff version="1.2"><file source-language="en" target-language="de"><body>{}</body></file></xliff>'.format(
    "".join(
        f"<trans-unit><source>{source}</source><target>{target}</target></trans-unit>"
        for source, target in PAIRS
    )
)
PREFIXED = XLIFF.replace("<xliff", "<x:xliff xmlns:x='urn:x'").replace("</x", "</x:x")
TMX = '<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>{}</body></tmx>'.format(
    "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv></tu>'
        for source, target in PAIRS
    )
)
PO = 'msgid ""\nmsgstr "Language: de\\n"\n\n' + "".join(f'msgid "{a}"\nmsgstr "{b}"\n\n' for a, b in PAIRS)
CSV = "source,target\none,eins\ntwo,zwei\n"
LINES = "".join(json.dumps(dict(zip(("source", "target"), pair, strict=True))) + "\n" for pair in PAIRS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("A.TMX", TMX),
        ("A.Tmx.GZ", TMX),
        ("a.sdlxliff", XLIFF),
        ("a.mqxliff", XLIFF),
        ("a.MXLIFF", XLIFF),
        ("A.XLF.Gz", XLIFF),
        ("PO.PO", PO),
        ("T.TSV", CSV.replace(",", "\t")),
        ("T.CSV", CSV),
        ("T.CSV.GZ", CSV),
        ("T.JSONL", LINES),
        # What no name says.
        ("memory.xml", TMX),
        ("memory.tsv", TMX),
        (
            "memory.txt",
            "\ufeff<!-- of a tool -->\n"
            + XLIFF.replace("<xliff", "<x:xliff xmlns:x='urn:x'").replace("</x", "</x:x"),
        ),
        ("messages.txt", PO),
        ("pairs.txt", LINES),
        ("pairs.csv", LINES),
        ("packed.tmx", gzip.compress(TMX.encode(), mtime=0)),
        ("wide", TMX.encode("utf-16")),
    ],
)
def test_a_file_is_what_its_content_or_its_name_in_any_case_says(
    name: str, content: str | bytes, tmp_path: Path
) -> None:
    path = tmp_path / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.lower().endswith(".gz") else data)
    assert read([path], ("en", "de")).pairs == PAIRS


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tmx", b"PK\x03\x04\x14\0[Content_Types].xml", "a.tmx is an Office file: save it as text"),
        ("a.xlsx", b"PK\x03\x04\x14\0\0\0xl/workbook.xml", "a.xlsx is an Office file"),
        ("a.ods", b"PK\x03\x04\x14\0mimetypeapplication/vnd.oasis", "a.ods is an Office file"),
        ("a.mqxlz", b"PK\x03\x04\x14\0document.mqxliff", "is a zip archive: unpack it"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "is an Office file"),
        ("a.sdltm", b"SQLite format 3\0", "is an SQLite database, as Trados has .*: export it as TMX"),
        ("a.txt", b"%PDF-1.7\n", "is a PDF"),
        ("a.tmx", b"<!DOCTYPE html><html>", "is a web page; if it was downloaded"),
        ("a.xml", b'<?xml version="1.0"?><!DOCTYPE TS><TS version="2">', "is XML of another form"),
        ("a.po", gzip.compress(PO.encode(), mtime=0), "a.po: unpack it"),
        (
            "a.json",
            b'[\n{"source": "a", "target": "b"}]',
            "a.json: one value in JSON; write an object on each line",
        ),
    ],
)
def test_what_holds_no_pairs_is_named(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ConfigError, DataError), match=message) as caught:
        read([tmp_path / name], ("en", "de"))
    assert "UTF-8" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "source;target\r\none;eins\r\ntwo;zwei\r\n",
        "sep=;\r\nsource;target\r\none;eins\r\ntwo;zwei\r\n",
        '"sep=|"\nsource|target\none|eins\ntwo|zwei\n',
        "source\ttarget\none\teins\ntwo\tzwei\n",
        "one;eins\ntwo;zwei\n",
        '"source";"target"\n"one";"eins"\n"two";"zwei"\n',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_separator_of_csv_is_found(content: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode(encoding))
    assert read([path]).pairs == PAIRS
    assert read([path], columns=[2, 1] if "source" not in content else ["target", "source"]).pairs == [
        pair[::-1] for pair in PAIRS
    ]


@pytest.mark.parametrize("end", ["\r", "\r\r\n", "\r\n"])
@pytest.mark.parametrize(
    ("name", "separator"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t"), ("a.txt", "\t"), ("a", "\t")]
)
def test_lines_may_end_as_on_any_machine(end: str, name: str, separator: str, tmp_path: Path) -> None:
    rows = [f"source{separator}target", *(separator.join(pair) for pair in PAIRS)]
    for text in (end.join(rows) + end, end.join(rows), end.join(rows[1:])):
        (tmp_path / name).write_bytes(text.encode())
        assert read([tmp_path / name]).pairs == PAIRS


def test_a_text_without_line_feeds_has_lines_that_end_with_carriage_returns(tmp_path: Path) -> None:
    for name, lines in (("a.txt", "one\rtwo\r"), ("b.txt", "eins\rzwei\r")):
        (tmp_path / name).write_bytes(lines.encode())
    assert read([tmp_path / "a.txt", tmp_path / "b.txt"]).pairs == PAIRS
    # One within a line of others is a character.
    (tmp_path / "a.txt").write_bytes(b"on\re\ntwo")
    assert read([tmp_path / "a.txt", tmp_path / "b.txt"]).pairs[0].source == "on\re"


GOOD_ROWS = "\n".join(f'"good, row {number}","gute Zeile"' for number in range(1_000))


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        (['"He said "hi" to me",x'], 1),  # quoted once
        (['"He said \\"hi\\", and",x'], 1),  # a backslash before it
        (['"never closed,x'], 2),  # takes the next row's first quotation mark
        (['"one ""twice"" closed",x', '"two\nlines",x'], 0),
    ],
)
def test_a_quotation_mark_in_csv_changes_no_other_row(
    lines: list[str], lost: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = ["source,target", *lines, GOOD_ROWS]
    (tmp_path / "a.csv").write_text("\n".join(rows))
    table = read([tmp_path / "a.csv"], bad=tmp_path / "bad.tsv")
    good = [("good, row 0".replace("0", str(number)), "gute Zeile") for number in range(1_000)]
    bad = (tmp_path / "bad.tsv").read_text().splitlines()
    if not lost:
        assert table.pairs == [('one "twice" closed', "x"), ("two lines", "x"), *good]
        assert not bad
        return
    assert table.pairs == good[lost - 1 :]
    assert len(bad) == lost
    assert f"{lost} of {1_001} rows are bad" in caplog.text
    assert "line 2 is no CSV" in caplog.text


def test_rows_behind_a_quotation_mark_that_never_ends_are_counted(tmp_path: Path) -> None:
    rows = [f"row {number},Zeile" for number in range(700)]
    rows[200] = '"' + rows[200]
    (tmp_path / "a.csv").write_text("\n".join(["source,target", *rows]))
    with pytest.raises(DataError, match=r"500 of 700 rows are bad, .*: line 202 is no CSV"):
        read([tmp_path / "a.csv"])


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("a.tsv", "Source\tTarget"),
        ("a.tsv", " SOURCE\ttarget "),
        ("a.tsv", "src\tmt"),
        ("a.csv", "Src;TGT"),
        ("a.tsv", "\ufeff\ufeffsource\ttarget"),
        ("a.tsv", '"source"\t"target"'),
    ],
)
def test_a_row_that_names_the_sides_is_no_pair(name: str, first: str, tmp_path: Path) -> None:
    separator = next(sign for sign in ";,\t" if sign in first)
    quote = '"' if '"' in first else ""
    rows = [separator.join(f"{quote}{side}{quote}" for side in pair) for pair in PAIRS]
    (tmp_path / name).write_text("\n".join([first, *rows]))
    table = read([tmp_path / name])
    assert table.pairs == PAIRS
    assert table.named


ENGLISH = [f"This is sentence number {number}." for number in range(9)]
GERMAN = [f"Das ist der Satz Nummer {number}." for number in range(9)]


@pytest.mark.parametrize(
    ("name", "first", "columns", "languages"),
    [
        ("a.csv", "English;German", [], ("en", "de")),
        ("a.tsv", "en\tde_AT", [], ("en", "de")),
        ("a.csv", '"en-GB","de"', [], ("en", "de")),
        ("a.tsv", "English (US)\tGerman", [], ("en", "de")),
        ("a.tsv", "en\tde", [2, 1], ("de", "en")),
        ("a.tsv", "id\ten\tde", [2, 3], ("en", "de")),
        ("a.tsv", "id\ten\tde", ["de", "en"], ("de", "en")),
    ],
)
def test_a_row_that_names_languages_is_no_pair(
    name: str, first: str, columns: list[Any], languages: tuple[str, str], tmp_path: Path
) -> None:
    sides = {"en": ENGLISH, "de": GERMAN}
    separator = next(sign for sign in ";,\t" if sign in first)
    number = f"7{separator}" if first.startswith("id") else ""
    rows = [f"{number}{one}{separator}{other}" for one, other in zip(ENGLISH, GERMAN, strict=True)]
    (tmp_path / name).write_text("\n".join([first, *rows]))
    table = read([tmp_path / name], columns=columns)
    assert table.languages == languages
    assert table.pairs == [*zip(*(sides[code] for code in languages), strict=True)]


def test_languages_that_a_table_names_choose_its_sides(tmp_path: Path) -> None:
    rows = [f"{one}\t{other}" for one, other in zip(ENGLISH, GERMAN, strict=True)]
    (tmp_path / "a.tsv").write_text("\n".join(["en\tde-AT", *rows]))
    turned = [*zip(GERMAN, ENGLISH, strict=True)]
    for languages in (("de", "en"), ("German", None), (None, "en")):
        table = read([tmp_path / "a.tsv"], languages)
        assert table.pairs == turned
        assert table.languages == ("de", "en")
    source = source_of("a", [str(tmp_path / "a.tsv")])
    assert [(pair.source, pair.target) for pair in read_source(source, "de", "en")] == turned
    for languages in (("fr", "es"), ("fr", None), ("en", "en")):
        with pytest.raises(ConfigError, match=r"name two of its languages|both sides are en"):
            read([tmp_path / "a.tsv"], languages)
    with pytest.raises(ConfigError, match="its columns are en and de-AT, not de-AT and en"):
        read([tmp_path / "a.tsv"], ("de", "en"), [1, 2])


@pytest.mark.parametrize("first", ["and\tet", "is\test", "no\tnee", "Hi\tHai", "Chinese\tSpanish"])
def test_words_of_a_list_are_no_languages(first: str, tmp_path: Path) -> None:
    words = ["house\tmaison", "tree\tarbre", "to go\taller", "children\tenfants"]
    (tmp_path / "a.tsv").write_text("\n".join([first, *words]))
    assert len(read([tmp_path / "a.tsv"]).pairs) == 5


@pytest.mark.parametrize(
    ("content", "pairs"),
    [
        (
            "Hallo, du;Hello you\nNein, danke;No thank you\n",
            [("Hallo, du", "Hello you"), ("Nein, danke", "No thank you")],
        ),
        ("Hallo, du\tHello you\n", [("Hallo, du", "Hello you")]),
        ('"Hallo, du";"Hello, you"\n', [("Hallo, du", "Hello, you")]),
        ('source,target\n"Hallo, du", "Hello, you"\n', [("Hallo, du", "Hello, you")]),
    ],
)
def test_a_comma_within_cells_is_no_separator(
    content: str, pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(content)
    assert read([tmp_path / "a.csv"]).pairs == pairs


def test_the_line_that_names_a_separator_is_none_of_a_tsv_either(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("sep=\t\nsource\ttarget\none\teins\n")
    assert read([tmp_path / "a.tsv"]).pairs == PAIRS[:1]


@pytest.mark.parametrize(
    "line", ['{"source": "a", "target": "b", "score": NaN}', '{"source": "a", "target": "\\u0000"}']
)
def test_a_bad_object_on_its_own_is_no_file_of_one_value(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f"{line}\n")
    with pytest.raises(DataError, match=r"line 1 (is no JSON|has a NUL)"):
        read([tmp_path / "a.jsonl"])


@pytest.mark.parametrize("first", ["en\ten", "is\tes", "Hello\tHallo", "to sleep\tschlafen", '"one"\t"eins"'])
def test_a_row_of_sentences_stays_a_pair(first: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"{first}\ntwo\tzwei\n")
    assert read([tmp_path / "a.tsv"]).pairs == [tuple(first.split("\t")), PAIRS[1]]


def test_a_comma_in_a_sentence_is_no_separator(tmp_path: Path) -> None:
    pairs = [("Yes, of course, sir.", "Ja, gewiss."), ("No, sir.", "Nein, der Herr, nein."), ("So.", "So.")]
    lines = [";".join(pair) for pair in pairs]
    for head in ([], ["source;target"]):
        (tmp_path / "a.csv").write_text("\n".join([*head, *lines]))
        assert read([tmp_path / "a.csv"]).pairs == pairs


def test_lines_of_json_come_back_as_they_were(tmp_path: Path) -> None:
    line = {
        "n": None,
        "id": 7,
        "source": "one",
        "x": 0.1 + 0.2,
        "target": "eins",
        "list": [1, "ä"],
        "ok": True,
    }
    text = "\ufeff" + json.dumps(line, ensure_ascii=False) + "\n"
    (tmp_path / "a.jsonl").write_text(text)
    pairs = read([tmp_path / "a.jsonl"])
    pairs.write(tmp_path / "b.jsonl", ("score",), [(0, (0.5,))])
    assert json.loads((tmp_path / "b.jsonl").read_text()) == line | {"score": 0.5}
    assert read([tmp_path / "b.jsonl"]).pairs == [("one", "eins")]
    assert write(pairs, tmp_path / "b.tsv", 0).read_text().splitlines()[1].split("\t") == [
        "",
        "7",
        "one",
        "0.30000000000000004",
        "eins",
        '[1, "ä"]',
        "true",
    ]


@pytest.mark.parametrize(
    "number",
    ["1.10", "1e999", "12345678901234567890.12345678901234567890", "-0", "1E5", '[1.0, {"a": 2.50}]'],
)
def test_a_number_in_json_stays_as_it_is_written(number: str, tmp_path: Path) -> None:
    text = f'{{"source": "one", "n": {number}, "target": "eins"}}\n'
    (tmp_path / "a.jsonl").write_text(text)
    pairs = read([tmp_path / "a.jsonl"])
    assert write(pairs, tmp_path / "b.jsonl", 0).read_text() == text
    assert write(pairs, tmp_path / "b.tsv", 0).read_text().splitlines()[1] == f"one\t{number}\teins"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ('{"source": "one", "source": "two", "target": "x"}', r"is no JSON \(the key source twice\)"),
        ('{"source": "one", "target": "x", "n": NaN}', r"is no JSON \(NaN is no number of JSON\)"),
        ('{"source": "one", "target": "x", "n": -Infinity}', "-Infinity is no number of JSON"),
        (f'{{"source": "one", "target": "x", "n": {"[" * 5000}{"]" * 5000}}}', "recursion|brackets"),
    ],
)
def test_what_json_cannot_hold_is_a_bad_row(row: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"source": "one", "target": "x", "n": 1}}\n{row}\n')
    with pytest.raises(DataError, match=f"line 2 .*{fault}"):
        read([tmp_path / "a.jsonl"])


def test_a_rows_number_is_not_taken_for_indonesian(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "17", "en": "one"}\n')
    with pytest.raises(DataError, match="has the keys id, en, not source and target"):
        read([tmp_path / "a.jsonl"])
    (tmp_path / "b.jsonl").write_text('{"id": "17", "en": "one", "de": "eins"}\n')
    assert read([tmp_path / "b.jsonl"]).pairs == [("one", "eins")]
    (tmp_path / "c.jsonl").write_text('{"id": "satu", "en": "one"}\n')
    assert read([tmp_path / "c.jsonl"], ("en", "id")).pairs == [("one", "satu")]


def test_control_characters_in_a_new_memory_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.tsv").write_text("on\x01e\teins\ntwo\tzwei\n")
    pairs = read([tmp_path / "a.tsv"], ("en", "de"))
    output = write(pairs, tmp_path / "a.tmx", 0, 1)
    assert "<seg>on e</seg>" in output.read_text()
    assert "1 units have control characters" in caplog.text


def test_translations_by_language_are_read_again_as_they_were_written(tmp_path: Path) -> None:
    line = {"id": 7, "translation": {"en": "one", "de": "eins"}}
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n")
    languages = ("en", "de")
    pairs = read([tmp_path / "a.jsonl"], languages)
    pairs.write(tmp_path / "b.jsonl", ("score",), [(0, (0.5,))])
    again = read([tmp_path / "b.jsonl"], languages)
    assert again.pairs == [("one", "eins")]
    assert again.languages == languages
    # One key that is also a code, as `id` is Indonesian's, makes no pair of languages.
    (tmp_path / "c.jsonl").write_text('{"id": "a", "text": "b"}\n')
    with pytest.raises(DataError, match="has the keys id, text, not source and target"):
        read([tmp_path / "c.jsonl"])


def test_a_score_of_another_variety_does_not_stay(tmp_path: Path) -> None:
    def unit(tag: str, text: str) -> str:
        score = '<prop type="score">0.9</prop>'
        return f'<tu>{score}<tuv xml:lang="en"><seg>one</seg></tuv><tuv xml:lang="{tag}"><seg>{text}</seg></tuv></tu>'

    memory = f'<tmx version="1.4"><header srclang="en"/><body>{unit("pt-BR", "um")}{unit("pt-PT", "dois")}</body></tmx>'
    (tmp_path / "a.tmx").write_text(memory)
    pairs = read([tmp_path / "a.tmx"], ("en", "pt-PT"))
    pairs.write(tmp_path / "b.tmx", ("score", "flag"), [(0, (0.25, ""))], others="flag")
    written = (tmp_path / "b.tmx").read_text()
    assert "0.9" not in written
    assert written.count('<prop type="score">') == 1
    assert '<prop type="flag">other_languages</prop>' in written


def test_opus_has_texts_by_language(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        "".join(json.dumps({"id": 1, "translation": {"en": a, "de": b}}) + "\n" for a, b in PAIRS)
    )
    found = read([path])
    assert (found.pairs, found.languages, found.names) == (PAIRS, ("en", "de"), ["id", "en", "de"])
    turned = read([path], ("de", None))
    assert (turned.pairs, turned.languages) == ([pair[::-1] for pair in PAIRS], ("de", "en"))
    assert [*read_source(source_of("a", [str(path)]), "de", "en")] == turned.pairs
    with pytest.raises(ConfigError, match="--source-language and --target-language; it has en, de"):
        read([path], ("en", "fr"))
    path.write_text('{"english": "one", "german": "eins"}\n')
    with pytest.raises(DataError, match=r"has the keys english, german, not source and target; .* --columns"):
        read([path])
    assert read([path], columns=["english", "german"]).pairs == PAIRS[:1]


GOOD = 300
BAD = {
    "a.tsv": (b"one\teins\n", b"one\ttwo\tthree\n", "has 3 columns, not 2"),
    "b.tsv": (b"one\teins\n", b"no tab\n", "has 1 columns, not 2"),
    "c.tsv": (b"one\teins\n", b"caf\xe9\tKaffee\n", "is not UTF-8"),
    "d.tsv": (b"one\teins\n", b"a\0b\teins\n", "has a NUL character"),
    "a.csv": (b"one,eins\n", b'"one",two,three\n', "has 3 columns, not 2"),
    "b.csv": (b"one,eins\n", b"caf\xe9,Kaffee\n", "is not UTF-8"),
    "c.csv": (b"one,eins\n", b"\n", "has 0 columns, not 2"),
    "a.jsonl": (b'{"source": "one", "target": "eins"}\n', b'{"source": "one", "tar\n', "is no JSON"),
    "b.jsonl": (b'{"source": "one", "target": "eins"}\n', b'{"source": "one"}\n', "has no text under"),
    "c.jsonl": (
        b'{"source": "one", "target": "eins"}\n',
        b'{"source": "one", "target": 7}\n',
        "has no text under",
    ),
    "d.jsonl": (
        b'{"source": "one", "target": "eins"}\n',
        b'{"source": "\\ud800", "target": "x"}\n',
        "has half a char",
    ),
    "e.jsonl": (
        b'{"source": "one", "target": "eins"}\n',
        b'{"source": "\\u0000", "target": "x"}\n',
        "has a NUL",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("place", [0, 150, GOOD])
def test_a_bad_row_is_counted_written_and_left_out(
    name: str, place: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good, bad, fault = BAD[name]
    rows = [good] * GOOD
    if not bad.strip():
        place = min(place, GOOD - 1)  # as an end, it would be no row
    rows.insert(place, bad)
    path, rest = tmp_path / name, tmp_path / "rest"
    path.write_bytes(b"".join(rows))
    found = read([path], bad=rest)
    assert found.pairs == PAIRS[:1] * GOOD
    assert f"1 of {GOOD + 1} rows are bad and left out: line {place + 1} {fault}" in caplog.text
    text, line, written, content = rest.read_bytes().split(b"\t", 3)
    assert (text, line) == (os.fsencode(path), b"%d" % (place + 1))
    assert fault in written.decode()
    if not fault.startswith(("has a NUL", "has 0")):
        assert content == bad
    # As `fit` reads it.
    items = [*read_source(source_of("a", [str(path)]), "en", "de")]
    assert [item for item in items if isinstance(item, SentencePair)] == found.pairs
    assert [item.reason for item in items if isinstance(item, LeftOut)] == ["bad_row"]
    write_bad_rows(tmp_path / "again", [(source_of(str(path), [str(path)]), "en", "de")])
    assert (tmp_path / "again").read_bytes().split(b"\t")[:2] == [os.fsencode(path), line]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("a.tsv", ["one\teins", "two\tzwei"]),
        ("a.csv", ["one,eins", "two,zwei"]),
        ("a.jsonl", ['{"source": "one", "target": "eins"}', '{"source": "two", "target": "zwei"}']),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n\r\n\r\n"])
def test_empty_lines_at_the_end_are_no_rows(
    name: str, rows: list[str], end: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / name).write_bytes(("\n".join(rows) + end).encode())
    assert read([tmp_path / name]).pairs == [("one", "eins"), ("two", "zwei")]
    assert not caplog.text


def test_lines_of_json_may_lack_a_key_that_others_have(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [
        {"source": "one", "target": "eins"},
        {"note": "b", "source": "two", "target": "zwei"},
        {"source": "three", "target": "drei", "note": None, "id": 3},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    pairs = read([tmp_path / "a.jsonl"])
    assert pairs.pairs == [("one", "eins"), ("two", "zwei"), ("three", "drei")]
    assert not caplog.text
    written = write(pairs, tmp_path / "b.jsonl", 0, 1, 2).read_text().splitlines()
    empty = {"note": None, "id": None}
    assert [json.loads(line) for line in written] == [empty | line for line in lines]


def test_bad_rows_of_standard_input_need_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text("eins\n")
    with pytest.raises(ConfigError, match="standard input only once: save it to a file first"):
        read([Path("-"), tmp_path / "a.de"], bad=tmp_path / "bad")


def test_many_bad_rows_stop_with_the_first_three(tmp_path: Path) -> None:
    path, rest = tmp_path / "a.tsv", tmp_path / "rest"
    rows = ["one\teins\n"] * 495
    for place in (7, 90, 91, 300, 400):
        rows.insert(place, "no tab\n")
    path.write_text("".join(rows))
    assert len(read([path]).pairs) == 495  # one in a hundred
    path.write_text("".join(rows[1:]))
    message = "5 of 499 rows are bad, more than one in 100: line 7 has .*; line 90 has .*; line 91 has [^;]*$"
    with pytest.raises(DataError, match=message):
        read([path], bad=rest)
    assert len(rest.read_bytes().splitlines()) == 5
    with pytest.raises(DataError, match=message):
        list(read_source(source_of("a", [str(path)]), "en", "de"))


def test_a_byte_in_one_of_two_files_shifts_no_line(tmp_path: Path) -> None:
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_bytes(b"\xef\xbb\xbf" + b"one\n" * 150 + b"caf\xe9\n" + b"two\n" * 150)
    target.write_bytes(b"eins\n" * 150 + b"Kaffee\n" + b"zwei\n" * 150)
    assert read([source, target], bad=tmp_path / "bad").pairs == PAIRS[:1] * 150 + PAIRS[1:] * 150
    _, line, fault, content = (tmp_path / "bad").read_bytes().split(b"\t", 3)
    assert (line, content) == (b"151", b"caf\xe9\tKaffee\n")
    assert f"is not UTF-8 (unexpected end of data) in {source}" == fault.decode()


def test_a_nul_in_a_catalogue_makes_no_pair(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    entries = [f'msgid "{number}"\nmsgstr "{number}"\n' for number in range(1, 300)]
    (tmp_path / "a.po").write_text("\n".join([*entries, 'msgid "a\0b"\nmsgstr "c"\n']))
    assert len(read([tmp_path / "a.po"], ("en", "de"), bad=tmp_path / "bad").pairs) == 299
    assert "1 of 300 rows are bad and left out: line 300 has a NUL character" in caplog.text
    assert (tmp_path / "bad").read_bytes().endswith(b"has a NUL character\ta\0b\tc\n")
    (tmp_path / "a.en").write_text("one\n" * 200 + "t\0wo\n")
    (tmp_path / "a.de").write_text("eins\n" * 200 + "zwei\n")
    files = [tmp_path / "a.en", tmp_path / "a.de"]
    assert read(files).pairs == PAIRS[:1] * 200
    # What is prepared is cleaned: the character is a space there.
    assert len([*read_source(source_of("a", [*map(str, files)]), "en", "de")]) == 201


def test_two_tables_are_bad_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n" + "1,one\n" * 300 + "2,two,2\n")
    (tmp_path / "b.csv").write_text("text,id\n" + "eins,1\n" * 301)
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert read(files, columns=["text"]).pairs == PAIRS[:1] * 300


def test_a_line_break_in_a_sentence_is_a_space_for_the_encoder(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    (tmp_path / "a.csv").write_text('source,target\n"a \r\n b\n\nc",eins\ntwo,"zwei\n"\n')
    found = read([tmp_path / "a.csv"])
    assert found.pairs == [("a b c", "eins"), ("two", "zwei")]
    assert "2 pairs have line breaks" in caplog.text
    write(found, tmp_path / "b.jsonl", 0)
    assert json.loads((tmp_path / "b.jsonl").read_text())["source"] == "a \n b\n\nc"


@pytest.mark.parametrize("name", ["b", "b.txt", "B.TSV", "B.JSONL.GZ", "B.TMX"])
def test_an_output_has_the_form_of_its_name_in_any_case(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("one\teins\ntwo\tzwei\n")
    output = write(read([tmp_path / "a.tsv"], ("en", "de")), tmp_path / name, 0, 1)
    content = output.read_bytes()
    content = gzip.decompress(content) if name.endswith(".GZ") else content
    assert content[:4] == {"B.JSONL.GZ": b'{"so', "B.TMX": b"<?xm"}.get(name, b"one\t")
    assert read([output]).pairs == PAIRS


def test_formulas_are_text_for_a_spreadsheet_if_asked(tmp_path: Path) -> None:
    cells = [
        "=1+1",
        "+A1",
        "-2+3",
        "@SUM(A1)",
        "\tx",
        "\uff1dx",
        '"=a"',
        "plain",
        "-",
        "-0.5",
        "+3",
        "'=",
        "a=b",
    ]
    rows = [[cell, -0.5, cell] for cell in cells]
    for safe in (False, True):
        output = tmp_path / "a.tsv"
        write_rows(
            output, ["source", "score", "target"], rows, languages=(None, None), places=(0, 2), safe=safe
        )
        written = [line.split("\t") for line in output.read_text().splitlines()[1:]]
        quoted = {*cells[:7], "-"} if safe else set()
        assert [row[0] for row in written] == [
            ("'" if cell in quoted else "") + cell.replace("\t", " ") for cell in cells
        ]
        assert {row[1] for row in written} == {"-0.500000"}
