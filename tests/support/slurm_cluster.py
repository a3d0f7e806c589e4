"""A Slurm of two nodes of Debian's packages slurm-wlm and munge, in a folder and namespaces of its own.

Its configuration is mounted over /etc/slurm for its processes alone, as Snakemake's plug-in removes SLURM_CONF from the
environment of jobs. Its processes end with the first of them. It listens on the loopback address.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "unshare", "nsenter")
ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db")
# Daemons are in folders that a user's PATH may lack.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
ETC = Path("/etc/slurm")
ACCOUNTED = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageTRES=gres/gpu
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge/socket
JobAcctGatherType=jobacct_gather/linux
"""
DATABASE = """\
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=root
StorageLoc=slurm
LogFile={folder}/accounting.log
PidFile={folder}/accounting.pid
"""
# Each node claims more than the machine has: jobs of tests are small, and several should run at once.
NODES = "first", "second"
CPUS, MEMORY_MB, GPUS = 8, 200_000, 4
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
GresTypes=gpu
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
MpiDefault=none
JobCompType=jobcomp/none
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/%n.log
NodeName=DEFAULT CPUs={cpus} RealMemory={memory} Gres=gpu:{gpus}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing(accounting: bool = False) -> str:
    """Why there can be no cluster here; empty if there can."""
    needed = PROGRAMS + (ACCOUNTING if accounting else ())
    absent = [name for name in needed if shutil.which(name, path=PATH) is None]
    if absent or not ETC.is_dir():
        more = " slurmdbd mariadb-server" if accounting else ""
        return f"{', '.join(absent) or ETC} absent: apt-get install slurm-wlm munge{more}"
    return "" if os.geteuid() == 0 else "only root may mount a configuration"


