"""params.yaml as one checked value: catalogues, presets as selections from them, and the two switches."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from orthoglot.corpora.settings import (
    BenchmarkSettings,
    CleaningSettings,
    CorpusSettings,
    SplitSettings,
)
from orthoglot.encoders.settings import (
    DistillationSettings,
    EmbeddingSettings,
    EncoderNetwork,
    EncoderSettings,
    MlmSettings,
    ScratchNetwork,
    TrainingSettings,
)
from orthoglot.errors import ConfigError
from orthoglot.languages import canonical
from orthoglot.objectives import check_method
from orthoglot.papers.ablation_claims import ABLATION_PAPERS
from orthoglot.settings import Settings, Whole, check_name
from orthoglot.statistics.settings import EvaluationSettings
from orthoglot.training.settings import DecompositionSettings, MethodSettings

ALL = "all"


class Ablation(Settings):
    """What `snakemake ablation` trains: every variant of one encoder's kind, once for each seed."""

    encoder: str
    seeds: Annotated[list[Whole], Field(min_length=1)]


class Preset(Settings):
    """A named selection from the catalogues, with the numbers that belong to its size.

    `methods` is what `loss: all` compares; `baselines` are reported whatever `loss` says.
    """

    corpora: Annotated[list[str], Field(min_length=1)]
    benchmarks: list[str]
    encoders: Annotated[list[str], Field(min_length=1)]
    baselines: list[str]
    methods: Annotated[list[str], Field(min_length=1)]
    seeds: Annotated[list[Whole], Field(min_length=1)]
    cleaning: CleaningSettings
    splits: SplitSettings
    embedding: EmbeddingSettings
    decomposition: DecompositionSettings
    evaluation: EvaluationSettings
    ablations: list[Ablation] = []

    @model_validator(mode="after")
    def _each_name_once(self) -> Self:
        for field in ("corpora", "benchmarks", "encoders", "baselines", "methods", "seeds"):
            names = getattr(self, field)
            if len(set(names)) < len(names):
                raise ValueError(f"{field}: {names} names something twice")
        return self


