"""One verb per workflow rule, in the order from text to numbers.

A verb reads a job as JSON (settings, input folders, output folder, key), calls one function, and leaves the complete
output folder with its receipt, or nothing.
"""

from __future__ import annotations

import fcntl
import gc
import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from orthoglot import atomic, receipts
from orthoglot.cli.network import allow_hub
from orthoglot.errors import ConfigError, DataError

app = typer.Typer()
logger = logging.getLogger("orthoglot")
LOCKS = Path(".cache/locks")
ARCHIVES = Path(".cache/opus")
JobFile = Annotated[
    Path, typer.Argument(help="JSON of a job, as workflow/plan.py makes it; - for standard input")
]


class Job:
    """What one verb has to do."""

    def __init__(self, path: Path) -> None:
        try:
            self.text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
            content = json.loads(self.text)
            self.key: str = content["key"]
            self.output = Path(content["output"])
            self.settings: dict[str, Any] = content["settings"]
            self._inputs: dict[str, dict[str, str]] = content["inputs"]
            self._sources: dict[str, Any] = content["sources"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{path}: not a job file ({error})") from error
        self.device: str = content.get("device", "auto")
        self.api: str = content.get("api", "")
        self.curves: dict[str, Any] = content.get("curves", {})
        self.code: str = content.get("code", "")
        self.checkpoint = Path("checkpoints") / self.key

    def folders(self, role: str) -> list[Path]:
        """The input folders with this role."""
        return [Path(folder) for folder in self._inputs.get(role, {})]

    def folder(self, role: str) -> Path:
        """The only input folder with this role."""
        (folder,) = self.folders(role)
        return folder

    def seeds(self, role: str) -> list[Path]:
        """The folders seed1, seed2, ... in the input folders with this role, by number."""
        return [
            seed
            for folder in self.folders(role)
            for seed in sorted(folder.glob("seed*"), key=lambda one: int(one.name.removeprefix("seed")))
        ]

    def previous(self) -> Path | None:
        """The output folder as an earlier job left it; None if there is none, or one that is damaged."""
        return self.output if receipts.read_key(self.output, record=True) else None

    def run(self, work: Callable[[Path], None]) -> None:
        """Let `work` fill the output folder, then write its receipt.

        Raises:
            DataError: an input folder is not the result of the job in the plan, or is damaged; the code of the job
                or an outside file has changed since the plan was made.
        """
        self._check_sources()
        inputs = self._check_inputs()
        # The objects of imported libraries stay: looking at them again and again takes half the time of tokenising.
        gc.freeze()
        with self._lock() as waited:
            if not waited or receipts.read_key(self.output, record=True) != self.key:
                with atomic.building(self.output) as output:
                    work(output)
                    self._check_sources()
                    # What was damaged while the job ran may have been read.
                    self._check_inputs()
                    receipts.write(output, self.key, inputs)
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        logger.info("done: %s", self.output)

    def _check_inputs(self) -> dict[str, tuple[str, str | None]]:
        """Compare every input folder with its receipt; its key and contents, for the receipt of this job."""
        read: dict[str, tuple[str, str | None]] = {}
        for folder, key in (one for folders in self._inputs.values() for one in folders.items()):
            receipts.check(Path(folder), key, record=True)
            read[folder] = (key, None if receipts.trusting() else receipts.contents(Path(folder), key))
        return read

    def _check_sources(self) -> None:
        """Refuse code and outside files that are not those that the key was made from."""
        again = "has changed since this run began; run snakemake again"
        if receipts.sources_digest(self._sources["modules"]) != self._sources["digest"]:
            raise DataError(f"{self.output}: its code {again}")
        for path, digest in self._sources["files"].items():
            if receipts.file_digest(Path(path)) != digest:
                raise DataError(f"{path}: {again}")

    @contextmanager
    def _lock(self) -> Iterator[bool]:
        """Be the only process that makes this folder; yields whether another one made it meanwhile.

        A killed workflow may leave the process of a job running.
        """
        path = LOCKS / f"{self.output}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w") as self.lock:
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                waited = False
            except BlockingIOError:
                logger.info("%s: another process makes it; waiting", self.output)
                fcntl.flock(self.lock, fcntl.LOCK_EX)
                waited = True
            yield waited


@app.command()
def generate(job_file: JobFile) -> None:
    """Generate a family of invented languages with every kind of gold label."""
    from orthoglot.corpora import mini, settings

    job = Job(job_file)
    job.run(lambda output: mini.generate(settings.MiniSettings.model_validate(job.settings), output))


