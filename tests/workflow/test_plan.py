"""Keys of jobs: they change with what the job's result depends on, and with nothing else."""

from __future__ import annotations

import ast
import contextlib
import copy
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from workspace import ROOT

import digests
import jobs
from orthoglot import config
from orthoglot.cli import jobs as verbs
from orthoglot.errors import ConfigError

Changes = Callable[[dict[str, Any]], Iterator[tuple[tuple[Any, ...], dict[str, Any]]]]
DVC = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
RULES = {
    name: set(stage["cmd"].split(" -- ")[0].split("--allowed-rules ")[1].split())
    for name, stage in DVC.items()
}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def values() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "params.yaml").read_text())


def keys(values: dict[str, Any], on_demand: bool = False) -> dict[str, tuple[str, str]]:
    """Verb and key of every job that runs unasked, or of those on demand."""
    plan = jobs.Plan(config.check(values, "params.yaml"))
    wanted = [job for job in plan.jobs.values() if (job.output not in plan.unasked) == on_demand]
    return {job.output: (job.verb, job.key) for job in wanted}


def changed(before: dict[str, tuple[str, str]], after: dict[str, tuple[str, str]]) -> set[str]:
    return {verb for folder, (verb, key) in after.items() if before.get(folder, ("", ""))[1] != key}


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from leaves(value, (*path, key)) if isinstance(value, dict | list) and value else [(*path, key)]


