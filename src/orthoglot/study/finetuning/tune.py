"""Fine-tune an encoder on one set, or on several one after another, and score it on test sets."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import pearsonr, spearmanr

from orthoglot.encoders.base import in_length_order, resolve_device
from orthoglot.encoders.folder import card, identity
from orthoglot.errors import DataError
from orthoglot.random_streams import derive
from orthoglot.settings import Count, Name, Settings, Whole
from orthoglot.statistics.resampling import Scores
from orthoglot.statistics.summary import Key, Scored, write_scores
from orthoglot.study.benchmarks.collected import read_source
from orthoglot.study.benchmarks.kinds import pool, qe, sts
from orthoglot.study.benchmarks.kinds.classification import Item, LabelledSet
from orthoglot.study.finetuning import data as datasets
from orthoglot.study.finetuning import heads
from orthoglot.study.finetuning.data import Data
from orthoglot.study.finetuning.gather import (
    CLASSIFICATION,
    FACTS,
    MADE,
    QUALITY,
    RETRIEVAL,
    SCORES,
    SEVERAL,
    SIMILARITY,
)
from orthoglot.study.finetuning.heads import Tuned
from orthoglot.study.finetuning.network import Opened, open_network, padded
from orthoglot.study.finetuning.settings import FINE_TUNED, Stage
from orthoglot.study.finetuning.train import Judge, Run, predicted, train
from orthoglot.study.tasks.base import Task
from orthoglot.study.tasks.graded_pairs import Grading
from orthoglot.study.tasks.kinds.lareqa import AnswerRetrieval
from orthoglot.study.tasks.transfer import MEASURED, Learner, Transfer, distinct_labels
from orthoglot.training.training_state import History, write_history

# Tokens that are encoded at once, padding included.
BATCH_TOKENS = 16_384
LABELLED = ("pairs", "choices", "texts", "documents")
logger = logging.getLogger(__name__)


class TuningSettings(Settings):
    """One fine-tuning of one encoder with one seed."""

    encoder: Name
    """Its name."""
    seed: Whole
    """Decides new weights, the order of the items, and dropout."""
    stages: list[Stage]
    """The trainings, one after another; each goes on with the network that the one before it left."""
    tests: list[Name]
    """Benchmarks that the network is tested on at the end; of labelled texts, the one that it was trained on last."""
    precision: str
    """See `FineTuningSettings`."""
    threads: Count
    """CPU threads."""


class Prepared(NamedTuple):
    """A stage's data, the model that it trains, and what decides which state is kept."""

    train: Data
    valid: Data
    model: Tuned
    judge: Judge | None


def fine_tune(
    settings: TuningSettings,
    encoder: Path,
    benchmarks: Mapping[str, Path],
    *,
    device: str,
    checkpoint: Path,
    output: Path,
) -> None:
    """Train an encoder on every stage, and write what it scores on the tests.

    The same settings and data give the same bytes on a CPU, whether the training was interrupted or not.

    Args:
        encoder: Its folder.
        benchmarks: Collected folders of stages and tests, by name.
        device: As `resolve_device` reads it.
        checkpoint: Folder for the state from which an interrupted training resumes.
        output: An existing folder; gets scores.npz (`write_scores`), facts.json, made.json and history.jsonl.
    Raises:
        ConfigError: The encoder cannot be fine-tuned.
        DataError: There is too little to learn, or a training fails.
    """
    torch.set_num_threads(settings.threads)
    target = resolve_device(device)
    scored: Scored = {}
    facts: list[tuple[Key, dict[str, object]]] = []
    rows: History = []
    for place, taught in enumerate(_trainings(settings, benchmarks)):
        opened = open_network(encoder)
        opened.network.to(target)
        training = _Training(settings, benchmarks, opened, taught, target)
        model, histories = training.run(checkpoint / str(place))
        for number, history in enumerate(histories):
            rows += [{"training": place, "stage": number, **row} for row in history]
        model.eval()
        for key, scores, about in training.tested(model):
            scored[key] = scores
            facts.append((key, about))
    write_scores(output / SCORES, scored)
    made = {"identity": identity(encoder), "architecture": FINE_TUNED, "partners": "none", "terms": ""}
    if checkpoint_name := Path(card(encoder).get("checkpoint", ".")).name:
        made["checkpoint"] = checkpoint_name
    for file, value in ((FACTS, facts), (MADE, made)):
        (output / file).write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    write_history(rows, output)


def _trainings(settings: TuningSettings, benchmarks: Mapping[str, Path]) -> list[Sequence[str]]:
    """The languages of each training of the last stage; one training without any for other than labelled sets."""
    last = settings.stages[-1]
    if last.form not in LABELLED:
        return [()]
    texts = datasets.labelled_set(benchmarks[last.train])
    return [list(taught) for taught in dict.fromkeys(tuple(taught) for taught, _ in texts.directions)]


