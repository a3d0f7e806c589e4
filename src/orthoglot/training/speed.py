"""How fast a training was: recorded beside its result, not in it, so that the same training gives the same bytes."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orthoglot.atomic import replacing
from orthoglot.errors import DataError
from orthoglot.training.training_state import Progress

if TYPE_CHECKING:
    import torch

FILE = "speed.json"


@dataclass(frozen=True)
class Speed:
    """The steps of a training that were timed."""

    steps: int  # how many
    seconds: float  # that they took, with the making of their batches; without validation and without saving
    hardware: str  # devices and version of PyTorch

    @property
    def seconds_per_1000(self) -> float:
        """Seconds of 1,000 steps."""
        return 1000 * self.seconds / self.steps


class Stopwatch:
    """Times the steps between `start` and `stop`, and adds them to the state of the training.

    What an interrupted process did after its last save is done again, so only what `stop` has added counts.
    """

    def __init__(self, progress: Progress):
        self.progress = progress
        self.start()

    def start(self) -> None:
        """Begin anew."""
        self.since, self.done = time.perf_counter(), self.progress.done

    def stop(self) -> None:
        """Count the steps since the start; on an accelerator they must have ended."""
        self.progress.seconds += time.perf_counter() - self.since
        self.progress.timed += self.progress.done - self.done


def hardware(device: torch.device, processes: int, threads: int) -> str:
    """What a training runs on, e.g. "4 × NVIDIA A100-SXM4-80GB, torch 2.13.0"; of a CPU also its threads."""
    import torch

    many = f"{processes} × " if processes > 1 else ""
    if device.type == "cuda":
        return f"{many}{torch.cuda.get_device_name(device)}, torch {torch.__version__}"
    return f"{many}{_processor()} ({threads} threads), torch {torch.__version__}"


def _processor() -> str:
    """The name of the CPU, or of its architecture where Linux does not say it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, names), platform.machine())


def write_speed(progress: Progress, folder: Path) -> None:
    """Write FILE into a folder, which is made; nothing where no step was timed."""
    if progress.timed:
        folder.mkdir(parents=True, exist_ok=True)
        speed = Speed(progress.timed, progress.seconds, progress.hardware)
        with replacing(folder / FILE) as partial:
            partial.write_text(json.dumps(asdict(speed)) + "\n", encoding="utf-8")


def read_speed(folder: Path) -> Speed | None:
    """What `write_speed` wrote; None where there is nothing, e.g. after the logs were removed.

    Raises:
        DataError: The file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        speed = Speed(**json.loads(path.read_text(encoding="utf-8")))
        if isinstance(speed.hardware, str) and speed.steps > 0 and speed.seconds > 0:
            return speed
    except (ValueError, TypeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); remove it") from error
    raise DataError(f"{path}: states no time; remove it")


def listed(speeds: Iterable[tuple[str, Speed]]) -> str:
    """The hardware of named trainings: alone where it is the same for all, else each with its trainings."""
    names: dict[str, dict[str, None]] = {}
    for name, speed in speeds:
        names.setdefault(speed.hardware, {})[name] = None
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"{machine}: {', '.join(trainings)}" for machine, trainings in names.items())
