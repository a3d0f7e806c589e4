"""params.yaml and the catalogue as one checked value: entries, presets that select from them, and the two switches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import Field, SerializeAsAny, model_validator

from orthoglot.catalogue import Section, mapping, naming_file, section
from orthoglot.catalogue_entries import known, merged, resolved
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.embeddings.settings import EmbeddingSettings
from orthoglot.encoders.kinds.ems import Transformer
from orthoglot.encoders.kinds.refused import RefusedSettings, refuse
from orthoglot.encoders.settings import EncoderEntry
from orthoglot.errors import ConfigError
from orthoglot.languages import parse_pair
from orthoglot.objectives import check_method
from orthoglot.registry import entry_of, having
from orthoglot.settings import Count, Language, Name, Settings, Whole, checked
from orthoglot.study.benchmarks import kinds as benchmark_kinds
from orthoglot.study.benchmarks.base import Benchmark
from orthoglot.study.corpora import kinds as corpus_kinds
from orthoglot.study.corpora.base import Corpus
from orthoglot.study.corpora.kinds.opus import OpusSettings
from orthoglot.study.corpora.patterns import name_of
from orthoglot.study.finetuning.settings import FINE_TUNED, RECIPES, FineTuningSettings, Stage
from orthoglot.study.finetuning.stages import can_be_taught, refusal, stages
from orthoglot.study.mining.settings import MineSettings
from orthoglot.study.pretraining import kinds as encoder_kinds
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.settings import EncoderNetwork, TrainingSettings
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.text.splitting import SplitSettings
from orthoglot.training.settings import DecompositionSettings, MethodSettings

ALL = "all"
CATALOGUES: tuple[Section, ...] = get_args(Section)
if TYPE_CHECKING:
    CorpusSettings = Corpus
    BenchmarkSettings = Benchmark
    EncoderSettings = EncoderEntry
else:
    CorpusSettings = entry_of(having(corpus_kinds, "SETTINGS").values())
    BenchmarkSettings = entry_of(having(benchmark_kinds, "SETTINGS").values())
    EncoderSettings = entry_of(encoder_kinds.settings().values())


class Ablation(Settings):
    """What `snakemake ablation` trains: every variant of one encoder's kind, once for each seed."""

    encoder: Name
    """The encoder that the variants change."""
    seeds: Annotated[list[Whole], Field(min_length=1)]
    """Seeds of the trainings."""


class Part(Settings):
    """Encoders of a preset, and the text and test sets that they see."""

    encoders: Annotated[list[Name], Field(min_length=1)]
    """Encoders of the preset."""
    corpora: Annotated[list[Name], Field(min_length=1)]
    """The corpora of the preset whose sentence pairs and text they are trained, decomposed and tested on."""
    benchmarks: list[Name] = []
    """The benchmarks of the preset that they are measured on."""


class PresetDecomposition(DecompositionSettings):
    """How a preset's methods are trained: the settings of each training, and whether they train together."""

    stacked: bool = False
    """Whether methods of one architecture, partner rule and `centre` train as one model, with all seeds in the same
    steps, on a GPU (docs/gpu.md). Another method, seed or rate trains all of a stack again, with other last bits."""