@dataclass(frozen=True)
class _Training:
    """One training of an encoder, through all stages."""

    settings: TuningSettings
    benchmarks: Mapping[str, Path]
    opened: Opened
    taught: Sequence[str]  # languages of the last stage, if that is a labelled set
    device: torch.device

    def run(self, checkpoint: Path) -> tuple[Tuned, list[History]]:
        """The model after the last stage, and the history of each."""
        settings, histories = self.settings, []
        before: tuple[Stage, Tuned] | None = None
        for number, stage in enumerate(settings.stages):
            taught = self.taught if number == len(settings.stages) - 1 else ()
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(derive(settings.seed, "head", number))
                learnt, held, model, judge = self._prepared(stage, taught)
            trained_on = " ".join([stage.train, *self.taught[:1]])
            label = f"fine-tune {settings.encoder} on {trained_on}, seed {settings.seed}"
            sizes = f"{len(learnt)} items, {len(held)} for validation"
            logger.info("%s: %s, on %s", label, sizes, self.device)
            run = Run(settings.seed, self.device, checkpoint / str(number), label, settings.model_dump_json())
            model.to(self.device)
            if before and before[0].form == stage.form == "choices":
                # What COPA asks is what Social IQa asks: XTREME goes on with the whole network.
                model.load_state_dict(before[1].state_dict())
            histories.append(train(model, stage.recipe, learnt, held, judge, run))
            before = stage, model
        return model, histories

    def _prepared(self, stage: Stage, taught: Sequence[str]) -> Prepared:
        """Data and model of a stage; new weights are drawn from PyTorch's global generator."""
        opened, network, precision = self.opened, self.opened.network, self.settings.precision
        most = stage.recipe.max_tokens
        folder = self.benchmarks[stage.train]
        folders = folder, self.benchmarks[stage.valid or stage.train]
        if stage.form in (*LABELLED, "inference"):
            texts = datasets.labelled_set(folder)
            taught = taught or texts.directions[0][0]
            labels = _labels(texts, taught)
            learnt, held = _parts(stage, opened, texts, taught, labels)
            judge: Judge = _accuracy
            model: Tuned
            if stage.form == "inference":
                model = heads.Inference(network, precision, len(labels))
            elif stage.form == "choices":
                model = heads.Chooser(network, precision)
            else:
                several = texts.scoring == "several"
                model = heads.Classifier(network, precision, len(labels), several=several)
                if texts.scoring != "label":
                    judge = partial(_measured, texts.scoring, labels)
            return Prepared(learnt, held, model, judge)
        if stage.form == "similarity":
            span = datasets.span(datasets.graded_sets(folder))
            learnt, held = (
                datasets.graded(opened, datasets.graded_sets(place), most, span) for place in folders
            )
            judge = partial(_correlated, spearmanr if sts.read(folder) else pearsonr)
            return Prepared(learnt, held, heads.Similarity(network, precision), judge)
        learnt, held = (datasets.answered(opened, pool.read(place), most) for place in folders)
        return Prepared(learnt, held, heads.Retrieval(network, precision), None)

    def tested(self, model: Tuned) -> Iterator[tuple[Key, Scores, dict[str, object]]]:
        """Scores of each subset of each test, with facts for the records."""
        last = self.settings.stages[-1]
        training: dict[str, object] = {
            "trained_on": "+".join(stage.train for stage in self.settings.stages),
            "training": f"{last.recipe.epochs} epochs at {last.recipe.learning_rate:g}",
            "batch_size": last.recipe.batch_size,
            "max_tokens": last.recipe.max_tokens,
            "precision": self.settings.precision,
        }
        for name in self.settings.tests:
            folder = self.benchmarks[name]
            source = read_source(folder)
            stated = training | {"source": source} if source else training
            labelled = last.form in LABELLED
            results = self._classified(folder, model) if labelled else self._compared(folder)
            for task, subset, values in results:
                key = Key(task.name, name, subset, "sentence", self.settings.seed, task.measure)
                yield key, Scores(values, task.keys()), task.facts(subset) | stated

    def _classified(self, folder: Path, model: Tuned) -> Iterator[tuple[Task, str, np.ndarray]]:
        """What the head says of the test part of each language that this training is tested in."""
        recipe = self.settings.stages[-1].recipe
        texts = datasets.labelled_set(folder)
        labels = _labels(texts, self.taught)
        several = texts.scoring == "several"
        learner = Learner(_no_vectors, {"classifier": FINE_TUNED})
        for target in (tested for learnt, tested in texts.directions if list(learnt) == list(self.taught)):
            task = Transfer(SEVERAL if several else CLASSIFICATION, texts, self.taught, target, learner)
            items = texts.items[target, "test"]
            targets = _targets(items, labels, several=several)
            data = datasets.labelled(self.opened, items, target, recipe.max_tokens, targets)
            _, scores = predicted(model, data, recipe.batch_size, self.device)
            _, compare = MEASURED[texts.scoring]
            wanted = np.array([item.label for item in items])
            values = compare(_answers(texts.scoring, labels, scores), wanted)[0]
            yield task, f"{task.source}->{target}", values

    def _encoded(self, sentences: Sequence[str], language: str) -> np.ndarray:
        network = self.opened.network
        tokens = self.opened.texts(sentences, language, self.settings.stages[-1].recipe.max_tokens)

        def batch(rows: np.ndarray) -> torch.Tensor:
            return network(padded(tokens, rows, network.pad, self.device))

        return in_length_order(tokens.lengths, network.width, BATCH_TOKENS, batch)

    def _compared(self, folder: Path) -> Iterator[tuple[Task, str, np.ndarray]]:
        """Cosines of the sentence vectors, by the tasks on frozen ones."""
        tasks: list[Grading | AnswerRetrieval] = [Grading(SIMILARITY, pairs) for pairs in sts.read(folder)]
        tasks += [Grading(QUALITY, pairs) for pairs in qe.read(folder)]
        for answers in pool.read(folder):
            tasks += [AnswerRetrieval(RETRIEVAL, answers, code) for code in answers.questions]
        if not tasks:
            raise DataError(f"{folder} holds no benchmark of kind sts, qe or pool")
        candidates: dict[str, np.ndarray] = {}
        for task in tasks:
            sides = task.sides()
            if isinstance(task, AnswerRetrieval):
                # Questions of every language have the same candidates.
                question = self._encoded(*sides.pop("question"))
                candidates = candidates or {code: self._encoded(*side) for code, side in sides.items()}
                vectors = {"question": question} | candidates
            else:
                vectors = {name: self._encoded(*side) for name, side in sides.items()}
            for subset, values in task.score(vectors).scores.items():
                yield task, subset, values


