"""Runs of pairs that are not parallel: the translations stand some lines before or after, or nowhere.

Numbers, names and other words that both sides have show where a translation stands. A source is compared with the
target of its own line, of the lines up to three before and after, and of lines ten and more away, which share what
unrelated text shares.

    >>> from orthoglot.text.shifts import find_runs
    >>> source = [f"There are {number} of them." for number in range(1000, 1100)]
    >>> target = [f"Es sind {number}." for number in range(1000, 1100)]
    >>> find_runs(source, target)
    []
    >>> find_runs(source, target[1:] + target[:1])
    [Run(start=0, stop=100, offset=-1)]

A line is for offset d if the source shares more with the target d lines after than with that of its own line, and
against d if it shares less. Text that is not shifted is for d at most as often as it is against d. So the product of
the factors 0.85 / 0.5 for each line that is for d, and 0.15 / 0.5 for each one that is against d, is a
supermartingale, and from a given line on it reaches b with a probability of at most 1 / b (Ville's inequality). If b is
7 n / `FALSE_ALARMS` for each of n lines and seven states, a window of text has a false run with a probability of at
most `FALSE_ALARMS`, as far as its lines are independent. 32 lines of 3,000 that are for d are enough at 0.85. The rule
for "unrelated", the other state, is the same. It looks at lines that share more with their own target than with one far
away, or less. They share less in at most one of ten lines of parallel text, and in one of two lines of unrelated text.
In the corpora that were tried it was one in a hundred (docs/data.md), and four in 500 lines of one of them.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, groupby, islice, starmap
from typing import NamedTuple

import numpy as np

from orthoglot.text.bitext import Item, LeftOut, SentencePair, blocks

FALSE_ALARMS = 1e-3
"""Probability of a false run in a window at most."""
OFFSETS = (-3, -2, -1, 1, 2, 3)
FAR = (-61, -47, -35, -25, -17, -10, 10, 17, 25, 35, 47, 61)
# Share of the lines that differ that are for an offset in shifted text, and at most for a far line in parallel text.
SHIFTED, PARALLEL = 0.85, 0.1
FOR, AGAINST = SHIFTED / 0.5, (1 - SHIFTED) / 0.5
FAR_FOR, FAR_AGAINST = 0.5 / PARALLEL, 0.5 / (1 - PARALLEL)
WINDOW, OVERLAP = 20_000, 1_000
"""Pairs that are judged together, and those at their end that are judged again with the next ones."""
TURN = 25  # windows in a row that one of several jobs has
COMMON = 20  # a word in more than one line of so many says little
SAID = 3  # runs that a message names
LEFT, REALIGNED = "left out", "paired anew where they are shifted, else left out"
STEM = 5  # letters of a word that count: names have endings
SHIFTED_REASON, UNRELATED_REASON = "shifted", "unrelated"
logger = logging.getLogger(__name__)
_WORD = re.compile(r"\d+|[A-Za-z\u00c0-\u024f]{3,}|[^\W\d_A-Za-z\u00c0-\u024f]{4,}")
_NAMES = ("", "one line", "two lines", "three lines")


class Run(NamedTuple):
    """Pairs from `start` to `stop` (not included) whose translations are elsewhere."""

    start: int  # number of the first pair, from 0
    stop: int  # number after the last
    offset: int | None  # the translation of line i stands at line i + offset; None if it stands nowhere

    @property
    def reason(self) -> str:
        """What its pairs are counted under."""
        return UNRELATED_REASON if self.offset is None else SHIFTED_REASON

    def __str__(self) -> str:
        """Where it is, and what is wrong: units 1,100 to 3,071: the translation stands one line before."""
        place = f"units {self.start + 1:,} to {self.stop:,}"
        if self.offset is None:
            return f"{place}: the sides share no more than unrelated text does"
        return f"{place}: the translation stands {_NAMES[abs(self.offset)]} {'before' if self.offset < 0 else 'after'}"


class Turns(NamedTuple):
    """Which windows of a text one of several jobs has: `TURN` in a row, then those of the other jobs."""

    job: int = 0
    jobs: int = 1

    def has(self, window: int) -> bool:
        """Whether the job has this window, by its number from 0."""
        return window // TURN % self.jobs == self.job


class Window(NamedTuple):
    """What a job reads of a text at once."""

    number: int  # of the window, from 0
    state: int  # before it: 0 for parallel
    items: list[Item]  # in order; none of a window that follows the last one of a turn


def find_runs(source: Sequence[str], target: Sequence[str]) -> list[Run]:
    """The runs of shifted or unrelated pairs, in order; linear in the length of the text.

    Args:
        source: Sentences (N,) in the order of their file.
        target: The sentences that stand in the same lines.
    """
    runs: list[Run] = []
    for _ in without_runs(map(SentencePair, source, target), runs):
        pass
    return runs


def find_runs_of_vectors(source: np.ndarray, target: np.ndarray) -> list[Run]:
    """The runs of shifted pairs, by the cosine of each source with the targets of its line and its neighbours.

    An encoder that knows a language badly finds a neighbour at most as often as the line itself. Runs of unrelated
    pairs are not found: to such an encoder all text would look like one.

    Args:
        source: Unit vectors (N, D) of sentences in the order of their file.
        target: Unit vectors (N, D) of the sentences in the same lines.
    """
    scores = {}
    for offset in (0, *OFFSETS):
        here, there = _rows(len(source), offset)
        scores[offset] = np.full(len(source), np.nan)
        scores[offset][here] = np.einsum("nd,nd->n", source[here], target[there])
    factors = _log_factors(scores)
    return _runs(_states(factors, 0), factors)


def parallel(pairs: Sequence[tuple[str, str]], *, realign: bool = False) -> list[SentencePair]:
    """The pairs that belong to no run, in order; what is left out is logged.

    Args:
        pairs: Pairs in the order of their file.
        realign: See `without_runs`.
    """
    runs: list[Run] = []
    items = list(without_runs(starmap(SentencePair, pairs), runs, realign=realign))
    if runs:
        logger.warning("%s", said(runs, REALIGNED if realign else LEFT))
    return [item for item in items if isinstance(item, SentencePair)]


def flags_of_runs(pairs: Sequence[tuple[str, str]]) -> dict[int, str]:
    """Say "shifted" or "unrelated" by the number of each pair that belongs to a run; runs are logged."""
    return _flags(find_runs([pair[0] for pair in pairs], [pair[1] for pair in pairs]), "")


def flags_of_vectors(source: np.ndarray, target: np.ndarray) -> dict[int, str]:
    """The same of unit vectors (N, D) of pairs, see `find_runs_of_vectors`."""
    return _flags(find_runs_of_vectors(source, target), "by the vectors of a block, ")


def _flags(runs: Sequence[Run], by: str) -> dict[int, str]:
    if runs:
        logger.warning("%s%s", by, said(runs, "flagged"))
    return {row: run.reason for run in runs for row in range(run.start, run.stop)}


def outside(runs: Sequence[Run], n: int) -> np.ndarray:
    """Which of n pairs belong to no run (N,) bool."""
    rows = np.ones(n, dtype=bool)
    for run in runs:
        rows[run.start : run.stop] = False
    return rows


def windows(items: Iterator[Item], turns: Turns) -> Iterator[Window]:
    """The windows of a text that a job has, as they are."""
    for number, block in enumerate(blocks(items)):
        if turns.has(number):
            yield Window(number, 0, block)


def without_runs(items: Iterator[Item], runs: list[Run], *, realign: bool = False) -> Iterator[Item]:
    """The same items, with a `LeftOut` for each pair of a run.

    Memory holds `WINDOW` pairs. A run is judged within a window, and may go on in the next.

    Args:
        items: What was read, in the order of the file.
        runs: Filled in anew: where runs are, by the number of the item.
        realign: Whether the sources of a shifted run get the targets that translate them. Pairs of its ends that
            nothing is known of are left out.
    """
    for window in windows_without_runs(items, runs, Turns(), realign=realign):
        yield from window.items


def windows_without_runs(
    items: Iterator[Item], runs: list[Run], turns: Turns, *, realign: bool = False
) -> Iterator[Window]:
    """The windows of a text that a job has, as `without_runs` makes them.

    A turn begins with the state that the window before it leaves to the next. This window is judged for it from the
    state 0, which is no matter for all of its lines but a few. So the state before a turn is that of one job for all
    windows if the job that has the window before leaves the same, and so on to the first.

    Args:
        items: What was read, in the order of the file.
        runs: See `without_runs`; those of the job's windows.
        turns: The windows that are the job's.
        realign: See `without_runs`.
    """
    runs.clear()
    held: list[Item] = []
    number, past, given, state, more = 0, 0, 0, 0, True
    while more:
        new = list(islice(items, WINDOW))
        more = len(new) == WINDOW
        held += new
        ready = len(held) - OVERLAP if more else len(held)
        first = max(ready - OVERLAP, 0)
        ours, before = turns.has(number), state
        replaced: dict[int, Item] = {}
        if ours or turns.has(number + 1):
            places = [place for place, item in enumerate(held) if isinstance(item, SentencePair)]
            pairs = [item for item in held if isinstance(item, SentencePair)]
            factors = _log_factors(_shared([pair.source for pair in pairs], [pair.target for pair in pairs]))
            states = _states(factors, state)
            for run in _runs(states, factors) if ours else ():
                rows = [row for row in range(run.start, run.stop) if given <= places[row] < ready]
                if not rows:
                    continue
                _append(runs, Run(past + places[rows[0]], past + places[rows[-1]] + 1, run.offset))
                clear = run.start + np.flatnonzero(factors[run.start : run.stop, states[run.start] - 1] > 0)
                for row in rows:
                    replaced[places[row]] = LeftOut(run.reason)
                    if realign and run.offset is not None and clear[0] <= row <= clear[-1]:
                        there = row + run.offset
                        if 0 <= there < len(pairs):
                            replaced[places[row]] = SentencePair(pairs[row].source, pairs[there].target)
            passed = sum(place < first for place in places)
            state = int(states[passed - 1]) if passed else state
        else:
            state = 0
        if ours or turns.has(number - 1):
            left = range(given, ready) if ours else ()
            yield Window(number, before, [replaced.get(place, held[place]) for place in left])
        number, past, given, held = number + 1, past + first, ready - first, held[first:]


def joined(runs: Iterable[Run]) -> list[Run]:
    """Runs of several jobs in order, those that one job would find as one joined."""
    all_runs: list[Run] = []
    for run in sorted(runs, key=lambda run: run.start):
        _append(all_runs, run)
    return all_runs


def said(runs: Sequence[Run], done: str = LEFT) -> str:
    """One line that says how many units belong to runs, what was done with them, and where the longest three are."""
    longest = sorted(runs, key=lambda run: run.start - run.stop)[:SAID]
    named = "; ".join(str(run) for run in sorted(longest))
    more = f"; and {len(runs) - SAID} shorter runs" if len(runs) > SAID else ""
    units = sum(run.stop - run.start for run in runs)
    return f"{units:,} units are not parallel and {done}: {named}{more}"


def _append(runs: list[Run], run: Run) -> None:
    """Add a run, which may go on from the last one."""
    if runs and runs[-1].stop == run.start and runs[-1].offset == run.offset:
        run = Run(runs.pop().start, run.stop, run.offset)
    runs.append(run)


def _rows(n: int, offset: int) -> tuple[slice, slice]:
    """The lines that have a line `offset` after them, and those lines."""
    first, last = max(0, -offset), max(n - max(0, offset), max(0, -offset))
    return slice(first, last), slice(first + offset, last + offset)


def _shared(source: Sequence[str], target: Sequence[str]) -> dict[int, np.ndarray]:
    """What each source shares with the target so many lines after (N,), for each offset; NaN where there is none.

    That is the sum of the rounded 100 ln(N / n) of the words that both have, where n targets have the word.
    """
    n = len(source)
    vocabulary: dict[str, int] = defaultdict(count().__next__)
    sides = [_words(sentences, vocabulary) for sentences in (source, target)]
    words = len(vocabulary)
    numbers = [np.bincount(words_of_side, minlength=words) for _, words_of_side in sides]
    telling = (numbers[0] > 0) & (numbers[1] > 0) & (np.maximum(*numbers) <= max(n // COMMON, 2))
    values = np.round(100 * np.log(max(n, 1) / np.maximum(numbers[1], 1)))
    (lines, of_source), (lines_there, of_target) = (
        (lines[telling[words_of_side]], words_of_side[telling[words_of_side]])
        for lines, words_of_side in sides
    )
    # The last one is found by nothing.
    there = np.append(np.sort(lines_there * words + of_target), np.iinfo(np.int64).max)
    scores = {}
    for offset in (0, *OFFSETS, *FAR):
        wanted = (lines + offset) * words + of_source
        places = np.searchsorted(there, wanted)
        hit = np.flatnonzero(there[np.minimum(places, len(there) - 1)] == wanted)
        scores[offset] = np.full(n, np.nan)
        inside, _ = _rows(n, offset)
        scores[offset][inside] = np.bincount(lines[hit], values[of_source[hit]], n)[inside]
    return scores


def _words(sentences: Sequence[str], vocabulary: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Line and number of each different word of each sentence."""
    spelled = [_WORD.findall(sentence.lower()) for sentence in sentences]
    lines = np.repeat(np.arange(len(spelled)), [*map(len, spelled)])
    spellings: dict[str, int] = defaultdict(count().__next__)
    words = np.fromiter(map(spellings.__getitem__, chain.from_iterable(spelled)), np.int64, len(lines))
    numbers = np.array([vocabulary[_key(word)] for word in spellings], dtype=np.int64)
    size = max(len(vocabulary), 1)
    both = np.unique(lines * size + numbers[words])
    return both // size, both % size