class Preset(Settings):
    """A named selection from the catalogues, with the settings that belong to its size."""

    corpora: Annotated[list[Name], Field(min_length=1)]
    """Where its text comes from."""
    languages: list[Language] = []
    """Languages of its corpora and test sets that are used, the pivots among them; all if none is named. Test sets and
    pairs in other languages are left out, so that a slice of a preset is this one setting."""
    max_pairs: Whole = 0
    """Sentence pairs that are used of each language pair of each corpus at most; 0 for all. A lower limit of the corpus
    holds."""
    pair_parts: dict[str, Count] = {}
    """Into how many parts, each a job, the preparing of a language pair is divided, e.g. {en-fr: 10}; 1 for pairs that
    are not named. The sentence pairs are the same to the byte, but another number makes them again, with what reads
    them."""
    benchmarks: list[Name] = []
    """Test sets; their sentences are removed from the training text."""
    encoders: Annotated[list[Name], Field(min_length=1)]
    """Encoders to train or load, and to decompose."""
    optional: list[Name] = []
    """Encoders and test sets that a user gets by hand: a warning leaves them out while their files are absent."""
    parts: list[Part] = []
    """Which encoders see which corpora and benchmarks; without parts, every encoder sees all."""
    baselines: list[Name] = ["original", "centering"]
    """Methods that are reported whatever `loss` says."""
    methods: Annotated[list[Name], Field(min_length=1)]
    """Methods that `loss: all` compares."""
    seeds: Annotated[list[Whole], Field(min_length=1)] = [1, 2, 3]
    """Seeds of the trained methods."""
    cleaning: CleaningSettings = CleaningSettings()
    """Which sentence pairs are dropped."""
    splits: SplitSettings = SplitSettings()
    """Which sentence pairs are kept for validation and test."""
    embedding: EmbeddingSettings = EmbeddingSettings()
    """How vectors are made and stored."""
    decomposition: PresetDecomposition = PresetDecomposition()
    """How methods are trained."""
    evaluation: EvaluationSettings
    """What is measured."""
    fine_tuning: FineTuningSettings | None = None
    """Which encoders are trained further, with a head, on which benchmarks; null for none."""
    ablations: list[Ablation] = []
    """Encoders whose variants `snakemake ablation` compares, at most one of each kind."""
    mine: MineSettings | None = None
    """What `snakemake mined` mines; null for nothing."""

    @model_validator(mode="after")
    def _each_name_once(self) -> Self:
        for field in ("corpora", "benchmarks", "encoders", "baselines", "methods", "seeds"):
            names = getattr(self, field)
            if len(set(names)) < len(names):
                raise ValueError(f"{field}: {names} names something twice")
        return self

    @model_validator(mode="after")
    def _parts_share_it_out(self) -> Self:
        for place, part in enumerate(self.parts):
            for field in ("encoders", "corpora", "benchmarks"):
                for name in getattr(part, field):
                    known(name, getattr(self, field), f"parts.{place}.{field}")
        for name in self.encoders if self.parts else []:
            if (count := sum(name in part.encoders for part in self.parts)) != 1:
                raise ValueError(f"parts: the encoder {name} is in {count} parts; name it in one")
        return self

    def without(self, names: Collection[str]) -> Self:
        """The preset without some encoders and test sets."""

        def left(selection: Preset | Part) -> dict[str, Any]:
            return {
                "encoders": [name for name in selection.encoders if name not in names],
                "benchmarks": [name for name in selection.benchmarks if name not in names],
            }

        parts = [part.model_copy(update=left(part)) for part in self.parts]
        return self.model_copy(update=left(self) | {"parts": [part for part in parts if part.encoders]})

    def takes(self, *languages: str) -> bool:
        """Whether text in these languages is taken."""
        return not self.languages or set(languages) <= set(self.languages)

    def part(self, encoder: str) -> Part:
        """What an encoder of the preset sees; a ConfigError if the preset has parts and the encoder is in none."""
        if not self.parts:
            return Part(encoders=self.encoders, corpora=self.corpora, benchmarks=self.benchmarks)
        for part in self.parts:
            if encoder in part.encoders:
                return part
        raise ConfigError(f"parts: the encoder {encoder} is in none of them")


