"""A task is a module of the folder: what each has, and that names come from the folder alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from orthoglot.study.tasks import registry
from orthoglot.study.tasks.base import TaskData
from orthoglot.study.tasks.settings import EvaluationSettings
from orthoglot.text.held_out import read_held_out


@pytest.mark.parametrize("name", registry.names())
def test_every_module_makes_tasks_of_its_name(
    name: str, world: SimpleNamespace, settings: EvaluationSettings
) -> None:
    module = registry.load(name)
    assert registry.title(name) == module.TITLE
    assert module.QUESTION.endswith("?")
    assert set(module.BETTER) in ({"meaning", "sentence", "language"}, set())
    tasks = module.make(name, TaskData(settings, read_held_out(world.bitext), world.benchmarks))
    # Of some the world has no benchmark.
    none = {"qe", "classification", "classification-logistic", "hard-negatives"}
    assert {task.name for task in tasks} == (set() if name in none else {name})


def test_settings_accept_the_names_of_the_folder_and_no_others(settings: EvaluationSettings) -> None:
    plain, names = settings.model_dump(), list(registry.names())
    assert EvaluationSettings.model_validate(plain | {"tasks": names}).tasks == names
    with pytest.raises(ValidationError, match="language-probe"):
        EvaluationSettings.model_validate(plain | {"tasks": ["heldout", "no-such-task"]})
    schema = EvaluationSettings.model_json_schema()["properties"]
    assert schema["tasks"]["items"]["enum"] == names
    assert "reports them apart" in schema["long_tail"]["description"]  # what a task adds


def test_a_name_is_that_of_its_module() -> None:
    assert registry.load("mixed-pool").__name__ == "orthoglot.study.tasks.kinds.mixed_pool"
    assert registry.title("mixed-pool") == "Neighbours in a pool of all languages"
    assert registry.title("no-such-task") == "no-such-task"


def test_titles_and_settings_need_no_library_that_takes_seconds() -> None:
    code = (
        "import sys\nfrom orthoglot.study.tasks import registry, settings\n"
        "assert all(map(registry.title, registry.names()))\n"
        "heavy = [one for one in ('torch', 'sklearn', 'scipy', 'pandas') if one in sys.modules]\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_that_is_put_into_the_folder_is_a_task_with_settings_and_measures(tmp_path: Path) -> None:
    (tmp_path / "word_count.py").write_text(
        "from orthoglot import settings\n"
        "from orthoglot.statistics.weighted import Metric, mean\n"
        "TITLE, QUESTION, BETTER = 'Words', 'How many words?', {}\n"
        "MEASURES = {'words': (Metric('words', mean()),)}\n"
        "class Settings(settings.Settings):\n    most_words: settings.Count = 7\n"
    )
    code = (
        "from orthoglot.study.tasks import kinds\n"
        f"kinds.__path__.append({str(tmp_path)!r})\n"
        "from orthoglot.study.tasks import registry\nfrom orthoglot.study.tasks.settings import EvaluationSettings\n"
        "assert EvaluationSettings(tasks=['word-count', 'sts'], most_words=3).most_words == 3\n"
        "assert EvaluationSettings(tasks=['sts']).most_words == 7\n"
        "assert registry.title('word-count') == 'Words'\n"
        "assert {'words', 'correlation'} <= set(registry.measures(['word-count']))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
