"""The examples in the docstrings of what people call from Python run and print what they say."""

from __future__ import annotations

import ast
import doctest
import shutil
from importlib import import_module
from pathlib import Path

import pytest

# By module, what has an example.
EXAMPLES = {
    "orthoglot": ["load"],
    "orthoglot.apply.estimator": ["Decomposer", "Decomposer.adapted"],
    "orthoglot.apply.lists": ["filter", "mine", "score"],
    "orthoglot.apply.align": ["align"],
    "orthoglot.corpora.filters": [""],
    "orthoglot.formats.pairs": ["read_pairs"],
    "orthoglot.text.shifts": [""],
    "orthoglot.statistics.intervals": [
        *(
            "proportion",
            "wilson",
            "percentile",
            "bootstrap_p",
            "sign_test",
            "over_trainings",
            "holm",
            "jackknife",
        ),
    ],
    "orthoglot.statistics.resampling": ["pool", "resample"],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_module_print_what_they_say(
    name: str, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(models["plda"], tmp_path / "my-model")
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    found = {one.name: one for one in doctest.DocTestFinder(exclude_empty=True).find(module) if one.examples}
    assert set(found) == {".".join(filter(None, (name, one))) for one in EXAMPLES[name]}
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    for example in found.values():
        # Only what the example imports.
        example.globs = {"__name__": "__main__"}
        printed: list[str] = []
        assert not runner.run(example, out=printed.append).failed, "".join(printed)


def test_a_public_method_says_what_it_does_or_does_what_another_class_says() -> None:
    """A method without a docstring has that of a class that it derives from, or of an interface."""
    classes = [
        node
        for path in Path(import_module("orthoglot").__file__ or "").parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    methods = [(node, part) for node in classes for part in node.body if isinstance(part, ast.FunctionDef)]
    described = {method.name for _, method in methods if ast.get_docstring(method)}
    assert len(described) > 300
    silent = {
        f"{node.name}.{method.name}"
        for node, method in methods
        if method.name not in described and not node.name.startswith("_") and not method.name.startswith("_")
        if "Protocol" not in map(ast.unparse, node.bases)
    }
    assert silent == set()


def test_no_example_is_skipped() -> None:
    source = Path(import_module("orthoglot").__file__ or "").parent
    found = {
        ".".join(("orthoglot", *path.relative_to(source).with_suffix("").parts)).removesuffix(".__init__")
        for path in source.rglob("*.py")
        if ">>> " in path.read_text(encoding="utf-8")
    }
    assert found == set(EXAMPLES)
    assert not any("doctest:" in path.read_text(encoding="utf-8") for path in source.rglob("*.py"))
