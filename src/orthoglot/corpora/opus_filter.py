"""Filters of OpusFilter (Aulamo et al., ACL 2020), as a configuration file of its own names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from orthoglot import yaml_files
from orthoglot.corpora.filters import Filter, Languages, Sides
from orthoglot.errors import ConfigError

# Parameters of a step that say which files are read and written: here the pairs come from the corpora.
_FILES = {"inputs", "outputs"}


class OpusFilter(Filter):
    """One filter of OpusFilter; scores are what it makes them, and what is dropped is counted under its name.

    Args:
        reason: its class, then the name that the file gives it, if any.
        judge: an object with OpusFilter's `score` and `accept`.
        sides: 2 for pairs, 1 for sentences without translations.
    """

    def __init__(self, reason: str, judge: Any, sides: int) -> None:
        super().__init__()
        self.reason = reason
        self.judge = judge
        self.sides = sides

    def scores(self, sides: Sides) -> list[Any]:
        """What OpusFilter's filter makes of each pair, often a list with a number for each side."""
        return list(self.judge.score(list(zip(*sides[: self.sides], strict=True))))

    def accepts(self, scores: list[Any]) -> np.ndarray:
        """What OpusFilter's filter says of the scores."""
        return np.array([bool(self.judge.accept(score)) for score in scores], dtype=bool)


def read_filters(file: str, languages: Languages) -> list[Filter]:
    """The filters of a file's steps of type `filter`, in their order.

    In strings of their parameters, `{source}` and `{target}` stand for the languages of the sides. Files that they
    name are looked for in the folder of the file.

    Args:
        file: a configuration of OpusFilter.
        languages: of the sides; the second is "" for sentences without translations.
    Raises:
        ConfigError: no such file, OpusFilter is not installed, a step of another type, a filter that OpusFilter does
            not have, that cannot be made, or that does not judge one pair at a time.
    """
    wanted = [_named(file, one, languages) for one in _of_steps(file, yaml_files.read(Path(file)))]
    try:
        from opusfilter import FilterABC, OpusFilterError, filters
        from opusfilter.pipeline import FilterPipeline
    except ImportError as error:
        raise ConfigError(
            f"{file}: OpusFilter is not installed ({error}): pip install 'orthoglot[opusfilter]'"
        ) from error
    pipeline = FilterPipeline()
    for name, parameters in wanted:
        kind = getattr(filters, name, None)
        if not (isinstance(kind, type) and issubclass(kind, FilterABC)) or kind is FilterABC:
            raise ConfigError(f"{file}: OpusFilter has no filter {name!r}")
        if getattr(kind, "filter", None) is not FilterABC.filter:
            raise ConfigError(f"{file}: {name} judges many pairs together, which is not supported")
        try:
            made = kind(**{"workdir": str(Path(file).parent), **parameters})
        except (OpusFilterError, ImportError, AttributeError, OSError, TypeError, ValueError) as error:
            raise ConfigError(f"{file}: {name} cannot be made: {error}") from error
        if made.kwargs:
            raise ConfigError(f"{file}: {name} has no parameter {', '.join(made.kwargs)}")
        pipeline.filters.append(made)
    reasons = map(".".join, pipeline.get_score_tuples())
    sides = sum(map(bool, languages))
    return [OpusFilter(reason, one, sides) for reason, one in zip(reasons, pipeline.filters, strict=True)]


def _of_steps(file: str, content: Any) -> list[Any]:
    """The filters of all steps."""
    steps = content.get("steps") if isinstance(content, dict) else None
    if not isinstance(steps, list) or not steps or not all(isinstance(step, dict) for step in steps):
        raise ConfigError(f"{file}: write a list of steps of type filter under `steps`, as for OpusFilter")
    found = []
    for number, step in enumerate(steps, 1):
        if (kind := step.get("type")) != "filter":
            raise ConfigError(
                f"{file}: step {number} is of type {kind!r}: orthoglot reads, de-duplicates and splits the text; leave "
                "steps of type filter alone"
            )
        parameters = step.get("parameters")
        listed = parameters.get("filters") if isinstance(parameters, dict) else None
        if not isinstance(listed, list):
            raise ConfigError(f"{file}: step {number} has no list of `filters` under `parameters`")
        if more := sorted(set(parameters) - _FILES - {"filters"}):
            raise ConfigError(f"{file}: step {number}: {', '.join(more)} is not supported")
        found += listed
    if not found:
        raise ConfigError(f"{file}: names no filter")
    return found


def _named(file: str, entry: Any, languages: Languages) -> tuple[str, dict[str, Any]]:
    """Name and parameters of a filter."""
    if isinstance(entry, dict) and "module" in entry:
        raise ConfigError(f"{file}: `module`: code of your own is not run; name a filter of OpusFilter")
    if not isinstance(entry, dict) or len(entry) != 1:
        raise ConfigError(f"{file}: {entry!r} is no filter: write its name and its parameters")
    ((name, parameters),) = entry.items()
    if not isinstance(parameters, dict | None):
        raise ConfigError(
            f"{file}: the parameters of {name} are {parameters!r}: write a name and a value for each"
        )
    return str(name), _filled(parameters or {}, languages)


def _filled(value: Any, languages: Languages) -> Any:
    """The value with the languages in place of {source} and {target}."""
    match value:
        case str():
            return value.replace("{source}", languages[0]).replace("{target}", languages[1])
        case dict():
            return {key: _filled(one, languages) for key, one in value.items()}
        case list():
            return [_filled(one, languages) for one in value]
    return value
