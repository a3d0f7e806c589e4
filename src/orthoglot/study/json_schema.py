"""JSON schemas of params.yaml and of the files of the catalogue, for completion and checks in editors."""

from __future__ import annotations

import json
from typing import Any

from orthoglot.study.config import CATALOGUES, Params

DIALECT = "https://json-schema.org/draft/2020-12/schema"
EXTENDS = {
    "extends": {
        "type": "string",
        "description": "The entry of this catalogue whose settings this one takes over; it states what differs.",
    }
}
TERMS = {
    "add": {
        "anyOf": [
            {"type": "array", "items": {"type": "string"}},
            {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
        ],
        "description": "Terms to add to those of `host` or `extends`: a list, each with weight 1, or weights by term.",
    },
    "remove": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Terms of `host` or `extends` to leave out.",
    },
}


def params_schema() -> dict[str, Any]:
    """The schema of params.yaml; what entries hold is defined in that of the catalogue, in the same folder."""
    properties = json.dumps(_of_entries_as_written()["properties"])
    return {
        "$schema": DIALECT,
        "title": "params.yaml of orthoglot",
        "type": "object",
        "properties": json.loads(properties.replace('"$ref": "#', '"$ref": "catalogue.schema.json#')),
        "additionalProperties": False,
    }


def catalogue_schema() -> dict[str, Any]:
    """The schemas of the files of the catalogue: that of encoders.yaml is `#/$defs/encoders`."""
    schema = _of_entries_as_written()
    sections = {name: schema["properties"][name] for name in CATALOGUES}
    return {"$schema": DIALECT, "title": "catalogue of orthoglot", "$defs": schema["$defs"] | sections}


def _of_entries_as_written() -> dict[str, Any]:
    """The schema of `Params`, in which an entry may leave settings to the one it extends."""
    schema = _optional(Params.model_json_schema())
    for section in ("presets", *CATALOGUES[:-1]):
        (entries,) = schema["properties"][section]["patternProperties"].values()
        for reference in entries.get("anyOf", [entries]):
            properties = schema["$defs"][reference["$ref"].rpartition("/")[2]]["properties"]
            properties |= EXTENDS | (TERMS if section == "methods" else {})
    return schema


def _optional(node: Any, key: str = "") -> Any:
    """The schema without required settings and without titles.

    As an entry may take over its kind, too, the kind does not select a schema.
    """
    if isinstance(node, list):
        return [_optional(item) for item in node]
    if not isinstance(node, dict):
        return node
    if key in ("properties", "$defs", "patternProperties"):
        return {name: _optional(value) for name, value in node.items()}
    left_out = {"discriminator", "required", "title"}
    renamed = {"oneOf": "anyOf"}
    return {renamed.get(name, name): _optional(node[name], name) for name in node if name not in left_out}
