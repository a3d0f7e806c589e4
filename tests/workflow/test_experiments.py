"""Experiments, other parameters, clones and other code: what is due then is what they change; with stub verbs."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from engine_runs import SNAKEMAKE, digests, release, start_waiting
from workspace import Workspace

# What `loss=oracle` adds to the miniature's `loss=all`.
DEPEND_ON_LOSS = ["evaluations/mini/ems-mini/oracle", "models/mini/decomposers/ems-mini/oracle", "results"]


@pytest.fixture(scope="module")
def experiment(finished: Workspace, tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, list[str]]:
    """`finished` after an experiment with another loss, and the jobs that this ran."""
    workspace = finished.copy(tmp_path_factory.mktemp("experiment") / "w")
    return workspace, workspace.jobs_run("dvc", "exp", "run", "-S", "loss=oracle")


@pytest.fixture
def tried(experiment: tuple[Workspace, list[str]], tmp_path: Path) -> Workspace:
    """A copy of the workspace after the experiment for one test to change."""
    return experiment[0].copy(tmp_path / "w")


def test_experiment_with_another_loss_runs_only_what_depends_on_it(
    experiment: tuple[Workspace, list[str]], tried: Workspace
) -> None:
    assert experiment[1] == DEPEND_ON_LOSS
    assert tried.jobs_due() == {}
    assert "up to date" in tried.run("dvc", "status").stdout
    assert "loss" in tried.run("dvc", "params", "diff").stdout
    assert "report" in tried.run("dvc", "metrics", "diff").stdout
    assert "oracle" in tried.run("dvc", "exp", "show", "--csv").stdout
    assert "html" in tried.run("dvc", "plots", "show").stdout
    drawn = (tried.folder / "dvc_plots/index.html").read_text()
    # The report's pictures, and nothing from the network.
    assert sorted(re.findall(r'<img src="static/\w+_(\S+)"', drawn)) == ["answer.svg", "training.svg"]
    assert "http" not in drawn


def test_experiment_in_a_copy_runs_the_copys_source_and_leaves_the_workspace_as_it_is(
    done: Workspace,
) -> None:
    # Of what a job prints, only lines with this end reach the terminal.
    shown = 'import sys\n\nprint("source of", sys.argv[0], "is", __file__, "0 s left", file=sys.stderr)\n'
    with open(done.folder / "src/orthoglot/__init__.py", "a") as handle:  # code that no job uses
        handle.write(f"\n{shown}")
    before = digests(done)
    text = done.run("dvc", "exp", "run", "--temp", "-S", "loss=oracle").stdout
    assert done.done_in(text) == DEPEND_ON_LOSS
    sources = re.findall(r"source of (\S+) is (\S+) 0 s left", text)
    ran = Counter(Path(program).name for program, _ in sources)
    assert ran["snakemake"] >= 4
    assert ran["orthoglot"] == len(DEPEND_ON_LOSS)
    assert all(Path(file).is_relative_to(done.folder / ".dvc/tmp/exps") for _, file in sources), sources
    assert digests(done) == before
    assert done.jobs_due() == {}


def test_queued_experiments_all_run_and_are_shown(done: Workspace) -> None:
    for loss in ("oracle", "dream"):
        done.run("dvc", "exp", "run", "--queue", "-n", f"only-{loss}", "-S", f"loss={loss}")
    done.run("dvc", "exp", "run", "--run-all")
    text = done.run("dvc", "exp", "show", "--csv").stdout
    rows = {row["Experiment"]: row for row in csv.DictReader(io.StringIO(text))}
    for loss in ("oracle", "dream"):
        assert rows[f"only-{loss}"]["State"] == "Success"
        assert rows[f"only-{loss}"]["loss"] == loss
    assert rows["only-oracle"]["report"] != rows["only-dream"]["report"]
    assert done.jobs_due() == {}


def test_checkout_after_an_experiment_leaves_nothing_to_do(tried: Workspace) -> None:
    tried.run("git", "reset", "--hard", "-q")
    tried.run("dvc", "checkout", "-q")
    assert tried.jobs_due() == {}
    assert "up to date" in tried.run("dvc", "status").stdout


def test_applied_experiment_leaves_nothing_to_do_and_the_way_back_reruns_only_the_rest(
    done: Workspace,
) -> None:
    done.run("dvc", "exp", "run", "-n", "other", "-S", "presets.mini.decomposition.learning_rate=0.002")
    done.run("git", "reset", "--hard", "-q")
    done.run("dvc", "checkout", "-q")
    done.run("dvc", "exp", "apply", "other")
    assert done.jobs_due() == {}
    # A -> B -> checkout of A -> edit to B again: the outputs are A's, so B runs once more.
    done.run("git", "reset", "--hard", "-q")
    done.run("dvc", "checkout", "-q")
    done.edit(presets__mini__decomposition__learning_rate=0.002)
    assert done.jobs_due() == {"decompose": 2, "evaluate": 2, "report": 1}


def test_clone_and_pull_leave_nothing_to_do_and_an_edit_makes_its_dependents_due(
    done: Workspace, tmp_path: Path
) -> None:
    done.run("dvc", "remote", "add", "-d", "store", str(tmp_path / "store"))
    done.commit("remote")
    done.run("dvc", "push", "-q")
    done.run("git", "clone", "-q", str(done.folder), str(tmp_path / "clone"))
    clone = Workspace(tmp_path / "clone", done.programs)
    clone.run("dvc", "pull", "-q")
    assert clone.jobs_due() == {}
    clone.edit(presets__mini__evaluation__resamples=90)
    assert clone.jobs_due() == {"evaluate": 4, "report": 1}


def test_a_moved_workspace_is_done_and_nothing_in_it_names_its_place(done: Workspace, tmp_path: Path) -> None:
    done.folder.rename(tmp_path / "moved")
    moved = Workspace(tmp_path / "moved", done.programs)
    assert moved.jobs_due() == {}
    for path in moved.folder.rglob("*"):
        if path.is_file() and not {".git", ".dvc", ".snakemake"} & set(path.parts):
            assert b"pytest-of" not in path.read_bytes(), path


def test_changed_code_makes_exactly_its_dependents_due(done: Workspace) -> None:
    def change(module: str, old: str, new: str) -> None:
        path = done.folder / "src/orthoglot" / module
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    change("study/fetching/download.py", '"""', '"""Another word. ')
    change("objectives/__init__.py", '"seed.meaning": ', '"seed.new": "seed:meaning",\n    "seed.meaning": ')
    assert done.jobs_due() == {}
    change("objectives/oracle.py", "def inter_class(", "def inter_class(*_,")
    assert done.jobs_due() == {"decompose": 1, "evaluate": 1, "report": 1}
    assert "src/orthoglot" in done.run("dvc", "status").stdout


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("loss=orakle", "unknown name 'orakle'; nearest known: oracle; known: all, centering"),
        ("corpora.a$(touch PWNED)={}", "corpora.a$(touch PWNED)"),
    ],
)
def test_bad_parameters_stop_before_any_job(override: str, message: str, done: Workspace) -> None:
    path, _, value = override.partition("=")
    command = ["dvc", "exp", "run", "-S", override] if "." not in path else [*SNAKEMAKE]
    if "." in path:
        done.edit(**{path.replace(".", "__"): yaml.safe_load(value)})
    result = done.run(*command, check=False)
    assert result.returncode != 0
    assert message in result.stdout
    assert done.done_in(result.stdout) == []
    assert not (done.folder / "PWNED").exists()


def test_command_line_configuration_runs_but_is_not_recorded_as_what_params_yaml_says(
    done: Workspace,
) -> None:
    locked = yaml.safe_load((done.folder / "dvc.lock").read_text())
    result = done.run(*SNAKEMAKE, "--config", "loss=oracle")
    assert done.done_in(result.stdout) == DEPEND_ON_LOSS
    assert "does not record decomposers, evaluation" in result.stdout
    assert yaml.safe_load((done.folder / "dvc.lock").read_text()) == locked
    refused = done.run(*SNAKEMAKE, "--config", "loss=orakle", check=False)
    assert refused.returncode
    assert "unknown name 'orakle'" in refused.stdout


def test_results_of_another_preset_are_complete_and_dvc_keeps_those_of_params_yaml(done: Workspace) -> None:
    done.edit(presets__other={"extends": "mini"})
    lock = (done.folder / "dvc.lock").read_bytes()
    result = done.run(*SNAKEMAKE, "data/other/bitext/qaa-qab", "--config", "preset=other")
    assert "The results of the preset other are complete. DVC records those of params.yaml's" in result.stdout
    assert "does not record" not in result.stdout
    assert (done.folder / "dvc.lock").read_bytes() == lock


def test_parameters_edited_during_a_run_are_not_recorded_with_its_results(done: Workspace) -> None:
    done.edit(presets__mini__decomposition__learning_rate=0.002)
    locked = yaml.safe_load((done.folder / "dvc.lock").read_text())["stages"]
    process = start_waiting(done, "models/mini/decomposers/ems-mini/dream", *SNAKEMAKE)
    done.edit(presets__mini__decomposition__learning_rate=0.003)
    release(done)
    text = process.finish()
    assert process.returncode == 0
    assert len(re.findall("DVC does not record decomposers, evaluation", text)) == 1
    after = yaml.safe_load((done.folder / "dvc.lock").read_text())["stages"]
    # The other stages watch all presets, so that their parameters are recorded anew; their results are the same.
    recorded = {stage for stage in after if after[stage] != locked[stage]}
    assert not recorded & {"decomposers", "evaluation"}
    assert all(after[stage]["outs"] == locked[stage]["outs"] for stage in after)
    assert done.jobs_due() == {"decompose": 2, "evaluate": 2, "report": 1}
