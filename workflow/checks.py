"""What is refused when the plan is made, because it would stop a job hours later."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path

from orthoglot.catalogue_entries import known
from orthoglot.encoders.folder import check_revision
from orthoglot.encoders.settings import FrozenSettings
from orthoglot.errors import ConfigError
from orthoglot.languages import parse_pair
from orthoglot.study.config import EncoderSettings, Params, Part
from orthoglot.study.corpora.base import Corpus
from orthoglot.study.corpora.kinds.opus import OpusSettings
from orthoglot.study.papers.published import PAPERS
from orthoglot.study.pretraining.kinds.distillation import DistillationSettings
from orthoglot.study.pretraining.kinds.emma_x import EmmaXSettings
from orthoglot.study.pretraining.settings import ScratchNetwork, TrainingSettings


def absent(params: Params) -> dict[str, str]:
    """A line about each optional encoder and test set of the selected preset whose files are not there, by name."""
    lines: dict[str, str] = {}
    sets = params.benchmarks_read(params.preset)
    for name in params.selected.optional:
        if test := sets.get(name):
            paths, section, remedy = test.outside, "benchmarks", test.obtain or "put it there"
        elif isinstance(encoder := params.encoders.get(name), FrozenSettings):
            local = getattr(encoder, "revision", "local") == "local"
            paths = [encoder.checkpoint] if local else []
            section, remedy = "encoders", "docs/encoders.md says how to get it"
        else:
            continue
        if missing := next((path for path in paths if not Path(path).exists()), ""):
            lines[name] = f"{section}.{name} is left out: {missing} does not exist; {remedy}"
    return lines


def check_parts(params: Params, brought: Mapping[str, Sequence[str]]) -> None:
    """Refuse a language pair, or a language's text, that corpora of different parts bring.

    Args:
        params: all settings.
        brought: the corpora of each language pair, and of each language with text.
    """
    for name, corpora in brought.items():
        places = [
            {place for place, part in enumerate(params.selected.parts) if corpus in part.corpora}
            for corpus in corpora
        ]
        if any(numbers != places[0] for numbers in places):
            raise ConfigError(
                f"presets.{params.preset}.parts: {', '.join(corpora)} all bring {name}, whose text is one folder; "
                "name them in the same parts"
            )


def check_opus(corpora: Mapping[str, Corpus]) -> None:
    """Refuse a corpus, a release or a language pair that the catalogue of OPUS has not, before anything is fetched.

    Args:
        corpora: Corpora of the preset and of its benchmarks, by entry.
    """
    if any(isinstance(corpus, OpusSettings) for corpus in corpora.values()):
        # It takes a while to import.
        from orthoglot.study.fetching.catalogue import archives

        archives(corpora)


def check_benchmarks(params: Params, codes: Mapping[str, Collection[str]], pairs: Sequence[str]) -> None:
    """Refuse a benchmark in a language that no pair of its part has, where a method needs weights for it.

    Args:
        params: all settings.
        codes: the languages of each benchmark of the part.
        pairs: names of its language pairs.
    """
    covered = {code for pair in pairs for code in parse_pair(pair)}
    for name, languages in codes.items():
        # Architectures take a while to import.
        if (missing := sorted(set(languages) - covered)) and (methods := _by_language(params)):
            raise ConfigError(
                f"benchmarks.{name}: no corpus of presets.{params.preset} has a sentence pair in "
                f"{', '.join(missing)}, and {', '.join(methods)} need one; leave out the benchmark, its language, "
                "or these methods"
            )


def _by_language(params: Params) -> list[str]:
    """The methods to report that have weights for each language."""
    return [name for name in params.losses if params.methods[name].by_language]


class EncoderChecks:
    """Whether encoders fit the data that they see.

    Args:
        params: all settings.
        part: the corpora and benchmarks of these encoders.
        codes: the languages of each benchmark of the part.
        pairs: names of the language pairs of this part.
        text: languages of its text without translations.
    """

    def __init__(
        self,
        params: Params,
        part: Part,
        codes: Mapping[str, Collection[str]],
        pairs: Sequence[str],
        text: Collection[str],
    ) -> None:
        self.params = params
        self.part = part
        self.codes = codes
        self.pairs = pairs
        self.text = set(text)
        self.languages = {code for pair in pairs for code in parse_pair(pair)}

    def encoder(self, name: str, settings: EncoderSettings) -> None:
        """Refuse a movable revision, a missing language, an origin of another part, and what `text_of` refuses."""
        rows = sorted({row for paper in PAPERS.values() for row in paper.encoders})
        for row in settings.stands_for:
            known(row, rows, f"encoders.{name}.stands_for")
        if not self.params.selected.embedding.unseen_languages:
            self._covers(name, settings, self.languages.union(*self.codes.values()))
        for role, origin in settings.origins.items():
            if origin in self.params.selected.encoders and origin not in self.part.encoders:
                raise ConfigError(f"encoders.{name}: needs {origin}; name both in one part of the preset")
            pivots = {parse_pair(pair)[0] for pair in self.pairs}
            self._covers(origin, self.params.encoders[origin], pivots if role == "teacher" else set())
        self.text_of(f"encoders.{name}", settings)
        if isinstance(settings, TrainingSettings) and settings.withheld:
            self._withholds(name, settings)
        if isinstance(settings, DistillationSettings):
            width, taught = map(self.params.width, (settings, self.params.encoders[settings.teacher]))
            if width and taught and width != taught:
                raise ConfigError(
                    f"encoders.{name}: has vectors of {width} numbers, its teacher {settings.teacher} of {taught}; "
                    "give both networks one width"
                )

    def text_of(self, entry: str, settings: EncoderSettings) -> None:
        """Refuse an Emma-X encoder whose pairs or text the preset has not, or whose new tokenizer would not know it.

        Args:
            entry: The entry of params.yaml, for the message.
            settings: the encoder's.
        """
        if not isinstance(settings, EmmaXSettings):
            return
        if strange := sorted(set(settings.parallel.pairs) - set(self.pairs)):
            raise ConfigError(
                f"{entry}.parallel.pairs: the preset has no {', '.join(strange)}; "
                f"it has {', '.join(self.pairs)}"
            )
        if not settings.reads_corpora:
            return
        if not self.text:
            raise ConfigError(f"{entry}.text.text: the preset's corpora have none of kind text")
        strange = sorted(self.text - self.languages)
        if strange and isinstance(settings.network, ScratchNetwork):
            raise ConfigError(
                f"{entry}: text of {', '.join(strange)}, which no sentence pair has: a new tokenizer is learnt "
                "from sentence pairs; start from another encoder"
            )

    def _withholds(self, name: str, settings: TrainingSettings) -> None:
        """Refuse to withhold a language that there is not, or all that there is."""
        if strange := sorted(set(settings.withheld) - self.languages):
            raise ConfigError(
                f"encoders.{name}.withheld: no sentence pair has {', '.join(strange)}; "
                f"there are {', '.join(sorted(self.languages))}"
            )
        if all(set(parse_pair(pair)) & set(settings.withheld) for pair in self.pairs):
            raise ConfigError(f"encoders.{name}.withheld: leaves no sentence pair to train on")

    def _covers(self, name: str, settings: EncoderSettings, needed: Collection[str]) -> None:
        covered = self.languages | (self.text if settings.reads_corpora else set())
        if isinstance(settings, FrozenSettings):
            if (revision := getattr(settings, "revision", None)) is not None:  # LASER has none
                check_revision(settings.checkpoint, revision)
            covered = set(settings.languages)
        if covered and (missing := sorted(set(needed) - covered)):
            places = "; ".join(f"{code} comes from {', '.join(self._sources(code))}" for code in missing)
            raise ConfigError(
                f"encoders.{name}: does not cover {', '.join(missing)} of the preset's data: {places}; "
                f"it covers {', '.join(sorted(covered))}; `embedding: {{unseen_languages: true}}` takes them, too"
            )

    def _sources(self, language: str) -> list[str]:
        """The entries of the part that bring a language: corpora, then benchmarks."""
        corpora = {
            name: corpus
            for name, corpus in self.params.corpora_of(self.params.preset).items()
            if name in self.part.corpora
        }
        return [
            f"corpora.{name}"
            for name, corpus in corpora.items()
            if language in {*corpus.texts(""), *chain(*map(parse_pair, corpus.pair_sources("")))}
        ] + [f"benchmarks.{name}" for name, codes in self.codes.items() if language in codes]
