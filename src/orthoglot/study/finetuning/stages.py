"""Which trainings a benchmark asks for, and which encoders can be trained; nothing here loads PyTorch."""

from __future__ import annotations

from collections.abc import Mapping

from orthoglot.encoders.kinds.pretrained import PretrainedSettings
from orthoglot.encoders.settings import EncoderEntry
from orthoglot.errors import ConfigError
from orthoglot.study.benchmarks.base import Benchmark, Taught
from orthoglot.study.benchmarks.graded import GradedSettings
from orthoglot.study.benchmarks.kinds.pool import PoolSettings
from orthoglot.study.benchmarks.labelled_settings import ClassificationSettings
from orthoglot.study.finetuning.settings import FineTuningSettings, Form, Stage


def refusal(settings: EncoderEntry) -> str:
    """Why an encoder cannot be fine-tuned, "" where nothing speaks against it."""
    if not settings.has_network:
        return f"one of kind {settings.kind} cannot be fine-tuned"
    if isinstance(settings, PretrainedSettings) and settings.package:
        return f"its weights are rounded to {settings.package.bits} bits, and cannot be fine-tuned"
    return ""


def can_be_taught(settings: Benchmark) -> bool:
    """Whether a benchmark says what an encoder is fine-tuned on for it."""
    return bool(settings.taught) or isinstance(settings, ClassificationSettings)


def stages(name: str, benchmarks: Mapping[str, Benchmark], settings: FineTuningSettings) -> list[Stage]:
    """The trainings for one benchmark, one after another.

    Raises:
        ConfigError: The benchmark does not say what is trained on, or names an unsuitable set.
    """
    tested = benchmarks[name]
    if not can_be_taught(tested):
        raise ConfigError(f"benchmarks.{name}: has no `taught`, so no encoder can be fine-tuned for it")
    sets = [*tested.taught]
    where = f"benchmarks.{name}.taught"
    for taught in sets:
        if strange := [other for other in (taught.train, taught.valid) if other and other not in benchmarks]:
            raise ConfigError(f"{where}: there is no benchmark {strange[0]}")
        training = benchmarks[taught.train]
        if taught.valid is None and not isinstance(training, ClassificationSettings):
            raise ConfigError(f"{where}: {taught.train} has no validation part; name a set as `valid`")
        if taught.valid is not None and benchmarks[taught.valid].kind != training.kind:
            raise ConfigError(f"{where}: {taught.train} and {taught.valid} are of two kinds")
    alone = not isinstance(tested, ClassificationSettings)
    if not alone:
        sets.append(Taught(train=name))
    trainings = []
    for taught in sets:
        form = _form(taught.train, benchmarks[taught.train], alone=alone)
        recipe = settings.recipe(form, taught.train)
        trainings.append(Stage(train=taught.train, valid=taught.valid, form=form, recipe=recipe))
    return trainings


def _form(name: str, settings: Benchmark, *, alone: bool) -> Form:
    """Which head and recipe a set is learnt with; `alone`: the network reads the two texts of a pair one by one."""
    if isinstance(settings, GradedSettings) and alone:
        return "similarity"
    if isinstance(settings, PoolSettings) and alone:
        return "entities" if settings.form.startswith("mewsli-x") else "answers"
    if isinstance(settings, ClassificationSettings):
        pairs = isinstance(settings.text, list)
        if alone and pairs:
            return "inference"
        if not alone:
            named: dict[str, Form] = {"copa": "choices", "social-iqa": "choices", "eurlex": "documents"}
            return named.get(settings.form, "pairs" if pairs else "texts")
    raise ConfigError(f"benchmarks.{name}: of kind {settings.kind}, which cannot be learnt here")