class Params(Settings):
    """What params.yaml and the catalogue say, every entry in full."""

    preset: Name
    """The preset to run."""
    loss: str
    """`all` methods of the preset, or the name of one."""
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$")] = "auto"
    """auto, cpu, cuda, cuda:1, ...; `auto` is a GPU where there is one. Changes the speed only."""
    curves: list[Literal["dvclive", "tensorboard"]] = []
    """Tools that write the curves of a training, under logs/PRESET/curves/encoders/ENCODER."""
    opus_api: str = "https://opus.nlpl.eu/opusapi/"
    """Address of OPUS; the environment variable ORTHOGLOT_OPUS_API overrides it."""
    presets: dict[Name, Preset]
    """What can be run, by name."""
    corpora: dict[Name, CorpusSettings]
    """Where text comes from, by name."""
    benchmarks: dict[Name, BenchmarkSettings]
    """Test sets, by name."""
    encoders: dict[Name, EncoderSettings]
    """Encoders, by name."""
    methods: dict[Name, SerializeAsAny[MethodSettings]]
    """Decomposition methods, by name."""
    variants: dict[Name, dict[Name, dict[str, Any]]]
    """What each variant changes in an encoder, by kind of encoder and name."""

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        known(self.preset, self.presets, "preset")
        known(self.loss, [ALL, *self.methods], "loss")
        for kind in self.variants:
            known(kind, FIELDS["encoders"], "variants")
        for name, corpus in self.corpora.items():
            for other in getattr(corpus, "unless_in", []):
                known(other, self.corpora.keys() - {name}, f"corpora.{name}.unless_in")
        for name, preset in self.presets.items():
            self._check_preset(name, preset, f"presets.{name}")
        for name, encoder in self.encoders.items():
            self._check_origins(name, encoder)
        for name in self.encoders:
            self._check_chain(name)
        for name, method in self.methods.items():
            if method.host is not None:
                known(method.host, self.methods.keys() - {name}, f"methods.{name}.host")
            try:
                check_method(method.architecture, method.partners, method.terms)
            except ConfigError as error:
                raise ConfigError(f"methods.{name}: {error}") from error
        return self

    def _check_preset(self, name: str, preset: Preset, where: str) -> None:
        """All names are known, some text is left, and the tasks have data."""
        for kind in ("corpora", "benchmarks", "encoders", "methods"):
            for chosen in getattr(preset, kind):
                known(chosen, getattr(self, kind), f"{where}.{kind}")
        for chosen in preset.optional:
            known(chosen, [*self.encoders, *self.benchmarks], f"{where}.optional")
        for chosen in preset.encoders:
            if isinstance(refused := self.encoders[chosen], RefusedSettings):
                refuse(refused, chosen)
        if not self.corpora_of(name):
            reason = "corpora: `unless_in` leaves nothing of them"
            if preset.languages:
                reason = f"languages: no corpus has text in {', '.join(preset.languages)}"
            raise ConfigError(f"{where}.{reason}")
        for chosen in preset.baselines:
            known(chosen, self.methods, f"{where}.baselines")
        if "tatoeba" in preset.evaluation.tasks and not preset.benchmarks:
            raise ConfigError(f"{where}: the task tatoeba needs at least one benchmark")
        self._check_ablations(preset.ablations, f"{where}.ablations")
        if preset.fine_tuning:
            self._check_fine_tuning(preset, preset.fine_tuning, f"{where}.fine_tuning")

    def _check_fine_tuning(self, preset: Preset, settings: FineTuningSettings, where: str) -> None:
        """Its encoders can be trained, its benchmarks say on what, and its recipes are of something."""
        if FINE_TUNED in self.methods:
            raise ConfigError(f"methods.{FINE_TUNED}: the name of fine-tuned encoders; give another")
        for name in settings.encoders:
            known(name, preset.encoders, f"{where}.encoders")
            if reason := refusal(self.encoders[name]):
                raise ConfigError(f"{where}.encoders: {name}: {reason}")
        for name in settings.benchmarks:
            known(name, self.benchmarks, f"{where}.benchmarks")
        for name in settings.recipes:
            known(name, [*RECIPES, *self.benchmarks], f"{where}.recipes")
        taught = self.taught(preset)
        if not taught or not self.tuned_encoders(preset):
            what = "encoder can be trained" if taught else "benchmark says what an encoder is trained on"
            raise ConfigError(f"{where}: no {what}")

    def taught(self, preset: Preset) -> dict[str, list[Stage]]:
        """The trainings of each benchmark that a preset's encoders are fine-tuned for."""
        settings = preset.fine_tuning
        if settings is None:
            return {}
        sets = self._within(preset)
        chosen = settings.benchmarks or [name for name in sets if can_be_taught(self.benchmarks[name])]
        return {name: stages(name, self.benchmarks, settings) for name in chosen}

    def tuned_encoders(self, preset: Preset) -> list[str]:
        """The encoders that a preset fine-tunes."""
        if preset.fine_tuning is None:
            return []
        can = [name for name in preset.encoders if not refusal(self.encoders[name])]
        return preset.fine_tuning.encoders or can

    def _check_ablations(self, ablations: Sequence[Ablation], where: str) -> None:
        """At most one ablation of a kind of encoder, whose variants all have valid settings."""
        with_variants = [name for name, settings in self.encoders.items() if settings.kind in self.variants]
        named: dict[str, str] = {}
        for place, ablation in enumerate(ablations):
            encoder = ablation.encoder
            known(encoder, with_variants, f"{where}.{place}.encoder")
            kind = self.encoders[encoder].kind
            if kind in named:
                raise ConfigError(f"{where}: {named[kind]} and {encoder} are both of kind {kind}; name one")
            named[kind] = encoder
            for variant in self.variants[kind]:
                try:
                    self.variant(ablation, variant, seed=0)
                except ConfigError as error:
                    raise ConfigError(f"{where}.{place}.encoder: {error}") from error

    def _check_origins(self, name: str, encoder: EncoderSettings) -> None:
        """The encoders that a training needs exist and serve as what it takes them for."""
        key = f"encoders.{name}"
        for role, field in (("teacher", "teacher"), ("start", "network.encoder")):
            if (origin := encoder.origins.get(role)) is not None:
                suitable = [other for other, settings in self.encoders.items() if role in settings.serves_as]
                known(origin, suitable, f"{key}.{field}")
        if not (isinstance(encoder, TrainingSettings) and isinstance(encoder.network, EncoderNetwork)):
            return
        start = encoder.network.encoder
        # Settings for transformers checkpoints do not apply to an EMS network.
        if isinstance(self.encoders[start], EmsSettings):
            if encoder.network.vector != "own":
                raise ConfigError(
                    f"{key}.network.vector: {start} is an EMS network, whose vector is its mean state; give own"
                )
            if encoder.predicts_tokens:
                raise ConfigError(
                    f"{key}.mlm.weight: {start} is an EMS network, which has no head that predicts tokens; give 0.0"
                )

    def _check_chain(self, name: str) -> None:
        """No chain of trainings, each of which starts from the one before, leads back to its start."""
        chain = [name]
        while origin := self.encoders[chain[-1]].origins.get("start"):
            chain.append(origin)
            if origin in chain[:-1]:
                raise ConfigError(
                    f"encoders.{name}.network.encoder: starts from itself: {' <- '.join(chain)}"
                )

    def width(self, encoder: EncoderSettings) -> int | None:
        """The dimension of its vectors; None if only its checkpoint has it."""
        while origin := encoder.origins.get("start"):
            encoder = self.encoders[origin]
        sizes = encoder.network if isinstance(encoder, TrainingSettings) else encoder
        return sizes.width if isinstance(sizes, Transformer) else None

    def variant(self, ablation: Ablation, name: str, seed: int) -> EncoderSettings:
        """The settings of one variant of the encoder that an ablation names.

        Raises:
            ConfigError: the variant changes a setting that the encoder does not have, or gives it an invalid value.
        """
        origin = self.encoders[ablation.encoder]
        changed = merged(origin.model_dump(), self.variants[origin.kind][name])
        try:
            return checked(type(origin), {**changed, "seed": seed})
        except ConfigError as error:
            raise ConfigError(
                f"{ablation.encoder} cannot be changed as variants.{origin.kind}.{name} says: {error}"
            ) from error

    @property
    def selected(self) -> Preset:
        """The preset to run."""
        return self.presets[self.preset]

    def without(self, names: Collection[str]) -> Self:
        """The same, the selected preset without some encoders and test sets, and what is fine-tuned on these."""
        preset = self.selected.without(names)
        if (settings := preset.fine_tuning) is not None:
            tested = [
                name
                for name, stages in self.taught(self.selected).items()
                if not {name, *(entry for stage in stages for entry in stage.sets)} & {*names}
            ]
            encoders = [name for name in self.tuned_encoders(self.selected) if name not in names]
            left = settings.model_copy(update={"benchmarks": tested, "encoders": encoders})
            preset = preset.model_copy(update={"fine_tuning": left if tested and encoders else None})
        return self.model_copy(update={"presets": {**self.presets, self.preset: preset}})

    def corpora_of(self, name: str) -> dict[str, CorpusSettings]:
        """The corpora of a preset; those of OPUS with the pairs that its `languages` and their `unless_in` leave.

        A corpus of which nothing is left is left out.
        """
        preset = self.presets[name]
        chosen = {entry: self.corpora[entry] for entry in preset.corpora}
        corpora: dict[str, CorpusSettings] = {}
        for entry, corpus in chosen.items():
            if isinstance(corpus, OpusSettings):
                others = [chosen[other] for other in corpus.unless_in if other in chosen]
                elsewhere = {pair for other in others for pair in other.pair_sources("")}
                left = [
                    pair for pair in corpus.pairs if pair not in elsewhere and preset.takes(*parse_pair(pair))
                ]
                if left:
                    corpora[entry] = corpus if left == corpus.pairs else corpus.with_pairs(left)
            elif not preset.languages or any(
                preset.takes(*codes)
                for codes in (*map(parse_pair, corpus.pair_sources("")), *zip(corpus.texts("")))
            ):
                corpora[entry] = corpus
        return corpora

    def benchmarks_of(self, name: str) -> dict[str, BenchmarkSettings]:
        """The test sets of a preset, in its `languages`; one of which nothing is left is left out."""
        return self._within(self.presets[name])

    def benchmarks_read(self, name: str) -> dict[str, BenchmarkSettings]:
        """The same, then those that encoders are fine-tuned for and on."""
        preset = self.presets[name]
        taught = self.taught(preset)
        read = [*taught, *(entry for stages in taught.values() for stage in stages for entry in stage.sets)]
        cut = {entry: self.benchmarks[entry].within(preset.takes) or self.benchmarks[entry] for entry in read}
        return {**cut, **self._within(preset)}

    def _within(self, preset: Preset) -> dict[str, BenchmarkSettings]:
        sets = {entry: self.benchmarks[entry].within(preset.takes) for entry in preset.benchmarks}
        return {entry: benchmark for entry, benchmark in sets.items() if benchmark is not None}

    def addresses_of(self, name: str) -> dict[str, list[str]]:
        """The addresses of what a preset fetches beside OPUS, by entry, such as corpora.tico19.

        Raises:
            ConfigError: one is not the address of a file, or a folder of message catalogues lacks a language.
        """
        return _addresses(self.benchmarks_read(name), self.corpora_of(name), self.presets[name].takes)

    def releases_of(self, name: str) -> dict[str, OpusSettings]:
        """The corpora of OPUS that a preset's benchmarks are drawn from, by entry, such as benchmarks.paracrawl."""
        chosen = {
            f"benchmarks.{entry}": benchmark.release for entry, benchmark in self.benchmarks_of(name).items()
        }
        return {entry: release for entry, release in chosen.items() if release}

    def every_address(self) -> dict[str, list[str]]:
        """The addresses of all entries of the catalogue."""
        return _addresses(self.benchmarks, self.corpora, lambda *codes: True)

    @property
    def losses(self) -> list[str]:
        """The methods to report: the baselines, then what `loss` selects."""
        chosen = self.selected.methods if self.loss == ALL else [self.loss]
        return [*self.selected.baselines, *(name for name in chosen if name not in self.selected.baselines)]


