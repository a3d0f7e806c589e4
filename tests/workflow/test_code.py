"""The digest of a job's code: it changes with the definitions that the job uses, and with nothing else."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from shipped_settings import shipped_values
from workspace import ROOT

import digests
from orthoglot import config
from plan import STAGES, Plan

VERBS = sorted(verb for verbs in STAGES.values() for verb in verbs)
Edit = Callable[[str, str, str], None]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Change the text of a module in a copy of the source, of which all digests then are."""
    monkeypatch.chdir(tmp_path)
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
    """Another text in every docstring, exception and log line, and other annotations in every function."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return ast.Expr(ast.Constant("Other words."))
        called = node.value.func if isinstance(node.value, ast.Call) else None
        if (
            isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Name)
            and called.value.id == "logger"
        ):
            return ast.parse("logger.info('other words')").body[0]
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            node.exc.args = [ast.Constant("other words")]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = ast.Constant("other")
        return node


def test_docstrings_comments_messages_and_annotations_change_no_key(edit: Edit, tmp_path: Path) -> None:
    before = keys()
    for module in modules():
        path = tmp_path / "src/orthoglot" / module
        tree = Reworded().visit(ast.parse(path.read_text()))
        path.write_text(f"# a comment\n{ast.unparse(ast.fix_missing_locations(tree))}\n")
    digests.forget()
    assert changed(before) == set()


def test_a_new_entry_of_a_registry_changes_no_key_and_a_changed_one_those_that_use_it(edit: Edit) -> None:
    before = keys()
    edit("objectives/__init__.py", '"seed.meaning": ', '"seed.new": "seed:meaning",\n    "seed.meaning": ')
    edit(
        "corpora/kinds.py",
        '"nway": ',
        '"new": BenchmarkKind(NwaySettings, "benchmarks:collect_nway"),\n    "nway": ',
    )
    edit("corpora/kinds.py", '"opus": ', '"new": LocalSettings,\n    "opus": ')
    assert changed(before) == set()
    edit("objectives/__init__.py", '"orthogonality:absolute"', '"orthogonality:square"')
    verbs = {folder.split("/")[0] for folder in changed(before)}
    assert verbs == {"models", "evaluations", "results", "tables"}
    trained = {folder for folder in changed(before) if folder.startswith("models")}
    assert {Path(folder).name for folder in trained} == {"dream+abs", "meat+abs"}


@pytest.mark.parametrize(
    ("function", "methods"),
    [
        ("inter_class", {"dream+oracle", "meat+oracle", "seed+oracle"}),
        ("alignment", {"oracle"}),
        ("intra_class_all", set()),
    ],
)
def test_a_changed_term_reaches_exactly_the_methods_that_have_it(
    function: str, methods: set[str], edit: Edit
) -> None:
    before = keys()
    edit("objectives/oracle.py", f"def {function}(", f"@(lambda made: made)\ndef {function}(")
    found = changed(before)
    expected = {
        f"{top}/{encoder}/{method}"
        for encoder in ("ems-mini", "xlmr-mini")
        for method in methods
        for top in ("models/mini/decomposers", "evaluations/mini")
    }
    rest = {"results", "tables/oracle", "tables/seed", "tables/xrete"} if methods else set()
    assert found == expected | rest


@pytest.mark.parametrize(
    ("module", "old", "new", "verbs"),
    [
        ("cli/jobs.py", "evaluation.report(", "evaluation.rapport(", {"report"}),
        ("cli/jobs.py", "fcntl.LOCK_EX)", "fcntl.LOCK_SH)", set(VERBS)),
        ("corpora/mini/grammar.py", "\n\n\ndef ", "\n\n\ndef _new(): ...\n\n\ndef ", set()),
        ("report/page.html.j2", "<", "<!-- more --><", {"report"}),
        ("streams.py", "FIRST", "FIRST_ONE", None),
    ],
)
def test_a_change_reaches_the_verbs_that_use_it(
    module: str, old: str, new: str, verbs: set[str] | None, edit: Edit
) -> None:
    def codes() -> dict[str, str]:
        return {verb: digests.code(f"orthoglot.cli.jobs:{verb}", frozenset()) for verb in VERBS}

    before = codes()
    edit(module, old, new)
    found = {verb for verb in VERBS if codes()[verb] != before[verb]}
    assert found == verbs if verbs is not None else found and found != set(VERBS)


def test_a_kind_of_encoder_is_code_of_its_own_trainings_alone(edit: Edit) -> None:
    before = keys()
    edit("pretraining/mlm.py", "def pretrain_mlm(", "@(lambda made: made)\ndef pretrain_mlm(")
    trained = {folder for folder in changed(before) if "/encoders/" in folder or folder.endswith("/encoder")}
    assert trained == {"models/mini/encoders/xlmr-mini"}


def test_the_code_that_opens_an_encoder_is_part_of_the_jobs_that_open_it(edit: Edit) -> None:
    before = keys()
    edit("encoders/pretrained.py", "    def encode(", "    @(lambda made: made)\n    def encode(")
    found = changed(before)
    assert {"embeddings/mini/ems-mini", "embeddings/mini/xlmr-mini"} <= found
    assert any(
        folder.startswith("ablation/mini/emma-x/") and folder.endswith("/embeddings") for folder in found
    )
    assert not any(folder.startswith("data/") for folder in found)


def test_a_title_in_a_registry_is_code_and_a_description_of_a_setting_is_not(edit: Edit) -> None:
    before = keys()
    edit("tasks/registry.py", '"Semantic similarity"', '"Similarity"')
    assert "results" in changed(before)


def test_what_a_job_uses_is_found_through_aliases_submodules_fields_and_templates(edit: Edit) -> None:
    found = set(digests.reached("orthoglot.cli.jobs:report", ()))
    assert {
        "orthoglot.cli.jobs:Job",
        "orthoglot.report.page:report",
        "orthoglot.tasks.settings:EvaluationSettings",
        "orthoglot.receipts:check",
    } <= found
    assert not any("objectives" in one for one in found)
    # How trainings ended, and nothing that trains.
    training = {module for one in found if "training" in (module := one.partition(":")[0]).split(".")}
    assert training == {"orthoglot.training.endings", "orthoglot.training.progress"}


def test_definitions_are_the_same_with_and_without_the_cache(edit: Edit, tmp_path: Path) -> None:
    first = keys()
    digests.save_cache()
    digests.forget()
    assert keys() == first
    (tmp_path / "cache.json").write_text("[]")
    digests.forget()
    assert keys() == first
    edit("settings.py", "frozen=True", "frozen=False")
    assert changed(first) == set(first)


def test_a_stage_of_dvc_depends_on_all_code_that_its_jobs_use() -> None:
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    for preset in ("demo", "mini", "real-small"):
        plan = Plan(config.load(ROOT / "params.yaml", {"preset": preset}))
        for stage in STAGES:
            watched = [path for path in stages[stage]["deps"] if path.startswith("src/")]
            used = {
                str(path.relative_to(ROOT))
                for folder in plan.keys(stage)
                for one in digests.reached(
                    f"orthoglot.cli.jobs:{plan.jobs[folder].verb}", plan.jobs[folder].names
                )
                if (path := digests.path_of(one.partition(":")[0]))
            }
            assert used
            for path in used:
                assert any(path == one or path.startswith(f"{one}/") for one in watched), (stage, path)


def test_a_process_reads_the_modules_of_jobs_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    digests.forget()
    read: list[tuple[str, ...]] = []

    def counted(modules: tuple[str, ...]) -> str:
        read.append(tuple(modules))
        return ""

    monkeypatch.setattr(digests.receipts, "sources_digest", counted)
    plan = Plan(config.check(shipped_values()))
    jobs = [job for job in plan.jobs.values() if job.verb in ("embed", "decompose", "evaluate")]
    for job in jobs:
        plan.as_json(job.key)
    assert 0 < len(read) == len(set(read)) < len(jobs)
    digests.forget()
