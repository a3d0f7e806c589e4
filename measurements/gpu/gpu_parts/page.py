"""gpu.md, made of the parts' JSON files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpu_parts import PARTS
from orthoglot.atomic import replacing


def write_page(folder: Path) -> None:
    """Write FOLDER/gpu.md; parts without a file are listed as not measured."""
    found = {}
    for name in PARTS:
        path = folder / f"{name}.json"
        if path.exists():
            found[name] = json.loads(path.read_text(encoding="utf-8"))
    with replacing(folder / "gpu.md") as partial:
        partial.write_text(page(found), encoding="utf-8")


def page(parts: dict[str, dict[str, Any]]) -> str:
    """Markdown of all parts: where they ran, their goals, their tables."""
    lines = [
        "# Measured on a GPU",
        "",
        "Made by `python measurements/gpu/gpu.py` of its JSON files; not edited by hand.",
        "",
    ]
    if any(part["tiny"] for part in parts.values()):
        lines += ["**Only a trial with small sizes (`--tiny`): its numbers mean nothing.**", ""]
    for place in dict.fromkeys(_place(part) for part in parts.values()):
        lines.append(f"- {place}")
    lines += ["", "| Part | Goal | Wanted | Found | |", "|---|---|---|---|---|"]
    for name, title in PARTS.items():
        part = parts.get(name)
        for goal in (part or {}).get("goals", []):
            lines.append(
                f"| {title} | {goal['name']} | {_wanted(goal)} | {_found(goal)} | {_reached(goal)} |"
            )
        if part is None:
            lines.append(f"| {title} | – | – | – | not measured |")
        elif part["state"] != "done":
            lines.append(f"| {title} | – | – | – | {part['state']}: {_cell(part['reason'])} |")
    for name, title in PARTS.items():
        if name in parts:
            lines += ["", f"## {title}", "", *_body(parts[name])]
    return "\n".join(lines).rstrip() + "\n"


def _place(part: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {value}" for name, value in part.get("environment", {}).items())
    return f"{part['date']}, {part['device']}, commit {part['commit']} (code {part['code']}); {versions}"


def _body(part: dict[str, Any]) -> list[str]:
    lines = [f"{part['seconds']:.0f} s. " + " ".join(part["notes"])] if "seconds" in part else []
    for title, table in part.get("tables", {}).items():
        lines += ["", f"**{title}**", "", _row(table["columns"]), _row(["---"] * len(table["columns"]))]
        lines += [_row([row.get(column) for column in table["columns"]]) for row in table["rows"]]
    failures = part.get("failures", [])
    if failures:
        lines += ["", "Did not work:", ""]
        lines += [f"- {one['what']}: {one['reason']}" for one in failures]
    return lines


def _row(cells: list[Any]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def _wanted(goal: dict[str, Any]) -> str:
    return f"{'at most' if goal['most'] else 'at least'} {_cell(goal['wanted'])} {goal['unit']}".rstrip()


def _found(goal: dict[str, Any]) -> str:
    if goal["found"] is None:
        return "–"
    ended = "" if goal["finished"] else ", then stopped"
    return f"{_cell(goal['found'])} {goal['unit']}".rstrip() + ended


def _reached(goal: dict[str, Any]) -> str:
    return {None: "not measured", True: "reached", False: "missed"}[goal["reached"]]
