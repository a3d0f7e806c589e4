"""A task is a module and a line: every line names a function that makes tasks of its name."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from orthoglot.corpora.benchmarks import read_benchmark
from orthoglot.tasks import registry
from orthoglot.tasks.base import TaskData
from orthoglot.tasks.evaluate import make_tasks
from orthoglot.tasks.heldout import read_held_out
from orthoglot.tasks.registry import TASKS, TaskEntry
from orthoglot.tasks.settings import EvaluationSettings


@pytest.mark.parametrize("name", TASKS)
def test_every_line_makes_tasks_of_its_name(
    name: str, world: SimpleNamespace, settings: EvaluationSettings
) -> None:
    assert callable(TASKS[name].load())
    assert set(TASKS[name].better) in ({"meaning", "sentence", "language"}, set())
    data = read_held_out(world.bitext), world.benchmarks
    if name in {"qe", "classification", "classification-logistic"}:  # of which the world has no benchmark
        assert TASKS[name].load()(name, settings, TaskData(*data)) == []
        return
    tasks = make_tasks(settings.model_copy(update={"tasks": [name]}), *data)
    assert {task.name for task in tasks} == {name}


def test_settings_accept_the_names_of_the_table_and_no_others(settings: EvaluationSettings) -> None:
    plain = settings.model_dump()
    assert EvaluationSettings.model_validate(plain | {"tasks": list(TASKS)}).tasks == list(TASKS)
    with pytest.raises(ValidationError, match="language-probe"):
        EvaluationSettings.model_validate(plain | {"tasks": ["heldout", "no-such-task"]})
    schema = EvaluationSettings.model_json_schema()["properties"]["tasks"]
    assert schema["items"]["enum"] == list(TASKS)


def test_a_new_line_is_a_task(
    world: SimpleNamespace, settings: EvaluationSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = TaskEntry("retrieval:tatoeba", registry.RETRIEVAL, title="Another", question="Which?")
    monkeypatch.setitem(TASKS, "another", entry)
    one = settings.model_copy(update={"tasks": ["another"]})
    (task,) = make_tasks(one, {}, world.benchmarks)
    (pair,) = [pair for folder in world.benchmarks for pair in read_benchmark(folder)]
    assert (task.name, task.dataset) == ("another", pair.name)
