"""Run notebooks and write their outputs into them: python examples/refresh.py examples/*.ipynb."""

from __future__ import annotations

import os
import sys
from contextlib import chdir
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

# Of the whole notebook, with the other work of the machine.
SECONDS = 600


def run(path: Path) -> tuple[NotebookNode, float]:
    """A notebook with the outputs of a new kernel in an empty folder, and the processor time in seconds.

    What changes from machine to machine is left out: times, versions, names of the environment.

    Raises:
        CellExecutionError: a cell raises an error.
    """
    notebook = nbformat.read(path, as_version=4)
    before = _spent()
    with TemporaryDirectory() as folder, chdir(folder):
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            # Sockets of this folder in place of ports: nobody else can reach the kernel.
            config=Config(KernelManager={"transport": "ipc"}),
        )
        # One thread: threads that wait for each other take processor time, too. tqdm asks for widgets in vain.
        own = {"OMP_NUM_THREADS": "1", "TMPDIR": folder, "PYTHONWARNINGS": "ignore:IProgress not found"}
        client.execute(env={**os.environ, **own})
    notebook.metadata = NotebookNode(
        kernelspec={"display_name": "Python 3", "language": "python", "name": "python3"},
        language_info={"name": "python"},
    )
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
    return notebook, _spent() - before


def _spent() -> float:
    """Processor time of the processes that this one has ended."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run each notebook of the command line."""
    for name in sys.argv[1:]:
        notebook, seconds = run(Path(name))
        nbformat.validate(notebook)
        nbformat.write(notebook, name)
        sys.stdout.write(f"{name}: {seconds:.0f} s of processor time\n")


if __name__ == "__main__":
    main()