class SlurmCluster:
    """munged, slurmctld and slurmd, with accounting also slurmdbd and a database, as long as the context.

    Attributes:
        folder: configuration, keys, state and logs.
        inside: what to write before a command that is to reach the cluster.
    """

    def __init__(self, folder: Path, accounting: bool = False):
        self.folder, self._accounting = folder, accounting
        self.inside: tuple[str, ...] = ()
        self._first: subprocess.Popen[bytes]

    def __enter__(self) -> Self:
        for name in ("etc", "munge", "controller", *NODES):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "munge/key").write_bytes(os.urandom(1024))
        (self.folder / "munge/key").chmod(0o600)
        host = socket.gethostname().partition(".")[0]
        sizes = {"cpus": CPUS, "memory": MEMORY_MB, "gpus": GPUS}
        settings = CONFIGURATION.format(host=host, folder=self.folder, controller=_free_port(), **sizes)
        settings += "".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={_free_port()}\n" for name in NODES
        )
        if self._accounting:
            port, database = _free_port(), _free_port()
            settings += ACCOUNTED.format(folder=self.folder, port=port)
            text = DATABASE.format(folder=self.folder, port=port, database=database)
            (self.folder / "etc/slurmdbd.conf").write_text(text)
            (self.folder / "etc/slurmdbd.conf").chmod(0o600)
        (self.folder / "etc/slurm.conf").write_text(settings)
        # In place of GPUs, which Slurm counts and does not look at: devices like /dev/null.
        for number in range(GPUS):
            os.mknod(self.folder / f"gpu{number}", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        (self.folder / "etc/gres.conf").write_text(f"Name=gpu File={self.folder}/gpu[0-{GPUS - 1}]\n")
        # A shell that waits collects the processes that lose their parents.
        script = f"mount --bind {shlex.quote(str(self.folder / 'etc'))} {ETC} && while sleep 1; do :; done"
        apart = "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"
        self._first = subprocess.Popen([*apart, "sh", "-c", script])
        try:
            children = Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children")
            _wait(lambda: children.read_text().strip(), "the namespace", self.folder)
            target = children.read_text().strip()
            self.inside = "nsenter", "--mount", "--pid", "--target", target, "--wd=."
            _wait(lambda: "slurm.conf" in self.run("ls", str(ETC)).split(), "the mount", self.folder)
            names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
            files = [f"--{option}={self.folder}/munge/{name}" for option, name in names.items()]
            self.run("munged", "--force", f"--log-file={self.folder}/munge.log", *files)
            if self._accounting:
                self._keep_accounts(database)
            self.run("slurmctld")
            for name in NODES:
                self.run("slurmd", "-N", name)
            idle = f"{len(NODES)} idle\n"
            _wait(
                lambda: self.run("sinfo", "-h", "-o", "%D %T", check=False) == idle, "the nodes", self.folder
            )
        except BaseException:
            self._first.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._first.kill()
        self._first.wait()

    def _keep_accounts(self, port: int) -> None:
        """A database and slurmdbd, which has an account of root's from the start."""
        data = self.folder / "database"
        plain = "--auth-root-authentication-method=normal"
        self.run("mariadb-install-db", "--no-defaults", "--user=root", plain, f"--datadir={data}")
        listens = "--bind-address=127.0.0.1", f"--port={port}", f"--socket={data}/socket"
        log = f"--log-error={self.folder}/database.log"
        subprocess.Popen(
            [*self.inside, "mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", *listens, log],
            env=os.environ | {"PATH": PATH},
            stdin=subprocess.DEVNULL,
        )
        _wait(lambda: (data / "socket").exists(), "the database", self.folder)
        self.run("slurmdbd")
        add = "sacctmgr", "--immediate", "add", "cluster", "test"
        _wait(lambda: self.run(*add, check=False), "slurmdbd", self.folder)

    def run(self, *command: str, check: bool = True) -> str:
        """What a command prints that is run inside."""
        found = subprocess.run(
            [*self.inside, *command],
            env=os.environ | {"PATH": PATH},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if check and found.returncode:
            raise RuntimeError(f"{' '.join(command)}: {found.stderr.strip()}")
        return found.stdout

    def jobs(self, *states: str) -> list[str]:
        """Numbers of the jobs in these states, such as RUNNING; of all that have not ended without any."""
        chosen = ("-t", ",".join(states)) if states else ()
        return self.run("squeue", "-h", "-o", "%A", *chosen).split()

    def sacct(self, columns: str, *options: str) -> list[list[str]]:
        """These columns of the jobs, and without `--allocations` of their steps, as accounting has them."""
        rows = self.run("sacct", "--noheader", "--parsable2", f"--format={columns}", *options).splitlines()
        return [row.split("|") for row in rows]

    def submitted(self) -> int:
        """How many jobs have been submitted in all; an array is one."""
        return (self.folder / "controller.log").read_text().count("_slurm_rpc_submit_batch_job: JobId=")

    def cancel(self, number: str) -> None:
        """What `scancel` does."""
        self.run("scancel", number)

    def kill(self, number: str) -> None:
        """Kill the processes of a running job, as the kernel does where memory ends."""
        node = self.run("squeue", "-h", "-o", "%N", "-j", number, check=False).strip()
        listed = self.run("scontrol", "listpids", number, node, check=False).splitlines()[1:]
        for process in [line.split()[0] for line in listed]:
            self.run("kill", "-9", process, check=False)

    def restart_controller(self) -> None:
        """Stop the controller, which saves its state, and start it again."""
        number = (self.folder / "controller.pid").read_text().strip()
        self.run("kill", number)
        _wait(lambda: not self.run("ls", f"/proc/{number}", check=False), "the stop", self.folder)
        self.run("slurmctld")
        _wait(lambda: self.run("scontrol", "ping", check=False).count("UP"), "the controller", self.folder)


def _wait(ready: Callable[[], object], what: str, folder: Path) -> None:
    deadline = time.monotonic() + 60
    while not ready():
        if time.monotonic() > deadline:
            printed = "\n".join(path.read_text()[-2000:] for path in sorted(folder.glob("*.log")))
            raise RuntimeError(f"{what} did not come within a minute:\n{printed}")
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
