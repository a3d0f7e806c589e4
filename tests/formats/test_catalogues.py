"""Message catalogues: every form of every message is a pair or left out for a reason."""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import polib
import pytest
import yaml
from pydantic import ValidationError
from workspace import ROOT

from orthoglot.corpora.prepare import prepare
from orthoglot.errors import ConfigError, DataError
from orthoglot.formats.base import Source
from orthoglot.formats.forms import form_of
from orthoglot.formats.kinds import po
from orthoglot.formats.sources import read_source
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.kinds.gettext import (
    GettextSettings,
    catalogues_below,
    choose,
    package_catalogues,
)
from orthoglot.study.jobs.prepare import PrepareSettings
from orthoglot.text.bitext import Item, LeftOut, SentencePair
from orthoglot.text.prepared import read_split
from orthoglot.text.splitting import SPLITS

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


def header(language: str = "de", rule: str = "nplurals=2; plural=(n != 1);") -> str:
    return (
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        f'"Language: {language}\\n"\n"Plural-Forms: {rule}\\n"\n'
    )


def write(path: Path, entries: str = ENTRIES, **stated: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header(**stated) + entries, encoding="utf-8")
    return path


def items_of(path: Path) -> Iterator[Item]:
    return (unit.item for _, units in po.entries(path) for unit in units)


def message(source: str, target: str) -> str:
    return f'\nmsgid "{source}"\nmsgstr "{target}"\n'


def test_each_message_is_a_pair_or_left_out(tmp_path: Path) -> None:
    items = list(items_of(write(tmp_path / "de.po")))
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
    path = write(tmp_path / "de.po")
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


def test_catalogues_are_found_by_their_path_in_the_order_of_preference() -> None:
    names = [
        "a/locale/pt_BR/LC_MESSAGES/django.po",
        "a/locale/pt_BR/LC_MESSAGES/django.mo",
        "a/locale/pt/LC_MESSAGES/django.mo",
        "a/locale/pt_PT/LC_MESSAGES/django.po",
        "b/locale/pt_BR/LC_MESSAGES/django.mo",
        "b/locale/pt_BR/LC_MESSAGES/js.po",
        "po/pt.po",
        "po/de.po",
        "lang/pt/messages.po",
        "lang/pt/readme.txt",
    ]
    paths = [PurePosixPath(name) for name in names]
    assert [[str(path) for path in files] for files in choose(reversed(paths), "pt")] == [
        [names[2], names[3], names[0]],
        [names[4]],
        [names[5]],
        [names[8]],
        [names[6]],
    ]
    assert choose(paths, "pt", ["pt_BR"]) == [[paths[0]], [paths[4]], [paths[5]]]
    assert choose(paths, "fr") == []


def test_other_scripts_are_no_variety() -> None:
    paths = [
        PurePosixPath(f"{one}/x.po") for one in ("zh_TW", "zh_Hant", "zh_CN", "zh_Hans", "zh", "sr_Latn")
    ]
    assert [str(path.parent) for path in choose(paths, "zh")[0]] == ["zh_Hans", "zh", "zh_CN"]
    assert choose(paths, "sr") == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "po/pt.po", message("One two three", "Um dois") + message("Not here yet", ""))
    write(tmp_path / "po/pt_BR.po", message("One two three", "BR") + message("Not here yet", "Ainda"))
    write(tmp_path / "po/de.po", message("One two three", "Eins") + message("Short", "Kurz"))
    return tmp_path / "po"


def settings(**changed: Any) -> GettextSettings:
    return GettextSettings.model_validate({"kind": "gettext", "licence": "own", **changed})


def read(corpus: GettextSettings, pair: str) -> list[Any]:
    source = parsed({"name": "c", **corpus.pair_sources("")[pair]})
    return list(read_source(source, *pair.split("-")))


