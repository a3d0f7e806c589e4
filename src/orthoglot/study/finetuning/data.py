"""Training data as the inputs of a network, with the numbers that its scores are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from orthoglot.encoders.token_lists import Ragged
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
        seconds: list[torch.Tensor | None] = [None] * len(ids)
        for number, starts in enumerate(self.seconds):
            places = torch.arange(ids[number].shape[1], device=device)
            seconds[number] = (places >= torch.from_numpy(starts[rows]).to(device)[:, None]).long()
        return Batch(ids, seconds, torch.from_numpy(self.targets[rows]).to(device))


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
    sides = list(zip(*(as_asked(item.texts) for item in items), strict=True))
    if len(sides) == 1:
        return Data([opened.texts(sides[0], language, max_tokens)], [], targets)
    pairs = [
        opened.pairs(first, second, language, max_tokens)
        for first, second in zip(sides[::2], sides[1::2], strict=True)
    ]
    return Data([ids for ids, _ in pairs], [starts for _, starts in pairs], targets)


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
    opened: Opened, sides: Sequence[tuple[str, Sequence[str]]], max_tokens: int, targets: np.ndarray
) -> Data:
    """Two texts of each item, (language, sentences) each, which the network reads one by one."""
    return Data([opened.texts(texts, code, max_tokens) for code, texts in sides], [], targets)


def graded(opened: Opened, pairs: Sequence[PairSet], max_tokens: int, span: tuple[float, float]) -> Data:
    """Sentence pairs with their gold scores in [0, 1]: 0 and 1 are the ends of the span, and what is beyond them."""
    low, high = span
    parts = []
    for language_pair in pairs:
        gold = np.clip((np.asarray(language_pair.gold) - low) / (high - low), 0, 1).astype(np.float32)
        parts.append(both(opened, language_pair.sides(), max_tokens, gold))
    return joined(parts)


def span(pairs: Sequence[PairSet]) -> tuple[float, float]:
    """The lowest and the highest gold score of all language pairs; a DataError if all are equal."""
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
            named = zip(questions, pool.answers[code], strict=True)
            if pairs := [(question, text[name]) for question, name in named if name in text]:
                asked, answers = zip(*pairs, strict=True)
                targets = np.array([numbers.setdefault((code, answer), len(numbers)) for answer in answers])
                parts.append(both(opened, [(code, asked), (code, answers)], max_tokens, targets))
    if not parts:
        raise DataError(f"{pools[0].name}: no question has an answer in its own language")
    return joined(parts)


def labelled_set(folder: Path) -> LabelledSet:
    """The labelled set of a folder; a DataError if there is none."""
    for texts in classification.read(folder):
        return texts
    raise DataError(f"{folder} holds no benchmark that an encoder can be fine-tuned on in this way")


def graded_sets(folder: Path) -> list[PairSet]:
    """The graded pairs of a folder."""
    return [*sts.read(folder), *qe.read(folder)]
