"""Snakemake and DVC agree on what is done, whoever did it: one test for each situation, with stub verbs."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml
from workspace import Running, Workspace

SNAKEMAKE = "snakemake", "--cores", "2"
# What `loss=oracle` adds to the miniature's `loss=all`.
DEPEND_ON_LOSS = ["evaluations/mini/ems-mini/oracle", "models/mini/decomposers/ems-mini/oracle", "results"]
VECTORS = "embeddings/mini/ems-mini/content"


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


def folders(workspace: Workspace) -> list[str]:
    """Every folder with a receipt."""
    receipts = workspace.folder.rglob("receipt/*.json")
    return sorted(str(receipt.parents[1].relative_to(workspace.folder)) for receipt in receipts)


def everything(workspace: Workspace) -> dict[str, tuple[int, int]]:
    """Size and time of every file but Snakemake's own."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in workspace.folder.rglob("*")
        if path.is_file() and not {".snakemake", ".git", ".dvc"} & set(path.parts)
    }


def flip(path: Path, *, keep_time: bool = False) -> None:
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    if keep_time:
        os.utime(path, ns=times)


def start_waiting(workspace: Workspace, folder: str, *command: str) -> Running:
    """Start a command and return when the job of `folder` is running; it waits for the end of `release`."""
    wait = workspace.folder / ".cache/wait" / folder
    wait.parent.mkdir(parents=True, exist_ok=True)
    wait.touch()
    process = workspace.start(*command)
    started = workspace.folder / f"{folder}.partial/started"
    deadline = time.monotonic() + 120
    while not started.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert started.exists(), f"{command} never ran {folder}"
    return process


def release(workspace: Workspace) -> None:
    shutil.rmtree(workspace.folder / ".cache/wait")


def test_a_finished_run_leaves_nothing_to_do_for_either_engine(finished: Workspace) -> None:
    assert "up to date" in finished.run("dvc", "status").stdout
    assert finished.jobs_due() == {}


