"""Folders of the user outside the working folder: data that stays, and a cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path, user_data_path

from orthoglot.errors import ConfigError

NAME = "orthoglot"


def user_folder(what: Literal["data", "cache"], instead: str = "") -> Path:
    """The user's folder for data or for a cache, which is made if it is absent.

    Args:
        what: which folder; XDG_DATA_HOME or XDG_CACHE_HOME says where, and else HOME.
        instead: what to do without the folder, for the error.
    Raises:
        ConfigError: there is no such place, or it may not be written to; says what to set.
    """
    folder = {"data": user_data_path, "cache": user_cache_path}[what](NAME)
    set_it = f"set XDG_{what.upper()}_HOME or HOME to a folder that may be written to{instead and f', or {instead}'}"
    # Without HOME and without an entry for the user, "~" stays.
    if folder.parts[0] == "~":
        raise ConfigError(f"this user has no home folder: {set_it}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(None, "no right to write")
    except OSError as error:
        raise ConfigError(f"{folder} cannot be used ({error.strerror}): {set_it}") from error
    return folder
