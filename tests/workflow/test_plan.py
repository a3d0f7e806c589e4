"""Keys of jobs: they change with what the job's result depends on, and with nothing else."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from workspace import ROOT

import bridge
import grid
from orthoglot.errors import ConfigError
from orthoglot.study import config
from orthoglot.study.jobs.job import Job
from orthoglot.study.papers.published import DECOMPOSER_PAPERS
from plan import MINING, PARTS, STAGES, Plan

pytestmark = pytest.mark.usefixtures("_in_an_empty_folder")

Changes = Callable[[dict[str, Any]], Iterator[tuple[tuple[Any, ...], Plan]]]
DVC = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
ON_DEMAND = DVC.pop(bridge.ON_DEMAND)
MINI = ("presets", "mini")


def keys(values: dict[str, Any], on_demand: bool = False) -> dict[str, tuple[str, str]]:
    """Verb and key of every job that runs unasked, or of those on demand."""
    return keys_of(Plan(config.check(values)), on_demand)


def keys_of(plan: Plan, on_demand: bool = False) -> dict[str, tuple[str, str]]:
    wanted = [job for job in plan.jobs.values() if (job.folder not in plan.default) == on_demand]
    return {job.folder: (job.verb, job.key) for job in wanted}


def on_demand_of(kind: str, values: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Those on demand for the ablation of one kind of encoder."""
    return {name: job for name, job in keys(values, on_demand=True).items() if f"/{kind}/" in f"{name}/"}


def changed(before: dict[str, tuple[str, str]], after: dict[str, tuple[str, str]]) -> set[str]:
    return {verb for folder, (verb, key) in after.items() if before.get(folder, ("", ""))[1] != key}


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every kind of parameter once: one element of a list, one entry of each kind or architecture in its section."""
    items = list(
        node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    )
    seen: set[Any] = set()
    for key, value in items[:1] if isinstance(node, list) else items:
        kind = (value.get("kind"), value.get("architecture")) if isinstance(value, dict) else ()
        shape = (*kind, *sorted(value)) if isinstance(value, dict) and path else key
        if shape not in seen:
            seen.add(shape)
            yield from (
                leaves(value, (*path, key)) if isinstance(value, dict | list) and value else [(*path, key)]
            )


def lists(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where lists are."""
    for key, value in node.items() if isinstance(node, dict) else ():
        yield from [(*path, key)] if isinstance(value, list) else lists(value, (*path, key))


def at(values: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        values = values[key]
    return values


def plan_of(values: dict[str, Any]) -> Plan | None:
    """What the values ask for, or None where they are not valid; why not, `config.check` would take its time to say."""
    try:
        return Plan(config.Params.model_validate(values))
    except (ConfigError, ValidationError):
        return None


def perturbed(values: dict[str, Any], path: tuple[Any, ...]) -> Plan | None:
    """The plan with one leaf of the values changed, or None where no other valid value is at hand."""
    result = copy.deepcopy(values)
    node = at(result, path[:-1])
    old = node[path[-1]]
    if isinstance(old, bool):
        others: list[Any] = [not old]
    else:
        others = [old + 1, old + 100, old / 2] if isinstance(old, int | float) else [f"{old}x", "cpu"]
    for new in others:
        node[path[-1]] = new
        if plan := plan_of(result):
            return plan
    return None


def with_another_value(values: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], Plan]]:
    """Every parameter of the preset, and the plan in which it differs."""
    for path in leaves(at(values, MINI), MINI):
        other = perturbed(values, path)
        if other is not None:
            yield path, other


def with_a_shorter_list(values: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], Plan]]:
    """Every list of the preset, and the plan without its first entry, which stays in the folder of an earlier run."""
    for path in filter(lambda path: at(values, path), lists(at(values, MINI), MINI)):
        other = copy.deepcopy(values)
        del at(other, path)[0]
        if plan := plan_of(other):
            yield path, plan


@pytest.mark.parametrize(("changes", "least"), [(with_another_value, 30), (with_a_shorter_list, 4)])
def test_every_setting_of_a_preset_makes_jobs_due_and_those_of_ablations_none_unasked(
    values: dict[str, Any], changes: Changes, least: int
) -> None:
    before, before_on_demand = keys(values), keys(values, on_demand=True)
    tried = 0
    for path, other in changes(values):
        tried += 1
        due = changed(before, keys_of(other))
        if path[:3] == ("presets", "mini", "ablations"):
            after = keys_of(other, on_demand=True)
            assert set(after) < set(before_on_demand) or changed(before_on_demand, after), f"{path}: nothing"
            assert not due, f"{path} makes {due} due unasked"
        else:
            assert due, f"{path} changes nothing"
    assert tried > least


def test_every_stage_of_dvc_depends_on_settings_and_code() -> None:
    for stage in STAGES:
        assert {"params.yaml", "catalogue", "src/orthoglot", "workflow"} <= set(DVC[stage]["deps"])


