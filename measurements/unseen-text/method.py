"""The test of README.md: PLDA and published methods on text that no choice was made on.

    snakemake --cores 2 --configfile measurements/unseen-text/method.yaml --until prepare
    python measurements/unseen-text/method.py --encoder me5=weights/me5-small-4bit \
        --encoder use=weights/use-multilingual-v3 \
        --encoder ems-40=models/ems-40/encoders/ems-40 --work work -o measurements/unseen-text/method

Needs the folder `weights` (docs/encoders.md) and ems-40 of the preset of that name. Fetches the files that
OUTPUT.sets.csv lists. Writes OUTPUT.runs.csv, a number for each run and set, OUTPUT.comparisons.csv,
OUTPUT.verdict.csv, and the figure OUTPUT.svg. A second call goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import vl_convert
from method_sets import Sets, files, read_sets
from scipy.stats import rankdata

from orthoglot import catalogue
from orthoglot.apply.model import Model
from orthoglot.apply.words import compare, encoder_of
from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import ClosedForm, Decomposer, unit
from orthoglot.encoders.folder import identity, load_encoder
from orthoglot.errors import ConfigError
from orthoglot.search.pair_cosines import cosines
from orthoglot.statistics.intervals import bootstrap_p, holm
from orthoglot.statistics.weighted import mean, pearson
from orthoglot.text.keys import normalised
from orthoglot.text.prepared import read_split
from orthoglot.training.batching import PairRows
from orthoglot.training.decompose import Data, fit_decomposer
from orthoglot.training.settings import DecompositionSettings, MethodSettings

# Pairs of each language, of which there is one draw of the most.
FEWER, USUAL, MOST = (100, 300), 1000, 3000
DRAWS, SEEDS, RESAMPLES = 3, (1, 2, 3), 10_000
# Of the hypotheses together, and how far below the undivided vector an interval may reach.
LEVEL, MARGIN = 0.05, 0.5
RECIPE = DecompositionSettings(learning_rate=1e-3, batch_size=512, max_epochs=40, patience=10)
# The authors' learning rate of each family; with it, as many epochs as their patience lets, one draw and one seed.
RATES, RATE_EPOCHS = {"dream": 1e-4, "meat": 1e-5, "seed": 1e-4}, 1000
TRAINED = ("dream", "meat", "dream+oracle", "meat+oracle", "seed", "seed+oracle")
CLOSED = ("centering", "lir", "lsar", "leace", "whitening", "procrustes", "plda")
OURS, UNDIVIDED, WORDS = "plda", "original", "by words"
# Centering with text of each language, which needs no translations: of training, else of FLORES-200 dev.
WITH_TEXT, OWN_TEXT = "centering with text", "centering on the test text"
TASKS = ("retrieval", "pools", "similarity", "quality")
Vectors = np.ndarray
View = Callable[[str, Vectors, Sequence[str]], Vectors]
logger = logging.getLogger("method")


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


class Encoded:
    """Vectors of an encoder's languages: test sets, and training text without the sentences of test sets.

    Attributes:
        text: sentences of languages without training pairs, for methods that need no translations.
    """

    def __init__(self, name: str, folder: Path, sets: Sets, bitext: Path, work: Path) -> None:
        self.name, self.folder, self.place = name, folder, work / name
        self.place.mkdir(parents=True, exist_ok=True)
        known = json.loads((folder / "encoder.json").read_text())["languages"]
        self.knows = lambda code: not known or code in known
        lines = {
            name: {code: text for code, text in of.items() if self.knows(code)}
            for name, of in sets.lines.items()
        }
        similarity, quality = (
            [one for one in of if all(map(self.knows, one.languages))]
            for of in (sets.similarity, sets.quality)
        )
        self.sets = Sets({name: of for name, of in lines.items() if len(of) > 1}, similarity, quality, {})
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
        trained = {code for pair in self.train for code in pair}
        self.text = {
            code: [one for one in text if normalised(one) not in tested]
            for code, text in sets.text.items()
            if self.knows(code) and code not in trained
        }
        self.rows: dict[tuple[str, str], tuple[np.ndarray, int]] = {}

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
        """Make the files of vectors, or open them; `runs` is the folder of what is computed of these vectors."""
        texts: dict[tuple[str, str], None] = {}
        for language, sentences in self.sets.texts():
            texts |= dict.fromkeys((language, one) for one in sentences)
        for draw in range(DRAWS):
            size = USUAL if draw else MOST
            for pair, of in [*self.drawn(size, draw).items(), *self.valid.items()]:
                for side in (0, 1):
                    texts |= dict.fromkeys((pair[side], one[side]) for one in of)
        self.runs = self.place / f"runs-{self._stored([*texts])}"
        self.runs.mkdir(exist_ok=True)
        self._stored([(code, one) for code, text in self.text.items() for one in dict.fromkeys(text)])

    def _stored(self, texts: list[tuple[str, str]]) -> str:
        """Make or open a file with the vectors of these sentences; the digest of encoder and sentences."""
        digest = hashlib.blake2b(identity(self.folder).encode(), digest_size=8)
        for language, sentence in texts:
            digest.update(f"{language}\t{sentence}\n".encode())
        file = self.place / f"vectors-{digest.hexdigest()}.npy"
        if not file.is_file():
            encoder = load_encoder(self.folder, "cpu", "bfloat16")
            by_language: dict[str, list[int]] = {}
            for row, (language, _) in enumerate(texts):
                by_language.setdefault(language, []).append(row)
            matrix = np.zeros((len(texts), encoder.dim), dtype=np.float32)
            for language, rows in by_language.items():
                matrix[rows] = encoder.encode([texts[row][1] for row in rows], language, 4096)
                logger.info("%s: %d sentences in %s", self.name, len(rows), language)
            np.save(file.with_suffix(".part.npy"), matrix)
            file.with_suffix(".part.npy").rename(file)
        matrix = np.load(file, mmap_mode="r")
        self.rows = {key: (matrix, row) for row, key in enumerate(texts)} | self.rows
        return digest.hexdigest()

    def of(self, language: str, sentences: Sequence[str]) -> Vectors:
        """Vectors (N, D)."""
        found = (self.rows[language, one] for one in sentences)
        return np.stack([matrix[row] for matrix, row in found])

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
    base, *changes = name.split("-")
    update: dict[str, Any] = {"centre": "overall"} if "centred" in changes else {}
    if "rate" in changes:
        update |= {"learning_rate": RATES[base.partition("+")[0]], "max_epochs": RATE_EPOCHS}
    return catalogue.method(base).model_copy(update=update)


def fitted(encoded: Encoded, run: Run) -> Decomposer:
    """The decomposer of a run."""
    if run.method == WITH_TEXT:
        sentences = {code: list(text) for code, text in encoded.text.items()}
        for pair, of in encoded.drawn(run.pairs, run.draw).items():
            for side, code in enumerate(pair):
                sentences.setdefault(code, []).extend(one[side] for one in of)
        languages = sorted(sentences)
        means = np.stack([encoded.of(code, sentences[code]).mean(axis=0) for code in languages])
        return Decomposer("centering", WITH_TEXT, "", "", languages, means.shape[1], {"means": means}, {})
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


def applies(found: Decomposer, languages: Sequence[str]) -> bool:
    """Whether a method has weights of all these languages, or needs none of a language."""
    form = architecture(found.architecture)
    return not (isinstance(form, ClosedForm) and form.by_language) or {*languages} <= {*found.languages}


def runs(name: str) -> list[Run]:
    """All that is fitted to an encoder; trained methods to e5 alone, the slowest last."""
    found = [Run(UNDIVIDED, 0, 0, 0), Run(OWN_TEXT, 0, 0, 0)]
    found += [Run(method, USUAL, draw, 0) for draw in range(DRAWS) for method in (*CLOSED, WITH_TEXT)]
    found += [Run(OURS, size, draw, 0) for draw in range(DRAWS) for size in FEWER]
    found.append(Run(OURS, MOST, 0, 0))
    if name == "me5":
        forms = [name + form for form in ("", "-centred") for name in TRAINED]
        found += [
            Run(method, USUAL, draw, seed) for draw in range(DRAWS) for method in forms for seed in SEEDS
        ]
        found += [Run(f"{method}-rate", USUAL, 0, SEEDS[0]) for method in forms]
    return found


def views(encoded: Encoded, run: Run) -> Mapping[str, View]:
    """What is compared, by the name of the method or its variant.

    A view takes the language of vectors (N, D), and the languages of all that are compared.
    """

    def original(_: str, vectors: Vectors, __: Sequence[str]) -> Vectors:
        return unit(vectors)

    if run.method == UNDIVIDED:
        return {UNDIVIDED: original}
    if run.method == OWN_TEXT:

        def centred(_: str, vectors: Vectors, __: Sequence[str]) -> Vectors:
            return unit(vectors - vectors.mean(axis=0))

        return {OWN_TEXT: centred}
    found = fitted(encoded, run)

    def meaning(language: str, vectors: Vectors, all_languages: Sequence[str]) -> Vectors:
        # Without weights of one side, both stay as they are.
        return found.transform(vectors, language).meaning if applies(found, all_languages) else vectors

    def plain(*given: Any) -> Vectors:
        return unit(meaning(*given))

    made: dict[str, View] = {run.method: plain}
    if run.method == OURS:

        def without_constant(*given: Any) -> Vectors:
            return unit(meaning(*given)[:, 1:])

        made["plda without constant"] = without_constant
    elif run.method.endswith("-centred") and run.seed == SEEDS[0]:
        train = encoded.data(run).vectors.numpy()
        size = np.sqrt(np.mean(np.sum(meaning("", train, ()) ** 2, axis=1)))

        def with_constant(*given: Any) -> Vectors:
            numbers = meaning(*given)
            return unit(np.hstack([np.full((len(numbers), 1), size, dtype=numbers.dtype), numbers]))

        made[f"{run.method} with constant"] = with_constant
    return made


def evaluated(encoded: Encoded, view: View) -> dict[str, np.ndarray]:
    """By task and set: a value for each line, or a score for each pair."""
    found: dict[str, np.ndarray] = {}
    for name, text in encoded.sets.lines.items():
        vectors = [view(language, encoded.of(language, some), [*text]) for language, some in text.items()]
        found[f"retrieval {name}"], found[f"pools {name}"] = neighbours(np.stack(vectors).astype(np.float32))
    for task, sets in (("similarity", encoded.sets.similarity), ("quality", encoded.sets.quality)):
        for one in sets:
            x, y = (
                view(code, encoded.of(code, some), one.languages)
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
    """Fit and evaluate the runs of one worker that are not done."""
    torch.set_num_threads(1)
    for run in runs(encoded.name)[worker::workers]:
        done = encoded.runs / f"{run.file}.done"
        if done.exists():
            continue
        for name, view in views(encoded, run).items():
            file = encoded.runs / f"{run._replace(method=name).file}.npz"
            np.savez(file, **evaluated(encoded, view))  # type: ignore[arg-type]
        done.touch()
        logger.info("%s: %s", encoded.name, run.file)


def compare_words(encoded: Encoded, chunk: int = 256) -> None:
    """Quality by words of some methods, where the encoder gives tokens."""
    plain = Model(load_encoder(encoded.folder, "cpu", "bfloat16"), None)
    compared = (OURS, UNDIVIDED, WITH_TEXT, "procrustes")
    wanted = [run for run in runs(encoded.name) if run.method in compared]
    files = [encoded.runs / f"{run._replace(method=f'{run.method} {WORDS}').file}.npz" for run in wanted]
    if all(file.exists() for file in files):
        return
    try:
        encoder = encoder_of(plain)
    except ConfigError:
        return
    models = [
        plain if run.method == UNDIVIDED else Model(plain.encoder, fitted(encoded, run)) for run in wanted
    ]
    scores: list[dict[str, np.ndarray]] = [{} for _ in models]
    for one in encoded.sets.quality:
        of_set: list[list[float]] = [[] for _ in models]
        suited = [
            model if model.decomposer and applies(model.decomposer, one.languages) else plain
            for model in models
        ]
        for start in range(0, len(one.source), chunk):
            first, second = (
                encoder.pieces(some[start : start + chunk], code, 4096)
                for some, code in zip((one.source, one.target), one.languages, strict=True)
            )
            for model, values in zip(suited, of_set, strict=True):
                parts, pairs = compare(model, (first, second), one.languages)
                values += [
                    pair.match.quality(cosine) if pair.match.compared else cosine
                    for pair, cosine in zip(pairs, cosines(*(side.meaning for side in parts)), strict=True)
                ]
        for into, values in zip(scores, of_set, strict=True):
            into[f"quality {one.name}"] = np.array(values)
        logger.info("%s: words of %s", encoded.name, one.name)
    for file, of_model in zip(files, scores, strict=True):
        np.savez(file, **of_model)  # type: ignore[arg-type]


def resampled(encoded: Encoded, task: str, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By set of a task: its number in percent, followed by that of each bootstrap draw, (1 + RESAMPLES,)."""
    found = {}
    graded = {
        f"{task} {one.name}": one for of in (encoded.sets.similarity, encoded.sets.quality) for one in of
    }
    for name, scores in values.items():
        if not name.startswith(f"{task} "):
            continue
        if name in graded:
            gold, units, statistic = graded[name].gold, graded[name].units, pearson()
            # Spearman, of ranks in the whole set
            ranked = task == "similarity"
            columns = np.column_stack([rankdata(side) if ranked else side for side in (scores, gold)])
        else:
            columns, units, statistic = scores[:, None], np.arange(len(scores)), mean()
        moments = statistic.moments(columns)
        sums = np.stack([np.bincount(units, column) for column in moments.T], axis=1)
        weights = drawn_units(len(sums), name.partition(" ")[2].partition(" ")[0])
        totals = np.vstack([sums.sum(axis=0), weights @ sums.astype(np.float32)]).astype(float).T
        found[name] = 100 * statistic.finish(totals)
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
    for file in sorted(encoded.runs.glob("*.npz")):
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
    comparisons = []
    for task in TASKS:
        ours = {run.draw: draws[task, run] for run in of_task(draws, task, OURS)}
        others = sorted({run.method for of, run in draws if of == task and run.pairs in (0, USUAL)} - {OURS})
        for method in others:
            theirs: dict[int, list[np.ndarray]] = {}
            for run in of_task(draws, task, method):
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
            comparisons.append(
                {
                    "encoder": encoded.name,
                    "task": task,
                    "method": method,
                    "variant": int(is_variant(method)),
                    **{name: round(float(number), 3) for name, number in numbers.items()},
                    "p": bootstrap_p(difference[0], difference[1:]) if ahead else 1.0,
                }
            )
    return measured, comparisons


