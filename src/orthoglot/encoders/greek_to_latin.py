"""Greek in Latin letters as the package transliterate 1.10.2 writes it, which LASER1's text went through.

Source: https://github.com/barseghyanartur/transliterate; docs/papers.md#laser1-text.
"""

from __future__ import annotations

_FIRST = str.maketrans("ςάέήίύόώϊϋΐΰωΩηΗϵϱ", "saeiiyooiyiyooiier")
# Then these, one after the other, whatever they leave to the next.
_GROUPS = {
    "θ": "th",
    "Θ": "Th",
    "χ": "ch",
    "Χ": "Ch",
    "ψ": "ps",
    "Ψ": "Ps",
    "Γκ": "Gk",
    "γκ": "gk",
    "γξ": "gch",
    "Μπ": "B",
    "Ευ": "Eu",
    "ευ": "eu",
    "μπ": "b",
    "Αυ": "Au",
    "αυ": "au",
    "Ου": "Oy",
    "ου": "oy",
    "Υ": "U",
    "υ": "u",
    "Οι": "Oi",
    "οι": "oi",
    "γγ": "ng",
}
_LAST = str.maketrans("αβγδεζικλμνξοπρστφΑΒΓΔΕΖΙΚΛΜΝΞΟΠΡΣΤΦ", "avgdeziklmnxoprstfAVGDEZIKLMNXOPRSTF")


def romanised(text: str) -> str:
    """The text with Greek letters as Latin ones; a capital letter with an accent stays."""
    text = text.translate(_FIRST)
    for greek, latin in _GROUPS.items():
        text = text.replace(greek, latin)
    return text.translate(_LAST)
