"""Scores in translation memories: what `score` writes into TMX, XLIFF and PO, and what `filter` takes from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polib
import pytest
from small_checkpoint import make_pairs
from typer.testing import CliRunner

from orthoglot.cli import app
from orthoglot.errors import ConfigError, DataError
from orthoglot.formats.pairs import read

PAIRS = make_pairs(30, seed=11)
NAMED = ["--source-language", "en", "--target-language", "gn"]


def run(verb: str, *options: object) -> Any:
    return CliRunner().invoke(app, [verb, *map(str, options)])


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that opens a model fails."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model is opened")

    monkeypatch.setattr("orthoglot.cli.options.open_model", refuse)


def tmx(scores: list[str]) -> str:
    units = "".join(
        f'<tu tuid="{n}">{score}<tuv xml:lang="en"><prop type="score">-9</prop><seg>{PAIRS[n][0]}</seg></tuv>'
        f'<tuv xml:lang="gn"><seg>{PAIRS[n][1]}</seg></tuv></tu>\n'
        for n, score in enumerate(scores)
    )
    return f'<tmx version="1.4"><header srclang="en"/><body>\n{units}</body></tmx>\n'


def variants(*texts: str) -> str:
    tags = ("en-US", "pt-BR", "pt-PT")[: len(texts)]
    return "".join(
        f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in zip(tags, texts, strict=True)
    )


@pytest.mark.usefixtures("no_model")
def test_a_score_is_of_the_two_languages_that_were_scored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    units = f"<tu>{variants('one', 'um', 'dois')}</tu>"
    (tmp_path / "a.tmx").write_text(f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>')
    pairs = read([tmp_path / "a.tmx"], ("en-US", "pt-BR"))
    pairs.write(tmp_path / "b.tmx", ("score", "flag"), [(0, (0.9, ""))], others="flag")
    given = [tmp_path / "b.tmx", "--threshold", "0.5", "-o", tmp_path / "c.tmx", "--source-language", "en-US"]
    assert run("filter", *given, "--target-language", "pt-BR").exit_code == 0
    assert (tmp_path / "c.tmx").read_text().count("<tu>") == 1
    # The pair is scored anew, so a model is opened.
    refused = run("filter", *given, "--target-language", "pt-PT")
    assert str(refused.exception) == "a model is opened"
    assert "its score of en-US pt-BR is not that of en-US pt-PT" in caplog.text
    again = read([tmp_path / "b.tmx"], ("en-US", "pt-PT"))
    again.write(tmp_path / "d.tmx", ("score", "flag"), [(0, (0.1, ""))], others="flag")
    written = (tmp_path / "d.tmx").read_text()
    assert '<prop type="score">0.100000</prop>' in written
    assert '<prop type="languages">en-US pt-PT</prop>' in written
    assert written.count("<prop") == 2


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("scored", [("en-US", "pt-BR"), ("en", "pt"), ("en_us", "pt")])
@pytest.mark.parametrize("asked", [("en-US", "pt-BR"), ("en", "pt"), None])
def test_a_score_counts_whatever_the_only_variety_is_called(
    scored: tuple[str, str], asked: tuple[str, str] | None, tmp_path: Path
) -> None:
    units = f"<tu>{variants('one', 'um')}</tu><tu>{variants('two', 'dois')}</tu>"
    (tmp_path / "a.tmx").write_text(f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>')
    pairs = read([tmp_path / "a.tmx"], scored)
    pairs.write(tmp_path / "b.tmx", ("score", "flag"), [(0, (0.1, "")), (1, (0.9, ""))], others="flag")
    given = ["--threshold", "0.5", "-o", tmp_path / "c.tmx"]
    if asked:
        given += ["--source-language", asked[0], "--target-language", asked[1]]
    assert run("filter", tmp_path / "b.tmx", *given).exit_code == 0
    kept = (tmp_path / "c.tmx").read_text()
    assert "dois" in kept
    assert ">um<" not in kept


@pytest.mark.usefixtures("no_model")
def test_a_score_counts_however_its_variety_is_spelled(tmp_path: Path) -> None:
    units = f"<tu>{variants('one', 'um', 'dois')}</tu>"
    (tmp_path / "a.tmx").write_text(f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>')
    pairs = read([tmp_path / "a.tmx"], ("en", "pt_BR"))
    pairs.write(tmp_path / "b.tmx", ("score", "flag"), [(0, (0.9, ""))], others="flag")
    assert '<prop type="languages">en-US pt-BR</prop>' in (tmp_path / "b.tmx").read_text()
    given = ["--source-language", "English (US)", "--target-language", "pt-br", "-o", tmp_path / "c.tmx"]
    assert run("filter", tmp_path / "b.tmx", "--threshold", "0.5", *given).exit_code == 0


@pytest.mark.usefixtures("no_model")
def test_scores_of_a_table_count_whatever_the_case_of_their_names(tmp_path: Path) -> None:
    rows = ["Source\tTarget\tScore\tFLAG", "one\tpetei\t0.1\t", "two\tmokoi\t0.9\t "]
    (tmp_path / "a.tsv").write_text("\n".join(rows))
    assert run("filter", tmp_path / "a.tsv", "--threshold", "0.5", "-o", tmp_path / "b.tsv").exit_code == 0
    assert (tmp_path / "b.tsv").read_text().splitlines() == [rows[0], rows[2]]


@pytest.mark.usefixtures("no_model")
def test_no_identify_is_refused_where_scores_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("source\ttarget\tscore\tflag\none\tpeteĩ\t0.9\t\n", encoding="utf-8")
    given = ["--threshold", "0.5", "-o", tmp_path / "b.tsv"]
    refused = run("filter", tmp_path / "a.tsv", *given, "--no-identify")
    assert isinstance(refused.exception, ConfigError)
    assert "--no-identify would change nothing" in str(refused.exception)
    assert run("filter", tmp_path / "a.tsv", *given).exit_code == 0


def xliff_1(count: int = 4, note: str = "", prefix: str = "") -> str:
    p = prefix and f"{prefix}:"
    space = f'xmlns{prefix and ":" + prefix}="urn:oasis:names:tc:xliff:document:1.2"'
    units = "".join(
        f'   <{p}trans-unit id="{n}" approved="yes"><{p}source>{PAIRS[n][0]}</{p}source>\n'
        f'     <{p}target state="final">{PAIRS[n][1]}</{p}target>{note}\n'
        f'     <{p}note from="Anna">see   the &lt;manual&gt;</{p}note>\n'
        f"     <{p}alt-trans><{p}source>x</{p}source><{p}target>y</{p}target></{p}alt-trans></{p}trans-unit>\n"
        for n in range(count)
    )
    return (
        f'<?xml version="1.0"?>\n<!-- kept -->\n<{p}xliff version="1.2" {space}>\n'
        f'  <{p}file original="a" source-language="en" target-language="gn" datatype="x"><{p}body>\n{units}'
        f"  </{p}body></{p}file>\n</{p}xliff>\n"
    )


def segment(n: int) -> str:
    return f'<segment id="s{n}">\n<source>{PAIRS[n][0]}</source><target>{PAIRS[n][1]}</target></segment>'


# A unit with notes, one with two segments, one with empty notes.
XLIFF_2 = f"""<?xml version="1.0" encoding="UTF-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="gn">
 <file id="f">
  <unit id="0"><notes><note>by hand</note></notes>{segment(0)}</unit>
  <unit id="1">
   <originalData><data id="d">x</data></originalData>
   {segment(1)}<ignorable><source> </source></ignorable>
   {segment(2)}
  </unit>
  <unit id="2"><notes/>{segment(3)}</unit>
 </file>