def test_loss_decides_only_what_is_trained_evaluated_and_reported(values: dict[str, Any]) -> None:
    before = keys(values)
    after = keys({**values, "loss": "oracle"})
    assert changed(before, after) == {"report"}
    assert set(after) < set(before)


def test_a_table_is_due_when_its_paper_or_the_report_changes(
    values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tables(values: dict[str, Any]) -> dict[str, str]:
        plan = Plan(config.check(values))
        assert not any("tables" in receipt or "ablation" in receipt for receipt in plan.receipts())
        assert plan.receipts("tabulate") == []
        return {f"tables/{paper}": plan.job(f"tables/{paper}").key for paper in DECOMPOSER_PAPERS}

    shutil.copytree(grid.PUBLISHED, tmp_path / "published")
    monkeypatch.setattr(grid, "PUBLISHED", tmp_path / "published")
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
        ("presets.mini.seeds.2", {"decompose", "evaluate", "report"}),
        ("opus_api", set()),
        ("benchmarks.mini-tatoeba.licence", {"report"}),
        ("presets.real-small.seeds.0", set()),
        ("presets.mini.evaluation.resamples", {"evaluate", "report"}),
        ("presets.mini.decomposition.learning_rate", {"decompose", "evaluate", "report"}),
        ("presets.mini.decomposition.stacked", {"stack", "decompose", "evaluate", "report"}),
        ("methods.seed.terms.seed@meaning", {"decompose", "evaluate", "report"}),
        ("encoders.xlmr-mini.steps", {"pretrain", "embed", "decompose", "evaluate", "report"}),
        # Its sentences are kept out of the training text.
        (
            "benchmarks.mini-code-switched.rate",
            {"benchmark", "prepare", "tokenise", "pretrain", "embed", "decompose", "evaluate", "report"},
        ),
    ],
)
def test_a_changed_parameter_reaches_exactly_its_dependents(
    values: dict[str, Any], path: str, due: set[str]
) -> None:
    parts = tuple(int(p) if p.isdigit() else p.replace("@", ".") for p in path.split("."))
    other = perturbed(values, parts)
    assert other is not None
    assert changed(keys(values), keys_of(other)) == due


def test_a_changed_method_leaves_the_other_methods_alone(values: dict[str, Any]) -> None:
    other = perturbed(values, ("methods", "seed", "terms", "seed.meaning"))
    assert other is not None
    before, after = keys(values), keys_of(other)
    folders = {
        folder for folder in after if after[folder] != before[folder] and after[folder][0] == "decompose"
    }
    assert folders
    assert all(folder.endswith("/seed") for folder in folders)


