"""Keeps Snakemake and DVC in step; imported by the Snakefile.

Which jobs run is decided by the plan (plan.py) and Snakemake. This module waits for a run that is still at work,
records finished stages with DVC, makes `--use-conda` work without conda, and asks for the image of `--sdm apptainer`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from snakemake.logging import logger
from snakemake.settings.types import DeploymentMethod

import job_lines
from orthoglot import receipts
from orthoglot.errors import ConfigError
from orthoglot.study.jobs import digests
from plan import STAGES, Plan
from why import reasons

LOCK = Path(".cache/run.lock")
IMAGE = "orthoglot.sif"  # in which jobs run with `--sdm apptainer`
ON_DEMAND = "on_demand"  # the stage of dvc.yaml whose results only a named target, or a command, makes


class Bridge:
    """One Snakemake run.

    Args:
        workflow: Snakemake's.
        plan: the jobs of this run.
        again: makes the plan anew, from params.yaml as it is then.
    """

    def __init__(self, workflow: Any, plan: Plan, again: Callable[[], Plan]) -> None:
        self.workflow = workflow
        self.plan = plan
        self.again = again
        self.begun = False
        if not workflow.is_main_process:
            return
        for warning in filter(None, [*plan.left_out.values(), plan.unread]):
            logger.warning(warning)
        self._drop_conda_if_absent()
        self._require_image()
        if workflow.storage_registry.default_storage_provider is not None:
            raise ConfigError(
                "--default-storage-provider: a result is a folder, and a storage plug-in carries the files alone "
                "that a rule names; docs/clusters.md says what to do without shared files"
            )

    def begin(self) -> None:
        """Start a run, if this is one and the first time: show lines of jobs, and let no other run be at work.

        Input functions call it, as they are the first of a workflow that a run evaluates: before Snakemake looks at any
        file, and takes its lock. `onstart` comes after both (docs/clusters.md). Where jobs are listed, drawn or
        unlocked, Snakemake has no executor, and nothing waits.
        """
        if self.begun or not self.workflow.is_main_process or self.workflow.executor_plugin is None:
            return
        self.begun = True
        if self.workflow.dryrun:
            job_lines.install(lambda folder: "; ".join(reasons(self.plan, folder)))
        else:
            job_lines.install()
            self._prepare()

    def commit(self) -> None:
        """After a successful run, record with DVC every stage whose jobs are all done and still as planned."""
        if "DVC_STAGE" in os.environ or not Path(".dvc").is_dir() or not shutil.which("dvc"):
            return
        digests.forget()
        try:
            now = self.again()
        except ConfigError as error:
            logger.warning(f"DVC records nothing: {error}")
            return
        if now.name != self.plan.name:
            logger.warning(
                f"The results of the preset {self.plan.name} are complete. DVC records those of params.yaml's preset, "
                f"{now.name}"
            )
            return
        same = [stage for stage in STAGES if now.keys(stage) == self.plan.keys(stage)]
        if changed := [stage for stage in STAGES if stage not in same]:
            logger.warning(
                f"DVC does not record {', '.join(changed)}: this run used other parameters or code than are here now"
            )
        done = [stage for stage in same if all(map(now.done, now.keys(stage)))]
        done.append(ON_DEMAND)
        damaged = {stage: fault for stage in done if (fault := self._fault(stage, now))}
        for stage, fault in damaged.items():
            logger.error(
                f"DVC does not record {stage}: {fault}; `orthoglot doctor --remove` removes what is damaged"
            )
        if done := [stage for stage in done if stage not in damaged]:
            command = ["dvc", "commit", "--force", *done]
            result = subprocess.run(command, text=True, capture_output=True, check=False)
            if result.returncode:
                logger.warning(
                    f"the results are complete, but DVC did not record them ({_cause(result.stderr)}); "
                    "restore dvc.lock from git if it is damaged, then run dvc repro"
                )

    def _fault(self, stage: str, plan: Plan) -> str | None:
        """The first file in the outputs of a DVC stage that is not as its job wrote it; each is read.

        DVC records whole folders, with the results of earlier parameters.
        """
        described = yaml.safe_load(Path("dvc.yaml").read_text(encoding="utf-8"))["stages"][stage]
        tops = [next(iter(out)).replace("${preset}", plan.name) for out in described["outs"]]
        earlier = {receipt.parents[1] for top in tops for receipt in Path(top).glob(f"**/{receipts.NAME}/*")}
        folders = sorted({*map(Path, plan.keys(stage)), *earlier})
        return next((fault for folder in folders for fault in receipts.faults(folder)), None)

    def _drop_conda_if_absent(self) -> None:
        settings = self.workflow.deployment_settings
        if DeploymentMethod.CONDA in settings.deployment_method and shutil.which("conda") is None:
            logger.warning(
                "--use-conda: there is no conda on PATH; rules run in the current Python environment"
            )
            settings.deployment_method = set(settings.deployment_method) - {DeploymentMethod.CONDA}

    def _require_image(self) -> None:
        methods = self.workflow.deployment_settings.deployment_method
        if DeploymentMethod.APPTAINER in methods and not Path(IMAGE).is_file():
            raise ConfigError(
                f"--sdm apptainer: there is no {IMAGE}; docs/run.md#containers says how to build it"
            )

    def _prepare(self) -> None:
        """Wait for a run that is at work, and clear the lock of one that was killed.

        A killed run leaves .snakemake/locks behind; a file lock ends with its process.
        """
        LOCK.parent.mkdir(exist_ok=True)
        self._running = open(LOCK, "w")  # noqa: SIM115 - held until this process ends
        try:
            fcntl.flock(self._running, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # A killed `dvc repro` leaves its Snakemake running, for example.
            logger.warning("another run is at work in this folder: waiting for its end")
            fcntl.flock(self._running, fcntl.LOCK_EX)
        for lock in Path(".snakemake/locks").glob("*.lock"):
            logger.warning(f"removing {lock}, left by a run that was killed")
            lock.unlink()
        # The run that was waited for has removed it.
        Path(".snakemake/locks").mkdir(parents=True, exist_ok=True)
        # DVC needs these folders even if no encoder is trained on sentence pairs, and nothing is made on demand.
        name = self.plan.name
        for folder in (f"models/{name}/tokens", "tables", f"ablation/{name}", "exported"):
            Path(folder).mkdir(parents=True, exist_ok=True)
        digests.save_cache()


def _cause(printed: str) -> str:
    """The line of an error of DVC that says why; a file that is not as DVC wants it has no line with ERROR."""
    lines = [line for line in printed.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return next(iter([*errors, *lines]), "no cause given")