</xliff>
"""
PO = (
    '# A catalogue.\nmsgid ""\nmsgstr ""\n"Language: gn\\n"\n"Plural-Forms: nplurals=2; plural=n != 1;\\n"\n\n'
    f'# by Anna\n#. extracted\n#: a.c:1\nmsgid "{PAIRS[0][0]}"\nmsgstr ""\n   "{PAIRS[0][1]}"\n\n'
    f'msgid "{PAIRS[1][0]}"\nmsgstr "{PAIRS[1][1]}"\n'
    f'#, c-format\nmsgid "{PAIRS[2][0]}"\nmsgid_plural "{PAIRS[3][0]}"\n'
    f'msgstr[0] "{PAIRS[2][1]}"\nmsgstr[1] "{PAIRS[3][1]}"\n\n'
    f'#~ msgid "gone"\n#~ msgstr "away"\n\nmsgid "{PAIRS[4][0]}"\nmsgstr "{PAIRS[4][1]}"\n'
)


def table_scores(path: Path, model: list[object]) -> list[str]:
    """The scores of a file's pairs, as a table has them."""
    rows = [line.split("\t") for line in run("score", path, *NAMED, *model).stdout.splitlines()[1:]]
    return [row[2] for row in rows]


@pytest.mark.usefixtures("no_model")
def test_filter_takes_the_scores_of_a_memory_and_opens_no_model(tmp_path: Path) -> None:
    prop = '<prop type="score">{}</prop>'
    (tmp_path / "a.tmx").write_text(tmx([prop.format(score) for score in ("0.9", "0.977", "-0.2", "0.4")]))
    bad = tmp_path / "bad.tmx"
    done = run(
        "filter", tmp_path / "a.tmx", "--threshold", "0.5", "-o", tmp_path / "o.tmx", "--rejected", bad
    )
    assert done.exit_code == 0, done.exception
    assert "4 pairs: 2 kept, 2 low_score" in done.stderr
    assert re.findall(r'tuid="(\d)"', (tmp_path / "o.tmx").read_text()) == ["0", "1"]
    # The score that was there stays as it was written.
    assert (
        '<tu tuid="2"><prop type="reason">low_score</prop><prop type="score">-0.2</prop>' in bad.read_text()
    )
    # In a table the scores are columns; a flag counts, too.
    flagged = prop.format("0.9") + '<prop type="flag">copy</prop>'
    (tmp_path / "a.tmx").write_text(tmx([flagged, prop.format("0.7")]))
    run("filter", tmp_path / "a.tmx", "--threshold", "0.5", "-o", tmp_path / "o.tsv")
    assert (tmp_path / "o.tsv").read_text().splitlines() == [
        "source\ttarget\tscore\tflag",
        "\t".join([*PAIRS[1], "0.7", ""]),
    ]
    # A unit without a score, among those that have one, is no low score.
    (tmp_path / "a.tmx").write_text(tmx([prop.format("0.9"), "", prop.format("0.7")]))
    error = run("filter", tmp_path / "a.tmx", "--threshold", "0.5", "-o", tmp_path / "none.tmx").exception
    assert isinstance(error, DataError)
    assert "unit 2: the score '' is no number from -1 to 1; --model scores all again" in str(error)
    # Where no unit has one, a model is opened: a variant's own score is none of the unit's.
    (tmp_path / "a.tmx").write_text(tmx(["", ""]))
    error = run("filter", tmp_path / "a.tmx", "--threshold", "0.5", "-o", tmp_path / "none.tmx").exception
    assert isinstance(error, AssertionError)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.xliff", xliff_1()),
        ("a.xlf", xliff_1(prefix="x")),
        ("a.xliff", xliff_1().replace("\n", "\r\n")),
        ("a.xliff", XLIFF_2),
    ],
)
def test_scores_of_xliff_are_notes_and_nothing_else_changes(
    name: str, content: str, models: dict[str, Path], tmp_path: Path
) -> None:
    path, output = tmp_path / name, tmp_path / f"out{Path(name).suffix}"
    path.write_bytes(content.encode())
    model = ["--model", models["plda"], "--threads", "1", "--no-identify"]
    done = run("score", path, "-o", output, *model)
    assert done.exit_code == 0, done.exception
    once = output.read_bytes().decode()
    notes = re.findall(r'<(?:\w+:)?note (?:from|category)="orthoglot">score(?: of segment \d)?: (.*?)<', once)
    assert notes == table_scores(path, model)
    added = r'<((?:\w+:)?)note (?:from|category)="orthoglot">[^<]*</\1note>'
    without = re.sub(added, "", once)
    assert (
        without.replace('<unit id="2"><notes></notes>', '<unit id="2"><notes/>').replace(
            "<notes></notes>", ""
        )
        == content
    )
    # Scored again, the notes are replaced: also those of another model.
    path.write_bytes(re.sub(r"(score(?: of segment \d)?: )[^<]*", r"\g<1>7", once).encode())
    assert run("score", path, "-o", output, *model).exit_code == 0
    assert output.read_bytes().decode() == once


