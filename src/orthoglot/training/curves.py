"""Curves of a training in the files of other tools, written while it runs; they decide nothing."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orthoglot.errors import ConfigError

Add = Callable[[int, str, float], None]
logger = logging.getLogger(__name__)


class Curves:
    """Writes every point with each of the chosen tools.

    The folder begins empty: a resumed training writes its earlier points again.
    """

    def __init__(self, folder: Path, tools: Sequence[str]):
        """Open the tools' files under `folder`/<tool>; a ConfigError if a tool is not installed."""
        shutil.rmtree(folder, ignore_errors=True)
        self._tools: list[Add] = []
        for tool in tools:
            try:
                self._tools.append(TOOLS[tool](folder / tool))
            except ImportError as error:
                raise ConfigError(
                    f"curves: {tool} is not installed: pip install {tool}, or leave it out of params.yaml"
                ) from error

    def add(self, point: Mapping[str, float]) -> None:
        """One point: `step`, and the values that belong to it by name."""
        for tool in self._tools:
            for name, value in point.items():
                if name != "step":
                    tool(int(point["step"]), name.replace(".", "/"), value)


def _dvclive(folder: Path) -> Add:
    from dvclive import Live

    logging.getLogger("dvclive").setLevel(logging.ERROR)
    live: Any = Live(str(folder), save_dvc_exp=False, dvcyaml=None, report=None)

    def add(step: int, name: str, value: float) -> None:
        live.step = step
        live.log_metric(name, value)

    return add


def _tensorboard(folder: Path) -> Add:
    from torch.utils.tensorboard import SummaryWriter

    writer: Any = SummaryWriter(str(folder))

    def add(step: int, name: str, value: float) -> None:
        writer.add_scalar(name, value, step)
        writer.flush()

    return add


TOOLS: dict[str, Callable[[Path], Add]] = {"dvclive": _dvclive, "tensorboard": _tensorboard}
