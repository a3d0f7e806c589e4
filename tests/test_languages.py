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


@pytest.mark.parametrize("code", ["", "xx", "qua_", "quz9", "english", "de de"])
def test_an_unknown_code_is_refused(code: str) -> None:
    with pytest.raises(ConfigError, match="unknown language code"):
        languages.canonical(code)


@pytest.mark.parametrize(("pair", "region"), [("en-de", "en-DE"), ("pt-br", "pt-BR"), ("zh-tw", "zh-TW")])
def test_a_pair_of_codes_is_no_language_and_the_message_names_the_region(pair: str, region: str) -> None:
    with pytest.raises(ConfigError, match=f"'{pair}' stands for the pair of .* for a region write {region}"):
        languages.canonical(pair)


@pytest.mark.parametrize(
    ("tag", "code"), [("en-us", "en"), ("zh-cn", "zh"), ("de-at", "de"), ("pt-BR", "pt")]
)
def test_a_region_in_lower_case_that_is_no_language_is_one(tag: str, code: str) -> None:
    assert languages.canonical(tag) == code


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


def test_codes_of_opus_alone_come_last() -> None:
    assert languages.spellings("zh")[0] == "zh"
    assert languages.spellings("zh")[-1] == "cn"
    assert languages.spellings("ckb") == ("ckb", "cb")
    assert languages.iso3("ckb") == "ckb"


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


@pytest.mark.parametrize(
    ("pair", "tags"),
    [
        ("en-de", ("en", "de")),
        ("en-pt_BR", ("en", "pt_BR")),
        ("en-pt-BR", ("en", "pt-BR")),
        ("pt-BR-en", ("pt-BR", "en")),
        ("zh-Hant-en", ("zh-Hant", "en")),
        ("en-sr@latin", ("en", "sr@latin")),
        ("es-419-en_US", ("es-419", "en_US")),
    ],
)
def test_a_pair_may_name_varieties(pair: str, tags: tuple[str, str]) -> None:
    assert languages.tags_of_pair(pair) == tags


@pytest.mark.parametrize(
    ("pair", "cause"),
    [
        ("zh_Hans-zh_Hant", "zh_Hans and zh_Hant are one language, zh"),
        ("en-aym", '"en-ay"'),
        ("en-en", "same"),
        ("en-de-fr", "two codes"),
        ("en-pt_XX", "two codes|unknown|write it"),
    ],
)
def test_other_pairs_of_varieties_are_refused(pair: str, cause: str) -> None:
    with pytest.raises(ConfigError, match=cause):
        languages.tags_of_pair(pair)


def test_locales_of_a_language_come_with_the_plainest_first() -> None:
    names = ["pt_BR", "pt-AO", "PT", "pt_PT", "por", "ptx", "pt@x", "pt_BR.UTF-8", "fr"]
    assert languages.locales("pt", names) == ["PT", "pt@x", "por", "pt_PT", "pt_BR", "pt_BR.UTF-8", "pt-AO"]
    chinese = ["zh_TW", "zh_Hant_HK", "zh_CN", "cmn", "zh", "zh-Hans", "zh_Hans_CN"]
    ours = ["zh-Hans", "zh_Hans_CN", "zh", "cmn", "zh_CN"]
    assert languages.locales("zh", chinese) == ours
    assert languages.locales("zh", chinese, any_script=True) == [*ours, "zh_TW", "zh_Hant_HK"]
    assert languages.locales("sr", ["sr_Latn", "sr_Cyrl_RS", "sr_RS"]) == ["sr_Cyrl_RS", "sr_RS"]
    assert languages.locales("es", ["es_419", "es_ES"]) == ["es_ES", "es_419"]
    assert languages.locales("qaa", ["qaa", "de"]) == ["qaa"]
    assert languages.locales("de", []) == []
    assert languages.locales("fa", ["fa-AF", "fa-IR", "fa-TJ"]) == ["fa-IR", "fa-AF", "fa-TJ"]
    assert languages.locales("ar", ["ar-AE", "ar-EG", "ar"]) == ["ar", "ar-EG", "ar-AE"]


@pytest.mark.parametrize(
    ("wanted", "names", "taken"),
    [
        ("sr-RS", ["sr", "sr-Latn-RS"], ["sr"]),
        ("sr-RS", ["sr-Latn-RS"], []),
        ("sr-RS", ["sr-Cyrl-RS", "sr-Latn-RS"], ["sr-Cyrl-RS"]),
        ("zh-CN", ["zh", "zh-Latn-CN"], ["zh"]),
        ("zh-CN", ["zh-Hans", "zh-Hant"], ["zh-Hans"]),
        ("zh-TW", ["zh-Hans", "zh-Hant"], ["zh-Hant"]),
        ("ja-JP", ["ja", "ja-Latn-JP"], ["ja"]),
        ("en-GB-oed", ["en-US", "en-GB"], ["en-GB"]),
        ("pt-BR", ["pt-PT"], []),
        ("sr@ijekavianlatin", ["sr", "sr@ijekavianlatin"], ["sr@ijekavianlatin"]),
        ("sr@latin", ["sr", "sr@ijekavianlatin"], ["sr@ijekavianlatin"]),
        ("sr-Latn", ["sr-RS", "sr-Latn-RS"], ["sr-Latn-RS"]),
    ],
)
def test_a_region_without_a_script_has_the_usual_one(wanted: str, names: list[str], taken: list[str]) -> None:
    assert languages.locales(wanted, names) == taken


