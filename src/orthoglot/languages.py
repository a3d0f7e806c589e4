"""Every spelling of a language code, and the one this project uses.

The canonical code is ISO 639-1 where there is one, else ISO 639-3 ("de", "gn", "arz"). Corpora spell
otherwise: OPUS "aym" or "pt_br", FLORES "eng_Latn", LASER's Tatoeba files "cmn"; those spellings live here
only. The codes qaa ... qtz, which ISO 639 reserves for private use, name invented languages.

Names of locales and tags of files say more than a language: zh-TW, sr@latin, ca-ES-valencia. `langcodes` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import NamedTuple

import langcodes
from langcodes.data_dicts import ALL_SCRIPTS
from langcodes.tag_parser import LanguageTagError
from language_data.names import TRIES, name_to_code, normalize_name

from orthoglot.errors import ConfigError

# Languages by the script that most text is written in: canonical/LASER's three letters/further spellings, or one code.
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
# The invented languages of `orthoglot.study.invented`; other private-use codes count as Latin.
_INVENTED = {"qac": "Cyrl", "qad": "Grek", "qae": "Hira", "qaf": "Deva"}
# Scripts without spaces between words; those of the second set have spaces between phrases.
_WITHOUT_SPACES = {"Hans", "Hant", "Hira", "Jpan", "Khmr", "Laoo", "Mymr", "Thai", "Tibt"}
_SPACES_BETWEEN_PHRASES = {"Khmr", "Laoo", "Mymr", "Thai", "Tibt"}
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
# Regions in whose spelling OPUS has a language as well as or instead of the plain code (pt_PT or pt_pt), in the order
# of preference.
_REGIONS = {"en": "GB US", "es": "ES MX", "fr": "FR CA", "nb": "NO", "nn": "NO", "pt": "PT BR", "zh": "CN TW"}
# Codes of OPUS that are of no standard, each of one language by the name of its corpus or by the web sites that
# CCAligned took it from; the preferred spellings of a language come before them.
_OF_OPUS = {
    "cb": "ckb", "cn": "zh", "cx": "ceb", "gr": "el", "jap": "ja", "me": "sr_ME", "no_nb": "nb", "ns": "nso",
    "sz": "szl", "zz": "zza",
}  # fmt: skip
_PRIVATE_USE = re.compile(r"q[a-t][a-z]")
# "en-de" is a pair of languages, where BCP 47 has it for English of Germany.
_PAIR = re.compile(r"[a-z]{2,3}-([a-z]{2,3})")
_CODE_FIRST = re.compile(r"[A-Za-z]{2,3}(?![A-Za-z])")
LONGEST_CODE, LONGEST_NAME = 3, 100  # characters
# POSIX: language_REGION.ENCODING@modifier.
_POSIX = re.compile(r"(?P<tag>[\w-]+)(?:\.[\w-]+)?(?:@(?P<modifier>\w+))?", re.ASCII)
# Windows: the region before the script (az-AZ-Cyrl), and scripts of Chinese.
_REGION_FIRST = re.compile(r"^(\w{2,3})-(\w{2})-(Latn|Cyrl|Arab)\b", re.ASCII | re.IGNORECASE)
_WINDOWS = re.compile(r"^zh-CH([ST])\b", re.IGNORECASE)
# Macrolanguages before whose members BCP 47 also writes their own code: zh-yue, ar-arz.
_EXTENDED = {"ar", "kok", "lv", "ms", "sgn", "sw", "uz", "zh"}
_BRACKETS = re.compile(r"([^()]+?)\s*\(([^()]+)\)")
_REGION = re.compile(r"[A-Z]{2}")
# Shorter ones name currencies and quotation marks: de_DE@euro, en@quot.
_MODIFIER = re.compile(r"[a-z0-9]{5,}|[0-9][a-z0-9]{3}", re.IGNORECASE)


class Tag(NamedTuple):
    """What the name of a locale or a language tag says; "" where it says nothing."""

    language: str  # the project's code, or the name's own if nobody knows the language
    script: str  # of ISO 15924, as it is written or as the region has it: Hant of zh-TW
    region: str  # of ISO 3166 or UN M.49
    variety: str  # variants, extensions and private use, in lower case

    @property
    def is_language(self) -> bool:
        """Whether it says a language and nothing else."""
        return not any(self[1:])


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
    """The project's code of a language spelled in any known way; a region, script or variety is left out.

    Raises:
        ConfigError: nobody spells a language so; the message names near ones.
    """
    plain = code.lower()
    if plain in _CANONICAL:
        return _CANONICAL[plain]
    tag = tag_of(code)
    pair = _PAIR.fullmatch(code)
    if pair and tag and is_known(tag.language) and is_known(pair[1]):
        first, second = code.split("-")
        raise ConfigError(
            f"{code!r} stands for the pair of {first} and {second}, not for one language; "
            f"for a region write {first}-{second.upper()}"
        )
    if tag and _CODE_FIRST.match(code) and is_known(tag.language):
        return tag.language
    if tag and is_known(tag.language) and code.isalpha():
        raise ConfigError(f"unknown language code {code!r}: the code of {code} is {tag.language}")
    near = get_close_matches(plain, _CANONICAL, n=5, cutoff=0.5)
    hint = f"; near ones are {', '.join(near)}" if near else ""
    raise ConfigError(f"unknown language code {code!r}: write ISO 639-1, else ISO 639-3{hint}")


def canonical_if_known(code: str) -> str | None:
    """The project's code of a language, see `canonical`; None if nobody spells a language so."""
    with suppress(ConfigError):
        return canonical(code)
    return None