def test_a_folder_is_read_by_language_and_a_locale_fills_the_gaps_of_the_one_before(folder: Path) -> None:
    corpus = settings(folder=str(folder), languages=["pt", "de"], min_words=2)
    assert read(corpus, "en-pt") == [("One two three", "Um dois"), ("Not here yet", "Ainda")]
    assert read(corpus, "en-de") == [("One two three", "Eins"), LeftOut("few_words")]
    named = settings(folder=str(folder), languages={"pt": ["pt_BR", "pt"]})
    assert read(named, "en-pt") == [("One two three", "BR"), ("Not here yet", "Ainda")]
    only = settings(folder=str(folder), languages={"pt": ["pt"]})
    assert read(only, "en-pt") == [("One two three", "Um dois"), LeftOut("untranslated")]
    assert [path.name for path in catalogues_below(folder)] == ["de.po", "pt.po", "pt_BR.po"]
    with pytest.raises(ConfigError, match="no message catalogue in fr"):
        settings(folder=str(folder), languages=["fr"]).pair_sources("")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An installed package whose code must not run; its pin."""
    site = tmp_path / "site"
    write(site / "shop/locale/de/LC_MESSAGES/shop.po", message("Buy it now", "Kauf es jetzt"))
    write(tmp_path / "outside/de.po", message("A secret file", "Geheim"))
    (site / "shop/__init__.py").write_text("raise SystemExit('this code must not run')\n")
    info = site / "shop-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 2.0\n")
    names = ["shop/__init__.py", "shop/locale/de/LC_MESSAGES/shop.po", "../outside/de.po"]
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in names))
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    digest = hashlib.sha256((site / names[1]).read_bytes()).hexdigest()
    return {"version": "2.0", "sha256": hashlib.sha256(f"{digest}  {names[1]}\n".encode()).hexdigest()}


def test_a_job_reads_packages_without_a_file(package: dict[str, str]) -> None:
    (source,) = settings(packages={"shop": package}, languages=["de"]).pair_sources("").values()
    parts = {"cleaning": {"min_characters": 1}, "splits": {"seed": 1, "valid": 0.1, "test": 0.1}}
    job = {"pair": "en-de", "sources": [{"name": "shop", **source}], **parts}
    assert PrepareSettings.model_validate(job).sources[0].model_dump()["packages"]["shop"] == package
    with pytest.raises(ValidationError, match="name a file"):
        PrepareSettings.model_validate({**job, "sources": [{"name": "x", "kind": "local"}]})


def test_a_packages_catalogues_are_read_and_its_code_is_not(package: dict[str, str]) -> None:
    corpus = settings(packages={"shop": package}, languages=["de", "fr"])
    assert read(corpus, "en-de") == [("Buy it now", "Kauf es jetzt")]
    assert "shop" not in sys.modules
    with pytest.raises(DataError, match="no message catalogue in fr in shop"):
        read(corpus, "en-fr")


def test_another_package_than_the_pinned_one_is_refused(package: dict[str, str]) -> None:
    with pytest.raises(DataError, match=f"SHA-256 {package['sha256']}, not 0000"):
        package_catalogues("shop", "2.0", "0" * 64)
    with pytest.raises(ConfigError, match=r"installed in version 2\.0: pip install --no-deps shop==2\.1"):
        package_catalogues("shop", "2.1", package["sha256"])
    with pytest.raises(ConfigError, match="is not installed: pip install --no-deps shopp==2"):
        package_catalogues("shopp", "2", package["sha256"])


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


def test_locales_of_posix_are_found_in_a_folder() -> None:
    names = ("sr@latin", "sr", "uz@cyrillic", "ca@valencia", "ca", "de_DE.UTF-8", "ksh", "German")
    paths = [PurePosixPath(f"{name}.po") for name in names]
    assert [path.name for path in choose(paths, "ca")[0]] == ["ca.po", "ca@valencia.po"]
    assert [path.name for path in choose(paths, "sr")[0]] == ["sr.po"]
    assert [path.name for path in choose(paths, "sr", ["sr@latin"])[0]] == ["sr@latin.po"]
    assert [path.name for path in choose(paths, "de")[0]] == ["de_DE.UTF-8.po"]


def test_the_localisation_corpus_has_enough_of_every_language_and_no_message_in_two_splits(
    tmp_path: Path,
) -> None:
    entry = yaml.safe_load((ROOT / "catalogue/corpora.yaml").read_text())["localisation"]
    corpus = GettextSettings.model_validate(entry)
    extra = re.search(r"^demo = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    assert extra is not None
    pins = [f"{name}=={package.version}" for name, package in corpus.packages.items()]
    assert set(pins) <= set(re.findall(r'"(.*?)"', extra[1]))
    try:
        for name, package in corpus.packages.items():
            package_catalogues(name, package.version, package.sha256)
    except ConfigError as error:
        pytest.skip(str(error))
    split_of: dict[str, set[str]] = {}
    sources = corpus.pair_sources("")
    assert len(sources) == 14
    for pair in ("en-ar", "en-de", "en-pt", "en-zh"):
        source = sources[pair]
        cleaned = {"cleaning": {}, "splits": {"valid": 0.05, "test": 0.25}}
        output = tmp_path / pair
        output.mkdir()
        prepare(
            PrepareSettings.model_validate({"pair": pair, "sources": [{"name": "l", **source}], **cleaned}),
            output,
        )
        assert len(read_split(output, "train")) > 1000
        assert len(read_split(output, "test")) > 300
        for split in SPLITS:
            for found in read_split(output, split):
                split_of.setdefault(found.source, set()).add(split)
    assert {len(splits) for splits in split_of.values()} == {1}
    assert len(split_of) > 1800
