"""What a run prints: a line for each job that ends, failures, warnings; nothing else of the engine."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent
from workspace import ROOT

from job_lines import JobLines, folder_of

RECEIPT = "data/mini/bitext/a-b/receipt/0123456789abcdef.json"


@pytest.fixture
def lines() -> JobLines:
    return JobLines(logging.Formatter("%(message)s"))


def said(
    lines: JobLines, event: LogEvent | None, message: str = "", level: int = logging.INFO, **values: Any
) -> str:
    """What a record becomes; empty if it is filtered out."""
    record = logging.makeLogRecord({"msg": message, "levelno": level, "event": event, **values})
    return lines.format(record) if lines.filter(record) else ""


def start(lines: JobLines, job: int, output: str) -> str:
    values = {"jobid": job, "output": [output], "rule_name": "r", "log": []}
    return said(lines, LogEvent.JOB_INFO, " Rule: r", **values)


def test_a_job_is_one_line_when_it_ends_with_what_is_left(lines: JobLines) -> None:
    assert start(lines, 7, RECEIPT) == ""
    assert said(lines, LogEvent.JOB_FINISHED, "Finished jobid: 7", job_id=7) == ""
    line = said(lines, LogEvent.PROGRESS, done=3, total=10)
    assert re.fullmatch(r"\[3/10\] done: data/mini/bitext/a-b in \d+ s, 7 left, about \d+ s", line)
    # Said once; a rule without a folder, such as `all`, has no line.
    assert said(lines, LogEvent.PROGRESS, done=3, total=10) == ""


def test_the_jobs_that_are_left_are_taken_to_need_as_long_as_those_before(
    lines: JobLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 100.0, 160.0, 160.0, 160.0, 280.0, 280.0]).__next__
    monkeypatch.setattr("job_lines.time.monotonic", clock)
    start(lines, 1, RECEIPT)
    said(lines, LogEvent.JOB_FINISHED, job_id=1)
    # One job in 60 s, then two in 180 s.
    assert said(lines, LogEvent.PROGRESS, done=1, total=3).endswith(" in 60 s, 2 left, about 2 min")
    start(lines, 2, RECEIPT)
    said(lines, LogEvent.JOB_FINISHED, job_id=2)
    assert said(lines, LogEvent.PROGRESS, done=2, total=3).endswith(" in 120 s, 1 left, about 90 s")


def test_jobs_that_end_together_have_a_line_each(lines: JobLines) -> None:
    for job, output in ((1, RECEIPT), (2, RECEIPT.replace("a-b", "c-d")), (3, "")):
        start(lines, job, output)
        said(lines, LogEvent.JOB_FINISHED, job_id=job)
    text = said(lines, LogEvent.PROGRESS, done=3, total=3)
    assert re.findall(r"done: (\S+)", text) == ["data/mini/bitext/a-b", "data/mini/bitext/c-d"]


def test_the_job_of_the_report_names_its_page(lines: JobLines) -> None:
    start(lines, 1, "results/receipt/0123456789abcdef.json")
    said(lines, LogEvent.JOB_FINISHED, job_id=1)
    text = said(lines, LogEvent.PROGRESS, done=3, total=3)
    assert text.splitlines()[1:] == ["report: results/report.html"]


@pytest.mark.parametrize("before", [False, True])
def test_a_failure_names_the_folder_and_a_log_of_this_run_alone(
    before: bool, lines: JobLines, tmp_path: Path
) -> None:
    log = tmp_path / "x.log"
    values = {"jobid": 7, "output": [RECEIPT], "rule_name": "prepare", "log": [str(log)]}
    if before:
        log.write_text("an earlier run")
    said(lines, LogEvent.JOB_INFO, " Rule: prepare", **values)
    unwritten = said(lines, LogEvent.JOB_ERROR, "Error in rule prepare", logging.ERROR, **values)
    assert unwritten == "failed: data/mini/bitext/a-b; it wrote no log, see .snakemake/log"
    cause = {"rule_msg": "SLURM sbatch failed: no node has so many GPUs\n    sbatch call:"}
    refused = said(lines, LogEvent.JOB_ERROR, "Error in rule prepare", logging.ERROR, **values, **cause)
    assert refused == "failed: data/mini/bitext/a-b; SLURM sbatch failed: no node has so many GPUs"
    log.write_text("12 lines\northoglot: a.tsv: is damaged\n")
    line = said(lines, LogEvent.JOB_ERROR, "Error in rule prepare", logging.ERROR, **values)
    assert line == f"failed: data/mini/bitext/a-b; {log}: a.tsv: is damaged"


def test_what_the_user_asks_snakemake_for_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    values = {"jobid": 7, "output": [RECEIPT], "rule_name": "prepare", "log": [str(log)], "input": []}
    values |= {"aux": {}, "conda_env": None, "shellcmd": "orthoglot study job prepare"}
    lines = JobLines(DefaultFormatter(show_failed_logs=True))
    said(lines, LogEvent.JOB_INFO, " Rule: prepare", **values)
    log.write_text("first\nlast\n")
    text = said(lines, LogEvent.JOB_ERROR, "", logging.ERROR, **values)
    assert text.startswith(f"failed: data/mini/bitext/a-b; {log}: last\n")
    assert "\nfirst\nlast\n" in text
    # Without -p, Snakemake's own filter has taken the record away.
    command = said(lines, LogEvent.SHELLCMD, "Shell command: orthoglot study job prepare", shellcmd="x")
    assert command == "Shell command: orthoglot study job prepare"


def test_errors_of_the_engine_are_shown_without_commands_and_without_its_stack(lines: JobLines) -> None:
    command = "RuleException:\nCalledProcessError in file \"x.smk\", line 24:\nCommand 'orthoglot ...'"
    assert said(lines, LogEvent.ERROR, command, logging.ERROR, exception="RuleException") == ""
    settings = 'ConfigError in file "Snakefile", line 7:\nunknown loss'
    stack = '\n  File "Snakefile", line 7, in <module>\n  File "plan.py", line 9, in load'
    assert said(lines, LogEvent.ERROR, settings + stack, logging.ERROR, exception="ConfigError") == settings
    fault = 'Traceback\n  File "a.py", line 1, in f\nKeyError: 1'
    assert said(lines, LogEvent.ERROR, fault, logging.ERROR, exception="KeyError") == fault


def test_warnings_pass_and_noise_does_not(lines: JobLines) -> None:
    assert said(lines, None, "careful", logging.WARNING) == "careful"
    assert said(lines, None, "Nothing to be done (all is there)") == "Nothing to be done (all is there)"
    for message in ("Select jobs to execute...", "Provided cores: 2"):
        assert said(lines, None, message) == ""
    assert said(lines, LogEvent.RESOURCES_INFO, "Provided cores: 2") == ""


def test_a_target_that_is_no_receipt_is_named_as_it_is() -> None:
    assert folder_of("results/report.html") == "results/report.html"
    assert folder_of(RECEIPT) == "data/mini/bitext/a-b"


def test_the_packages_of_the_demo_are_those_of_the_extra_wherever_they_are_installed() -> None:
    (extra,) = re.findall(r"^demo = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    pins = sorted(re.findall(r'"([\w-]+==[\d.]+)', extra))
    (packages,) = re.findall(r"^DEMO_PACKAGES = (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert sorted(packages.split()) == [pin.partition("==")[0] for pin in pins]
    pinned = (ROOT / "constraints.txt").read_text()
    assert all(f"\n{pin}\n" in pinned for pin in pins)
    deployed = (ROOT / "workflow/envs/orthoglot.post-deploy.sh").read_text()
    assert sorted(re.findall(r"[\w-]+==[\d.]+", deployed)) == pins
