"""The jobs that params.yaml asks for, each with a key that changes exactly when its result may change.

A job's key is the SHA-256 of its verb, its settings, the code it runs (the verb itself and every orthoglot module
that its entry module imports, directly or not), the digests of outside files it reads, and the keys of the jobs
before it. The verb writes the key into `receipt.json` beside its output, last of all; a job is due when its folder
does not carry its key. So a result is recognised wherever it comes from - this run, another engine,
`dvc checkout`, `dvc pull` - and file times decide nothing: what Snakemake sees is a marker under .jobs/ that is
there exactly when the job is done.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks import EncoderChecks
from digests import SOURCE, code, digest, files_digest, remember_shapes
from orthoglot import __version__, config
from orthoglot.atomic import replacing
from orthoglot.corpora.settings import (
    LocalSettings,
    MiniSettings,
    NwaySettings,
    RetrievalSettings,
    TextCorpusSettings,
)
from orthoglot.encoders.kinds import KINDS, EncoderSettings
from orthoglot.encoders.settings import (
    FrozenSettings,
    TrainingSettings,
    origins,
    reads_corpora,
)
from orthoglot.errors import ConfigError
from orthoglot.objectives import TERMS
from orthoglot.papers.published import DECOMPOSER_PAPERS, ENCODER_PAPERS
from orthoglot.receipts import read_key
from orthoglot.training.settings import MethodSettings

JOB_FILES = Path(".jobs")

# What each verb runs; the code of a job is this module and all it imports.
ENTRY = {
    "generate": "orthoglot.corpora.mini",
    "fetch": "orthoglot.corpora.opus",
    "benchmark": "orthoglot.corpora.benchmarks",
    "prepare": "orthoglot.corpora.prepare",
    "shard": "orthoglot.corpora.text",
    "tokenise": "orthoglot.pretraining.tokenise",
    "embed": "orthoglot.embeddings.embed",
    "decompose": "orthoglot.training.decompose",
    "evaluate": "orthoglot.tasks.evaluate",
    "report": "orthoglot.report.page",
    "tabulate": "orthoglot.papers.table",
    "tabulate_variants": "orthoglot.papers.table",
}
# The printed numbers, one file a paper.
PUBLISHED = SOURCE / "papers" / "published"


def _published(paper: str) -> list[str]:
    """The files that say what a paper prints and how it is compared."""
    return [
        str(PUBLISHED / name) for name in (f"{paper}.csv", f"{paper}.toml", "datasets.toml", "methods.toml")
    ]


@dataclass(frozen=True)
class Job:
    """One verb, what it is given and where its result goes.

    `settings` change the result; `inputs` are the folders of earlier jobs by role; `free` (device, addresses)
    reaches the verb without being part of the key; `own` are the user's files that it reads, each with the entry of
    params.yaml that names it.
    """

    verb: str
    output: str
    settings: dict[str, Any]
    inputs: dict[str, list[str]]
    before: dict[str, str]
    key: str
    free: dict[str, Any]
    own: Mapping[str, str]

    @property
    def file(self) -> Path:
        """The JSON file that the verb reads."""
        return JOB_FILES / f"{self.output}.json"

    @property
    def missing(self) -> str:
        """Which of the user's files is not there, in one line; empty if all are."""
        told = (
            f"{entry}: {path} does not exist; put it there or mend the entry"
            for path, entry in self.own.items()
            if not Path(path).is_file()
        )
        return next(told, "")

    def announce(self) -> None:
        """Write the job file."""
        content = {
            "verb": self.verb,
            "key": self.key,
            "output": self.output,
            "settings": self.settings,
            "inputs": self.inputs,
            "before": self.before,
            **self.free,
        }
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
        # Most are as an earlier run left them, and to write hundreds safely takes seconds.
        if not self.file.is_file() or self.file.read_text(encoding="utf-8") != text:
            with replacing(self.file) as partial:
                partial.write_text(text, encoding="utf-8")


