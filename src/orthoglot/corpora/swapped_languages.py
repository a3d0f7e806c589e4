"""Whether two texts seem to be in each other's language, as where two codes are given in the wrong order."""

from __future__ import annotations

import logging
from collections.abc import Sequence

logger = logging.getLogger(__name__)
MOST = 100  # sentences of a text that are looked at, at equal distances


def warn_if_swapped(texts: Sequence[Sequence[str]], languages: Sequence[str | None]) -> bool:
    """Warn where more sentences of each text seem to be in the other's language than in its own.

    Nothing is said without both languages, or if the identifier does not know one, or does not tell them apart.

    Args:
        texts: The sentences of source and target.
        languages: Their canonical codes.
    Returns:
        Whether it warned.
    """
    if not all(languages):
        return False
    from orthoglot.corpora.language_identifier import label_counts, labels

    wanted = [labels(str(language)) for language in languages]
    if not all(wanted) or wanted[0] & wanted[1]:
        return False
    for text, (right, wrong) in zip(texts, (wanted, wanted[::-1]), strict=True):
        counts = label_counts(text[:: len(text) // MOST + 1])
        if sum(counts[label] for label in wrong) <= sum(counts[label] for label in right):
            return False
    logger.warning(
        "the source seems to be in %s, and the target in %s: are --source-language and --target-language swapped?",
        *reversed(languages),
    )
    return True
