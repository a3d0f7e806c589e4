"""Emma-X's Figure 2: a text in many languages by encoder, in a row each for invariance, canonical form and isotropy."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape

from orthoglot.errors import printable
from orthoglot.study.report.maps import colours_of
from orthoglot.study.tasks.projections import TextMap

# The sizes of a panel, of the room between panels, and of the lines of text above them, in pixels.
SIZE, GAP, LINE = 170, 14, 16
# How many encoders stand beside each other; further ones stand below.
ACROSS = 4
ROWS = ("Invariance", "Canonical form", "Isotropy")
NOTE = (
    "t-SNE by cosines, perplexity 10, of each encoder's undivided vectors: at most 20 languages, drawn, and the same "
    "sentences of each. A column is an encoder; its three panels show the same points. Invariance: the mean and one "
    "standard deviation of each language; languages that are alike lie on one another. Canonical form: the sentences "
    "in the colours of their languages; a cluster of one colour is a language apart. Isotropy: all sentences in one "
    "colour; an even disc is best, though t-SNE evens out what principal components show. The paper says that it "
    "draws t-SNE, not what each row shows of it."
)


class Ellipse(NamedTuple):
    """The mean of points and one standard deviation along their principal axes."""

    centre: np.ndarray  # (2,)
    radii: np.ndarray  # (2,), the longer first
    angle: float  # degrees from the first axis to the longer radius


def ellipse(points: np.ndarray) -> Ellipse:
    """The ellipse of points (n, 2); the radii of one point are 0."""
    centre = points.mean(axis=0)
    values, vectors = np.linalg.eigh((points - centre).T @ (points - centre) / len(points))
    longer = vectors[:, 1]
    return Ellipse(
        centre, np.sqrt(np.maximum(values[::-1], 0)), float(np.degrees(np.arctan2(longer[1], longer[0])))
    )


def panels(drawn: Mapping[str, TextMap]) -> Markup:
    """The figure as SVG, black on white in a file as on a page: three panels for each encoder, lettered as printed."""
    bands = [list(drawn.items())[first : first + ACROSS] for first in range(0, len(drawn), ACROSS)]
    width = GAP + min(len(drawn), ACROSS) * (SIZE + GAP)
    number, top, parts = count(), 0, []
    for band in bands:
        for row in ROWS:
            for column, (encoder, points) in enumerate(band):
                title = f"({_letters(next(number))}) {encoder} ({row})"
                place = f"translate({GAP + column * (SIZE + GAP)} {top + LINE})"
                parts.append(f'<g transform="{place}">{_heading(title)}{_panel(row, points)}</g>')
            top += SIZE + LINE + GAP
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}" '
        f'font-family="sans-serif" font-size="9" style="background:white">{"".join(parts)}</svg>'
    )


def _letters(number: int) -> str:
    """a to z, then aa, ab, ..."""
    first, last = divmod(number, 26)
    return (chr(96 + first) if first else "") + chr(97 + last)


def _heading(title: str) -> str:
    # The heading takes at most a panel's width, whatever the name.
    short = title if len(title) <= 36 else f"{title[:35]}…"
    return f'<text y="-4" fill="black">{escape(printable(short))}</text>'


def _panel(row: str, points: TextMap) -> str:
    """One map in a frame; both axes have one scale, so that a disc stays a disc."""
    low, high = points.tsne.min(axis=0), points.tsne.max(axis=0)
    scale = (SIZE - 16) / max(float((high - low).max()), 1e-12)
    places = SIZE / 2 + (points.tsne - (low + high) / 2) * scale * (1, -1)
    colours = colours_of(points.languages)
    frame = f'<rect width="{SIZE}" height="{SIZE}" fill="none" stroke="#888"/>'
    if row == ROWS[2]:
        return frame + _dots(places, "#4c8bd0")
    by_language = {code: places[points.languages == code] for code in colours}
    if row == ROWS[1]:
        return frame + "".join(_dots(sentences, colours[code]) for code, sentences in by_language.items())
    ellipses = {code: ellipse(sentences) for code, sentences in by_language.items()}
    drawn = "".join(_outline(shape, colours[code]) for code, shape in ellipses.items())
    return frame + drawn + _labels({code: shape.centre for code, shape in ellipses.items()})


def _dots(places: np.ndarray, colour: str) -> str:
    data = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
    line = 'stroke-width="3" stroke-linecap="round" opacity="0.7"'
    return f'<path d="{data}" fill="none" stroke="{colour}" {line}/>'


def _outline(shape: Ellipse, colour: str) -> str:
    (x, y), (along, across), angle = shape
    return (
        f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{max(along, 1.0):.1f}" ry="{max(across, 1.0):.1f}" '
        f'transform="rotate({angle:.1f} {x:.1f} {y:.1f})" fill="none" stroke="{colour}"/>'
    )


def _labels(centres: Mapping[str, np.ndarray]) -> str:
    """The code of each language at its mean; one label with their number for languages that lie on one another."""
    groups: list[list[str]] = []
    for code, centre in centres.items():
        near = (group for group in groups if (np.abs(centre - centres[group[0]]) < (LINE, LINE / 2)).all())
        group = next(near, [])
        if not group:
            groups.append(group)
        group.append(code)
    parts = []
    for group in groups:
        x, y = centres[group[0]]
        label = group[0] if len(group) == 1 else f"{len(group)} languages"
        about = escape(printable(" ".join(group)))
        text = f"<title>{about}</title>{escape(printable(label))}"
        parts.append(f'<text x="{x:.1f}" y="{y + 3:.1f}" text-anchor="middle" fill="black">{text}</text>')
    return "".join(parts)
