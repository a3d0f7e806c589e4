"""Training data as the inputs of a network, with the numbers that its scores are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from orthoglot.encoders.ragged import Ragged
from orthoglot.errors import DataError
from orthoglot.study.benchmarks.base import PairSet
from orthoglot.study.benchmarks.kinds import classification, qe, sts
from orthoglot.study.benchmarks.kinds.classification import Item, LabelledSet
from orthoglot.study.benchmarks.kinds.pool import PoolSet
from orthoglot.study.finetuning.heads import Batch
from orthoglot.study.finetuning.network import Opened, padded

# What COPA asks, in the words of XTREME's code, in English in every language.
ASKED = "{premise} What was the {asked}?"


@dataclass(frozen=True)
class Data:
    """N items."""

    columns: Sequence[Ragged]  # the inputs of each item: one, one for each choice, or both texts
    seconds: Sequence[np.ndarray]  # where the second text begins in each input (N,), of inputs of two texts
    targets: np.ndarray  # (N,) or (N, C)

    def __len__(self) -> int:
        return len(self.targets)

    def batch(self, rows: np.ndarray, pad: int, device: torch.device) -> Batch:
        """Some items on a device."""
        ids = [padded(column, rows, pad, device) for column in self.columns]
        if self.seconds:
            starts = [torch.from_numpy(start[rows]).to(device) for start in self.seconds]
            seconds = [_behind(rows.shape[1], start) for rows, start in zip(ids, starts, strict=True)]
        return Batch(
            ids,
            seconds if self.seconds else [None] * len(ids),
            torch.from_numpy(self.targets[rows]).to(device),
        )


def _behind(length: int, starts: torch.Tensor) -> torch.Tensor:
    """(B, T), 1 from the start of each row on."""
    return (torch.arange(length, device=starts.device) >= starts[:, None]).long()


def joined(parts: Sequence[Data]) -> Data:
    """The items of several parts, e.g. of several languages."""
    first = parts[0]
    columns = [Ragged.join([part.columns[n] for part in parts]) for n in range(len(first.columns))]
    seconds = [np.concatenate([part.seconds[n] for part in parts]) for n in range(len(first.seconds))]
    return Data(columns, seconds, np.concatenate([part.targets for part in parts]))


def labelled(
    opened: Opened, items: Sequence[Item], language: str, max_tokens: int, targets: np.ndarray
) -> Data:
    """Items of a labelled set in one language: texts, pairs, or choices of pairs, as their number of texts says."""
    rows = [as_asked(item.texts) for item in items]
    columns, seconds = [], []
    if len(rows[0]) == 1:
        columns.append(opened.texts([texts[0] for texts in rows], language, max_tokens))
    else:
        for place in range(0, len(rows[0]), 2):
            firsts, others = ([texts[place + n] for texts in rows] for n in range(2))
            ids, starts = opened.pairs(firsts, others, language, max_tokens)
            columns.append(ids)
            seconds.append(starts)
    return Data(columns, seconds, targets)


def as_asked(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The pairs of cause and effect of a choice as questions with an answer: ("... What was the cause?", cause).

    Texts of other items stay as they are.
    """
    if len(texts) != 4:
        return texts
    if texts[0] == texts[2]:
        question = ASKED.format(premise=texts[0], asked="effect")
        return question, texts[1], question, texts[3]
    question = ASKED.format(premise=texts[1], asked="cause")
    return question, texts[0], question, texts[2]


def both(
    opened: Opened,
    sides: Sequence[tuple[str, Sequence[str]]],
    max_tokens: int,
    targets: np.ndarray,
) -> Data:
    """Two texts of each item, (language, sentences) each, which the network reads one by one."""
    return Data([opened.texts(texts, code, max_tokens) for code, texts in sides], [], targets)


def graded(opened: Opened, pairs: Sequence[PairSet], max_tokens: int, span: tuple[float, float]) -> Data:
    """Sentence pairs with their gold scores in [0, 1]: 0 and 1 are the ends of the span, and what is beyond them."""
    low, high = span
    parts = [
        both(
            opened,
            language_pair.sides(),
            max_tokens,
            np.clip((np.asarray(language_pair.gold) - low) / (high - low), 0, 1).astype(np.float32),
        )
        for language_pair in pairs
    ]
    return joined(parts)


def span(pairs: Sequence[PairSet]) -> tuple[float, float]:
    """The lowest and the highest gold score of all language pairs.

    Raises:
        DataError: all are equal.
    """
    gold = [score for language_pair in pairs for score in language_pair.gold]
    if min(gold) == max(gold):
        raise DataError(f"{pairs[0].name}: every gold score is {gold[0]:g}; there is nothing to learn")
    return min(gold), max(gold)


def answered(opened: Opened, pools: Sequence[PoolSet], max_tokens: int) -> Data:
    """Questions with their answer in their own language; targets are numbers of answers."""
    parts, numbers = [], dict[tuple[str, str], int]()
    for pool in pools:
        for code, questions in pool.questions.items():
            text = dict(zip(pool.ids.get(code, []), pool.candidates.get(code, []), strict=True))
            answerable = [
                (question, name)
                for question, name in zip(questions, pool.answers[code], strict=True)
                if name in text
            ]
            if answerable:
                asked, names = zip(*answerable, strict=True)
                targets = np.array([numbers.setdefault((code, text[name]), len(numbers)) for name in names])
                sides = [(code, list(asked)), (code, [text[name] for name in names])]
                parts.append(both(opened, sides, max_tokens, targets))
    if not parts:
        raise DataError(f"{pools[0].name}: no question has an answer in its own language")
    return joined(parts)


def labelled_set(folder: Path) -> LabelledSet:
    """The labelled set of a folder.

    Raises:
        DataError: there is none.
    """
    for texts in classification.read(folder):
        return texts
    raise DataError(f"{folder} holds no benchmark that an encoder can be fine-tuned on in this way")


def graded_sets(folder: Path) -> list[PairSet]:
    """The graded pairs of a folder."""
    return [*sts.read(folder), *qe.read(folder)]
