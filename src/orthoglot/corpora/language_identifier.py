"""Which language a sentence is in, as py3langid says: a naive Bayes classifier of byte n-grams.

It knows 140 languages (version 0.4.0), and its model is part of the package.
Source: Lui and Baldwin, "langid.py: An Off-the-shelf Language Identification Tool", ACL 2012.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

from orthoglot.errors import ConfigError
from orthoglot.languages import canonical

# Languages that it does not tell apart. In NTREX or FLORES, another label is ten times as probable as the right one for
# 84 % of sentences in Egyptian Arabic (ar), 80 % in Northern Sotho (st), 28 % in Cantonese (zh) and 9 % in Serbian in
# Latin letters (hr, bs): 200 to 400 sentences, 2026-11-27, py3langid 0.4.0.
ALIKE = ("ar arz", "bs hr sr", "nso st", "yue zh")


def probabilities(text: str) -> dict[str, float]:
    """The probability of each label that the identifier has, highest first."""
    return dict(_identifier().rank(text))


def label_counts(texts: Iterable[str]) -> Counter[str]:
    """How often each label is the most probable one of a text with a letter; others have no language."""
    return Counter(next(iter(probabilities(text))) for text in texts if any(map(str.isalpha, text)))


def labels(language: str) -> frozenset[str]:
    """The identifier's labels of a language, by its canonical code, and of those that it does not tell from it.

    Empty if it does not know the language.
    """
    return _labels().get(language, frozenset())


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@cache
def _labels() -> dict[str, frozenset[str]]:
    by_language: dict[str, set[str]] = {}
    for label in _identifier().labels:
        try:
            by_language.setdefault(canonical(label), set()).add(label)
        except ConfigError:
            continue
    # Its Norwegian is Bokmål; Nynorsk has a label of its own.
    by_language.setdefault("nb", by_language["no"])
    for group in map(str.split, ALIKE):
        codes = set().union(*(by_language[language] for language in group))
        by_language |= dict.fromkeys(group, codes)
    return {language: frozenset(codes) for language, codes in by_language.items()}
