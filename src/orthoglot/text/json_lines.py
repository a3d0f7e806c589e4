"""Lines of JSON: an object on each line, whose values are text or stay as they are written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from orthoglot.text.bitext import MARK, BadRow, fault_of

TRANSLATION = "translation"  # the key under which OPUS and Hugging Face have a pair's texts by language


class JsonValue(str):
    """A cell that JSON has without quotation marks: a number, true, a list, as it is written; empty for null."""

    __slots__ = ()


def _once(values: list[tuple[str, Any]]) -> dict[str, Any]:
    if twice := [key for key, count in Counter(key for key, _ in values).items() if count > 1]:
        raise ValueError(f"the key {twice[0]} twice")
    return dict(values)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


# Numbers stay as they are written: 1.10, and more digits than a computer's numbers have.
JSON = json.JSONDecoder(
    parse_float=JsonValue, parse_int=JsonValue, parse_constant=_no_number, object_pairs_hook=_once
)


class JsonObject(NamedTuple):
    """An object of a file with one in JSON on each line: its line, that line's text, and its values by key."""

    line: int
    content: str
    values: dict[str, str]
    codes: list[str]  # the keys under `translation`


def objects(lines: Iterator[str]) -> Iterator[JsonObject | BadRow]:
    """The objects of lines, `escaped`, without blank ones; a line that has none, or a key twice, is a bad row."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fault = fault_of(line)
        value: Any = None
        try:
            value = JSON.decode(line)
        # Too many digits raise the first, too many brackets the second.
        except (ValueError, RecursionError) as error:
            fault = fault or f"is no JSON ({error})"
        if not fault and not isinstance(value, dict):
            fault = "is no object in JSON"
        if fault:
            yield BadRow(number, fault, line)
            continue
        texts = value.get(TRANSLATION)
        codes = [*texts] if isinstance(texts, dict) else []
        if codes:
            del value[TRANSLATION]
            if twice := value.keys() & texts.keys():
                yield BadRow(number, f"has the key {min(twice)} twice", line)
                continue
            value |= texts
        try:
            values = {key: _cell_of(cell) for key, cell in value.items()}
        except RecursionError:
            yield BadRow(number, "has too many brackets", line)
            continue
        if fault := fault_of("".join(chain(values, values.values()))):
            yield BadRow(number, fault, line)
        else:
            yield JsonObject(number, line, values, codes)


def _cell_of(value: Any) -> str:
    if isinstance(value, str) and not isinstance(value, JsonValue):
        return value.removeprefix(MARK)
    return JsonValue("" if value is None else _written(value))


def _written(value: Any) -> str:
    """A value of JSON as it is written there."""
    if isinstance(value, JsonValue):
        return value
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_written(key)}: {_written(cell)}' for key, cell in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return json.dumps(value, ensure_ascii=False)