def test_the_parts_of_a_folder_are_files_of_the_user() -> None:
    page = (ROOT / "docs/curation-engines.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)

    def prepare() -> Any:
        params = config.load(ROOT / "params.yaml", yaml.safe_load(block) | {"preset": "curated"})
        return Plan(params).jobs["data/curated/bitext/en-nl"]

    folder = Path("texts/curated")
    folder.mkdir(parents=True)
    texts = ['{"en": "dog", "nl": "hond"}\n', '{"en": "sun", "nl": "zon"}\n']
    parts = [folder / f"part-{number}.json" for number in range(2)]
    for part, text in zip(parts, texts, strict=True):
        part.write_text(text)
    before = prepare()
    assert [*before.own] == [str(part) for part in parts]
    assert "orthoglot.study.corpora.kinds.folder" in before.code
    (folder / "_SUCCESS").touch()
    assert prepare().key == before.key
    parts[1].write_text(texts[0])
    assert prepare().key != before.key
    parts[1].write_text(texts[1])
    assert prepare().key == before.key
    parts[1].unlink()
    assert prepare().key != before.key


HOME = "ablation/mini"
KINDS = {"ems": "ems-mini", "emma-x": "emma-x-mini"}


def test_an_ablation_trains_stores_and_measures_every_variant_with_every_seed(values: dict[str, Any]) -> None:
    for ablation in values["presets"]["mini"]["ablations"]:
        ablation["seeds"] = [4, 7]
    plan = Plan(config.check(values))
    homes = {
        kind: [
            f"{HOME}/{kind}/{variant}/seed{seed}" for variant in values["variants"][kind] for seed in (4, 7)
        ]
        for kind in KINDS
    }
    verbs = {"encoder": "pretrain", "embeddings": "embed", "evaluation": "evaluate"}
    made = {
        f"{home}/{part}": verb for some in homes.values() for home in some for part, verb in verbs.items()
    }
    planned = {name: job.verb for name, job in plan.jobs.items() if name.startswith("ablation/")}
    tokens = {
        folder
        for name, verb in made.items()
        if verb == "pretrain"
        for folder in plan.jobs[name].inputs["tokens"]
    }
    assert planned == made | dict.fromkeys(tokens, "tokenise")
    assert all(folder.startswith(f"{HOME}/tokens/") for folder in tokens)
    assert not set(made) & plan.default
    encoder = plan.jobs[f"{HOME}/ems/without-xtr/seed7/encoder"]
    own = values["encoders"]["ems-mini"]
    assert encoder.settings["name"] == "without-xtr"
    own.pop("stands_for")
    assert encoder.settings["encoder"] | {"xtr_weight": own["xtr_weight"], "seed": own["seed"]} == own
    assert (encoder.settings["encoder"]["xtr_weight"], encoder.settings["encoder"]["seed"]) == (0.0, 7)
    evaluation = plan.jobs[f"{HOME}/ems/without-xtr/seed7/evaluation"]
    tasks = values["presets"]["mini"]["evaluation"]["tasks"]
    retrieval = ["heldout", *(task for task in tasks if task in ("tatoeba", "nway"))]
    assert evaluation.settings["evaluation"]["tasks"] == retrieval
    assert evaluation.inputs["embeddings"] == [f"{HOME}/ems/without-xtr/seed7/embeddings"]
    chosen = [
        name
        for name in values["presets"]["mini"]["benchmarks"]
        if values["benchmarks"][name]["kind"] in ("mini", "nway")
    ]
    assert evaluation.inputs["benchmarks"] == [f"data/mini/benchmarks/{name}" for name in chosen]
    embeddings = plan.jobs[f"{HOME}/ems/without-xtr/seed7/embeddings"]
    assert embeddings.inputs["encoder"] == [f"{HOME}/ems/without-xtr/seed7/encoder"]
    assert embeddings.settings["train_pairs"] == 1
    phase_1 = plan.jobs[f"{HOME}/emma-x/phase-1-only/seed4/encoder"].settings["encoder"]
    assert (phase_1["kind"], phase_1["text"]["steps"], phase_1["seed"]) == ("emma-x", 0, 4)
    for kind, encoder_name in KINDS.items():
        table = plan.jobs[f"tables/{kind}"]
        assert table.inputs["evaluations"] == [f"{home}/evaluation" for home in homes[kind]]
        settings = values["presets"]["mini"]["evaluation"]
        assert table.settings == {
            "paper": kind,
            "encoder": encoder_name,
            "long_tail": settings["long_tail"],
            "confidence": settings["confidence"],
            "variants": values["variants"][kind],
        }
    assert plan.ablations() == [plan.jobs[f"tables/{kind}"].receipt for kind in KINDS]
    assert plan.jobs[f"{HOME}/ems/ems/seed4/evaluation"].inputs["encoder"] == [
        f"{HOME}/ems/ems/seed4/encoder"
    ]
    assert plan.threads(plan.jobs[f"{HOME}/ems/ems/seed4/encoder"].key) == own["threads"] * own["processes"]


def test_text_is_cut_once_for_all_that_cut_it_alike(values: dict[str, Any]) -> None:
    def cut(values: dict[str, Any], home: str) -> dict[str, list[str]]:
        """Tokens by what reads them."""
        plan = Plan(config.check(values))
        found: dict[str, list[str]] = {}
        for job in plan.jobs.values():
            for folder in job.inputs.get("tokens", []) if job.folder.startswith(home) else []:
                found.setdefault(folder, []).append(job.folder.removeprefix(home))
        return found

    variants = cut(values, f"{HOME}/ems/")
    assert len(variants) == 1
    ((folder, readers),) = variants.items()
    assert len(readers) == len(values["variants"]["ems"]) * 3
    assert folder.startswith(f"{HOME}/tokens/")
    alike = [
        {reader.partition("/")[0] for reader in readers}
        for readers in cut(values, f"{HOME}/emma-x/").values()
    ]
    assert sorted(map(len, alike)) == [2, len(values["variants"]["emma-x"]) - 2]
    assert {"printed", "without-translations"} in alike

    encoders = values["encoders"]
    for name in ("same", "other", "shorter", "on-top", "on-other"):
        encoders[name] = copy.deepcopy(encoders["ems-mini"])
    encoders["same"].update(seed=8, threads=2)
    encoders["same"]["network"]["layers"] = 1
    encoders["other"]["network"]["tokenizer"]["seed"] = 9
    encoders["shorter"]["network"]["max_tokens"] = 30
    encoders["on-top"]["network"] = {"start": "encoder", "encoder": "ems-mini"}
    encoders["on-other"]["network"] = {"start": "encoder", "encoder": "other"}
    values["presets"]["mini"]["encoders"] = ["xlmr-mini", "ems-mini", *list(encoders)[-5:]]
    found = cut(values, "models/mini/encoders/")
    assert sorted(found.values()) == [["ems-mini", "same"], ["on-other"], ["on-top"], ["other"], ["shorter"]]
    before = keys(values)
    encoders["ems-mini"]["steps"] += 1
    after = keys(values)
    due = {
        reader for folder, readers in found.items() if after[folder] != before[folder] for reader in readers
    }
    assert due == {"on-top"}


@pytest.mark.parametrize(
    ("kind", "variant", "change"),
    [("ems", "ugt", {"target": "ugt", "temperature": 0.2}), ("emma-x", "ranks-8", {"text": {"steps": 7}})],
)
def test_a_variant_reaches_its_own_jobs_and_its_table_alone(
    values: dict[str, Any], kind: str, variant: str, change: dict[str, Any]
) -> None:
    before = keys(values, on_demand=True)
    other = copy.deepcopy(values)
    other["variants"][kind][variant] = change
    after = keys(other, on_demand=True)
    due = {name for name in after if after[name] != before[name]}
    own = {
        f"{HOME}/{kind}/{variant}/seed{s}/{part}"
        for s in (1, 2, 3)
        for part in ("encoder", "embeddings", "evaluation")
    }
    assert due == own | {f"tables/{kind}"}
    assert keys(other) == keys(values)


def test_another_seed_of_an_ablation_leaves_the_seeds_that_there_were(values: dict[str, Any]) -> None:
    before = keys(values, on_demand=True)
    values["presets"]["mini"]["ablations"][1]["seeds"] = [1, 2, 3, 4]
    after = keys(values, on_demand=True)
    due = {name for name in after if after[name] != before.get(name)}
    own = {name for name in after if "/seed4/" in name}
    assert due == own | {"tables/emma-x"}
    assert all(name.startswith(f"{HOME}/emma-x/") for name in own)


def test_what_an_ablation_starts_from_is_on_demand_too(values: dict[str, Any]) -> None:
    values["presets"]["mini"]["encoders"] = ["ems-mini"]
    values["encoders"]["further"] = copy.deepcopy(values["encoders"]["ems-mini"])
    values["encoders"]["further"]["network"] = {"start": "encoder", "encoder": "xlmr-mini"}
    before = set(keys(values))
    values["presets"]["mini"]["ablations"][0]["encoder"] = "further"
    assert set(keys(values)) == before
    origin = "models/mini/encoders/xlmr-mini"
    assert origin in keys(values, on_demand=True)
    plan = Plan(config.check(values))
    assert origin in plan.jobs[f"{HOME}/ems/ems/seed1/encoder"].inputs["start"]


def test_a_preset_may_do_without_an_ablation(values: dict[str, Any]) -> None:
    before = set(keys(values))
    assert Plan(config.check(values)).job("tables/ems").verb == "tabulate"
    del values["presets"]["mini"]["ablations"][1]
    plan = Plan(config.check(values))
    assert plan.ablations() == [plan.jobs["tables/ems"].receipt]
    with pytest.raises(
        ConfigError, match=r"no tables/emma-x: presets\.mini\.ablations names no encoder of kind emma-x"
    ):
        plan.job("tables/emma-x")
    del values["presets"]["mini"]["ablations"]
    assert set(keys(values)) == before
    plan = Plan(config.check(values))
    assert not any("ablation" in folder for folder in plan.jobs)
    with pytest.raises(ConfigError, match=r"presets\.mini has no `ablations`$"):
        plan.ablations()
    with pytest.raises(ConfigError, match=r"asks for no tables/orakle; nearest known: tables/oracle$"):
        plan.job("tables/orakle")


def test_an_ablation_that_the_preset_does_not_allow_is_refused_to_whoever_asks_for_it(
    values: dict[str, Any],
) -> None:
    unasked, ems = keys(values), on_demand_of("ems", values)
    values["encoders"]["emma-x-mini"]["parallel"]["pairs"] = {"qaa-qaz": 100}
    reason = r"encoders\.emma-x-mini\.parallel\.pairs: the preset has no qaa-qaz"
    assert keys(values) == unasked
    assert on_demand_of("ems", values) == ems
    assert on_demand_of("emma-x", values) == {}
    plan = Plan(config.check(values))
    assert plan.job("tables/ems").verb == "tabulate"
    for ask in (plan.ablations, lambda: plan.job("tables/emma-x")):
        with pytest.raises(ConfigError, match=reason):
            ask()
    values["presets"]["mini"]["encoders"].append("emma-x-mini")
    with pytest.raises(ConfigError, match=reason):
        keys(values)
    values["variants"]["emma-x"]["of-corpora"] = {"text": {"text": "corpora"}}
    values["encoders"]["emma-x-mini"]["parallel"]["pairs"] = {}
    reason = r"^variants\.emma-x\.of-corpora\.text\.text: the preset's corpora have none"
    with pytest.raises(ConfigError, match=reason):
        Plan(config.check(values)).job("tables/emma-x")


def test_changed_user_file_makes_its_pair_due(values: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("a\tb\n")
    values["corpora"]["mine"] = {"kind": "local", "pairs": ["en-de"], "files": ["mine.tsv"], "licence": "own"}
    values["presets"]["mini"]["corpora"] = ["mini", "mine"]
    before = keys(values)
    (tmp_path / "mine.tsv").write_text("a\tc\n")
    after = keys(values)
    prepared = {f for f in after if after[f][0] == "prepare" and after[f] != before[f]}
    assert prepared == {"data/mini/bitext/en-de"}


def test_changed_catalogue_of_a_folder_makes_its_pair_due(values: dict[str, Any], tmp_path: Path) -> None:
    corpus = {"kind": "gettext", "folder": "po", "languages": ["de", "fr"], "licence": "own"}
    values["corpora"]["mine"] = corpus
    values["presets"]["mini"]["corpora"] = ["mini", "mine"]
    with pytest.raises(ConfigError, match=r"corpora\.mine: po has no message catalogue in de"):
        keys(values)
    (tmp_path / "po").mkdir()
    for code in ("de", "fr"):
        (tmp_path / f"po/{code}.po").write_text('msgid "a"\nmsgstr "b"\n')
    before = keys(values)
    (tmp_path / "po/de_AT.po").write_text('msgid "a"\nmsgstr "c"\n')
    after = keys(values)
    prepared = {f for f in after if after[f][0] == "prepare" and after[f] != before[f]}
    assert prepared == {"data/mini/bitext/en-de"}


def test_a_package_that_is_not_installed_is_named_to_whoever_asks_for_its_text(
    values: dict[str, Any],
) -> None:
    package = {"version": "1.2", "sha256": "0" * 64}
    corpus = {"kind": "gettext", "packages": {"no-such": package}, "languages": ["de"], "licence": "own"}
    values["corpora"]["mine"] = corpus
    values["presets"]["mini"]["corpora"] = ["mini", "mine"]
    plan = Plan(config.check(values))
    plan.of_key(plan.job("data/mini/bitext/qaa-qab").key)
    with pytest.raises(
        ConfigError, match=r"corpora\.mine: the Python package no-such 1\.2.*is not installed"
    ):
        plan.of_key(plan.job("data/mini/bitext/en-de").key)
    before = keys(values)
    package["sha256"] = "1" * 64
    after = keys(values)
    prepared = {f for f in after if after[f][0] == "prepare" and after[f] != before[f]}
    assert prepared == {"data/mini/bitext/en-de"}


def test_a_language_that_an_encoder_lacks_is_reported_with_what_brings_it(values: dict[str, Any]) -> None:
    values["preset"] = "real-small"
    values["presets"]["real-small"]["encoders"] = ["me5-small-4bit"]
    with pytest.raises(ConfigError) as caught:
        keys(values)
    assert "encoders.me5-small-4bit: does not cover ay, gn of the preset's data" in str(caught.value)
    assert (
        "ay comes from corpora.globalvoices, benchmarks.flores; "
        "gn comes from corpora.americasnlp, benchmarks.flores; it covers af, am"
    ) in str(caught.value)


def test_a_decompose_job_knows_the_digest_of_its_code(values: dict[str, Any]) -> None:
    plan = Plan(config.check(values))
    jobs = [job for job in plan.jobs.values() if job.verb == "decompose"]
    assert jobs
    codes = {job.folder: described(plan, job.folder).code() for job in jobs}
    assert all(codes.values())
    # Of a closed form and of a trained method it is not the same.
    assert len({codes[f"models/mini/decomposers/ems-mini/{name}"] for name in ("procrustes", "meat")}) == 2


def described(plan: Plan, folder: str) -> Job:
    """A job as its verb gets it."""
    return Job(plan.jobs[folder].verb, plan.as_json(plan.jobs[folder].key))


def test_an_embed_job_takes_all_cores_for_a_frozen_encoder_alone(values: dict[str, Any]) -> None:
    values["encoders"]["other"] = FROZEN
    values["presets"]["mini"]["encoders"] = ["ems-mini", "other"]
    plan = Plan(config.check(values | {"device": "cpu"}))
    frozen, trained = (plan.jobs[f"embeddings/mini/{name}"].key for name in ("other", "ems-mini"))
    assert (plan.threads(frozen), plan.threads(trained)) == (None, 1)
    # Only a frozen encoder's job may copy the vectors of an earlier result, if its code is the same.
    jobs = [described(plan, f"embeddings/mini/{name}") for name in ("other", "ems-mini")]
    assert [one.frozen for one in jobs] == [True, False]
    values["presets"]["mini"]["embedding"]["train_pairs"] += 1
    again = Plan(config.check(values))
    job = again.jobs["embeddings/mini/other"]
    assert job.key != frozen
    assert described(again, job.folder).code() == jobs[0].code()
    # One process for each GPU, and the job holds no more cores than that.
    on_gpus = Plan(config.check(values | {"device": "cuda"}))
    assert on_gpus.threads(on_gpus.jobs["embeddings/mini/other"].key) == 1


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "sentence-transformers", "checkpoint": "a/b", "revision": "0" * 40},
        {"kind": "laser", "checkpoint": "weights/laser2"},
        {"kind": "use", "checkpoint": "weights/use"},
    ],
)
def test_a_frozen_encoders_job_needs_no_text_and_follows_its_folder(
    values: dict[str, Any], entry: dict[str, Any], tmp_path: Path
) -> None:
    values["encoders"]["other"] = {**entry, "max_tokens": 64, "licence": "none"}
    values["presets"]["mini"]["encoders"] = ["other"]
    job = "models/mini/encoders/other"
    assert not Plan(config.check(values)).jobs[job].inputs["bitext"]
    values["encoders"]["other"]["checkpoint"] = str(tmp_path)
    before = keys(values)[job]
    (tmp_path / "model.safetensors").write_text("other weights")
    assert (changed := keys(values)[job]) != before
    # What `orthoglot get --map` puts beside it is not read.
    (tmp_path / "ready").mkdir()
    for name in ("encoder.json", "ready/map.safetensors"):
        (tmp_path / name).write_text("a map")
    assert keys(values)[job] == changed