class Params(Settings):
    """Everything params.yaml says."""

    preset: str
    loss: str
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$")]
    curves: list[Literal["dvclive", "tensorboard"]]
    opus_api: str
    presets: dict[str, Preset]
    corpora: dict[str, CorpusSettings]
    benchmarks: dict[str, BenchmarkSettings]
    encoders: dict[str, EncoderSettings]
    variants: dict[str, dict[str, dict[str, Any]]]
    methods: dict[str, MethodSettings]

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        for section in ("presets", "corpora", "benchmarks", "encoders", "methods"):
            for name in getattr(self, section):
                check_name(name, section)
        _known(self.preset, self.presets, "preset")
        _known(self.loss, [ALL, *self.methods], "loss")
        for kind in self.variants:
            _known(kind, ABLATION_PAPERS, "variants")
        for name, preset in self.presets.items():
            where = f"presets.{name}"
            for kind in ("corpora", "benchmarks", "encoders", "methods"):
                for chosen in getattr(preset, kind):
                    _known(chosen, getattr(self, kind), f"{where}.{kind}")
            for chosen in preset.baselines:
                _known(chosen, self.methods, f"{where}.baselines")
            if "tatoeba" in preset.evaluation.tasks and not preset.benchmarks:
                raise ConfigError(f"{where}: the task tatoeba needs at least one benchmark")
            self._check_ablations(preset.ablations, f"{where}.ablations")
        for name, encoder in self.encoders.items():
            self._check_origins(name, encoder)
        for name in self.encoders:
            self._check_chain(name)
        for name, method in self.methods.items():
            try:
                check_method(method.architecture, method.partners, method.terms)
            except ConfigError as error:
                raise ConfigError(f"methods.{name}: {error}") from error
        for name, benchmark in self.benchmarks.items():
            for code in benchmark.codes:
                if canonical(code) != code:
                    raise ConfigError(
                        f"benchmarks.{name}: write the language {code!r} as {canonical(code)!r}"
                    )
        return self

    def _check_ablations(self, ablations: Sequence[Ablation], where: str) -> None:
        """Each names an encoder of another kind, and every variant of that kind is one that it can be."""
        named: dict[str, str] = {}
        for place, ablation in enumerate(ablations):
            encoder = ablation.encoder
            _known(encoder, self._of_kind(*self.variants), f"{where}.{place}.encoder")
            kind = self.encoders[encoder].kind
            if kind in named:
                raise ConfigError(f"{where}: {named[kind]} and {encoder} are both of kind {kind}; name one")
            named[kind] = encoder
            for variant in self.variants[kind]:
                try:
                    self.variant(ablation, variant, seed=0)
                except ConfigError as error:
                    raise ConfigError(f"{where}.{place}.encoder: {error}") from error

    def _of_kind(self, *kinds: str) -> list[str]:
        return [name for name, encoder in self.encoders.items() if encoder.kind in kinds]

    def _check_origins(self, name: str, encoder: EncoderSettings) -> None:
        """The encoders that a training starts from must be there and cannot start from it in turn."""
        where = f"encoders.{name}"
        if isinstance(encoder, TrainingSettings) and isinstance(encoder.network, EncoderNetwork):
            kinds = ("pretrained", "mlm", "ems")
            _known(encoder.network.encoder, self._of_kind(*kinds), f"{where}.network.encoder")
            if encoder.network.encoder in self._of_kind("ems"):
                self._check_of_ems(where, encoder, encoder.network)
        if isinstance(encoder, DistillationSettings):
            teachers = [known for known in self.encoders if known not in self._of_kind("distillation")]
            _known(encoder.teacher, teachers, f"{where}.teacher")

    def _check_of_ems(self, where: str, encoder: TrainingSettings, network: EncoderNetwork) -> None:
        """What only a checkpoint of the transformers has cannot be asked of an EMS network."""
        if network.vector != "own":
            raise ConfigError(
                f"{where}.network.vector: {network.encoder} is an EMS network, whose vector is its mean state; give own"
            )
        if encoder.predicts_tokens:
            raise ConfigError(
                f"{where}.mlm.weight: {network.encoder} is an EMS network, without a head that tells tokens; give 0.0"
            )

    def _check_chain(self, name: str) -> None:
        """What a training starts from may have started from another, but some are first."""
        chain = [name]
        encoder = self.encoders[name]
        while isinstance(encoder, TrainingSettings) and isinstance(encoder.network, EncoderNetwork):
            chain.append(encoder.network.encoder)
            if chain[-1] in chain[:-1]:
                raise ConfigError(
                    f"encoders.{name}.network.encoder: starts from itself: {' <- '.join(chain)}"
                )
            encoder = self.encoders[chain[-1]]

    def width(self, encoder: EncoderSettings) -> int | None:
        """How many numbers its vectors have, None where only its checkpoint tells."""
        if isinstance(encoder, MlmSettings):
            return encoder.width
        if not isinstance(encoder, TrainingSettings):
            return None
        network = encoder.network
        return (
            network.width
            if isinstance(network, ScratchNetwork)
            else self.width(self.encoders[network.encoder])
        )

    def variant(self, ablation: Ablation, name: str, seed: int) -> EncoderSettings:
        """The settings of one variant of the encoder that an ablation names.

        Raises:
            ConfigError: the variant changes what such an encoder does not have, or to what it cannot be.
        """
        origin = self.encoders[ablation.encoder]
        changed = _merged(origin.model_dump(), self.variants[origin.kind][name])
        try:
            return type(origin).model_validate({**changed, "seed": seed})
        except ValidationError as error:
            raise ConfigError(
                f"{ablation.encoder} cannot be changed as variants.{origin.kind}.{name} says: {describe(error)}"
            ) from error

    @property
    def selected(self) -> Preset:
        """The preset that is switched on."""
        return self.presets[self.preset]

    @property
    def losses(self) -> list[str]:
        """The methods to report: the baselines, then what `loss` selects."""
        chosen = self.selected.methods if self.loss == ALL else [self.loss]
        return [*self.selected.baselines, *(name for name in chosen if name not in self.selected.baselines)]


