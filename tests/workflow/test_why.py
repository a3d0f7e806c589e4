"""Why a job runs again, and that the rules read what the plan says; with stub verbs."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from shipped_settings import shipped_values
from workspace import ROOT, Workspace

from orthoglot.study import config
from plan import MINING, PARTS, Plan

DREAM = "models/mini/decomposers/ems-mini/dream"
SCORES = "evaluations/mini/ems-mini/dream"


def why(workspace: Workspace, folder: str) -> list[str]:
    return workspace.run(sys.executable, "-m", "orthoglot", "study", "why", folder).stdout.splitlines()


def test_a_result_that_is_up_to_date_says_so(finished: Workspace) -> None:
    assert why(finished, "results") == ["results is the result of its job; nothing has changed"]


def test_a_setting_is_named_with_both_values_where_it_is_read_and_after(done: Workspace) -> None:
    done.edit(presets__mini__decomposition__max_epochs=60)
    line = "decomposition.max_epochs 2 -> 60"
    assert why(done, DREAM) == why(done, f"{DREAM}/seed1") == [line]
    assert why(done, SCORES) == [f"{line} ({DREAM})"]
    assert why(done, "data/mini/bitext/qaa-qab")[0].endswith("nothing has changed")
    dry = done.run("snakemake", "-n", "--cores", "2").stdout
    assert f"due: {DREAM}: {line}\n" in dry
    assert f"due: {SCORES}: {line} ({DREAM})\n" in dry
    assert "rule decompose" not in dry


def test_a_module_is_named_by_its_file(done: Workspace) -> None:
    module = done.folder / "src/orthoglot/objectives/dream.py"
    module.write_text(module.read_text() + "\n\nNEW = 1\n")
    assert why(done, DREAM) == ["code of src/orthoglot/objectives/dream.py"]
    module.write_text(module.read_text().replace("\n\nNEW = 1\n", "\n# a comment\n"))
    assert why(done, DREAM)[0].endswith("nothing has changed")


def test_files_of_the_user_and_damage_are_named(done: Workspace) -> None:
    text = done.folder / "texts/mine.en-de.tsv"
    text.write_text("".join(f"one more line {n}\teine Zeile mehr {n}\n" for n in range(9)))
    mine = {"kind": "local", "pairs": ["en-de"], "files": ["texts/mine.{pair}.tsv"], "licence": "own"}
    done.edit(corpora__mine=mine, presets__mini__corpora=["mini", "mine"])
    assert why(done, "data/mini/bitext/en-de") == ["it has not been made"]
    done.run("snakemake", "--cores", "2", "data/mini/bitext/en-de")
    text.write_text("another line\teine andere Zeile\n")
    assert why(done, "data/mini/bitext/en-de") == ["texts/mine.en-de.tsv"]
    (done.folder / "data/mini/bitext/qaa-qab/content").unlink()
    assert why(done, "data/mini/bitext/qaa-qab") == ["data/mini/bitext/qaa-qab/content: is absent"]


def test_a_folder_that_no_job_makes_and_another_place_are_refused(
    finished: Workspace, tmp_path: Path
) -> None:
    command = sys.executable, "-m", "orthoglot", "study", "why"
    refused = finished.run(*command, "data/mine", check=False)
    assert refused.returncode == 2
    assert "params.yaml asks for no data/mine" in refused.stdout
    refused = finished.run(*command, "data/real/bitext/en-de", check=False)
    assert "a result of the preset real; the preset is mini (--config preset=real)" in refused.stdout
    # A method that `loss` does not select, and settings as for snakemake.
    folder = "models/mini/decomposers/ems-mini/seed+abs"
    refused = finished.run(*command, folder, check=False)
    assert "its methods leave out seed+abs (--config loss=seed+abs)" in refused.stdout
    config = "--config", "preset=mini", "loss=seed+abs"
    for words in ((folder, *config), (*config, folder)):
        assert finished.run(*command, *words).stdout == "it has not been made\n"
    for words, cause in (
        ((folder, "--config", "los=seed"), "unknown key 'los'"),
        ((folder, "--config", "seed"), "--config seed: write NAME=VALUE"),
        (("results", "data"), "give one folder"),
    ):
        assert cause in finished.run(*command, *words, check=False).stdout
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    elsewhere = Workspace(tmp_path).run(*command, "results", check=False)
    assert elsewhere.returncode != 0


def test_every_rule_reads_exactly_the_folders_of_the_plan() -> None:
    """What no pattern of a rule matches would not be waited for."""
    text = "".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    rules = [rule for rule in re.split(r"\n(?:use )?rule |\n    rule:", text) if "output:" in rule]

    def patterns(rule: str) -> list[str]:
        read = re.findall(r"done\((.*?)\)", rule, re.S)
        return [re.sub(r"{\w+}", "[^/]+", name) for names in read for name in re.findall(r'"([^"]+)"', names)]

    made = {
        re.sub(r"{\w+}", "[^/]+", name): rule
        for rule in rules
        for name in re.findall(r'made\("(.+?)"\)', rule)
    }
    made["results"] = next(rule for rule in rules if 'job_of("results")' in rule)
    made["tables/[^/]+"] = next(rule for rule in rules if "job=job_of(folder)" in rule)
    assert len(made) == len(rules) == 32
    values = shipped_values()
    jobs = [*Plan(config.check(values)).jobs.values()]
    values["presets"]["mini"]["decomposition"]["stacked"] = True
    values["presets"]["mini"]["pair_parts"] = {"qaa-qab": 2}
    jobs += Plan(config.check(values)).jobs.values()
    model = "models/mini/decomposers/ems-mini/seed/seed1"
    for cells in (None, 10):
        mine = {"source": "a.txt", "target": "b.txt", "parts": 2, "model": model, "cells": cells}
        values["presets"]["mini"]["mine"] = mine
        jobs += Plan(config.check(values)).jobs.values()
    assert {"stack", "decompose", *MINING, *PARTS} <= {job.verb for job in jobs}
    for job in jobs:
        (rule,) = (rule for folder, rule in made.items() if re.fullmatch(folder, job.folder))
        for source in job.folders:
            matching = [name for name in patterns(rule) if re.fullmatch(name, source)]
            assert len(matching) == 1, (job.folder, source)
