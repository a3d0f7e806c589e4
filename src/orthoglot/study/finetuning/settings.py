"""Settings of the fine-tuning, and the recipe of each form of training data; docs/papers.md#fine-tuning."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from orthoglot.settings import Count, Name, Positive, Settings, Share, Whole

Form = Literal["pairs", "choices", "texts", "documents", "inference", "similarity", "answers", "entities"]
FINE_TUNED = "fine-tuned"
# Times that an epoch is interrupted to ask the validation part, after the last step at the latest.
VALIDATIONS = 10
# Largest length of a gradient (XTREME), and dropout of a head (transformers' default for RoBERTa).
LONGEST_GRADIENT, DROPOUT = 1.0, 0.1


class Recipe(Settings):
    """How an encoder is trained on one set: AdamW without weight decay, linear decay to 0, gradients of length 1."""

    learning_rate: Positive
    """AdamW's, at its peak."""
    epochs: Count
    """Passes over the training part."""
    batch_size: Count
    """Items of a step."""
    max_tokens: Annotated[int, Field(ge=4)]
    """Tokens of an input at most, those of both texts of a pair together; fewer where the encoder reads fewer."""
    warmup: Share = 0.0
    """Share of the steps over which the learning rate rises."""


class Changes(Settings):
    """What of a recipe is otherwise; null is as it was."""

    learning_rate: Positive | None = None
    """AdamW's, at its peak."""
    epochs: Count | None = None
    """Passes over the training part."""
    batch_size: Count | None = None
    """Items of a step."""
    max_tokens: Annotated[int, Field(ge=4)] | None = None
    """Tokens of an input at most."""


# XTREME's scripts for pairs and choices (train_xnli.sh, train_pawsx.sh, train_xcopa.sh), for answers and entities
# (train_lareqa.sh, train_mewslix.sh); Sentence-BERT's for `inference` and `similarity`; ours for texts and documents.
RECIPES: dict[Form, Recipe] = {
    "pairs": Recipe(learning_rate=2e-5, epochs=5, batch_size=32, max_tokens=128),
    "choices": Recipe(learning_rate=2e-5, epochs=5, batch_size=32, max_tokens=128),
    "texts": Recipe(learning_rate=2e-5, epochs=5, batch_size=32, max_tokens=256),
    "documents": Recipe(learning_rate=2e-5, epochs=5, batch_size=32, max_tokens=512),
    "inference": Recipe(learning_rate=2e-5, epochs=1, batch_size=16, max_tokens=128, warmup=0.1),
    "similarity": Recipe(learning_rate=2e-5, epochs=4, batch_size=16, max_tokens=128, warmup=0.1),
    "answers": Recipe(learning_rate=2e-5, epochs=3, batch_size=16, max_tokens=256),
    "entities": Recipe(learning_rate=2e-5, epochs=2, batch_size=32, max_tokens=64),
}


class Stage(Settings):
    """One training: its set, and the set that it is validated on."""

    train: Name
    """An entry of benchmarks of kind classification, sts, qe or pool."""
    valid: Name | None = None
    """An entry of the same kind; null for a set that has a validation part of its own."""
    form: Form
    """Which head and recipe."""
    recipe: Recipe
    """The recipe, as the preset changes it."""

    @property
    def sets(self) -> list[str]:
        """All sets that it reads."""
        return [self.train, self.valid] if self.valid else [self.train]


class FineTuningSettings(Settings):
    """Which encoders are fine-tuned on which benchmarks, beside the tasks on frozen vectors."""

    benchmarks: list[Name] = []
    """Test sets of the preset; all that say what is trained on where none is named."""
    encoders: list[Name] = []
    """Encoders of the preset; all that can be trained further where none is named."""
    seeds: Annotated[list[Whole], Field(min_length=1)] = [42]
    """Seeds of the trainings [XTREME: 42]: of new weights, the order of the items, and dropout."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """The precision of matrix products."""
    recipes: dict[Name, Changes] = {}
    """What is otherwise, by form of the training data (`pairs`, `choices`, ...) or by benchmark that is trained on;
    the benchmark's comes first."""
    threads: Count = 2
    """CPU threads of a training."""

    def recipe(self, form: Form, benchmark: str) -> Recipe:
        """How an encoder is trained on a benchmark of a form."""
        values = RECIPES[form].model_dump()
        for name in (form, benchmark):
            if name in self.recipes:
                values |= self.recipes[name].model_dump(exclude_none=True)
        return Recipe.model_validate(values)
