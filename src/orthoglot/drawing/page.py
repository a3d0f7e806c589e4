"""HTML pages that load nothing: the style is in the page, and so is one script, which the page allows by its digest."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

# Sorts and filters the tables of a page.
TABLES = Path(__file__).with_name("tables.js")


def render(template: Path, script: Path = TABLES, **values: Any) -> str:
    """The page of a template that extends the one of this folder.

    What is not `Markup` is escaped; a name without a value is an error.

    Args:
        template: The file of the template.
        script: The file of its JavaScript.
        values: The values of its names.
    """
    environment = Environment(
        loader=FileSystemLoader([template.parent, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    code = script.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    values = {"marks": {}, **values}
    return environment.get_template(template.name).render(**values, script=Markup(code), script_digest=digest)
