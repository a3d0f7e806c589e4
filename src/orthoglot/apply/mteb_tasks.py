"""A model on tasks of mteb, by mteb's own evaluation; needs the extra `mteb`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import mteb
from huggingface_hub.utils import httpx
from mteb.abstasks import AbsTask
from requests import RequestException

from orthoglot.errors import ConfigError, DataError, OfflineError, one_line
from orthoglot.languages import canonical_if_known

if TYPE_CHECKING:
    from orthoglot.apply.mteb_model import MtebModel

BATCH = 32  # texts that mteb hands over at a time; the encoder makes batches of its own
logger = logging.getLogger(__name__)


class Score(NamedTuple):
    """The main score of a task in one of its subsets, 0 to 1."""

    task: str
    split: str
    subset: str
    measure: str
    value: float


def tasks(names: Sequence[str], languages: Sequence[str] = ()) -> list[AbsTask]:
    """Tasks of mteb by their names, with the subsets in `languages` alone, or with all of them if none is given.

    Raises:
        ConfigError: no such task, or none of its subsets is in these languages alone.
    """
    chosen = []
    for name in names:
        try:
            task = mteb.get_task(name)
        except KeyError as error:
            raise ConfigError(f"mteb {mteb.__version__} has no task {name!r}") from error
        if languages:
            spoken = task.metadata.hf_subsets_to_langscripts
            task.hf_subsets = [
                subset
                for subset in task.hf_subsets
                if {canonical_if_known(tag) for tag in spoken[subset]} <= {*languages}
            ]
        if not task.hf_subsets:
            raise ConfigError(f"mteb's {name} has no subset in {' and '.join(languages)} alone")
        chosen.append(task)
    return chosen


def run(model: MtebModel, chosen: Sequence[AbsTask], output: Path) -> list[Score]:
    """Evaluate a model on tasks, and keep their results in the layout of the leaderboard's repository.

    A subset whose result is there already is not run again.

    Args:
        model: The model, and which of its vectors.
        chosen: What `tasks` gives, or tasks of one's own.
        output: Gets results/MODEL/REVISION/TASK.json, and beside it model_meta.json and run_settings.jsonl.
    Returns:
        The main score of each subset of each task.
    Raises:
        DataError: a text is blank, mteb cannot read the data of a task or may not have it, or a result that is there
            cannot be read.
        OfflineError: the text of a task is neither here nor reachable.
    """
    cache = mteb.ResultCache(output)
    scores = []
    for task in chosen:
        name = task.metadata.name
        path = cache.get_task_result_path(name, model.mteb_model_meta)
        try:
            cache.load_task_result(name, model.mteb_model_meta)
        except ValueError as error:
            raise DataError(f"{path}: no result of mteb ({one_line(error)}); remove it") from error
        try:
            results = mteb.evaluate(
                model, task, cache=cache, encode_kwargs={"batch_size": BATCH}, show_progress_bar=False
            )
        except (ConnectionError, httpx.HTTPError, RequestException) as error:
            raise OfflineError(f"mteb's {name}: {one_line(error)}") from error
        except (ConfigError, DataError):
            raise
        except (ValueError, LookupError) as error:
            if task.data_loaded:  # the fault is in the code, not in the data
                raise
            raise DataError(f"mteb's {name}: {one_line(error)}") from error
        if results.exceptions:
            raise DataError(f"mteb's {name}: {results.exceptions[0].exception}")
        logger.info("%s: %s", name, path)
        (result,) = results.task_results
        scores += [
            Score(name, split, score["hf_subset"], task.metadata.main_score, score["main_score"])
            for split, subsets in result.scores.items()
            for score in subsets
            if score["hf_subset"] in task.hf_subsets
        ]
    return scores


def table(scores: Sequence[Score]) -> str:
    """The scores in Markdown, times 100."""
    lines = ["| Task | Split | Subset | Measure | Value |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(score[:4])} | {100 * score.value:.1f} |" for score in scores]
    return "\n".join(lines)
