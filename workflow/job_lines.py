"""One line on the terminal for each job that ends, or would run, and what the user asks Snakemake for.

`-p` and `--show-failed-logs` add text of Snakemake, and `--verbose` gives all of it, as .snakemake/log has it.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from pathlib import Path

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from orthoglot.progress import duration

STREAM = "DefaultStreamHandler"
# What Snakemake says of a failed command besides JOB_ERROR: the command itself, with the whole job.
FAILED_COMMAND = "RuleException:\nCalledProcessError"
# Errors that say all in their message; of others, the calls that led there are shown.
FAULTS = {"WorkflowError", "ConfigError", "DataError"}
TRACE = re.compile(r'\n  File ".*", line \d+, in .*')
# What a user looks at of a result, by the first part of its folder's path.
SHOWN = {"results": "report: {}/report.html", "mined": "pairs: {}/pairs.tsv"}


class JobLines(logging.Formatter):
    """Formats and filters what goes to the terminal: ends and failures of jobs, warnings and errors.

    Args:
        inner: Snakemake's formatter, for warnings and errors.
        why: In a dry run, says why the job that makes a folder would run; each such job gets a line.
    """

    def __init__(self, inner: logging.Formatter | None, why: Callable[[str], str] | None = None) -> None:
        super().__init__()
        self.why = why
        self.inner = inner or logging.Formatter()
        self.show_failed_logs: bool = getattr(inner, "show_failed_logs", False)
        self.running: dict[int, tuple[str, float]] = {}
        self.ended: list[int] = []
        self.logs: dict[str, int | None] = {}  # when each was last written before its job started
        self.first = 0.0  # when the first job started

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record makes a line; keeps what later lines say."""
        event = getattr(record, "event", None)
        if self.why is not None and event is not None:
            made = event == LogEvent.JOB_INFO and record.__dict__["output"]
            command = event == LogEvent.SHELLCMD and record.__dict__["shellcmd"]
            return bool(made or command) or event == LogEvent.RUN_INFO or record.levelno >= logging.WARNING
        if event == LogEvent.JOB_INFO:
            output = next(iter(record.__dict__["output"]), "")
            self.first = self.first or time.monotonic()
            self.running[record.__dict__["jobid"]] = (folder_of(output), time.monotonic())
            self.logs |= {log: written(log) for log in record.__dict__["log"]}
        elif event == LogEvent.JOB_FINISHED:
            self.ended.append(record.__dict__["job_id"])
        if event == LogEvent.ERROR:
            return not record.getMessage().startswith(FAILED_COMMAND)
        if event is not None:
            return event in (LogEvent.PROGRESS, LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR, LogEvent.SHELLCMD)
        return record.levelno >= logging.WARNING or str(record.msg).startswith("Nothing to be done")

    def format(self, record: logging.LogRecord) -> str:
        """The line, or a line for each of several jobs that ended together."""
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_INFO and self.why is not None:
            folder = folder_of(record.__dict__["output"][0])
            return f"due: {folder}: {self.why(folder)}"
        if event == LogEvent.JOB_ERROR:
            values = record.__dict__
            # A job that stopped before it wrote has the log of an earlier run, or none.
            logs = [log for log in values["log"] if written(log) not in (None, self.logs.get(log))]
            # The executor says why a cluster refused a job.
            said = (values.get("rule_msg") or "it wrote no log, see .snakemake/log").splitlines()[0]
            cause = ", ".join(map(_with_cause, logs)) or said
            line = f"failed: {folder_of(next(iter(values['output']), values['rule_name']))}; {cause}"
            return f"{line}\n{self.inner.format(record)}" if self.show_failed_logs else line
        if event != LogEvent.PROGRESS:
            text = self.inner.format(record)
            return TRACE.sub("", text) if record.__dict__.get("exception") in FAULTS else text
        done, total = record.__dict__["done"], record.__dict__["total"]
        known = [self.running.pop(job) for job in self.ended if job in self.running]
        self.ended.clear()
        # The other jobs are taken to last as long as those so far.
        rest = (time.monotonic() - self.first) / done * (total - done)
        left = f"{total - done} left, about {duration(rest)}" if done < total else "0 left"
        lines = [
            f"[{done}/{total}] done: {folder} in {time.monotonic() - started:.0f} s, {left}"
            for folder, started in known
            if folder
        ]
        shown = [(SHOWN.get(Path(folder).parts[0]), folder) for folder, _ in known if folder]
        return "\n".join([*lines, *(line.format(folder) for line, folder in shown if line)])


def folder_of(output: str) -> str:
    """The folder that a job makes, by its receipt."""
    path = Path(output)
    return str(path.parents[1]) if path.parent.name == "receipt" else output


def written(log: str) -> int | None:
    """When a file was last written, in ns; None if there is none."""
    return Path(log).stat().st_mtime_ns if Path(log).exists() else None


def _with_cause(log: str) -> str:
    """A log with its last line, which says why the job failed."""
    lines = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()
    return f"{log}: {lines[-1].removeprefix('orthoglot: ')}" if lines else log


def install(why: Callable[[str], str] | None = None) -> None:
    """Show lines of jobs instead of Snakemake's own; not where the user has asked for all that it says.

    Args:
        why: See `JobLines`.
    """
    if logger.level <= logging.DEBUG:
        return
    for handler in logger.handlers:
        if handler.name == STREAM and not isinstance(handler.formatter, JobLines):
            lines = JobLines(handler.formatter, why)
            handler.addFilter(lines.filter)
            handler.setFormatter(lines)