def test_a_locale_is_one_of_a_known_language() -> None:
    known = ("de", "pt_BR", "zh-Hans", "es-419", "sr_Latn_RS")
    assert all(languages.is_locale(name) for name in known)
    assert not any(languages.is_locale(name) for name in ("messages", "xx", "po", "de_", "", "django"))


NAMES = {
    "sr@latin": ("sr", "Latn", "", ""),
    "sr@Latn": ("sr", "Latn", "", ""),
    "uz@cyrillic": ("uz", "Cyrl", "", ""),
    "de@hebrew": ("de", "Hebr", "", ""),
    "sr@ijekavianlatin": ("sr", "Latn", "", "ijekavian"),
    "sr@ijekavian": ("sr", "", "", "ijekavian"),
    "ca@valencia": ("ca", "", "", "valencia"),
    "ca-ES-valencia": ("ca", "", "ES", "valencia"),
    "ca_ES.UTF-8@valencia": ("ca", "", "ES", "valencia"),
    "be-tarask": ("be", "", "", "tarask"),
    "es-x-int-SDL": ("es", "", "", "x-int-sdl"),
    "es-ES_tradnl": ("es", "", "ES", "tradnl"),
    "de-DE-1996": ("de", "", "DE", "1996"),
    "en-GB-oxendict": ("en", "", "GB", "oxendict"),
    "en-GB-oed": ("en", "", "GB", "oxendict"),
    "no-bok": ("nb", "", "", ""),
    "en-US-u-ca-buddhist": ("en", "", "US", "u-ca-buddhist"),
    "de_DE.UTF-8": ("de", "", "DE", ""),
    "ru_RU.KOI8-R": ("ru", "", "RU", ""),
    "de_DE@euro": ("de", "", "DE", ""),
    "en@quot": ("en", "", "", ""),
    "English (US)": ("en", "", "US", ""),
    "Portuguese (Brazil)": ("pt", "", "BR", ""),
    "Chinese (Simplified)": ("zh", "Hans", "", ""),
    "Spanish (Latin America)": ("es", "", "419", ""),
    "Brazilian Portuguese": ("pt", "", "BR", ""),
    "zh-CHS": ("zh", "Hans", "", ""),
    "zh-CHT": ("zh", "Hant", "", ""),
    "zh_TW": ("zh", "Hant", "TW", ""),
    "zh-cmn-Hant-TW": ("zh", "Hant", "TW", ""),
    "zh-yue": ("yue", "", "", ""),
    "zh-min-nan": ("nan", "", "", ""),
    "i-klingon": ("tlh", "", "", ""),
    "cbk_zam": ("cbk", "", "", ""),
    "az-AZ-Cyrl": ("az", "Cyrl", "AZ", ""),
    "sr-SP-Latn": ("sr", "Latn", "SP", ""),
    "pa-PK": ("pa", "Arab", "PK", ""),
    "SR-latn-rs": ("sr", "Latn", "RS", ""),
    "pt-br": ("pt", "", "BR", ""),
    "iw_IL": ("he", "", "IL", ""),
    "German": ("de", "", "", ""),
    "norwegian bokmål": ("nb", "", "", ""),
    "ksh-DE": ("ksh", "", "DE", ""),
    "xx": ("xx", "", "", ""),
    "cb": ("ckb", "", "", ""),
    "no_nb": ("nb", "", "", ""),
    "me": ("sr", "Latn", "ME", ""),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_language_script_region_and_variety(name: str) -> None:
    assert languages.tag_of(name) == NAMES[name]


@pytest.mark.parametrize(
    "name", ["", "messages", "Germanium", "de de", "de--AT", "-de", "C", "POSIX", "(de)", "de-" + "x" * 999]
)
def test_a_name_of_no_locale_says_nothing(name: str) -> None:
    assert languages.tag_of(name) is None
    assert languages.of_locale(name) is None


# Before `langcodes` read tags, the project had its own tables: what they understood is still understood.
ENGLISH = """
    afrikaans=af albanian=sq amharic=am arabic=ar armenian=hy assamese=as aymara=ay azerbaijani=az basque=eu
    belarusian=be bengali=bn bosnian=bs breton=br bulgarian=bg burmese=my catalan=ca cebuano=ceb chinese=zh croatian=hr
    czech=cs danish=da dutch=nl english=en esperanto=eo estonian=et filipino=tl finnish=fi french=fr galician=gl
    georgian=ka german=de greek=el guarani=gn gujarati=gu haitian=ht hausa=ha hebrew=he hindi=hi hungarian=hu
    icelandic=is igbo=ig indonesian=id irish=ga italian=it japanese=ja javanese=jv kannada=kn kazakh=kk khmer=km
    kinyarwanda=rw korean=ko kurdish=ku kyrgyz=ky lao=lo latin=la latvian=lv lingala=ln lithuanian=lt macedonian=mk
    malagasy=mg malay=ms malayalam=ml maltese=mt mandarin=zh maori=mi marathi=mr mongolian=mn nepali=ne norwegian=no
    occitan=oc oriya=or oromo=om pashto=ps persian=fa polish=pl portuguese=pt punjabi=pa quechua=qu romanian=ro
    russian=ru samoan=sm sanskrit=sa serbian=sr shona=sn sindhi=sd sinhala=si slovak=sk slovenian=sl somali=so
    spanish=es sundanese=su swahili=sw swedish=sv tagalog=tl tajik=tg tamil=ta tatar=tt telugu=te thai=th tibetan=bo
    tigrinya=ti turkish=tr turkmen=tk ukrainian=uk urdu=ur uyghur=ug uzbek=uz vietnamese=vi welsh=cy wolof=wo xhosa=xh
    yiddish=yi yoruba=yo zulu=zu
    """
REGIONAL = """
    en_GB en_US es_ES es_MX fr_FR fr_CA fr_ca nb_NO nn_NO pt_PT pt_pt pt_BR pt_br zh_CN zh_cn zh_TW zh_tw
    """


def test_all_spellings_of_the_tables_are_understood_in_every_form() -> None:
    for code, row in languages._LANGUAGES.items():
        for spelling in row.spellings:
            for name in (spelling, spelling.upper(), f"{spelling}_US", f"{spelling}-US", f"{spelling}_Latn"):
                assert languages.canonical(name) == code
                assert languages.of_locale(name) == code


def test_english_names_and_regions_are_understood() -> None:
    for name, code in (entry.split("=") for entry in ENGLISH.split()):
        assert languages.of_locale(name) == languages.of_locale(name.title()) == code
        if name != "lao":  # which is a code, too
            with pytest.raises(ConfigError, match=f"the code of {name} is {code}"):
                languages.canonical(name)
    for name in REGIONAL.split():
        assert name in languages.spellings(name[:2])


@pytest.mark.parametrize(
    ("wanted", "names", "chosen"),
    [
        ("pt_BR", ["pt-PT", "pt-BR", "pt"], ["pt-BR"]),
        ("pt-br", ["pt_PT", "pt_BR"], ["pt_BR"]),
        ("pt-BR", ["pt", "pt-PT", "es"], ["pt"]),
        ("pt-BR", ["pt-PT"], []),
        ("zh-TW", ["zh-CN", "zh-TW", "zh"], ["zh-TW"]),
        ("zh-TW", ["zh-CN", "zh-Hans"], []),
        ("zh-CN", ["zh-Hant", "zh-Hans"], ["zh-Hans"]),
        ("zh-Hant", ["zh-CN", "zh_HK", "zh-CHT"], ["zh-CHT"]),
        ("zh-Hant", ["zh-CN", "zh_HK", "zh_TW"], ["zh_TW", "zh_HK"]),
        ("sr@latin", ["sr", "sr-RS", "sr-Latn"], ["sr-Latn"]),
        ("sr@latin", ["sr-RS", "sr-Cyrl"], []),
        ("sr-Cyrl", ["sr-RS", "sr-ME"], ["sr-RS"]),
        ("en-US", ["en-GB", "en-US"], ["en-US"]),
        ("ca@valencia", ["ca", "ca-ES-valencia"], ["ca-ES-valencia"]),
        ("ca", ["ca-ES-valencia", "ca"], ["ca", "ca-ES-valencia"]),
        ("de-DE-1996", ["de-DE-1901", "de-DE"], ["de-DE"]),
        ("ksh", ["ksh-DE", "de"], ["ksh-DE"]),
    ],
)
def test_a_variety_is_matched_first_and_never_another_one(
    wanted: str, names: list[str], chosen: list[str]
) -> None:
    assert languages.locales(wanted, names, any_script=True) == chosen


def test_a_name_becomes_a_tag_of_xml() -> None:
    tags = {
        "pt_BR": "pt-BR", "pt-br": "pt-br", "sr@latin": "sr-Latn", "ca_ES@valencia": "ca-ES-valencia", "German": "de",
        "de_DE.UTF-8": "de-DE", "es-x-int-SDL": "es-x-int-SDL", "zh_TW": "zh-TW", "zh_TW.Big5": "zh-Hant-TW",
    }  # fmt: skip
    assert {name: languages.bcp47(name) for name in tags} == tags


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