@app.command()
def fetch(
    job_file: JobFile,
    offline: Annotated[
        bool, typer.Option("--offline", help="open no connection, as with ORTHOGLOT_OFFLINE=1")
    ] = False,
) -> None:
    """Fetch one OPUS corpus, unless .cache/opus has it."""
    from orthoglot.corpora import download, opus, opus_lock, settings

    if offline:
        os.environ[download.OFFLINE] = "1"
    job = Job(job_file)
    corpus = settings.OpusSettings.model_validate(job.settings)
    job.run(
        lambda output: opus.fetch(
            corpus, job.api, output, checkpoint=job.checkpoint, lock=opus_lock.LOCK, cache=ARCHIVES
        )
    )


@app.command()
def benchmark(job_file: JobFile) -> None:
    """Collect a benchmark of any kind in one form."""
    from orthoglot.corpora import benchmarks
    from orthoglot.corpora.kinds import BENCHMARKS

    job = Job(job_file)
    raw = next(iter(job.folders("roots")), None)
    settings = BENCHMARKS[job.settings["kind"]].settings.model_validate(job.settings)
    job.run(lambda output: benchmarks.collect(settings, raw, output))


@app.command()
def prepare(job_file: JobFile) -> None:
    """Clean one language pair, remove benchmark sentences, split it."""
    from orthoglot.corpora import prepare as corpus

    job = Job(job_file)
    settings = corpus.PrepareSettings.model_validate(job.settings)
    job.run(lambda output: corpus.prepare(settings, job.folders("benchmarks"), output))


@app.command()
def shard(job_file: JobFile) -> None:
    """Clean text of one language, remove benchmark and held-out sentences, cut it into shards."""
    from orthoglot.corpora import text as corpus

    job = Job(job_file)
    settings = corpus.PrepareTextSettings.model_validate(job.settings)
    before = job.folders("bitext"), job.folders("benchmarks")
    job.run(lambda output: corpus.prepare_text(settings, *before, output))


@app.command()
def tokenise(
    job_file: JobFile,
    processes: Annotated[int, typer.Option(min=1, help="with words: moses")] = 1,
) -> None:
    """Cut the text for training into ids, by a new tokenizer or by that of the encoder that training starts from."""
    from orthoglot.encoders.training_settings import TokensSettings
    from orthoglot.pretraining import tokenise as tokens

    job = Job(job_file)
    job.run(
        lambda output: tokens.tokenise(
            TokensSettings.model_validate(job.settings),
            job.folders("bitext"),
            corpora=job.folders("corpora"),
            start=next(iter(job.folders("start")), None),
            checkpoint=job.checkpoint,
            output=output,
            processes=processes,
        )
    )


@app.command()
def pretrain(job_file: JobFile) -> None:
    """Train an encoder (EMS, Emma-X, distillation, masked language modelling), or get a frozen checkpoint."""
    job = Job(job_file)
    if "checkpoint" in job.settings["encoder"]:
        allow_hub()
    if (count := job.settings["encoder"].get("processes", 1)) == 1:
        job.run(lambda output: _make_encoder(job, output))
        return
    from orthoglot.training.distributed import launch

    def start_processes(output: Path) -> None:
        file = job.checkpoint / "job.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(job.text, encoding="utf-8")
        launch(count, ["train-together", str(file), str(output)], job.lock)

    job.run(start_processes)


@app.command()
def train_together(
    job_file: JobFile, output: Annotated[Path, typer.Argument(help="an empty folder")]
) -> None:
    """Be one of the processes of a training: `pretrain` starts them through torchrun."""
    _make_encoder(Job(job_file), output)


def _make_encoder(job: Job, output: Path) -> None:
    from orthoglot.encoders import kinds

    described = job.settings["encoder"]
    settings = kinds.KINDS[described["kind"]].settings.model_validate(described)
    encoders = {role: folders[0] for role in ("start", "teacher") if (folders := job.folders(role))}
    tokens = next(iter(job.folders("tokens")), None)
    inputs = kinds.Inputs(job.folders("bitext"), job.folders("corpora"), tokens, encoders)
    run = kinds.RunOptions(job.device, job.checkpoint)
    if job.curves:
        run = replace(run, curves=Path(job.curves["folder"]), tools=tuple(job.curves["tools"]))
    kinds.make_encoder(settings, job.settings["name"], inputs, run, output)


