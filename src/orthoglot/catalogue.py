"""Single entries of the catalogue, read without the settings of everything else."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

from orthoglot import yaml_files
from orthoglot.catalogue_entries import known, merged, resolved
from orthoglot.encoders import kinds
from orthoglot.encoders.settings import TRAINED, EncoderEntry, TrainedEntry
from orthoglot.errors import ConfigError
from orthoglot.objectives import check_method
from orthoglot.settings import checked
from orthoglot.training.settings import MethodSettings

Section = Literal["corpora", "benchmarks", "encoders", "methods", "variants"]


def shipped() -> Path:
    """The params.yaml that comes with orthoglot: inside an installed package, at the root of a checkout."""
    inside = Path(__file__).with_name("params.yaml")
    return inside if inside.is_file() else Path(__file__).parents[2] / "params.yaml"


def file_of(params: Path | None) -> Path:
    """The given file, or params.yaml in this folder, or the one that comes with orthoglot."""
    here = Path("params.yaml")
    return params or (here if here.is_file() else shipped())


def folder_of(params: Path) -> Path:
    """The catalogue of a params.yaml: the folder `catalogue` next to it, or the one that comes with orthoglot."""
    beside = params.parent / "catalogue"
    return beside if beside.is_dir() else shipped().parent / "catalogue"


def mapping(path: Path) -> dict[str, Any]:
    """The content of a YAML file of names and settings; a ConfigError if it holds something else."""
    values = yaml_files.read(path)
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: not a mapping of names to settings")
    return values


def section(name: Section, values: Mapping[str, Any], params: Path) -> dict[str, Any]:
    """A section of the catalogue, with the entries that params.yaml adds and changes, as they are written.

    Args:
        name: The name of the section.
        values: The content of params.yaml.
        params: Where it lies.
    Raises:
        ConfigError: the section of params.yaml is no mapping.
    """
    written = values.get(name) or {}
    if not isinstance(written, dict):
        raise ConfigError(f"{params}: {name}: write entries by name (given: {reprlib.repr(written)[:200]})")
    return merged(mapping(folder_of(params) / f"{name}.yaml"), written)


@contextmanager
def naming_file(values: Mapping[str, Any], params: Path) -> Iterator[None]:
    """Begin each ConfigError of such a block with the file that has the entry: params.yaml, or one of the catalogue.

    `values` is the content of `params`.
    """
    try:
        yield
    except ConfigError as error:
        file = params
        if place := re.match(rf"(?:unknown key ')?({'|'.join(get_args(Section))})\.([^:']+)", str(error)):
            name, key = place.groups()
            # A name may have dots of its own.
            here = any(f"{key}.".startswith(f"{entry}.") for entry in values.get(name) or {})
            file = params if here else folder_of(params) / f"{name}.yaml"
        raise ConfigError(f"{file}: {error}") from error


def method(name: str, params: Path | None = None) -> MethodSettings:
    """A method of the catalogue that belongs to `params`, or of the one that comes with orthoglot.

    Raises:
        ConfigError: there is no such method, which names the known ones, or its settings are wrong.
    """
    params = params or shipped()
    values = mapping(params)
    entries = section("methods", values, params)
    known(name, entries, "method")
    with naming_file(values, params):
        entry = resolved("methods", entries, {})[name]
        try:
            settings = checked(MethodSettings, entry)
            check_method(settings.architecture, settings.partners, settings.terms)
        except ConfigError as error:
            raise ConfigError(f"methods.{name}: {error}") from error
    return settings


def encoders(params: Path) -> dict[str, EncoderEntry]:
    """The encoders of the catalogue that belongs to `params`, by name.

    Raises:
        ConfigError: The settings of one that was trained elsewhere are wrong; `orthoglot.study.config` checks others.
    """
    values = mapping(params)
    entries = section("encoders", values, params)
    frozen = kinds.settings()
    settings: dict[str, type[EncoderEntry]] = {**frozen, **dict.fromkeys(TRAINED, TrainedEntry)}
    checked_entries: dict[str, EncoderEntry] = {}
    with naming_file(values, params):
        fields = {kind: frozenset(of_kind.model_fields) for kind, of_kind in frozen.items()}
        for name, entry in resolved("encoders", entries, fields).items():
            kind = entry.get("kind") if isinstance(entry, dict) else None
            known(kind, settings, f"encoders.{name}.kind")
            checked_entries[name] = checked(settings[str(kind)], entry, f"encoders.{name}: ")
    return checked_entries