def lists(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where lists are."""
    for key, value in node.items() if isinstance(node, dict) else ():
        yield from [(*path, key)] if isinstance(value, list) else lists(value, (*path, key))


def at(values: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        values = values[key]
    return values


def perturbed(values: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any] | None:
    """The values with one leaf changed, or None where no other valid value is at hand."""
    result = copy.deepcopy(values)
    node = result
    for key in path[:-1]:
        node = node[key]
    old = node[path[-1]]
    if isinstance(old, bool):
        others: list[Any] = [not old]
    else:
        others = [old + 1, old + 100, old / 2] if isinstance(old, int | float) else [f"{old}x", "cpu"]
    for new in others:
        node[path[-1]] = new
        try:
            keys(result)
        except ValueError:
            continue
        return result
    return None


def listed(preset: str, path: tuple[Any, ...]) -> set[str]:
    """The DVC stages that watch this parameter."""
    dotted = ".".join(map(str, path))
    return {
        name
        for name, stage in DVC.items()
        if any(f"{dotted}.".startswith(p.replace("${preset}", preset) + ".") for p in stage["params"])
    }


def first_stage(due: set[str]) -> set[str]:
    """The first stage with a due job: those after it see its changed folder."""
    return set([name for name in DVC if due & RULES[name]][:1])


def with_another_value(values: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Every parameter, and the values in which it differs."""
    for path in leaves(values):
        other = perturbed(values, path)
        if other is not None and path[0] not in ("preset", "device", "opus_api"):
            yield path, other


def with_a_shorter_list(values: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Every list, and the values without one of its entries, which stays in the folders that an earlier run made."""
    for path in lists(values):
        for place in range(len(at(values, path))):
            other = copy.deepcopy(values)
            del at(other, path)[place]
            with contextlib.suppress(ConfigError):
                keys(other)
                yield path, other


@pytest.mark.parametrize("preset", ["mini", "real-small"])
@pytest.mark.parametrize(("changes", "least"), [(with_another_value, 100), (with_a_shorter_list, 30)])
def test_what_makes_a_job_due_is_listed_in_its_dvc_stage(
    values: dict[str, Any], preset: str, changes: Changes, least: int
) -> None:
    values["preset"] = preset
    before, before_on_demand = keys(values), keys(values, on_demand=True)
    tried = 0
    for path, other in changes(values):
        tried += 1
        due = changed(before, keys(other))
        if path[:3] == ("presets", preset, "ablation"):
            after = keys(other, on_demand=True)
            assert set(after) < set(before_on_demand) or changed(before_on_demand, after), f"{path}: nothing"
            assert not due, f"{path} makes {due} due unasked"
        elif path[:2] == ("presets", preset):
            assert due, f"{path} changes nothing"
        assert first_stage(due) <= listed(preset, path), f"{path} makes {due} due"
    assert tried > least


def test_loss_decides_only_what_is_trained_evaluated_and_reported(values: dict[str, Any]) -> None:
    before = keys(values)
    after = keys({**values, "loss": "oracle"})
    assert changed(before, after) == {"report"}
    assert set(after) < set(before)


def test_a_table_is_due_when_its_paper_or_the_report_changes(
    values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tables(values: dict[str, Any]) -> dict[str, str]:
        plan = jobs.Plan(config.check(values, "params.yaml"))
        assert not any("tables" in marker or "ablation" in marker for marker in plan.markers())
        assert plan.markers("tabulate", "ablation") == []
        return {job.output: job.key for job in plan.jobs.values() if job.verb == "tabulate"}

    shutil.copytree(jobs.PUBLISHED, tmp_path / "published")
    monkeypatch.setattr(jobs, "PUBLISHED", tmp_path / "published")
    before = tables(values)
    assert set(before) == {"tables/oracle", "tables/seed"}
    with open(tmp_path / "published" / "seed.csv", "a") as handle:
        handle.write("one more line\n")
    after = tables(values)
    assert {name for name in before if before[name] != after[name]} == {"tables/seed"}
    other = tables({**values, "loss": "oracle"})
    assert all(other[name] != after[name] for name in after)


@pytest.mark.parametrize(
    ("path", "due"),
    [
        ("device", set()),
        ("opus_api", set()),
        ("benchmarks.mini-tatoeba.licence", {"report"}),
        ("presets.real-small.seeds.0", set()),
        ("presets.mini.evaluation.resamples", {"evaluate", "report"}),
        ("presets.mini.decomposition.learning_rate", {"decompose", "evaluate", "report"}),
        ("methods.seed.terms.seed@meaning", {"decompose", "evaluate", "report"}),
        ("encoders.xlmr-mini.steps", {"pretrain", "embed", "decompose", "evaluate", "report"}),
    ],
)
def test_a_changed_parameter_reaches_exactly_its_dependents(
    values: dict[str, Any], path: str, due: set[str]
) -> None:
    parts = tuple(int(p) if p.isdigit() else p.replace("@", ".") for p in path.split("."))
    other = perturbed(values, parts)
    assert other is not None
    assert changed(keys(values), keys(other)) == due


def test_a_changed_method_leaves_the_other_methods_alone(values: dict[str, Any]) -> None:
    other = perturbed(values, ("methods", "seed", "terms", "seed.meaning"))
    assert other is not None
    before, after = keys(values), keys(other)
    folders = {
        folder for folder in after if after[folder] != before[folder] and after[folder][0] == "decompose"
    }
    assert folders
    assert all("/seed/seed" in folder for folder in folders)


HOME = "ablation/mini"


def test_an_ablation_trains_stores_and_measures_every_variant_with_every_seed(values: dict[str, Any]) -> None:
    values["presets"]["mini"]["ablation"]["seeds"] = [4, 7]
    plan = jobs.Plan(config.check(values, "params.yaml"))
    homes = [f"{HOME}/{variant}/seed{seed}" for variant in values["variants"] for seed in (4, 7)]
    verbs = {"encoder": "pretrain", "embeddings": "embed", "evaluation": "evaluate"}
    made = {f"{home}/{part}": verb for home in homes for part, verb in verbs.items()}
    assert {name: job.verb for name, job in plan.jobs.items() if name.startswith("ablation/")} == made
    assert not set(made) & plan.unasked
    encoder = plan.jobs[f"{HOME}/without-xtr/seed7/encoder"]
    own = values["encoders"]["ems-mini"]
    assert encoder.settings["name"] == "without-xtr"
    assert encoder.settings["encoder"] | {"xtr_weight": own["xtr_weight"], "seed": own["seed"]} == own
    assert (encoder.settings["encoder"]["xtr_weight"], encoder.settings["encoder"]["seed"]) == (0.0, 7)
    evaluation = plan.jobs[f"{HOME}/without-xtr/seed7/evaluation"]
    assert evaluation.settings["evaluation"]["tasks"] == ["heldout", "tatoeba"]
    assert evaluation.inputs["embeddings"] == [f"{HOME}/without-xtr/seed7/embeddings"]
    # Retrieval sets of either layout; which of them count is said by the tasks.
    benchmarks = [f"data/mini/benchmarks/{name}" for name in ("mini-tatoeba", "mini-nway")]
    assert evaluation.inputs["benchmarks"] == benchmarks
    embeddings = plan.jobs[f"{HOME}/without-xtr/seed7/embeddings"]
    assert embeddings.inputs["encoder"] == [f"{HOME}/without-xtr/seed7/encoder"]
    assert embeddings.settings["train_pairs"] == 1
    table = plan.jobs["tables/ems"]
    assert table.inputs["evaluations"] == [f"{home}/evaluation" for home in homes]
    assert set(plan.first(f"{HOME}/ems/seed4/evaluation")) >= {
        f".jobs/{HOME}/ems/seed4/{part}.done" for part in ("encoder", "embeddings")
    }
    assert plan.threads(f"{HOME}/ems/seed4/encoder") == own["threads"] * own["processes"]


def test_a_variant_reaches_its_own_jobs_and_the_table_alone(values: dict[str, Any]) -> None:
    before = keys(values, on_demand=True)
    other = copy.deepcopy(values)
    other["variants"]["ugt"] = {"target": "ugt", "temperature": 0.2}
    after = keys(other, on_demand=True)
    due = {name for name in after if after[name] != before[name]}
    own = {
        f"{HOME}/ugt/seed{s}/{part}" for s in (1, 2, 3) for part in ("encoder", "embeddings", "evaluation")
    }
    assert due == own | {"tables/ems"}
    assert keys(other) == keys(values)


def test_another_seed_of_an_ablation_leaves_the_seeds_that_there_were(values: dict[str, Any]) -> None:
    before = keys(values, on_demand=True)
    values["presets"]["mini"]["ablation"]["seeds"] = [1, 2, 3, 4]
    after = keys(values, on_demand=True)
    due = {name for name in after if after[name] != before.get(name)}
    assert {name for name in due if name.startswith("ablation/")} == {
        name for name in after if "/seed4/" in name
    }


def test_what_an_ablation_starts_from_is_on_demand_too(values: dict[str, Any]) -> None:
    values["presets"]["mini"]["encoders"] = ["ems-mini"]
    values["encoders"]["further"] = copy.deepcopy(values["encoders"]["ems-mini"])
    values["encoders"]["further"]["network"] = {"start": "encoder", "encoder": "xlmr-mini"}
    before = set(keys(values))
    values["presets"]["mini"]["ablation"]["encoder"] = "further"
    assert set(keys(values)) == before
    origin = "models/mini/encoders/xlmr-mini"
    assert origin in keys(values, on_demand=True)
    plan = jobs.Plan(config.check(values, "params.yaml"))
    assert origin in plan.jobs[f"{HOME}/ems/seed1/encoder"].before


def test_a_preset_may_do_without_an_ablation(values: dict[str, Any]) -> None:
    before = set(keys(values))
    assert jobs.Plan(config.check(values, "params.yaml")).job("tables/ems").verb == "ablation"
    del values["presets"]["mini"]["ablation"]
    assert set(keys(values)) == before
    plan = jobs.Plan(config.check(values, "params.yaml"))
    assert not any("ablation" in folder for folder in plan.jobs)
    with pytest.raises(ConfigError, match=r"no tables/ems: presets\.mini has no `ablation`"):
        plan.job("tables/ems")
    with pytest.raises(ConfigError, match=r"asks for no tables/orakle$"):
        plan.job("tables/orakle")


def test_changed_user_file_makes_its_pair_due(values: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("a\tb\n")
    values["corpora"]["mine"] = {"kind": "local", "pairs": ["en-de"], "files": ["mine.tsv"], "licence": "own"}
    values["presets"]["mini"]["corpora"] = ["mini", "mine"]
    before = keys(values)
    (tmp_path / "mine.tsv").write_text("a\tc\n")
    after = keys(values)
    prepared = {f for f in after if after[f][0] == "prepare" and after[f] != before[f]}
    assert prepared == {"data/mini/bitext/en-de"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"revision": "main"}, "needs a commit of 40 hex digits as revision, not 'main'"),
        (
            {"languages": ["qaa", "qab", "qac", "qad", "qae"]},
            "encoders.other: does not cover qaf of the preset",
        ),
    ],
)
def test_what_an_encoder_cannot_do_is_refused_before_any_job(
    values: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    other = {"kind": "pretrained", "checkpoint": "a/b", "revision": "0" * 40, "pooling": "mean"}
    values["encoders"]["other"] = {**other, "max_tokens": 64, "licence": "none"}
    values["presets"]["mini"]["encoders"] = ["other"]
    keys(values)
    values["encoders"]["other"] |= change
    with pytest.raises(ConfigError, match=message):
        keys(values)


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "sentence-transformers", "checkpoint": "a/b", "revision": "0" * 40},
        {"kind": "laser", "checkpoint": "weights/laser2"},
    ],
)
def test_a_frozen_encoders_job_needs_no_text_and_follows_its_folder(
    values: dict[str, Any], entry: dict[str, Any], tmp_path: Path
) -> None:
    values["encoders"]["other"] = {**entry, "max_tokens": 64, "licence": "none"}
    values["presets"]["mini"]["encoders"] = ["other"]
    job = "models/mini/encoders/other"
    assert not jobs.Plan(config.check(values, "values")).jobs[job].inputs["bitext"]
    values["encoders"]["other"]["checkpoint"] = str(tmp_path)
    before = keys(values)[job]
    (tmp_path / "model.safetensors").write_text("other weights")
    assert keys(values)[job] != before


def test_a_benchmark_language_without_training_text_is_refused_before_any_job(values: dict[str, Any]) -> None:
    del values["corpora"]["mini"]["languages"]["qaf"]
    with pytest.raises(ConfigError, match=r"encoders\.ems-mini: does not cover qaf"):
        keys(values)


def test_code_of_a_job_is_what_its_verb_imports() -> None:
    used = set(digests.modules(jobs.ENTRY["report"]))
    assert "orthoglot.evaluation.report" in used
    assert "orthoglot.streams" in used
    assert not any("objectives" in module or "training" in module for module in used)


def test_each_verb_runs_the_module_whose_code_its_key_holds() -> None:
    for verb, entry in [*jobs.ENTRY.items(), *(("pretrain", entry) for entry in jobs.ENTRY_OF_KIND.values())]:
        body = "\n".join(map(ast.unparse, digests.verb_parts(verb)))
        room, _, module = entry.rpartition(".")
        assert re.search(
            rf"from {re.escape(entry)} import|from {re.escape(room)} import .*\b{module}\b", body
        ), verb


def test_a_verbs_digest_holds_its_own_body_and_what_every_verb_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {verb: digests.verb_code(verb) for verb in [*jobs.ENTRY, "pretrain"]}
    assert len(set(before.values())) == len(before)
    source = Path(verbs.__file__).read_text()
    changed = tmp_path / "jobs.py"
    real = digests.path_of
    monkeypatch.setattr(
        digests, "path_of", lambda name: changed if name == "orthoglot.cli.jobs" else real(name)
    )
    for old, new, affected in (
        ("evaluation.report(", "evaluation.rapport(", {"report"}),
        ("pretrain_mlm(settings", "pretrain_mlm(settingz", {"pretrain"}),
        ("fcntl.LOCK_EX", "fcntl.LOCK_SH", set(before)),
    ):
        assert old in source
        changed.write_text(source.replace(old, new))
        digests.verb_code.cache_clear()
        assert {verb for verb in before if digests.verb_code(verb) != before[verb]} == affected
    digests.verb_code.cache_clear()


def test_environment_file_pins_what_the_constraints_pin() -> None:
    constraints = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text().lower().splitlines()
        if "==" in line
    )
    environment = yaml.safe_load((ROOT / "workflow/envs/orthoglot.yaml").read_text())
    assert set(environment) == {"channels", "dependencies"}
    pins = dict(pin.split("==") for pin in environment["dependencies"][-1]["pip"] if "==" in pin)
    wanted = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.S | re.M)
    assert wanted is not None
    # and what writes the curves of trainings
    assert set(pins) == {*re.findall(r'"([\w.-]+?)[>=<]', wanted[1]), "dvclive"}
    assert {name: constraints[name] for name in pins} == pins
    assert not any("+" in version for version in constraints.values())


def test_rules_call_the_verbs_and_dvc_stages_allow_exactly_those_rules() -> None:
    text = "".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    rules = set(re.findall(r"^rule (\w+):", text, re.M))
    assert rules == {*jobs.ENTRY, "pretrain", *(f"stage_{name}" for name in DVC)}
    assert rules - {"tabulate", "ablation"} == set().union(*RULES.values())
    assert shutil.which("orthoglot")
