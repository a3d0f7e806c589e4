"""What a module defines, and what each definition uses."""

from __future__ import annotations

import ast
import textwrap

import pytest

from orthoglot.study.jobs.definitions import Definition, definitions

MODULES = {"orthoglot.a", "orthoglot.a.b", "orthoglot.c"}


def parsed(text: str) -> dict[str, Definition]:
    tree = ast.parse(textwrap.dedent(text))
    return definitions(tree, "orthoglot.m", "orthoglot.p", lambda name: name in MODULES)


def uses(text: str, name: str = "f") -> set[str]:
    return {*parsed(text)[name].uses}


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("from orthoglot.a import x\ndef f(): return x", {"orthoglot.a.x"}),
        ("from orthoglot.a import x as y\ndef f(): return y.z()", {"orthoglot.a.x.z"}),
        ("import orthoglot.a.b as b\ndef f(): b.x()", {"orthoglot.a.b.x"}),
        ("from orthoglot.a import b\ndef f(): b.x(); return b", {"orthoglot.a.b", "orthoglot.a.b.x"}),
        ("def f():\n from orthoglot.a import x\n x()", {"orthoglot.a.x", "orthoglot.a.x:"}),
        ("def f(a=g): g2\ndef g(): ...", {"orthoglot.m:g"}),
        ("X, Y = 1, 2\ndef f(): return X", {"orthoglot.m:X"}),
        ("X: int = 1\nclass f(B):\n  y: X = X\nclass B: ...", {"orthoglot.m:B", "orthoglot.m:X"}),
        ("def g(): ...\n@g\ndef f(): ...", {"orthoglot.m:g"}),
        ("def g(): ...\ndef f():\n def inner(): g()", {"orthoglot.m:g"}),
        ("def g(): ...\nf = [g() for _ in ()]", {"orthoglot.m:g"}),
        ("import numpy as np\ndef f(): np.zeros()", set()),
        # A name may be imported twice: both count.
        (
            "if FAST:\n from orthoglot.a import x\nelse:\n from orthoglot.c import y as x\ndef f(): return x",
            {"orthoglot.a.x", "orthoglot.c.y"},
        ),
        (
            "from orthoglot.c import x\nclass f:\n def g(self):\n  from orthoglot.a import x\n  x\n def h(self): x",
            {"orthoglot.a.x", "orthoglot.a.x:", "orthoglot.c.x"},
        ),
        (
            "import orthoglot.a\nimport orthoglot.c\ndef f(): orthoglot.a.x(orthoglot.c.y)",
            {"orthoglot.a.x", "orthoglot.c.y"},
        ),
        # An annotation of a function is never run, nor is what a type checker alone imports.
        ("from orthoglot.a import x\ndef f(a: x) -> x: ...", set()),
        (
            "if TYPE_CHECKING:\n from orthoglot.a import x\nelse:\n def g(): ...\ndef f(): x; g",
            {"orthoglot.m:g"},
        ),
    ],
)
def test_a_definition_uses_what_its_code_names(text: str, used: set[str]) -> None:
    assert uses(text) == used


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("import orthoglot.a\nfrom orthoglot import c", {"orthoglot.a:", "orthoglot.c:"}),
        (
            "try:\n from orthoglot.a import x\nexcept ImportError: x = g\ndef g(): ...",
            {"orthoglot.a.x:", "orthoglot.a.x", "orthoglot.m:g"},
        ),
        ("def g(): ...\ng()", {"orthoglot.m:g"}),
        ("X = {}\nX['a'] = 1\nX |= {}", {"orthoglot.m:X"}),
        ("from orthoglot.a import note\n@note\ndef f(): ...", {"orthoglot.a.note", "orthoglot.a.note:"}),
        ("from functools import cache\n@cache\ndef f(): g\ndef g(): ...", set()),
    ],
)
def test_what_runs_on_import_is_a_definition_without_a_name(text: str, used: set[str]) -> None:
    assert uses(text, "") == used


def test_all_of_a_module_is_what_it_defines_and_lists() -> None:
    text = "from orthoglot.a import x, y\n__all__ = ['x']\nX = 1\ndef f(): ..."
    assert uses(text, "*") == {f"orthoglot.m:{name}" for name in ("", "x", "__all__", "X", "f")}
    assert uses(text, "y") == {"orthoglot.a.y"}


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("def f(): return 1", "def f(): return 2", False),
        ("def f(): return 1", "def f() -> int:\n '''Words.'''\n return 1  # more", True),
        ("def f(): logger.info('a')", "def f(): logger.warning('b: %s', 1)", True),
        ("def f(): raise E('a')", "def f(): raise E('b')", False),
        ("class f:\n x: int = 1", "class f:\n x: str = 1", False),
        ("f = {'a': 'c:g', 'b': 1}", "f = {'a': 'c:h', 'b': 1}", True),  # an entry of a registry
        ("f = {'a': 'c:g', 'b': 1}", "f = {'a': 'c:g', 'b': 2}", False),
    ],
)
def test_the_code_of_a_definition_is_what_can_change_a_result(text: str, other: str, same: bool) -> None:
    assert (parsed(text)["f"].code == parsed(other)["f"].code) == same


def test_an_entry_of_a_registry_has_code_and_a_module_of_its_own() -> None:
    ((name, (code, modules)),) = parsed("f = {'a': 'c:g', 'b': 1}")["f"].entries.items()
    assert (name, modules) == ("a", ["orthoglot.c"])
    assert "c:g" in code
    assert [*parsed("f = 'page.html.j2'")["f"].templates] == ["page.html.j2"]