def _key(word: str) -> str:
    """A number in ASCII without leading zeros; the first letters of a word."""
    if word[0].isdecimal():
        return "".join(str(unicodedata.digit(digit)) for digit in word).lstrip("0") or "0"
    return word[:STEM]


def _log_factors(scores: Mapping[int, np.ndarray]) -> np.ndarray:
    """What each line says for each offset, and in the last column for "unrelated": logarithms of factors (N, 7)."""

    def factors(offset: int, more: float, less: float) -> np.ndarray:
        differences = scores[offset] - scores[0]
        return np.where(differences > 0, more, np.where(differences < 0, less, 1.0))

    shifted = [factors(offset, FOR, AGAINST) for offset in OFFSETS]
    # The mean of such factors is one again.
    far = [factors(offset, FAR_FOR, FAR_AGAINST) for offset in FAR if offset in scores]
    unrelated = np.mean(far, axis=0) if far else np.full(len(scores[0]), 1e-9)
    return np.log(np.stack([*shifted, unrelated], axis=1))


def _states(factors: np.ndarray, state: int) -> np.ndarray:
    """The likeliest state of each line (N,): 0 for parallel, or 1 plus a column of `factors` (N, 7).

    Each run costs the logarithm of b. Lines that say nothing belong to the run that they touch, see `_runs`. `factors`
    are logarithms, see `_log_factors`; `state` is the state before the first line.
    """
    n, columns = factors.shape
    states = np.zeros(n, dtype=np.int8)
    if not n:
        return states
    cost = np.log(columns * n / FALSE_ALARMS)
    sums = np.concatenate([np.zeros((1, columns)), factors.cumsum(axis=0)])
    if not state and (sums - np.minimum.accumulate(sums)).max() <= cost:
        return states
    best = np.full(columns + 1, -np.inf)
    best[state] = 0.0
    before = np.empty((n, columns + 1), dtype=np.int8)
    stays = np.arange(columns + 1)
    for line, row in enumerate(np.concatenate([np.zeros((n, 1)), factors], axis=1)):
        highest = columns - int(best[::-1].argmax())
        entered = np.full(columns + 1, best[highest] - cost)
        entered[0] = best[highest]
        enters = entered > best
        enters[0] = True
        before[line] = np.where(enters, highest, stays)
        best = np.where(enters, entered, best) + row
    last = columns - int(best[::-1].argmax())
    for line in range(n - 1, -1, -1):
        states[line] = last
        last = before[line, last]
    return states


def _runs(states: np.ndarray, factors: np.ndarray) -> list[Run]:
    """The runs of lines of one state other than 0.

    Each end of a run is moved outwards, beyond the first and last line that are for it, by the longest gap between two
    such lines. Text that says nothing stays outside.
    """
    runs, start = [], 0
    for state, lines in groupby(states.tolist()):
        stop = start + len(list(lines))
        clear = start + np.flatnonzero(factors[start:stop, state - 1] > 0)
        if state and len(clear):
            offset = OFFSETS[state - 1] if state <= len(OFFSETS) else None
            # As many lines as the offset have no counterpart that could speak at the ends of a text.
            more = max(int(np.diff(clear).max(initial=1)) - 1, abs(offset or 0))
            ends = max(start, int(clear[0]) - more), min(stop, int(clear[-1]) + 1 + more)
            runs.append(Run(*ends, offset))
        start = stop
    return runs
