"""What a rule says of its jobs: the verb that it runs, and what of params.yaml counts."""

from __future__ import annotations

import copy
import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from workspace import ROOT

from bridge import Bridge
from orthoglot.errors import ConfigError
from orthoglot.study import config
from plan import Plan

pytestmark = pytest.mark.usefixtures("_in_an_empty_folder")
Values = dict[str, Any]
RULES = "".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
TEXT = {"kind": "text", "languages": ["qae"], "files": "{mini}/mono/{language}.txt.gz", "licence": "CC0-1.0"}


# For each name of params.yaml: where it stands, and another value.
CHANGES: dict[str, dict[tuple[str, ...], Any]] = {
    "benchmarks": {
        ("benchmarks", "mini-topics", "languages"): ["qaa", "qab"],
        ("benchmarks", "sts17", "files", "0", "file"): "https://example.org/sts17.zip#{name}.txt",
    },
    "corpora": {
        ("corpora", "mini", "seed"): 7,
        ("corpora", "europarl-oracle", "sha256"): {"en-de": "0" * 64},
        ("corpora", "mono", "files"): "{mini}/mono/{language}.gz",
        ("corpora", "multi30k", "files"): ["https://example.org/{source}", "https://example.org/{target}"],
    },
    "encoders": {
        ("encoders", "ems-mini", "seed"): 7,
        ("encoders", "ems-mini", "network", "tokenizer", "vocabulary"): 700,
        ("encoders", "ems-mini", "stands_for"): ["labse"],
    },
    "methods": {
        ("methods", "dream", "host"): "seed",
        ("methods", "dream", "learning_rate"): 0.5,
        ("methods", "langsae", "learning_rate"): 0.5,
    },
    "variants": {("variants", "ems", "untrained"): {"steps": 9}},
    "cleaning": {("presets", "mini", "cleaning", "max_ratio"): 7.0},
    "decomposition": {("presets", "mini", "decomposition", "batch_size"): 7},
    "embedding": {("presets", "mini", "embedding", "train_pairs"): 7},
    "evaluation": {("presets", "mini", "evaluation", "confidence"): 0.9},
    "fine_tuning": {("presets", "mini", "fine_tuning", "precision"): "bfloat16"},
    "pair_parts": {("presets", "mini", "pair_parts"): {"qaa-qab": 3}},
    "max_pairs": {("presets", "mini", "max_pairs"): 99},
    "seeds": {("presets", "mini", "seeds"): [7]},
    "splits": {("presets", "mini", "splits", "max_test"): 7},
    "loss": {("loss",): "dream"},
    "mine": {
        ("presets", "mini", "mine", "parts"): 2,
        ("presets", "mini", "mine", "neighborhood"): 2,
        ("presets", "mini", "mine", "precision"): "bfloat16",
        ("presets", "mini", "mine", "threshold"): 1.1,
        ("presets", "oracle", "mine", "parts"): 2,
        ("presets", "oracle", "mine", "cells"): 40,
        ("presets", "oracle", "mine", "neighborhood"): 2,
    },
}


def complete(values: Values) -> Values:
    """With a job of every verb in the presets mini and oracle."""
    values["corpora"]["mono"] = dict(TEXT)
    values["encoders"]["emma-x-mini"]["text"] |= {"text": "corpora", "steps": 3}
    mini = values["presets"]["mini"]
    mini["corpora"].append("mono")
    mini["encoders"].append("emma-x-mini")
    mini["embedding"]["unseen_languages"] = True
    mini["methods"].append("langsae")  # which no stack takes
    mini["decomposition"]["stacked"] = True
    mini["pair_parts"] = {"qaa-qab": 2}
    values["presets"]["oracle"]["pair_parts"] = {"en-de": 2}
    mini["mine"] = {"source": "en.txt", "target": "gn.txt", "parts": 1}
    values["presets"]["oracle"]["mine"] = mini["mine"] | {"cells": 30}
    mini["fine_tuning"] = {"benchmarks": ["mini-topics"], "encoders": ["ems-mini"]}
    values["presets"]["oracle"]["corpora"].append("multi30k")
    return values


def settings(values: Values) -> dict[tuple[str, str], tuple[str, str]]:
    """The verb and the settings of each job of both presets."""
    plans = [Plan(config.check(values | {"preset": preset})) for preset in ("mini", "oracle")]
    return {
        (plan.name, folder): (job.verb, json.dumps(job.parts["settings"], sort_keys=True))
        for plan in plans
        for folder, job in plan.jobs.items()
    }


def change(values: Values, path: tuple[str, ...], new: Any) -> None:
    node: Any = values
    for key in path[:-1]:
        node = node[int(key) if isinstance(node, list) else key]
    node[path[-1]] = new


def test_a_rule_names_what_of_params_yaml_counts_for_its_jobs(values: Values) -> None:
    values = complete(values)
    before = settings(values)
    counts: dict[str, set[str]] = {verb: set() for verb, _ in before.values()}
    for name, changes in CHANGES.items():
        other = copy.deepcopy(values)
        for path, new in changes.items():
            change(other, path, new)
        for place, job in settings(other).items():
            if before.get(place) != job:
                counts[job[0]].add(name)
    said = {
        verb: set(json.loads(names))
        for names, verb in re.findall(
            r"settings=(\[[^]]*\]),\s*shell:\s*\".*?orthoglot study job (\w+) ", RULES
        )
    }
    assert said == counts


def test_every_rule_with_a_job_begins_the_run() -> None:
    rules = re.split(r"^ *rule\b", RULES, flags=re.M)[1:]
    with_job = [rule for rule in rules if "orthoglot study job" in rule]
    assert len(with_job) > 15
    assert [rule.partition(":")[0] for rule in with_job if "done(" not in rule.partition("output:")[0]] == []


def test_a_storage_provider_is_refused() -> None:
    workflow: Any = SimpleNamespace(
        is_main_process=True,
        deployment_settings=SimpleNamespace(deployment_method=set()),
        storage_registry=SimpleNamespace(default_storage_provider=object()),
    )
    plan: Any = SimpleNamespace(left_out={}, unread="")
    with pytest.raises(ConfigError, match="--default-storage-provider: a result is a folder"):
        Bridge(workflow, plan, lambda: plan)
