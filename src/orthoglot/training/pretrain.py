"""Train EMS from scratch on prepared bitext: tokenizer, length batches, two objectives, best epoch kept."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from orthoglot.corpora.prepare import read_split, told
from orthoglot.corpora.splitting import Split
from orthoglot.encoders import ems
from orthoglot.encoders.base import resolve_device
from orthoglot.encoders.settings import EmsSettings
from orthoglot.encoders.tokenization import Ragged, Tokenizer, train_tokenizer
from orthoglot.errors import DataError
from orthoglot.languages import parse_pair
from orthoglot.objectives.ems import Ems, Projection, XtrHead
from orthoglot.streams import derive
from orthoglot.training.loop import Update, fit
from orthoglot.training.sampling import Plan, length_batches
from orthoglot.training.schedule import scheduler

RETRIEVAL_ROWS = 1000
logger = logging.getLogger(__name__)


class Batch(NamedTuple):
    """Token ids (B, T) of both sides, 0 at padding, and their language ids (B,)."""

    source: Tensor
    target: Tensor
    source_language: Tensor
    target_language: Tensor


@dataclass(frozen=True)
class Bitext:
    """Tokenised pairs of every language pair, one language pair after the other.

    Attributes:
        source: N sentences, pivot side.
        target: their translations.
        languages: language ids of source and target (N, 2).
        sizes: rows of each language pair.
    """

    source: Ragged
    target: Ragged
    languages: np.ndarray
    sizes: tuple[int, ...]

    def batch(self, rows: np.ndarray, device: torch.device) -> Batch:
        """The named rows as tensors."""
        languages = torch.from_numpy(self.languages[rows]).to(device)
        return Batch(
            source=torch.from_numpy(self.source.padded(rows)).to(device),
            target=torch.from_numpy(self.target.padded(rows)).to(device),
            source_language=languages[:, 0],
            target_language=languages[:, 1],
        )

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of source and target (N,) each."""
        return self.source.lengths, self.target.lengths


def languages_of(bitext: Sequence[Path]) -> list[str]:
    """Every language of the pair folders, sorted."""
    return sorted({language for folder in bitext for language in parse_pair(folder.name)})


def monolingual(bitext: Sequence[Path], split: Split) -> dict[str, list[str]]:
    """Distinct sentences of a split by language, in order of first appearance."""
    found: dict[str, dict[str, None]] = {language: {} for language in languages_of(bitext)}
    for folder in bitext:
        source, target = parse_pair(folder.name)
        for pair in read_split(folder, split):
            found[source][pair.source] = None
            found[target][pair.target] = None
    return {language: list(sentences) for language, sentences in found.items()}


def tokenise(
    bitext: Sequence[Path], split: Split, tokenizer: Tokenizer, languages: Sequence[str], max_tokens: int
) -> Bitext:
    """Ids of one split of every pair folder; pairs with a side without tokens are dropped and counted."""
    parts = []
    for folder in bitext:
        source, target = parse_pair(folder.name)
        pairs = read_split(folder, split)
        sides = [
            tokenizer.encode([pair.source for pair in pairs], source, max_tokens),
            tokenizer.encode([pair.target for pair in pairs], target, max_tokens),
        ]
        kept = np.flatnonzero((sides[0].lengths > 0) & (sides[1].lengths > 0))
        if len(kept) < len(pairs):
            logger.info(
                "%s: %d pairs without tokens left out of %s", folder.name, len(pairs) - len(kept), split
            )
        ids = np.tile([languages.index(source), languages.index(target)], (len(kept), 1))
        if len(kept):
            parts.append((sides[0].take(kept), sides[1].take(kept), ids))
    if not parts:
        raise DataError(f"{split}: no sentence pair in {', '.join(map(str, bitext))}")
    return Bitext(
        source=Ragged.join([part[0] for part in parts]),
        target=Ragged.join([part[1] for part in parts]),
        languages=np.concatenate([part[2] for part in parts]),
        sizes=tuple(len(part[2]) for part in parts),
    )


class Network(nn.Module):
    """The encoder that is kept and the heads that only training needs."""

    def __init__(self, settings: EmsSettings, sizes: ems.Sizes, languages: int):
        super().__init__()
        self.encoder = ems.EmsModel(sizes, settings.embedding_spread)
        self.objective = Ems(
            XtrHead(
                languages=languages,
                language_width=settings.language_width,
                width=sizes.width,
                vocabulary=sizes.vocabulary,
                dropout=sizes.dropout,
            ),
            Projection(sizes.width, settings.projection_width),
            temperature=settings.temperature,
            xtr_weight=settings.xtr_weight,
            contrastive_weight=settings.contrastive_weight,
        )

    def forward(self, batch: Batch) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Terms of the objective, and both sides' vectors (B, D)."""
        source, target = self.encoder(batch.source), self.encoder(batch.target)
        return self.objective(source, target, *batch), source, target


