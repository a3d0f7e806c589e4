"""Settings of the decomposers and of their training."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from orthoglot.decomposers import ARCHITECTURES, architecture
from orthoglot.decomposers.base import ClosedForm, Trained
from orthoglot.settings import Count, Name, NotNegative, Positive, Settings
from orthoglot.training import PARTNER_RULES


def _one_of(*known: str) -> Any:
    """Validates a name of a registry, and lists the names in the JSON schema."""

    def check(name: str) -> str:
        if name not in known:
            raise ValueError(f"{name!r} is unknown; known: {', '.join(known)}")
        return name

    return AfterValidator(check), Field(json_schema_extra={"enum": list(known)})


Architecture = Annotated[str, *_one_of("original", *ARCHITECTURES)]
PartnerRule = Annotated[str, *_one_of(*PARTNER_RULES)]

# Of how a method is trained, where it is not trained as the others of its preset.
RECIPE = ("stopping", "learning_rate", "max_epochs", "patience")
# Settings of every trained method.
TRAINED_SETTINGS = ("centre", "start", *RECIPE)
OWN_SETTINGS = ("rank", "turn", "shrinkage", "power", "expansion", "active", "firing", *TRAINED_SETTINGS)
Stopping = Literal["total", "retrieval", "without-opponents"]


class MethodSettings(Settings):
    """A decomposition method as data."""

    architecture: Architecture
    """`original` is the vector itself, `two_head` DREAM's and MEAT's maps, `residual` SEED's; the others are
    closed forms, computed in one pass over the vectors (`orthoglot.decomposers`)."""
    partners: PartnerRule = "none"
    """Which other rows of a batch a row is compared with: `none`; `dream` (any row for meaning, one of the
    same language for language); `half_batch` (ORACLE's released code); `same_language` (SEED)."""
    terms: dict[str, NotNegative] = {}
    """Weight by loss term; empty for methods that are not trained."""
    rank: Count | None = None
    """Directions that are removed: of each language (`lir`), or of all together (`lsar`)."""
    turn: Annotated[float, Field(ge=0, le=1)] | None = None
    """How far `turned_discriminant` turns each language towards the pivot: 0 not at all, 1 as `procrustes` does; null
    lets it choose by cross-validation."""
    shrinkage: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share by which `whitening` and both discriminants move a covariance towards a multiple of the identity; null lets
    the discriminants choose it, `power` and `centre` by cross-validation."""
    power: NotNegative | None = None
    """How strongly the discriminants favour directions in which translations agree; 0 not at all."""
    centre: Literal["none", "overall", "language"] | None = None
    """What is subtracted from a vector before a method is trained and applied: nothing, which is the papers'
    reading and what null means for trained methods; the mean of all training vectors; or, for trained methods, that
    of its language (docs/papers.md#centre). The discriminants subtract it from unit vectors and choose if it is null:
    `discriminant` nothing or the overall mean, `turned_discriminant` nothing or that of the language."""
    expansion: Count | None = None
    """Latents of `sparse_autoencoder` for each dimension of the vector."""
    active: Count | None = None
    """How many latents of `sparse_autoencoder` a sentence has at most."""
    firing: Annotated[float, Field(gt=0, le=1)] | None = None
    """`sparse_autoencoder` leaves out latents that are active in at least this share of a language's sentences."""
    stopping: Stopping | None = None
    """What decides the best epoch of a trained method and when its training stops; null means what `decomposition` of
    the preset says."""
    learning_rate: Positive | None = None
    """Adam's, of a trained method; null means that of the preset."""
    max_epochs: Count | None = None
    """Passes over the sentence pairs at most, of a trained method; null means those of the preset."""
    patience: Count | None = None
    """Epochs without a better validation value before the training stops; null means those of the preset."""
    start: Literal["random", "discriminant"] | None = None
    """What the maps of `two_head` are before training: random, which is the papers' reading and what null means, or
    those of the discriminant (docs/papers.md#refinement), which stay if no epoch is better."""
    host: Name | None = None
    """The method that this one adds terms to. Its settings are taken over, and reports compare the two."""

    @model_validator(mode="after")
    def _own_settings(self) -> Self:
        form, trained = self._closed_form(), self._trained()
        own = form.settings if form else trained.settings if trained else ()
        taken = (*own, *TRAINED_SETTINGS) if trained else own
        if form and "centre" in own and self.centre == ("overall" if form.by_language else "language"):
            raise ValueError(f"centre {self.centre!r} does nothing with architecture {self.architecture!r}")
        if self.start == "discriminant" and trained and set(trained.maps) != {"meaning", "language"}:
            raise ValueError("start 'discriminant' needs two maps, of meaning and of language")
        for name in OWN_SETTINGS:
            given = getattr(self, name) is not None
            if given and name not in taken:
                raise ValueError(f"{name} does nothing with architecture {self.architecture!r}")
            if not given and name in own and (form is None or form.candidates is None):
                raise ValueError(f"{name} is needed with architecture {self.architecture!r}")
        return self

    @property
    def own_settings(self) -> dict[str, Any]:
        """The architecture's settings by name, those that are given."""
        found = self._closed_form() or self._trained()
        values = {name: getattr(self, name) for name in (found.settings if found else ())}
        return {name: value for name, value in values.items() if value is not None}

    def recipe(self, preset: DecompositionSettings) -> DecompositionSettings:
        """How this method is trained: as all of a preset, but for settings of its own."""
        own = {name: value for name in RECIPE if (value := getattr(self, name)) is not None}
        return preset.model_copy(update=own)

    @property
    def by_language(self) -> bool:
        """Whether each language has weights of its own, so that a language without training pairs has none."""
        form = self._closed_form()
        return self.centre == "language" or (form is not None and form.by_language)

    @property
    def uses_validation(self) -> bool:
        """Whether validation pairs decide something: when training stops."""
        return bool(self.terms)

    def _trained(self) -> Trained | None:
        if self.architecture not in ARCHITECTURES:
            return None
        found = architecture(self.architecture)
        return found if isinstance(found, Trained) else None

    def _closed_form(self) -> ClosedForm | None:
        if self.architecture not in ARCHITECTURES:
            return None
        form = architecture(self.architecture)
        return form if isinstance(form, ClosedForm) else None


class DecompositionSettings(Settings):
    """How every trained method of a preset is trained: Adam at a constant rate, without weight decay.

    A method's own `learning_rate`, `max_epochs`, `patience` and `stopping` come first.
    """

    learning_rate: Positive = 1e-3
    """Adam's; the papers have 1e-4 (DREAM, SEED) and 1e-5 (MEAT, ORACLE) over thousands of epochs."""
    batch_size: Count = 512
    """Sentence pairs of a step; 512 in the papers."""
    max_epochs: Count = 1000
    """Passes over the sentence pairs at most; 1,000 in DREAM, 10,000 in the other papers."""
    patience: Count = 10
    """Epochs without a better validation value before training stops; 10 in the papers, 5 in SEED."""
    stopping: Stopping = "total"
    """The validation value: `total`, the sum of all terms, as in the papers; `retrieval`, how many translations the
    meaning part finds; `without-opponents`, the sum without terms against a part that is trained as well
    (docs/papers.md#stopping)."""
