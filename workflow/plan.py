"""The jobs of grid.py, each with a key that changes when its result may change.

A job makes one folder. Its key is a digest of its verb, folder, settings, code (orthoglot.study.jobs.digests), outside
files, and the keys of its inputs. The folder's receipt carries the key in its name, `FOLDER/receipt/KEY.json`, and is
the output that a rule declares. So a result is recognised wherever it comes from: an earlier run, DVC's cache, a pull,
an experiment.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grid import Grid, Work
from orthoglot import receipts
from orthoglot.apply import ready_model
from orthoglot.catalogue_entries import closest
from orthoglot.encoders import kinds
from orthoglot.encoders.segmentation import open_segmenter
from orthoglot.errors import ConfigError
from orthoglot.packages import installed_package
from orthoglot.study import config
from orthoglot.study.jobs.digests import SOURCE, files_digest, job_code
from orthoglot.study.jobs.job import key_of, parts
from orthoglot.study.papers.published import ENCODER_PAPERS

# Verbs by DVC stage.
STAGES = {
    "corpora": ("generate", "fetch", "download", "benchmark", "prepare", "shard"),
    "encoders": ("tokenise", "pretrain"),
    "embeddings": ("embed",),
    "decomposers": ("stack", "decompose"),
    "evaluation": ("evaluate", "finetune", "gather", "report"),
}
# Those of a mining, and of a language pair in parts, whose results DVC does not keep.
MINING = ("split", "encode", "centre", "search", "merge", "assign", "look_up", "collect", "mine")
PARTS = ("clean", "choose", "pack")
# Files that users name as targets, by verb.
FILES = {
    "report": "report.html tables.md records.jsonl records.parquet examples.json languages.json metrics.json "
    "plots/corner.csv plots/curves.csv text-maps.npz figures/answer.svg figures/training.svg",
    "tabulate": "{paper}-table.html",
    "mine": "pairs.tsv pairs.tsv.json",
}
PACKED = (".gz", ".zst")


@dataclass(frozen=True, kw_only=True)
class Job(Work):
    """Work with its key."""

    key: str
    code: Mapping[str, str]  # the digest of what it uses of each module, by the module's name
    files: Mapping[str, str]  # SHA-256 of every outside file that it reads, by path

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


class Plan(Grid):
    """Every job of the selected preset and loss, by output folder."""

    def __init__(self, params: config.Params) -> None:
        super().__init__(params)
        self.jobs: dict[str, Job] = {}
        for work in self.work.values():  # each after those whose folders it reads
            self.jobs[work.folder] = self._job(work)
        self._by_key = {job.key: job for job in self.jobs.values()}

    def _job(self, work: Work) -> Job:
        """The job with its key, after those whose folders it reads."""
        # Relative, so that a workspace may be moved.
        paths = [*work.own, *work.reads]
        files = dict(zip(map(_named, paths), files_digest(paths), strict=True))
        code = job_code(work.verb, work.settings, work.selects)
        job = Job(**vars(work), key="", code=code, files=files)
        keys = {role: {name: self.jobs[name].key for name in folders} for role, folders in job.inputs.items()}
        return replace(job, key=key_of(job.verb, job.folder, job.parts, keys))

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
        """Raise ConfigError if a file of the user's, or a package, program or model that the job uses, is absent."""
        for source in job.settings.get("sources", []):
            for name, package in source.get("packages", {}).items():
                try:
                    installed_package(name, package["version"])
                except ConfigError as error:
                    raise ConfigError(f"corpora.{source['name']}: {error}") from error
        if job.verb == "tokenise" and job.settings["tokenizer"]:
            for segmenter in sorted({*job.settings["tokenizer"]["segmenters"].values()}):
                open_segmenter(segmenter)
        if job.verb == "encode" and job.settings["number"] == 1 and not job.settings["model"]:
            ready_model.default()
        for path, entry in job.own.items():
            if not Path(path).is_file():
                section, _, name = entry.partition(".")
                named = (
                    getattr(self.params, section).get(name) if section in ("corpora", "benchmarks") else None
                )
                advice = getattr(named, "obtain", "") or "put it there or correct the entry"
                raise ConfigError(f"{entry}: {path} does not exist; {advice}")

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
        """Every path that a user may name as a target, with the receipt of its job; those of parts are too many."""
        for folder, job in self.jobs.items():
            if job.verb in {*MINING, *PARTS} - {"mine"}:
                continue
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
        for folder, reason in self.refused.items():
            if folder.startswith("tables/"):
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
        return self.jobs[encoder].settings["encoder"]["kind"] in kinds.settings()

    def gpus(self, key: str) -> int:
        """How many GPUs the job takes."""
        job, device = self.of_key(key), self.params.device
        if "stack" in job.inputs:  # what it takes out is trained
            return 0
        # Evaluations search on a GPU only where it is asked for.
        present = device == "auto" and job.verb != "evaluate" and any(Path("/dev").glob("nvidia[0-9]*"))
        return int(device.startswith("cuda") or present) * self.processes(key)

    def text_mb(self) -> int:
        """The size of both texts to mine; of a packed one, four times its file."""
        settings = self.preset.mine
        paths = [Path(path) for path in (settings.source, settings.target)] if settings else []
        sizes = [path.stat().st_size * (4 if path.suffix in PACKED else 1) for path in paths if path.exists()]
        return sum(sizes) // 2**20

    def processes(self, key: str) -> int:
        """How many processes train an encoder together; 1 for other jobs."""
        encoder = self.of_key(key).settings.get("encoder")
        return int(encoder.get("processes", 1)) if isinstance(encoder, dict) else 1


def _named(path: str) -> str:
    """A file's path relative to the workspace; of the package, as in the workspace that has this source."""
    inside = Path(path).is_relative_to(SOURCE)
    return str(Path(path).relative_to(SOURCE.parent)) if inside else os.path.relpath(path)