def language_of(name: str) -> str:
    """The project's code of the language of a locale or tag, as `canonical`, but of names in any form: pt-br.

    Raises:
        ConfigError: nobody knows the language.
    """
    tag = tag_of(name)
    return tag.language if tag and is_known(tag.language) else canonical(name)


def is_known(language: str) -> bool:
    """Whether a code names a language in ISO 639, or is for private use."""
    return bool(
        language in _LANGUAGES
        or _PRIVATE_USE.fullmatch(language)
        or (_CODE_FIRST.fullmatch(language) and langcodes.Language.get(language).is_valid())
    )


@lru_cache(maxsize=4096)
def tag_of(name: str) -> Tag | None:
    """What a name says in BCP 47 (ca-ES-valencia), POSIX (sr@latin, de_DE.UTF-8), Windows (zh-CHS) or English.

    English names are those of languages, with the name or code of a region or script in brackets: German, English (US).

    None if `name` is none of these.
    """
    name = name.strip()
    if code := _OF_OPUS.get(name.lower()) or _named("language", name):
        return tag_of(code)
    if (brackets := _BRACKETS.fullmatch(name)) and (code := _named("language", brackets[1])):
        inside = brackets[2]
        part = (
            inside if _REGION.fullmatch(inside) else _named("territory", inside) or _named("script", inside)
        )
        return tag_of(f"{code}-{part}") if part else None
    posix = _POSIX.fullmatch(name) if len(name) <= LONGEST_NAME else None
    if not posix:
        return None
    text = _WINDOWS.sub(lambda match: f"zh-Han{match[1].lower()}", posix["tag"].replace("_", "-"))
    try:
        tag = langcodes.Language.get(_REGION_FIRST.sub(r"\1-\3-\2", text), normalize=False)
        if "-" in (tag.language or ""):  # older than BCP 47: en-GB-oed
            tag = langcodes.Language.get(text)
    except LanguageTagError:
        return None
    modifier = posix["modifier"] or ""
    if modifier.endswith("latin") and modifier != "latin":  # sr@ijekavianlatin of KDE
        variants = [*(tag.variants or []), modifier.removesuffix("latin"), "latin"]
    else:
        variants = [*(tag.variants or []), *([modifier] if _MODIFIER.fullmatch(modifier) else [])]
    # Scripts by their names: sr@latin, and sr-latin in Java.
    named = {part: code for part in (modifier, *variants) if (code := _script_named(part))}
    variety = [part for part in variants if part not in named] + [*(tag.extensions or []), tag.private or ""]
    return Tag(
        _language_of(tag),
        tag.script or next(iter(named.values()), "") or _script_of_region(tag),
        tag.territory or "",
        "-".join(filter(None, variety)).lower(),
    )


def _named(category: str, name: str) -> str:
    """The code of a language, region or script that has this name in English; "" if none has."""
    if not (LONGEST_CODE < len(name) <= LONGEST_NAME and name.isprintable()):
        return ""
    code: str | None = name_to_code(category, name, "en")
    # The library takes a name that only begins so, too.
    return code if code and normalize_name(name) in TRIES[f"en/name_to_{category}"] else ""


def _language_of(tag: langcodes.Language) -> str:
    """The project's code of a tag's language: cmn of zh-cmn, tlh of i-klingon."""
    code = (tag.language or "").lower()
    if tag.extlangs and code in _EXTENDED:
        code = tag.extlangs[-1]
    if code in _CANONICAL or _PRIVATE_USE.fullmatch(code):
        return _CANONICAL.get(code, code)
    usual = langcodes.Language.get(code).language if code else ""
    return _CANONICAL.get(usual or "", usual or code)


def _script_named(part: str) -> str:
    """The script that a modifier of POSIX or a variant names: Cyrl of cyrillic, and of Cyrl; "" if it names none."""
    return part.title() if part.title() in ALL_SCRIPTS else _named("script", part)


def _script_of_region(tag: langcodes.Language) -> str:
    """The script that a language has in a region and not elsewhere: Hant of zh-TW."""
    if not tag.territory:
        return ""
    usual = langcodes.Language.make(language=tag.language).maximize().script
    there = langcodes.Language.make(language=tag.language, territory=tag.territory).maximize().script
    return there if there and there != usual else ""


def spellings(code: str) -> tuple[str, ...]:
    """All spellings that OPUS may use for a language, the canonical one first, regional ones last."""
    spelled = _language(code).spellings
    regions = _REGIONS.get(spelled[0], "").split()
    regional = [f"{spelled[0]}_{name}" for region in regions for name in (region, region.lower())]
    of_opus = [name for name, language in _OF_OPUS.items() if language == spelled[0]]
    return tuple(dict.fromkeys([*spelled, *regional, *of_opus]))


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


