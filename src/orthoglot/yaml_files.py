"""YAML files as plain values. Two equal keys are an error; YAML's library would silently keep the last one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer

from orthoglot.errors import ConfigError


class _Loader(Composer, yaml.CSafeLoader):
    """Refuses a mapping with two equal keys.

    libyaml reads the text, which is 9 times as fast as Python; nodes are composed in Python, as libyaml's composer
    ends the process where brackets are nested too deeply.
    """

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        Composer.__init__(self)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[Any] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                # The value counts: 1 and 0x1 are one key. Two merges would be one as well.
                value = key.value if key.tag.endswith(":merge") else self.construct_object(key)
                if value in keys:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} is there twice", key.start_mark
                    )
                keys.add(value)
        return super().construct_mapping(node, deep)


def read(path: Path) -> Any:
    """The value of a YAML file.

    Raises:
        ConfigError: absent, not UTF-8, no plain YAML, nested too deeply, or a key that is there twice.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    # What the library lets through: a date that is none, a number of too many digits, too many brackets.
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: no plain YAML: {' '.join(str(error).split())}") from error
