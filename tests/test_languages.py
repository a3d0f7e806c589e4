"""Codes of real files and papers resolve; no spelling means two languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orthoglot import languages
from orthoglot.errors import ConfigError

# docs/papers.md#ems-text: the 62 languages of EMS, English included.
EMS = """
    en af ar bg bn ca cs da de el eo es et eu fa fi fr gl gu he hi hr hu hy id it ja jv ka kk ko ku lt lv mk
    ml mn mr ms my nb nl pl pt ro ru sk sl sq sr sv sw ta te th tl tr uk ur vi yo zh
    """


@pytest.mark.parametrize(
    ("spelling", "code"),
    [
        ("de", "de"),
        ("DEU", "de"),
        ("eng_Latn", "en"),
        ("zho_Hant", "zh"),
        ("aym", "ay"),
        ("pt_br", "pt"),
        ("pt-BR", "pt"),
        ("zh_cn", "zh"),
        ("zh_CN", "zh"),
        ("cmn", "zh"),
        ("grn", "gn"),
        ("lvs", "lv"),
        ("arz", "arz"),
        ("fuv", "fuv"),
        ("qaa", "qaa"),
        ("qtz", "qtz"),
    ],
)
def test_any_spelling_becomes_the_canonical_code(spelling: str, code: str) -> None:
    assert languages.canonical(spelling) == code
    assert languages.canonical(code) == code


@pytest.mark.parametrize("code", ["", "xx", "qua_", "quz9", "en-de", "english", "deu_Latin", "de de"])
def test_an_unknown_code_is_refused(code: str) -> None:
    with pytest.raises(ConfigError, match="unknown language code"):
        languages.canonical(code)


def test_an_unknown_code_names_near_ones() -> None:
    with pytest.raises(ConfigError, match=r"near ones are.*deu"):
        languages.canonical("deuu")


def test_no_spelling_stands_in_two_rows() -> None:
    entries = [set(entry.split("/")) for text in languages._TABLE.values() for entry in text.split()]
    assert sum(map(len, entries)) == len(set().union(*entries))


def test_every_ems_language_is_canonical() -> None:
    codes = EMS.split()
    assert len(codes) == 62
    assert [languages.canonical(code) for code in codes] == codes


def test_spellings_start_with_the_canonical_code_and_lead_back_to_it() -> None:
    for code in languages._LANGUAGES:
        assert languages.spellings(code)[0] == code
        assert {languages.canonical(spelling) for spelling in languages.spellings(code)} == {code}
    assert {"ay", "aym", "ayr"} == set(languages.spellings("aym"))
    assert "zh_cn" in languages.spellings("zh")


def test_three_letters_are_those_of_the_tatoeba_files() -> None:
    spelled = {
        "zh": "cmn",
        "ar": "ara",
        "ro": "ron",
        "sw": "swh",
        "lv": "lvs",
        "ms": "zsm",
        "fa": "pes",
        "nb": "nob",
    }
    assert {code: languages.iso3(code) for code in spelled} == spelled


def test_scripts_and_spaces() -> None:
    scripts = {
        "en": "Latn",
        "ru": "Cyrl",
        "qaa": "Latn",
        "qab": "Latn",
        "qac": "Cyrl",
        "qad": "Grek",
        "qaf": "Deva",
    }
    assert {code: languages.script(code) for code in scripts} == scripts
    unspaced = {
        code for code in [*languages._LANGUAGES, "qaa", "qae", "qaf"] if not languages.has_spaces(code)
    }
    assert unspaced == {"zh", "yue", "wuu", "lzh", "ja", "th", "km", "my", "shn", "lo", "bo", "dz", "qae"}


def test_a_pair_is_two_canonical_codes() -> None:
    assert languages.parse_pair("en-de") == ("en", "de")
    assert languages.parse_pair("qaa-qab") == ("qaa", "qab")


@pytest.mark.parametrize(
    ("pair", "cause"),
    [
        ("en", "two codes"),
        ("en-de-fr", "two codes"),
        ("en-aym", '"en-ay"'),
        ("en-en", "same"),
        ("en-xx", "unknown"),
    ],
)
def test_other_pairs_are_refused_with_the_cause(pair: str, cause: str) -> None:
    with pytest.raises(ConfigError, match=cause):
        languages.parse_pair(pair)


def test_locales_of_a_language_come_with_the_plainest_first() -> None:
    names = ["pt_BR", "pt-AO", "PT", "pt_PT", "por", "ptx", "pt@x", "pt_BR.UTF-8", "fr"]
    assert languages.locales("pt", names) == ["PT", "por", "pt_PT", "pt_BR", "pt-AO"]
    chinese = ["zh_TW", "zh_Hant_HK", "zh_CN", "cmn", "zh", "zh-Hans", "zh_Hans_CN"]
    ours = ["zh-Hans", "zh_Hans_CN", "zh", "cmn", "zh_CN"]
    assert languages.locales("zh", chinese) == ours
    assert languages.locales("zh", chinese, any_script=True) == [*ours, "zh_TW", "zh_Hant_HK"]
    assert languages.locales("sr", ["sr_Latn", "sr_Cyrl_RS", "sr_RS"]) == ["sr_Cyrl_RS", "sr_RS"]
    assert languages.locales("es", ["es_419", "es_ES"]) == ["es_ES", "es_419"]
    assert languages.locales("qaa", ["qaa", "de"]) == ["qaa"]
    assert languages.locales("de", []) == []


def test_a_locale_is_one_of_a_known_language() -> None:
    known = ("de", "pt_BR", "zh-Hans", "es-419", "sr_Latn_RS")
    assert all(languages.is_locale(name) for name in known)
    assert not any(languages.is_locale(name) for name in ("messages", "xx", "po", "de_", "", "django"))


def test_every_file_of_the_real_data_is_covered(shared_data: Path) -> None:
    tatoeba = [re.findall(r"\.(\w+)-eng", path.name)[0] for path in (shared_data / "tatoeba").glob("*.gz")]
    assert len(tatoeba) == 112
    assert [languages.iso3(code) for code in tatoeba] == tatoeba
    for path in (shared_data / "parallel").glob("*.gz"):
        languages.parse_pair(path.name.split(".")[1])
    for line in (shared_data / "nway" / "languages.tsv").read_text("utf-8").splitlines()[1:]:
        _, code, three, _, two, _ = line.split("\t")
        if code.count("_") and len(code.split("_")[1]) != 4:
            continue
        assert languages.canonical(three) in {two or three, languages.canonical(two or three)}
