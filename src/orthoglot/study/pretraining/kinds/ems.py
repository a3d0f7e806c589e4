"""Kind `ems`: a dual encoder trained with XTR and a contrastive objective."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from orthoglot.settings import NotNegative, Positive, Whole
from orthoglot.study.pretraining.settings import PretrainingSettings


class EmsSettings(PretrainingSettings):
    """EMS: a dual encoder trained with XTR and a contrastive objective, and every variant of it.

    Source: docs/papers.md#ems-variants.
    """

    serves_as = frozenset({"start", "teacher"})
    kind: Literal["ems"]
    target: Literal["xtr", "ugt"] = "xtr"
    """What is reconstructed: the other side's bag of tokens (`xtr`), or that and a hidden token (`ugt`)."""
    bag: Literal["counts", "distinct"] = "counts"
    """A repeated token weighs its count (`counts`), or 1 as any other (`distinct`, EMS's code).

    Source: docs/papers.md#ems-repeated-tokens.
    """
    release_mask: bool = False
    """Whether a token of each pair is hidden with `xtr`, too, and the mask symbol expected in its stead
    (EMS's code; docs/papers.md#ems-hidden-token)."""
    language_width: Whole = 128
    """Width of the vector of the language to predict; 0 leaves it out."""
    head_norm: bool = True
    """Whether the reconstruction's head has layer norms, and dropout of the language vector (EMS's code;
    docs/papers.md#ems-head-norm)."""
    tied_output: bool = False
    """Whether the output embedding of the reconstruction is the token embedding."""
    projection_width: Whole = 128
    """Width of the contrastive head; 0 compares the sentence vectors themselves."""
    temperature: Positive = 0.1
    """The temperature of the contrastive loss."""
    margin: NotNegative = 0.0
    """Subtracted from a pair's own cosine before the temperature (additive margin softmax; 0.3 in LaBSE)."""
    negatives: Literal["local", "gathered"] = "local"
    """The other pairs of a process's own batch (the paper), or of all processes."""
    xtr_weight: NotNegative = 1.0
    """Weight of the reconstruction."""
    contrastive_weight: NotNegative = 1.0
    """Weight of the contrastive loss."""

    @property
    def compared(self) -> int:
        return self.batch_size * (self.processes if self.negatives == "gathered" else 1)

    @model_validator(mode="after")
    def _something_to_learn(self) -> Self:
        if not (self.xtr_weight or self.contrastive_weight):
            raise ValueError("xtr_weight and contrastive_weight are both 0: there is nothing to learn")
        if not self.xtr_weight and (self.target == "ugt" or self.release_mask):
            raise ValueError(
                "target ugt and release_mask hide tokens, which nothing predicts where xtr_weight is 0: "
                "take target xtr and release_mask false, or give xtr_weight a weight"
            )
        return self


SETTINGS = EmsSettings
