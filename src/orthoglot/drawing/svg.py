"""Vega-Lite drawn to SVG without a browser or a network.

In a page, text has the page's colour; as a file, the same picture has black text on white.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import vl_convert
from markupsafe import Markup

from orthoglot.errors import printable

# Distinct on white and on black.
COLOURS = (
    *("#4c8bd0", "#e8790c", "#3f9c4f", "#e0484b", "#a872c0", "#2aa1a1", "#c79a00", "#a07b62"),
    *("#ec7f9c", "#7f7f7f", "#00a4e4", "#d6407f", "#7fae2e", "#8757d6", "#5b86a3", "#c05a06"),
)
_TEXT = {"labelColor": "currentColor", "titleColor": "currentColor", "titleFontWeight": "normal"}
CONFIG: dict[str, Any] = {
    "background": None,
    "aria": False,
    "lineBreak": "\n",
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        **_TEXT,
        "gridColor": "#888888",
        "gridOpacity": 0.2,
        "domainColor": "#888888",
        "tickColor": "#888888",
    },
    "header": {**_TEXT, "labelAnchor": "start", "labelFontSize": 11, "labelAlign": "left"},
    "legend": {**_TEXT, "orient": "bottom", "labelLimit": 400, "columns": 6, "symbolOpacity": 1},
}
Spec = dict[str, Any]


def file(spec: Spec | None, missing: str) -> str:
    """A figure as an SVG file, black on white; without one, a line that says what is missing."""
    if spec is None:
        spec = {
            "width": 500,
            "height": 40,
            "data": {"values": [{}]},
            "mark": {"type": "text", "text": missing},
        }
    return vl_convert.vegalite_to_svg({**_printable(spec), "config": {**CONFIG, "background": "white"}})


def svg(spec: Spec) -> Markup:
    """The drawing as SVG of a page, in which Vega escapes every text of the data."""
    return Markup(vl_convert.vegalite_to_svg({**_printable(spec), "config": CONFIG}))


def _printable(value: Any) -> Any:
    """A part of a figure with control characters as escapes: SVG cannot hold all of them, and Vega stops at others."""
    if isinstance(value, str):
        return "\n".join(map(printable, value.split("\n")))
    if isinstance(value, Mapping):
        return {key: _printable(part) for key, part in value.items()}
    return [*map(_printable, value)] if isinstance(value, list | tuple) else value