def test_an_encoder_does_not_read_the_pairs_of_languages_that_it_withholds(values: dict[str, Any]) -> None:
    values["encoders"]["ems-mini"]["withheld"] = ["qag"]
    plan = Plan(config.check(values))
    trained = plan.jobs["models/mini/encoders/ems-mini"].inputs
    read = {*trained["bitext"], *plan.jobs[trained["tokens"][0]].inputs["bitext"]}
    assert read == {folder for folder in plan.bitext if not folder.endswith("qaa-qag")}
    assert plan.jobs["embeddings/mini/ems-mini"].inputs["bitext"] == plan.bitext


def test_environment_file_pins_what_the_constraints_pin() -> None:
    constraints = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text().lower().splitlines()
        if "==" in line
    )
    environment = yaml.safe_load((ROOT / "workflow/envs/orthoglot.yaml").read_text())
    assert set(environment) == {"channels", "dependencies"}
    packages = environment["dependencies"][-1]["pip"]
    # Beside this file, and beside Snakemake's copy of it in .snakemake/conda.
    assert "-c ../../constraints.txt" in packages
    pins = dict(pin.split("==") for pin in packages if "==" in pin)
    project = (ROOT / "pyproject.toml").read_text()
    wanted = re.search(r"^dependencies = \[(.*?)^\]", project, re.S | re.M)
    extras = [re.search(rf"^{name} = \[(.*?)\]$", project, re.M) for name in ("study", "faiss", "segmenters")]
    assert wanted is not None
    needed = wanted[1] + "".join(extra[1] for extra in extras if extra)
    # and what writes the curves of trainings
    assert set(pins) == {*re.findall(r'"([\w.-]+?)[>=<]', needed), "dvclive"}
    assert {name: constraints[name] for name in pins} == pins
    assert not any("+" in version for version in constraints.values())


