"""Sentences with a label in many languages, such as topics or sentiment: files in, one layout out.

A folder has `labelled.tsv.gz`. Each line has a language, a part ("train", "valid" or "test"), the id of an item, its
label and its text. Translations share their ids.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

from orthoglot.corpora.benchmark_settings import ClassificationSettings, Part
from orthoglot.corpora.bitext import read_lines, read_rows, write_pairs
from orthoglot.corpora.xml_memory import child, elements
from orthoglot.errors import DataError
from orthoglot.streams import derive

LABELLED = "labelled.tsv.gz"
# Stars of a review; three say neither.
STARS = {1: "negative", 2: "negative", 4: "positive", 5: "positive"}


class Item(NamedTuple):
    """One labelled text; `id` is shared by its translations."""

    id: str
    label: str
    text: str


@dataclass(frozen=True)
class LabelledSet:
    """Labelled texts by language and part.

    Attributes:
        name: of the benchmark.
        items: {(language, part): items}; of a language that is only tested on the part "test", of one that is only
            trained on "train" and "valid".
    """

    name: str
    items: Mapping[tuple[str, str], Sequence[Item]]

    def sides(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """(language, texts) whose vectors the benchmark needs."""
        return tuple((language, [item.text for item in items]) for (language, _), items in self.items.items())

    def directions(self) -> Iterator[tuple[str, str]]:
        """(language of the training, another language of a test)."""
        for source, part in self.items:
            if part == "train":
                yield from (
                    (source, target) for target, own in self.items if own == "test" != target != source
                )


def collect(
    settings: ClassificationSettings, paths: Mapping[str, Sequence[Path]], output: Path
) -> dict[str, dict[str, int]]:
    """Write the parts of each language that the directions need.

    The same item with the same label twice in a part is one item. Left out are reviews with three stars, reviews of the
    same text with both labels, and texts that a file of labels does not name.

    Raises:
        DataError: a text without a label or a label without a text, an item with two labels or texts, an id in two
            parts, a part without texts, one label only, or a label that the training part has not.
    """
    labels = _labels(settings, paths["labels"][0]) if settings.labels else None
    rows: list[tuple[str, str, Item]] = []
    counts = {}
    for language, part in settings.parts():
        files = paths[f"{language} {part}"]
        counted: Counter[str] = Counter()
        found = [item for path in files for item in _items(settings, language, part, path, labels, counted)]
        where = f"{files[0]}: {language} {part}"
        if labels is not None and (missing := {name for name, (_, own) in labels.items() if own == part}):
            missing -= {item.id for item in found}
            if missing:
                raise DataError(f"{where}: no text for {len(missing)} labels, e.g. {min(missing)!r}")
        kept = _distinct(found, where, counted, strict=settings.form == "table")
        if not kept:
            raise DataError(f"{where} has no labelled text")
        if part == "train" and settings.max_train:
            kept = drawn(kept, settings.max_train, derive(settings.seed, "labelled", language))
        counts[f"{language} {part}"] = {"kept": len(kept), **counted}
        rows += [(language, part, item) for item in kept]
    _check(rows, named=bool(settings.item))
    write_pairs(output / LABELLED, [(language, part, *item) for language, part, item in rows])
    return counts


def read_labelled(folder: Path) -> list[LabelledSet]:
    """The set in a folder that `collect` wrote; none in one of another kind."""
    if not (folder / LABELLED).is_file():
        return []
    items: dict[tuple[str, str], list[Item]] = {}
    for language, part, *item in read_rows(folder / LABELLED, 5):
        items.setdefault((language, part), []).append(Item(*item))
    return [LabelledSet(folder.name, items)]


def drawn(items: Sequence[Item], most: int, seed: int) -> list[Item]:
    """At most `most` items in their order, as nearly equally many of each label as there are."""
    by_label: dict[str, list[int]] = {}
    for row in Random(seed).sample(range(len(items)), len(items)):
        by_label.setdefault(items[row].label, []).append(row)
    turns = [(turn, label, row) for label, rows in by_label.items() for turn, row in enumerate(rows)]
    return [items[row] for row in sorted(row for _, _, row in sorted(turns)[:most])]


def _items(
    settings: ClassificationSettings,
    language: str,
    part: Part,
    path: Path,
    labels: Mapping[str, tuple[str, str]] | None,
    counted: Counter[str],
) -> Iterator[Item]:
    """The labelled texts of one file."""
    if settings.form != "table":
        reviews = _reviews_v1(path) if settings.form == "amazon-v1" else _reviews_v2(path)
        for number, text, stars in reviews:
            if not text or stars not in range(1, 6):
                raise DataError(f"{path}: review {number} has {f'{stars} stars' if text else 'no text'}")
            if int(stars) == 3:
                counted["three_stars"] += 1
            else:
                yield Item(text, STARS[int(stars)], text)
        return
    names = settings.columns_of(language)
    if labels is not None:
        names.pop("label")
    for number, row in _table(path, list(names.values())):
        cells = dict(zip(names, row, strict=True))
        name = cells.get("item", cells["text"])
        if labels is not None:
            if name not in labels:
                counted["unlabelled"] += 1
                continue
            label, own = labels[name]
            if own != part:
                continue
        else:
            label = cells["label"].strip()
        if not label or not cells["text"].strip():
            raise DataError(f"{path}: line {number} has no {'text' if label else 'label'}")
        yield Item(name, label, cells["text"])


def _labels(settings: ClassificationSettings, path: Path) -> dict[str, tuple[str, str]]:
    """{item: (label, part)} of a file of labels."""
    assert settings.labels is not None
    parts = {name: part for part, name in settings.split_names.items()}
    found: dict[str, tuple[str, str]] = {}
    for number, (name, label, split) in _table(
        path, [settings.labels.item, settings.labels.label, settings.labels.split]
    ):
        if not label.strip():
            raise DataError(f"{path}: line {number} has no label")
        if name in found:
            raise DataError(f"{path}: line {number} has the item {name!r} again")
        if split not in parts:
            raise DataError(f"{path}: line {number} has the split {split!r}, not {', '.join(parts)}")
        found[name] = label.strip(), parts[split]
    return found


def _distinct(items: Sequence[Item], where: str, counted: Counter[str], *, strict: bool) -> list[Item]:
    """The items, each once; those with two labels are refused, or left out if not `strict`."""
    found: dict[str, Item] = {}
    contradictory = set()
    for item in items:
        other = found.setdefault(item.id, item)
        if other.text != item.text:
            raise DataError(f"{where}: the id {item.id!r} has two texts")
        if other.label != item.label:
            if strict:
                raise DataError(f"{where}: {item.id!r} has two labels, {other.label} and {item.label}")
            contradictory.add(item.id)
    counted["repeated"] = len(items) - len(found)
    counted["contradictory"] = len(contradictory)
    return [item for name, item in found.items() if name not in contradictory]


def _check(rows: Sequence[tuple[str, str, Item]], *, named: bool) -> None:
    """Labels are those of the training, and no named item is in two parts."""
    taught: dict[str, set[str]] = {}
    for language, part, item in rows:
        if part == "train":
            taught.setdefault(language, set()).add(item.label)
    for language, labels in taught.items():
        if len(labels) < 2:
            raise DataError(f"{language} train has one label only, {min(labels)}")
        if unknown := {item.label for _, _, item in rows} - labels:
            raise DataError(f"{language} train has no text with the label {', '.join(sorted(unknown))}")
    homes: dict[str, str] = {}
    for language, part, item in rows:
        if named and homes.setdefault(item.id, part) != part:
            raise DataError(f"{language}: the item {item.id!r} is in {homes[item.id]} and in {part}")


def _table(path: Path, columns: Sequence[str | int]) -> Iterator[tuple[int, list[str]]]:
    """(number of the line, cells of the wanted columns); a name means that the first line names the columns."""
    lines = enumerate(_csv(path) if path.suffix == ".csv" else read_rows(path), 1)
    if isinstance(columns[0], str):
        _, header = next(lines)
        if missing := [str(name) for name in columns if name not in header]:
            raise DataError(f"{path}: no column {', '.join(missing)}; its columns are {', '.join(header)}")
        places = [header.index(str(name)) for name in columns]
    else:
        places = [int(column) - 1 for column in columns]
    for number, row in lines:
        if max(places) >= len(row):
            raise DataError(f"{path}: line {number} has {len(row)} columns, not {max(places) + 1}")
        yield number, [row[place] for place in places]


def _csv(path: Path) -> Iterator[list[str]]:
    """Rows with commas, quoted where a cell holds one."""
    empty = True
    for row in csv.reader(f"{line}\n" for line in read_lines(path)):
        empty = False
        yield row
    if empty:
        raise DataError(f"{path} is empty")


def _reviews_v1(path: Path) -> Iterator[tuple[int, str, float]]:
    """(number, text, stars) of the reviews in Prettenhofer and Stein's XML; the summary comes first."""
    for number, (element, _) in enumerate(elements(path, "items", {"item"}), 1):
        parts = {name: child(element, name) for name in ("rating", "summary", "text")}
        content = {
            name: " ".join("".join(one.itertext()).split()) if one is not None else ""
            for name, one in parts.items()
        }
        yield number, _joined(content["summary"], content["text"]), _stars(content["rating"], path, number)


def _reviews_v2(path: Path) -> Iterator[tuple[int, str, float]]:
    """(number, text, stars) of the reviews in Keung et al.'s lines of JSON; the title comes first."""
    for number, line in enumerate(read_lines(path), 1):
        try:
            review = json.loads(line)
            title, body, stars = (str(review[name]) for name in ("review_title", "review_body", "stars"))
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise DataError(f"{path}: line {number} is no review ({error!r})") from error
        yield number, _joined(title, body), _stars(stars, path, number)


def _joined(title: str, body: str) -> str:
    return " ".join(f"{title} {body}".split())


def _stars(text: str, path: Path, number: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{path}: review {number} has {text!r} stars") from None
