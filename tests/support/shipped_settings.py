"""The settings that come with orthoglot, for tests to change."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from orthoglot import config

ROOT = Path(__file__).resolve().parents[2]


@cache
def _shipped() -> config.Params:
    return config.load(ROOT / "params.yaml")


def shipped_values() -> dict[str, Any]:
    """params.yaml and the catalogue, every entry in full, with the preset mini chosen."""
    return _shipped().model_dump() | {"preset": "mini"}


def write_settings(values: dict[str, Any], folder: Path) -> None:
    """Write params.yaml, with empty sections for changes of the catalogue, and the catalogue."""
    (folder / "catalogue").mkdir(exist_ok=True)
    for section in config.CATALOGUES:
        (folder / "catalogue" / f"{section}.yaml").write_text(
            yaml.safe_dump(values[section], sort_keys=False)
        )
    params = values | {section: {} for section in config.CATALOGUES}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
