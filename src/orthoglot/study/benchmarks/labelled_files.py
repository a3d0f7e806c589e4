"""The official files of sets of labelled texts: tables, reviews, choices of two, and documents with several labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from orthoglot.errors import DataError
from orthoglot.study.benchmarks.base import well_formed
from orthoglot.study.benchmarks.labelled_settings import TEXTS, ClassificationSettings, LabelledFiles, Part
from orthoglot.text.bitext import read_json
from orthoglot.text.splitting import SplitSettings, split_of
from orthoglot.text.tables import ending_of, places_of, read_table
from orthoglot.text.xml_memory import child, elements

# Stars of a review; three say neither.
STARS = {1: "negative", 2: "negative", 4: "positive", 5: "positive"}


class Item(NamedTuple):
    """A labelled text, pair of texts, or choice of two pairs; `id` is shared by its translations.

    `further` has the second text of a pair, or the other three of a choice: of both alternatives the cause and the
    effect; or the other five of a choice of three answers, each behind its question.
    """

    id: str
    label: str
    text: str
    further: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts."""
        return self.text, *self.further


def read_items(
    settings: ClassificationSettings,
    language: str,
    part: Part,
    path: Path,
    counted: Counter[str],
) -> Iterator[Item]:
    """The labelled texts of one file; `counted` gets the numbers of what is left out.

    Raises:
        DataError: a line without a text or a label, or that is not of this form.
    """
    source, name = settings.source_of(part), settings.name_of(language, part)
    match source.form:
        case "table":
            yield from _rows(settings, source, name, part, path)
        case "copa":
            yield from _choices(path)
        case "social-iqa":
            yield from _answers(path)
        case "eurlex":
            yield from _documents(path, name, str(source.label), counted)
        case "amazon-v1" | "amazon-v2":
            reviews = _reviews_v1(path) if source.form == "amazon-v1" else _reviews_v2(path, source, name)
            for number, text, stars in reviews:
                if not text or stars not in range(1, 6):
                    raise DataError(f"{path}: review {number} has {f'{stars} stars' if text else 'no text'}")
                if settings.stars == "each":
                    yield Item(text, str(int(stars)), text)
                elif int(stars) == 3:
                    counted["three_stars"] += 1
                else:
                    yield Item(text, STARS[int(stars)], text)


def _rows(
    settings: ClassificationSettings, source: LabelledFiles, name: str, part: Part, path: Path
) -> Iterator[Item]:
    """The texts of a table."""
    columns = source.columns_of()
    if (divide := settings.divide) is not None:
        columns["by"] = divide.by
        shares = SplitSettings(seed=settings.seed, valid=divide.valid, test=divide.test)
    for number, row in _cells(path, list(columns.values()), quoted=source.quoted):
        cells = dict(zip(columns, row, strict=True))
        if cells.get("language", name) != name or (divide and split_of(cells["by"], shares) != part):
            continue
        texts = [cells[key] for key in TEXTS if key in cells]
        if (label := cells["label"].strip()) in source.left_out:
            continue
        label = source.label_names.get(label, label)
        if not label or not all(text.strip() for text in texts):
            raise DataError(f"{path}: line {number} has no {'text' if label else 'label'}")
        yield Item(cells.get("item", " ".join(texts)), label, texts[0], tuple(texts[1:]))


def _choices(path: Path) -> Iterator[Item]:
    """The choices of COPA: the pair of cause and effect of both alternatives; the label is that of the file, 0 or 1."""
    for number, line in read_json(path):
        with well_formed(f"{path}: line {number}", "choice"):
            premise, *alternatives = (line[name].strip() for name in ("premise", "choice1", "choice2"))
            backwards = {"cause": True, "effect": False}[line["question"]]
            label, name = str(int(line["label"])), str(line["idx"])
        if not premise or not all(alternatives) or label not in ("0", "1"):
            raise DataError(
                f"{path}: line {number} has {'no text' if label in ('0', '1') else f'the label {label}'}"
            )
        pairs = [
            (alternative, premise) if backwards else (premise, alternative) for alternative in alternatives
        ]
        yield Item(name, label, pairs[0][0], (pairs[0][1], *pairs[1]))


def _answers(path: Path) -> Iterator[Item]:
    """The questions of Social IQa: context and question with each of three answers; the label is A, B or C."""
    for number, line in read_json(path):
        with well_formed(f"{path}: line {number}", "question of Social IQa"):
            asked = " ".join(f"{line['context']} {line['question']}".split())
            answers = [line[f"answer{letter}"].strip() for letter in "ABC"]
            label = line["correct"]
        if not asked or not all(answers) or label not in ("A", "B", "C"):
            raise DataError(f"{path}: line {number} has no text, or no label A, B or C")
        texts = [text for answer in answers for text in (asked, answer)]
        yield Item(f"{number}", label, texts[0], tuple(texts[1:]))


def _documents(path: Path, language: str, level: str, counted: Counter[str]) -> Iterator[Item]:
    """The documents of MultiEURLEX in a language, with their labels of a level; those without one are left out."""
    for number, line in read_json(path):
        with well_formed(f"{path}: line {number}", f"document with labels of {level}"):
            name, texts, labels = line["celex_id"], line["text"], line["eurovoc_concepts"][level]
            text, label = " ".join((texts.get(language) or "").split()), " ".join(sorted(map(str, labels)))
        if not text or not label:
            counted["untranslated" if label else "unlabelled"] += 1
        else:
            yield Item(name, label, text)


def _cells(path: Path, columns: Sequence[str | int], *, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """(number of the row, cells of the wanted columns); a name means that the first row names the columns."""
    places: list[int] = []
    for number, row in enumerate(read_table(path, quoted=quoted), 1):
        if number == 1:
            places = places_of(path, row, columns)
        if number > 1 or not isinstance(columns[0], str):
            yield number, [row[place] for place in places]


def _reviews_v1(path: Path) -> Iterator[tuple[int, str, float]]:
    """(number, text, stars) of the reviews in Prettenhofer and Stein's XML; the summary comes first."""
    for number, (element, _) in enumerate(elements(path, "items", {"item"}), 1):
        parts = {name: child(element, name) for name in ("rating", "summary", "text")}
        content = {
            name: " ".join("".join(node.itertext()).split()) if node is not None else ""
            for name, node in parts.items()
        }
        yield number, _joined(content["summary"], content["text"]), _stars(content["rating"], path, number)


def _reviews_v2(path: Path, source: LabelledFiles, name: str) -> Iterator[tuple[int, str, float]]:
    """(number, text, stars) of Keung et al.'s reviews in a language, in lines of JSON or CSV; the title comes first."""
    columns = ["review_title", "review_body", "stars", *([str(source.language)] if source.language else [])]
    for number, (title, body, stars, *language) in _fields(path, columns):
        if language in ([], [name]):
            yield number, _joined(title, body), _stars(stars, path, number)


def _fields(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """(number, values) of each row of CSV, or of each object in lines of JSON."""
    if ending_of(path) == ".csv":
        yield from _cells(path, columns, quoted=True)
        return
    for number, review in read_json(path):
        with well_formed(f"{path}: line {number}", "review"):
            fields = [review[column] for column in columns]
        yield number, ["" if field is None else str(field) for field in fields]


def _joined(title: str, body: str) -> str:
    return " ".join(f"{title} {body}".split())


def _stars(text: str, path: Path, number: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{path}: review {number} has {text!r} stars") from None
