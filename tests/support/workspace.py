"""A miniature of the whole workflow in a git repository of its own, driven as a user would drive it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from preloaded import Forked
from shipped_settings import shipped_values, write_settings

ROOT = Path(__file__).resolve().parents[2]
# What starts as a copy of a process that has the libraries. What these start themselves, and all jobs, start anew.
PRELOADED = {str(Path(sys.executable).with_name(name)) for name in ("snakemake", "dvc")}


def programs(folder: Path, script: str) -> str:
    """A folder with a command `orthoglot` that runs a script of this folder, such as stub_verb.py."""
    folder.mkdir(parents=True)
    program = folder / "orthoglot"
    program.write_text(f"#!{sys.executable}\n{Path(__file__).with_name(script).read_text()}")
    program.chmod(0o755)
    return str(folder)


def tiny(params: dict[str, Any]) -> dict[str, Any]:
    """All settings reduced to one encoder, two methods and seconds of work."""
    preset = params["presets"]["mini"]
    preset["encoders"] = ["ems-mini"]
    preset["methods"] = ["dream", "dream+oracle"]
    preset["seeds"] = [1]
    preset["splits"].update(max_valid=50, max_test=50)
    preset["embedding"].update(train_pairs=200)
    preset["decomposition"].update(max_epochs=2, batch_size=64)
    for ablation in preset["ablations"]:
        ablation["seeds"] = [1]
    params["variants"] = {kind: dict([*known.items()][:2]) for kind, known in params["variants"].items()}
    preset["evaluation"].update(heldout_pairs=50, probe_sentences=40, map_sentences=20, resamples=100)
    params["corpora"]["mini"].update(languages={"qab": 400, "qac": 300}, retrieval_pairs=40, graded_items=10)
    for name in ("mini-tatoeba", "mini-code-switched"):
        params["benchmarks"][name]["languages"] = ["qab", "qac"]
    for name in ("mini-nway", "mini-topics", "mini-inference", "mini-choices", "mini-answers"):
        params["benchmarks"][name]["languages"] = ["qaa", "qab", "qac"]
    for name in ("mini-sts", "mini-qe", "mini-qe-train", "mini-qe-valid"):
        params["benchmarks"][name]["pairs"] = ["qaa-qab", "qaa-qac"]
    params["benchmarks"]["mini-mining"]["pairs"] = ["qab-qaa", "qac-qaa"]
    ems = params["encoders"]["ems-mini"]
    ems["network"]["tokenizer"]["vocabulary"] = 300
    ems["network"].update(layers=1, width=32, heads=2, feed_forward=64)
    ems.update(
        language_width=8,
        projection_width=16,
        batch_size=32,
        steps=20,
        validate_every=10,
        warmup_steps=5,
        threads=1,
    )
    emma_x = params["encoders"]["emma-x-mini"]
    emma_x["network"]["tokenizer"]["vocabulary"] = 300
    emma_x["network"].update(layers=1, width=32, heads=2, feed_forward=64)
    emma_x.update(queue=32, threads=1)
    for phase in ("parallel", "text"):
        emma_x[phase].update(steps=10, batch_size=16, validate_every=5, warmup_steps=2)
    emma_x["parallel"]["pairs"] = {"qaa-qac": 50}
    return params


class Running:
    """A command in a session of its own; what it prints goes to a file, which cannot fill up as a pipe can."""

    def __init__(self, *command: str, cwd: Path, env: dict[str, str]) -> None:
        self.printed = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        program = shutil.which(command[0], path=env["PATH"])
        if program in PRELOADED:
            self.process: Forked | subprocess.Popen[str] = Forked(
                [program, *command[1:]], cwd, env, self.printed
            )
        else:
            self.process = subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                text=True,
                stdout=self.printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def poll(self) -> int | None:
        """The exit status, or None as long as it runs."""
        return self.process.poll()

    @property
    def returncode(self) -> int | None:
        """The exit status once it has ended."""
        return self.process.returncode

    def finish(self) -> str:
        """Wait for the end; returns what was printed."""
        try:
            self.process.wait(timeout=1800)
        except BaseException:
            self.kill_all()
            raise
        self.printed.seek(0)
        return self.printed.read()

    def wait_for(self, text: str) -> None:
        """Wait until this was printed."""
        deadline = time.monotonic() + 120
        printed = Path(
            f"/proc/self/fd/{self.printed.fileno()}"
        )  # opened anew: the process writes at its own place
        while text not in printed.read_text() and self.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert text in printed.read_text()

    def kill_all(self, *, alone: bool = False) -> None:
        """Kill the command with all that it started, or alone."""
        assert self.poll() is None, "it had ended before it could be killed"
        (os.kill if alone else os.killpg)(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass
class Workspace:
    """A checkout in which the engines are run as a user would run them.

    Attributes:
        folder: with its own git repository.
        programs: first on PATH: this Python's, or those of `programs`.
    """

    folder: Path
    programs: str = str(Path(sys.executable).parent)

    @classmethod
    def make(cls, folder: Path, programs: str | None = None) -> Workspace:
        """The checkout's own files with the miniature parameters, committed, nothing run."""
        command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            unwanted = name.startswith(("docs/", "measurements/", "results/", "tests/")) or name == "dvc.lock"
            if (ROOT / name).is_file() and not unwanted:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        write_settings(tiny(shipped_values()), folder)
        workspace = cls(folder, programs or cls.programs)
        workspace.run("git", "init", "-q", "-b", "main")
        workspace.run("git", "config", "user.name", "t")  # dvc exp run commits, too
        workspace.run("git", "config", "user.email", "t@t")
        workspace.commit("miniature")
        return workspace

    def run(self, *command: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command with this Python's tools first on PATH."""
        process = self.start(*command, **environment)
        printed = process.finish()
        if check and process.returncode:
            raise AssertionError(f"{command} ended with {process.returncode}:\n{printed}")
        return subprocess.CompletedProcess(command, process.returncode or 0, printed)

    def start(self, *command: str, **environment: str) -> Running:
        """Start a command."""
        return Running(*command, cwd=self.folder, env=self._environment(environment))

    def kill_when(self, pattern: str, *command: str) -> None:
        """Run a command and kill it with all that it started when a file or folder like `pattern` appears."""
        process = self.start(*command)
        deadline = time.monotonic() + 1800
        while not list(self.folder.glob(pattern)) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill_all()
        assert list(self.folder.glob(pattern)), f"{command} never made {pattern}"

    @property
    def path(self) -> str:
        """PATH of the commands that are run."""
        return os.pathsep.join([self.programs, str(Path(sys.executable).parent), os.environ["PATH"]])

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        fixed = {
            "PYTHONPATH": str(self.folder / "src"),
            "DVC_NO_ANALYTICS": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",  # a workspace holds what its commands write, and nothing else
        }
        return {**os.environ, "PATH": self.path, **fixed, **more}

    def jobs_run(self, *command: str) -> list[str]:
        """The output folders of the jobs that a command ran."""
        return self.done_in(self.run(*command).stdout)

    @staticmethod
    def done_in(text: str) -> list[str]:
        """The output folders of the jobs that ran, by what they printed."""
        return sorted(re.findall(r"done: (\S+)", text))

    def jobs_due(self, *targets: str) -> dict[str, int]:
        """What `snakemake -n` would run for the targets, or unasked: jobs by rule."""
        text = self.run("snakemake", "-n", "--cores", "2", "--quiet", "host", "--", *targets).stdout
        table = re.search(r"^job\s+count\n[-\s]+\n(.*?)^total", text, re.S | re.M)
        if table is None:
            assert "Nothing to be done" in text, text
            return {}
        rows = (line.split() for line in table[1].splitlines() if line.strip())
        found = {name: int(count) for name, count in rows}
        return {name: count for name, count in found.items() if name not in ("all", *targets)}

    def edit(self, **changes: Any) -> None:
        """Set dotted keys of params.yaml, `__` standing for the dot."""
        path = self.folder / "params.yaml"
        params = yaml.safe_load(path.read_text())
        for dotted, value in changes.items():
            *parents, last = dotted.split("__")
            node = params
            for key in parents:
                node = node.setdefault(key, {})
            node[last] = value
        path.write_text(yaml.safe_dump(params, sort_keys=False))

    def commit(self, message: str) -> None:
        self.run("git", "add", "-A")
        self.run("git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", message)

    def copy(self, folder: Path) -> Workspace:
        """This workspace with all its files, times kept."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Workspace(folder, self.programs)