@pytest.mark.usefixtures("no_model")
def test_filter_keeps_units_of_xliff_byte_by_byte(tmp_path: Path) -> None:
    path, output, bad = tmp_path / "a.xlf", tmp_path / "o.xlf", tmp_path / "b.xlf"
    note = '<note from="orthoglot">score: {}</note>'
    content = "".join(
        part.replace("</target>", f"</target>{note.format(score)}", 1)
        for part, score in zip(
            re.split(r"(?=   <trans-unit)", xliff_1()), ("", "0.9", "0.1", "0.3", "0.8"), strict=True
        )
    )
    path.write_text(content)
    done = run("filter", path, "--threshold", "0.5", "-o", output, "--rejected", bad)
    assert "4 pairs: 2 kept, 2 low_score" in done.stderr, done.exception
    units = re.split(r"(?=   <trans-unit)", content)
    last, end = re.split(r"(?=  </body>)", units[4])
    assert output.read_text() == "".join([*units[:2], last, end])
    reason = '<note from="orthoglot">reason: low_score</note>'
    assert bad.read_text() == "".join(
        [
            units[0],
            *(
                unit.replace("0.1</note>", f"0.1</note>{reason}").replace("0.3</note>", f"0.3</note>{reason}")
                for unit in units[2:4]
            ),
            end,
        ]
    )


