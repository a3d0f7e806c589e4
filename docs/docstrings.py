"""How `mkdocs.yml` has docstrings read: a section may begin right below the one before it, and examples are code."""

import re
from typing import Any

import griffe

SECTION = re.compile(r"(?<!\n)\n(?=(?:Args|Attributes|Raises|Returns|Source|Yields):)")
EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class Sections(griffe.Extension):
    """An empty line above each section, without which griffe takes it for text; a fence around each example."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each class and function."""
        if obj.docstring:
            text = EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
            obj.docstring.value = SECTION.sub("\n\n", text)
