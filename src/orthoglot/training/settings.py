"""Settings of the decomposers and of their training."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    create_model,
    model_validator,
)

from orthoglot.decomposers import architecture, names
from orthoglot.decomposers.base import ClosedForm, Trained
from orthoglot.settings import Count, Name, NotNegative, Positive, Settings
from orthoglot.training import PARTNER_RULES

ORIGINAL = "original"


def _one_of(known: Callable[[], list[str]]) -> Any:
    """Validates a name of a registry, and lists the names in the JSON schema."""

    def check(name: str) -> str:
        if name not in known():
            raise ValueError(f"{name!r} is unknown; known: {', '.join(known())}")
        return name

    return AfterValidator(check), Field(json_schema_extra=lambda schema: schema.update(enum=[*known()]))


Architecture = Annotated[str, *_one_of(lambda: [ORIGINAL, *names()])]
PartnerRule = Annotated[str, *_one_of(lambda: [*PARTNER_RULES])]

# Settings of a preset that a method may change for itself.
RECIPE = ("stopping", "learning_rate", "max_epochs", "patience")
TRAINED_SETTINGS = ("centre", *RECIPE)  # settings of every trained method
Stopping = Literal["total", "retrieval", "without-opponents"]


def own_settings() -> list[str]:
    """Names of the settings that architectures have of their own."""
    named = (name for form in names() for name in architecture(form).settings.model_fields)
    return list(dict.fromkeys(named))


def _describe_own_settings(schema: dict[str, Any], method: type[MethodSettings]) -> None:
    """Add the settings of all architectures to the JSON schema of all methods."""
    if method is MethodSettings:
        for form in names():
            properties = architecture(form).settings.model_json_schema()["properties"]
            schema["properties"] = properties | schema["properties"]


class MethodSettings(Settings):
    """A decomposition method as data: the settings of all methods; those of its architecture are in a subclass."""

    model_config = ConfigDict(json_schema_extra=_describe_own_settings)

    architecture: Architecture
    """`original` is the vector itself, `two_head` DREAM's and MEAT's maps, `residual` SEED's; the others are
    closed forms, computed in one pass over the vectors (`orthoglot.decomposers`)."""
    partners: PartnerRule = "none"
    """Which other rows of a batch a row is compared with: `none`; `dream` (any row for meaning, one of the
    same language for language); `half_batch` (ORACLE's released code); `same_language` (SEED)."""
    terms: dict[str, NotNegative] = {}
    """Weight by loss term; empty for methods that are not trained."""
    centre: Literal["none", "overall", "language"] | None = None
    """What is subtracted from a vector before a method is trained and applied: nothing, which is the papers'
    reading and what null means; the mean of all training vectors; or that of its language (docs/papers.md#centre)."""
    stopping: Stopping | None = None
    """What decides the best epoch of a trained method and when its training stops; null means what `decomposition` of
    the preset says."""
    learning_rate: Positive | None = None
    """Adam's, of a trained method; null means that of the preset."""
    max_epochs: Count | None = None
    """Passes over the sentence pairs at most, of a trained method; null means those of the preset."""
    patience: Count | None = None
    """Epochs without a better validation value before the training stops; null means those of the preset."""
    host: Name | None = None
    """The method that this one adds terms to. Its settings are taken over, and reports compare the two."""

    @model_validator(mode="wrap")
    @classmethod
    def _of_its_architecture(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Validate the settings by the class of their architecture."""
        if cls is not MethodSettings or not isinstance(values, dict):
            return handler(values)
        if (name := values.get("architecture")) not in (ORIGINAL, *names()):
            return handler({key: value for key, value in values.items() if key in cls.model_fields})
        form = _form(name)
        settings = form.settings if form else Settings
        taken = [*settings.model_fields, *(TRAINED_SETTINGS if isinstance(form, Trained) else ())]
        for setting in sorted({key for key, value in values.items() if value is not None} - {*taken}):
            # Other architectures are loaded only where a setting may be theirs.
            if setting in TRAINED_SETTINGS or (setting not in cls.model_fields and setting in own_settings()):
                raise ValueError(f"{setting} does nothing with architecture {name!r}")
        return cast(Self, _with_own_settings(settings).model_validate(values))

    @property
    def own_settings(self) -> dict[str, Any]:
        """The architecture's settings by name, those that are given."""
        form = _form(self.architecture)
        values = {name: getattr(self, name) for name in (form.settings.model_fields if form else ())}
        return {name: value for name, value in values.items() if value is not None}

    def recipe(self, preset: DecompositionSettings) -> DecompositionSettings:
        """How this method is trained: as all of a preset, but for settings of its own."""
        own_values = {name: value for name in RECIPE if (value := getattr(self, name)) is not None}
        return preset.model_copy(update=own_values)

    @property
    def by_language(self) -> bool:
        """Whether each language has weights of its own, so that a language without training pairs has none."""
        form = _form(self.architecture)
        return self.centre == "language" or (isinstance(form, ClosedForm) and form.by_language)

    @property
    def uses_validation(self) -> bool:
        """Whether validation pairs decide something: when training stops."""
        return bool(self.terms)


def _form(name: str) -> Trained | ClosedForm | None:
    return architecture(name) if name in names() else None


@cache
def _with_own_settings(settings: type[Settings]) -> type[MethodSettings]:
    """The settings of all methods and those of an architecture in one class."""
    bases: Any = MethodSettings if settings is Settings else (settings, MethodSettings)
    return create_model("MethodSettings", __base__=bases)


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
