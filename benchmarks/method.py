"""The test of docs/results/method.md: PLDA and published methods on text that no choice was made on.

    snakemake --cores 2 --configfile benchmarks/method.yaml --until prepare
    python benchmarks/method.py --encoder me5=weights/me5-small-4bit --encoder use=weights/use-multilingual-v3 \
        --encoder ems-40=models/ems-40/encoders/ems-40 --work work -o docs/results/method

Needs the folder `weights` (docs/encoders.md) and ems-40 of the preset of that name. Fetches the files that
OUTPUT.sets.csv lists. Writes OUTPUT.test.csv, a number for each run and set, OUTPUT.tests.csv, the comparisons, and the
figure OUTPUT.svg. A second call goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import csv
import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import vl_convert
from scipy.stats import rankdata

from orthoglot.apply.model import Model
from orthoglot.apply.words import compare
from orthoglot.config import method_named
from orthoglot.corpora.prepare import read_split
from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import ClosedForm, Decomposer, Parts, unit
from orthoglot.encoders.kinds import load_encoder
from orthoglot.encoders.pieces import Pieces
from orthoglot.encoders.pretrained import PretrainedEncoder
from orthoglot.errors import ConfigError
from orthoglot.fetching.download import sha256_of
from orthoglot.fetching.files import fetch
from orthoglot.languages import canonical
from orthoglot.statistics.intervals import bootstrap_p, holm
from orthoglot.text.keys import normalised
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import Data, fit_decomposer
from orthoglot.training.settings import DecompositionSettings, MethodSettings

# Pairs of each language, of which there is one draw of the most.
FEWER, USUAL, MOST = (100, 300), 1000, 3000
DRAWS, SEEDS, RESAMPLES = 3, (1, 2, 3), 10_000
RECIPE = DecompositionSettings(learning_rate=1e-3, batch_size=512, max_epochs=40, patience=10)
# The authors' learning rate of each family; with it, more epochs, and one seed.
RATES, RATE_EPOCHS, RATE_SEEDS = {"dream": 1e-4, "meat": 1e-5, "seed": 1e-4}, 100, (1,)
TRAINED = ("dream", "meat", "dream+oracle", "meat+oracle", "seed", "seed+oracle")
CLOSED = ("centering", "lir", "lsar", "leace", "whitening", "procrustes", "discriminant", "plda")
OURS, FORMER, UNDIVIDED, OWN_TEXT = "plda", "discriminant", "original", "centering on the test text"
TASKS = ("retrieval", "pools", "similarity", "quality")
# English stands beside Dutch and Portuguese in SICK's files. MQM's files name the talk, and mark errors in the text.
SICK = {"nl": "SICK_NL.txt", "pt": "SICK_BR.txt", "pl": "SICK_"}
INDIC = {"gu": "Guj", "hi": "Hin", "ml": "Mal", "mr": "Mar", "ta": "Tam"}
MARK = re.compile(r"</?v>")
Vectors = np.ndarray
View = Callable[[str, Vectors], Vectors]
logger = logging.getLogger("method")


class Graded(NamedTuple):
    """Sentence pairs with a gold score; the pairs of a unit are drawn together."""

    name: str
    languages: tuple[str, str]
    source: list[str]
    target: list[str]
    gold: np.ndarray
    units: np.ndarray


class Sets(NamedTuple):
    """The test sets: line n of a text in all languages, pairs with gold similarity, and with gold quality."""

    lines: dict[str, dict[str, list[str]]]
    similarity: list[Graded]
    quality: list[Graded]

    def texts(self) -> Iterator[tuple[str, list[str]]]:
        """Every language and some of its sentences."""
        for text in self.lines.values():
            yield from text.items()
        for one in (*self.similarity, *self.quality):
            yield one.languages[0], one.source
            yield one.languages[1], one.target


class Run(NamedTuple):
    """A method that is fitted: how many pairs of each language, which draw of them, which seed."""

    method: str
    pairs: int
    draw: int
    seed: int

    @property
    def file(self) -> str:
        """Its name without a suffix."""
        return "-".join(map(str, self))


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


def table_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table with tabs and without quoting."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"), strict=False)) for line in lines[1:] if line.strip()]


def read_sets(of: dict[str, list[Path]]) -> Sets:
    """All test sets."""
    flores = {
        canonical(path.name.partition(".")[0]): path.read_text(encoding="utf-8").splitlines()
        for path in of["FLORES-200"]
    }
    pud: dict[str, dict[str, str]] = {}
    for path in of["PUD"]:
        text = pud.setdefault(path.name.partition("_")[0], {})
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# sent_id = "):
                number = line.removeprefix("# sent_id = ")
            elif line.startswith("# text = "):
                text[number] = line.removeprefix("# text = ")
    common = sorted(set.intersection(*map(set, pud.values())))
    lines = {
        "FLORES": flores,
        "PUD": {language: [text[number] for number in common] for language, text in pud.items()},
    }
    return Sets(lines, list(sick(of["SICK"])), [*ted(of["MQM of TED talks"]), *indic(of["IndicMT-Eval"])])


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
    for first in sorted(both):
        for second in sorted(both):
            if first != second:
                source, target = (
                    [both[code][number][side] for number in numbers]
                    for side, code in enumerate((first, second))
                )
                name, units = f"SICK {first}-{second}", np.arange(len(numbers))
                yield Graded(name, (first, second), source, target, gold, units)


def ted(paths: list[Path]) -> Iterator[Graded]:
    """Segments of talks by MT systems; a talk is a unit. Translations by people, and without a score, are left out."""
    for folder, languages in (("ende", ("en", "de")), ("zhen", ("zh", "en"))):
        (ratings,) = (path for path in paths if path.name == f"mqm_ted_{folder}.tsv")
        (scores,) = (path for path in paths if path.name == f"mqm_ted_{folder}.avg_seg_scores.tsv")
        gold = {}
        for line in scores.read_text(encoding="utf-8").splitlines()[1:]:
            system, score, segment = line.rsplit(None, 2)
            if score != "None":
                gold[system, segment] = float(score)
        segments: dict[tuple[str, str], tuple[str, str, str]] = {}
        for row in table_of(ratings):
            key = row["system"], row["seg_id"]
            if key in gold and not row["system"].lower().startswith(("ref", "human")):
                segments[key] = (row["doc"], MARK.sub("", row["source"]), MARK.sub("", row["target"]))
        keys = sorted(
            key for key, (_, source, target) in segments.items() if source.strip() and target.strip()
        )
        talks, source, target = zip(*(segments[key] for key in keys), strict=True)
        units = np.unique(talks, return_inverse=True)[1]
        yield Graded(
            f"TED {'-'.join(languages)}",
            languages,
            [*source],
            [*target],
            np.array([gold[key] for key in keys]),
            units,
        )


def indic(paths: list[Path]) -> Iterator[Graded]:
    """IndicMT-Eval's normalised MQM score; the translations of an English sentence are a unit."""
    for language, start in INDIC.items():
        rows = [
            json.loads(line)
            for path in paths
            if path.name.startswith(start)
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
        rows = [
            row for row in rows if row["src"].strip() and row["translation"].strip() and row["mqm_norm_score"]
        ]
        units = np.unique([row["src"] for row in rows], return_inverse=True)[1]
        source, target = ([row[side] for row in rows] for side in ("src", "translation"))
        gold = np.array([float(row["mqm_norm_score"]) for row in rows])
        yield Graded(f"IndicMT en-{language}", ("en", language), source, target, gold, units)


class Encoded:
    """Vectors of an encoder's languages: test sets, and training text without the sentences of test sets."""

    def __init__(self, name: str, folder: Path, sets: Sets, bitext: Path, work: Path) -> None:
        self.name, self.folder, self.place = name, folder, work / name
        (self.place / "runs").mkdir(parents=True, exist_ok=True)
        known = json.loads((folder / "encoder.json").read_text())["languages"]
        self.knows = lambda code: not known or code in known
        lines = {
            name: {code: text for code, text in of.items() if self.knows(code)}
            for name, of in sets.lines.items()
        }
        self.sets = Sets(
            {name: of for name, of in lines.items() if len(of) > 1},
            *([one for one in of if all(map(self.knows, one.languages))] for of in sets[1:]),
        )
        tested = {normalised(sentence) for _, text in sets.texts() for sentence in text}
        self.train: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self.valid: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self.left_out = 0
        for where in sorted(bitext.iterdir()):
            source, target = where.name.split("-")
            if not (self.knows(source) and self.knows(target)):
                continue
            for of, split in ((self.train, "train"), (self.valid, "valid")):
                pairs = [(one.source, one.target) for one in read_split(where, split)]  # type: ignore[arg-type]
                kept = [pair for pair in pairs if not tested & set(map(normalised, pair))]
                self.left_out += len(pairs) - len(kept)
                of[source, target] = kept
        self.vectors: dict[tuple[str, str], int] = {}

    def drawn(self, size: int, draw: int) -> dict[tuple[str, str], list[tuple[str, str]]]:
        """Training pairs of each pair of languages; a smaller draw is the beginning of a larger one."""
        return {
            pair: [
                of[row]
                for row in np.random.default_rng([draw, *map(ord, "".join(pair))]).permutation(len(of))[:size]
            ]
            for pair, of in self.train.items()
        }

    def encode(self) -> None:
        """Make the file of vectors, or open it."""
        texts: dict[tuple[str, str], None] = {}
        for language, sentences in self.sets.texts():
            texts |= dict.fromkeys((language, one) for one in sentences)
        for draw in range(DRAWS):
            size = USUAL if draw else MOST
            for pair, of in [*self.drawn(size, draw).items(), *self.valid.items()]:
                for side in (0, 1):
                    texts |= dict.fromkeys((pair[side], one[side]) for one in of)
        self.vectors = {key: row for row, key in enumerate(texts)}
        file = self.place / "vectors.npy"
        if not file.is_file():
            encoder = load_encoder(self.folder, "cpu", "bfloat16")
            by_language: dict[str, list[str]] = {}
            for language, sentence in texts:
                by_language.setdefault(language, []).append(sentence)
            matrix = np.zeros((len(texts), encoder.dim), dtype=np.float32)
            for language, sentences in by_language.items():
                rows = [self.vectors[language, one] for one in sentences]
                matrix[rows] = encoder.encode(sentences, language, 4096)
                logger.info("%s: %d sentences in %s", self.name, len(sentences), language)
            np.save(file.with_suffix(".part.npy"), matrix)
            file.with_suffix(".part.npy").rename(file)
        self.matrix = np.load(file, mmap_mode="r")

    def of(self, language: str, sentences: Sequence[str]) -> Vectors:
        """Vectors (N, D)."""
        return np.asarray(self.matrix[[self.vectors[language, one] for one in sentences]])

    def data(self, run: Run) -> Data:
        """Training and validation pairs of a run."""
        splits = {"train": self.drawn(run.pairs, run.draw), "valid": self.valid}
        languages = sorted({code for pair in self.train for code in pair})
        rows: dict[str, list[np.ndarray]] = {"train": [], "valid": []}
        vectors, count = [], 0
        for split, by_pair in splits.items():
            for pair, of in by_pair.items():
                n = len(of)
                vectors += [self.of(pair[side], [one[side] for one in of]) for side in (0, 1) if n]
                ids = [np.full(n, languages.index(code)) for code in pair]
                rows[split].append(np.stack([count + np.arange(n), count + n + np.arange(n), *ids]))
                count += 2 * n
        train, valid = (PairRows(*torch.from_numpy(np.concatenate(of, axis=1))) for of in rows.values())
        return Data(torch.from_numpy(np.concatenate(vectors)), languages, train, valid)


def settings(name: str) -> MethodSettings:
    """A method of the catalogue, or that on centred vectors, or with its authors' rate."""
    base, _, change = name.partition("-")
    method = method_named(base)
    if change == "centred":
        return method.model_copy(update={"centre": "overall"})
    if change == "rate":
        return method.model_copy(
            update={"learning_rate": RATES[base.partition("+")[0]], "max_epochs": RATE_EPOCHS}
        )
    return method


def fitted(encoded: Encoded, run: Run) -> Decomposer:
    """The decomposer of a run."""
    found, _ = fit_decomposer(
        settings(run.method),
        RECIPE,
        run.method,
        encoded.data(run),
        seed=run.seed,
        device=torch.device("cpu"),
        checkpoint=None,
    )
    return found


def runs(name: str) -> list[Run]:
    """All that is fitted to an encoder; trained methods to e5 alone, the slowest last."""
    found = [Run(UNDIVIDED, 0, 0, 0), Run(OWN_TEXT, 0, 0, 0)]
    found += [Run(method, USUAL, draw, 0) for draw in range(DRAWS) for method in CLOSED]
    found += [Run(OURS, size, draw, 0) for draw in range(DRAWS) for size in FEWER]
    found.append(Run(OURS, MOST, 0, 0))
    if name == "me5":
        forms = [name + form for form in ("", "-centred") for name in TRAINED]
        found += [
            Run(method, USUAL, draw, seed) for draw in range(DRAWS) for method in forms for seed in SEEDS
        ]
        rates = [f"{name}-rate" for name in TRAINED]
        found += [
            Run(method, USUAL, draw, seed) for draw in range(DRAWS) for method in rates for seed in RATE_SEEDS
        ]
    return found


def views(encoded: Encoded, run: Run) -> Mapping[str, tuple[View, View]]:
    """What is compared in all tasks but quality estimation, and in that, by the name of the method or its variant."""

    def original(_: str, vectors: Vectors) -> Vectors:
        return unit(vectors)

    if run.method == UNDIVIDED:
        return {UNDIVIDED: (original, original)}
    if run.method == OWN_TEXT:

        def centred(_: str, vectors: Vectors) -> Vectors:
            return unit(vectors - vectors.mean(axis=0))

        return {OWN_TEXT: (centred, centred)}
    found = fitted(encoded, run)
    form = architecture(found.architecture)
    of_language = isinstance(form, ClosedForm) and form.by_language

    def meaning(language: str, vectors: Vectors) -> Vectors:
        # Such a method has no weights of a language without training text.
        if of_language and language not in found.languages:
            return vectors
        return found.transform(vectors, language).meaning

    def plain(language: str, vectors: Vectors) -> Vectors:
        return unit(meaning(language, vectors))

    def judged(language: str, vectors: Vectors) -> Vectors:
        return unit(found.judged(meaning(language, vectors)))

    made: dict[str, tuple[View, View]] = {run.method: (plain, judged)}
    if run.method == OURS:

        def without_constant(language: str, vectors: Vectors) -> Vectors:
            return unit(meaning(language, vectors)[:, 1:])

        made["plda without constant"] = (without_constant, without_constant)
        made["plda without quality"] = (plain, plain)
    elif run.method.endswith("-centred") and run.seed == SEEDS[0]:
        train = encoded.data(run).vectors.numpy()
        size = np.sqrt(np.mean(np.sum(meaning("", train) ** 2, axis=1)))

        def with_constant(language: str, vectors: Vectors) -> Vectors:
            found = meaning(language, vectors)
            return unit(np.hstack([np.full((len(found), 1), size, dtype=found.dtype), found]))

        made[f"{run.method} with constant"] = (with_constant, with_constant)
    return made


def evaluated(encoded: Encoded, view: View, judged: View) -> dict[str, np.ndarray]:
    """By task and set: a value for each line, or a score for each pair."""
    found: dict[str, np.ndarray] = {}
    for name, text in encoded.sets.lines.items():
        vectors = [view(language, encoded.of(language, some)) for language, some in text.items()]
        found[f"retrieval {name}"], found[f"pools {name}"] = neighbours(np.stack(vectors).astype(np.float32))
    for task, how, sets in (
        ("similarity", view, encoded.sets.similarity),
        ("quality", judged, encoded.sets.quality),
    ):
        for one in sets:
            x, y = (
                how(code, encoded.of(code, some))
                for code, some in zip(one.languages, (one.source, one.target), strict=True)
            )
            found[f"{task} {one.name}"] = np.einsum("nd,nd->n", x, y)
    return found


def neighbours(vectors: np.ndarray, block: int = 512) -> tuple[np.ndarray, np.ndarray]:
    """P@1 among the sentences of one other language, and R-precision among all but itself, mean over languages.

    Args:
        vectors: of length 1 (K, N, D); row n of a language translates row n of the others.
    Returns:
        (N,) and (N,).
    """
    k, n, dim = vectors.shape
    every = torch.from_numpy(vectors.reshape(k * n, dim))
    line, hits, shares = torch.arange(n).repeat(k), torch.zeros(n), torch.zeros(n)
    for start in range(0, k * n, block):
        rows = torch.arange(start, min(start + block, k * n))
        scores = every[rows] @ every.T
        scores[torch.arange(len(rows)), rows] = -torch.inf
        found = scores.view(len(rows), k, n).argmax(dim=2) == line[rows, None]
        # Its own sentence is never the nearest, so its own language adds nothing.
        hits.index_add_(0, line[rows], found.sum(dim=1).float())
        near = scores.topk(k - 1, dim=1).indices
        shares.index_add_(0, line[rows], (line[near] == line[rows, None]).float().mean(dim=1))
    return (hits / (k * (k - 1))).numpy(), (shares / k).numpy()


def work_off(encoded: Encoded, worker: int, workers: int) -> None:
    """Fit and evaluate every so manyth run that is not done."""
    torch.set_num_threads(1)
    for run in runs(encoded.name)[worker::workers]:
        done = encoded.place / "runs" / f"{run.file}.done"
        if done.exists():
            continue
        for name, (view, judged) in views(encoded, run).items():
            file = encoded.place / "runs" / f"{run._replace(method=name).file}.npz"
            np.savez(file, **evaluated(encoded, view, judged))  # type: ignore[arg-type]
        done.touch()
        logger.info("%s: %s", encoded.name, run.file)


def compare_words(encoded: Encoded, chunk: int = 256) -> None:
    """Quality of `plda` by words, where the encoder gives tokens."""
    encoder = load_encoder(encoded.folder, "cpu", "bfloat16")
    wanted = [run for run in runs(encoded.name) if run.method == OURS]
    files = [encoded.place / "runs" / f"{run._replace(method='plda by words').file}.npz" for run in wanted]
    if not isinstance(encoder, PretrainedEncoder) or all(file.exists() for file in files):
        return
    try:
        encoder.check_pieces()
    except ConfigError:
        return
    models = [Model(encoder, fitted(encoded, run)) for run in wanted]
    scores: list[dict[str, np.ndarray]] = [{} for _ in models]
    for one in encoded.sets.quality:
        of_set: list[list[float]] = [[] for _ in models]
        for start in range(0, len(one.source), chunk):
            pieces = tuple(
                encoder.pieces(some[start : start + chunk], code, 4096)
                for some, code in zip((one.source, one.target), one.languages, strict=True)
            )
            for model, values in zip(models, of_set, strict=True):
                values += [pair.match.quality(pair.cosine) for pair in compared(model, pieces, one.languages)]
        for into, values in zip(scores, of_set, strict=True):
            into[f"quality {one.name}"] = np.array(values)
        logger.info("%s: words of %s", encoded.name, one.name)
    for file, of_model in zip(files, scores, strict=True):
        np.savez(file, **of_model)  # type: ignore[arg-type]


def compared(model: Model, pieces: tuple[Sequence[Pieces], ...], languages: tuple[str, str]) -> Iterator[Any]:
    """How the words of pairs compare, as `orthoglot score --words` does."""
    parts: list[Parts] = [model.split(np.stack([one.vector for one in side])) for side in pieces]
    return compare(model, (parts[0], parts[1]), (pieces[0], pieces[1]), languages)


def resampled(encoded: Encoded, task: str, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By set of a task: its number in percent, followed by that of each bootstrap draw, (1 + RESAMPLES,)."""
    found = {}
    graded = {f"{task} {one.name}": one for of in encoded.sets[1:] for one in of}
    for name, scores in values.items():
        if not name.startswith(f"{task} "):
            continue
        if name in graded:
            x, y = scores, graded[name].gold
            if task == "similarity":
                # Spearman, of ranks in the whole set
                x, y = rankdata(x), rankdata(y)
            x, y = ((side - side.mean()) / side.std() for side in (x, y))
            columns, units = np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y]), graded[name].units
        else:
            columns, units = np.stack([np.ones(len(scores)), scores]), np.arange(len(scores))
        sums = np.stack([np.bincount(units, column) for column in columns], axis=1)
        weights = drawn_units(len(sums), name.partition(" ")[2].partition(" ")[0])
        totals = np.vstack([sums.sum(axis=0), weights @ sums.astype(np.float32)]).astype(float).T
        means = totals[1:] / totals[0]
        if name in graded:
            x, y, xx, yy, xy = means
            found[name] = 100 * (xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y))
        else:
            found[name] = 100 * means[0]
    return found


@cache
def drawn_units(units: int, name: str) -> np.ndarray:
    """How often each unit is drawn (RESAMPLES, units); sets of one name and number of units have the same draws."""
    generator = np.random.default_rng([units, *name.encode()])
    rows = generator.integers(units, size=(RESAMPLES, units), dtype=np.int32)
    counts = np.zeros((RESAMPLES, units), dtype=np.float32)
    for into, row in zip(counts, rows, strict=True):
        into[:] = np.bincount(row, minlength=units)
    return counts


def summed_up(encoded: Encoded) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A row for each run and set, and one for each comparison of `plda` with another method."""
    measured: list[dict[str, Any]] = []
    draws: dict[tuple[str, Run], np.ndarray] = {}
    for file in sorted((encoded.place / "runs").glob("*.npz")):
        method, *counts = file.stem.rsplit("-", 3)
        run = Run(method, *map(int, counts))
        values = dict(np.load(file))
        for task in TASKS:
            by_set = resampled(encoded, task, values)
            for name, one in by_set.items():
                row = {
                    "encoder": encoded.name,
                    **run._asdict(),
                    "task": task,
                    "set": name.removeprefix(f"{task} "),
                }
                measured.append({**row, "value": round(float(one[0]), 3)})
            if by_set:
                draws[task, run] = np.mean([*by_set.values()], axis=0)
    compared = []
    for task in TASKS:
        ours = {run.draw: draws[task, run] for run in of_task(encoded, draws, task, OURS)}
        others = sorted({run.method for of, run in draws if of == task and run.pairs in (0, USUAL)} - {OURS})
        for method in others:
            theirs: dict[int, list[np.ndarray]] = {}
            for run in of_task(encoded, draws, task, method):
                theirs.setdefault(run.draw, []).append(draws[task, run])
            by_draw = [mine - np.mean(theirs.get(draw, theirs[0]), axis=0) for draw, mine in ours.items()]
            difference = np.mean(by_draw, axis=0)
            low, high = np.percentile(difference[1:], [2.5, 97.5])
            signs = {np.sign(one[0]) for one in by_draw}
            ahead = difference[0] > 0 and len(signs) == 1
            numbers = {
                "ours": np.mean([one[0] for one in ours.values()]),
                "theirs": np.mean([one[0] for of in theirs.values() for one in of]),
                "difference": difference[0],
                "low": low,
                "high": high,
            }
            compared.append(
                {
                    "encoder": encoded.name,
                    "task": task,
                    "method": method,
                    "variant": int(is_variant(method)),
                    **{name: round(float(number), 3) for name, number in numbers.items()},
                    "p": bootstrap_p(difference[0], difference[1:]) if ahead else 1.0,
                }
            )
    return measured, compared


def of_task(encoded: Encoded, draws: dict[tuple[str, Run], np.ndarray], task: str, method: str) -> list[Run]:
    """The runs of a method with the usual number of pairs; of ours, those with words where there are any."""
    words = "plda by words"
    if method == OURS and task == "quality" and any(run.method == words for _, run in draws):
        method = words
    return sorted(run for of, run in draws if of == task and run.method == method and run.pairs in (0, USUAL))


def is_variant(method: str) -> bool:
    """Whether it is no published method: ours of before, a part of ours, or one that sees the test's text."""
    return method in (OWN_TEXT, FORMER) or method.startswith("plda ") or method.endswith("with constant")


def tested(rows: list[dict[str, Any]]) -> None:
    """Log each hypothesis with its corrected p: `plda` is ahead of every published method on e5."""
    worst = {
        task: max(
            (row for row in rows if row["encoder"] == "me5" and row["task"] == task and not row["variant"]),
            key=lambda row: row["p"],
        )
        for task in TASKS
    }
    for (task, row), p in zip(worst.items(), holm([row["p"] for row in worst.values()]), strict=True):
        about = f"{row['method']}, {row['difference']:+} [{row['low']}, {row['high']}]"
        logger.info("%s: p %.4f after correction; the hardest is %s", task, p, about)


def picture(rows: list[dict[str, Any]], compared: list[dict[str, Any]]) -> str:
    """The figure as SVG: by number of training pairs `plda`, and at the usual number every published method."""
    values: list[dict[str, Any]] = []
    own: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        # In quality estimation that by words.
        wanted = "plda by words" if row["task"] == "quality" else OURS
        if row["encoder"] == "me5" and row["method"] == wanted:
            own.setdefault((row["task"], row["pairs"]), []).append(row["value"])
    values += [
        {"task": task, "pairs": pairs, "kind": OURS, "value": np.mean(of)}
        for (task, pairs), of in own.items()
    ]
    for row in compared:
        if row["encoder"] == "me5" and not row["variant"]:
            kind = "undivided" if row["method"] == UNDIVIDED else "published"
            values.append({"task": row["task"], "pairs": USUAL, "kind": kind, "value": row["theirs"]})
    x = {
        "field": "pairs",
        "type": "quantitative",
        "title": "training pairs of a language",
        "scale": {"type": "log"},
    }
    colour = {"field": "kind", "type": "nominal", "title": None, "sort": [OURS, "published", "undivided"]}
    y = {"field": "value", "type": "quantitative", "title": None, "scale": {"zero": False}}
    marks: list[dict[str, Any]] = [
        {"mark": "line", "transform": [{"filter": f"datum.kind == '{OURS}'"}]},
        {"mark": {"type": "point", "filled": True, "size": 40}},
    ]
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": values},
        "facet": {"field": "task", "type": "nominal", "title": None, "sort": [*TASKS]},
        "columns": 4,
        "spec": {
            "width": 170,
            "height": 200,
            "layer": [mark | {"encoding": {"x": x, "y": y, "color": colour}} for mark in marks],
        },
        "resolve": {"scale": {"y": "independent"}},
        "config": {"background": "white", "legend": {"orient": "bottom"}},
    }
    return str(vl_convert.vegalite_to_svg(spec))


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Read the command line, run what is not done, write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--bitext", type=Path, default=Path("data/method/bitext"))
    parser.add_argument("--work", type=Path, required=True, help="folder of what a second call finds done")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    sets = read_sets(files(given.output.with_suffix(".sets.csv"), given.work))
    torch.set_num_threads(1 if given.worker is not None else given.processes)
    measured: list[dict[str, Any]] = []
    compared_rows: list[dict[str, Any]] = []
    for name, folder in (one.split("=") for one in given.encoder):
        encoded = Encoded(name, Path(folder), sets, given.bitext, given.work)
        encoded.encode()
        if given.worker is not None:
            work_off(encoded, given.worker, given.processes)
            continue
        counts = {"-".join(pair): len(of) for pair, of in encoded.train.items()}
        logger.info(
            "%s: %d pairs of the test's sentences left out; training pairs %s", name, encoded.left_out, counts
        )
        command = [sys.executable, __file__, *sys.argv[1:]]
        workers = [subprocess.Popen([*command, "--worker", str(number)]) for number in range(given.processes)]
        if sum(worker.wait() for worker in workers):
            raise SystemExit("a worker failed")
        compare_words(encoded)
        for into, rows in zip((measured, compared_rows), summed_up(encoded), strict=True):
            into += rows
    if given.worker is None:
        write(given.output.with_suffix(".test.csv"), measured)
        write(given.output.with_suffix(".tests.csv"), compared_rows)
        given.output.with_suffix(".svg").write_text(picture(measured, compared_rows), encoding="utf-8")
        tested(compared_rows)


if __name__ == "__main__":
    main()
