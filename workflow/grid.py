"""What the jobs are that params.yaml asks for: the folder that each makes, its settings, and the folders that it reads.

A method of `Grid` stands for each file of rules, but mining_jobs.py for mining.smk. Keys, and what is due, are in
plan.py.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from checks import EncoderChecks, absent, check_benchmarks, check_opus, check_parts
from mining_jobs import add_mining
from orthoglot import __version__
from orthoglot.apply.model_folders import READY
from orthoglot.catalogue_entries import known
from orthoglot.decomposers import architecture
from orthoglot.decomposers.base import Trained
from orthoglot.encoders import kinds
from orthoglot.encoders.settings import FrozenSettings
from orthoglot.errors import ConfigError
from orthoglot.languages import parse_pair
from orthoglot.study import config
from orthoglot.study.benchmarks.base import Benchmark
from orthoglot.study.config import EncoderSettings
from orthoglot.study.corpora.patterns import here
from orthoglot.study.finetuning.settings import FINE_TUNED, FineTuningSettings
from orthoglot.study.jobs.digests import SOURCE, digest
from orthoglot.study.papers.published import DECOMPOSER_PAPERS, ENCODER_PAPERS, SUITES
from orthoglot.study.pretraining.kinds import SAVED_AS
from orthoglot.study.pretraining.settings import TrainingSettings
from orthoglot.training.settings import MethodSettings

# Settings of a corpus that its files do not depend on: they say what is read of them.
NOT_FETCHED = {"max_pairs", "unless_in", "listed", "obtain"}
PUBLISHED = SOURCE / "orthoglot/study/papers/published"
CHARTS = SOURCE / "orthoglot/study/report/charts"


@dataclass(frozen=True)
class Work:
    """One verb, what it gets, and the folder that it makes."""

    verb: str
    folder: str
    settings: dict[str, Any]  # decide the result
    inputs: dict[str, list[str]]  # folders of earlier jobs, by role
    selects: Sequence[str] = ()  # what it uses of registries without its settings naming it
    reads: Sequence[str] = ()  # files of the package, or of a checkpoint
    # the user's files that it reads, each with the entry of params.yaml that names it
    own: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """What the encoders of one part see."""

    bitext: list[str]  # folders of sentence pairs
    text: list[str]  # folders of text without translations
    benchmarks: dict[str, str]  # folders of test sets, by name
    checks: EncoderChecks  # whether an encoder fits them

    def without(self, languages: Sequence[str]) -> Seen:
        """What is left without every pair and every text of some languages."""
        bitext = [folder for folder in self.bitext if not set(parse_pair(Path(folder).name)) & set(languages)]
        text = [folder for folder in self.text if Path(folder).name not in languages]
        return replace(self, bitext=bitext, text=text)


class Grid:
    """The work of the selected preset and loss, by output folder."""

    def __init__(self, params: config.Params) -> None:
        # What the preset could do without, and why it has to.
        self.left_out = absent(params)
        self.params = params.without(self.left_out)
        self.preset = self.params.selected
        self.name = params.preset
        self.work: dict[str, Work] = {}
        # Settings of every test set, and of those that encoders are fine-tuned for and on.
        self.sets = self.params.benchmarks_read(self.name)
        self._corpora()
        self._encoders()
        self._embeddings()
        self._decomposers()
        self._evaluation()
        # All others run only if a target names them, or needs them.
        self.default = {folder for folder in self.work if not folder.startswith("preparing/")}
        self._papers()
        # Why an ablation or a mining cannot run, by the folder of its result: an error only for those who ask for it.
        self.refused: dict[str, str] = {}
        self._ablation()
        add_mining(self)

    @functools.cached_property
    def unread(self) -> str:
        """One line about the preset's text if no encoder reads it, of those on demand neither; else empty."""
        text = [name for name, corpus in self.corpora.items() if corpus.texts("")]
        # An ablation that was refused has no jobs.
        varied = [self.params.encoders[ablation.encoder] for ablation in self.preset.ablations]
        read = any(job.inputs.get("corpora") for job in self.work.values()) or any(
            encoder.reads_corpora for encoder in varied
        )
        if read or not text:
            return ""
        preset = f"presets.{self.name}"
        return (
            f"{', '.join(f'corpora.{name}' for name in text)}: text that no encoder of {preset} reads; name an Emma-X "
            f"encoder with text.text: corpora and steps under {preset}.encoders, or take {', '.join(text)} out of "
            f"{preset}.corpora"
        )

    def add(self, verb: str, folder: str, settings: dict[str, Any], **given: Any) -> str:
        """Plan a job, with the fields of `Work`; its folder."""
        self.work[folder] = Work(verb, folder, settings, **given)
        return folder

    def _corpora(self) -> None:
        """Rules of corpora.smk: text from its source to clean pairs, and test sets."""
        data = f"data/{self.name}"
        self.corpora = corpora = self.params.corpora_of(self.name)
        check_opus({**corpora, **self.params.releases_of(self.name)})
        self.addresses = self.params.addresses_of(self.name)
        made = {
            name: self.add(
                corpus.verb, f"{data}/{corpus.home}/{name}", corpus.model_dump(exclude=NOT_FETCHED), inputs={}
            )
            for name, corpus in corpora.items()
            if corpus.verb
        }
        self._worlds = [made[name] for name, corpus in corpora.items() if corpus.kind == "mini"]
        tests = self.params.benchmarks_of(self.name)
        self.benchmarks = {name: self._benchmark(name, test) for name, test in tests.items()}
        # Where the text of each pair, and of each language without translations, is: a job's folder, and files.
        pairs: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        languages: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        for name, corpus in corpora.items():
            root = self._world(f"corpora.{name}") if corpus.invented else made.get(name, "")
            sources_of_pairs, texts = corpus.pair_sources(root), corpus.texts(root)
            root = self._download(f"corpora.{name}") or root
            for pair, source in sources_of_pairs.items():
                if not self.preset.takes(*parse_pair(pair)):
                    continue
                limits = [most for most in (source.get("max_pairs"), self.preset.max_pairs) if most]
                changed: dict[str, Any] = {"max_pairs": min(limits)} if limits else {}
                if "paths" in source:
                    changed["paths"] = [here(path, root) for path in source["paths"]]
                pairs.setdefault(pair, []).append((root, {"name": name, **source, **changed}))
            for language, path in texts.items():
                if self.preset.takes(language):
                    languages.setdefault(language, []).append(
                        (root, {"name": name, "path": here(path, root)})
                    )
        self.taught = self.params.taught(self.preset)
        tested = {
            name: self.benchmarks.get(name) or self._benchmark(name, self.sets[name]) for name in self.taught
        }
        before = {"benchmarks": list({**self.benchmarks, **tested}.values())}
        settings = {"cleaning": self.preset.cleaning.model_dump()}
        both = settings | {"splits": self.preset.splits.model_dump()}
        for pair in filter(lambda pair: self.preset.takes(*parse_pair(pair)), self.preset.pair_parts):
            known(pair, pairs, f"presets.{self.name}.pair_parts")
        self.bitext = [
            self._prepared(sources, {"pair": pair, **both}, before) for pair, sources in sorted(pairs.items())
        ]
        # After the pairs, whose sentences for validation and test it leaves out.
        before["bitext"] = self.bitext
        self.text = [
            self._cleaned(
                "shard", f"{data}/text/{language}", sources, {"language": language, **settings}, before
            )
            for language, sources in sorted(languages.items())
        ]
        # The corpora that bring each pair, and each language's text.
        self._brought = {
            name: [source["name"] for _, source in sources]
            for name, sources in {**pairs, **languages}.items()
        }
        check_parts(self.params, self._brought)

    @functools.cache  # noqa: B019 - a plan lives as long as its process
    def _seen(self, encoder: str) -> Seen:
        """What an encoder sees.

        Raises:
            ConfigError: the preset has parts, and the encoder is in none.
        """
        try:
            part = self.preset.part(encoder)
        except ConfigError as error:
            raise ConfigError(f"presets.{self.name}.{error}") from error

        def brought(folders: list[str]) -> list[str]:
            return [folder for folder in folders if set(self._brought[Path(folder).name]) & set(part.corpora)]

        bitext, text = brought(self.bitext), brought(self.text)
        pairs = [Path(folder).name for folder in bitext]
        folders = {name: folder for name, folder in self.benchmarks.items() if name in part.benchmarks}
        codes = {name: self.sets[name].codes for name in folders}
        check_benchmarks(self.params, codes, pairs)
        texts = [Path(folder).name for folder in text]
        return Seen(bitext, text, folders, EncoderChecks(self.params, part, codes, pairs, texts))

    def _prepared(
        self,
        sources: Sequence[tuple[str, dict[str, Any]]],
        settings: dict[str, Any],
        before: dict[str, list[str]],
    ) -> str:
        """The job that prepares a language pair, after those that do it in parts."""
        pair = settings["pair"]
        folder, parts = f"data/{self.name}/bitext/{pair}", self.preset.pair_parts.get(pair, 1)
        if parts == 1:
            return self._cleaned("prepare", folder, sources, settings, before)
        if settings["cleaning"]["near_duplicates"]:
            raise ConfigError(
                f"presets.{self.name}: near_duplicates compares all of {pair} in one job; set it to 0, or take {pair} "
                "out of pair_parts"
            )
        home = f"preparing/{self.name}/{pair}"
        about = settings | {"sources": [source for _, source in sources]}
        turns = {str(number): {"number": number, "parts": parts} for number in range(1, parts + 1)}
        read = [
            self._cleaned("clean", f"{home}/parts/{name}", sources, settings | turn, before)
            for name, turn in turns.items()
        ]
        inputs = {"chosen": [self.add("choose", f"{home}/chosen", about, inputs={"parts": read})]}
        inputs["shards"] = [
            self.add(
                "pack",
                f"{home}/shards/{name}",
                {"splits": settings["splits"], **turn},
                inputs={"parts": read, "chosen": inputs["chosen"]},
            )
            for name, turn in turns.items()
        ]
        return self.add("prepare", folder, about, inputs=inputs)

    def _cleaned(
        self,
        verb: str,
        folder: str,
        sources: Sequence[tuple[str, dict[str, Any]]],
        settings: dict[str, Any],
        before: dict[str, list[str]],
    ) -> str:
        """The job that cleans the text of a pair or language; files in no job's folder are the user's."""
        return self.add(
            verb,
            folder,
            {**settings, "sources": [source for _, source in sources]},
            inputs={"roots": sorted({root for root, _ in sources if root}), **before},
            own={
                path: f"corpora.{source['name']}"
                for root, source in sources
                for path in source.get("paths", [source["path"]] if "path" in source else [])
                if not root or not path.startswith(f"{root}/")
            },
        )

    def _world(self, entry: str) -> str:
        """The folder of the first invented corpus, for an entry of params.yaml that reads its files."""
        if not self._worlds:
            raise ConfigError(f"{entry}: needs an invented corpus in the preset")
        return self._worlds[0]

    def _download(self, entry: str) -> str:
        """The job that fetches the files of an entry, such as corpora.tico19; empty if none has an address."""
        if entry not in self.addresses:
            return ""
        settings = {"addresses": self.addresses[entry]}
        return self.add("download", f"data/{self.name}/files/{entry}", settings, inputs={})

    def _benchmark(self, name: str, settings: Benchmark) -> str:
        inputs = {"roots": [self._world(f"benchmarks.{name}")] if settings.invented else []}
        if fetched := self._download(f"benchmarks.{name}"):
            inputs["files"] = [fetched]
        if release := settings.release:
            folder = f"data/{self.name}/opus/benchmarks.{name}"
            about = release.model_dump(exclude=NOT_FETCHED)
            inputs["files"] = [self.add(release.verb, folder, about, inputs={})]
        return self.add(
            "benchmark",
            f"data/{self.name}/benchmarks/{name}",
            settings.model_dump(exclude={"obtain", "taught"}),
            inputs=inputs,
            own=dict.fromkeys(settings.outside, f"benchmarks.{name}"),
        )

    def _encoders(self) -> None:
        """Rules of encoders.smk: trained encoders, and links to frozen ones."""
        self.encoders: dict[str, str] = {}
        for name in self.preset.encoders:
            settings = self.params.encoders[name]
            seen = self._seen(name)
            seen.checks.encoder(name, settings)
            self.encoders[name] = self._encoder(name, settings, seen, f"models/{self.name}/encoders/{name}")

    def _encoder(self, name: str, settings: EncoderSettings, seen: Seen, output: str) -> str:
        """The job that trains or links an encoder, after those of the encoders that it starts from."""
        if output in self.work:
            return output
        trained = not isinstance(settings, FrozenSettings)
        files = []
        if isinstance(settings, FrozenSettings) and Path(settings.checkpoint).is_dir():
            place = Path(settings.checkpoint)
            ours = {place / "encoder.json", *(place / READY).rglob("*")}  # a ready map beside it
            files = sorted(str(path) for path in {*place.rglob("*")} - ours if path.is_file())
        if isinstance(settings, TrainingSettings):
            seen = seen.without(settings.withheld)
        inputs = {"bitext": seen.bitext if trained else []}
        if settings.reads_corpora:
            inputs["corpora"] = seen.text
        for role, origin in settings.origins.items():
            folder = f"models/{self.name}/encoders/{origin}"
            inputs[role] = [self._encoder(origin, self.params.encoders[origin], seen, folder)]
        if isinstance(settings, TrainingSettings):
            room = output.partition("/")[0]
            home = f"{room}/{self.name}/tokens"
            inputs["tokens"] = [self._tokens(settings, seen, inputs.get("start", []), home)]
        settled = {"name": name, "encoder": settings.model_dump(exclude={"map", "stands_for"})}
        return self.add(
            "pretrain", output, settled, selects=self._kinds(settings), inputs=inputs, reads=files
        )

    def _kinds(self, settings: EncoderSettings) -> list[str]:
        """The kinds of encoders that making and opening this one use."""
        before = [self.params.encoders[origin] for origin in settings.origins.values()]
        saved = () if settings.kind in kinds.names() else SAVED_AS
        return sorted({settings.kind, *saved, *(kind for origin in before for kind in self._kinds(origin))})

    def _tokens(self, settings: TrainingSettings, seen: Seen, start: list[str], home: str) -> str:
        """The job in `home` that cuts the text for an encoder, and for every other one that cuts it alike."""
        cut = settings.tokens
        inputs = {
            "bitext": seen.bitext,
            "corpora": seen.text if cut.text == "corpora" else [],
            "start": [] if cut.tokenizer else start,
        }
        output = f"{home}/{digest([cut.model_dump(), inputs['start']])[:12]}"
        return self.add("tokenise", output, cut.model_dump(), inputs=inputs)

    def _embeddings(self) -> None:
        """The rule of embeddings.smk: a vector for each sentence, by every encoder."""
        # What the jobs that read an encoder's vectors get.
        self.embedded: dict[str, dict[str, list[str]]] = {}
        stored = self.preset.embedding.model_dump()
        for name, encoder in self.encoders.items():
            seen = self._seen(name)
            inputs = {
                "encoder": [encoder],
                "bitext": seen.bitext,
                "benchmarks": list(seen.benchmarks.values()),
            }
            folder = f"embeddings/{self.name}/{name}"
            self.embedded[name] = self._embed(folder, self.params.encoders[name], stored, inputs)

    def _embed(
        self, folder: str, encoder: EncoderSettings, settings: dict[str, Any], inputs: dict[str, list[str]]
    ) -> dict[str, list[str]]:
        """Plan the job that stores an encoder's vectors; return its inputs and these vectors."""
        self.add("embed", folder, settings, selects=self._kinds(encoder), inputs=inputs)
        return {**inputs, "embeddings": [folder]}

    def _decomposers(self) -> None:
        """Rules of decomposers.smk: every method, fitted to every encoder's vectors."""
        self.decomposers = {
            (encoder, method): self._decomposer(encoder, method)
            for encoder in self.embedded
            for method in self.params.losses
        }

    def _decomposer(self, encoder: str, name: str) -> list[str]:
        """The job that fits a method to an encoder's vectors; none for a method without a decomposer."""
        method = self.params.methods[name]
        if method.architecture == "original":
            return []
        home = f"models/{self.name}/decomposers/{encoder}"
        inputs = {role: self.embedded[encoder][role] for role in ("encoder", "embeddings", "bitext")}
        # Which job trains a method is no setting of the job.
        recipe = self.preset.decomposition.model_dump(exclude={"stacked"})
        settings: dict[str, Any] = {
            "decomposition": recipe if method.terms else None,
            # A method without terms is the same for every seed.
            "seeds": self.preset.seeds if method.terms else self.preset.seeds[:1],
            "train_pairs": self.preset.embedding.train_pairs,
        }
        stack = next((stack for stack, members in self._stacks.items() if name in members), None)
        if stack is None:
            decompose = {"name": name, "method": _trained(method), **settings}
            return [self.add("decompose", f"{home}/{name}", decompose, inputs=inputs)]
        methods = {member: _trained(self.params.methods[member]) for member in self._stacks[stack]}
        made = self.add("stack", f"{home}/_stacks/{stack}", {"methods": methods, **settings}, inputs=inputs)
        # Whoever asks what it was trained on reads the pairs in its receipt.
        taken = {"bitext": inputs["bitext"], "stack": [made]}
        return [self.add("decompose", f"{home}/{name}", {"name": name}, inputs=taken)]

    @functools.cached_property
    def _stacks(self) -> dict[str, list[str]]:
        """The preset's methods that train together, by the name of their stack, whatever `loss` selects of them."""
        if not self.preset.decomposition.stacked:
            return {}
        stacks: dict[str, list[str]] = {}
        # Their order is no setting, but decides last bits.
        for name in sorted({*self.preset.baselines, *self.preset.methods}):
            method = self.params.methods[name]
            form = architecture(method.architecture) if method.terms else None
            if isinstance(form, Trained) and form.modules is None:
                centre = [method.centre] if method.centre not in (None, "none") else []
                stacks.setdefault("-".join([method.architecture, method.partners, *centre]), []).append(name)
        return {
            stack: members for stack, members in stacks.items() if len(members) * len(self.preset.seeds) > 1
        }

    def _evaluation(self) -> None:
        """Rules of evaluation.smk: scores of every method, fine-tuned encoders, and the report."""
        settings = self.preset.evaluation.model_dump()
        self._fine_tuning()
        self.evaluations: list[str] = []
        for (encoder, method), folders in self.decomposers.items():
            about = {
                "encoder": encoder,
                "stands_for": self.params.encoders[encoder].stands_for,
                "method": method,
                "evaluation": settings,
            }
            self.evaluations.append(
                self._evaluate(
                    f"evaluations/{self.name}/{encoder}/{method}",
                    about,
                    self.params.methods[method].architecture,
                    {**self.embedded[encoder], "decomposers": folders},
                )
            )
        self._report(settings)

    def _fine_tuning(self) -> None:
        """A training for each encoder, seed, and set that is learnt on, whatever it is tested on; then its records."""
        self.fine_tuned: list[str] = []
        settings = self.preset.fine_tuning
        if settings is None:
            return
        groups: dict[str, list[str]] = {}
        for name, stages in self.taught.items():
            groups.setdefault(json.dumps([stage.model_dump() for stage in stages]), []).append(name)
        for encoder in self.params.tuned_encoders(self.preset):
            trainings = []
            for tests in groups.values():
                if not settings.benchmarks:
                    tests = [name for name in tests if name in self._seen(encoder).benchmarks]
                trainings += [
                    self._fine_tune(settings, encoder, tests, seed) for seed in settings.seeds if tests
                ]
            if trainings:
                self.fine_tuned.append(
                    self.add(
                        "gather",
                        f"evaluations/{self.name}/{encoder}/{FINE_TUNED}",
                        {
                            "encoder": encoder,
                            "stands_for": self.params.encoders[encoder].stands_for,
                            "evaluation": self.preset.evaluation.model_dump(),
                            "version": __version__,
                        },
                        inputs={"fine_tuned": trainings},
                    )
                )

    def _fine_tune(self, settings: FineTuningSettings, encoder: str, tests: Sequence[str], seed: int) -> str:
        """The job that trains an encoder once, and tests it on all benchmarks that ask for this training."""
        stages = self.taught[tests[0]]
        read = [name for stage in stages for name in (stage.train, stage.valid) if name]
        folders = {name: f"data/{self.name}/benchmarks/{name}" for name in (*tests, *read)}
        for name, folder in folders.items():
            if folder not in self.work:
                self._benchmark(name, self.sets[name])
        return self.add(
            "finetune",
            f"evaluations/{self.name}/{encoder}/fine-tuning/{'+'.join(stage.train for stage in stages)}/seed{seed}",
            {
                "encoder": encoder,
                "seed": seed,
                "stages": [stage.model_dump() for stage in stages],
                "tests": list(tests),
                "precision": settings.precision,
                "threads": settings.threads,
            },
            selects=self._kinds(self.params.encoders[encoder]),
            inputs={"encoder": [self.encoders[encoder]], "benchmarks": list(folders.values())},
        )

    def _evaluate(
        self, folder: str, settings: dict[str, Any], architecture: str, inputs: dict[str, list[str]]
    ) -> str:
        """The job that scores one method on one encoder."""
        return self.add(
            "evaluate",
            folder,
            # The version is written into every record.
            {**settings, "version": __version__},
            selects=[architecture],
            inputs=inputs,
        )

    def _report(self, evaluation: dict[str, Any]) -> None:
        """Plan the job that gathers all records."""
        self.report = self.add(
            "report",
            "results",
            {
                "title": f"orthoglot: preset {self.name}, loss {self.params.loss}",
                # A list, as JSON objects are stored with sorted keys.
                "methods": [(name, self.params.methods[name].host) for name in self.params.losses],
                "selected": self.preset.methods if self.params.loss == config.ALL else [self.params.loss],
                "licences": self._licences(),
                "languages": self._languages(),
                "invented": [name for name in self.benchmarks if self.params.benchmarks[name].invented],
                "evaluation": evaluation,
            },
            inputs={
                "evaluations": self.evaluations,
                "fine_tuned": self.fine_tuned,
                "decomposers": [folder for folders in self.decomposers.values() for folder in folders],
                "encoders": list(self.encoders.values()),
                "bitext": self.bitext,
                "text": self.text,
            },
            reads=[str(path) for path in sorted(CHARTS.glob("*.json"))],
        )

    def _languages(self) -> dict[str, list[str]]:
        """The languages of a checkpoint, by the preset's frozen encoder that states none, from another entry for it."""
        frozen = {
            name: entry for name, entry in self.params.encoders.items() if isinstance(entry, FrozenSettings)
        }
        stated = {entry.checkpoint: entry.languages for entry in frozen.values() if entry.languages}
        return {
            name: stated[entry.checkpoint]
            for name, entry in frozen.items()
            if name in self.preset.encoders and not entry.languages and entry.checkpoint in stated
        }

    def _licences(self) -> dict[str, str]:
        """What the selected corpora, benchmarks and checkpoints may be used for, by name."""
        chosen = {
            **self.corpora,
            **self.sets,
            **{name: self.params.encoders[name] for name in self.preset.encoders},
        }
        return {name: licence for name, entry in chosen.items() if (licence := getattr(entry, "licence", ""))}

    def _papers(self) -> None:
        """The rule of papers.smk: a paper's numbers beside those of this run."""
        for paper in (*DECOMPOSER_PAPERS, *SUITES):
            self._table(paper, {}, {"results": [self.report]})

    def _table(self, paper: str, settings: dict[str, Any], inputs: dict[str, list[str]]) -> None:
        """Plan the job that writes a paper's numbers next to those of this run."""
        published = [f"{paper}.csv", f"{paper}.toml", "datasets.toml", "methods.toml"]
        self.add(
            "tabulate",
            f"tables/{paper}",
            {"paper": paper, **settings},
            selects=self.preset.evaluation.tasks,
            inputs=inputs,
            reads=[str(CHARTS / "gaps.json"), *(str(PUBLISHED / name) for name in published)],
        )

    def _ablation(self) -> None:
        """Rules of ablation.smk: variants of an encoder's kind, measured by retrieval alone, and their table."""
        tasks = [task for task in self.preset.evaluation.tasks if task in ("tatoeba", "nway")]
        measured = self.preset.evaluation.model_copy(update={"tasks": ["heldout", *tasks]})
        # No vector of a training pair is asked for.
        stored = self.preset.embedding.model_copy(update={"train_pairs": 1})
        for ablation in self.preset.ablations:
            planned = dict(self.work)
            try:
                self._variants(ablation, stored.model_dump(), measured.model_dump())
            except ConfigError as error:
                self.work = planned
                self.refused[f"tables/{self.params.encoders[ablation.encoder].kind}"] = str(error)

    def _variants(
        self,
        ablation: config.Ablation,
        stored: dict[str, Any],
        measured: dict[str, Any],
    ) -> None:
        """Every variant of one encoder, once for each seed, and their table."""
        kind = self.params.encoders[ablation.encoder].kind
        if kind not in ENCODER_PAPERS:
            raise ConfigError(f"variants.{kind}: there is no paper whose table they would fill")
        seen = self._seen(ablation.encoder)
        seen.checks.text_of(f"encoders.{ablation.encoder}", self.params.encoders[ablation.encoder])
        benchmarks = [
            folder for name, folder in seen.benchmarks.items() if self.params.benchmarks[name].retrieval
        ]
        encoders: list[str] = []
        evaluations: list[str] = []
        for variant in self.params.variants[kind]:
            for seed in ablation.seeds:
                home = f"ablation/{self.name}/{kind}/{variant}/seed{seed}"
                settings = self.params.variant(ablation, variant, seed)
                seen.checks.text_of(f"variants.{kind}.{variant}", settings)
                encoders.append(self._encoder(variant, settings, seen, f"{home}/encoder"))
                inputs = {"encoder": encoders[-1:], "bitext": seen.bitext, "benchmarks": benchmarks}
                embedded = self._embed(f"{home}/embeddings", settings, stored, inputs)
                evaluations.append(
                    self._evaluate(
                        f"{home}/evaluation",
                        {"encoder": variant, "stands_for": [], "method": "original", "evaluation": measured},
                        "original",
                        {**embedded, "decomposers": []},
                    )
                )
        about = {
            "encoder": ablation.encoder,
            "long_tail": self.preset.evaluation.long_tail,
            "confidence": self.preset.evaluation.confidence,
            "variants": self.params.variants[kind],
        }
        self._table(kind, about, {"evaluations": evaluations, "encoders": encoders})


def _trained(method: MethodSettings) -> dict[str, Any]:
    """What of a method's settings training reads; reports read the host."""
    return method.model_dump(exclude={"host"})
