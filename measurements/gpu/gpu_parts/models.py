"""Networks of the published sizes with random weights, and text and ids that mean nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from orthoglot.encoders.folder import save_card
from orthoglot.encoders.token_lists import Ragged
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.settings import ScratchNetwork, TrainingSettings
from orthoglot.study.pretraining.tokenised import Bitext
from orthoglot.study.pretraining.trainer import Training

Shape = Literal["labse", "xlmr-base", "xlmr-large", "tiny"]
# vocabulary, layers, width, heads, feed-forward
SHAPES: dict[Shape, tuple[int, int, int, int, int]] = {
    "labse": (501_153, 12, 768, 12, 3072),
    "xlmr-base": (250_002, 12, 768, 12, 3072),
    "xlmr-large": (250_002, 24, 1024, 16, 4096),
    "tiny": (500, 2, 32, 4, 64),
}
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


@dataclass(frozen=True)
class Ids:
    """The tokenizer of ids that mean nothing; see `orthoglot.encoders.tokenization.TextTokenizer`."""

    size: int
    pad: int = 1
    unknown: int = 3
    mask: int = 4
    before: Sequence[int] = (0,)
    after: Sequence[int] = (2,)
    most: int = 512

    def tokens(self) -> list[str]:
        """A word for each id."""
        return ["word"] * self.size


def network(shape: Shape, *, dropout: float = 0.1) -> Any:
    """A transformers model of a published size with random weights and, of XLM-R, its token head."""
    vocabulary, layers, width, heads, inner = SHAPES[shape]
    sizes = {
        "vocab_size": vocabulary,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "max_position_embeddings": 514,
        "pad_token_id": 1,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout,
    }
    if shape == "labse":
        return transformers.BertModel(transformers.BertConfig(**sizes))
    return transformers.XLMRobertaForMaskedLM(transformers.XLMRobertaConfig(**sizes))


def continued(shape: Shape, *, predicts: bool = False, dropout: float = 0.1) -> TrainableEncoder:
    """A checkpoint of this shape whose training continues; the sentence vector is its first state."""
    whole = network(shape, dropout=dropout)
    described = {"kind": "pretrained", "pooling": "cls", "max_tokens": 512}
    tokens: Any = Ids(SHAPES[shape][0])
    return TrainableEncoder(whole.roberta, tokens, described, whole=whole if predicts else None)


def new(settings: ScratchNetwork, vocabulary: int) -> TrainableEncoder:
    """A new network of these settings."""
    tokens: Any = Ids(vocabulary)
    return TrainableEncoder.new(settings, tokens)


def lengths_of(count: int, longest: int, draw: np.random.Generator, mean: float = 28) -> np.ndarray:
    """Tokens of sentences, log-normal as those of real text are."""
    return np.clip(draw.lognormal(np.log(mean) - 0.18, 0.6, count), 1, longest).astype(np.int64)


def ragged(count: int, vocabulary: int, longest: int, draw: np.random.Generator) -> Ragged:
    """Sentences of random ids."""
    lengths = lengths_of(count, longest, draw)
    ids = draw.integers(len(SPECIAL), vocabulary, int(lengths.sum())).astype(np.int32)
    return Ragged(ids, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def bitext(pairs: int, vocabulary: int, languages: int, longest: int, seed: int) -> Bitext:
    """Pairs of the first language with each of the others in turn."""
    draw = np.random.default_rng(seed)
    sizes = [len(part) for part in np.array_split(np.arange(pairs), languages - 1)]
    source, target = (ragged(pairs, vocabulary, longest, draw) for _ in range(2))
    ids = np.array([[0, other] for other in range(1, languages)])
    return Bitext(source, target, ids, tuple(sizes), np.arange(pairs))


def training(
    settings: TrainingSettings,
    encoder: TrainableEncoder,
    device: torch.device,
    place: Path,
    *,
    pairs: int,
    languages: int,
) -> Training:
    """What `orthoglot.study.pretraining.trainer.prepared` yields, on random ids."""
    longest = min(encoder.tokenizer.most, 118)
    corpus = {
        split: bitext(count, encoder.vocabulary, languages, longest, seed)
        for seed, (split, count) in enumerate({"train": pairs, "valid": min(pairs, 304)}.items())
    }
    folders = [Path(f"qaa-qa{chr(97 + other)}") for other in range(1, languages)]
    run = RunOptions(str(device), place)
    return Training(settings, "random", Inputs(folders), run, encoder, corpus, device)  # type: ignore[arg-type]


WORDS = 20_000


def write_encoder(folder: Path, shape: Shape, pooling: str) -> Path:
    """An encoder folder, which sentence-transformers opens as well, with a tokenizer of whole words."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found = network(shape)
    model = found if shape == "labse" else found.roberta
    model.save_pretrained(folder)
    words = min(WORDS, SHAPES[shape][0] - len(SPECIAL))
    vocabulary = {word: n for n, word in enumerate([*SPECIAL, *map(word_of, range(words))])}
    built = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    built.pre_tokenizer = pre_tokenizers.Whitespace()
    built.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token"), SPECIAL[:4], strict=True))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=built, cls_token="<s>", sep_token="</s>", model_max_length=512, **names
    ).save_pretrained(folder)
    card = {"kind": "pretrained", "name": shape, "dim": SHAPES[shape][2], "languages": [], "prefix": ""}
    save_card(folder, {**card, "checkpoint": ".", "revision": "", "pooling": pooling, "max_tokens": 256})
    return folder


def word_of(number: int) -> str:
    """A word of its own for each number."""
    return f"w{number}"


def sentences(count: int, words: int, seed: int = 0) -> list[str]:
    """Sentences of random words, their lengths spread as those of real text."""
    draw = np.random.default_rng(seed)
    lengths = lengths_of(count, 250, draw, mean=22)
    drawn = draw.zipf(1.3, int(lengths.sum())) % words
    return [" ".join(map(word_of, part)) for part in np.split(drawn, np.cumsum(lengths)[:-1])]