def bcp47(name: str) -> str:
    """A name of a locale as XML has language tags: pt-BR of pt_BR, sr-Latn of sr@latin, de of German."""
    plain = name.replace("_", "-")
    tag = tag_of(name)
    if tag is None or (_CODE_FIRST.match(plain) and plain.replace("-", "").isalnum()):
        return plain
    return "-".join(filter(None, tag))


def is_locale(name: str) -> bool:
    """Whether a name is that of a known language, with or without script and region: de, pt_BR, zh-Hans, es-419."""
    tag = tag_of(name) if _CODE_FIRST.match(name) else None
    return bool(tag and tag.language in _LANGUAGES)


def of_locale(name: str) -> str | None:
    """The language of a locale, or its code unchanged if nobody knows it; None if `name` is not a locale."""
    tag = tag_of(name)
    return tag.language if tag else None


def is_spelling(name: str, code: str | None) -> bool:
    """Whether a name stands for a language or one of its varieties: es_AR or es_419 for es, but not es_xx."""
    tag = tag_of(name)
    if tag is None or tag.language != code:
        return False
    region = langcodes.Language.make(territory=tag.region)
    return not tag.region or not region.territory_name("en").startswith("Unknown Region")


def locales(name: str, names: Iterable[str], *, any_script: bool = False) -> list[str]:
    """Those names of locales that stand for a language or one of its varieties, the preferred one first.

    A language alone gets first the name with the script that most text of the language has (zh_Hans), then the
    language alone, then the regions in the order that corpora prefer them in (pt_PT before pt_BR), then the one where
    most speakers are by CLDR (fa_IR), then the others by name. A script, region or variety gets the same one; if there
    is none, those that say more (zh-TW for zh-Hant), or else less (pt for pt-BR), but never something else (pt-PT for
    pt-BR).

    Args:
        name: A language, or a variety of one, e.g. pt or pt-BR.
        names: Names such as de, pt_BR, zh-Hans, es-419, sr@latin; what is not the name of a locale is left out.
        any_script: Whether for a language alone names with another script come last; they are left out if not.
    """
    wanted = tag_of(name)
    tags = {
        locale: tag
        for locale in set(names)
        if wanted and (tag := tag_of(locale)) and tag.language == wanted.language
    }
    if wanted is None or not tags:
        return []
    if not wanted.is_language:
        agreement = {locale: _agreement(wanted, tag) for locale, tag in tags.items()}
        most = max(agreement.values())
        tags = {locale: tag for locale, tag in tags.items() if most and agreement[locale] == most}
    known = [spelling.lower() for spelling in spellings(wanted.language)]
    region = langcodes.Language.make(language=wanted.language).maximize().territory
    ranked = []
    for locale, tag in tags.items():
        other = wanted.is_language and tag.script not in ("", script(wanted.language))
        plain = re.split("[.@]", locale)[0].replace("-", "_").lower()
        place = known.index(plain) if plain in known else len(known) + (tag.region != region)
        if any_script or not other:
            ranked.append((other, bool(tag.variety), not tag.script, bool(tag.region), place, locale))
    return [locale for *_, locale in sorted(ranked)]


def _agreement(wanted: Tag, held: Tag) -> int:
    """How well a tag of the same language fits: 3 the same, 2 it says more, 1 less, 0 something else.

    A region without a script has the language's usual one.
    """
    if held == wanted:
        return 3
    scripts = {
        tag.script or (script(tag.language) if tag.region and tag.language in _LANGUAGES else "")
        for tag in (wanted, held)
    } - {""}
    regions, varieties = {wanted.region, held.region} - {""}, {wanted.variety, held.variety} - {""}
    if max(map(len, (scripts, regions, varieties))) > 1:
        return 0
    return 2 if all(held_part == part for part, held_part in zip(wanted, held, strict=True) if part) else 1


def tags_of_pair(pair: str) -> tuple[str, str]:
    """The tags of a pair written "en-pt_BR" or "zh-Hant-en", whose languages are those of `parse_pair`.

    Raises:
        ConfigError: see `parse_pair`; or two varieties of one language.
    """
    parts = pair.split("-")
    divided = (("-".join(parts[:place]), "-".join(parts[place:])) for place in range(1, len(parts)))
    both = [sides for sides in divided if all(is_spelling(side, canonical_if_known(side)) for side in sides)]
    if len(both) != 1 or all(tag.is_language for tag in map(tag_of, both[0]) if tag):
        return parse_pair(pair)
    source, target = both[0]
    if canonical(source) == canonical(target):
        raise ConfigError(
            f"language pair {pair!r}: to a model, {source} and {target} are one language, {canonical(source)}"
        )
    return source, target


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
    if plain in _LANGUAGES:
        return _LANGUAGES[plain]
    likely = (
        "Latn" if _PRIVATE_USE.fullmatch(plain) else langcodes.Language.get(plain).maximize().script or "Latn"
    )
    return _Language(_INVENTED.get(plain, likely), (plain,))
