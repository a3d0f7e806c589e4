"""Checksums within files of PyTorch, which PyTorch writes and does not compare."""

from __future__ import annotations

import zipfile
from pathlib import Path


def is_damaged(path: Path) -> bool:
    """Whether a part of what torch.save wrote does not have its CRC-32.

    The form of PyTorch before 1.6, which is no zip archive, has no checksums.
    """
    if not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is not None
    except Exception:  # a damaged archive raises errors of many types
        return True
