"""Snakemake and DVC agree on what is done, whoever did it, and on every target; with stub verbs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml
from engine_runs import SNAKEMAKE, digests, everything, folders, release, start_waiting
from workspace import ROOT, Workspace


@pytest.mark.parametrize(
    ("command", "status"),
    [("snakemake -n --cores 2", 0), ("snakemake -n nothing", 1), ("dvc status nothing", 1)],
)
def test_a_copy_of_a_process_with_the_libraries_does_what_the_program_does(
    command: str, status: int, fresh: Workspace
) -> None:
    copy = fresh.run(*command.split(), check=False)
    anew = fresh.run("env", *command.split(), check=False)
    assert copy.returncode == anew.returncode == status
    assert sorted(copy.stdout.splitlines()) == sorted(anew.stdout.splitlines())


def test_a_finished_run_leaves_nothing_to_do_for_either_engine(finished: Workspace) -> None:
    assert "up to date" in finished.run("dvc", "status").stdout
    assert finished.jobs_due() == {}


def test_a_job_leaves_its_log_and_what_it_took(finished: Workspace) -> None:
    for ending in ("log", "tsv"):
        logs = sorted((finished.folder / "logs").rglob(f"*.{ending}"))
        made = [str(log.relative_to(finished.folder / "logs")).rsplit(".", 2)[0] for log in logs]
        assert sorted(made) == folders(finished)
    assert logs[0].read_text().split()[:3] == ["s", "h:m:s", "max_rss"]


def test_a_run_in_a_clone_leaves_every_tracked_file_as_it_is(finished: Workspace, tmp_path: Path) -> None:
    finished.run("git", "clone", "-q", str(finished.folder), str(tmp_path / "clone"))
    clone = Workspace(tmp_path / "clone", finished.programs)
    assert clone.jobs_run("snakemake", "--cores", "1") == folders(finished)
    assert clone.run("git", "status", "--porcelain").stdout == ""


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


def test_a_dry_run_says_each_command_where_it_is_asked_for(fresh: Workspace) -> None:
    text = fresh.run("snakemake", "-n", "-p", "--cores", "2").stdout
    due = re.findall(r"^due: (\S+): .*\n.*orthoglot study job .*\"output\": \"(.*?)\"", text, re.M)
    assert len(due) == sum(fresh.jobs_due().values())
    assert all(folder == made for folder, made in due)
    assert "orthoglot study job" not in fresh.run("snakemake", "-n", "--cores", "2").stdout


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
    assert done.jobs_due("ems-table") == {"tabulate_ems-encoders": 1}
    assert done.jobs_due("emma-x-table") == {"tabulate_xrete": 1}
    every = {"tabulate_seed", "tabulate_ems-encoders", "tabulate_xrete", "tabulate_ems", "tabulate_emma-x"}
    assert {rule for rule in done.jobs_due("papers") if rule.startswith("tabulate")} == every
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
    due = {"pretrain_variant": 1, "embed_variant": 1, "evaluate_variant": 1, "tabulate_emma-x": 1}
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
    # All that Snakemake itself says of the jobs.
    text = done.run("snakemake", "-n", "--cores", "4", "--verbose").stdout
    found = dict(re.findall(r"^(?:local)?rule (\w+):.*?^    resources: ([^\n]*)", text, re.S | re.M))
    assert {rule for rule, resources in found.items() if "gpu=1" in resources} == {
        *("embed", "decompose", "evaluate")
    }
    assert "report" in found
    profile = "--profile", "profiles/slurm", "--executor", "local"
    limits = [((), 1), (("--resources", "gpu=2"), 2), (("--resources", "mem_mb=9000"), 1), (profile, 20)]
    for options, limit in limits:
        text = done.run(
            "snakemake", "--cores", "4", "data/mini/invented/mini", "--forceall", "--verbose", *options
        ).stdout
        assert re.search(rf"Provided resources: .*gpu\D+{limit}\b", text)


def test_the_oldest_snakemake_that_is_declared_is_the_one_that_is_tested() -> None:
    (declared,) = re.findall(r'"snakemake>=([\d.]+),', (ROOT / "pyproject.toml").read_text())
    assert f'min_version("{declared}")' in (ROOT / "Snakefile").read_text()
    assert f'"snakemake=={declared}.0"' in (ROOT / ".github/workflows/tests.yml").read_text()


def test_the_slurm_profile_is_understood(fresh: Workspace) -> None:
    text = fresh.run(
        "snakemake", "-n", "--profile", "profiles/slurm", "--executor", "local", "--verbose"
    ).stdout
    assert "slurm_partition=main" in text
    assert yaml.safe_load((fresh.folder / "profiles/slurm/config.yaml").read_text())["executor"] == "slurm"