@pytest.mark.usefixtures("no_model")
def test_segments_of_version_2_go_alone_and_a_unit_with_its_last_one(tmp_path: Path) -> None:
    path, output = tmp_path / "a.xliff", tmp_path / "o.xliff"
    note = '<note category="orthoglot">score{}: {}</note>'
    content = (
        XLIFF_2.replace("<note>by hand</note>", f"<note>by hand</note>{note.format('', 0.1)}")
        .replace(
            "<originalData>",
            f"<notes>{note.format(' of segment 1', 0.2)}{note.format(' of segment 2', 0.9)}</notes><originalData>",
        )
        .replace("<notes/>", f"<notes>{note.format('', 0.8)}</notes>")
    )
    path.write_text(content)
    done = run("filter", path, "--threshold", "0.5", "-o", output)
    assert "4 pairs: 2 kept, 2 low_score" in done.stderr, done.exception
    kept = output.read_text()
    assert 'unit id="0"' not in kept
    assert segment(1) not in kept
    assert segment(2) in kept
    # One segment is left, and so its note names none.
    assert f"<notes>{note.format('', 0.9)}</notes><originalData>" in kept
    assert content[content.index('<unit id="2">') :] == kept[kept.index('<unit id="2">') :]
    assert "<ignorable><source> </source></ignorable>" in kept


def test_a_note_stands_where_the_first_segment_of_a_unit_went(tmp_path: Path) -> None:
    (tmp_path / "a.xliff").write_text(
        XLIFF_2.replace('   <originalData><data id="d">x</data></originalData>\n', "")
    )
    pairs = read([tmp_path / "a.xliff"])
    pairs.write(tmp_path / "o.xliff", ["score"], [(2, [0.5])])
    note = '<notes><note category="orthoglot">score: 0.500000</note></notes>'
    rest = f"<ignorable><source> </source></ignorable>\n   {segment(2)}\n  </unit>\n </file>"
    assert f'<file id="f">\n  <unit id="1">{note}{rest}' in (tmp_path / "o.xliff").read_text()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "latin-1"])
