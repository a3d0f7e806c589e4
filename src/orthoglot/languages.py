"""Every spelling of a language code, and the one this project uses.

The canonical code is ISO 639-1 where there is one, else ISO 639-3 ("de", "gn", "arz"). Corpora spell
otherwise: OPUS "aym" or "pt_br", FLORES "eng_Latn", LASER's Tatoeba files "cmn"; those spellings live here
only. The codes qaa ... qtz, which ISO 639 reserves for private use, name invented languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple

from orthoglot.errors import ConfigError

# By the script that most text is written in: canonical/LASER's three letters/further spellings, or one code.
# A macrolanguage and the member that corpora stand for it with are one language here (lv: lav, lvs).
_TABLE = {
    "Latn": """
        aa/aar ace acu af/afr agr ak/aka ake amu an/arg ang ast ay/aym/ayr az/aze/azj ban bbc bbj bem ber
        bi/bis bjn bm/bam br/bre bs/bos bsn bug bzd ca/cat cak cbk ceb ch/cha chq cjp cni co/cos crh
        cs/ces/cze csb cy/cym/wel da/dan de/deu/ger din/din/dik djk dop dsb dtp dyu ee/ewe en/eng eo/epo
        es/spa et/est/ekk eu/eus/baq ff/ful fi/fin fj/fij fo/fao fon fr/fra/fre fur fuv fy/fry ga/gle gbi
        gd/gla gl/glg gn/grn/gug gsw gv/glv ha/hau haw hch hlt hmn hr/hrv hsb ht/hat hu/hun ia/ina id/ind/in
        ie/ile ig/ibo ilo io/ido is/isl/ice it/ita jac jbo jiv jv/jav/jw kab kac kam kbh kbp kea kg/kon
        ki/kik kl/kal kmb kos kr/kau/knc ku/kur/kmr kw/cor kzj la/lat lb/ltz lfn lg/lug li/lim lij lmo
        ln/lin lt/lit ltg lua luo lus lv/lvs/lav mad mam max mg/mlg/plt mh/mah mi/mri/mao min mos
        ms/zsm/msa/may mt/mlt na/nau nah nb/nob nds nhe nhg nij nl/nld/dut nn/nno no/nor nov nso nus ny/nya
        oc/oci ojb om/orm/gaz oto pag pam pap pcm pl/pol pms pon ppk pt/por qu/que/quy quc quw rm/roh rmn
        rn/run ro/ron/rum/mo rw/kin sc/srd scn sco se/sme sg/sag sh/hbs shi shp sk/slk/slo sl/slv sm/smo
        sn/sna so/som sq/sqi/als/alb ss/ssw st/sot su/sun sv/swe sw/swh/swa swg szl taq tar tet tk/tuk
        tl/tgl/fil tn/tsn to/ton tpi tr/tur ts/tso tum tw/twi ty/tah tzl umb usp uz/uzb/uzn vec vi/vie vls
        vo/vol wa/wln wal war wo/wol xh/xho yo/yor za/zha zu/zul
        """,
    "Arab": """
        acm acq aeb ajp apc ar/ara/arb ars ary arz arq azb ckb dv/div fa/pes/fas/per ks/kas prs
        ps/pus/pbt sd/snd ug/uig ur/urd
        """,
    "Cyrl": """
        ab/abk av/ava ba/bak be/bel bg/bul ce/che cu/chu cv/chv kk/kaz ky/kir mhr mk/mkd/mac mn/mon/khk
        orv os/oss ru/rus sah sr/srp tg/tgk tt/tat udm uk/ukr
        """,
    "Cher": "chr",
    "Copt": "cop",
    "Deva": "awa bh/bih bho hi/hin hne mag mai mr/mar ne/nep/npi sa/san",
    "Armn": "hy/hye/arm",
    "Beng": "as/asm bn/ben mni",
    "Ethi": "am/amh ti/tir",
    "Geor": "ka/kat/geo xmf",
    "Grek": "el/ell/gre grc",
    "Gujr": "gu/guj",
    "Guru": "pa/pan",
    "Hang": "ko/kor",
    "Hans": "wuu zh/cmn/zho/chi/zhs/zht",
    "Hant": "lzh yue",
    "Hebr": "he/heb/iw yi/yid/ydd",
    "Jpan": "ja/jpn/jp",
    "Khmr": "km/khm",
    "Knda": "kn/kan",
    "Laoo": "lo/lao",
    "Mlym": "ml/mal",
    "Mymr": "my/mya/bur shn",
    "Olck": "sat",
    "Orya": "or/ori/ory",
    "Sinh": "si/sin",
    "Syrc": "syr",
    "Taml": "ta/tam",
    "Telu": "te/tel",
    "Tfng": "tzm zgh",
    "Thai": "th/tha",
    "Tibt": "bo/bod/tib dz/dzo",
}
# The invented languages of `orthoglot.invented`; other private-use codes count as Latin.
_INVENTED = {"qac": "Cyrl", "qad": "Grek", "qae": "Hira", "qaf": "Deva"}
# Scripts without spaces between words; those of the second set have spaces between phrases.
_WITHOUT_SPACES = {"Hans", "Hant", "Hira", "Jpan", "Khmr", "Laoo", "Mymr", "Thai", "Tibt"}
_SPACES_BETWEEN_PHRASES = {"Khmr", "Laoo", "Mymr", "Thai", "Tibt"}
# English names that people write in place of a code.
_NAMES = """
    afrikaans=af albanian=sq amharic=am arabic=ar armenian=hy assamese=as aymara=ay azerbaijani=az basque=eu
    belarusian=be bengali=bn bosnian=bs breton=br bulgarian=bg burmese=my catalan=ca cebuano=ceb chinese=zh
    croatian=hr czech=cs danish=da dutch=nl english=en esperanto=eo estonian=et filipino=tl finnish=fi
    french=fr galician=gl georgian=ka german=de greek=el guarani=gn gujarati=gu haitian=ht hausa=ha
    hebrew=he hindi=hi hungarian=hu icelandic=is igbo=ig indonesian=id irish=ga italian=it japanese=ja
    javanese=jv kannada=kn kazakh=kk khmer=km kinyarwanda=rw korean=ko kurdish=ku kyrgyz=ky lao=lo latin=la
    latvian=lv lingala=ln lithuanian=lt macedonian=mk malagasy=mg malay=ms malayalam=ml maltese=mt
    mandarin=zh maori=mi marathi=mr mongolian=mn nepali=ne norwegian=no occitan=oc oriya=or oromo=om
    pashto=ps persian=fa polish=pl portuguese=pt punjabi=pa quechua=qu romanian=ro russian=ru samoan=sm
    sanskrit=sa serbian=sr shona=sn sindhi=sd sinhala=si slovak=sk slovenian=sl somali=so spanish=es
    sundanese=su swahili=sw swedish=sv tagalog=tl tajik=tg tamil=ta tatar=tt telugu=te thai=th tibetan=bo
    tigrinya=ti turkish=tr turkmen=tk ukrainian=uk urdu=ur uyghur=ug uzbek=uz vietnamese=vi welsh=cy
    wolof=wo xhosa=xh yiddish=yi yoruba=yo zulu=zu
