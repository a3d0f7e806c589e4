"""The settings that come with orthoglot, for tests to change."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from orthoglot.study import config

ROOT = Path(__file__).resolve().parents[2]
# The preset mini with more of everything: every kind of benchmark and task, an encoder of another kind, many methods.
GRID = {
    "benchmarks": ["mini-tatoeba", "mini-nway", "mini-sts", "mini-qe", "mini-code-switched"],
    "encoders": ["ems-mini", "xlmr-mini"],
    "methods": [
        *(
            "lir",
            "lsar",
            "leace",
            "whitening",
            "procrustes",
            "dream",
            "meat",
            "oracle",
            "dream+oracle",
            "dream+abs",
        ),
        *("meat+oracle", "meat+oracle-released", "meat+abs", "seed", "seed+oracle"),
    ],
    "seeds": [1, 2, 3],
}
TASKS = ["heldout", "tatoeba", "sts", "qe", "code-switched", "language-probe", "leakage", "geometry"]


@cache
def _shipped() -> config.Params:
    return config.load(ROOT / "params.yaml")


def shipped_values() -> dict[str, Any]:
    """params.yaml and the catalogue, every entry in full, with the preset mini chosen and enlarged."""
    values = _shipped().model_dump() | {"preset": "mini"}
    mini = values["presets"]["mini"]
    mini |= copy.deepcopy(GRID)
    mini["evaluation"]["tasks"] = list(TASKS)
    return values


def write_settings(values: dict[str, Any], folder: Path) -> None:
    """Write params.yaml, with empty sections for changes of the catalogue, and the catalogue."""
    (folder / "catalogue").mkdir(exist_ok=True)
    for section in config.CATALOGUES:
        (folder / "catalogue" / f"{section}.yaml").write_text(
            yaml.safe_dump(values[section], sort_keys=False)
        )
    params = values | {section: {} for section in config.CATALOGUES}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