def test_dvc_repro_does_the_same_work_and_leaves_nothing_to_do(
    fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    repro = fresh.copy(tmp_path / "w")
    assert repro.jobs_run("dvc", "repro") == folders(finished)
    assert repro.jobs_due() == {}
    assert digests(repro) == digests(finished)
    assert repro.jobs_run("dvc", "repro") == []


def test_a_dry_run_writes_nothing_and_waits_for_nobody(fresh: Workspace, tmp_path: Path) -> None:
    workspace = fresh.copy(tmp_path / "w")
    before = everything(workspace)
    due = workspace.jobs_due()
    assert everything(workspace) == before
    process = start_waiting(workspace, "data/mini/invented/mini", *SNAKEMAKE)
    try:
        assert workspace.jobs_due() == due
        assert process.poll() is None
    finally:
        release(workspace)
        process.finish()
    assert workspace.jobs_due() == {}


def test_the_jobs_do_not_depend_on_the_number_of_cores(fresh: Workspace) -> None:
    found = [
        re.search(r"^total +(\d+)", fresh.run("snakemake", "-n", "--cores", cores).stdout, re.M)
        for cores in ("1", "64")
    ]
    assert all(found)
    assert len({one and one[1] for one in found}) == 1


@pytest.mark.parametrize(
    ("target", "made"),
    [
        ("data/mini/bitext/qaa-qab", {"generate", "benchmark", "prepare"}),
        ("models/mini/encoders/ems-mini", {"generate", "benchmark", "prepare", "tokenise", "pretrain"}),
    ],
)
def test_a_folder_is_a_target(target: str, made: set[str], fresh: Workspace) -> None:
    assert set(fresh.jobs_due(target)) == made


def test_a_file_of_the_report_is_a_target_that_follows_the_parameters(done: Workspace) -> None:
    target = "results/report.html"
    assert done.jobs_due(target) == {}
    done.edit(presets__mini__evaluation__resamples=90)
    assert done.jobs_due(target) == {"evaluate": 4, "report": 1}
    before = (done.folder / target).read_text()
    done.run(*SNAKEMAKE, target)
    assert (done.folder / target).read_text() != before
    assert "up to date" in done.run("dvc", "status").stdout


def test_forced_jobs_really_run_again(done: Workspace, finished: Workspace) -> None:
    assert done.jobs_run(*SNAKEMAKE, "--forcerun", "embed") == ["embeddings/mini/ems-mini"]
    assert done.jobs_run(*SNAKEMAKE, "--forceall") == folders(finished)
    assert digests(done) == digests(finished)


def test_summary_graph_and_report_of_the_workflow(done: Workspace) -> None:
    summary = done.run("snakemake", "--cores", "1", "--summary").stdout
    rows = [line.split("\t") for line in summary.splitlines() if "receipt/" in line.split("\t")[0]]
    assert len(rows) == len(folders(done))
    assert [row for row in rows if row[-2:] != ["ok", "no update"]] == []
    graph = done.run("snakemake", "--cores", "1", "--rulegraph").stdout
    assert all(rule in graph for rule in ("prepare", "pretrain", "embed", "decompose", "evaluate", "report"))
    done.run("snakemake", "--cores", "1", "--report", "workflow.html")
    page = (done.folder / "workflow.html").read_text()
    assert "report.html" in page
    # Captions of the page, and of the pictures, which it holds.
    assert all(some in page for some in ("confidence intervals", "the dashed line is", "validation thick"))
    pictures = {"results/figures/answer.svg", "results/figures/training.svg"}
    assert all(picture in page for picture in pictures)


def test_a_papers_table_is_a_target_of_its_own(done: Workspace) -> None:
    command = *SNAKEMAKE, "oracle-table"
    assert done.jobs_run(*command) == ["tables/oracle"]
    assert done.jobs_run(*command) == []
    assert done.jobs_due("tables/oracle/oracle-table.html") == {}
    done.edit(loss="dream")
    assert done.jobs_run(*command) == ["results", "tables/oracle"]
    assert done.jobs_due() == {}


def test_ablations_are_targets_of_their_own(fresh: Workspace, tmp_path: Path) -> None:
    workspace = fresh.copy(tmp_path / "w")
    assert not any("ablation" in folder for folder in workspace.jobs_run(*SNAKEMAKE, "stage_encoders"))
    made = workspace.jobs_run(*SNAKEMAKE, "ablation")
    homes = [f"ablation/mini/ems/{variant}/seed1" for variant in ("untrained", "ems")]
    parts = {f"{home}/{part}" for home in homes for part in ("encoder", "embeddings", "evaluation")}
    assert parts | {"tables/ems", "tables/emma-x"} <= set(made)
    assert not any(folder.startswith(("embeddings", "evaluations", "results")) for folder in made)
    assert workspace.jobs_due("ablation") == {}
    workspace.edit(**{"variants__emma-x__full": {"ranks": 3}})
    assert workspace.jobs_due("ablation_ems") == {}
    due = {"pretrain": 1, "embed": 1, "evaluate": 1, "tabulate_emma-x": 1}
    assert workspace.jobs_due("ablation_emma_x") == workspace.jobs_due("ablation") == due
    workspace.edit(presets__mini__ablations=[])
    refused = workspace.run(*SNAKEMAKE, "ablation", check=False)
    assert refused.returncode
    assert "presets.mini has no `ablations`" in refused.stdout


def test_what_is_made_on_demand_is_versioned_as_all_other_results(done: Workspace) -> None:
    done.run(*SNAKEMAKE, "oracle-table", "ablation_ems")
    model = done.folder / "exported/mini/model.safetensors"
    model.parent.mkdir()
    model.write_bytes(b"exported")
    assert "exported" in done.run("dvc", "status").stdout
    done.run("dvc", "commit", "--force", "--quiet", "on_demand")
    assert "up to date" in done.run("dvc", "status").stdout
    for name in ("tables", "ablation", "exported"):
        shutil.rmtree(done.folder / name)
    done.run("dvc", "checkout", "--quiet")
    assert done.jobs_due("oracle-table", "ablation_ems") == {}
    assert model.read_bytes() == b"exported"
    # A change makes none of it due by itself.
    done.edit(loss="dream")
    assert not [one for one in done.jobs_run("dvc", "repro") if one.startswith(("tables", "ablation"))]
    assert "up to date" in done.run("dvc", "status").stdout


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
    with open(done.folder / "src/orthoglot/receipts.py", "a") as handle:  # code that no job uses
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

    change("corpora/download.py", '"""', '"""Another word. ')
    change("objectives/__init__.py", '"seed.meaning": ', '"seed.new": "seed:meaning",\n    "seed.meaning": ')
    assert done.jobs_due() == {}
    change("objectives/oracle.py", "def inter_class(", "def inter_class(*_,")
    assert done.jobs_due() == {"decompose": 1, "evaluate": 1, "report": 1}
    assert "src/orthoglot/objectives" in done.run("dvc", "status").stdout


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


@pytest.mark.parametrize(
    ("engine", "folder", "alone"),
    [
        ("snakemake --cores 2", "models/mini/encoders/ems-mini", False),
        ("snakemake --cores 2", "results", False),
        ("snakemake --cores 2", "models/mini/encoders/ems-mini", True),
        ("dvc repro", "embeddings/mini/ems-mini", False),
        ("dvc repro", "models/mini/encoders/ems-mini", True),
    ],
)
def test_killed_run_is_continued_by_the_same_command_to_the_same_bytes(
    engine: str, folder: str, alone: bool, fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    killed = fresh.copy(tmp_path / "w")
    process = start_waiting(killed, folder, *engine.split())
    process.kill_all(alone=alone)
    before = folders(killed)
    assert folder not in before
    if alone:  # what it started goes on, and is waited for
        again = killed.start(*engine.split())
        time.sleep(1)
        release(killed)
        text = again.finish()
        assert again.returncode == 0, text
    else:
        release(killed)
        assert not set(killed.jobs_run(*engine.split())) & set(before)
    assert digests(killed) == digests(finished)
    assert killed.jobs_due() == {}
    assert not list(killed.folder.rglob("*.partial"))


def test_the_cause_of_a_failure_comes_last(done: Workspace, finished: Workspace) -> None:
    done.edit(presets__mini__decomposition__learning_rate=0.002)
    process = start_waiting(done, "models/mini/decomposers/ems-mini/dream", *SNAKEMAKE)
    # The jobs that wait have compared it; those that start now have not.
    flip(done.folder / VECTORS)
    release(done)
    text = process.finish()
    assert process.returncode
    causes = [line for line in text.splitlines() if f"{VECTORS}: is damaged" in line]
    assert re.match(r"logs/\S+/ems-mini/dream\S*\.log: ", causes[-1])
    assert text.rindex(causes[-1]) > text.rindex("Exiting because a job execution failed")
    earlier = "models/mini/decomposers/ems-mini/dream/receipt"
    assert os.listdir(done.folder / earlier) == os.listdir(finished.folder / earlier)


def test_a_failure_does_not_name_the_log_of_an_earlier_run(done: Workspace, tmp_path: Path) -> None:
    shutil.rmtree(done.folder / "embeddings/mini/ems-mini")
    (log,) = (done.folder / "logs/embeddings/mini").glob("*.log")
    # The job stops before it writes.
    failing = tmp_path / "bin/tee"
    failing.parent.mkdir()
    failing.write_text("#!/bin/sh\nexit 1\n")
    failing.chmod(0o755)
    text = done.run(*SNAKEMAKE, check=False, PATH=f"{failing.parent}:{done.path}").stdout
    assert "failed: embeddings/mini/ems-mini; it wrote no log" in text
    assert log.name not in text


@pytest.mark.parametrize("keep_time", [False, True])
def test_a_flipped_byte_is_not_recorded_but_made_again(
    keep_time: bool, done: Workspace, finished: Workspace
) -> None:
    flip(done.folder / VECTORS, keep_time=keep_time)
    (done.folder / "results/report.html").unlink()
    assert done.jobs_due() == {"embed": 1, "report": 1}
    done.run(*SNAKEMAKE)
    assert digests(done) == digests(finished)
    assert done.run("dvc", "status", "--quiet").returncode == 0
    assert done.run("git", "diff", "--stat", "dvc.lock").stdout == ""


def test_damage_during_a_run_is_not_recorded(done: Workspace) -> None:
    done.edit(presets__mini__evaluation__resamples=90)
    process = start_waiting(done, "results", *SNAKEMAKE)
    # No job of this run reads it any more; and nothing asks for a result of earlier parameters.
    flip(done.folder / VECTORS, keep_time=True)
    earlier = done.folder / "evaluations/mini/ems-mini/earlier"
    shutil.copytree(done.folder / "evaluations/mini/ems-mini/dream", earlier)
    flip(earlier / "content")
    release(done)
    text = process.finish()
    assert f"{earlier.relative_to(done.folder)}/content: is damaged" in text
    recorded = yaml.safe_load((done.folder / "dvc.lock").read_text())["stages"]
    before = yaml.safe_load(done.run("git", "show", "HEAD:dvc.lock").stdout)["stages"]
    assert recorded["embeddings"]["outs"] == before["embeddings"]["outs"]
    assert recorded["evaluation"] == before["evaluation"]


def test_what_doctor_prints_as_the_remedy_works(done: Workspace, finished: Workspace) -> None:
    doctor = str(Path(Workspace.programs) / "orthoglot"), "doctor"
    assert done.run(*doctor).returncode == 0
    flip(done.folder / VECTORS, keep_time=True)
    (done.folder / "models/stray.txt").write_text("whose?")
    told = done.run(*doctor, check=False)
    assert told.returncode == 1
    assert f"{VECTORS}: is damaged" in told.stdout
    assert "models/stray.txt: is listed in no receipt" in told.stdout
    remedy = re.search(r"`orthoglot (doctor --remove)` removes embeddings/mini/ems-mini;", told.stdout)
    assert remedy
    done.run(doctor[0], *remedy[1].split(), check=False)
    (done.folder / "models/stray.txt").unlink()
    assert done.jobs_due() == {"embed": 1}
    done.run(*SNAKEMAKE)
    assert done.run(*doctor).returncode == 0
    assert digests(done) == digests(finished)


def test_results_of_damaged_vectors_are_found_after_the_vectors_were_restored(
    done: Workspace, finished: Workspace
) -> None:
    flip(done.folder / VECTORS)
    shutil.rmtree(done.folder / "evaluations/mini/ems-mini/dream")
    # Only so can damaged vectors be read at all: sizes alone are compared.
    done.run(*SNAKEMAKE, ORTHOGLOT_TRUST_FILES="1")
    doctor = str(Path(Workspace.programs) / "orthoglot"), "doctor"
    told = done.run(*doctor, check=False).stdout
    assert "evaluations/mini/ems-mini/dream: was computed with ORTHOGLOT_TRUST_FILES=1" in told
    done.run(*doctor, "--remove")
    done.run(*SNAKEMAKE)
    assert digests(done) == digests(finished)
    assert done.run(*doctor).returncode == 0


def test_deleted_cut_or_garbled_results_are_made_again(done: Workspace, finished: Workspace) -> None:
    shutil.rmtree(done.folder / "evaluations/mini/ems-mini/dream")
    # It will be what it was, so nothing after it has to run again.
    assert done.jobs_due() == {"evaluate": 1}
    vectors = done.folder / VECTORS
    vectors.write_bytes(vectors.read_bytes()[:-8])
    for receipt in done.folder.glob("data/mini/bitext/qaa-qab/receipt/*.json"):
        receipt.write_text("[]")
    (done.folder / "results/tables.md").unlink()
    assert done.jobs_due() == {"evaluate": 1, "embed": 1, "prepare": 1, "report": 1}
    done.run(*SNAKEMAKE)
    assert digests(done) == digests(finished)
    assert done.jobs_due() == {}


def test_an_encoder_may_be_called_as_a_folder_is(fresh: Workspace, tmp_path: Path) -> None:
    workspace = fresh.copy(tmp_path / "w")
    workspace.edit(encoders__tokens={"extends": "ems-mini"}, presets__mini__encoders=["tokens"])
    due = workspace.jobs_due()
    assert (due["tokenise"], due["pretrain"], due["embed"]) == (1, 1, 1)


def test_a_job_larger_than_a_command_line_reaches_its_verb(done: Workspace) -> None:
    done.edit(**{"benchmarks__mini-sts__licence": "long " * 60_000})
    assert done.jobs_run(*SNAKEMAKE) == ["results"]


def test_gpu_jobs_run_one_at_a_time_unless_more_gpus_are_given(done: Workspace) -> None:
    done.edit(device="cuda", presets__mini__embedding__batch_tokens=100)
    text = done.run("snakemake", "-n", "--cores", "4").stdout
    found = dict(re.findall(r"^(?:local)?rule (\w+):.*?^    resources: ([^\n]*)", text, re.S | re.M))
    assert {rule for rule, resources in found.items() if "gpu=1" in resources} == {
        *("embed", "decompose", "evaluate")
    }
    assert "report" in found
    for options, limit in (((), 1), (("--resources", "gpu=2"), 2)):
        text = done.run(
            "snakemake", "--cores", "4", "data/mini/invented/mini", "--forceall", "--verbose", *options
        ).stdout
        assert re.search(rf"Provided resources: .*gpu\D+{limit}\b", text)


def test_the_slurm_profile_is_understood(fresh: Workspace) -> None:
    text = fresh.run("snakemake", "-n", "--profile", "profiles/slurm", "--executor", "local").stdout
    assert "slurm_partition=main" in text
    assert yaml.safe_load((fresh.folder / "profiles/slurm/config.yaml").read_text())["executor"] == "slurm"