def pretrain_ems(
    settings: EmsSettings, name: str, bitext: Sequence[Path], *, device: str, checkpoint: Path, output: Path
) -> None:
    """Train an EMS encoder and write encoder.json, model.safetensors, tokenizer.model and history.jsonl.

    Adam with AMSGrad and coupled weight decay, linear warm-up (methods 5.7); no input masking (5.9, E2).
    The epoch with the lowest validation loss is kept. The same settings and text give the same bytes on CPU.

    Args:
        settings: sizes, objective and recipe.
        name: of the encoder, kept in encoder.json.
        bitext: prepared pair folders; a folder's name is its pair.
        device: as `resolve_device` reads it.
        checkpoint: folder for the state from which an interrupted training goes on.
        output: an existing empty folder.
    """
    torch.set_num_threads(settings.threads)
    target = resolve_device(device)
    languages = languages_of(bitext)
    train_tokenizer(settings.tokenizer, monolingual(bitext, "train"), output / "tokenizer.model")
    tokenizer = Tokenizer(output / "tokenizer.model", settings.tokenizer.words)
    train, valid = (
        tokenise(bitext, split, tokenizer, languages, settings.max_tokens) for split in ("train", "valid")
    )
    logger.info(
        "%s: %d pairs, %d for validation, %d languages, %d pieces, on %s, seed %d",
        *(name, sum(train.sizes), sum(valid.sizes), len(languages), tokenizer.size, target, settings.seed),
    )
    sizes = ems.Sizes(
        vocabulary=tokenizer.size,
        **settings.model_dump(
            include={"layers", "width", "heads", "feed_forward", "max_tokens", "dropout", "attention_dropout"}
        ),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(settings.seed, "weights"))
        network = Network(settings, sizes, len(languages)).to(target)
    history = _fit(settings, name, network, train, valid, checkpoint)
    training = {
        "text": {folder.name: told(folder) for folder in bitext},
        **settings.model_dump(include={"steps", "batch_size", "seed"}),
    }
    words = settings.tokenizer.words
    ems.save(network.encoder, sizes, name, languages, output, words=words, training=training)
    write_history(history, output)


def _fit(
    settings: EmsSettings, name: str, network: Network, train: Bitext, valid: Bitext, checkpoint: Path
) -> list[dict[str, float]]:
    device = next(network.parameters()).device
    plan = Plan(
        sizes=train.sizes,
        batch_size=settings.batch_size,
        steps=settings.steps,
        steps_per_epoch=settings.validate_every,
        temperature=settings.sampling_temperature,
        seed=settings.seed,
    )
    optimizer = torch.optim.Adam(
        network.parameters(),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        amsgrad=True,
        fused=True,
    )
    rates = scheduler(optimizer, warmup=settings.warmup_steps, steps=settings.steps, shape=settings.schedule)
    fixed = length_batches(
        np.arange(sum(valid.sizes)),
        valid.lengths,
        -(-sum(valid.sizes) // settings.batch_size),
        np.random.default_rng(derive(settings.seed, "validation")),
    )

    def batches(epoch: int) -> Iterator[Batch]:
        return (train.batch(rows, device) for rows in plan.batches(epoch, train.lengths))

    return fit(
        model=network,
        updates=[Update("ems", lambda batch: network(batch)[0], optimizer, scheduler=rates)],
        batches=batches,
        validate=lambda: validate(network, valid, fixed),
        max_epochs=plan.epochs,
        patience=None,
        seed=settings.seed,
        label=name,
        checkpoint=checkpoint,
        batches_per_epoch=settings.validate_every,
    )


def validate(network: Network, valid: Bitext, batches: Sequence[np.ndarray]) -> dict[str, float]:
    """Terms averaged over rows, and `retrieval`.

    Retrieval is P@1 in percent, higher is better: mean over language pairs and directions, each pair's first
    1,000 rows as candidates, cosine.
    """
    device = next(network.parameters()).device
    sums: dict[str, float] = {}
    vectors = torch.empty(2, sum(valid.sizes), network.encoder.tokens.embedding_dim)
    for rows in batches:
        terms, source, target = network(valid.batch(rows, device))
        vectors[:, torch.from_numpy(rows)] = torch.stack([source, target]).float().cpu()
        for term, value in terms.items():
            sums[term] = sums.get(term, 0.0) + float(value) * len(rows)
    means = {term: value / sum(valid.sizes) for term, value in sums.items()}
    return {**means, "retrieval": _retrieval(vectors, valid.sizes)}


def _retrieval(vectors: Tensor, sizes: Sequence[int]) -> float:
    found = []
    for source, target in zip(*(side.split(list(sizes)) for side in vectors), strict=True):
        a, b = (nn.functional.normalize(side[:RETRIEVAL_ROWS], dim=1) for side in (source, target))
        similarity = a @ b.T
        rows = torch.arange(len(similarity))
        found += [(similarity.argmax(dim=dim) == rows).double().mean() for dim in (0, 1)]
    return 100 * float(torch.stack(found).mean())


def write_history(history: Sequence[Mapping[str, float]], output: Path) -> None:
    """One line of JSON per epoch in history.jsonl."""
    text = "".join(json.dumps(dict(row), sort_keys=True) + "\n" for row in history)
    (output / "history.jsonl").write_text(text, encoding="utf-8")