def test_every_verb_has_a_rule_and_every_stage_a_target() -> None:
    rules = "".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    named = set(re.findall(r"^ *rule (\w+):", rules, re.M))
    verbs = {"tabulate", *MINING, *PARTS}.union(*STAGES.values())
    assert named >= verbs - {"tabulate"}
    assert verbs == {path.stem for path in (ROOT / "src/orthoglot/study/jobs").glob("[a-z]*.py")} - {
        "definitions",
        "digests",
        "job",
    }
    assert {name: stage["cmd"].split()[-1] for name, stage in DVC.items()} == {
        name: f"stage_{name}" for name in STAGES
    }
    run = dict(re.findall(r"^rule (\w+):.*?orthoglot study job (\w+) ", rules, re.M | re.S))
    assert run == {verb: verb for verb in verbs - {"tabulate"}}
    for shell in re.findall(r'^ +"(.*orthoglot .*|rm .*)"$', rules, re.M):
        quoted = re.findall(r"\{(\w+[.\w]*)(:q)?\}", shell)
        assert all(q or name in ("threads", "params.verb") for name, q in quoted), shell


TEXT = {
    "kind": "text",
    "languages": ["qae", "qaf"],
    "files": "{mini}/mono/{language}.txt.gz",
    "licence": "CC0-1.0",
}


