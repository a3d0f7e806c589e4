"""The digest of a job's code: it changes with the definitions that the job uses, and with nothing else."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from shipped_settings import shipped_values
from workspace import ROOT

from orthoglot.study import config
from orthoglot.study.jobs import digests
from plan import STAGES, Plan

VERBS = sorted(verb for verbs in STAGES.values() for verb in verbs)
Edit = Callable[[str, str, str], None]


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of a run before: every module as it is, parsed."""
    cache = tmp_path_factory.mktemp("parsed") / "cache.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "CACHE", cache)
        digests.forget()
        for verb in VERBS:
            digests.reached(verb, {})
        digests.save_cache()
    return cache


@pytest.fixture
def edit(parsed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Change the text of a module in a copy of the source, of which all digests then are."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(parsed, tmp_path / "cache.json")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digests, "SOURCE", tmp_path / "src")
    monkeypatch.setattr(digests, "CACHE", tmp_path / "cache.json")
    digests.forget()

    def change(module: str, old: str, new: str) -> None:
        path = tmp_path / "src/orthoglot" / module
        text = path.read_text()
        assert old in text, (module, old)
        path.write_text(text.replace(old, new, 1))
        digests.save_cache()
        digests.forget()

    return change


@pytest.fixture(autouse=True)
def _forget() -> object:
    yield
    digests.forget()


def keys() -> dict[str, str]:
    """Of the preset mini, enlarged."""
    return {folder: job.key for folder, job in Plan(config.check(shipped_values())).jobs.items()}


def changed(before: dict[str, str]) -> set[str]:
    return {folder for folder, key in keys().items() if key != before[folder]}


def modules() -> list[str]:
    return sorted(str(path.relative_to(ROOT / "src/orthoglot")) for path in (ROOT / "src").rglob("*.py"))


class Reworded(ast.NodeTransformer):
    """Another text in every docstring, and other annotations in every function."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return ast.Expr(ast.Constant("Other words."))
        return self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = ast.Constant("other")
        return node


def test_docstrings_comments_and_annotations_change_no_key(edit: Edit, tmp_path: Path) -> None:
    before = keys()
    for module in modules():
        path = tmp_path / "src/orthoglot" / module
        tree = Reworded().visit(ast.parse(path.read_text()))
        path.write_text(f"# a comment\n{ast.unparse(ast.fix_missing_locations(tree))}\n")
    digests.forget()
    assert changed(before) == set()


def test_a_new_format_or_benchmark_changes_no_key_and_a_changed_one_those_that_it_makes(
    edit: Edit, tmp_path: Path
) -> None:
    before = keys()
    for folder in ("formats", "study/benchmarks"):
        (tmp_path / f"src/orthoglot/{folder}/kinds/new.py").write_text("SETTINGS = None\n")
    digests.forget()
    assert changed(before) == set()
    edit("study/benchmarks/kinds/sts.py", "SETTINGS =", "MORE = 1\nSETTINGS =")
    folders = changed(before)
    assert {folder for folder in folders if "/benchmarks/" in folder} == {
        folder for folder in before if folder.endswith("/benchmarks/mini-sts")
    }
    assert any("/bitext/" in folder for folder in folders)


def test_a_new_entry_of_a_registry_changes_no_key_and_a_changed_one_those_that_use_it(edit: Edit) -> None:
    before = keys()
    edit("objectives/__init__.py", '"seed.meaning": ', '"seed.new": "seed:meaning",\n    "seed.meaning": ')
    assert changed(before) == set()
    edit("objectives/__init__.py", '"orthogonality:absolute"', '"orthogonality:square"')
    trained = {Path(folder).name for folder in changed(before) if folder.startswith("models")}
    assert trained == {"dream+abs", "meat+abs"}


def has(method: Any, module: str) -> bool:
    """Whether a method is computed by a module of losses or of an architecture."""
    name = Path(module).stem
    return method.architecture == name or any(term.startswith(f"{name}.") for term in method.terms)


@pytest.mark.parametrize(
    "module",
    [
        *("objectives/oracle.py", "objectives/langsae.py"),
        *("decomposers/architectures/leace.py", "decomposers/architectures/residual.py"),
    ],
)
def test_a_changed_module_reaches_exactly_the_methods_that_have_it(module: str, edit: Edit) -> None:
    before, params = keys(), config.check(shipped_values())
    edit(module, "\ndef ", "\ndef new(): ...\n\n\ndef ")
    expected = {
        f"{top}/{encoder}/{method}"
        for encoder in ("ems-mini", "xlmr-mini")
        for method in params.losses
        if has(params.methods[method], module)
        for top in ("models/mini/decomposers", "evaluations/mini")
    }
    assert bool(expected) == (module != "objectives/langsae.py")
    folders = changed(before)
    assert {folder for folder in folders if folder.startswith(("models", "evaluations"))} == expected
    assert ("results" in folders) == bool(expected)


@pytest.mark.parametrize(
    ("module", "old", "new", "verbs"),
    [
        ("study/jobs/report.py", "report(_sources", "rapport(_sources", {"report"}),
        ("study/jobs/job.py", "fcntl.LOCK_EX)", "fcntl.LOCK_SH)", set(VERBS)),
        ("study/invented/grammar.py", "    return ", "    return 1 and ", {"generate"}),
        ("study/invented/grammar.py", "\n\n\ndef ", "\n\n\ndef _new(): ...\n\n\ndef ", set()),
        ("drawing/page.html.j2", "<", "<!-- more --><", {"report"}),
    ],
)
def test_a_change_reaches_the_verbs_that_use_it(
    module: str, old: str, new: str, verbs: set[str], edit: Edit
) -> None:
    def codes() -> dict[str, dict[str, str]]:
        return {verb: digests.reached(verb, {}).code for verb in VERBS}

    before = codes()
    edit(module, old, new)
    after = codes()
    assert {verb for verb in VERBS if after[verb] != before[verb]} == verbs


def test_a_kind_of_encoder_is_code_of_its_own_trainings_alone(edit: Edit) -> None:
    before = keys()
    edit("study/pretraining/trainings/mlm.py", "def pretrain_mlm(", "@(lambda made: made)\ndef pretrain_mlm(")
    trained = {folder for folder in changed(before) if "/encoders/" in folder or folder.endswith("/encoder")}
    assert trained == {"models/mini/encoders/xlmr-mini"}
    before = keys()
    edit("encoders/kinds/laser.py", "\ndef _make(", "\ndef new(): ...\n\n\ndef _make(")
    assert changed(before) == set()


def test_the_code_that_opens_an_encoder_is_part_of_the_jobs_that_open_it(edit: Edit) -> None:
    before = keys()
    edit("encoders/pretrained.py", "    def vectors(", "    @(lambda made: made)\n    def vectors(")
    folders = changed(before)
    assert {"embeddings/mini/ems-mini", "embeddings/mini/xlmr-mini"} <= folders
    assert any(
        folder.startswith("ablation/mini/emma-x/") and folder.endswith("/embeddings") for folder in folders
    )
    assert not any(folder.startswith("data/") for folder in folders)


def test_a_job_depends_on_the_tasks_that_its_settings_name_and_on_no_others() -> None:
    modules = digests.reached("evaluate", {"tasks": ["code-switched", "heldout", "sts/../sts", ""]}).code
    assert {name for name in modules if "tasks.kinds." in name} == {
        "orthoglot.study.tasks.kinds.code_switched",
        "orthoglot.study.tasks.kinds.heldout",
    }


def test_what_only_a_type_checker_imports_is_no_code_and_what_a_function_imports_is(
    edit: Edit, tmp_path: Path
) -> None:
    before = digests.reached("generate", {}).code
    edit(
        "study/jobs/generate.py",
        "from orthoglot.study import invented as mini",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from orthoglot import usable_vectors\n"
        "from orthoglot.study import invented as mini",
    )
    assert digests.reached("generate", {}).code.keys() == before.keys()
    edit(
        "study/jobs/generate.py",
        '    """Do the job."""',
        "    from orthoglot import usable_vectors\n    usable_vectors.usable",
    )
    assert digests.reached("generate", {}).code.keys() - before.keys() == {"orthoglot.usable_vectors"}


def test_a_module_that_is_added_later_counts_although_its_importer_is_cached(
    edit: Edit, tmp_path: Path
) -> None:
    edit("study/jobs/generate.py", '    """Do the job."""', "    from orthoglot.newer import f\n    f")
    before = digests.reached("generate", {}).code
    digests.save_cache()
    digests.forget()
    (tmp_path / "src/orthoglot/newer.py").write_text("f = 1\n")
    after = digests.reached("generate", {}).code
    assert after.keys() - before.keys() == {"orthoglot.newer"}


def test_a_text_that_is_no_kind_selects_no_module(edit: Edit) -> None:
    values = shipped_values()
    values["encoders"]["linked"] = {
        **{"kind": "pretrained", "checkpoint": "a/b", "revision": "0" * 40, "pooling": "mean"},
        **{"prefix": "local", "licence": "text"},
    }
    values["presets"]["mini"]["encoders"].append("linked")
    values["variants"]["ems"]["local"] = {}
    before = {folder: job.key for folder, job in Plan(config.check(values)).jobs.items()}
    edit("formats/kinds/local.py", "\ndef ", "\nNEW = 1\n\n\ndef ")
    after = {folder: job.key for folder, job in Plan(config.check(values)).jobs.items()}
    assert after == before  # no corpus of the preset is of this kind


def changed_by(edit: Callable[[], None], names: Sequence[str] = ()) -> set[str]:
    """The verbs whose code an edit changes."""
    before = {verb: digests.reached(verb, {"kind": [*names]}).code for verb in VERBS}
    edit()
    return {verb for verb in VERBS if digests.reached(verb, {"kind": [*names]}).code != before[verb]}


def test_jobs_that_read_all_test_sets_depend_on_every_reader_and_all_on_the_environment(edit: Edit) -> None:
    names = ["opus", "A prefix " * 100]
    reader = "study/benchmarks/kinds/local.py", "read_tables(folder, ", "read_tables(0, "
    assert changed_by(lambda: edit(*reader), names) == {"prepare", "shard", "embed"}
    setting = "environment.py", '"OMP_NUM_THREADS": "1"', '"OMP_NUM_THREADS": "4"'
    assert changed_by(lambda: edit(*setting), names) == set(VERBS)


def test_an_evaluation_depends_on_the_readers_of_its_own_test_sets_alone(edit: Edit) -> None:
    def code(task: str) -> dict[str, str]:
        return digests.reached("evaluate", {"tasks": [task]}).code

    before = code("tatoeba"), code("sts")
    edit("study/benchmarks/kinds/local.py", "read_tables(folder, ", "read_tables(0, ")
    assert code("tatoeba") != before[0]
    assert code("sts") == before[1]


@pytest.mark.parametrize(
    ("module", "old", "new", "verbs"),
    [
        # A reader of tables, and what reads prepared text.
        ("text/tables.py", "places = [first.index(", "places = [len(first) and first.index(", set()),
        (
            "text/bitext.py",
            'rows := [line.split("\\t")',
            'rows := [line.split(" ")',
            {"embed", "decompose", "evaluate"},
        ),
        # A constant, a class, and a base class.
        ("embeddings/shards.py", "SENTENCES = 4096", "SENTENCES = 8192", {"embed"}),
        ("embeddings/store.py", "return np.where(", "return +np.where(", {"embed", "decompose", "evaluate"}),
        (
            "settings.py",
            "frozen=True",
            "frozen=False",
            {"generate", "prepare", "embed", "decompose", "evaluate"},
        ),
        # What is only shown, and waits.
        ("progress.py", "    return ", "    return 1 and ", set()),
        ("file_lock.py", "NO_LOCKS = {", "NO_LOCKS = {1, ", set()),
        ("embeddings/embed.py", "embed: resumed with", "embed: goes on with", set()),
    ],
)
def test_what_a_job_uses_is_its_code_and_nothing_else(
    module: str, old: str, new: str, verbs: set[str], edit: Edit
) -> None:
    changed = changed_by(lambda: edit(module, old, new))
    assert changed >= verbs if verbs else not changed & {"embed", "decompose", "evaluate"}


def test_digests_are_the_same_with_and_without_the_cache(edit: Edit, tmp_path: Path) -> None:
    first = keys()
    digests.save_cache()
    digests.forget()
    assert keys() == first
    (tmp_path / "cache.json").write_text("[]")
    digests.forget()
    assert keys() == first
    edit("settings.py", "frozen=True", "frozen=False")
    assert changed(first) == set(first)
