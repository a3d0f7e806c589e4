"""Keeps Snakemake and DVC in step; imported by the Snakefile.

Whether a job is due is the plan's business (jobs.py); this module only announces it, records finished work
with DVC, clears the lock of a killed run and lets `--use-conda` work where there is no conda.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import yaml
from snakemake.logging import logger
from snakemake.settings.types import DeploymentMethod

from jobs import Plan


class Bridge:
    """One Snakemake run beside DVC."""

    def __init__(self, workflow: Any, plan: Plan) -> None:
        self.workflow = workflow
        self.plan = plan
        if not workflow.is_main_process:
            return
        if plan.unread:
            logger.warning(plan.unread)
        self._conda_fallback()
        self._be_the_only_run()
        plan.announce()
        self.started = time.time()

    def tell_causes(self) -> None:
        """After a failed run, repeat the cause of each failed job where it is seen: at the end."""
        for log in sorted(Path("logs").rglob("*.log")):
            if log.stat().st_mtime >= self.started:
                lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
                if lines and lines[-1].startswith("orthoglot: "):
                    logger.error(f"{log}: {lines[-1].removeprefix('orthoglot: ')}")

    def commit(self) -> None:
        """After a successful run, tell DVC that the outputs of all stages are what their inputs make."""
        asked = {job.rule.name for job in self.workflow.dag.jobs}
        stages = yaml.safe_load(Path("dvc.yaml").read_text(encoding="utf-8"))["stages"]
        whole = asked & {"all", "tabulate"}  # a table stands on every job before it
        done = list(stages) if whole else [name for name in stages if f"stage_{name}" in asked]
        inside_dvc = "DVC_STAGE" in os.environ
        if done and not inside_dvc and Path(".dvc").is_dir() and shutil.which("dvc"):
            command = ["dvc", "commit", "--force", "--quiet", *done]
            result = subprocess.run(command, text=True, capture_output=True, check=False)
            if result.returncode:
                cause = (result.stderr.strip().splitlines() or ["no cause given"])[-1]
                logger.warning(
                    f"the results are complete, but DVC did not record them ({cause}); dvc repro will"
                )

    def _conda_fallback(self) -> None:
        settings = self.workflow.deployment_settings
        if DeploymentMethod.CONDA in settings.deployment_method and shutil.which("conda") is None:
            logger.warning(
                "--use-conda: there is no conda on PATH; rules run in the current Python environment"
            )
            settings.deployment_method = set(settings.deployment_method) - {DeploymentMethod.CONDA}

    def _be_the_only_run(self) -> None:
        """Wait for a run that is at work, and clear the lock of one that was killed.

        A killed run leaves .snakemake/locks behind; a file lock dies with its process and tells dead from alive.
        """
        Path(".snakemake").mkdir(exist_ok=True)
        self._alive = open(".snakemake/alive", "w")  # noqa: SIM115 - held until this process ends
        try:
            fcntl.flock(self._alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if self.workflow.dryrun:
                return
            # A killed `dvc repro` leaves its Snakemake at work, for example.
            logger.warning("another run is at work in this folder: waiting for its end")
            fcntl.flock(self._alive, fcntl.LOCK_EX)
        for lock in Path(".snakemake/locks").glob("*.lock"):
            logger.warning(f"removing {lock}, left by a run that was killed")
            lock.unlink()