def load(path: Path, overrides: Mapping[str, Any] | None = None) -> Params:
    """Read and check params.yaml; `overrides` replace values of the file, such as {"loss": "seed"}.

    Raises:
        ConfigError: one line with the key, what is wrong and, for an unknown name, the nearest known one.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from error
    return check(_merged(values, dict(overrides or {})), str(path))


def shipped() -> Path:
    """The params.yaml that comes with orthoglot: inside an installed package, at the root of a checkout."""
    inside = Path(__file__).with_name("params.yaml")
    return inside if inside.is_file() else Path(__file__).parents[2] / "params.yaml"


def method_named(name: str, params: Path | None = None) -> MethodSettings:
    """A method of the catalogue in `params`, or in the params.yaml that comes with orthoglot.

    Raises:
        ConfigError: the file is wrong, or has no such method; names the known ones.
    """
    methods = load(params or shipped()).methods
    _known(name, methods, "method")
    return methods[name]


def check(values: Any, where: str) -> Params:
    """Validate the parsed content of params.yaml; `where` names it in errors."""
    try:
        return Params.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{where}: {describe(error)}") from error


def describe(error: ValidationError) -> str:
    """The first problem of a validation error in one line, with the nearest known key for a misspelt one."""
    # A misspelt key is two problems, one strange and one missing: the first helps.
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    place = ".".join(str(part) for part in _written(first["loc"]))
    if first["type"] != "extra_forbidden":
        given = "" if isinstance(first["input"], dict) else f" (given: {first['input']!r})"
        message = first["msg"].removeprefix("Value error, ")
        return f"{place}: {message}{given}" if place else message
    return f"unknown key {place!r}{_closest(str(first['loc'][-1]), _keys(first['loc'][:-1]))}"


def _merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The values with some changed, at any depth; an empty mapping takes the place of what was there."""
    return values | {
        name: _merged(values[name], new)
        if new and isinstance(new, dict) and isinstance(values.get(name), dict)
        else new
        for name, new in changes.items()
    }


def _written(location: Sequence[int | str]) -> list[int | str]:
    """The location as params.yaml has it: pydantic puts the kind of an entry or a network into it."""
    return [part for part, tag, _ in _walk(location) if not tag]


def nearest(name: str, known: Iterable[object]) -> str:
    """The end of an error message: the closest known name, then all of them."""
    names = sorted(map(str, known))
    return f"{_closest(name, names)}; known: {', '.join(names)}"


def _closest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    return f"; nearest known: {close[0]}" if close else ""


def _known(name: str, names: Collection[str], where: str) -> None:
    if name not in names:
        raise ConfigError(f"{where}: unknown name {name!r}{nearest(name, names)}")


def _keys(location: Sequence[int | str]) -> list[str]:
    """The keys that are known at `location`."""
    last = [node for *_, node in _walk(location)][-1:] or [Params.model_json_schema()]
    return list(last[0].get("properties", {}))


def _walk(location: Sequence[int | str]) -> Iterator[tuple[int | str, bool, dict[str, Any]]]:
    """Each part of a location, whether it is a kind rather than a key, and the settings' JSON schema there."""
    schema = Params.model_json_schema()
    node = schema
    for part in location:
        tag = part in node.get("discriminator", {}).get("mapping", {})
        if tag:
            node = {"$ref": node["discriminator"]["mapping"][part]}
        elif part in node.get("properties", {}):
            node = node["properties"][part]
        else:
            further = node.get("additionalProperties")
            node = further if isinstance(further, dict) else node.get("items", {})
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
        yield part, tag, node
