"""Methods that train as one stack: which ones, when they are due, and that their folders are what they are alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_store import folders
from workspace import Workspace

from orthoglot import receipts
from orthoglot.decomposers.base import load_decomposer
from orthoglot.errors import DataError
from orthoglot.study import config
from orthoglot.study.jobs.job import Job, key_of
from orthoglot.training import checkpoint, loop, stack
from plan import Plan

pytestmark = pytest.mark.usefixtures("_in_an_empty_folder")

HOME = "models/mini/decomposers/ems-mini"
STACK = f"{HOME}/_stacks/two_head-dream"
MEMBERS = ["dream", "dream+oracle"]


@pytest.fixture
def values(values: dict[str, Any]) -> dict[str, Any]:
    """The preset mini with one encoder, whose methods are stacked."""
    preset = values["presets"]["mini"]
    preset |= {"encoders": ["ems-mini"], "methods": [*MEMBERS], "seeds": [1, 2]}
    preset["decomposition"] |= {"batch_size": 16, "max_epochs": 3, "stacked": True}
    return values


def planned(values: dict[str, Any], *methods: str, stacked: bool = True, **changed: Any) -> Plan:
    """The plan, with these methods if any are given."""
    preset = values["presets"]["mini"]
    decomposition = preset["decomposition"] | {"stacked": stacked}
    chosen = preset | {"methods": list(methods) or preset["methods"], "decomposition": decomposition}
    return Plan(config.check(values | changed | {"presets": values["presets"] | {"mini": chosen}}))


def stacks(plan: Plan) -> dict[str, list[str]]:
    """The methods of each stack, by its name."""
    jobs = [job for job in plan.jobs.values() if job.verb == "stack"]
    return {Path(job.folder).name: [*job.settings["methods"]] for job in jobs}


def keys(plan: Plan) -> dict[str, str]:
    return {folder: plan.jobs[folder].key for folder in plan.default}


def test_methods_of_one_architecture_partner_rule_and_mean_train_together(values: dict[str, Any]) -> None:
    values["methods"]["meat-slow"] = values["methods"]["meat"] | {"learning_rate": 1e-5, "centre": "none"}
    values["presets"]["mini"]["baselines"].append("seed")
    mixed = "procrustes", "langsae", "oracle", "meat", "meat-slow", "meat-centred", "oracle-centred", *MEMBERS
    assert stacks(planned(values, *mixed)) == {
        "residual-same_language": ["seed"],
        "two_head-none": ["meat", "meat-slow", "oracle"],
        "two_head-none-overall": ["meat-centred", "oracle-centred"],
        "two_head-dream": MEMBERS,
    }


def test_a_single_training_makes_no_stack(values: dict[str, Any]) -> None:
    values["presets"]["mini"]["seeds"] = [1]
    assert stacks(planned(values, "dream", "seed")) == {}
    assert stacks(planned(values, "dream", "dream+oracle", "seed")) == {"two_head-dream": MEMBERS}


def test_the_setting_alone_changes_no_job(values: dict[str, Any]) -> None:
    del values["presets"]["mini"]["decomposition"]["stacked"]
    before = Plan(config.check(values))
    assert keys(planned(values, stacked=False)) == keys(before)
    assert not any("stacked" in json.dumps(job.parts["settings"]) for job in before.jobs.values())
    # Where it is set, what alone trains stays as it is.
    values["presets"]["mini"]["methods"].append("langsae")
    before, after = keys(planned(values, stacked=False)), keys(planned(values))
    changed = {folder for folder in before if after[folder] != before[folder]}
    homes = HOME, HOME.replace("models", "evaluations").replace("decomposers/", "")
    assert changed == {"results", *(f"{home}/{name}" for home in homes for name in MEMBERS)}
    assert after.keys() - before.keys() == {STACK}


def test_neither_the_order_of_methods_nor_loss_makes_a_stack_due(values: dict[str, Any]) -> None:
    before = planned(values)
    reordered = planned(values, *reversed(MEMBERS))
    assert keys(reordered)[STACK] == keys(before)[STACK]
    assert stacks(reordered) == stacks(before)
    after = keys(planned(values, loss="dream"))
    assert {folder for folder, key in after.items() if keys(before)[folder] != key} == {"results"}
    assert f"{HOME}/dream+oracle" not in after
    # A method that the preset does not compare trains alone.
    assert keys(planned(values, loss="dream-recipe"))[f"{HOME}/dream-recipe"]
    assert stacks(planned(values, loss="dream-recipe")) == {}


def test_what_takes_a_method_out_of_a_stack_asks_for_no_gpu(values: dict[str, Any]) -> None:
    plan = planned(values, device="cuda")
    gpus = {folder: plan.gpus(plan.jobs[folder].key) for folder in (STACK, f"{HOME}/dream")}
    assert gpus == {STACK: 1, f"{HOME}/dream": 0}


def job_text(plan: Plan, folder: str, toy: dict[str, Path]) -> str:
    """A job that reads the test's own text and vectors."""
    job = plan.jobs[folder]
    content = json.loads(plan.as_json(job.key))
    for role, read in content["inputs"].items():
        places = [str(toy[role])] if role in toy else read
        content["inputs"][role] = {place: receipts.read_key(Path(place)) for place in places}
    content["key"] = key_of(job.verb, folder, job.parts, content["inputs"])
    return json.dumps(content)


