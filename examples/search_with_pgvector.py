"""Texts in several languages in PostgreSQL with pgvector, searched by meaning, see docs/vector-database.md.

    python search_with_pgvector.py store "dbname=library" my-model en.txt nl.txt
    python search_with_pgvector.py ask "dbname=library" my-model en "Where is the station?" nl
    python search_with_pgvector.py refit "dbname=library" new-model

The second word names the database, as for psql. A file has a text in each line, and is named by its language. Without
the last code, `ask` searches all languages.
"""

from __future__ import annotations

import sys
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

import orthoglot

# The schema that people search: the vectors of one model, and the mean of each language.
SCHEMA = """
CREATE SCHEMA search;
CREATE TABLE search.about (model text, encoder text);
CREATE TABLE search.languages (code text PRIMARY KEY, own_mean vector({dim}));
CREATE TABLE search.texts
    (id uuid PRIMARY KEY, language text, text text, sentence vector({dim}), meaning vector({dim}));
CREATE INDEX ON search.texts (language);
"""
INDEX = "CREATE INDEX IF NOT EXISTS texts_meaning ON search.texts USING hnsw (meaning vector_cosine_ops)"


class Texts:
    """A database of texts, as one model sees it; each public method is one transaction."""

    def __init__(self, database: str, model: orthoglot.Model) -> None:
        self.model, self.connection = model, psycopg.connect(database, autocommit=True)
        self.run = self.connection.execute
        self.run("CREATE EXTENSION IF NOT EXISTS vector")
        self.run(
            "SET hnsw.iterative_scan = strict_order"
        )  # search on until a language has given enough texts
        register_vector(self.connection)

    def store(self, path: Path) -> None:
        """Encode the lines of LANGUAGE.txt, and add them."""
        texts = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        with self.connection.transaction():
            if not self.made():
                self.create()
            self.check("ROW EXCLUSIVE")
            self.add(path.stem, texts, self.model.encode(texts, part="sentence", language=path.stem))
            self.run(INDEX)

    def ask(
        self, code: str, query: str, within: str | None = None, n: int = 5
    ) -> list[tuple[float, str, str]]:
        """The texts nearest to a query in a language, in all languages or within one: cosine, language, text."""
        where = "WHERE language = %(within)s" if within else ""
        search = f"SELECT 1 - (meaning <=> %(query)s), language, text FROM search.texts {where}"
        with self.connection.transaction():  # a refit ends after it, or before
            self.check("ACCESS SHARE")
            given = {"query": self.of_language(code).encode(query, language=code), "within": within, "n": n}
            return self.run(f"{search} ORDER BY meaning <=> %(query)s LIMIT %(n)s", given).fetchall()

    def refit(self) -> None:
        """Split the stored sentence vectors by the model, a new one; until the end people search the old parts.

        Texts that others store wait until then, and are refused if they are of another model.
        """
        with self.connection.transaction():
            self.check("SHARE ROW EXCLUSIVE", anew=True)
            self.run("ALTER SCHEMA search RENAME TO earlier")
            self.create()
            for (code,) in self.run("SELECT code FROM earlier.languages").fetchall():
                stored = "SELECT text, sentence FROM earlier.texts WHERE language = %s"
                rows = self.run(stored, (code,)).fetchall()
                sentence = np.array([vector.to_numpy() for _, vector in rows])
                self.add(code, [text for text, _ in rows], sentence)
            self.run(INDEX)
            self.run("DROP SCHEMA earlier CASCADE")

    def made(self) -> bool:
        """Whether texts have been stored."""
        return self.run("SELECT to_regnamespace('search')").fetchone() != (None,)

    def check(self, lock: str, anew: bool = False) -> None:
        """Wait for others whose work does not go with this lock; refuse vectors of another model (another encoder)."""
        if not self.made():
            raise SystemExit("search: there is nothing yet; store texts first")
        self.run(f"LOCK TABLE search.texts IN {lock} MODE")
        model, encoder = self.run("SELECT model, encoder FROM search.about").fetchone()
        if encoder != self.model.decomposer.identity:
            raise SystemExit("search: of another encoder; store the texts in a new database")
        if not anew and model != self.model.identity:
            raise SystemExit(f"search: of model {model[:12]}, not {self.model.identity[:12]}; refit it first")

    def create(self) -> None:
        """The schema for the vectors of the model."""
        self.run(SCHEMA.format(dim=self.model.decomposer.dim))
        self.run(
            "INSERT INTO search.about VALUES (%s, %s)", (self.model.identity, self.model.decomposer.identity)
        )

    def add(self, code: str, texts: list[str], sentence: np.ndarray) -> None:
        """Add texts with both parts; the first ones of a language decide its mean. A text is not added twice."""
        if not texts:
            return
        mean = code, self.model.adapted(sentence).own_mean
        self.run("INSERT INTO search.languages VALUES (%s, %s) ON CONFLICT DO NOTHING", mean)
        meaning = self.of_language(code).split(sentence, code).meaning
        ids = [uuid5(NAMESPACE_URL, f"{code} {text}") for text in texts]
        rows = zip(ids, [code] * len(ids), texts, sentence, meaning, strict=True)
        insert = "INSERT INTO search.texts VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
        self.connection.cursor().executemany(insert, rows)

    def of_language(self, code: str) -> orthoglot.Model:
        """The model with the mean of a language's texts, if there are any."""
        row = self.run("SELECT own_mean FROM search.languages WHERE code = %s", (code,)).fetchone()
        return self.model.with_own_mean(row[0].to_numpy()) if row else self.model


if __name__ == "__main__":
    verb, database, folder, *given = sys.argv[1:]
    texts = Texts(database, orthoglot.load(folder))
    if verb == "store":
        for path in given:
            texts.store(Path(path))
    elif verb == "ask":
        for cosine, language, text in texts.ask(*given):
            print(f"{cosine:.2f} {language} {text}")
    else:
        texts.refit()
