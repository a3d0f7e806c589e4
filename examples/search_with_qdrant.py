"""Texts in several languages in Qdrant, searched by meaning, see docs/vector-database.md.

    python search_with_qdrant.py store texts-db my-model en.txt nl.txt
    python search_with_qdrant.py ask texts-db my-model en "Where is the station?" nl
    python search_with_qdrant.py refit texts-db new-model

`texts-db` is a folder, or the address of a server such as http://localhost:6333. A file has a text in each line, and is
named by its language. Without the last code, `ask` searches all languages.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from qdrant_client import QdrantClient, models

import orthoglot

TEXTS = "texts"  # the alias that people search; each version of the vectors is a collection of its own
MEAN = "own mean of "  # with a language's code, a key of the collection's metadata
warnings.filterwarnings("ignore", "Payload indexes have no effect")  # in a folder; on a server they have


class Texts:
    """A database of texts, as one model sees it."""

    def __init__(self, client: QdrantClient, model: orthoglot.Model) -> None:
        self.client, self.model = client, model

    def store(self, path: Path) -> None:
        """Encode the lines of LANGUAGE.txt, and add them."""
        if not self.searched():
            self.switch(self.create())
        name, _ = self.current()
        texts = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        sentence = self.model.encode(texts, part="sentence", language=path.stem)
        self.add(name, path.stem, texts, sentence)

    def ask(self, code: str, query: str, within: str | None = None, n: int = 5) -> list[models.ScoredPoint]:
        """The texts nearest to a query in a language, in all languages or within one."""
        name, about = self.current()
        model = self.model.with_own_mean(about[MEAN + code]) if MEAN + code in about else self.model
        vector = model.encode(query, language=code)
        narrowed = self.only(within) if within else None
        return self.client.query_points(name, vector, "meaning", query_filter=narrowed, limit=n).points

    def refit(self) -> None:
        """Split the stored sentence vectors by the model, which is a new one, and let people search the result."""
        earlier, about = self.current(anew=True)
        name = self.create()
        for code in [key.removeprefix(MEAN) for key in about if key.startswith(MEAN)]:
            points, after = [], 0
            while after is not None:
                page, after = self.client.scroll(
                    earlier, self.only(code), limit=1000, offset=after or None, with_vectors=["sentence"]
                )
                points += page
            sentence = np.array([point.vector["sentence"] for point in points], dtype=np.float32)
            self.add(name, code, [point.payload["text"] for point in points], sentence)
        self.switch(name)

    def searched(self) -> str | None:
        """The name of the collection that people search, if there is one."""
        aliases = self.client.get_aliases().aliases
        return next((alias.collection_name for alias in aliases if alias.alias_name == TEXTS), None)

    def current(self, anew: bool = False) -> tuple[str, dict[str, Any]]:
        """The collection that people search and its metadata, refused if it is of another model (another encoder)."""
        name = self.searched()
        if name is None:
            raise SystemExit(f"{TEXTS}: there is nothing yet; store texts first")
        about = self.client.get_collection(name).config.metadata
        if about["encoder"] != self.model.decomposer.identity:
            raise SystemExit(f"{name}: of another encoder; store the texts in a new database")
        if not anew and about["model"] != self.model.identity:
            raise SystemExit(f"{name}: of another model than {self.model.identity[:12]}; refit it first")
        return name, about

    def create(self) -> str:
        """The collection for the vectors of the model; a new one, unless people search it."""
        name, dim = f"{TEXTS}-{self.model.identity[:12]}", self.model.decomposer.dim
        if name != self.searched():
            self.client.delete_collection(name)  # of an earlier time, or of an interrupted call
            searched = models.VectorParams(size=dim, distance=models.Distance.COSINE)
            sentence = models.VectorParams(size=dim, distance=models.Distance.DOT, on_disk=True)
            sentence.hnsw_config = models.HnswConfigDiff(m=0)  # no index: it is not searched
            about = {"model": self.model.identity, "encoder": self.model.decomposer.identity}
            self.client.create_collection(name, {"meaning": searched, "sentence": sentence}, metadata=about)
        self.client.create_payload_index(name, "language", models.PayloadSchemaType.KEYWORD)
        return name

    def add(self, name: str, code: str, texts: list[str], sentence: np.ndarray) -> None:
        """Add texts with both parts; the first ones of a language decide its mean. A text is not added twice."""
        if not texts:
            return
        about = self.client.get_collection(name).config.metadata
        if MEAN + code not in about:
            about[MEAN + code] = self.model.adapted(sentence).own_mean.tolist()
            self.client.update_collection(name, metadata=about)
        meaning = self.model.with_own_mean(about[MEAN + code]).split(sentence, code).meaning
        ids = [str(uuid5(NAMESPACE_URL, f"{code} {text}")) for text in texts]
        payload = [{"language": code, "text": text} for text in texts]
        parts = {"sentence": sentence, "meaning": meaning}
        self.client.upload_collection(name, parts, payload, ids, wait=True)

    def switch(self, name: str) -> None:
        """Let people search this collection from now on."""
        alias = models.CreateAlias(collection_name=name, alias_name=TEXTS)
        self.client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])

    def only(self, code: str) -> models.Filter:
        """The filter for one language."""
        return models.Filter(
            must=[models.FieldCondition(key="language", match=models.MatchValue(value=code))]
        )


if __name__ == "__main__":
    verb, place, folder, *given = sys.argv[1:]
    client = QdrantClient(url=place) if "://" in place else QdrantClient(path=place)
    texts = Texts(client, orthoglot.load(folder))
    if verb == "store":
        for path in given:
            texts.store(Path(path))
    elif verb == "ask":
        for point in texts.ask(*given):
            print(f"{point.score:.2f} {point.payload['language']} {point.payload['text']}")
    else:
        texts.refit()
    client.close()
