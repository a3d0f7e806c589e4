"""Why a job runs again, in words: what differs between its receipt and the plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orthoglot import receipts
from orthoglot.study.jobs import digests
from plan import Plan

ABSENT = object()


def reasons(plan: Plan, folder: str) -> list[str]:
    """A line for each reason; empty if the folder is the result of its job.

    Args:
        plan: the jobs of params.yaml.
        folder: the output folder of one of them.
    Raises:
        ConfigError: the plan has no such job.
    """
    job = plan.job(folder)
    receipt = receipts.read(Path(folder))
    if receipt is None:
        damaged = next(iter((Path(folder) / receipts.NAME).glob("*")), None)
        return ["its receipt is damaged" if damaged else "it has not been made"]
    if receipt.key == job.key:
        if plan.done(folder):
            return []
        outdated = receipts.outdated(Path(folder), lambda source, key: receipts.contents(Path(source), key))
        return [*receipts.faults(Path(folder))] + [f"{source} has other bytes now" for source in outdated]
    changes = _changes(plan, folder, {})
    return [line if place == folder else f"{line} ({place})" for line, place in changes.items()]


def _changes(plan: Plan, folder: str, known: dict[str, dict[str, str]]) -> dict[str, str]:
    """What has changed since a folder was made, each with the job that it changed: this one, or one before it."""
    if folder in known:
        return known[folder]
    changes: dict[str, str] = {}
    known[folder] = changes
    job, receipt = plan.job(folder), receipts.read(Path(folder))
    if receipt is None or receipt.key == job.key:
        return changes
    if not receipt.parts:
        changes["its receipt does not state what it was made from"] = folder
    else:
        now = json.loads(json.dumps(job.parts))
        for line in _differences(receipt.parts, now):
            changes[line] = folder
    for source in job.folders:
        if source not in receipt.inputs:
            changes[f"it reads {source} now"] = folder
        elif receipt.inputs[source][0] != plan.job(source).key:
            before = _changes(plan, source, known)
            changes |= {line: place for line, place in before.items() if line not in changes}
            if not before:
                changes[f"{source} was made anew, or not yet"] = folder
    changes |= {
        f"it no longer reads {source}": folder for source in receipt.inputs if source not in job.folders
    }
    return changes


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The settings, modules and files that differ."""
    settings = _flat(then.get("settings", {})), _flat(now["settings"])
    for name in sorted({*settings[0], *settings[1]}):
        before, after = (values.get(name, ABSENT) for values in settings)
        if before != after:
            yield f"{name} {_shown(before)} -> {_shown(after)}"
    code = then.get("code", {}), now["code"]
    for module in sorted({*code[0], *code[1]}):
        if code[0].get(module) != code[1].get(module):
            name, _, entry = module.partition(":")
            file = digests.path_of(name) or Path("src", *name.split(".")).with_suffix(".py")
            place = file.relative_to(digests.SOURCE.parent) if file.is_absolute() else file
            yield f"code of {place}" + (f" [{entry}]" if entry else "")
    files = then.get("files", {}), now["files"]
    for path in sorted({*files[0], *files[1]}):
        if files[0].get(path) != files[1].get(path):
            yield path


def _flat(settings: Any, name: str = "") -> dict[str, Any]:
    """Settings by their dotted names."""
    if not isinstance(settings, dict) or not settings:
        return {name: settings}
    return {
        inner: value
        for key, part in settings.items()
        for inner, value in _flat(part, f"{name}.{key}" if name else str(key)).items()
    }


def _shown(value: Any) -> str:
    return "(absent)" if value is ABSENT else json.dumps(value, ensure_ascii=False)
