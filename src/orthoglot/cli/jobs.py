"""One verb per workflow rule, in the order of the walk from text to number.

A verb takes a job file (JSON: settings, input folders, output folder) that the workflow writes, calls one function
and leaves the whole output folder with its receipt, or nothing.
"""

from __future__ import annotations

import fcntl
import functools
import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from orthoglot import atomic, receipts
from orthoglot.errors import ConfigError, DataError

app = typer.Typer()
logger = logging.getLogger("orthoglot")
JobFile = Annotated[Path, typer.Argument(help="job file written by the workflow under .jobs/")]


class Job:
    """What one verb has to do, read from its job file."""

    def __init__(self, path: Path) -> None:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            self.key: str = content["key"]
            self.output = Path(content["output"])
            self.settings: dict[str, Any] = content["settings"]
            self._inputs: dict[str, list[str]] = content["inputs"]
            self._before: dict[str, str] = content["before"]
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(f"{path}: not a job file ({error})") from error
        self.device: str = content.get("device", "auto")
        self.api: str = content.get("api", "")
        self.curves: dict[str, Any] = content.get("curves", {})
        self.checkpoint = Path("checkpoints") / self.key[:16]

    def folders(self, role: str) -> list[Path]:
        """The input folders that play this role."""
        return [Path(folder) for folder in self._inputs.get(role, [])]

    def folder(self, role: str) -> Path:
        """The only input folder that plays this role."""
        (folder,) = self.folders(role)
        return folder

    def run(self, work: Callable[[Path], None]) -> None:
        """Let `work` fill the output folder, then seal it with the job's receipt.

        Raises:
            DataError: an input folder is not the result that the job's key speaks of.
        """
        with self.due() as due:
            if due:
                with self.building() as output:
                    work(output)
        self.end()

    @contextmanager
    def due(self) -> Iterator[bool]:
        """Hold the job's lock; yields whether it is still to be done.

        Raises:
            DataError: an input folder is not the result that the job's key speaks of.
        """
        for folder, key in self._before.items():
            if receipts.read_key(Path(folder)) != key:
                raise DataError(
                    f"{folder} is not what {self.output} builds on: run the stages before it first"
                )
        lock = Path(".jobs") / f"{self.output}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with open(lock, "w") as held:
            # A killed workflow may have left this very job running: wait for it, then find its work done.
            fcntl.flock(held, fcntl.LOCK_EX)
            self.lock = held
            yield receipts.read_key(self.output) != self.key

    @contextmanager
    def building(self) -> Iterator[Path]:
        """Yield the folder to fill, which becomes the output, sealed with the job's receipt."""
        with atomic.building(self.output) as output:
            yield output
            receipts.write(output, self.key)

    def end(self) -> None:
        """Clear away what an interrupted run would have gone on from."""
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        logger.info("done: %s", self.output)


@app.command()
def generate(job_file: JobFile) -> None:
    """Generate a family of invented languages with every kind of gold label."""
    from orthoglot.corpora import mini, settings

    job = Job(job_file)
    job.run(lambda output: mini.generate(settings.MiniSettings.model_validate(job.settings), output))


@app.command()
def fetch(job_file: JobFile) -> None:
    """Fetch one OPUS corpus: the only verb that opens a network connection."""
    from orthoglot.corpora import opus, settings

    job = Job(job_file)
    corpus = settings.OpusSettings.model_validate(job.settings)
    job.run(lambda output: opus.fetch(corpus, job.api, output, checkpoint=job.checkpoint))


@app.command()
def benchmark(job_file: JobFile) -> None:
    """Collect a benchmark of any kind in one form."""
    from pydantic import TypeAdapter

    from orthoglot.corpora import benchmarks, settings

    job = Job(job_file)
    raw = next(iter(job.folders("roots")), None)
    chosen: settings.BenchmarkSettings = TypeAdapter(settings.BenchmarkSettings).validate_python(job.settings)
    job.run(lambda output: benchmarks.collect(chosen, raw, output))


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
def tokenise(job_file: JobFile) -> None:
    """Cut the text for training into ids, by a new tokenizer or by that of the encoder that training starts from."""
    from orthoglot.encoders.settings import TokensSettings
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
        )
    )


@app.command()
def pretrain(job_file: JobFile) -> None:
    """Train an encoder (EMS, Emma-X, distillation, masked language modelling), or link a frozen checkpoint."""
    job = Job(job_file)
    if (count := job.settings["encoder"].get("processes", 1)) > 1:
        from orthoglot.training.distributed import launch

        job.run(lambda output: launch(count, ["train-together", str(job_file), str(output)], job.lock))
    else:
        job.run(lambda output: _make_encoder(job, output))


@app.command()
def train_together(
    job_file: JobFile, output: Annotated[Path, typer.Argument(help="an empty folder")]
) -> None:
    """Be one of the processes of a training: what `pretrain` starts through torchrun."""
    _make_encoder(Job(job_file), output)


def _make_encoder(job: Job, output: Path) -> None:
    from pydantic import TypeAdapter

    from orthoglot.encoders import kinds

    settings: kinds.EncoderSettings = TypeAdapter(kinds.EncoderSettings).validate_python(
        job.settings["encoder"]
    )
    encoders = {role: folders[0] for role in ("start", "teacher") if (folders := job.folders(role))}
    tokens = next(iter(job.folders("tokens")), None)
    inputs = kinds.Inputs(job.folders("bitext"), job.folders("corpora"), tokens, encoders)
    run = kinds.RunOptions(job.device, job.checkpoint)
    if job.curves:
        run = replace(run, curves=Path(job.curves["folder"]), tools=tuple(job.curves["tools"]))
    kinds.make_encoder(settings, job.settings["name"], inputs, run, output)


@app.command()
def embed(job_file: JobFile) -> None:
    """Encode every distinct sentence once and store the vectors."""
    from orthoglot.embeddings import embed as embeddings
    from orthoglot.encoders.settings import EmbeddingSettings

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
        )
    )


@app.command()
def decompose(job_files: Annotated[list[Path], typer.Argument(help="job files of one encoder")]) -> None:
    """Train decomposers on stored vectors, one after the other."""
    from orthoglot.embeddings.store import EmbeddingStore
    from orthoglot.encoders.folder import identity
    from orthoglot.training import decompose as training
    from orthoglot.training.settings import DecompositionSettings, MethodSettings

    @functools.cache
    def stored(encoder: Path, folder: Path) -> EmbeddingStore:
        return EmbeddingStore.open(folder, identity(encoder))

    @functools.cache
    def collected(store: Path, encoder: Path, bitext: tuple[Path, ...], train_pairs: int) -> training.Data:
        return training.collect(stored(encoder, store), bitext, train_pairs)

    def train(job: Job, output: Path) -> None:
        settings, recipe = job.settings, job.settings["recipe"]
        encoder, store = job.folder("encoder"), job.folder("embeddings")
        training.decompose(
            MethodSettings.model_validate(settings["method"]),
            DecompositionSettings.model_validate(recipe) if recipe else None,
            settings["name"],
            stored(encoder, store),
            collected(store, encoder, tuple(job.folders("bitext")), settings["train_pairs"]),
            seed=settings["seed"],
            device=job.device,
            checkpoint=job.checkpoint,
            output=output,
        )

    for job in map(Job, job_files):
        job.run(functools.partial(train, job))


@app.command()
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
            job.folders("decomposers"),
            encoder=job.settings["encoder"],
            identity=identity(job.folder("encoder")),
            method=job.settings["method"],
            output=output,
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
        for folder in [*job.folders("encoders"), *job.folders("decomposers")]
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
