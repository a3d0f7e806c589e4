"""Whether a command may reach the model hub: only those that download do, unless HF_HUB_OFFLINE says otherwise."""

from __future__ import annotations

import os

VARIABLE = "HF_HUB_OFFLINE"  # read by huggingface_hub when it is imported
GIVEN = os.environ.get(VARIABLE)  # before this program sets it


def stay_offline() -> None:
    """Open no connection to the hub; a user's own value stays."""
    os.environ.setdefault(VARIABLE, "1")
    # Failures are reported in one line; the library logs every attempt twice.
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")


def allow_hub() -> None:
    """Let this process reach the hub; a user's own value stays. Call it before huggingface_hub is imported."""
    if GIVEN is None:
        os.environ[VARIABLE] = "0"