"""
# Names that stand for several scripts of Unicode.
_PARTS = {
    "Hang": ("Hang", "Hani"),
    "Hans": ("Hani",),
    "Hant": ("Hani", "Bopo"),
    "Jpan": ("Hani", "Hira", "Kana"),
}
# Further scripts that a language is commonly written in: languageData of Unicode's CLDR, and the columns of FLORES-200.
_FURTHER_SCRIPTS = {
    "Arab": "ace az ban bjn crh ha kk kr ku ky min ms pa sd taq tg tk tt uz",
    "Cyrl": "az bs crh kk ku lfn ro sh tk tt ug uz",
    "Deva": "ks sat sd",
    "Latn": "ber kk ks ky mn sr shi tg tt tzm ug yue zgh",
    "Mtei": "mni",
    "Tfng": "ber kab shi taq tzm",
}
# Regional spellings that OPUS uses as well as or instead of the plain code.
_REGIONAL = {
    "en": ("en_GB", "en_US"),
    "es": ("es_ES", "es_MX"),
    "fr": ("fr_FR", "fr_CA", "fr_ca"),
    "nb": ("nb_NO",),
    "nn": ("nn_NO",),
    "pt": ("pt_PT", "pt_pt", "pt_BR", "pt_br"),
    "zh": ("zh_CN", "zh_cn", "zh_TW", "zh_tw"),
}
_PRIVATE_USE = re.compile(r"q[a-t][a-z]")
# "pt_br", "eng_Latn", "pt-BR", "zh-Hans"; with a hyphen only the case distinguishes it from a pair ("en-de").
_VARIETY = re.compile(r"(?P<code>[A-Za-z]{2,4})(_([A-Za-z]{2}|[A-Za-z]{4})|-([A-Z]{2}|[A-Z][a-z]{3}))")

# "de", "pt_BR", "zh-Hans", "sr_Latn_RS", "es-419", as folders of message catalogues and XML files write languages.
_LOCALE = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?")
# Where Chinese is written in traditional characters.
_TRADITIONAL = {"HK", "MO", "TW"}


class _Language(NamedTuple):
    script: str
    spellings: tuple[str, ...]  # the canonical one, LASER's if there are others, further ones


_LANGUAGES = {
    entry.partition("/")[0]: _Language(script, tuple(entry.split("/")))
    for script, entries in _TABLE.items()
    for entry in entries.split()
}
_CANONICAL = {spelling: code for code, row in _LANGUAGES.items() for spelling in row.spellings}


def canonical(code: str) -> str:
    """The project's code of a language spelled in any known way; a region or script is left out.

    Raises:
        ConfigError: nobody spells a language so; the message names near ones.
    """
    variety = _VARIETY.fullmatch(code)
    plain = (variety["code"] if variety else code).lower()
    if plain in _CANONICAL:
        return _CANONICAL[plain]
    if _PRIVATE_USE.fullmatch(plain):
        return plain
    if named := dict(entry.split("=") for entry in _NAMES.split()).get(code.lower()):
        raise ConfigError(f"unknown language code {code!r}: the code of {code} is {named}")
    near = get_close_matches(plain, _CANONICAL, n=5, cutoff=0.5)
    hint = f"; near ones are {', '.join(near)}" if near else ""
    raise ConfigError(f"unknown language code {code!r}: write ISO 639-1, else ISO 639-3{hint}")


def spellings(code: str) -> tuple[str, ...]:
    """All spellings that OPUS may use for a language, the canonical one first, regional ones last."""
    spelled = _language(code).spellings
    return tuple(dict.fromkeys([*spelled, *_REGIONAL.get(spelled[0], ())]))


def iso3(code: str) -> str:
    """The three-letter spelling of LASER's Tatoeba files, e.g. "cmn" for zh and "swh" for sw."""
    return _language(code).spellings[:2][-1]