def of_task(draws: dict[tuple[str, Run], np.ndarray], task: str, method: str) -> list[Run]:
    """The runs of a method with the usual number of pairs; of ours, those with words where there are any."""
    words = f"{OURS} {WORDS}"
    if method == OURS and task == "quality" and any(run.method == words for _, run in draws):
        method = words
    return sorted(run for of, run in draws if of == task and run.method == method and run.pairs in (0, USUAL))


def is_variant(method: str) -> bool:
    """Whether it is no published method: a part of ours, words, or one that sees the test's text."""
    return method == OWN_TEXT or method.startswith("plda ") or method.endswith(("with constant", WORDS))


def verdicts(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Whether `plda` is ahead of every published method on e5, and nowhere below the undivided vector."""
    worst = []
    for task in TASKS:
        published = [row for row in rows if (row["encoder"], row["task"], row["variant"]) == ("me5", task, 0)]
        worst.append(max(published, key=lambda row: (row["p"], -row["difference"])))
    for row, p in zip(worst, holm([row["p"] for row in worst]), strict=True):
        yield {"question": "ahead of every published method", **row, "corrected": p, "yes": int(p < LEVEL)}
    for row in rows:
        if row["method"] == UNDIVIDED:
            yield {
                "question": "not below undivided",
                **row,
                "corrected": "",
                "yes": int(row["low"] > -MARGIN),
            }


def picture(rows: list[dict[str, Any]], comparisons: list[dict[str, Any]]) -> str:
    """The figure as SVG: by number of training pairs `plda`, and at the usual number every published method."""
    values: list[dict[str, Any]] = []
    own: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        # In quality estimation that by words.
        wanted = f"{OURS} {WORDS}" if row["task"] == "quality" else OURS
        if row["encoder"] == "me5" and row["method"] == wanted:
            own.setdefault((row["task"], row["pairs"]), []).append(row["value"])
    values += [
        {"task": task, "pairs": pairs, "kind": OURS, "value": np.mean(of)}
        for (task, pairs), of in own.items()
    ]
    for row in comparisons:
        if row["encoder"] == "me5" and not row["variant"]:
            kind = "undivided" if row["method"] == UNDIVIDED else "published"
            values.append({"task": row["task"], "pairs": USUAL, "kind": kind, "value": row["theirs"]})
    x = {
        "field": "pairs",
        "type": "quantitative",
        "title": "training pairs of a language",
        "axis": {"values": [*FEWER, USUAL, MOST], "grid": False},
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
    torch.set_num_threads(given.processes)
    measured: list[dict[str, Any]] = []
    comparisons: list[dict[str, Any]] = []
    for one in given.encoder:
        name, folder = one.split("=")
        encoded = Encoded(name, Path(folder), sets, given.bitext, given.work)
        encoded.encode()
        if given.worker is not None:
            work_off(encoded, given.worker, given.processes)
            return
        counts = {"-".join(pair): len(of) for pair, of in encoded.train.items()}
        logger.info(
            "%s: %d pairs of the test's sentences left out; training pairs %s", name, encoded.left_out, counts
        )
        command = [sys.executable, __file__, "--encoder", one, "--processes", str(given.processes)]
        for option in ("bitext", "work", "output"):
            command += [f"--{option}", str(getattr(given, option))]
        workers = [subprocess.Popen([*command, "--worker", str(number)]) for number in range(given.processes)]
        if sum(worker.wait() for worker in workers):
            raise SystemExit("a worker failed")
        compare_words(encoded)
        for into, rows in zip((measured, comparisons), summed_up(encoded), strict=True):
            into += rows
    write(given.output.with_suffix(".runs.csv"), measured)
    write(given.output.with_suffix(".comparisons.csv"), comparisons)
    write(given.output.with_suffix(".verdict.csv"), list(verdicts(comparisons)))
    given.output.with_suffix(".svg").write_text(picture(measured, comparisons), encoding="utf-8")


if __name__ == "__main__":
    main()