@app.command()
def embed(
    job_file: JobFile,
    processes: Annotated[int, typer.Option(min=1, help="on a CPU, with one thread each")] = 1,
) -> None:
    """Encode every distinct sentence once and store the vectors."""
    from orthoglot.embeddings import embed as embeddings
    from orthoglot.embeddings.settings import EmbeddingSettings

    job = Job(job_file)
    job.run(
        lambda output: embeddings.embed(
            job.folder("encoder"),
            job.folders("bitext"),
            job.folders("benchmarks"),
            EmbeddingSettings.model_validate(job.settings),
            device=job.device,
            checkpoint=job.checkpoint,
            output=output,
            processes=processes,
            earlier=job.previous() if job.code else None,
            code=job.code,
        )
    )


@app.command()
def decompose(job_file: JobFile) -> None:
    """Train a method's decomposers on stored vectors, one for each seed, or compute its closed form."""
    from orthoglot.embeddings.store import EmbeddingStore
    from orthoglot.encoders.folder import identity
    from orthoglot.training import decompose as training
    from orthoglot.training.settings import DecompositionSettings, MethodSettings

    job = Job(job_file)
    settings = job.settings

    def work(output: Path) -> None:
        store = EmbeddingStore.open(job.folder("embeddings"), identity(job.folder("encoder")))
        data = training.collect(store, job.folders("bitext"), settings["train_pairs"])
        method = MethodSettings.model_validate(settings["method"])
        recipe = DecompositionSettings.model_validate(settings["recipe"]) if settings["recipe"] else None
        endings = []
        for seed in settings["seeds"]:
            folder = output / f"seed{seed}"
            folder.mkdir()
            ending = training.decompose(
                method,
                recipe,
                settings["name"],
                store,
                data,
                seed=seed,
                device=job.device,
                checkpoint=job.checkpoint / f"seed{seed}",
                output=folder,
                code=job.code,
            )
            if ending is not None:
                endings.append(ending)
        if recipe is not None and endings:
            training.log_endings(method, recipe, settings["name"], endings)

    job.run(work)


@app.command("evaluate-job")  # `evaluate` is for people
def evaluate(job_file: JobFile) -> None:
    """Score one method on one encoder over all tasks, views and seeds."""
    from orthoglot.encoders.folder import identity
    from orthoglot.tasks import evaluate as evaluation
    from orthoglot.tasks.settings import EvaluationSettings

    job = Job(job_file)
    job.run(
        lambda output: evaluation.evaluate(
            EvaluationSettings.model_validate(job.settings["evaluation"]),
            job.folder("embeddings"),
            job.folders("bitext"),
            job.folders("benchmarks"),
            job.seeds("decomposers"),
            encoder=job.settings["encoder"],
            identity=identity(job.folder("encoder")),
            method=job.settings["method"],
            output=output,
            # Only where it is asked for: under auto the job reserves no GPU.
            device=job.device if job.device.startswith("cuda") else "cpu",
        )
    )


@app.command()
def report(job_file: JobFile) -> None:
    """Gather all records into tables, figures and one HTML report."""
    from orthoglot.report import page as evaluation
    from orthoglot.tasks.settings import EvaluationSettings

    job = Job(job_file)
    histories = [
        path
        for folder in [*job.folders("encoders"), *job.seeds("decomposers")]
        if (path := folder / "history.jsonl").exists()
    ]
    job.run(
        lambda output: evaluation.report(
            job.folders("evaluations"),
            histories,
            [folder / "counts.json" for folder in job.folders("bitext")],
            job.settings["title"],
            EvaluationSettings.model_validate(job.settings["evaluation"]),
            methods=dict(job.settings["methods"]),
            selected=job.settings["selected"],
            text=[folder / "counts.json" for folder in job.folders("text")],
            decomposers=job.seeds("decomposers"),
            invented=job.settings["invented"],
            licences=job.settings["licences"],
            output=output,
        )
    )
    logger.info("report: %s", (job.output / "report.html").resolve())


@app.command()
def tabulate(job_file: JobFile) -> None:
    """Write a paper's tables with the numbers of the report's records, or of the variants of an encoder."""
    from orthoglot.papers.published import load_paper
    from orthoglot.papers.runs import run_of_variants
    from orthoglot.papers.table import write_paper, write_records
    from orthoglot.statistics.records import read_records

    job = Job(job_file)
    paper = load_paper(job.settings.pop("paper"))
    if paper.variants:
        folders = job.folders("evaluations"), job.folders("encoders")
        job.run(lambda output: write_paper(run_of_variants(paper, *folders, **job.settings), output))
    else:
        records = job.folder("results") / "records.jsonl"
        job.run(lambda output: write_records(paper.name, read_records(records), output))
