"""Message catalogues: every form of every message is a pair or left out for a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest
from po_files import header, message, write

from orthoglot.errors import DataError
from orthoglot.formats.base import Source
from orthoglot.formats.forms import form_of
from orthoglot.formats.kinds import po
from orthoglot.formats.sources import read_source
from orthoglot.text.bitext import Item, LeftOut, SentencePair

RUSSIAN = (
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"
)
ENTRIES = r"""
#, fuzzy
msgid "Old guess"
msgstr "Alte Vermutung"

msgid "Not done"
msgstr ""

msgctxt "month"
msgid "May"
msgstr "Mai"

msgctxt "verb"
msgid "May"
msgstr "Darf"

#, python-format
msgid "Hello <b>%(name)s</b>,\n"
"welcome"
msgstr "Hallo <b>%(name)s</b>, willkommen"

msgid "%d lost"
msgstr "verloren"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"

#~ msgid "Gone"
#~ msgstr "Weg"
"""


def items_of(path: Path) -> Iterator[Item]:
    return (unit.item for _, units in po.entries(path) for unit in units)


def test_each_message_is_a_pair_or_left_out(tmp_path: Path) -> None:
    items = list(items_of(write(tmp_path / "de.po", ENTRIES)))
    assert [item for item in items if isinstance(item, SentencePair)] == [
        ("May", "Mai"),
        ("May", "Darf"),
        ("Hello X,\nwelcome", "Hallo X, willkommen"),
        ("X file", "X Datei"),
        ("X files", "X Dateien"),
    ]
    reasons = Counter(item.reason for item in items if isinstance(item, LeftOut))
    assert reasons == {"fuzzy": 1, "untranslated": 1, "placeholders": 1, "obsolete": 1}


def test_a_compiled_catalogue_has_the_finished_messages_of_its_source(tmp_path: Path) -> None:
    path = write(tmp_path / "de.po", ENTRIES)
    polib.pofile(str(path)).save_as_mofile(str(tmp_path / "de.mo"))
    pairs = {item for item in items_of(path) if isinstance(item, SentencePair)}
    compiled = list(items_of(tmp_path / "de.mo"))
    assert {item for item in compiled if isinstance(item, SentencePair)} == pairs
    assert [item for item in compiled if isinstance(item, LeftOut)] == [LeftOut("placeholders")]


@pytest.mark.parametrize(
    ("rule", "forms", "messages"),
    [
        (RUSSIAN, ["файл", "файла", "файлов"], ["file", "files", "files"]),
        ("nplurals=1; plural=0;", ["ファイル"], ["files"]),
        ("nplurals=2; plural=(n > 1);", ["fichier", "fichiers"], ["file", "files"]),
        ("nplurals=3; plural=(n==0 ? 0 : n==1 ? 1 : 2);", ["a", "b", "c"], ["files", "file", "files"]),
        ("nplurals=INTEGER; plural=EXPRESSION;", ["Datei", "Dateien"], ["file", "files"]),
    ],
)
def test_the_form_for_one_alone_translates_the_singular(
    rule: str, forms: list[str], messages: list[str], tmp_path: Path
) -> None:
    lines = "".join(f'msgstr[{number}] "{form}"\n' for number, form in enumerate(forms))
    entry = f'\nmsgid "file"\nmsgid_plural "files"\n{lines}'
    path = write(tmp_path / "x.po", entry, language="", rule=rule)
    assert list(items_of(path)) == list(zip(messages, forms, strict=True))


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b'msgid "a"\nmsgid_plural\nnonsense "b"\n', "not a message catalogue"),
        (header(rule="nplurals=2; plural=__import__('os');").encode(), "not a rule of plural forms"),
        (header(rule="nplurals=2; plural=n !=!1;").encode(), "not a rule of plural forms"),
        (b'msgid "a"\nmsgstr "\xff\xfe"\n', "not a message catalogue"),
    ],
)
def test_a_broken_catalogue_is_refused_by_name(content: bytes, cause: str, tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_bytes(content)
    with pytest.raises(DataError, match=cause) as refused:
        list(items_of(path))
    assert str(path) in str(refused.value)
    (tmp_path / "de.mo").write_bytes(b"\xde\x12\x04\x95" + b"\xff" * 40)
    with pytest.raises(DataError, match=r"de\.mo"):
        list(items_of(tmp_path / "de.mo"))
    with pytest.raises(DataError, match="does not exist"):
        list(items_of(tmp_path / "no.po"))


WHOLE = (
    'msgid "Good day"\nmsgstr "Guten Tag"\n\nmsgid "to you \\"all\\""\nmsgstr ""\n"an euch "\n"\\"alle\\""\n'
)


def test_a_catalogue_that_was_cut_off_is_refused_unless_a_line_was_complete(tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    whole = ["an euch ", 'an euch "alle"']
    for end in range(WHOLE.index("you"), len(WHOLE) + 1):
        path.write_text(WHOLE[:end], encoding="utf-8")
        if WHOLE[:end].rstrip("\n").endswith(('an euch "', 'alle\\""')):
            assert list(items_of(path))[-1].target in whole  # type: ignore[union-attr]
        elif WHOLE[:end].rstrip("\n").endswith('msgstr ""'):
            assert list(items_of(path))[-1] == LeftOut("untranslated")
        else:
            with pytest.raises(DataError, match=r"de\.po"):
                list(items_of(path))


def test_a_compiled_catalogue_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "de.mo"
    polib.pofile(WHOLE).save_as_mofile(str(path))
    whole = path.read_bytes()
    assert list(items_of(path))[-1] == SentencePair('to you "all"', 'an euch "alle"')
    for end in range(len(whole) - 1):  # the last byte ends the last text
        path.write_bytes(whole[:end])
        with pytest.raises(DataError, match=r"de\.mo"):
            list(items_of(path))


def test_a_catalogue_of_ones_own_is_read_in_the_direction_of_its_header(tmp_path: Path) -> None:
    path = str(write(tmp_path / "mine.po", message("Tree", "Baum"), language="de_AT"))
    assert form_of([path]) == "po"
    source = Source(name="mine", kind="po", paths=[path])
    assert list(read_source(source, "en", "de")) == [("Tree", "Baum")]
    assert list(read_source(source, "de", "en")) == [("Baum", "Tree")]
    with pytest.raises(DataError, match=r"mine\.po: translates into 'de_AT', which is neither en nor fr"):
        list(read_source(source, "en", "fr"))
    write(tmp_path / "mine.po", message("Tree", "Baum"), language="")
    assert list(read_source(source, "en", "fr")) == [("Tree", "Baum")]


@pytest.mark.parametrize(
    ("stated", "language"),
    [
        ("sr@latin", "sr"),
        ("ca@valencia", "ca"),
        ("uz@cyrillic", "uz"),
        ("de@hebrew", "de"),
        ("de_DE.UTF-8", "de"),
        ("es_ES@tradnl", "es"),
        ("German", "de"),
        ("Norwegian Bokmål", "nb"),
        ("zh_CN.GB2312", "zh"),
    ],
)
def test_a_catalogue_says_its_language_in_any_spelling(
    stated: str, language: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "mine.po", message("Tree", "Text"), language=stated)
    source = Source(name="mine", kind="po", paths=[str(path)])
    with caplog.at_level("INFO"):
        assert list(read_source(source, "en", language)) == [("Tree", "Text")]
    said = [record.getMessage() for record in caplog.records]
    assert said == ([] if stated in ("German", "Norwegian Bokmål") else [f"{path}: {language} is {stated}"])
    assert list(read_source(source, language, "en")) == [("Text", "Tree")]
    with pytest.raises(DataError, match=f"translates into {stated!r}, which is neither en nor fr"):
        list(read_source(source, "en", "fr"))


def test_a_catalogue_of_another_variety_is_refused(tmp_path: Path) -> None:
    path = str(write(tmp_path / "mine.po", message("Colour", "Cor"), language="pt_BR"))
    source = Source(name="mine", kind="po", paths=[path])
    assert list(read_source(source, "en", "pt-BR")) == [("Colour", "Cor")]
    assert list(read_source(source, "pt", "pt_BR")) == [("Colour", "Cor")]
    assert list(read_source(source, "pt_BR", "pt")) == [("Cor", "Colour")]
    with pytest.raises(DataError, match="translates into 'pt_BR', which is neither en nor pt_PT"):
        list(read_source(source, "en", "pt_PT"))
