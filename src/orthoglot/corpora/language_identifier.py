"""Which language a sentence is in, as py3langid says: a naive Bayes classifier of byte n-grams.

It knows 140 languages (version 0.4.0), and its model is part of the package.
Source: Lui and Baldwin, "langid.py: An Off-the-shelf Language Identification Tool", ACL 2012.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from orthoglot.errors import ConfigError
from orthoglot.languages import canonical


def probabilities(text: str) -> dict[str, float]:
    """The probability of each label that the identifier has, highest first."""
    return dict(_identifier().rank(text))


def labels(language: str) -> frozenset[str]:
    """The identifier's labels of a language, by its canonical code; empty if it does not know the language."""
    return _labels().get(language, frozenset())


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@cache
def _labels() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for label in _identifier().labels:
        try:
            found.setdefault(canonical(label), set()).add(label)
        except ConfigError:
            continue
    # Its Norwegian is Bokmål; Nynorsk has a label of its own.
    found.setdefault("nb", found["no"])
    return {language: frozenset(codes) for language, codes in found.items()}
