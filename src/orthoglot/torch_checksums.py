"""Checksums within files of PyTorch, which PyTorch writes and does not compare."""

from __future__ import annotations

import zipfile
from pathlib import Path


def is_archive(path: Path) -> bool:
    """Whether a file ends as a zip archive does, also one whose end is damaged."""
    try:
        return zipfile.is_zipfile(path)
    except zipfile.BadZipFile:
        return True


def is_damaged(path: Path) -> bool:
    """Whether a part of what torch.save wrote does not have its CRC-32.

    The form of PyTorch before 1.6, which is no zip archive, has no checksums.
    """
    if not is_archive(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is not None
    except Exception:  # a damaged archive raises errors of many types
        return True
