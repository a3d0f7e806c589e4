"""Messages of programs as sentences to encode: markup goes, placeholders become one letter, on both sides alike.

Ordinary text has the same marks: a<b and c>d, Marks&Spencer, {1, 2}, 50 %. What may be text counts as a mark of a
program only where its form or the other side says so, and what is written to files is always the text as it was read.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Container

from orthoglot.text.bitext import Item, LeftOut, SentencePair

STAND_IN = "X"  # for every placeholder: a name that no language translates
# A pattern stops where the same thing begins again, and takes nothing back (*+): the time is linear in the length.
PLACEHOLDER = re.compile(
    r"""
    %%                                                     # a percent sign, no placeholder
    | \{\{(?:(?!\}\}|\{\{).)*+\}\} | \{%(?:(?!%\}|\{%).)*+%\}  # {{ variable }}, {% tag %} of templates
    | %\((?P<name>[^()]++)\)[#0+\- ]*+\d*+(?:\.\d++)?[a-zA-Z]  # %(name)s
    | (?P<conversion>(?<!\d)%(?:\d++\$)?[#0+\-]*+(?:\d++|\*)?(?:\.(?:\d++|\*))?(?:hh?|ll?|[qjztL])?
        [diouxXeEfFgGcrsa@])                               # %s, %2$s
    | (?P<argument>(?<!\d)%L?\d{1,2}(?![\d%])) | (?<!\d)%L?n\b  # %1, %n of Qt
    | \$?\{\s*+[-$@!\#]?[\w.\[\]-]*+(?:![rsa])?(?::[^{}\s]*+|(?<=\d):[^{}]*+)?\s*+\}  # {}, {0}, {name:.2f}, ${name}
    | \{\s*+\w++\s*+,\s*+(?:number|date|time|spellout|ordinal|duration)\b[^{}]*+\}  # {n, number} of ICU
    | (?P<variable>(?<!\w)\$[A-Za-z_]\w*)                 # $name
    """,
    re.VERBOSE | re.DOTALL,
)
NESTED = re.compile(r"\{[^{}]*+\{")  # ICU's plurals, and code
# Elements of HTML, and its attributes without a value.
_ELEMENTS = """
    a abbr acronym address applet area article aside audio b base basefont bdi bdo big blink blockquote body br button
    canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset
    figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd
    label legend li link main map mark marquee menu meta meter nav nobr noframes noscript object ol optgroup option
    output p param picture pre progress q rp rt ruby s samp script search section select slot small source span strike
    strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var
    video wbr
"""
HTML = frozenset(_ELEMENTS.split())
SWITCHES = (
    "allowfullscreen|async|autofocus|autoplay|checked|controls|default|defer|disabled|download|formnovalidate|hidden|"
    "ismap|loop|multiple|muted|nohref|noresize|noshade|novalidate|nowrap|open|readonly|required|reversed|selected"
)
TAG = re.compile(
    rf"""
    <(?P<tag>/?[A-Za-z][\w:.-]*+)
    (?P<attributes>\s++(?:[\w:.@-]++\s*+=|(?:{SWITCHES})(?=[\s/>]))[^<>]*+)?
    \s*+(?P<empty>/?)>
    | <!--(?:(?!-->|<!--).)*+-->
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
LINK = re.compile(r"\[([^\[\]]+)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)")
# What every placeholder, tag, link, mark and entity has one of.
MARKS = re.compile(r"[<{}%$&[*`_]")
# The letter of a menu's entry that opens it: &File and _Open, and (&F) or (_F) after a name in another script. Between
# two capitals, as in R&D, the mark is a letter of the name.
ACCESS_KEY = {
    mark: re.compile(rf"(?<!\s)\s*+\({mark}\w\)|(?<![A-Z{mark}]){mark}(?=\w)|(?<!{mark}){mark}(?=[a-z])")
    for mark in "&_"
}
START_KEY = {mark: re.compile(rf"(?:^|[\s(]){mark}") for mark in "&_"}
# The words around a mark within a word, as in E&xit; before a capital, as in Marks&Spencer, it is a name's.
INNER_KEY = re.compile(r"\w+&[a-z]\w*")
# Words of a menu's entry at most, and what ends sentences, but not "Open ...".
LABEL_WORDS = 6
SENTENCE_END = re.compile(r"(?<!\.)[.!?\u3002]\s*$")
EMPHASIS = re.compile(r"\*\*|`+")
# Tags that separate words.
BLOCKS = {"br", "div", "dd", "dl", "dt", "hr", "li", "ol", "p", "pre", "table", "td", "th", "tr", "ul"}
_ORDER = re.compile(r"^%\d+\$")


def plain(source: str, target: str) -> Item:
    """The two sides of a message as sentences to encode, or why it makes no pair.

    Tags, Markdown's links, bold type, code marks and access keys (&File, _Open) are removed, entities such as &amp;
    resolved, and each placeholder (%s, %(name)s, {name}, %1, $name, {{ name }}) becomes the letter X. A tag has a name
    of HTML, an attribute with a value, a slash at its end (<x/>), or its counterpart on the same side. %1, $name and
    what follows a number and a space (5 %d) count as placeholders only if both sides have them. An access key is in a
    short text that is no sentence.

    Returns:
        A pair; or left out as `untranslated` (the target is empty), `markup` (the sides have different tags; it holds
        the pair without them) or `placeholders` (they have different placeholders, or braces within braces, as of
        ICU's plurals).
    """
    if not target.strip():
        return LeftOut("untranslated")
    if not (MARKS.search(source) or MARKS.search(target)):
        return SentencePair(source, target)  # as of most sentences
    sides = [_without_markup(side) for side in (source, target)]
    markup = LeftOut("markup") if sides[0][1] != sides[1][1] else None
    texts = [text for text, _ in sides]
    identities = set.intersection(*({*map(_identity, PLACEHOLDER.finditer(text))} for text in texts))
    filled = [_without_placeholders(text, identities) for text in texts]
    if filled[0][1] != filled[1][1] or any(NESTED.search(text) for text, _ in filled):
        return markup or LeftOut("placeholders")
    pair = _without_access_keys(*(html.unescape(text) for text, _ in filled))
    if markup:
        return markup._replace(pair=pair) if pair.source.strip() and pair.target.strip() else markup
    return pair


def placeholder(text: str) -> str:
    """The first placeholder of a text; "" if there is none."""
    return next((match[0] for match in PLACEHOLDER.finditer(text) if match[0] != "%%"), "")


def has_tag(text: str) -> bool:
    """Whether a text has a tag or a comment."""
    paired = _paired(text)
    return any(_is_tag(match, paired) for match in TAG.finditer(text))


def separates(text: str) -> bool:
    """Whether a text has a tag that separates words."""
    return any((match["tag"] or "").lower().strip("/") in BLOCKS for match in TAG.finditer(text))


def _paired(text: str) -> set[str]:
    """The names that a text has as <name> and as </name>."""
    names = {(match["tag"] or "").lower() for match in TAG.finditer(text)}
    return {name for name in names if f"/{name}" in names}


def _is_tag(found: re.Match[str], paired: Container[str]) -> bool:
    name = (found["tag"] or "").lower().removeprefix("/")
    return not name or name in HTML or name in paired or bool(found["attributes"] or found["empty"])


def _without_markup(text: str) -> tuple[str, Counter[str]]:
    """A text without markup, and how often it had which tag."""
    counts: Counter[str] = Counter()
    paired = _paired(text)

    def removed(found: re.Match[str]) -> str:
        if not _is_tag(found, paired):
            return found[0]
        name = (found["tag"] or "").lower()
        counts.update([name] if name else [])
        return " " if name.strip("/") in BLOCKS else ""

    text = TAG.sub(removed, text)
    return EMPHASIS.sub("", LINK.sub(r"\1", text)), counts


def _without_access_keys(source: str, target: str) -> SentencePair:
    """Two sides without their access keys, of which each has one.

    An underscore within a word on both sides is part of a name, as in contact_page; so is & in Marks&Spencer, and in
    a word that both sides have.
    """
    for mark, key in ACCESS_KEY.items():
        sides = source, target
        if any(side.count(mark) != 1 or not key.search(side) or not _is_label(side) for side in sides):
            continue
        inner = [match[0] for side in sides if mark == "&" and (match := INNER_KEY.search(side))]
        if any(START_KEY[mark].search(side) for side in sides) or (len(inner) == 2 and inner[0] != inner[1]):
            source, target = key.sub("", source), key.sub("", target)
    return SentencePair(source, target)


def _is_label(text: str) -> bool:
    """Whether a text may be a menu's entry."""
    return len(text.split()) <= LABEL_WORDS and not SENTENCE_END.search(text)


def _without_placeholders(text: str, shared: Container[str]) -> tuple[str, Counter[str]]:
    """A text with a stand-in for each placeholder, and how often it has each that cannot be text.

    A placeholder that may be text gets a stand-in only if it is in `shared`, what both sides have.
    """
    counts: Counter[str] = Counter()

    def filled(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        identity, sure = _identity(found), _is_sure(found)
        counts.update([identity] if sure else [])
        return STAND_IN if sure or identity in shared else found[0]

    return PLACEHOLDER.sub(filled, text), counts


def _is_sure(found: re.Match[str]) -> bool:
    """Whether a placeholder is nothing else: %50, $name and "5 %d" may be text."""
    before = found.string[max(found.start() - 2, 0) : found.start()]
    after_number = len(before) == 2 and before[0].isdigit() and before[1].isspace()
    return not (found["argument"] or found["variable"] or (found["conversion"] and after_number))


def _identity(found: re.Match[str]) -> str:
    """What placeholders of two sides are compared by: %2$s is another %s, %(n)s another %(n)d."""
    if found["name"]:
        return f"%({found['name']})"
    return _ORDER.sub("%", "".join(found[0].split()))
