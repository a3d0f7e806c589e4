"""Snakemake and DVC agree on what is done, whoever did it: one test per situation."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from workspace import Workspace

# What `loss=oracle` adds to the miniature's `loss=all`.
DEPEND_ON_LOSS = [
    "evaluations/mini/ems-mini/oracle",
    "models/mini/decomposers/ems-mini/oracle/seed1",
    "results",
]


@pytest.fixture(scope="module")
def experiment(finished: Workspace, tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, list[str]]:
    """`finished` after an experiment with another loss, and the jobs that this ran."""
    workspace = finished.copy(tmp_path_factory.mktemp("experiment") / "w")
    return workspace, workspace.jobs_run("dvc", "exp", "run", "-S", "loss=oracle")


@pytest.fixture
def tried(experiment: tuple[Workspace, list[str]], tmp_path: Path) -> Workspace:
    """A copy of the workspace after the experiment for one test to change."""
    return experiment[0].copy(tmp_path / "w")


def digests(workspace: Workspace) -> dict[str, str]:
    """SHA-256 of every result file."""
    return {
        str(path.relative_to(workspace.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for top in ("data", "models", "embeddings", "evaluations", "results")
        for path in sorted((workspace.folder / top).rglob("*"))
        if path.is_file() and path.name != ".gitignore"
    }


def test_snakemake_makes_the_report_and_dvc_agrees(finished: Workspace) -> None:
    assert (finished.folder / "results/report.html").stat().st_size > 10_000
    metrics = json.loads((finished.folder / "results/metrics.json").read_text())
    assert set(metrics["ems-mini"]["heldout"]["P@1"]) == {"original", "meaning", "language"}
    assert "up to date" in finished.run("dvc", "status").stdout
    assert finished.jobs_due() == {}


def test_dvc_repro_after_snakemake_runs_no_job(done: Workspace) -> None:
    assert done.jobs_run("dvc", "repro") == []


def test_dvc_repro_does_the_same_work_and_snakemake_then_runs_no_job(
    fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    repro = fresh.copy(tmp_path / "w")
    receipts = finished.folder.rglob("receipt.json")
    folders = sorted(str(receipt.parent.relative_to(finished.folder)) for receipt in receipts)
    assert sorted(repro.jobs_run("dvc", "repro")) == folders
    assert repro.jobs_due() == {}
    assert digests(repro) == digests(finished)


def test_a_papers_table_is_a_target_of_its_own(done: Workspace) -> None:
    command = "snakemake", "--cores", "2", "oracle-table"
    assert done.jobs_run(*command) == ["tables/oracle"]
    assert "Table 3: Tatoeba" in (done.folder / "tables/oracle/oracle-table.html").read_text()
    assert done.jobs_run(*command) == []
    assert done.jobs_due() == {}
    assert "up to date" in done.run("dvc", "status").stdout
    done.edit(loss="dream")
    assert done.jobs_run(*command) == ["results", "tables/oracle"]
    assert done.jobs_due() == {}


def test_experiment_with_another_loss_runs_only_what_depends_on_it(
    experiment: tuple[Workspace, list[str]], tried: Workspace
) -> None:
    assert experiment[1] == DEPEND_ON_LOSS
    assert tried.jobs_due() == {}
    assert tried.jobs_run("dvc", "repro") == []
    assert "loss" in tried.run("dvc", "params", "diff").stdout
    name = "ems-mini.heldout.P@1.meaning"
    assert name in tried.run("dvc", "metrics", "diff", "--all").stdout
    assert name in tried.run("dvc", "exp", "show", "--csv").stdout
    assert "html" in tried.run("dvc", "plots", "show").stdout


def test_experiment_in_a_copy_runs_the_copys_source_and_leaves_the_workspace_as_it_is(
    done: Workspace,
) -> None:
    tell = 'import os\nimport sys\n\nprint("source of", os.path.basename(sys.argv[0]), __file__, file=sys.stderr)\n'
    with open(done.folder / "src/orthoglot/__init__.py", "a") as handle:  # which no job's key holds
        handle.write(f"\n{tell}")
    before = digests(done)
    text = done.run("dvc", "exp", "run", "--temp", "-S", "loss=oracle").stdout
    assert sorted(re.findall(r"done: (\S+)", text)) == DEPEND_ON_LOSS
    told = re.findall(r"source of (\S+) (\S+)", text)
    assert {program for program, _ in told} >= {"snakemake", "orthoglot"}
    assert all(Path(file).is_relative_to(done.folder / ".dvc/tmp/exps") for _, file in told), told
    assert digests(done) == before
    assert done.jobs_due() == {}


def test_queued_experiments_all_run_and_are_shown(done: Workspace) -> None:
    for loss in ("oracle", "dream"):
        done.run("dvc", "exp", "run", "--queue", "-n", f"only-{loss}", "-S", f"loss={loss}")
    done.run("dvc", "exp", "run", "--run-all")
    text = done.run("dvc", "exp", "show", "--csv").stdout
    rows = {row["Experiment"]: row for row in csv.DictReader(io.StringIO(text))}
    measured = "ems-mini.{}.heldout.meaning"
    for loss, other in (("oracle", "dream"), ("dream", "oracle")):
        row = rows[f"only-{loss}"]
        assert row["State"] == "Success"
        assert row["loss"] == loss
        assert row[measured.format(loss)]
        assert not row[measured.format(other)]
    assert done.jobs_due() == {}


def test_checkout_after_an_experiment_leaves_nothing_to_do(tried: Workspace) -> None:
    tried.run("git", "reset", "--hard", "-q")
    tried.run("dvc", "checkout", "-q")
    assert tried.jobs_due() == {}
    assert tried.jobs_run("dvc", "repro") == []


def test_applied_experiment_leaves_nothing_to_do_and_the_way_back_reruns_only_the_rest(
    done: Workspace,
) -> None:
    done.run("dvc", "exp", "run", "-n", "other", "-S", "presets.mini.decomposition.learning_rate=0.002")
    done.run("git", "reset", "--hard", "-q")
    done.run("dvc", "checkout", "-q")
    done.run("dvc", "exp", "apply", "other")
    assert done.jobs_due() == {}
    assert done.jobs_run("dvc", "repro") == []
    # A -> B -> checkout of A -> edit to B again: the outputs are A's, so B is due once more
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
    clone = Workspace(tmp_path / "clone")
    clone.run("dvc", "pull", "-q")
    assert clone.jobs_due() == {}
    assert clone.jobs_run("dvc", "repro") == []
    clone.edit(presets__mini__evaluation__resamples=90)
    assert clone.jobs_due() == {"evaluate": 4, "report": 1}
    clone.edit(presets__mini__evaluation__resamples=100)
    assert clone.jobs_due() == {}


def test_changed_code_makes_exactly_its_dependents_due(done: Workspace) -> None:
    def append(module: str, text: str) -> None:
        with open(done.folder / "src/orthoglot" / module, "a") as handle:
            handle.write(text)

    append("report/page.py", "\n# a comment changes nothing\n")
    assert done.jobs_due() == {}
    append("report/page.py", "\nCHANGED = 1\n")
    assert done.jobs_due() == {"report": 1}
    append("objectives/oracle.py", "\nCHANGED = 1\n")
    assert done.jobs_due() == {"decompose": 1, "evaluate": 1, "report": 1}
    assert "src" in done.run("dvc", "status").stdout


def test_unknown_loss_stops_before_any_job_and_names_the_known_ones(done: Workspace) -> None:
    for command in (
        ("dvc", "exp", "run", "-S", "loss=orakle"),
        ("snakemake", "--cores", "2"),
    ):
        result = done.run(*command, check=False)
        assert result.returncode != 0
        known = "known: all, centering, centering-per-pair, dream"
        assert f"unknown name 'orakle'; nearest known: oracle; {known}" in result.stdout
        assert "done:" not in result.stdout


@pytest.mark.parametrize(
    ("engine", "moments"),
    [
        ("snakemake --cores 2", ["models/mini/encoders/ems-mini.partial", "results.partial"]),
        ("snakemake --cores 2", ["checkpoints/*/train"]),
        ("dvc repro", [".jobs/models/mini/encoders/ems-mini.done"]),
    ],
)
def test_killed_run_resumes_and_ends_with_the_same_bytes(
    engine: str, moments: list[str], fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    killed = fresh.copy(tmp_path / "w")
    for moment in moments:
        killed.kill_when(moment, *engine.split())
        assert not (killed.folder / "results/receipt.json").exists()
    killed.run(*engine.split())
    assert digests(killed) == digests(finished)
    assert killed.jobs_due() == {}
    assert not list(killed.folder.rglob("*.partial"))


def test_an_encoder_may_be_called_as_a_folder_is(fresh: Workspace, tmp_path: Path) -> None:
    workspace = fresh.copy(tmp_path / "w")
    workspace.edit(encoders__tokens={"extends": "ems-mini"}, presets__mini__encoders=["tokens"])
    due = workspace.jobs_due()
    assert (due["tokenise"], due["pretrain"], due["embed"]) == (1, 1, 1)


def test_killed_parent_leaves_a_run_that_the_same_command_waits_for(
    fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    killed = fresh.copy(tmp_path / "w")
    killed.kill_when("models/mini/encoders/ems-mini.partial", "dvc", "repro", alone=True)
    assert "another run is at work" in killed.run("dvc", "repro").stdout
    assert digests(killed) == digests(finished)
    assert killed.jobs_due() == {}


def test_the_cause_of_a_failure_is_told_last(done: Workspace) -> None:
    done.edit(**{"encoders__ems-mini__network__tokenizer__vocabulary": 100_000})
    text = done.run("snakemake", "--cores", "2", check=False).stdout
    causes = [line for line in text.splitlines() if "tokenizer with vocabulary 100000" in line]
    assert re.match(r"logs/mini/tokenise/\w+\.log: ", causes[-1])
    assert text.rindex(causes[-1]) > text.rindex("Exiting because a job execution failed")


def test_training_killed_between_epochs_goes_on_from_there_to_the_same_bytes(
    fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    def without_keys(workspace: Workspace) -> dict[str, str]:
        return {
            path: digest for path, digest in digests(workspace).items() if not path.endswith("receipt.json")
        }

    killed = fresh.copy(tmp_path / "w")
    loop = killed.folder / "src/orthoglot/training/loop.py"
    loop.write_text(re.sub(r"(?m)^(SECONDS_BETWEEN_SAVES) = .*$", r"\1 = 0.0", loop.read_text()))
    killed.kill_when("checkpoints/*/training.pt", "snakemake", "--cores", "2")
    assert "ems-mini: resumed after epoch" in killed.run("snakemake", "--cores", "2").stdout
    assert without_keys(killed) == without_keys(finished)


def test_deleted_or_cut_output_is_made_again(done: Workspace, finished: Workspace) -> None:
    shutil.rmtree(done.folder / "evaluations/mini/ems-mini/dream")
    # It will be what it was, so nothing after it has to run again.
    assert done.jobs_due() == {"evaluate": 1}
    vectors = done.folder / "embeddings/mini/ems-mini/vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-8])
    assert done.jobs_due()["embed"] == 1
    done.run("snakemake", "--cores", "2")
    assert digests(done) == digests(finished)
    assert done.jobs_due() == {}
