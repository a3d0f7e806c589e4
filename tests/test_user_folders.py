"""The user's folders, where there are none too."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from orthoglot.errors import ConfigError
from orthoglot.user_folders import user_folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_folders_are_made_below_home_or_where_a_variable_says(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert user_folder("data") == home / ".local/share/orthoglot"
    assert user_folder("cache") == home / ".cache/orthoglot"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "elsewhere"))
    assert user_folder("cache") == home / "elsewhere/orthoglot"
    assert all(folder.is_dir() for folder in (home / ".local/share/orthoglot", home / "elsewhere/orthoglot"))


def test_without_a_home_it_is_said_what_to_set(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc/nohome")
    message = r"^/proc/nohome/.cache/orthoglot cannot be used \(.*\): set XDG_CACHE_HOME or HOME to a folder"
    with pytest.raises(ConfigError, match=message):
        user_folder("cache")
    monkeypatch.setenv("HOME", str(home / "file"))
    (home / "file").write_text("")
    with pytest.raises(ConfigError, match=r"set XDG_DATA_HOME or HOME to a folder .*, or give --model$"):
        user_folder("data", "give --model")

    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(ConfigError, match="this user has no home folder: set XDG_DATA_HOME or HOME"):
        user_folder("data")


def test_a_folder_that_may_not_be_written_to_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(ConfigError, match=r"cannot be used \(Permission denied\): set XDG_DATA_HOME"):
        user_folder("data")
