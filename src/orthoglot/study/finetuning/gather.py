"""The records of an encoder's fine-tunings. It needs no PyTorch."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

from orthoglot.statistics.records import write_records
from orthoglot.statistics.settings import ResamplingSettings
from orthoglot.statistics.summary import Key, Scored, read_scores, summarise, write_scores
from orthoglot.study.finetuning.settings import FINE_TUNED
from orthoglot.study.tasks.registry import measures

SCORES, FACTS, MADE = "scores.npz", "facts.json", "made.json"
# Tasks whose measures a fine-tuned encoder is scored by; records have their names, so that both stand side by side.
CLASSIFICATION, SEVERAL = "classification", "classification-logistic"
SIMILARITY, QUALITY, RETRIEVAL = "sts", "qe", "lareqa"
logger = logging.getLogger(__name__)


def gather(
    folders: Sequence[Path],
    settings: ResamplingSettings,
    encoder: str,
    version: str,
    output: Path,
    stands_for: Sequence[str] = (),
) -> None:
    """Records of all benchmarks and seeds of one encoder.

    Args:
        folders: As `orthoglot.study.finetuning.tune.fine_tune` wrote them.
        version: Of orthoglot.
        output: An existing folder; gets records.jsonl and scores.npz, as an evaluation of the method `fine-tuned`.
        stands_for: As in `orthoglot.study.tasks.evaluate.evaluate`.
    """
    scored: Scored = {}
    facts: dict[Key, dict[str, object]] = {}
    for folder in folders:
        scored |= read_scores(folder / SCORES)
        facts |= {Key(*key): about for key, about in json.loads((folder / FACTS).read_text(encoding="utf-8"))}
    made = json.loads((folders[0] / MADE).read_text(encoding="utf-8")) | {"orthoglot": version}
    if stands_for:
        made["stands_for"] = " ".join(stands_for)
    measured = measures([CLASSIFICATION, SEVERAL, SIMILARITY, QUALITY, RETRIEVAL])
    records = summarise(
        scored, facts, settings, encoder=encoder, method=FINE_TUNED, made=made, measures=measured
    )
    write_records(output / "records.jsonl", records)
    write_scores(output / SCORES, scored)
    logger.info("%s %s: %d trainings, %d records", encoder, FINE_TUNED, len(folders), len(records))
