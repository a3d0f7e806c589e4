"""orthoglot: sentence encoders across languages, split into a meaning and a language part."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from orthoglot.apply.estimator import Decomposer
    from orthoglot.apply.lists import filter, mine, score
    from orthoglot.apply.model import Model
    from orthoglot.encoders.settings import Precision
    from orthoglot.formats.pairs import read_pairs

__all__ = ["Decomposer", "Model", "filter", "load", "mine", "read_pairs", "score"]
__version__ = "1.0.0"


def load(folder: str | Path | None = None, device: str = "auto", precision: Precision = "float32") -> Model:
    """Load a trained encoder or decomposer, or the ready model; see `orthoglot.Model.load`.

    >>> import orthoglot
    >>> model = orthoglot.load("my-model")  # a folder that `orthoglot fit` wrote
    >>> meaning = model.encode(["Where is the station?", "The museum is closed."])
    >>> len(meaning), model.usual_part
    (2, 'meaning')
    """
    from orthoglot.apply.model import Model

    return Model.load(folder, device, precision)


# Names that need NumPy, scikit-learn or PyTorch, which take seconds to import, and the modules that have them.
_LATER = {
    "Decomposer": "apply.estimator",
    "Model": "apply.model",
    "filter": "apply.lists",
    "mine": "apply.lists",
    "read_pairs": "formats.pairs",
    "score": "apply.lists",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'orthoglot' has no attribute {name!r}")
    return getattr(import_module(f"orthoglot.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
