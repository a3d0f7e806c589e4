"""The jobs that params.yaml asks for, each with a key that changes exactly when its result may change.

A job makes one folder. Its key is a digest of its verb, folder, settings, code (digests.py), outside files, and the
keys of its inputs. The folder's receipt carries the key in its name, `FOLDER/receipt/KEY.json`, and is the output that
a rule declares. So a result is recognised wherever it comes from: an earlier run, DVC's cache, a pull, an experiment.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks import EncoderChecks, check_benchmarks
from digests import SOURCE, code, digest, files_digest, sources
from orthoglot import __version__, config, receipts
from orthoglot.corpora.settings import (
    LocalSettings,
    MiniSettings,
    NwaySettings,
    RetrievalSettings,
    TextCorpusSettings,
)
from orthoglot.encoders.kinds import KINDS, SAVED_AS, EncoderSettings
from orthoglot.encoders.settings import (
    FrozenSettings,
    TrainingSettings,
    origins,
    reads_corpora,
)
from orthoglot.errors import ConfigError
from orthoglot.papers.published import DECOMPOSER_PAPERS, ENCODER_PAPERS

# Verbs by DVC stage.
STAGES = {
    "corpora": ("generate", "fetch", "benchmark", "prepare", "shard"),
    "encoders": ("tokenise", "pretrain"),
    "embeddings": ("embed",),
    "decomposers": ("decompose",),
    "evaluation": ("evaluate", "report"),
}
# Files that users name as targets, by verb.
FILES = {
    "report": "report.html tables.md records.jsonl records.parquet metrics.json plots/corner.csv plots/curves.csv",
    "tabulate": "{paper}-table.html",
}
PUBLISHED = SOURCE / "orthoglot/papers/published"


def _published(paper: str) -> list[str]:
    """The files that say what a paper prints and how it is compared."""
    return [
        str(PUBLISHED / name) for name in (f"{paper}.csv", f"{paper}.toml", "datasets.toml", "methods.toml")
    ]


@dataclass(frozen=True)
class Job:
    """One verb, what it gets, and the folder that it makes.

    Attributes:
        settings: decide the result.
        inputs: folders of earlier jobs, by role.
        free: reach the verb without being part of the key (device, addresses).
        own: the user's files that it reads, each with the entry of params.yaml that names it.
        names: strings that select entries of registries.
        needs: what the preset says it needs, for the error about an absent file.
    """

    verb: str
    folder: str
    settings: dict[str, Any]
    inputs: dict[str, list[str]]
    key: str
    free: dict[str, Any]
    own: Mapping[str, str]
    names: frozenset[str]
    needs: str = ""

    @property
    def receipt(self) -> str:
        """The file that exists when the job is done."""
        return str(receipts.path(Path(self.folder), self.key))

    def check_files(self) -> None:
        """Raise ConfigError if one of the user's files is absent."""
        for path, entry in self.own.items():
            if not Path(path).is_file():
                needs = f"; {self.needs}" if self.needs else ""
                raise ConfigError(f"{entry}: {path} does not exist; put it there or correct the entry{needs}")


