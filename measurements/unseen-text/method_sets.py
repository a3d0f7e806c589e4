"""The test sets of README.md: fetched, checked against their digests, and read."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from orthoglot.languages import canonical
from orthoglot.study.fetching.download import sha256_of
from orthoglot.study.fetching.files import fetch
from orthoglot.text.keys import normalised

# English stands beside Dutch and Portuguese in SICK's files.
SICK = {"nl": "SICK_NL.txt", "pt": "SICK_BR.txt", "pl": "SICK_"}
INDIC = {"gu": "Guj", "hi": "Hin", "ml": "Mal", "mr": "Mar", "ta": "Tam"}
# What MQM's files put around an error.
MARK = re.compile(r"</?v>")


class Graded(NamedTuple):
    """Sentence pairs with a gold score; the pairs of a unit are drawn together."""

    name: str
    languages: tuple[str, str]
    source: list[str]
    target: list[str]
    gold: np.ndarray
    units: np.ndarray


class Sets(NamedTuple):
    """The test sets: line n of a text in all languages, pairs with gold similarity, and with gold quality.

    `text` is no test set, but sentences of many languages.
    """

    lines: dict[str, dict[str, list[str]]]
    similarity: list[Graded]
    quality: list[Graded]
    text: dict[str, list[str]]

    def texts(self) -> Iterator[tuple[str, list[str]]]:
        """Every language and some of its sentences."""
        for text in self.lines.values():
            yield from text.items()
        for one in (*self.similarity, *self.quality):
            yield one.languages[0], one.source
            yield one.languages[1], one.target


def files(table: Path, work: Path) -> dict[str, list[Path]]:
    """The files of each set, as they are fetched, whose digests are those of the table."""
    rows = list(csv.DictReader(table.open(encoding="utf-8", newline="")))
    address = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
    addresses = [address.format(**row).replace(" ", "%20") for row in rows]
    output = work / "files"
    output.mkdir(parents=True, exist_ok=True)
    if not (work / "fetched").is_file():
        fetch(addresses, output, work / "downloads", lock=work / "lock", cache=work / "cache")
        (work / "fetched").touch()
    found: dict[str, list[Path]] = {}
    for row, one in zip(rows, addresses, strict=True):
        path = output / one.removeprefix("https://")
        if sha256_of(path) != row["sha256"]:
            raise SystemExit(f"{path}: another file than {row['repository']}/{row['path']}")
        found.setdefault(row["set"], []).append(path)
    return found


def lines_of(path: Path) -> list[str]:
    """The lines of a file; other signs of a line's end than the usual one are text."""
    return path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")


