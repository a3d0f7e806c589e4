"""Train EMS, any variant of it, from scratch or from another encoder: two objectives, best epoch kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from orthoglot.random_streams import derive
from orthoglot.study.pretraining.collate import EmsBatch, EmsCollator, encode_batch
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.model import PretrainingModel
from orthoglot.study.pretraining.networks import TrainableEncoder
from orthoglot.study.pretraining.objectives.ems import Ems, Gather, Projection, XtrHead, alone
from orthoglot.study.pretraining.tokenised import languages_of
from orthoglot.study.pretraining.trainer import prepared, train_on_pairs
from orthoglot.text.splitting import Split
from orthoglot.training.distributed import gathered, rank


class EmsModel(PretrainingModel):
    """The encoder that is kept and the heads that only training needs."""

    def __init__(self, settings: EmsSettings, encoder: TrainableEncoder, languages: int):
        super().__init__(settings.precision)
        self.encoder = encoder.network
        # A function: the embedding is a parameter of the encoder already.
        self._embedding = encoder.embedding
        head = None
        if settings.xtr_weight:
            head = XtrHead(
                languages=languages,
                language_width=settings.language_width,
                width=encoder.dim,
                vocabulary=encoder.vocabulary,
                dropout=encoder.dropout,
                norm=settings.head_norm,
                tied=settings.tied_output,
            )
        compared = settings.contrastive_weight and settings.projection_width
        self.objective = Ems(
            head,
            Projection(encoder.dim, settings.projection_width) if compared else None,
            temperature=settings.temperature,
            margin=settings.margin,
            xtr_weight=settings.xtr_weight,
            contrastive_weight=settings.contrastive_weight,
            products=self.product_dtype,
        )
        self._gather = gathered if settings.negatives == "gathered" else alone

    def forward(self, batch: EmsBatch) -> dict[str, Tensor]:
        """Terms of the objective."""
        return self._terms(batch, self._gather)[0]

    def terms(self, batch: EmsBatch) -> tuple[dict[str, Tensor], Tensor]:
        return self._terms(batch, alone)

    def _terms(self, batch: EmsBatch, gather: Gather) -> tuple[dict[str, Tensor], Tensor]:
        with self.autocast(batch.languages.device):
            vectors = encode_batch(self.encoder, batch.sentences)
            terms = self.objective(vectors, batch.languages, batch.bags, self._embedding(), gather)
        return terms, vectors


def pretrain_ems(settings: EmsSettings, name: str, inputs: Inputs, run: RunOptions, output: Path) -> None:
    """Train an EMS encoder and write its folder; arguments as `make_encoder`."""
    with prepared(settings, name, inputs, run) as training:
        corpus, device = training.corpus, training.device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(settings.seed, "weights", "heads"))
            model = EmsModel(settings, training.encoder, len(languages_of(inputs.bitext))).to(device)
        collator = EmsCollator(settings, training.encoder, device)

        def make_batch(split: Split, rows: np.ndarray, number: int) -> EmsBatch:
            draw = ("mask", number, rank()) if split == "train" else ("validation", number)
            return collator(corpus[split], rows, np.random.default_rng(derive(settings.seed, *draw)))

        history = train_on_pairs(training, settings, model, make_batch, captured=collator.captured)
        training.save(history, output)


TRAIN = pretrain_ems
