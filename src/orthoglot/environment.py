"""Variables of the environment that decide how a process computes; set before NumPy and PyTorch are imported."""

from __future__ import annotations

import os

DEFAULTS = {
    # The number of threads changes the last bits of a sum; trainings set their own from their settings.
    "OMP_NUM_THREADS": "1",
    # Threads that spin while they wait slow a training tenfold when jobs share cores.
    "OMP_WAIT_POLICY": "PASSIVE",
    "TOKENIZERS_PARALLELISM": "false",
}


def set_defaults() -> None:
    """Set what the user has not set."""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
