"""The file of mined pairs, and the words about it."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from orthoglot.apply.calibration import Calibration, percent
from orthoglot.apply.mine import Side, obvious
from orthoglot.atomic import write_summary
from orthoglot.formats.rows import Languages, write_rows
from orthoglot.search.margins import Mined
from orthoglot.text.keys import normalised

COLUMNS = ("margin", "source", "target")  # of mined and aligned pairs
BINS = 20  # of the histogram of margins
AT_ONCE = 1 << 16  # pairs that are written
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)  # of the pairs, which the thresholds of a table keep
logger = logging.getLogger(__name__)


def write_pairs(
    output: Path,
    sides: tuple[Side, Side],
    pairs: Mined,
    about: Mapping[str, Any],
    *,
    numbers: bool = False,
    known: Calibration | None = None,
    languages: Languages = (None, None),
    safe: bool = False,
) -> str:
    """Write mined pairs, and OUTPUT.json about them; log what thresholds would keep.

    Args:
        output: The file, see `write_rows`.
        sides: Both texts.
        pairs: Rows of their sentences, by falling margin. Copies and pairs without letters are no translations: they
            come last.
        about: What OUTPUT.json states besides the counts, with the facts of `mine`.
        numbers: Whether the numbers of lines are further columns.
        known: The calibration whose probabilities are the last column.
        languages, safe: See `write_rows`.
    Returns:
        How many pairs there are, with their expected precision.
    """

    def texts() -> Iterator[tuple[str, str]]:
        return ((ours.sentences[i], theirs.sentences[j]) for i, j in zip(*pairs[:2], strict=True))

    ours, theirs = sides
    last, wordless = obvious(texts(), len(pairs.margins))
    order = np.argsort(last, kind="stable")
    pairs, last = Mined(*(column[order] for column in pairs)), last[order]
    chances = np.where(last, 0.0, known.probability(pairs.margins)) if known else pairs.margins
    names = [*COLUMNS]
    if numbers:
        names += ["source_line", "target_line"]
    if known:
        names.append("probability")

    def rows() -> Iterator[list[Any]]:
        for start in range(0, len(last), AT_ONCE):
            batch = (column[start : start + AT_ONCE].tolist() for column in (*pairs, chances))
            for i, j, value, chance in zip(*batch, strict=True):
                row = [value, ours.sentences[i], theirs.sentences[j]]
                if numbers:
                    row += [ours.lines[i], theirs.lines[j]]
                if known:
                    row.append(chance)
                yield row

    write_rows(output, names, rows(), languages=languages, places=(1, 2), safe=safe)
    summary = {
        "source": ours.counts(),
        "target": theirs.counts(),
        **about_pairs(texts(), pairs.margins),
        "without_letters": int(wordless.sum()),
        **about,
    }
    write_summary(output, summary)
    if "suggested_threshold" in about:
        _log_thresholds(pairs.margins[~last], about["suggested_threshold"])
    if last.any():
        logger.info("last in the output: %d copies or pairs without letters", last.sum())
    expected = about.get("expected_precision")
    return f"{len(pairs.margins)} pairs" + (f", expected precision {percent(expected)}" if expected else "")


def about_pairs(pairs: Iterable[tuple[str, str]], margins: np.ndarray) -> dict[str, Any]:
    """What a reader checks before believing the pairs: copies, the ratio of lengths, a histogram of margins."""
    ratios, copies = array("d"), 0
    for source, target in pairs:
        ratios.append(len(source) / len(target))
        copies += normalised(source) == normalised(target)
    if not ratios:
        return {"pairs": 0}
    low, middle, high = np.quantile(ratios, [0.05, 0.5, 0.95]).round(3).tolist()
    counts, edges = np.histogram(margins, bins=BINS)
    return {
        "pairs": len(ratios),
        "copies": copies,
        "length_ratio": {"5%": low, "median": middle, "95%": high},
        "margins": {"edges": edges.round(4).tolist(), "counts": counts.tolist()},
    }


def _log_thresholds(margins: np.ndarray, suggested: float | None) -> None:
    """Log how many pairs thresholds would keep, the highest first, and which one is suggested; margins (P,) fall."""
    if suggested is None:
        logger.info("no threshold is given, and none can be suggested: orthoglot calibrate learns one")
    else:
        logger.info(
            "no threshold is given, so all pairs are written. Suggested is %.4f, a rough guess; orthoglot calibrate "
            "learns one",
            suggested,
        )
    ranks = {max(0, round(share * len(margins)) - 1) for share in SHARES}
    thresholds = {float(margins[rank]) for rank in ranks} if len(margins) else set()
    if suggested is not None:
        thresholds.add(suggested)
    rows = [("threshold", "pairs", "")]
    for value in sorted(thresholds, reverse=True):
        mark = "suggested" if value == suggested else ""
        rows.append((f"{value:.4f}", str((margins >= value).sum()), mark))
    for row in rows:
        logger.info("{:>11}  {:>8}  {}".format(*row).rstrip())
