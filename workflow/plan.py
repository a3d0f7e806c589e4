"""The jobs that params.yaml asks for, each with a key that changes exactly when its result may change.

A job makes one folder. Its key is a digest of its verb, folder, settings, code (orthoglot.jobs.digests), outside files,
and the keys of its inputs. The folder's receipt carries the key in its name, `FOLDER/receipt/KEY.json`, and is the
output that a rule declares. So a result is recognised wherever it comes from: an earlier run, DVC's cache, a pull, an
experiment.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checks import EncoderChecks, absent, check_benchmarks, check_opus, check_parts
from orthoglot import __version__, config, receipts
from orthoglot.benchmarks.base import Benchmark
from orthoglot.encoders.kinds import SAVED_AS, EncoderSettings, kind
from orthoglot.encoders.segmentation import open_segmenter
from orthoglot.encoders.settings import FrozenSettings
from orthoglot.encoders.training_settings import TrainingSettings
from orthoglot.entries import closest
from orthoglot.errors import ConfigError
from orthoglot.finetuning.settings import FINE_TUNED, FineTuningSettings
from orthoglot.jobs.digests import SOURCE, digest, files_digest, job_code
from orthoglot.jobs.job import key_of, parts
from orthoglot.languages import parse_pair
from orthoglot.packages import installed_package
from orthoglot.papers.published import DECOMPOSER_PAPERS, ENCODER_PAPERS, SUITES
from orthoglot.text.patterns import here

# Verbs by DVC stage.
STAGES = {
    "corpora": ("generate", "fetch", "download", "benchmark", "prepare", "shard"),
    "encoders": ("tokenise", "pretrain"),
    "embeddings": ("embed",),
    "decomposers": ("decompose",),
    "evaluation": ("evaluate", "finetune", "gather", "report"),
}
# Files that users name as targets, by verb.
FILES = {
    "report": "report.html tables.md records.jsonl records.parquet examples.json languages.json metrics.json "
    "plots/corner.csv plots/curves.csv text-maps.npz figures/answer.svg figures/training.svg",
    "tabulate": "{paper}-table.html",
}
# Settings of a corpus that its files do not depend on: they say what is read of them.
NOT_FETCHED = {"max_pairs", "unless_in", "listed", "obtain"}
PUBLISHED = SOURCE / "orthoglot/papers/published"
CHARTS = SOURCE / "orthoglot/report/charts"


@dataclass(frozen=True)
class Job:
    """One verb, what it gets, and the folder that it makes.

    Attributes:
        settings: decide the result.
        inputs: folders of earlier jobs, by role.
        selects: what it uses of registries without its settings naming it.
        own: the user's files that it reads, each with the entry of params.yaml that names it.
        code: the digest of each module that it runs, by name.
        files: SHA-256 of every outside file that it reads, by path.
    """

    verb: str
    folder: str
    settings: dict[str, Any]
    inputs: dict[str, list[str]]
    key: str
    selects: Sequence[str]
    own: Mapping[str, str]
    code: Mapping[str, str]
    files: Mapping[str, str]

    @property
    def folders(self) -> list[str]:
        """The folders that it reads, in the order of the roles."""
        return [folder for folders in self.inputs.values() for folder in folders]

    @property
    def parts(self) -> dict[str, Any]:
        """What the key is a digest of, besides the keys of the inputs; a receipt states it."""
        return parts(self.settings, self.code, self.files)

    @property
    def receipt(self) -> str:
        """The file that exists when the job is done."""
        return str(receipts.path(Path(self.folder), self.key))


@dataclass(frozen=True)
class Seen:
    """What the encoders of one part see.

    Attributes:
        bitext: folders of sentence pairs.
        text: folders of text without translations.
        benchmarks: folders of test sets, by name.
        checks: whether an encoder fits them.
    """

    bitext: list[str]
    text: list[str]
    benchmarks: dict[str, str]
    checks: EncoderChecks

    def without(self, languages: Sequence[str]) -> Seen:
        """What is left without every pair and every text of some languages."""
        kept = [one for one in self.bitext if not set(parse_pair(Path(one).name)) & set(languages)]
        return replace(self, bitext=kept, text=[one for one in self.text if Path(one).name not in languages])


class Plan:
    """Every job of the selected preset and loss, by output folder."""

    def __init__(self, params: config.Params) -> None:
        # What the preset could do without, and why it has to.
        self.left_out = absent(params)
        self.params = params.without(self.left_out)
        self.preset = self.params.selected
        self.name = params.preset
        self.jobs: dict[str, Job] = {}
        # Settings of every test set, and of those that encoders are fine-tuned for and on.
        self.sets = self.params.benchmarks_read(self.name)
        self._corpora()
        self._encoders()
        self._fine_tuning()
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
            preset = folder.split("/")[1] if "/" in folder else ""
            left_out = {*self.params.methods} - {*self.params.losses}
            if kind in ENCODER_PAPERS:
                hint = f": presets.{self.name}.ablations names no encoder of kind {kind}"
            elif preset != self.name and preset in self.params.presets:
                hint = (
                    f", a result of the preset {preset}; the preset is {self.name} (--config preset={preset})"
                )
            elif method := next((part for part in folder.split("/") if part in left_out), None):
                hint = f": its methods leave out {method} (--config loss={method})"
            else:
                hint = closest(folder, self.jobs)
            raise ConfigError(f"params.yaml asks for no {folder}{hint}")
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
        job = self._by_key[key]
        self.check_files(job)
        return job

    def check_files(self, job: Job) -> None:
        """Raise ConfigError if a file of the user's, or a package or program that the job uses, is absent."""
        for source in job.settings.get("sources", []):
            for name, package in source.get("packages", {}).items():
                try:
                    installed_package(name, package["version"])
                except ConfigError as error:
                    raise ConfigError(f"corpora.{source['name']}: {error}") from error
        if job.verb == "tokenise" and job.settings["tokenizer"]:
            for segmenter in sorted({*job.settings["tokenizer"]["segmenters"].values()}):
                open_segmenter(segmenter)
        for path, entry in job.own.items():
            if not Path(path).is_file():
                section, _, name = entry.partition(".")
                named = (
                    getattr(self.params, section).get(name) if section in ("corpora", "benchmarks") else None
                )
                how = getattr(named, "obtain", "") or "put it there or correct the entry"
                raise ConfigError(f"{entry}: {path} does not exist; {how}")

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
            "selects": job.selects,
            "files": job.files,
            # What follows is not part of the key, as it decides no result.
            "device": self.params.device,
            "api": os.environ.get("ORTHOGLOT_OPUS_API", self.params.opus_api),
            "frozen": job.verb == "embed" and self._frozen(job),
        }
        if job.verb == "pretrain" and self.params.curves:
            folder = f"logs/{self.name}/curves/{job.folder.removeprefix(f'models/{self.name}/')}"
            content["curves"] = {"folder": folder, "tools": self.params.curves}
        return json.dumps(content, ensure_ascii=False)

    def receipts(self, *verbs: str) -> list[str]:
        """The receipts of all jobs of these verbs (of all verbs if none is given) that run by default."""
        chosen = (self.jobs[folder] for folder in sorted(self.default))
        return [job.receipt for job in chosen if not verbs or job.verb in verbs]

    def targets(self) -> Iterator[tuple[str, str]]:
        """Every path that a user may name as a target, with the receipt of its job."""
        for folder, job in self.jobs.items():
            yield folder, job.receipt
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
        """Whether the folder is the undamaged result of its job, computed from the bytes that its inputs have now."""
        place = Path(folder)
        return receipts.read_key(place, record=True) == self.jobs[folder].key and not receipts.outdated(
            place, self._contents
        )

    @functools.cache  # noqa: B019 - likewise
    def _contents(self, folder: str, key: str) -> str:
        return receipts.contents(Path(folder), key)

    def damaged(self) -> list[str]:
        """Receipts that are there although their folders are not what their jobs would make."""
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
            if self.jobs[folder].verb in STAGES.get(stage, ())
        }

    def threads(self, key: str) -> int | None:
        """How many threads the job of an encoder, of tokens or of vectors takes; None for as many as there are."""
        job = self.of_key(key)
        if job.verb == "embed":
            return None if self._frozen(job) and not self.gpus(key) else 1
        if job.verb == "finetune":
            return int(job.settings["threads"])
        settings = job.settings
        trained = settings.get("encoder") or settings["tokenizer"]
        return int(trained.get("threads", 1) * trained.get("processes", 1)) if trained else None

    def _frozen(self, job: Job) -> bool:
        """Whether the encoder of a job was trained elsewhere."""
        (encoder,) = job.inputs["encoder"]
        return issubclass(kind(self.jobs[encoder].settings["encoder"]["kind"]).settings, FrozenSettings)

    def gpus(self, key: str) -> int:
        """How many GPUs the job takes."""
        job, device = self.of_key(key), self.params.device
        # Evaluations search on a GPU only where it is asked for.
        found = device == "auto" and job.verb != "evaluate" and any(Path("/dev").glob("nvidia[0-9]*"))
        return int(device.startswith("cuda") or found) * self.processes(key)

    def processes(self, key: str) -> int:
        """How many processes train an encoder together; 1 for other jobs."""
        encoder = self.of_key(key).settings.get("encoder")
        return int(encoder.get("processes", 1)) if isinstance(encoder, dict) else 1

    @functools.cached_property
    def unread(self) -> str:
        """One line about the preset's text if no encoder reads it, of those on demand neither; else empty."""
        text = [name for name, corpus in self.corpora.items() if corpus.texts("")]
        # An ablation that was refused has no jobs.
        named = [self.params.encoders[ablation.encoder] for ablation in self.preset.ablations]
        read = any(job.inputs.get("corpora") for job in self.jobs.values()) or any(
            one.reads_corpora for one in named
        )
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
    ) -> str:
        """Plan a job; its folder."""
        own = own or {}
        # Relative, so that a workspace may be moved.
        paths = [*own, *files]
        read = dict(zip(map(_named, paths), files_digest(paths), strict=True))
        modules = job_code(verb, settings, selects)
        job = Job(verb, folder, settings, inputs, "", selects, own, modules, read)
        keys = {role: {name: self.jobs[name].key for name in folders} for role, folders in inputs.items()}
        self.jobs[folder] = replace(job, key=key_of(verb, folder, job.parts, keys))
        return folder

    def _corpora(self) -> None:
        data = f"data/{self.name}"
        self.corpora = corpora = self.params.corpora_of(self.name)
        check_opus({**corpora, **self.params.releases_of(self.name)})
        self.addresses = self.params.addresses_of(self.name)
        made = {
            name: self._add(
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
        self.bitext = [
            self._cleaned("prepare", f"{data}/bitext/{pair}", found, {"pair": pair, **both}, before)
            for pair, found in sorted(pairs.items())
        ]
        # After the pairs, whose sentences for validation and test it leaves out.
        before["bitext"] = self.bitext
        self.text = [
            self._cleaned(
                "shard", f"{data}/text/{language}", found, {"language": language, **settings}, before
            )
            for language, found in sorted(languages.items())
        ]
        # The corpora that bring each pair, and each language's text.
        self._brought = {
            name: [source["name"] for _, source in found] for name, found in {**pairs, **languages}.items()
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
            return [one for one in folders if set(self._brought[Path(one).name]) & set(part.corpora)]

        bitext, text = brought(self.bitext), brought(self.text)
        pairs = [Path(folder).name for folder in bitext]
        folders = {name: folder for name, folder in self.benchmarks.items() if name in part.benchmarks}
        codes = {name: self.sets[name].codes for name in folders}
        check_benchmarks(self.params, codes, pairs)
        texts = [Path(folder).name for folder in text]
        return Seen(bitext, text, folders, EncoderChecks(self.params, part, codes, pairs, texts))

    def _cleaned(
        self,
        verb: str,
        folder: str,
        found: Sequence[tuple[str, dict[str, Any]]],
        settings: dict[str, Any],
        before: dict[str, list[str]],
    ) -> str:
        """The job that cleans the text of a pair or language; files in no job's folder are the user's."""
        filters = settings["cleaning"]["opusfilter"]
        return self._add(
            verb,
            folder,
            {**settings, "sources": [source for _, source in found]},
            inputs={"roots": sorted({root for root, _ in found if root}), **before},
            own={
                path: f"corpora.{source['name']}"
                for root, source in found
                for path in source.get("paths", [source["path"]] if "path" in source else [])
                if not root or not path.startswith(f"{root}/")
            }
            | ({filters: f"presets.{self.name}.cleaning.opusfilter"} if filters else {}),
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
        return self._add("download", f"data/{self.name}/files/{entry}", settings, inputs={})

    def _benchmark(self, name: str, settings: Benchmark) -> str:
        inputs = {"roots": [self._world(f"benchmarks.{name}")] if settings.invented else []}
        if fetched := self._download(f"benchmarks.{name}"):
            inputs["files"] = [fetched]
        if release := settings.release:
            folder = f"data/{self.name}/opus/benchmarks.{name}"
            about = release.model_dump(exclude=NOT_FETCHED)
            inputs["files"] = [self._add(release.verb, folder, about, inputs={})]
        return self._add(
            "benchmark",
            f"data/{self.name}/benchmarks/{name}",
            settings.model_dump(exclude={"obtain", "taught"}),
            inputs=inputs,
            own=dict.fromkeys(settings.outside, f"benchmarks.{name}"),
        )

    def _encoders(self) -> None:
        self.encoders: dict[str, str] = {}
        # What the jobs that read an encoder's vectors get.
        self.embedded: dict[str, dict[str, list[str]]] = {}
        stored = self.preset.embedding.model_dump()
        for name in self.preset.encoders:
            settings = self.params.encoders[name]
            seen = self._seen(name)
            seen.checks.encoder(name, settings)
            self.encoders[name] = self._encoder(name, settings, seen, f"models/{self.name}/encoders/{name}")
            inputs = {
                "encoder": [self.encoders[name]],
                "bitext": seen.bitext,
                "benchmarks": list(seen.benchmarks.values()),
            }
            self.embedded[name] = self._embed(f"embeddings/{self.name}/{name}", settings, stored, inputs)

    def _embed(
        self, folder: str, encoder: EncoderSettings, settings: dict[str, Any], inputs: dict[str, list[str]]
    ) -> dict[str, list[str]]:
        """Plan the job that stores an encoder's vectors; return its inputs and these vectors."""
        self._add("embed", folder, settings, selects=self._kinds(encoder), inputs=inputs)
        return {**inputs, "embeddings": [folder]}

    def _encoder(self, name: str, settings: EncoderSettings, seen: Seen, output: str) -> str:
        """The job that trains or links an encoder, after those of the encoders that it starts from."""
        if output in self.jobs:
            return output
        trained = not isinstance(settings, FrozenSettings)
        files = []
        if isinstance(settings, FrozenSettings) and Path(settings.checkpoint).is_dir():
            files = sorted(str(path) for path in Path(settings.checkpoint).rglob("*") if path.is_file())
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
        settled = {"name": name, "encoder": settings.model_dump(exclude={"stands_for"})}
        kinds = self._kinds(settings)
        return self._add("pretrain", output, settled, selects=kinds, inputs=inputs, files=files)

    def _kinds(self, settings: EncoderSettings) -> list[str]:
        """The kinds of encoders that making and opening this one use."""
        before = [self.params.encoders[origin] for origin in settings.origins.values()]
        saved = [] if kind(settings.kind).load else SAVED_AS
        return sorted({settings.kind, *saved, *(kind for one in before for kind in self._kinds(one))})

    def _tokens(self, settings: TrainingSettings, seen: Seen, start: list[str], home: str) -> str:
        """The job in `home` that cuts the text for an encoder, and for every other one that cuts it alike."""
        cut = settings.tokens
        inputs = {
            "bitext": seen.bitext,
            "corpora": seen.text if cut.text == "corpora" else [],
            "start": [] if cut.tokenizer else start,
        }
        output = f"{home}/{digest([cut.model_dump(), inputs['start']])[:12]}"
        return self._add("tokenise", output, cut.model_dump(), inputs=inputs)

    def _decomposers(self, encoder: str, name: str) -> list[str]:
        """The job that fits a method to an encoder's vectors; none for a method without a decomposer."""
        method = self.params.methods[name]
        if method.architecture == "original":
            return []
        folder = self._add(
            "decompose",
            f"models/{self.name}/decomposers/{encoder}/{name}",
            {
                "name": name,
                # Reports read the host; training does not.
                "method": method.model_dump(exclude={"host"}),
                "decomposition": self.preset.decomposition.model_dump() if method.terms else None,
                # A method without terms is the same for every seed.
                "seeds": self.preset.seeds if method.terms else self.preset.seeds[:1],
                "train_pairs": self.preset.embedding.train_pairs,
            },
            inputs={role: self.embedded[encoder][role] for role in ("encoder", "embeddings", "bitext")},
        )
        return [folder]

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
                    self._add(
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
            if folder not in self.jobs:
                self._benchmark(name, self.sets[name])
        return self._add(
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

    def _evaluation(self) -> None:
        settings = self.preset.evaluation.model_dump()
        decomposers: list[str] = []
        evaluations: list[str] = []
        for encoder, embedded in self.embedded.items():
            for method in self.params.losses:
                folders = self._decomposers(encoder, method)
                decomposers += folders
                evaluations.append(
                    self._evaluate(
                        f"evaluations/{self.name}/{encoder}/{method}",
                        {
                            "encoder": encoder,
                            "stands_for": self.params.encoders[encoder].stands_for,
                            "method": method,
                            "evaluation": settings,
                        },
                        self.params.methods[method].architecture,
                        {**embedded, "decomposers": folders},
                    )
                )
        self.report = self._add(
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
                "evaluation": settings,
            },
            inputs={
                "evaluations": evaluations,
                "fine_tuned": self.fine_tuned,
                "decomposers": decomposers,
                "encoders": list(self.encoders.values()),
                "bitext": self.bitext,
                "text": self.text,
            },
            files=[str(path) for path in sorted(CHARTS.glob("*.json"))],
        )

    def _evaluate(
        self, folder: str, settings: dict[str, Any], architecture: str, inputs: dict[str, list[str]]
    ) -> str:
        """The job that scores one method on one encoder."""
        return self._add(
            "evaluate",
            folder,
            # The version is written into every record.
            {**settings, "version": __version__},
            selects=[architecture],
            inputs=inputs,
        )

    def _tables(self) -> None:
        for paper in (*DECOMPOSER_PAPERS, *SUITES):
            self._table(paper, {}, {"results": [self.report]})

    def _table(self, paper: str, settings: dict[str, Any], inputs: dict[str, list[str]]) -> None:
        """Plan the job that writes a paper's numbers next to those of this run."""
        published = [f"{paper}.csv", f"{paper}.toml", "datasets.toml", "methods.toml"]
        self._add(
            "tabulate",
            f"tables/{paper}",
            {"paper": paper, **settings},
            selects=self.preset.evaluation.tasks,
            inputs=inputs,
            files=[str(CHARTS / "gaps.json"), *(str(PUBLISHED / name) for name in published)],
        )

    def _ablations(self) -> None:
        """The variants of an encoder's kind, measured by retrieval alone; then the paper's table of them."""
        tasks = [task for task in self.preset.evaluation.tasks if task in ("tatoeba", "nway")]
        measured = self.preset.evaluation.model_copy(update={"tasks": ["heldout", *tasks]})
        # No vector of a training pair is asked for.
        stored = self.preset.embedding.model_copy(update={"train_pairs": 1})
        for ablation in self.preset.ablations:
            planned = dict(self.jobs)
            try:
                self._ablation(ablation, stored.model_dump(), measured.model_dump())
            except ConfigError as error:
                self.jobs = planned
                self.refused[f"tables/{self.params.encoders[ablation.encoder].kind}"] = str(error)

    def _ablation(
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

    def _languages(self) -> dict[str, list[str]]:
        """The languages of a checkpoint, by the preset's frozen encoder that states none, from another entry for it."""
        frozen = {name: one for name, one in self.params.encoders.items() if isinstance(one, FrozenSettings)}
        stated = {one.checkpoint: one.languages for one in frozen.values() if one.languages}
        return {
            name: stated[one.checkpoint]
            for name, one in frozen.items()
            if name in self.preset.encoders and not one.languages and one.checkpoint in stated
        }

    def _licences(self) -> dict[str, str]:
        """What the selected corpora, benchmarks and checkpoints may be used for, by name."""
        chosen = {
            **self.corpora,
            **self.sets,
            **{name: self.params.encoders[name] for name in self.preset.encoders},
        }
        return {name: found for name, entry in chosen.items() if (found := getattr(entry, "licence", ""))}


def _named(path: str) -> str:
    """A file's path relative to the workspace; of the package, as in the workspace that has this source."""
    inside = Path(path).is_relative_to(SOURCE)
    return str(Path(path).relative_to(SOURCE.parent)) if inside else os.path.relpath(path)