# Names of the settings by kind of entry.
FIELDS = {
    section: {name: frozenset(settings.model_fields) for name, settings in kinds.items()}
    for section, kinds in (
        ("corpora", having(corpus_kinds, "SETTINGS")),
        ("benchmarks", having(benchmark_kinds, "SETTINGS")),
        ("encoders", encoder_kinds.settings()),
    )
}


def _addresses(
    benchmarks: Mapping[str, Benchmark], corpora: Mapping[str, Corpus], takes: Callable[..., bool]
) -> dict[str, list[str]]:
    entries: dict[str, Benchmark | Corpus] = {
        f"benchmarks.{name}": entry for name, entry in benchmarks.items()
    }
    entries |= {f"corpora.{name}": entry for name, entry in corpora.items()}
    by_entry = {}
    for name, entry in entries.items():
        try:
            addresses = entry.addresses(takes) if isinstance(entry, Corpus) else entry.addresses
            for address in addresses:
                name_of(address)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error
        if addresses:
            by_entry[name] = addresses
    return by_entry


def load(path: Path, overrides: Mapping[str, Any] | None = None) -> Params:
    """Read and check params.yaml and the catalogue.

    The sections `corpora`, `benchmarks`, `encoders`, `methods` and `variants` of params.yaml add entries to the
    catalogue and change entries of it, at any depth.

    Args:
        path: params.yaml; the catalogue is the folder `catalogue` next to it, or the one that comes with orthoglot.
        overrides: values that replace those of the file, such as {"loss": "seed"}. Those of `MineSettings` are of the
            selected preset's `mine`.
    Raises:
        ConfigError: one line with the file, the key, what is wrong and, for an unknown name, the nearest known one.
    """
    overrides = dict(overrides or {})
    mine = {name: overrides.pop(name) for name in MineSettings.model_fields if name in overrides}
    values = merged(mapping(path), overrides)
    if mine and (preset := values.get("preset")) in values.get("presets", {}):
        values = merged(values, {"presets": {preset: {"mine": mine}}})
    complete = values | {name: section(name, values, path) for name in CATALOGUES}
    with naming_file(values, path):
        return check(complete)


def check(values: Mapping[str, Any]) -> Params:
    """Complete and validate all settings: those of params.yaml with every section of the catalogue.

    Args:
        values: entries may use `extends`, `host`, `add` and `remove`, or be complete as in `Params.model_dump`.
    Raises:
        ConfigError: As `load`, without the file.
    """
    entries = {
        section: resolved(section, values[section], FIELDS.get(section, {}))
        for section in ("presets", *CATALOGUES[:-1])
        if section in values
    }
    return checked(Params, {**values, **entries})
