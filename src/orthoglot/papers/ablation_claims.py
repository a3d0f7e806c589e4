"""What the papers on trained encoders say about their own ablations, beside the numbers of published/<kind>.csv.

Source: methods 5.6, 8.3 (Table XIV) of EMS; 6.8, 8.4 (Tables 5 and 6) of Emma-X; 8.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from orthoglot.statistics.records import ALL, LONG_TAIL


class Order(NamedTuple):
    """A claim that some variants are better than others.

    Attributes:
        text: the claim.
        table: that shows it.
        pairs: (better, worse).
        languages: of the data sets that it is judged on: `ALL` or `LONG_TAIL`.
    """

    text: str
    table: str
    pairs: tuple[tuple[str, str], ...]
    languages: str = ALL


class AblationPaper(NamedTuple):
    """How one paper's ablation is told.

    Attributes:
        title: of the paper.
        base: the variant that all others are compared with.
        tables: what each of its tables is about.
        names: what the paper calls its variants; those without a name here are ours.
        headings: of its columns by data set and direction.
        claims: about its variants.
    """

    title: str
    base: str
    tables: Mapping[str, str]
    names: Mapping[str, str]
    headings: Mapping[tuple[str, str], str]
    claims: tuple[Order, ...]

    def name(self, variant: str) -> str:
        """The paper's name of a variant, or ours."""
        return self.names.get(variant, variant)


# By kind of encoder, as are the variants of params.yaml.
ABLATION_PAPERS: Mapping[str, AblationPaper] = {
    "ems": AblationPaper(
        title="EMS (2024)",
        base="ems",
        tables={"XIV": "ablation"},
        names={
            "ems": "EMS",
            "without-language-token": "− language token",
            "without-contrastive": "− contrastive",
            "without-xtr": "− XTR",
            "without-contrastive-mlp": "− contrastive MLP",
            "shared-output-embedding": "shared output embedding",
            "ugt": "XTR → UGT",
            "labse-ems-vanilla": "LaBSE-EMS-vanilla",
            "labse-ems-mlp": "LaBSE-EMS-MLP (Table IV)",
            "labse-ems-joint": "LaBSE-EMS-joint",
            "a100": "A100, batch 200",
        },
        headings={
            ("tatoeba-58", "both"): "Tatoeba 58",
            ("tatoeba-43", "both"): "> 300k (43)",
            ("tatoeba-15", "both"): "< 300k (15)",
            ("flores-182", "both"): "FLORES 182",
            ("flores-240", "both"): "FLORES 240",
            ("mldoc", "en->xx"): "MLDoc en→xx",
            ("mldoc", "xx->en"): "MLDoc xx→en",
            ("training", ""): "s / 1k steps",
        },
        claims=(
            Order(
                "XTR with the contrastive objective beats either alone",
                "XIV",
                (("ems", "without-contrastive"), ("ems", "without-xtr")),
            ),
            Order("An output embedding of its own matters", "XIV", (("ems", "shared-output-embedding"),)),
            Order(
                "The head of the contrastive objective matters", "XIV", (("ems", "without-contrastive-mlp"),)
            ),
            Order("UGT in place of XTR is worse", "XIV", (("ems", "ugt"),)),
            Order(
                "LaBSE's objective alone, without a head, is worse", "XIV", (("ems", "labse-ems-vanilla"),)
            ),
        ),
    ),
    "emma-x": AblationPaper(
        title="Emma-X (2023)",
        base="full",
        tables={
            "5": "what each phase brings, Tatoeba into English",
            "6": "classifier and number of ranks; Emma-X has GMM, N = 4",
        },
        names={
            "full": "Emma-X",
            "phase-1-only": "Phase 1 only",
            "fixed-mixture": "fixed GMM",
            "linear-classifier": "FCN, N = 4",
            "ranks-2": "GMM, N = 2",
            "ranks-8": "GMM, N = 8",
        },
        headings={
            ("tatoeba-36", "xx->en"): "Tatoeba 36",
            ("xnli", ""): "XNLI",
            ("americasnli", ""): "ANLI",
            ("multists", ""): "MultiSTS",
            ("wmt21", ""): "QE",
            ("lareqa", ""): "LAReQA",
            ("mewsli-x", ""): "Mewsli-X",
            ("bucc", ""): "BUCC",
            ("tatoeba-112", "xx->en"): "Tatoeba xx→en",
            ("xcopa", ""): "XCOPA",
            ("multieurlex", ""): "MultiEURLEX",
            ("multiarc", ""): "MultiARC (MAE ↓)",
            ("paws-x", ""): "PAWS-X",
        },
        claims=(
            Order(
                "Phase 1 alone is worse than a fixed classifier after it, and that worse than both phases",
                "5",
                (("fixed-mixture", "phase-1-only"), ("full", "fixed-mixture")),
            ),
            Order(
                "The same on the long tail: Phase 1 alone, fixed classifier, both phases",
                "5",
                (("fixed-mixture", "phase-1-only"), ("full", "fixed-mixture")),
                LONG_TAIL,
            ),
            Order(
                "A mixture is a better classifier than a linear map", "6", (("full", "linear-classifier"),)
            ),
            Order("Four ranks are better than two", "6", (("full", "ranks-2"),)),
        ),
    ),
}
