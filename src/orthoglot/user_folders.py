"""Folders of the user outside the working folder: data that stays, and a cache."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_path, user_data_path

from orthoglot.errors import ConfigError

NAME = "orthoglot"
What = Literal["data", "cache"]


def user_place(what: What, instead: str = "") -> Path:
    """Where the user's folder for data or for a cache is, or would be.

    Args:
        what: Which folder; XDG_DATA_HOME or XDG_CACHE_HOME says where, else HOME.
        instead: What to do without the folder, for the error.
    Raises:
        ConfigError: there is no such place; says what to set.
    """
    try:
        place = {"data": user_data_path, "cache": user_cache_path}[what](NAME)
    except RuntimeError:  # of later versions of platformdirs
        place = Path("~")
    # "~" stays without HOME and without an entry for the user.
    if place.parts[0] == "~":
        raise ConfigError(f"this user has no home folder: {_set_it(what, instead)}")
    return place


def user_folder(what: What, instead: str = "") -> Path:
    """The same folder, which is made if it is absent.

    Raises:
        ConfigError: see `user_place`; or the folder cannot be made, or may not be written to.
    """
    folder = user_place(what, instead)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise ConfigError(f"{folder} cannot be used ({error.strerror}): {_set_it(what, instead)}") from error
    return folder


def _set_it(what: What, instead: str) -> str:
    named = f"set XDG_{what.upper()}_HOME or HOME to a folder that may be written to"
    return f"{named}, or {instead}" if instead else named
