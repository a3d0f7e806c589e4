"""Part 4: sentences per second of our encoder against SentenceTransformer.encode with its best batch size."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gpu_parts import models
from gpu_parts.measuring import logged, matrix_rate, seconds
from gpu_parts.result import Part, needs
from gpu_parts.same_results import real_encoders
from orthoglot.apply.text_vectors import BLOCK
from orthoglot.encoders.folder import card, load_encoder
from orthoglot.encoders.long_texts import SharedEncoder, in_order

BATCH_TOKENS = (8192, 16384, 32768, 65536)
BATCH_ROWS = (32, 64, 128, 256, 512)
DIFFERENCE = {"float32": 1e-4, "bfloat16": 2e-2}


def measure(part: Part) -> None:
    """Both on the same checkpoint and the same text, in turn."""
    needs("sentence_transformers")
    part.notes.append(
        "Sentences of random words with the lengths of real text, tokenisation included. Both ways take their best "
        "batch size, found on a tenth of the text. Numbers of unit vectors differ by at most what the column says: "
        f"no more than {DIFFERENCE['float32']:g} in float32 and {DIFFERENCE['bfloat16']:g} in bfloat16."
    )
    part.notes.append(
        f"Way by way: from text to vectors, in blocks of {BLOCK} sentences, as of a long text. The share of the limit "
        "is the products that tokens need, with the two around a sentence (padding earns nothing), over the measured "
        "rate of one square product in bfloat16."
    )
    rate = matrix_rate(part.device, torch.bfloat16, part.size(8192, 64))
    ratios: list[float] = []
    shares: dict[str, float] = {}
    for shape in part.size(("labse", "xlmr-large"), ("tiny",)):
        with tempfile.TemporaryDirectory() as scratch, part.tried(shape):
            folder = models.write_encoder(Path(scratch), shape, "mean")  # type: ignore[arg-type]
            compare(
                part,
                shape,
                folder,
                models.sentences(part.size(20_000, 60), part.size(models.WORDS, 400)),
                ratios,
            )
            shares[shape] = way_by_way(part, shape, folder, rate)
    for name, folder in {} if part.tiny else real_encoders().items():
        with part.tried(name, optional=True):
            compare(part, name, folder, models.sentences(20_000, 2000), ratios)
    part.goal("ours / SentenceTransformer.encode, smallest", 1.2, min(ratios, default=None))
    part.goal("XLM-R large in bfloat16, share of the limit", 60, shares.get("xlmr-large"), unit="%")


def compare(part: Part, name: str, folder: Path, text: list[str], ratios: list[float]) -> None:
    """Rows of one encoder in both precisions."""
    described = card(folder)
    checkpoint, prefix = Path(described["checkpoint"]), described["prefix"]
    for precision in ("float32", "bfloat16"):
        encoder = load_encoder(folder, str(part.device), precision)  # type: ignore[arg-type]
        library = opened(folder if checkpoint == Path() else checkpoint, part.device, precision)
        sample = text[: max(20, len(text) // 10)]

        def ours(tokens: int, some: list[str]) -> np.ndarray:
            return encoder.encode(some, "", tokens)  # noqa: B023

        def theirs(rows: int, some: list[str]) -> np.ndarray:
            with_prefix = [prefix + one for one in some]
            return library.encode(with_prefix, batch_size=rows, show_progress_bar=False)  # noqa: B023

        tokens = best(part, ours, part.size(BATCH_TOKENS, (1024,)), sample)
        rows = best(part, theirs, part.size(BATCH_ROWS, (32,)), sample)
        a, b = (unit(made) for made in (ours(tokens, sample), theirs(rows, sample)))
        difference = float(np.abs(a - b).max())
        if not difference <= DIFFERENCE[precision]:
            raise RuntimeError(f"{precision}: the vectors differ by {difference:g}")
        repeats = part.size(3, 1)
        mine = seconds(lambda: ours(tokens, text), torch.device("cpu"), repeats=repeats, warmup=1)  # noqa: B023
        other = seconds(lambda: theirs(rows, text), torch.device("cpu"), repeats=repeats, warmup=1)  # noqa: B023
        ratios.append(other / mine)
        part.row(
            "Sentences per second",
            encoder=name,
            precision=precision,
            **{
                "ours": len(text) / mine,
                "its tokens": tokens,
                "SentenceTransformer": len(text) / other,
                "its rows": rows,
            },
            **{"ratio": other / mine, "difference": difference},
        )


def way_by_way(part: Part, name: str, folder: Path, rate: float) -> float:
    """Rows of one encoder padded, packed, compiled, and with a second thread; the best share of the limit, in %.

    Args:
        part: What has been found.
        name: Of the encoder.
        folder: Its folder.
        rate: FLOP per second of a product.
    """
    packed: Any = load_encoder(folder, str(part.device), "bfloat16")
    padded = replace(packed)
    vars(padded)["_reads_packed"] = False
    compiled = replace(packed, compiles=True)
    ways: dict[str, tuple[Any, Any]] = {
        "padded": (padded, map),
        "packed": (packed, map),
        "packed, compiled": (compiled, map),
        "packed, compiled, thread": (SharedEncoder(compiled, 0), in_order),
    }
    text, size = models.sentences(part.size(20_000, 60), part.size(models.WORDS, 400)), part.size(BLOCK, 20)
    blocks = [text[start : start + size] for start in range(0, len(text), size)]
    flops = flops_of(packed.tokens(text, "").lengths, packed.model.config)
    best, reads_packed, compiles = 0.0, packed._reads_packed, True
    for tokens in part.size((2048, *BATCH_TOKENS[1:]), (1024,)):
        made = {}
        for way, (encoder, each) in ways.items():

            def whole() -> np.ndarray:
                return np.concatenate(list(each(lambda block: encoder.encode(block, "", tokens), blocks)))  # noqa: B023

            with logged() as lines:
                made[way] = unit(whole())
            # It is said once in a process.
            compiles = compiles and not any("not compiled" in line for line in lines)
            difference = float(np.abs(made[way] - made["padded"]).max())
            if not difference <= DIFFERENCE["bfloat16"]:
                raise RuntimeError(f"{way}: the vectors differ from padded ones by {difference:g}")
            took = seconds(whole, torch.device("cpu"), repeats=part.size(2, 1), warmup=0)
            share = 100 * flops / took / rate
            best = max(best, share)
            part.row(
                "Way by way, bfloat16",
                encoder=name,
                tokens=tokens,
                way=way,
                packed=reads_packed and way != "padded",
                compiled=reads_packed and "compiled" in way and compiles,
                **{"sentences/s": len(text) / took, "share of the limit, %": share, "difference": difference},
            )
        if not np.array_equal(made["packed, compiled"], made["packed, compiled, thread"]):
            raise RuntimeError("a thread changes the bits of vectors")
    return best


def flops_of(lengths: np.ndarray, config: Any) -> float:
    """FLOP of the layers' products over sentences of these lengths."""
    width, inner = config.hidden_size, config.intermediate_size
    tokens = lengths.astype(float)
    products = 2 * tokens.sum() * (4 * width**2 + 2 * width * inner) + 4 * width * (tokens**2).sum()
    return config.num_hidden_layers * float(products)


def opened(folder: Path, device: torch.device, precision: str) -> Any:
    """The library's model of the same folder: mean of the states, at most 256 tokens."""
    from sentence_transformers import SentenceTransformer, models

    if (folder / "modules.json").exists():
        model = SentenceTransformer(str(folder), device=str(device))
    else:
        transformer: Any = models.Transformer(str(folder), max_seq_length=256)
        pooling = models.Pooling(card(folder)["dim"], "mean")
        model = SentenceTransformer(modules=[transformer, pooling], device=str(device))
    return model.bfloat16() if precision == "bfloat16" else model


def best(part: Part, encode: Any, sizes: tuple[int, ...], text: list[str]) -> int:
    """The size with which the text takes least time; sizes that do not fit are left out."""
    took = {}
    for size in sizes:
        with part.tried(f"batch of {size}", optional=True):
            took[size] = seconds(lambda: encode(size, text), torch.device("cpu"), repeats=1, warmup=1)  # noqa: B023
    return min(took, key=lambda size: took[size])


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1."""
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