class Plan:
    """Every job of the selected preset and loss, by output folder."""

    def __init__(self, params: config.Params) -> None:
        self.params = params
        self.preset = params.selected
        self.name = params.preset
        self.jobs: dict[str, Job] = {}
        self._corpora()
        self._encoders()
        self._decomposers()
        self._evaluation()
        # All others run only if a target names them.
        self.default = set(self.jobs)
        self._tables()
        # Why an ablation cannot run, by the folder of its table: an error only for those who ask for it.
        self.refused: dict[str, str] = {}
        self._ablations()
        self._by_key = {job.key: job for job in self.jobs.values()}

    def job(self, folder: str) -> Job:
        """The job of an output folder.

        Raises:
            ConfigError: params.yaml asks for no such folder, or does not allow it.
        """
        if folder in self.refused:
            raise ConfigError(self.refused[folder])
        if folder not in self.jobs:
            kind = folder.removeprefix("tables/")
            hint = f": presets.{self.name}.ablations names no encoder of kind {kind}"
            raise ConfigError(f"params.yaml asks for no {folder}{hint if kind in ENCODER_PAPERS else ''}")
        return self.jobs[folder]

    def of_key(self, key: str) -> Job:
        """The job with this key.

        Raises:
            ConfigError: there is none: parameters or code have changed; or a file of the user's is absent.
        """
        if key not in self._by_key:
            raise ConfigError(
                f"no job has the key {key}: params.yaml or the code has changed; run snakemake again"
            )
        self._by_key[key].check_files()
        return self._by_key[key]

    def as_json(self, key: str) -> str:
        """The job as the JSON that its verb reads."""
        job = self.of_key(key)
        inputs = {
            role: {folder: self.jobs[folder].key for folder in folders}
            for role, folders in job.inputs.items()
        }
        content = {
            "key": job.key,
            "output": job.folder,
            "settings": job.settings,
            "inputs": inputs,
            "sources": sources(_entry(job.verb), job.names),
            **job.free,
        }
        return json.dumps(content, ensure_ascii=False)

    def receipts(self, *verbs: str) -> list[str]:
        """The receipts of all jobs of these verbs (of all verbs if none is given) that run by default."""
        chosen = (self.jobs[folder] for folder in sorted(self.default))
        return [job.receipt for job in chosen if not verbs or job.verb in verbs]

    def targets(self) -> Iterator[tuple[str, str]]:
        """Every path that a user may name as a target, with the receipt of its job."""
        for folder, job in self.jobs.items():
            yield folder, job.receipt
            for seed in job.settings.get("seeds", []):
                yield f"{folder}/seed{seed}", job.receipt
            for name in FILES.get(job.verb, "").split():
                yield f"{folder}/{name.format(**job.settings)}", job.receipt

    def tables(self) -> list[str]:
        """The folder of each table of a paper."""
        return [folder for folder, job in self.jobs.items() if job.verb == "tabulate"]

    def ablations(self) -> list[str]:
        """The receipts of the tables of the preset's ablations.

        Raises:
            ConfigError: it has none, or one that its other settings do not allow.
        """
        for reason in self.refused.values():
            raise ConfigError(reason)
        tables = [
            self.jobs[folder].receipt for folder in self.tables() if "variants" in self.jobs[folder].settings
        ]
        if not tables:
            raise ConfigError(f"presets.{self.name} has no `ablations`")
        return tables

    @functools.cache  # noqa: B019 - a plan lives as long as its process
    def done(self, folder: str) -> bool:
        """Whether the folder is complete: its receipt is there, and so is every file that it lists."""
        return receipts.read_key(Path(folder)) == self.jobs[folder].key

    def damaged(self) -> list[str]:
        """Receipts that are there although their folders are not complete."""
        return [
            job.receipt
            for job in self.jobs.values()
            if Path(job.receipt).exists() and not self.done(job.folder)
        ]

    def keys(self, stage: str) -> dict[str, str]:
        """The keys of a DVC stage's jobs, by folder."""
        return {
            folder: self.jobs[folder].key
            for folder in self.default
            if self.jobs[folder].verb in STAGES[stage]
        }

    def threads(self, key: str) -> int | None:
        """How many threads the job of an encoder or of tokens takes; None for as many as there are."""
        settings = self.of_key(key).settings
        trained = settings.get("encoder") or settings["tokenizer"]
        return int(trained.get("threads", 1) * trained.get("processes", 1)) if trained else None

    def gpus(self, key: str) -> int:
        """How many GPUs the job takes."""
        device = self.params.device
        there = device.startswith("cuda") or (device == "auto" and any(Path("/dev").glob("nvidia[0-9]*")))
        encoder = self.of_key(key).settings.get("encoder")
        return int(there) * (encoder.get("processes", 1) if isinstance(encoder, dict) else 1)

    @functools.cached_property
    def unread(self) -> str:
        """One line about the preset's text if no encoder reads it, of those on demand neither; else empty."""
        text = [
            name for name in self.preset.corpora if isinstance(self.params.corpora[name], TextCorpusSettings)
        ]
        # An ablation that was refused has no jobs.
        named = [self.params.encoders[ablation.encoder] for ablation in self.preset.ablations]
        read = any(job.inputs.get("corpora") for job in self.jobs.values()) or any(map(reads_corpora, named))
        if read or not text:
            return ""
        where = f"presets.{self.name}"
        return (
            f"{', '.join(f'corpora.{name}' for name in text)}: text that no encoder of {where} reads; name an Emma-X "
            f"encoder with text.text: corpora and steps under {where}.encoders, or take {', '.join(text)} out of "
            f"{where}.corpora"
        )

    def _add(
        self,
        verb: str,
        folder: str,
        settings: dict[str, Any],
        *,
        inputs: dict[str, list[str]],
        selects: Sequence[str] = (),
        files: Sequence[str] = (),
        own: Mapping[str, str] | None = None,
        free: dict[str, Any] | None = None,
    ) -> str:
        """Plan a job; `selects` names entries of registries that it uses without its settings naming them."""
        own = own or {}
        names = frozenset([*_strings(settings), *selects])
        keys = {role: {one: self.jobs[one].key for one in folders} for role, folders in inputs.items()}
        run = code(_entry(verb), names)
        key = digest([verb, folder, _decisive(settings), run, files_digest([*own, *files]), keys])
        needs = f"presets.{self.name} needs {self.preset.needs}" if self.preset.needs else ""
        self.jobs[folder] = Job(verb, folder, settings, inputs, key, free or {}, own, names, needs)
        return folder

    def _corpora(self) -> None:
        data = f"data/{self.name}"
        invented: dict[str, str] = {}
        sources: dict[str, list[dict[str, Any]]] = {}
        roots: dict[str, list[str]] = {}
        for name in self.preset.corpora:
            corpus = self.params.corpora[name]
            if isinstance(corpus, TextCorpusSettings):
                continue
            if isinstance(corpus, MiniSettings):
                root = self._add("generate", f"{data}/invented/{name}", corpus.model_dump(), inputs={})
                invented[name] = root
                pairs = [f"{corpus.pivot}-{language}" for language in corpus.languages]
            elif isinstance(corpus, LocalSettings):
                root = ""
                pairs = corpus.pairs
            else:
                free = {"api": os.environ.get("ORTHOGLOT_OPUS_API", self.params.opus_api)}
                root = self._add("fetch", f"{data}/opus/{name}", corpus.model_dump(), inputs={}, free=free)
                pairs = corpus.pairs
            for pair in pairs:
                paths = corpus.paths(pair) if isinstance(corpus, LocalSettings) else []
                folder = f"{root}/opus" if isinstance(corpus, MiniSettings) else root
                source = (
                    {"name": name, "kind": "files", "paths": paths}
                    if paths
                    else {"name": name, "kind": "moses_zip", "paths": [f"{folder}/{pair}.zip"]}
                )
                sources.setdefault(pair, []).append(source)
                roots.setdefault(pair, []).extend([root] if root else [])
        self.benchmarks = [self._benchmark(name, invented) for name in self.preset.benchmarks]
        shared = {
            "cleaning": self.preset.cleaning.model_dump(),
            "splits": self.preset.splits.model_dump(),
        }
        self.bitext = [
            self._add(
                "prepare",
                f"{data}/bitext/{pair}",
                {"pair": pair, "sources": found, **shared},
                inputs={"roots": sorted(set(roots[pair])), "benchmarks": self.benchmarks},
                own={
                    path: f"corpora.{source['name']}"
                    for source in found
                    if source["kind"] == "files"
                    for path in source["paths"]
                },
            )
            for pair, found in sorted(sources.items())
        ]

        self.text = self._text(invented)
        pairs, languages = ([Path(folder).name for folder in found] for found in (self.bitext, self.text))
        check_benchmarks(self.params, pairs)
        self._checks = EncoderChecks(self.params, pairs, languages)

    def _text(self, invented: dict[str, str]) -> list[str]:
        """The jobs of text without translations, one a language, after those of the pairs that they may not touch."""
        sources: dict[str, list[dict[str, str]]] = {}
        roots: dict[str, list[str]] = {}
        outside: dict[str, dict[str, str]] = {}
        for name in self.preset.corpora:
            corpus = self.params.corpora[name]
            if not isinstance(corpus, TextCorpusSettings):
                continue
            if corpus.invented and not invented:
                raise ConfigError(f"corpora.{name}: needs an invented corpus in the preset")
            world = next(iter(invented.values())) if corpus.invented else ""
            for language in corpus.languages:
                path = corpus.path(language, world)
                sources.setdefault(language, []).append({"name": name, "path": path})
                roots.setdefault(language, []).extend([world] if world else [])
                outside.setdefault(language, {}).update({} if world else {path: f"corpora.{name}"})
        return [
            self._add(
                "shard",
                f"data/{self.name}/text/{language}",
                {"language": language, "sources": found, "cleaning": self.preset.cleaning.model_dump()},
                inputs={
                    "roots": sorted(set(roots[language])),
                    "bitext": self.bitext,
                    "benchmarks": self.benchmarks,
                },
                own=outside[language],
            )
            for language, found in sorted(sources.items())
        ]

    def _benchmark(self, name: str, invented: dict[str, str]) -> str:
        settings = self.params.benchmarks[name]
        roots: list[str] = []
        if settings.invented:
            if not invented:
                raise ConfigError(f"benchmarks.{name}: needs an invented corpus in the preset")
            roots = list(invented.values())[:1]
        return self._add(
            "benchmark",
            f"data/{self.name}/benchmarks/{name}",
            settings.model_dump(),
            inputs={"roots": roots},
            own=dict.fromkeys(settings.outside, f"benchmarks.{name}"),
        )

    def _encoders(self) -> None:
        free = {"device": self.params.device}
        self.embeddings: dict[str, str] = {}
        self.encoders: dict[str, str] = {}
        for name in self.preset.encoders:
            settings = self.params.encoders[name]
            self._checks.encoder(name, settings)
            self.encoders[name] = self._encoder(name, settings, f"models/{self.name}/encoders/{name}")
            self.embeddings[name] = self._add(
                "embed",
                f"embeddings/{self.name}/{name}",
                self.preset.embedding.model_dump(),
                selects=self._kinds(settings),
                inputs={
                    "encoder": [self.encoders[name]],
                    "bitext": self.bitext,
                    "benchmarks": self.benchmarks,
                },
                free=free,
            )

    def _encoder(self, name: str, settings: EncoderSettings, output: str) -> str:
        """The job that trains or links an encoder, after those of the encoders that it starts from."""
        if output in self.jobs:
            return output
        trained = not isinstance(settings, FrozenSettings)
        files = []
        if isinstance(settings, FrozenSettings) and Path(settings.checkpoint).is_dir():
            files = sorted(str(path) for path in Path(settings.checkpoint).rglob("*") if path.is_file())
        inputs = {"bitext": self.bitext if trained else []}
        if reads_corpora(settings):
            inputs["corpora"] = self.text
        for role, origin in origins(settings).items():
            folder = f"models/{self.name}/encoders/{origin}"
            inputs[role] = [self._encoder(origin, self.params.encoders[origin], folder)]
        if isinstance(settings, TrainingSettings):
            room = output.partition("/")[0]
            inputs["tokens"] = [self._tokens(settings, inputs.get("start", []), f"{room}/{self.name}/tokens")]
        free: dict[str, Any] = {"device": self.params.device}
        if trained and self.params.curves:
            folder = f"logs/{self.name}/curves/{output.removeprefix(f'models/{self.name}/')}"
            free["curves"] = {"folder": folder, "tools": self.params.curves}
        settled = {"name": name, "encoder": settings.model_dump()}
        kinds = self._kinds(settings)
        return self._add("pretrain", output, settled, selects=kinds, inputs=inputs, files=files, free=free)

    def _kinds(self, settings: EncoderSettings) -> list[str]:
        """The kinds of encoders that making and opening this one use."""
        before = [self.params.encoders[origin] for origin in origins(settings).values()]
        saved = [] if KINDS[settings.kind].load else SAVED_AS
        return sorted({settings.kind, *saved, *(kind for one in before for kind in self._kinds(one))})

    def _tokens(self, settings: TrainingSettings, start: list[str], home: str) -> str:
        """The job in `home` that cuts the text for an encoder, and for every other one that cuts it alike."""
        cut = settings.tokens
        inputs = {
            "bitext": self.bitext,
            "corpora": self.text if cut.text == "corpora" else [],
            "start": [] if cut.tokenizer else start,
        }
        output = f"{home}/{digest([cut.model_dump(), inputs['start']])[:12]}"
        return self._add("tokenise", output, cut.model_dump(), inputs=inputs)

    def _decomposers(self) -> None:
        # By encoder and method; a method without a decomposer has none.
        self.decomposers: dict[tuple[str, str], list[str]] = {}
        for encoder, store in self.embeddings.items():
            for name in self.params.losses:
                method = self.params.methods[name]
                self.decomposers[encoder, name] = []
                if method.architecture == "original":
                    continue
                folder = self._add(
                    "decompose",
                    f"models/{self.name}/decomposers/{encoder}/{name}",
                    {
                        "name": name,
                        # Reports read the host; training does not.
                        "method": method.model_dump(exclude={"host"}),
                        "recipe": self.preset.decomposition.model_dump() if method.terms else None,
                        # A method without terms is the same for every seed.
                        "seeds": self.preset.seeds if method.terms else self.preset.seeds[:1],
                        "train_pairs": self.preset.embedding.train_pairs,
                    },
                    inputs={
                        "encoder": [self.encoders[encoder]],
                        "embeddings": [store],
                        "bitext": self.bitext,
                    },
                    free={"device": self.params.device},
                )
                self.decomposers[encoder, name] = [folder]

    def _evaluation(self) -> None:
        settings = self.preset.evaluation.model_dump()
        names = self.params.losses
        hosts = {name: self.params.methods[name].host for name in names}
        evaluations = [
            self._add(
                "evaluate",
                f"evaluations/{self.name}/{encoder}/{method}",
                # The version is written into every record.
                {"encoder": encoder, "method": method, "version": __version__, "evaluation": settings},
                selects=[self.params.methods[method].architecture],
                inputs={
                    "encoder": [self.encoders[encoder]],
                    "embeddings": [self.embeddings[encoder]],
                    "bitext": self.bitext,
                    "benchmarks": self.benchmarks,
                    "decomposers": folders,
                },
            )
            for (encoder, method), folders in self.decomposers.items()
        ]
        self.report = self._add(
            "report",
            "results",
            {
                "title": f"orthoglot: preset {self.name}, loss {self.params.loss}",
                # A list, as JSON objects are stored with sorted keys.
                "methods": list(hosts.items()),
                "selected": self.preset.methods if self.params.loss == config.ALL else [self.params.loss],
                "licences": self._licences(),
                "evaluation": settings,
            },
            inputs={
                "evaluations": evaluations,
                "decomposers": [folder for folders in self.decomposers.values() for folder in folders],
                "encoders": list(self.encoders.values()),
                "bitext": self.bitext,
                "text": self.text,
            },
            files=[str(path) for path in sorted((SOURCE / "orthoglot/report/charts").glob("*.json"))],
        )

    def _tables(self) -> None:
        for paper in DECOMPOSER_PAPERS:
            self._add(
                "tabulate",
                f"tables/{paper}",
                {"paper": paper},
                selects=self.preset.evaluation.tasks,
                inputs={"results": [self.report]},
                files=_published(paper),
            )

    def _ablations(self) -> None:
        """The variants of an encoder's kind, measured by retrieval alone; then the paper's table of them."""
        retrieval = [
            folder
            for name, folder in zip(self.preset.benchmarks, self.benchmarks, strict=True)
            if isinstance(self.params.benchmarks[name], RetrievalSettings | NwaySettings)
        ]
        tasks = [task for task in self.preset.evaluation.tasks if task in ("tatoeba", "nway")]
        measured = self.preset.evaluation.model_copy(update={"tasks": ["heldout", *tasks]})
        # No vector of a training pair is asked for.
        stored = self.preset.embedding.model_copy(update={"train_pairs": 1})
        for ablation in self.preset.ablations:
            planned = dict(self.jobs)
            try:
                self._ablation(ablation, retrieval, stored.model_dump(), measured.model_dump())
            except ConfigError as error:
                self.jobs = planned
                self.refused[f"tables/{self.params.encoders[ablation.encoder].kind}"] = str(error)

    def _ablation(
        self,
        ablation: config.Ablation,
        benchmarks: list[str],
        stored: dict[str, Any],
        measured: dict[str, Any],
    ) -> None:
        """Every variant of one encoder, once for each seed, and their table."""
        kind = self.params.encoders[ablation.encoder].kind
        if kind not in ENCODER_PAPERS:
            raise ConfigError(f"variants.{kind}: there is no paper whose table they would fill")
        self._checks.text_of(f"encoders.{ablation.encoder}", self.params.encoders[ablation.encoder])
        encoders: list[str] = []
        evaluations: list[str] = []
        for variant in self.params.variants[kind]:
            for seed in ablation.seeds:
                home = f"ablation/{self.name}/{kind}/{variant}/seed{seed}"
                settings = self.params.variant(ablation, variant, seed)
                self._checks.text_of(f"variants.{kind}.{variant}", settings)
                encoders.append(self._encoder(variant, settings, f"{home}/encoder"))
                text = {"encoder": encoders[-1:], "bitext": self.bitext, "benchmarks": benchmarks}
                free = {"device": self.params.device}
                vectors = self._add(
                    "embed",
                    f"{home}/embeddings",
                    stored,
                    selects=self._kinds(settings),
                    inputs=text,
                    free=free,
                )
                evaluations.append(
                    self._add(
                        "evaluate",
                        f"{home}/evaluation",
                        {
                            "encoder": variant,
                            "method": "original",
                            "version": __version__,
                            "evaluation": measured,
                        },
                        selects=["original"],
                        inputs={**text, "embeddings": [vectors], "decomposers": []},
                    )
                )
        evaluation = self.preset.evaluation
        self._add(
            "tabulate",
            f"tables/{kind}",
            {
                "paper": kind,
                "encoder": ablation.encoder,
                "long_tail": evaluation.long_tail,
                "confidence": evaluation.confidence,
                "variants": self.params.variants[kind],
            },
            selects=self.preset.evaluation.tasks,
            inputs={"evaluations": evaluations, "encoders": encoders},
            files=_published(kind),
        )

    def _licences(self) -> dict[str, str]:
        """What the selected corpora, benchmarks and checkpoints may be used for, by name."""
        chosen = {
            **{name: self.params.corpora[name] for name in self.preset.corpora},
            **{name: self.params.benchmarks[name] for name in self.preset.benchmarks},
            **{name: self.params.encoders[name] for name in self.preset.encoders},
        }
        return {name: found for name, entry in chosen.items() if (found := getattr(entry, "licence", ""))}


def _entry(verb: str) -> str:
    return f"orthoglot.cli.jobs:{verb}"


def _decisive(settings: Any) -> Any:
    """The settings without the licences, which change no result."""
    if isinstance(settings, dict):
        return {
            name: _decisive(value) if isinstance(value, dict) else value
            for name, value in settings.items()
            if name != "licence"
        }
    return settings


def _strings(settings: Any) -> Iterator[str]:
    """Every string in the settings: values, and keys but those of nested settings."""
    if isinstance(settings, dict):
        yield from (name for name, value in settings.items() if not isinstance(value, dict))
    if isinstance(settings, dict | list):
        for value in settings.values() if isinstance(settings, dict) else settings:
            yield from _strings(value)
    elif isinstance(settings, str):
        yield settings
