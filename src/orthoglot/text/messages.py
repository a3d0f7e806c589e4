"""Messages of programs as sentences: markup goes, placeholders become one letter, on both sides alike."""

from __future__ import annotations

import html
import re
from collections import Counter

from orthoglot.text.bitext import Item, LeftOut, SentencePair

STAND_IN = "X"  # for every placeholder: a name that no language translates
# A pattern stops where the same thing begins again, and takes nothing back (*+): the time is linear in the length.
PLACEHOLDER = re.compile(
    r"""
    %%                                                     # a percent sign, no placeholder
    | \{\{(?:(?!\}\}|\{\{).)*+\}\} | \{%(?:(?!%\}|\{%).)*+%\}  # {{ variable }}, {% tag %} of templates
    | %\((?P<name>[^()]++)\)[#0+\- ]*+\d*+(?:\.\d++)?[a-zA-Z]  # %(name)s
    | (?<!\d)%(?:\d++\$)?[#0+\-]*+(?:\d++|\*)?(?:\.(?:\d++|\*))?(?:hh?|ll?|[qjztL])?[diouxXeEfFgGcrsa@]  # %s, %2$s
    | (?<!\d)%L?(?:\d{1,2}(?![\d%])|n\b)                   # %1, %n of Qt
    | \$?\{[^{}]*\}                                        # {}, {0}, {name}, ${name}
    | (?<!\w)\$[A-Za-z_]\w*                                # $name
    """,
    re.VERBOSE | re.DOTALL,
)
TAG = re.compile(r"<(?P<tag>/?[A-Za-z][\w:.-]*+)(?:\s[^<>]*+)?/?>|<!--(?:(?!-->|<!--).)*+-->", re.DOTALL)
LINK = re.compile(r"\[([^\[\]]+)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)")
START_KEY = re.compile(r"(?:^|[\s(])_")
# What every placeholder, tag, link, mark and entity has one of.
MARKS = re.compile(r"[<{}%$&[*`_]")
# The letter of a menu's entry that opens it: &File and _Open, and (&F) or (_F) after a name in another script. Between
# two capitals, as in R&D, the mark is a letter of the name.
ACCESS_KEY = {
    mark: re.compile(rf"(?<!\s)\s*+\({mark}\w\)|(?<![A-Z{mark}]){mark}(?=\w)|(?<!{mark}){mark}(?=[a-z])")
    for mark in "&_"
}
EMPHASIS = re.compile(r"\*\*|`+")
# Tags that separate words.
BLOCKS = {"br", "div", "dd", "dl", "dt", "hr", "li", "ol", "p", "pre", "table", "td", "th", "tr", "ul"}
_ORDER = re.compile(r"^%\d+\$")


def plain(source: str, target: str) -> Item:
    """The two sides of a message as sentences, or why it makes no pair.

    HTML tags, Markdown's links, bold type, code marks and access keys (&File, _Open) are removed, entities such as
    &amp; resolved, and each placeholder (%s, %(name)s, {name}, %1, $name, {{ name }}) becomes the letter X.

    Returns:
        A pair; or left out as `untranslated` (the target is empty), `markup` (the sides have different tags or links;
        it holds the pair without them) or `placeholders` (they have different placeholders, or an odd brace is left,
        as of ICU's plurals).
    """
    if not target.strip():
        return LeftOut("untranslated")
    if not (MARKS.search(source) or MARKS.search(target)):
        return SentencePair(source, target)  # as of most sentences
    sides = [_without_markup(side) for side in (source, target)]
    markup = LeftOut("markup") if sides[0][1] != sides[1][1] else None
    filled = [_without_placeholders(text) for text, _ in sides]
    if filled[0][1] != filled[1][1] or any(brace in text for text, _ in filled for brace in "{}"):
        return markup or LeftOut("placeholders")
    pair = _without_access_keys(*(html.unescape(text) for text, _ in filled))
    return markup._replace(pair=pair) if markup else pair


def placeholder(text: str) -> str:
    """The first placeholder of a text; "" if there is none."""
    return next((found[0] for found in PLACEHOLDER.finditer(text) if found[0] != "%%"), "")


def _without_markup(text: str) -> tuple[str, Counter[str]]:
    """A text without markup, and how often it had which."""
    counts = Counter(found["tag"].lower() for found in TAG.finditer(text) if found["tag"])
    text = TAG.sub(_space_of_tag, text)
    text, links = LINK.subn(r"\1", text)
    return EMPHASIS.sub("", text), counts + Counter({"[]()": links})


def _space_of_tag(found: re.Match[str]) -> str:
    return " " if (found["tag"] or "").lower().strip("/") in BLOCKS else ""


def _without_access_keys(source: str, target: str) -> SentencePair:
    """Two sides without their access keys, of which each has one.

    An underscore within a word on both sides is part of a name, as in contact_page.
    """
    for mark, key in ACCESS_KEY.items():
        found = [key.search(side) for side in (source, target)]
        if source.count(mark) != 1 or target.count(mark) != 1 or not all(found):
            continue
        if mark == "&" or START_KEY.search(source) or START_KEY.search(target):
            source, target = key.sub("", source), key.sub("", target)
    return SentencePair(source, target)


def _without_placeholders(text: str) -> tuple[str, Counter[str]]:
    """A text with a stand-in for each placeholder, and how often it had which, whatever their order."""
    counts = Counter(_identity(found) for found in PLACEHOLDER.finditer(text) if found[0] != "%%")
    return PLACEHOLDER.sub(lambda found: "%" if found[0] == "%%" else STAND_IN, text), counts


def _identity(found: re.Match[str]) -> str:
    """By which the placeholders of two sides are compared: %2$s is another %s, %(n)s another %(n)d."""
    if found["name"]:
        return f"%({found['name']})"
    return _ORDER.sub("%", "".join(found[0].split()))