def table_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table with tabs and without quoting; one may lack the last column."""
    names, *rows = (line.rstrip("\r").split("\t") for line in lines_of(path))
    return [dict(zip(names, [*row, ""][: len(names)], strict=True)) for row in rows]


def read_sets(of: dict[str, list[Path]]) -> Sets:
    """All test sets."""
    flores = {canonical(path.name.partition(".")[0]): lines_of(path) for path in of["FLORES-200"]}
    pud: dict[str, dict[str, str]] = {}
    for path in of["PUD"]:
        text = pud.setdefault(path.name.partition("_")[0], {})
        for line in lines_of(path):
            if line.startswith("# sent_id = "):
                number = line.removeprefix("# sent_id = ")
            elif line.startswith("# text = "):
                text[number] = line.removeprefix("# text = ")
    common = sorted(set.intersection(*map(set, pud.values())))
    lines = {
        "FLORES": flores,
        "PUD": {language: [text[number] for number in common] for language, text in pud.items()},
    }
    more = {canonical(path.name.partition(".")[0]): lines_of(path) for path in of["FLORES-200 dev"]}
    quality = [*ted(of["MQM of TED talks"]), *indic(of["IndicMT-Eval"])]
    return Sets(lines, list(sick(of["SICK"])), quality, more)


def sick(paths: list[Path]) -> Iterator[Graded]:
    """SICK for each ordered pair of languages: the first sentence in one, the second in the other."""
    rows = {
        language: {
            row["pair_ID"]: row
            for path in paths
            if path.name.startswith(start)
            for row in table_of(path)
            if language != "pl" or path.name not in SICK.values()
        }
        for language, start in SICK.items()
    }
    both = {
        language: {number: (row["sentence_A"], row["sentence_B"]) for number, row in of.items()}
        for language, of in rows.items()
    }
    both["en"] = {
        number: (row["sentence_A_original"], row["sentence_B_original"]) for number, row in rows["nl"].items()
    }
    numbers = sorted(set.intersection(*map(set, both.values())), key=int)
    gold = np.array([float(rows["nl"][number]["relatedness_score"]) for number in numbers])
    units = connected([both["en"][number] for number in numbers])
    for first in sorted(both):
        for second in sorted(both):
            if first != second:
                source, target = (
                    [both[code][number][side] for number in numbers]
                    for side, code in enumerate((first, second))
                )
                yield Graded(f"SICK {first}-{second}", (first, second), source, target, gold, units)


def connected(pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """A number for each pair: pairs that are linked by sentences which they share have the same one."""
    rows = {
        sentence: row for row, sentence in enumerate(dict.fromkeys(one for pair in pairs for one in pair))
    }
    first, second = ([rows[pair[side]] for pair in pairs] for side in (0, 1))
    graph = coo_matrix((np.ones(len(pairs)), (first, second)), shape=(len(rows), len(rows)))
    found: np.ndarray = connected_components(graph, directed=False)[1][first]
    return np.unique(found, return_inverse=True)[1]


def ted(paths: list[Path]) -> Iterator[Graded]:
    """Segments by MT systems that have a score; those of a source are a unit. Translations by people are left out."""
    for folder, languages in (("ende", ("en", "de")), ("zhen", ("zh", "en"))):
        (ratings,) = (path for path in paths if path.name == f"mqm_ted_{folder}.tsv")
        (scores,) = (path for path in paths if path.name == f"mqm_ted_{folder}.avg_seg_scores.tsv")
        gold = {}
        for line in lines_of(scores)[1:]:
            system, score, segment = line.rsplit(None, 2)
            if score != "None":
                gold[system, segment] = float(score)
        if max(gold.values()) > 0:
            raise SystemExit(f"{scores}: a penalty is above 0")
        segments: dict[tuple[str, str], tuple[str, str]] = {}
        for row in table_of(ratings):
            key = row["system"], row["seg_id"]
            if key in gold and not row["system"].lower().startswith(("ref", "human")):
                segments[key] = (MARK.sub("", row["source"]), MARK.sub("", row["target"]))
        keys = sorted(key for key, (source, target) in segments.items() if source.strip() and target.strip())
        source, target = zip(*(segments[key] for key in keys), strict=True)
        units = np.unique([segment for _, segment in keys], return_inverse=True)[1]
        values = np.array([gold[key] for key in keys])
        yield Graded(f"TED {'-'.join(languages)}", languages, [*source], [*target], values, units)


def indic(paths: list[Path]) -> Iterator[Graded]:
    """IndicMT-Eval's normalised MQM score; the translations of an English sentence are a unit."""
    for language, start in INDIC.items():
        rows = [json.loads(line) for path in paths if path.name.startswith(start) for line in lines_of(path)]
        rows = [
            row for row in rows if row["src"].strip() and row["translation"].strip() and row["mqm_norm_score"]
        ]
        units = np.unique([normalised(row["src"]) for row in rows], return_inverse=True)[1]
        source, target = ([row[side] for row in rows] for side in ("src", "translation"))
        gold = np.array([float(row["mqm_norm_score"]) for row in rows])
        yield Graded(f"IndicMT en-{language}", ("en", language), source, target, gold, units)
