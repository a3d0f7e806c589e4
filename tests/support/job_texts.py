"""Jobs of the workflow as their verbs read them, without a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orthoglot.study.jobs import digests
from orthoglot.study.jobs.job import key_of, parts


def job_text(
    verb: str,
    settings: dict[str, Any],
    *,
    output: str = "out",
    inputs: Mapping[str, Mapping[str, str]] | None = None,
    files: Mapping[str, str] | None = None,
    **more: Any,
) -> str:
    """A job with the key that its verb computes, unless `more` has another one."""
    inputs, files = inputs or {}, files or {}
    code = digests.job_code(verb, settings, [])
    content = {
        "key": key_of(verb, output, parts(settings, code, files), inputs),
        "output": output,
        "settings": settings,
        "inputs": inputs,
        "selects": [],
        "files": files,
    }
    return json.dumps({**content, **more})