def with_text(values: dict[str, Any], **text: Any) -> dict[str, Any]:
    """The preset mini with a corpus of text and an Emma-X encoder that reads it."""
    values["corpora"]["mono"] = TEXT | text
    values["presets"]["mini"]["corpora"] = ["mini", "mono"]
    values["presets"]["mini"]["encoders"] = ["ems-mini", "emma-x-mini"]
    values["encoders"]["emma-x-mini"]["text"]["text"] = "corpora"
    return values


def test_text_without_translations_is_cleaned_and_read_by_the_encoder_that_asks_for_it(
    values: dict[str, Any], tmp_path: Path
) -> None:
    plan = Plan(config.check(with_text(values)))
    folders = [f"data/mini/text/{code}" for code in ("qae", "qaf")]
    assert plan.receipts("shard") == [plan.jobs[folder].receipt for folder in folders]
    made = plan.jobs[folders[0]]
    assert made.settings["sources"] == [{"name": "mono", "path": "data/mini/invented/mini/mono/qae.txt.gz"}]
    assert made.inputs["roots"] == ["data/mini/invented/mini"]
    assert made.inputs["bitext"] == plan.bitext
    assert plan.jobs["models/mini/encoders/emma-x-mini"].inputs["corpora"] == folders
    assert "corpora" not in plan.jobs["models/mini/encoders/ems-mini"].inputs
    assert plan.jobs["results"].inputs["text"] == folders
    assert plan.jobs["results"].settings["licences"]["mono"] == "CC0-1.0"
    assert plan.jobs["results"].settings["licences"]["mini"] == "CC0-1.0"
    own = tmp_path / "own.qae"
    own.write_text("a line\n")
    values["presets"]["mini"]["corpora"] = ["mini", "mono"]
    other = with_text(values, files=str(tmp_path / "own.{language}"), languages=["qae"])
    before = keys(other)
    own.write_text("another line\n")
    assert changed(before, keys(other)) >= {"shard", "pretrain"}
    # A language with text of both kinds watches the user's file all the same.
    other["corpora"]["invented-too"] = TEXT | {"languages": ["qae"], "files": "{mini}/mono/{language}.txt.gz"}
    other["presets"]["mini"]["corpora"].append("invented-too")
    before = keys(other)
    own.write_text("a third line\n")
    assert changed(before, keys(other)) >= {"shard", "pretrain"}


