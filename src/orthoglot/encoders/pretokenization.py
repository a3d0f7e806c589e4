"""Split sentences into lower-cased words: by Moses' rules for the language, or by one Unicode rule for all languages.

The Unicode rule is a chain of steps of the `tokenizers` library, so that it can be stored in tokenizer.json. It removes
format characters, turns other white space into blanks, applies NFKC, lower-cases, and splits. A word is

- a longest run of letters, marks and digits; an apostrophe or a hyphen between two such runs stays inside
  ("mba'éichapa", "state-of-the-art"), and so does one of . , : between two digits ("1,000.5", "10:30"); or
- a longest run of one and the same other character: "...", "!!", "—".

Text without spaces is one run, within which the subword model finds its units. Moses' rules differ where they use the
language: they split "don't" before and "l'été" after the apostrophe, and keep the period of abbreviations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tokenizers import Regex, normalizers, pre_tokenizers

from orthoglot.encoders.segmentation import Segmenter
from orthoglot.languages import has_spaces

_RUN = r"[\p{L}\p{M}\p{N}]+"
_WORD = rf"{_RUN}(?:(?:['’‐-]|(?<=\p{{N}})[.,:](?=\p{{N}})){_RUN})*|([^\p{{L}}\p{{M}}\p{{N}}\s])\1*"
# Soft hyphens, joiners and direction marks. The zero-width space and the non-joiner separate words, in Khmer and in
# Persian; Nmt turns them into blanks.
_FORMAT = "(?![\u200b\u200c])\\p{Cf}"

NORMALIZER = normalizers.Sequence(
    [
        normalizers.Replace(Regex(_FORMAT), ""),
        normalizers.Nmt(),
        normalizers.NFKC(),
        normalizers.Lowercase(),
    ]
)
WORDS = pre_tokenizers.Split(Regex(_WORD), behavior="removed", invert=True)


def words(sentence: str) -> list[str]:
    """The words of a sentence by the Unicode rule, lower-cased."""
    return [word for word, _ in WORDS.pre_tokenize_str(NORMALIZER.normalize_str(sentence))]


def moses_words(
    sentences: Iterable[str], language: str, segmenters: Mapping[str, Segmenter] | None = None
) -> list[str]:
    """The lower-cased words of each sentence by Moses' rules, separated by blanks; entities are not escaped.

    A language without spaces is cut by its segmenter, and only lower-cased if it has none. English rules are used where
    the language is unknown ("").

    Source: docs/papers.md#ems-text.
    """
    split: Callable[[str], str] = str.strip
    if segmenters and language in segmenters:
        split = segmenters[language].words
    elif not language or has_spaces(language):
        # Imported here: it takes 0.4 s, and the Unicode rule does not need it.
        from orthoglot.encoders.moses import moses_rules

        split = moses_rules(language or "en").words
    return [split(sentence.lower()) for sentence in sentences]
