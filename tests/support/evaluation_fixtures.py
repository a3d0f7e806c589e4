"""A small world on disk whose meaning and language parts are known, for the tests of the whole room."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from orthoglot.decomposers.base import Decomposer
from orthoglot.embeddings.store import DIGESTS, META, ROWS, VECTORS, digests_of, index_digest
from orthoglot.study.tasks.kinds import mining
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.text.bitext import SentencePair, write_pairs

PAIRS = ("qaa-qab", "qaa-qac")
MEANING, LANGUAGE = 24, 8
HOSTILE = "<script>alert(1)</script>"
SETTINGS = EvaluationSettings(
    tasks=[
        "heldout",
        "tatoeba",
        "mining",
        "lareqa",
        "mixed-pool",
        "sts",
        "code-switched",
        "language-probe",
        "leakage",
        "geometry",
    ],
    long_tail=["qac", "qab"],
    heldout_pairs=60,
    probe_sentences=50,
    probe_test_share=0.4,
    map_sentences=20,
    resamples=500,
    confidence=0.95,
    seed=5,
)


@pytest.fixture(scope="session")
def settings() -> Iterator[EvaluationSettings]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mining, "SHARE", 0.5)  # the world has few pairs
        yield SETTINGS


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Folders of two pairs, a benchmark of each kind, a store of them, and a way to write decomposers.

    A sentence vector is a rotated (meaning, language) concatenation; the language part is so much longer that
    the whole vector retrieves worse than the meaning part alone.
    """
    root = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(MEANING + LANGUAGE, MEANING + LANGUAGE)))[0]
    own = {language: rng.normal(size=LANGUAGE) for language in ("qaa", "qab", "qac")}
    entries: dict[tuple[str, str], np.ndarray] = {}

    def invent(pair: str, split: str, n: int) -> list[SentencePair]:
        pairs = []
        for i in range(n):
            meaning = rng.normal(size=MEANING)
            texts = [f"{language} {pair} {split} {i}" for language in pair.split("-")]
            for text, language in zip(texts, pair.split("-"), strict=True):
                noise = 0.4 * rng.normal(size=MEANING + LANGUAGE)
                parts = np.concatenate([meaning, 3 * own[language] + rng.normal(size=LANGUAGE)])
                entries[language, text] = (parts + noise) @ rotation
            pairs.append(SentencePair(*texts))
        return pairs

    for name in PAIRS:
        folder = root / "bitext" / name
        folder.mkdir(parents=True)
        pairs = invent(name, "test", 50)
        for split in ("train", "valid"):  # of which no vector is ever asked for
            write_pairs(
                folder / f"{split}-00000.tsv.zst", [SentencePair(f"{split} {name}", f"{name} {split}")]
            )
        write_pairs(folder / "test-00000.tsv.zst", pairs)
        kept = {"train": 100, "valid": 10, "test": 50}
        counts = {"pair": name, "in": {"corpus": 172}, "dropped": {HOSTILE: 5, "benchmark": 7}, "kept": kept}
        (folder / "counts.json").write_text(json.dumps(counts))
    (root / "benchmark").mkdir()
    write_pairs(root / "benchmark" / "qab-qaa.tsv.gz", invent("qab-qaa", "benchmark", 40))
    (root / "graded").mkdir()
    for pair in PAIRS:
        rows = []
        for i in range(60):
            meaning, same = rng.normal(size=MEANING), rng.random()
            second = same * meaning + np.sqrt(1 - same**2) * rng.normal(size=MEANING)
            texts = f"one {pair} {i}", f"two {pair} {i}"
            for text, language, vector in zip(texts, pair.split("-"), (meaning, second), strict=True):
                parts = np.concatenate([vector, 3 * own[language] + rng.normal(size=LANGUAGE)])
                entries[language, text] = parts @ rotation
            rows.append((*texts, f"{5 * same:.1f}", texts[0]))
        write_pairs(root / "graded" / f"{pair}.sts.tsv.gz", rows)
    (root / "mixed").mkdir()
    mixed = [(*pair, f"original {i}") for i, pair in enumerate(invent("qac-qaa", "mixed", 30))]
    write_pairs(root / "mixed" / "qac-qaa.code-switched.tsv.gz", mixed)

    (root / "wide").mkdir()
    rows = [("qaa", "qab", "qac")]
    for i in range(35):
        meaning = rng.normal(size=MEANING)
        rows.append(tuple(f"wide {language} {i}" for language in rows[0]))
        for text, language in zip(rows[-1], rows[0], strict=True):
            noise = 0.6 * rng.normal(size=MEANING + LANGUAGE)
            parts = np.concatenate([meaning, own[language] + rng.normal(size=LANGUAGE)])
            entries[language, text] = (parts + noise) @ rotation
    write_pairs(root / "wide" / "nway.tsv.gz", rows)

    (root / "pool").mkdir()
    rows = []
    for i in range(24):
        meaning = rng.normal(size=MEANING)
        for language in ("qaa", "qab", "qac"):
            texts = f"question {language} {i}", f"answer {language} {i}"
            rows.append(("question", language, f"q{i}", f"a{i}", texts[0]))
            rows.append(("candidate", language, f"a{i}", f"a{i}", texts[1]))
            for text in texts:
                noise = 0.4 * rng.normal(size=MEANING + LANGUAGE)
                parts = np.concatenate([meaning, 2 * own[language] + rng.normal(size=LANGUAGE)])
                entries[language, text] = (parts + noise) @ rotation
    write_pairs(root / "pool" / "pool.tsv.gz", rows)

    store = root / "store"
    store.mkdir()
    vectors = np.array(list(entries.values()), dtype=np.float32)
    digests = np.concatenate([digests_of([text], language) for language, text in entries])
    places = np.argsort(digests)
    np.save(store / VECTORS, vectors)
    np.save(store / DIGESTS, digests[places])
    np.save(store / ROWS, places)
    index = index_digest(digests[places], places)
    meta = {"encoder": "toy", "identity": "abc", "n": len(vectors), "dim": vectors.shape[1], "index": index}
    (store / META).write_text(json.dumps(meta))

    def decomposer(method: str, seed: int, leak: float = 0.0, identity: str = "abc") -> Path:
        """A two-head decomposer that knows the rotation; `leak`: how much meaning its language part holds."""
        keep = np.diag([1.0] * MEANING + [0.0] * LANGUAGE)
        noise = np.random.default_rng(seed).normal(size=keep.shape) * 0.01
        meaning = keep @ (np.eye(len(keep)) + noise) @ keep @ rotation
        language = np.diag([leak] * MEANING + [1.0] * LANGUAGE) @ rotation
        zero = np.zeros(MEANING + LANGUAGE, dtype=np.float32)
        weights = {
            "meaning.weight": meaning.astype(np.float32),
            "meaning.bias": zero,
            "language.weight": language.astype(np.float32),
            "language.bias": zero,
        }
        folder = root / "decomposers" / identity / method / f"seed{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        languages = sorted(own)
        Decomposer("two_head", method, "toy", identity, languages, len(zero), weights, {}).save(folder)
        return folder

    def history(encoder: str, method: str, seed: int) -> Path:
        path = root / "histories" / encoder / method / f"seed{seed}" / "history.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {"epoch": float(e), "train.total": 2 / (e + 1), "valid.total": 2.2 / (e + 1), "best": 1.0}
            for e in range(5)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    make: Callable[..., Path] = decomposer
    bitext = [root / "bitext" / name for name in PAIRS]
    return SimpleNamespace(
        root=root,
        store=store,
        bitext=bitext,
        benchmarks=[root / "benchmark", root / "graded", root / "mixed", root / "wide", root / "pool"],
        decomposer=make,
        history=history,
    )