class Plan:
    """Every job of the selected preset and loss, by output folder.

    Args:
        params: what is asked for.
        cores: how many the run may use; one encoder's decomposers are trained in so many processes that all are
            busy. It changes no result.
    """

    def __init__(self, params: config.Params, cores: int = 1) -> None:
        self.params = params
        self.cores = cores
        self.preset = params.selected
        self.name = params.preset
        self.jobs: dict[str, Job] = {}
        self._corpora()
        self._encoders()
        self._decomposers()
        self._evaluation()
        # What comes after runs only when its target is named.
        self.unasked = set(self.jobs)
        self._tables()
        # Why there is no table of an ablation, by its folder: told to whoever asks for it, and to nobody else.
        self.refused: dict[str, str] = {}
        self._ablations()

    def job(self, folder: str) -> Job:
        """The job of an output folder.

        Raises:
            ConfigError: params.yaml asks for no such folder, or for one that its other settings do not allow; a file
                of the user's that the job reads is not there.
        """
        if folder in self.refused:
            raise ConfigError(self.refused[folder])
        if folder not in self.jobs:
            kind = folder.removeprefix("tables/")
            hint = f": presets.{self.name}.ablations names no encoder of kind {kind}"
            hint = hint if kind in ENCODER_PAPERS else ""
            raise ConfigError(f"params.yaml asks for no {folder}{hint}")
        if missing := self.jobs[folder].missing:
            needs = self.preset.needs
            raise ConfigError(missing + (f"; presets.{self.name} needs {needs}" if needs else ""))
        return self.jobs[folder]

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

    def ablations(self) -> list[str]:
        """The markers of the tables of the preset's ablations.

        Raises:
            ConfigError: it has none, or one that its other settings do not allow.
        """
        for reason in self.refused.values():
            raise ConfigError(reason)
        tables = [job.output for job in self.jobs.values() if job.verb == "tabulate_variants"]
        if not tables:
            raise ConfigError(f"presets.{self.name} has no `ablations`")
        return [str(self.marker(table)) for table in tables]

    def marker(self, folder: str) -> Path:
        """The file that is there exactly when the job of `folder`, or its whole part, is done."""
        return JOB_FILES / f"{self.part_of.get(folder, folder)}.done"

    def markers(self, *verbs: str) -> list[str]:
        """The markers of all jobs of these verbs, or of every verb if none is named; but for those on demand."""
        chosen = (
            folder
            for folder, job in self.jobs.items()
            if folder in self.unasked and (not verbs or job.verb in verbs)
        )
        return sorted({str(self.marker(folder)) for folder in chosen})

    @functools.cached_property
    def due(self) -> set[str]:
        """Output folders that do not carry their job's key, or lack a file that their receipt lists."""
        return {folder for folder, job in self.jobs.items() if read_key(Path(folder)) != job.key}

    def announce(self) -> None:
        """Write every job's file and set or take away every marker."""
        remember_shapes()
        done: dict[Path, bool] = {}
        # DVC asks for it even where no encoder is trained on pairs.
        Path(f"models/{self.name}/tokens").mkdir(parents=True, exist_ok=True)
        for folder, job in self.jobs.items():
            job.announce()
            marker = self.marker(folder)
            done[marker] = done.get(marker, True) and folder not in self.due
        for marker, complete in done.items():
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch() if complete else marker.unlink(missing_ok=True)

    def first(self, *folders: str) -> list[str]:
        """Markers that must be there before the due jobs of `folders`: of inputs, and of all due jobs further up.

        A job that is done waits for nothing: a part that it needs may be due for the sake of others.
        """
        due = [folder for folder in folders if folder in self.due]
        direct = {before for folder in due for before in self.jobs[folder].before}
        above = {before for folder in due for before in self._above(folder)}
        return sorted({str(self.marker(before)) for before in direct | (above & self.due)})

    def part(self, name: str) -> list[str]:
        """Folders of the decomposers that one process trains: every n-th method of an encoder.

        Args:
            name: ".../ENCODER/KofN", which says all, so that a job started on another machine finds the same.
        """
        encoder, _, numbers = name.rpartition("/")
        k, n = map(int, numbers.split("of"))
        methods = [folders for folders in self.of_encoder[encoder] if folders]
        return [folder for folders in methods[k - 1 :: n] for folder in folders]

    @functools.cache  # noqa: B019 - a plan lives as long as its process
    def _above(self, folder: str) -> set[str]:
        direct = set(self.jobs[folder].before)
        return direct.union(*(self._above(before) for before in direct))

    def _add(
        self,
        verb: str,
        output: str,
        settings: dict[str, Any],
        *,
        inputs: dict[str, list[str]],
        entries: Sequence[str] = (),
        files: Sequence[str] = (),
        own: Mapping[str, str] | None = None,
        free: dict[str, Any] | None = None,
    ) -> str:
        before = {folder: self.jobs[folder].key for folders in inputs.values() for folder in folders}
        own = own or {}
        run = code(verb, *(entries or [ENTRY[verb]]))
        read = files_digest([*own, *files])
        key = digest([verb, output, _decisive(settings), run, read, inputs, before])
        self.jobs[output] = Job(verb, output, settings, inputs, before, key, free or {}, own)
        return output

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
        code = [KINDS[settings.kind].make.partition(":")[0]]
        free: dict[str, Any] = {"device": self.params.device}
        if trained and self.params.curves:
            folder = f"logs/{self.name}/curves/{output.removeprefix(f'models/{self.name}/')}"
            free["curves"] = {"folder": folder, "tools": self.params.curves}
        settled = {"name": name, "encoder": settings.model_dump()}
        return self._add("pretrain", output, settled, entries=code, inputs=inputs, files=files, free=free)

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
        self.decomposers: dict[tuple[str, str], list[str]] = {}
        self.of_encoder: dict[str, list[list[str]]] = {}
        self.part_of: dict[str, str] = {}
        for encoder, store in self.embeddings.items():
            home = f"models/{self.name}/decomposers/{encoder}"
            for name in self.params.losses:
                method = self.params.methods[name]
                # A method without terms is the same for every seed; the vector itself needs no decomposer.
                seeds = self.preset.seeds if method.terms else self.preset.seeds[:1]
                seeds = [] if method.architecture == "original" else seeds
                recipe = self.preset.decomposition.model_dump() if method.terms else None
                self.decomposers[encoder, name] = [
                    self._add(
                        "decompose",
                        f"{home}/{name}/seed{seed}",
                        {
                            "name": name,
                            # Reports read the host; training does not.
                            "method": method.model_dump(exclude={"host"}),
                            "recipe": recipe,
                            "seed": seed,
                            "train_pairs": self.preset.embedding.train_pairs,
                        },
                        inputs={
                            "encoder": [self.encoders[encoder]],
                            "embeddings": [store],
                            "bitext": self.bitext,
                        },
                        entries=[ENTRY["decompose"], *_term_modules(method)],
                        free={"device": self.params.device},
                    )
                    for seed in seeds
                ]

            self.of_encoder[home] = [self.decomposers[encoder, name] for name in self.params.losses]
            trained = sum(bool(folders) for folders in self.of_encoder[home])
            n = max(1, min(trained, self.cores // len(self.embeddings)))
            for part in (f"{home}/{k}of{n}" for k in range(1, n + 1)):
                self.part_of |= dict.fromkeys(self.part(part), part)

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
        )

    def _tables(self) -> None:
        for paper in DECOMPOSER_PAPERS:
            self._add(
                "tabulate",
                f"tables/{paper}",
                {"paper": paper},
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
                vectors = self._add("embed", f"{home}/embeddings", stored, inputs=text, free=free)
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
                        inputs={**text, "embeddings": [vectors], "decomposers": []},
                    )
                )
        evaluation = self.preset.evaluation
        self._add(
            "tabulate_variants",
            f"tables/{kind}",
            {
                "paper": kind,
                "encoder": ablation.encoder,
                "long_tail": evaluation.long_tail,
                "confidence": evaluation.confidence,
                "variants": self.params.variants[kind],
            },
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

    def threads(self, folder: str) -> int:
        """How many threads the job of this folder takes: of an encoder, or of tokens."""
        settings = self.jobs[folder].settings
        learnt = settings.get("encoder") or settings["tokenizer"]
        # To cut text, as many as there are: nothing depends on it, as a new tokenizer does.
        return int(learnt.get("threads", 1) * learnt.get("processes", 1)) if learnt else self.cores


def _decisive(settings: Any) -> Any:
    """The settings without their licences, which are told to the reader and change no result."""
    if isinstance(settings, dict):
        return {
            name: _decisive(value) if isinstance(value, dict) else value
            for name, value in settings.items()
            if name != "licence"
        }
    return settings


def _term_modules(method: MethodSettings) -> list[str]:
    return sorted({f"orthoglot.objectives.{TERMS[term].partition(':')[0]}" for term in method.terms})
