"""From every language to the pivot, over the translations that there are."""

from __future__ import annotations

from collections.abc import Sequence

from orthoglot.decomposers.moments import PairMoments
from orthoglot.errors import DataError


def chain(languages: Sequence[str], pairs: PairMoments) -> list[tuple[str, str]]:
    """Every language, each with one before it in the list whose translations lead it to the pivot.

    The pivot, the language of most sentence pairs, comes first, with itself. Then the languages follow that share most
    pairs with one before them. One without such pairs is a DataError.
    """
    links: dict[str, dict[str, int]] = {language: {} for language in languages}
    for (first, second), n in pairs.counts.items():
        links[first][second] = links[second][first] = n
    pivot = max(languages, key=lambda language: sum(links[language].values()))
    before = {pivot: pivot}
    while len(before) < len(languages):
        further = [
            (n, language, known)
            for known in before
            for language, n in links[known].items()
            if language not in before
        ]
        if not further:
            lost = ", ".join(language for language in languages if language not in before)
            raise DataError(f"no translations link {lost} to {pivot}")
        _, language, known = max(further)
        before[language] = known
    return list(before.items())