def test_notes_are_in_the_encoding_of_the_file(
    encoding: str, models: dict[str, Path], tmp_path: Path
) -> None:
    path, output = tmp_path / "a.xlf", tmp_path / "o.xlf"
    stated = encoding[:6].upper() if "16" in encoding else "ISO-8859-1"
    content = xliff_1().replace('version="1.0"?', f'version="1.0" encoding="{stated}"?').replace("kept", "ñ")
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    path.write_bytes(mark + content.encode(encoding))
    done = run("score", path, "-o", output, "--model", models["plda"], "--no-identify")
    assert done.exit_code == 0, done.exception
    text = output.read_bytes().removeprefix(mark).decode(encoding)
    assert text.count('<note from="orthoglot">score: ') == 4
    assert re.sub(r'<note from="orthoglot">[^<]*</note>', "", text) == content


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_scores_of_po_are_comments_and_nothing_else_changes(
    end: str, models: dict[str, Path], tmp_path: Path
) -> None:
    path, output = tmp_path / "a.po", tmp_path / "o.po"
    content = PO.replace("\n", end)
    path.write_bytes(content.encode())
    model = ["--model", models["plda"], "--threads", "1", "--no-identify"]
    done = run("score", path, "-o", output, *NAMED, *model)
    assert done.exit_code == 0, done.exception
    once = output.read_bytes().decode()
    assert re.sub(rf"# orthoglot [^\r\n]*{end}", "", once) == content
    entries = polib.pofile(str(output))
    scores = table_scores(path, model)
    assert entries[0].tcomment == f"by Anna\northoglot score: {scores[0]}"
    assert entries[0].comment == "extracted"
    assert entries[2].tcomment == "\n".join(
        f"orthoglot score of msgstr[{form}]: {scores[2 + form]}" for form in (0, 1)
    )
    assert entries[3].obsolete
    assert "orthoglot flag: obsolete" in entries[3].tcomment
    # Again, with stale scores.
    path.write_bytes(re.sub(r"(score[^:\n]*: )[^\r\n]*", r"\g<1>7", once).encode())
    assert run("score", path, "-o", output, *NAMED, *model).exit_code == 0
    assert output.read_bytes().decode() == once


@pytest.mark.usefixtures("no_model")
def test_filter_keeps_messages_of_po_byte_by_byte(tmp_path: Path) -> None:
    path, output, bad = tmp_path / "a.po", tmp_path / "o.po", tmp_path / "b.po"
    content = (
        PO.replace("# by Anna\n", "# by Anna\n# orthoglot score: 0.9\n")
        .replace(f'msgid "{PAIRS[1][0]}"', f'# orthoglot score: 0.1\nmsgid "{PAIRS[1][0]}"')
        .replace(
            "#, c-format",
            "# orthoglot score of msgstr[0]: 0.9\n# orthoglot score of msgstr[1]: 0.2\n#, c-format",
        )
        .replace(f'msgid "{PAIRS[4][0]}"', f'# orthoglot score: 0.8\nmsgid "{PAIRS[4][0]}"')
    )
    path.write_text(content)
    done = run("filter", path, *NAMED, "--threshold", "0.5", "-o", output, "--rejected", bad)
    assert "5 pairs: 3 kept, 2 low_score" in done.stderr, done.exception
    starts = [
        content.index(start)
        for start in (
            "# by Anna",
            "# orthoglot score: 0.1",
            "# orthoglot score of",
            "#~",
            "# orthoglot score: 0.8",
        )
    ]
    header, first, second, plural, obsolete, last = (
        content[start:end] for start, end in zip([0, *starts], [*starts, len(content)], strict=True)
    )
    # A plural cannot lose one form: it goes as a whole, as the second form is bad.
    assert output.read_text() == header + first + last
    rejected = polib.pofile(str(bad))
    assert [entry.msgid for entry in rejected] == [PAIRS[1][0], PAIRS[2][0], "gone"]
    assert "orthoglot reason of msgstr[1]: low_score" in rejected[1].tcomment
    assert second.splitlines()[0] in bad.read_text()
    assert obsolete
    assert plural


def test_a_form_that_was_not_read_is_not_written(models: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "a.po").write_text(PO)
    polib.pofile(str(tmp_path / "a.po")).save_as_mofile(str(tmp_path / "a.mo"))
    (tmp_path / "a.xlf").write_text(xliff_1())
    for source, output in (("a.po", "o.xlf"), ("a.xlf", "o.po"), ("a.mo", "o.po"), ("a.po", "o.mo")):
        refused = run("score", tmp_path / source, "-o", tmp_path / output, *NAMED, "--model", models["plda"])
        assert isinstance(refused.exception, ConfigError), (source, output)
        assert "written" in str(refused.exception)
        assert not (tmp_path / output).exists()