def script(code: str) -> str:
    """The ISO 15924 name of the script that most text of the language is written in, e.g. "Latn"."""
    return _language(code).script


def has_spaces(code: str) -> bool:
    """Whether the language writes spaces between words."""
    return script(code) not in _WITHOUT_SPACES


def spaces_divide_phrases(code: str) -> bool:
    """Whether the language has spaces between phrases but not between words: Thai, Lao, Khmer, Burmese, Tibetan."""
    return script(code) in _SPACES_BETWEEN_PHRASES


def unicode_scripts(code: str) -> tuple[str, ...]:
    """The values of Unicode's property Script that letters of the language have, e.g. ("Hani", "Hira", "Kana").

    Where a language is commonly written in several scripts, all of them.
    """
    main = script(code)
    further = [name for name, codes in _FURTHER_SCRIPTS.items() if canonical(code) in codes.split()]
    return tuple(dict.fromkeys([*_PARTS.get(main, (main,)), *further]))


def is_locale(name: str) -> bool:
    """Whether a name is that of a known language, with or without script and region: de, pt_BR, zh-Hans, es-419."""
    return of_locale(name) in _LANGUAGES


def of_locale(name: str) -> str | None:
    """The language of a locale, or its code as it is if nobody knows it; None of a name that is none of a locale."""
    found = _LOCALE.fullmatch(name)
    return _CANONICAL.get(found[1].lower(), found[1].lower()) if found else None


def locales(code: str, names: Iterable[str], *, any_script: bool = False) -> list[str]:
    """Those names of locales that stand for a language, the plainest first.

    First the name with the script that most text of the language has (zh_Hans), then the language alone, then the
    regions in the order that corpora prefer them in (pt_PT before pt_BR), then the others by name.

    Args:
        code: the language.
        names: e.g. de, pt_BR, zh-Hans, es-419; a name that is none of a locale stands for nothing.
        any_script: whether names with another script come last; they are left out if not.
    """
    known = [spelling.lower() for spelling in spellings(code)]
    ranked = []
    for name in set(names):
        found = _LOCALE.fullmatch(name)
        if not found or of_locale(name) != code:
            continue
        written, region = (found[2] or "").title(), (found[3] or "").upper()
        if not written and code == "zh" and region in _TRADITIONAL:
            written = "Hant"
        other = written not in ("", script(code))
        plain = name.replace("-", "_").lower()
        place = known.index(plain) if plain in known else len(known)
        if any_script or not other:
            ranked.append((other, not written, bool(region), place, name))
    return [name for *_, name in sorted(ranked)]


def parse_pair(pair: str) -> tuple[str, str]:
    """Source and target of a pair written "en-de": two different canonical codes, the pivot side first.

    Raises:
        ConfigError: not two codes, an unknown one, one twice, or another spelling than the canonical one.
    """
    codes = pair.split("-")
    if len(codes) != 2:
        raise ConfigError(f'language pair {pair!r}: write two codes and a hyphen, e.g. "en-de"')
    source, target = map(canonical, codes)
    if f"{source}-{target}" != pair:
        raise ConfigError(f'language pair {pair!r}: write it "{source}-{target}"')
    if source == target:
        raise ConfigError(f"language pair {pair!r}: both sides are the same language")
    return source, target


@cache
def _language(code: str) -> _Language:
    plain = canonical(code)
    return _LANGUAGES.get(plain) or _Language(_INVENTED.get(plain, "Latn"), (plain,))
