"""How `mkdocs.yml` has docstrings read: a section may begin right below the section before it."""

import re
from typing import Any

import griffe

SECTION = re.compile(r"(?<!\n)\n(?=(?:Args|Attributes|Raises|Returns|Source|Yields):)")


class Sections(griffe.Extension):
    """An empty line above each section, without which griffe takes it for text."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each class and function."""
        if obj.docstring:
            obj.docstring.value = SECTION.sub("\n\n", obj.docstring.value)
