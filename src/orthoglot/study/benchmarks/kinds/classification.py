"""Sentences with a label in many languages, such as topics or sentiment: files in, one layout out.

A folder has `labelled.tsv.gz`. Each line has a language, a part ("train", "valid" or "test"), the id of an item, its
label and its text, or all its texts: a pair, or the two pairs of a choice (`Item`). Translations share their ids.
`labelled.json` says in which languages classifiers learn and are tested, and how their predictions are scored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from orthoglot.errors import DataError
from orthoglot.random_streams import derive
from orthoglot.study.benchmarks.base import Paths
from orthoglot.study.benchmarks.labelled_files import Item, read_items
from orthoglot.study.benchmarks.labelled_settings import ClassificationSettings, Scoring
from orthoglot.text.bitext import read_rows, write_pairs

LABELLED, ABOUT = "labelled.tsv.gz", "labelled.json"


SETTINGS = ClassificationSettings


@dataclass(frozen=True)
class LabelledSet:
    """Labelled texts by language and part."""

    name: str  # of the benchmark
    # {(language, part): items}; of a language that is only tested on the part "test", of one that is only trained on
    # "train" and "valid"
    items: Mapping[tuple[str, str], Sequence[Item]]
    directions: Sequence[tuple[Sequence[str], str]] = ()  # (languages of a training, language of a test)
    # "label": a label is right or wrong; "number": labels are numbers, which may be near; "several": a label is a list
    # of labels, divided by blanks
    scoring: Scoring = "label"

    def sides(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """(language, texts) whose vectors the benchmark needs."""
        return tuple(
            (language, texts)
            for (language, _), items in self.items.items()
            for texts in zip(*(item.texts for item in items), strict=True)
        )


def collect(settings: ClassificationSettings, paths: Paths, output: Path) -> dict[str, dict[str, int]]:
    """Write the parts of each language that the directions need.

    The same item with the same label twice in a part is one item. Left out are reviews with three stars, texts without
    an id that occur with two labels, and documents that a language lacks.

    Raises:
        DataError: a text without a label or a label without a text, an item with two labels or texts, an id in two
            parts, a part without texts, one label only, or a label that the training part has not.
    """
    rows: list[tuple[str, str, Item]] = []
    counts = {}
    for language, part in settings.parts():
        files = paths[f"{language} {part}"]
        counted: Counter[str] = Counter()
        items = [item for path in files for item in read_items(settings, language, part, path, counted)]
        place = f"{files[0]}: {language} {part}"
        chosen = _distinct(items, place, counted, strict=bool(settings.source_of(part).item))
        if not chosen:
            raise DataError(f"{place} has no labelled text")
        if part == "train" and settings.max_train:
            chosen = drawn(chosen, settings.max_train, derive(settings.seed, "labelled", language))
        counts[f"{language} {part}"] = {"kept": len(chosen), **counted}
        rows += [(language, part, item) for item in chosen]
    _check(rows, settings)
    lines = [(language, part, item.id, item.label, *item.texts) for language, part, item in rows]
    write_pairs(output / LABELLED, lines)
    about = {"directions": settings.directions(), "scoring": settings.scoring}
    (output / ABOUT).write_text(json.dumps(about) + "\n")
    return counts


def read(folder: Path) -> list[LabelledSet]:
    """The set in a folder that `collect` wrote; none in one of another kind."""
    if not (folder / LABELLED).is_file():
        return []
    items: dict[tuple[str, str], list[Item]] = {}
    for language, part, name, label, *texts in read_rows(folder / LABELLED):
        items.setdefault((language, part), []).append(Item(name, label, texts[0], tuple(texts[1:])))
    about = json.loads((folder / ABOUT).read_text())
    directions = [(taught, tested) for taught, tested in about["directions"]]
    return [LabelledSet(folder.name, items, directions, about["scoring"])]


def drawn(items: Sequence[Item], most: int, seed: int) -> list[Item]:
    """At most `most` items in their order, as nearly equally many of each label as there are."""
    by_label: dict[str, list[int]] = {}
    for row in Random(seed).sample(range(len(items)), len(items)):
        by_label.setdefault(items[row].label, []).append(row)
    turns = [(turn, label, row) for label, rows in by_label.items() for turn, row in enumerate(rows)]
    return [items[row] for row in sorted(row for _, _, row in sorted(turns)[:most])]


def _distinct(items: Sequence[Item], where: str, counted: Counter[str], *, strict: bool) -> list[Item]:
    """The items, each once; those with two labels are refused, or left out if not `strict`."""
    by_id: dict[str, Item] = {}
    contradictory = set()
    for item in items:
        other = by_id.setdefault(item.id, item)
        if other.texts != item.texts:
            raise DataError(f"{where}: the id {item.id!r} has two texts")
        if other.label != item.label:
            if strict:
                raise DataError(f"{where}: {item.id!r} has two labels, {other.label} and {item.label}")
            contradictory.add(item.id)
    counted["repeated"] = len(items) - len(by_id)
    counted["contradictory"] = len(contradictory)
    return [item for name, item in by_id.items() if name not in contradictory]


def _check(rows: Sequence[tuple[str, str, Item]], settings: ClassificationSettings) -> None:
    """Labels, unless an item has several, are those of the training, and no named item is in two parts."""
    taught: dict[str, set[str]] = {}
    for language, part, item in rows:
        if part == "train":
            taught.setdefault(language, set()).add(item.label)
    all_labels = {item.label for _, _, item in rows}
    for language, labels in taught.items():
        if len(labels) < 2:
            raise DataError(f"{language} train has one label only, {min(labels)}")
        if (unknown := all_labels - labels) and settings.scoring != "several":
            raise DataError(f"{language} train has no text with the label {', '.join(sorted(unknown))}")
    homes: dict[str, str] = {}
    for language, part, item in rows:
        if settings.item and homes.setdefault(item.id, part) != part:
            raise DataError(f"{language}: the item {item.id!r} is in {homes[item.id]} and in {part}")