TEXT_OF_ALL = {
    "corpora/mono": TEXT,
    "presets/mini/corpora": ["mini", "mono"],
    "presets/mini/encoders": ["ems-mini", "emma-x-mini"],
    "encoders/emma-x-mini/text/text": "corpora",
}
FROZEN = {
    "kind": "pretrained",
    "checkpoint": "a/b",
    "revision": "0" * 40,
    "pooling": "mean",
    "licence": "none",
}
WITH_FROZEN = {"encoders/other": FROZEN, "presets/mini/encoders": ["other"]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            WITH_FROZEN | {"encoders/other/revision": "main"},
            "a commit of 40 hex digits as revision, not 'main'",
        ),
        (WITH_FROZEN | {"encoders/other/languages": ["qaa"]}, "encoders.other: does not cover qab, qac, qad"),
        (
            {"encoders/ems-mini/withheld": ["qah"]},
            r"ems-mini\.withheld: no sentence pair has qah; there are qaa, qab",
        ),
        ({"encoders/ems-mini/withheld": ["qaa"]}, r"ems-mini\.withheld: leaves no sentence pair"),
        (
            TEXT_OF_ALL | {"corpora/mono/languages": ["qah"]},
            "emma-x-mini: text of qah, which no sentence pair has",
        ),
        (TEXT_OF_ALL | {"corpora/mono/files": "{mini}/mono.txt.gz"}, "files: the same for two languages"),
        (
            TEXT_OF_ALL | {"presets/mini/corpora": ["mini"]},
            r"text\.text: the preset's corpora have none of kind text",
        ),
        (
            TEXT_OF_ALL
            | {"presets/mini/corpora": ["elrc-health", "mono"], "presets/mini/benchmarks": ["tatoeba"]},
            r"corpora\.mono: needs an invented corpus in the preset",
        ),
        (
            {
                **{"corpora/mini/languages": {"qab": 10}, "presets/mini/ablations": []},
                **{"presets/mini/baselines": ["original"], "presets/mini/methods": ["dream"]},
            },
            r"encoders\.ems-mini: does not cover qac",
        ),
    ],
)
def test_a_preset_that_cannot_be_computed_is_refused_before_any_job(
    values: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    Plan(config.check(values))
    for path, value in changes.items():
        *place, name = path.split("/")
        at(values, tuple(place))[name] = copy.deepcopy(value)
    with pytest.raises(ConfigError, match=message):
        Plan(config.check(values))


def test_text_that_no_encoder_reads_is_told(values: dict[str, Any]) -> None:
    def unread(values: dict[str, Any]) -> str:
        return Plan(config.check(values)).unread

    assert unread(values) == ""
    assert unread(with_text(values)) == ""
    # An ablation on demand reads it, too.
    values["presets"]["mini"]["encoders"] = ["ems-mini"]
    assert unread(values) == ""
    values["encoders"]["emma-x-mini"]["parallel"]["pairs"] = {"qaa-qaz": 100}  # and where it is refused
    assert unread(values) == ""
    values["encoders"]["emma-x-mini"]["parallel"]["pairs"] = {}
    del values["presets"]["mini"]["ablations"]
    told = (
        "corpora.mono: text that no encoder of presets.mini reads; name an Emma-X encoder with text.text: corpora and "
        "steps under presets.mini.encoders, or take mono out of presets.mini.corpora"
    )
    assert unread(values) == told
    values["presets"]["mini"]["encoders"] = ["ems-mini", "emma-x-mini"]
    values["encoders"]["emma-x-mini"]["text"]["steps"] = 0
    assert unread(values) == told


OUTSIDE = {
    "mine": {"kind": "local", "pairs": ["qaa-qab"], "files": ["mine.qaa", "mine.qab"], "licence": "own"},
    "mono": TEXT | {"files": "own.{language}"},
}
TEST_SET = {
    "kind": "local",
    "files": "test.{foreign}",
    "languages": ["qab"],
    "pivot": "qaa",
    "licence": "own",
}


def test_a_missing_file_is_told_to_whoever_asks_for_the_job_that_reads_it(values: dict[str, Any]) -> None:
    with_text(values)
    values["corpora"] |= OUTSIDE
    values["benchmarks"]["own"] = TEST_SET
    values["presets"]["mini"]["corpora"].append("mine")
    values["presets"]["mini"]["benchmarks"].append("own")

    def asked(plan: Plan, folder: str) -> str:
        return plan.of_key(plan.job(folder).key).folder

    def refusal(folder: str) -> str:
        with pytest.raises(ConfigError) as error:
            asked(Plan(config.check(values)), folder)
        return str(error.value)

    remedy = "; put it there or correct the entry"
    pair, test_set, text = "data/mini/bitext/qaa-qab", "data/mini/benchmarks/own", "data/mini/text/qaf"
    Path("mine.qaa").write_text("a line\n")
    assert refusal(pair) == f"corpora.mine: mine.qab does not exist{remedy}"
    assert refusal(test_set) == f"benchmarks.own: test.qab does not exist{remedy}"
    assert refusal(text) == f"corpora.mono: own.qaf does not exist{remedy}"
    plan = Plan(config.check(values))
    for folder in (
        "data/mini/bitext/qaa-qac",
        "data/mini/benchmarks/mini-sts",
        "models/mini/encoders/ems-mini",
    ):
        assert asked(plan, folder) == folder
    for name in ("mine.qab", "own.qaf", "test.qab"):
        Path(name).write_text("a line\n")
    plan = Plan(config.check(values))
    assert [asked(plan, folder) for folder in (pair, test_set, text)] == [pair, test_set, text]


def test_a_benchmark_in_a_language_without_pairs_is_refused_by_name_where_a_method_needs_them(
    values: dict[str, Any],
) -> None:
    values["encoders"]["frozen"] = FROZEN
    values["presets"]["mini"]["encoders"] = ["frozen"]
    values["presets"]["mini"]["ablations"] = []
    del values["corpora"]["mini"]["languages"]["qaf"]
    with pytest.raises(ConfigError, match=r"benchmarks\.mini-\w+: .* in qaf, and centering, lir"):
        keys(values)
    values["presets"]["mini"] |= {"baselines": ["original"], "methods": ["dream", "leace"]}
    assert keys(values)


def test_gpus_of_a_job_follow_the_device_and_the_processes(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    values["device"] = "cuda"
    values["encoders"]["ems-mini"]["processes"] = 4
    plan = Plan(config.check(values))
    scores = next(folder for folder in plan.jobs if folder.startswith("evaluations/mini/ems-mini/"))
    wanted = {"models/mini/encoders/ems-mini": 4, "embeddings/mini/ems-mini": 1, scores: 1}
    assert {folder: plan.gpus(plan.jobs[folder].key) for folder in wanted} == wanted
    values["device"] = "cpu"
    plan = Plan(config.check(values))
    assert [plan.gpus(plan.jobs[folder].key) for folder in wanted] == [0, 0, 0]
    # Under auto the device of evaluations is the CPU, also where there is a GPU.
    monkeypatch.setattr(Path, "glob", lambda *_: iter([Path("/dev/nvidia0")]))
    plan.params = config.check(values | {"device": "auto"})
    assert [plan.gpus(plan.jobs[folder].key) for folder in wanted] == [4, 1, 0]


def test_the_report_has_the_languages_of_a_checkpoint_whose_entry_states_none(values: dict[str, Any]) -> None:
    values["presets"]["mini"]["encoders"] = ["me5-small-4bit-any"]
    languages = config.check(values).encoders["me5-small"].languages
    plan = Plan(config.check(values))
    assert plan.jobs["results"].settings["languages"] == {"me5-small-4bit-any": languages}
    assert "gn" not in languages
    assert len(languages) > 90


def test_keys_are_those_of_any_process() -> None:
    """Commands of other tests share a hash seed, by which sets are ordered."""
    code = (
        "from pathlib import Path; from orthoglot.study import config; from plan import Plan\n"
        f"plan = Plan(config.load(Path({str(ROOT / 'params.yaml')!r}), {{'preset': 'mini'}}))\n"
        "print(*(f'{folder} {job.key}' for folder, job in plan.jobs.items()), sep='\\n')"
    )
    said = []
    for seed in ("1", "2"):
        environment = {"PYTHONPATH": f"{ROOT}/src:{ROOT}/workflow", "PYTHONHASHSEED": seed}
        said.append(subprocess.check_output([sys.executable, "-c", code], env=os.environ | environment))
    assert len(said[0].splitlines()) > 50
    assert said[0] == said[1]
