"""The batches of Emma-X: sentence pairs with their random draws, and sentences without known translations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from orthoglot.encoders.base import placed
from orthoglot.encoders.token_lists import Ragged
from orthoglot.errors import DataError
from orthoglot.random_streams import derive
from orthoglot.study.pretraining.collate import chunk_size, collate
from orthoglot.study.pretraining.emma_x_phases import EmmaXBatch, VirtualDraws
from orthoglot.study.pretraining.kinds.emma_x import EmmaXSettings, ParallelPhase, Phase, TextPhase
from orthoglot.study.pretraining.masking import hidden_tokens
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.sampling import RowSampler
from orthoglot.study.pretraining.tokenised import Corpus, Text
from orthoglot.text.splitting import Split
from orthoglot.training.distributed import processes, rank

# The purpose and number of a step in which tokens are hidden; None where none are.
Hidden = tuple[str, int] | None
# Sentences, and which of them all processes read together in a step.
Part = tuple[Ragged, np.ndarray]

# Share of the tokens that are hidden from both encoders, as in Emma-X's code.
MASKED = 0.1


class EmmaXCollator:
    """Batches of both phases, of which each process has its share, and of validation."""

    def __init__(
        self,
        settings: EmmaXSettings,
        bitext: Sequence[Path],
        encoder: TrainableEncoder,
        corpus: Corpus,
        device: torch.device,
    ):
        self.settings, self.corpus, self.device = settings, corpus, device
        self.tokenizer, self.vocabulary = encoder.tokenizer, encoder.vocabulary
        self.chunk_tokens = chunk_size(settings, encoder, device)
        limits = [settings.parallel.pairs.get(folder.name) for folder in bitext]
        self._allowed = LimitedRows(corpus["train"].sizes, limits)
        self.sizes = self._allowed.sizes  # sentence pairs of each language pair that training may see
        valid = corpus["valid"].sizes
        # Pairs held back from training are not there to choose an epoch by, either, unless there are no others.
        spared = [0 if limit and not all(limits) else None for limit in limits]
        self.held_out = LimitedRows(valid, spared)
        # Those of the language pairs whose training pairs are limited; they choose nothing.
        self.held_back = LimitedRows(valid, [None if limit == 0 else 0 for limit in spared])
        if (count := sum(self.held_out.sizes)) < 2:
            raise DataError(f"{count} validation pairs: nothing to compare")

    def pairs(self, phase: ParallelPhase, hide: bool, epoch: int, first: int) -> Iterator[EmmaXBatch]:
        """An epoch's steps of Phase 1, from one on; tokens are hidden, if any are, where `hide` is true."""
        sampler = self._sampler(phase, phase.batch_size, self.sizes)
        for number, places in sampler.numbered(epoch, first):
            if (count := len(places) // processes()) < 2:
                raise _nothing_to_compare(f"{count} sentence pairs")
            rows = self._allowed.rows(places)
            parts = [(side, rows) for side in self.corpus["train"].sides]
            batch = self._batch(parts, ("train", number) if hide else None)
            yield batch._replace(draws=self._draws("train", batch.parts[0], number))

    def text(self, phase: TextPhase, text: Text | None, epoch: int, first: int) -> Iterator[EmmaXBatch]:
        """An epoch's steps of Phase 2, from one on: known pairs, sentences without, or both.

        With text `beside` and no known pairs the parts are the two sides of the pairs, so that found translations are
        counted.
        """
        data = self.corpus["train"]
        # (sides, which rows may be drawn, the draws)
        drawn: list[tuple[tuple[Ragged, ...], LimitedRows | None, RowSampler]] = []
        if phase.known_pairs:
            known = self._sampler(phase, phase.known_pairs, self.sizes, "known")
            drawn.append((data.sides, self._allowed, known))
        if phase.text == "beside":
            drawn.append((data.sides, None, self._sampler(phase, phase.batch_size // 2, data.sizes)))
        elif text is not None:
            drawn.append(((text.sentences,), None, self._sampler(phase, phase.batch_size, text.sizes)))
        steps = [sampler.numbered(epoch, first) for *_, sampler in drawn]
        for places in zip(*steps, strict=True):
            parts: list[Part] = []
            for (sides, allowed, _), (_, numbers) in zip(drawn, places, strict=True):
                rows = numbers if allowed is None else allowed.rows(numbers)
                parts += [(side, rows) for side in sides]
            if (count := sum(len(rows) // processes() for _, rows in parts)) < 2:
                raise _nothing_to_compare(f"{count} sentences")
            yield self._batch(parts, ("text", places[0][0]))

    def validation(self, pairs: LimitedRows) -> Iterator[tuple[np.ndarray, EmmaXBatch]]:
        """Places among some validation pairs, and the batch of them, the same each time and with no token hidden."""
        count, size = sum(pairs.sizes), self.settings.parallel.batch_size * self.settings.processes
        order = np.random.default_rng(derive(self.settings.seed, "validation")).permutation(count)
        for number, places in enumerate(np.array_split(order, max(1, count // size))):
            sides = [side.take(pairs.rows(places)) for side in self.corpus["valid"].sides]
            batch = self._collate(sides, None)
            yield places, batch._replace(draws=self._draws("valid", len(places), number))

    def _batch(self, parts: Sequence[Part], hidden: Hidden) -> EmmaXBatch:
        """This process's share of every part, with tokens hidden as if one process read everything."""
        sizes = [len(rows) // processes() for _, rows in parts]
        shares = [slice(rank() * size, (rank() + 1) * size) for size in sizes]
        mlm, tokenizer = self.settings.mlm, self.tokenizer
        if not (mlm.weight and hidden):
            taken = [side.take(rows[share]) for (side, rows), share in zip(parts, shares, strict=True)]
            return self._collate(taken, None)
        assert tokenizer.mask is not None
        everyones = Ragged.join([side.take(rows) for side, rows in parts])
        shown, expected = hidden_tokens(
            everyones.ids,
            MASKED,
            tokenizer.mask,
            self.vocabulary,
            np.random.default_rng(derive(self.settings.seed, "mask", *hidden)),
            special=1 + max(tokenizer.pad, *tokenizer.before, *tokenizer.after),
        )
        firsts = np.cumsum([0, *(len(rows) for _, rows in parts[:-1])])
        mine = [
            first + np.arange(share.start, share.stop) for first, share in zip(firsts, shares, strict=True)
        ]
        labels = Ragged(expected, everyones.offsets).take(np.concatenate(mine)).ids
        return self._collate([replace(everyones, ids=shown).take(rows) for rows in mine], labels)

    def _collate(self, parts: Sequence[Ragged], labels: np.ndarray | None) -> EmmaXBatch:
        tokens = collate(self.tokenizer, Ragged.join(parts), self.chunk_tokens, self.device, labels)
        return EmmaXBatch(tokens, tuple(len(part.lengths) for part in parts))

    def _sampler(self, phase: Phase, size: int, sizes: Sequence[int], purpose: str = "") -> RowSampler:
        """Which rows each step has; samplers of one step have different purposes."""
        return RowSampler(
            sizes=sizes,
            batch_size=size * processes(),
            steps=phase.steps,
            steps_per_epoch=phase.validate_every,
            temperature=phase.sampling_temperature,
            seed=derive(self.settings.seed, purpose) if purpose else self.settings.seed,
        )

    def _draws(self, split: Split, size: int, number: int) -> VirtualDraws:
        """Drawn for the sentences of all processes, so that it does not depend on how many share them."""
        together, here = (processes(), rank()) if split == "train" else (1, 0)
        across = size * together
        everyone = 2 * across
        generator = np.random.default_rng(derive(self.settings.seed, "virtual", split, number))
        released = self.settings.parallel.virtual == "released"
        width = everyone + self.settings.queue if released else self.settings.ranks - 1
        shares = generator.random((everyone, width), dtype=np.float32)
        # They lead to another row of the same or of the other side, so neither to the anchor nor to its translation.
        steps = generator.integers(1, max(2, across), everyone) + across * generator.integers(0, 2, everyone)
        others = (np.arange(everyone) + steps) % everyone
        mine = np.concatenate([side * across + here * size + np.arange(size) for side in (0, 1)])
        return VirtualDraws(
            placed(torch.from_numpy(others[mine]), self.device),
            placed(torch.from_numpy(shares[mine]), self.device),
        )


def _nothing_to_compare(what: str) -> DataError:
    return DataError(f"a step of {what}: nothing to compare; raise batch_size")


class LimitedRows:
    """Which rows may be drawn where some groups are limited: the first of each."""

    def __init__(self, sizes: Sequence[int], limits: Sequence[int | None]):
        # how many of each group (G,)
        self.sizes = tuple(
            size if limit is None else min(size, limit) for size, limit in zip(sizes, limits, strict=True)
        )
        self._ends = np.cumsum(self.sizes)
        self._shift = np.cumsum([0, *sizes[:-1]]) - (self._ends - self.sizes)

    def rows(self, places: np.ndarray) -> np.ndarray:
        """The rows of places among those that may be drawn."""
        return places + self._shift[np.searchsorted(self._ends, places, side="right")]