def _parts(
    stage: Stage, opened: Opened, texts: LabelledSet, taught: Sequence[str], labels: Sequence[str]
) -> Iterator[Data]:
    """The training and the validation part of a labelled set."""
    for part in ("train", "valid"):
        parts = []
        for code in taught:
            items = texts.items[code, part]
            targets = _targets(items, labels, several=texts.scoring == "several")
            if stage.form == "inference":
                sides = [(code, side) for side in zip(*(item.texts for item in items), strict=True)]
                parts.append(datasets.both(opened, sides, stage.recipe.max_tokens, targets))
            else:
                parts.append(datasets.labelled(opened, items, code, stage.recipe.max_tokens, targets))
        yield datasets.joined(parts)


def _labels(texts: LabelledSet, taught: Sequence[str]) -> list[str]:
    """The labels of the training, in order; of texts with several labels each of them."""
    labels = (item.label for code in taught for item in texts.items[code, "train"])
    return sorted(distinct_labels(labels, texts.scoring))


def _targets(items: Sequence[Item], labels: Sequence[str], *, several: bool) -> np.ndarray:
    """(N,) number of each label; (N, C) 1 for the labels of each text. A label that is not taught is -100, or 0."""
    places = {label: place for place, label in enumerate(labels)}
    if not several:
        return np.array([places.get(item.label, -100) for item in items])
    targets = np.zeros((len(items), len(labels)), dtype=np.float32)
    for row, item in enumerate(items):
        targets[row, [places[label] for label in item.label.split() if label in places]] = 1
    return targets


def _accuracy(scores: np.ndarray, targets: np.ndarray) -> float:
    return float((scores.argmax(1) == targets).mean())


def _measured(scoring: str, labels: Sequence[str], scores: np.ndarray, targets: np.ndarray) -> float:
    """Minus the mean absolute error of numbers; the mean R-precision of several labels."""
    _, compare = MEASURED[scoring]
    if scoring == "number":
        wanted = np.array([labels[number] for number in targets])
        return -float(compare(_answers(scoring, labels, scores), wanted).mean())
    known = targets.any(1)
    wanted = np.array([" ".join(np.array(labels)[row > 0]) for row in targets[known]])
    return float(compare(_answers(scoring, labels, scores[known]), wanted).mean())


def _answers(scoring: str, labels: Sequence[str], scores: np.ndarray) -> np.ndarray:
    """(1, N) labels, or all labels by rank, as `orthoglot.study.tasks.transfer` compares them."""
    names = np.array(labels)
    if scoring == "several":
        return np.array([[" ".join(names[row]) for row in np.argsort(-scores, axis=1, kind="stable")]])
    return names[scores.argmax(1)][None]


def _correlated(correlation: Any, scores: np.ndarray, targets: np.ndarray) -> float:
    """The correlation of scores and targets; 0 for a constant."""
    if np.ptp(scores) == 0 or np.ptp(targets) == 0:
        return 0.0
    return float(correlation(scores, targets)[0])


def _no_vectors(*_: object) -> Any:
    raise DataError("a fine-tuned encoder has no classifier on vectors")