def run(plan: Plan, folder: str, toy: dict[str, Path]) -> Path:
    """Run a job as its rule does."""
    verb = plan.jobs[folder].verb
    import_module(f"orthoglot.study.jobs.{verb}").run(Job(verb, job_text(plan, folder, toy)))
    return Path(folder)


@pytest.fixture
def toy(tmp_path: Path) -> dict[str, Path]:
    """Folders of the text and the vectors, by their role."""
    bitext, encoder, store = folders(tmp_path / "toy")
    for folder in (bitext, encoder, store):
        receipts.write(folder, "0" * 16)
    return {"bitext": bitext, "encoder": encoder, "embeddings": store}


def written(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != receipts.NAME
    }


@pytest.mark.parametrize("pays", [True, False])
def test_folders_are_what_they_are_without_a_stack(
    pays: bool, values: dict[str, Any], toy: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    values |= {"device": "cpu"}
    alone = planned(values, stacked=False)
    for name in MEMBERS:
        run(alone, f"{HOME}/{name}", toy).rename(name)
    plan = planned(values)
    monkeypatch.setattr(stack, "pays", lambda *_: pays)
    run(plan, STACK, toy)
    assert not list(Path("checkpoints").glob("*"))
    for name in MEMBERS:
        folder = run(plan, f"{HOME}/{name}", toy)
        assert written(folder) == written(Path(STACK, name))
        assert written(folder).keys() == written(Path(name)).keys()
        receipt = receipts.read(folder)
        assert receipt is not None
        assert receipt.inputs.keys() == {str(toy["bitext"]), STACK}
        for seed in ("seed1", "seed2"):
            ours, theirs = load_decomposer(folder / seed), load_decomposer(Path(name, seed))
            assert ours.details.pop("code") != theirs.details.pop("code")
            assert ours.details == theirs.details
            assert (ours.method, ours.encoder, ours.identity) == (
                theirs.method,
                theirs.encoder,
                theirs.identity,
            )
            assert ours.weights.keys() == theirs.weights.keys()
            for weight in ours.weights:
                np.testing.assert_allclose(ours.weights[weight], theirs.weights[weight], rtol=1e-3, atol=1e-5)
            rows, others = (
                [json.loads(line) for line in (place / seed / "history.jsonl").read_text().splitlines()]
                for place in (folder, Path(name))
            )
            assert len(rows) == 3
            assert [*map(pytest.approx, others)] == rows


def test_a_stack_that_is_killed_goes_on_to_the_same_bytes(
    values: dict[str, Any], toy: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    values |= {"device": "cpu"}
    monkeypatch.setattr(stack, "pays", lambda *_: True)
    values["presets"]["mini"]["decomposition"] |= {"max_epochs": 80, "patience": 80}
    plan = planned(values)
    expected = written(run(plan, STACK, toy).rename("expected"))
    Path("job.json").write_text(job_text(plan, STACK, toy))
    code = (
        "import sys\n"
        "from kills import wait_at_save\n"
        "from orthoglot.training import stack as stacks\n"
        "stacks.pays = lambda *_: True\n"
        "wait_at_save(200)\n"
        "from orthoglot.study.jobs import job, stack\n"
        "stack.run(job.Job('stack', sys.stdin.read()))\n"
    )
    with open("job.json") as typed:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen([sys.executable, "-c", code], stdin=typed, env=environment)
    state = Path("checkpoints", json.loads(Path("job.json").read_text())["key"], loop.FILE)

    def steps() -> int:
        try:
            return int(checkpoint.load(state)["progress"][0]["done"])
        except DataError:  # there is none yet, or it is being replaced
            return 0

    while process.poll() is None and steps() < 20:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert steps() >= 20
    assert not Path(STACK).exists()
    assert written(run(plan, STACK, toy)) == expected
    assert not state.exists()


def test_a_stack_is_made_once_and_is_due_with_each_method_that_comes_in(done: Workspace) -> None:
    done.edit(presets__mini__decomposition__stacked=True)
    due = {"stack": 1, "decompose": 2, "evaluate": 2, "report": 1}
    assert done.jobs_due() == due
    assert len(done.jobs_run("snakemake", "--cores", "2")) == 6
    assert done.jobs_due() == {}
    assert "up to date" in done.run("dvc", "status", "decomposers").stdout
    done.edit(presets__mini__methods=[*MEMBERS, "dream+oracle-without-ic"])
    assert done.jobs_due() == due | {"decompose": 3, "evaluate": 3}
    reasons = done.run(sys.executable, "-m", "orthoglot", "study", "why", f"{HOME}/dream").stdout.splitlines()
    added = f'methods.dream+oracle-without-ic.architecture (absent) -> "two_head" ({STACK})'
    assert added in reasons
