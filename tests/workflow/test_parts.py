"""Parts of a preset: each encoder sees the pairs and benchmarks of its part, and nothing of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shipped_settings import shipped_values

from orthoglot.errors import ConfigError
from orthoglot.study import config
from plan import Plan

pytestmark = pytest.mark.usefixtures("_in_an_empty_folder")

LOCAL = {
    "kind": "local",
    "pairs": ["en-de"],
    "files": ["texts/{pair}.tsv"],
    "licence": "own",
}
FROZEN = {
    "kind": "pretrained",
    "checkpoint": "texts/none",
    "revision": "0" * 40,
    "pooling": "mean",
    "languages": ["en", "de"],
    "licence": "own",
}
OWN, INVENTED = (
    {"encoders": ["frozen"], "corpora": ["own"], "benchmarks": []},
    {"encoders": ["ems-mini"], "corpora": ["mini"], "benchmarks": ["mini-tatoeba", "mini-sts"]},
)


@pytest.fixture
def values() -> dict[str, Any]:
    """The preset mini with a frozen encoder on text of its own, in a part of its own."""
    values = shipped_values()
    values["corpora"]["own"] = dict(LOCAL)
    values["encoders"]["frozen"] = dict(FROZEN)
    values["presets"]["mini"] |= {
        "corpora": ["own", "mini"],
        "benchmarks": ["mini-tatoeba", "mini-sts"],
        "encoders": ["frozen", "ems-mini"],
        "methods": ["dream", "meat"],
        "ablations": [],
        "parts": [dict(OWN), dict(INVENTED)],
    }
    return values


def names(folders: list[str]) -> set[str]:
    return {Path(folder).name for folder in folders}


def test_every_job_of_an_encoder_reads_the_pairs_and_benchmarks_of_its_part_alone(
    values: dict[str, Any],
) -> None:
    plan = Plan(config.check(values))
    invented = {f"qaa-{code}" for code in values["corpora"]["mini"]["languages"]}
    seen = {"frozen": ({"en-de"}, set()), "ems-mini": (invented, {"mini-tatoeba", "mini-sts"})}
    for encoder, (pairs, benchmarks) in seen.items():
        embedded = plan.job(f"embeddings/mini/{encoder}")
        assert names(embedded.inputs["bitext"]) == pairs
        assert names(embedded.inputs["benchmarks"]) == benchmarks
        for method in ("original", "meat"):
            evaluated = plan.job(f"evaluations/mini/{encoder}/{method}")
            assert names(evaluated.inputs["bitext"]) == pairs
            assert names(evaluated.inputs["benchmarks"]) == benchmarks
        assert names(plan.job(f"models/mini/decomposers/{encoder}/meat").inputs["bitext"]) == pairs
    trained = plan.job("models/mini/encoders/ems-mini")
    assert names(trained.inputs["bitext"]) == invented
    assert names(plan.job(trained.inputs["tokens"][0]).inputs["bitext"]) == invented
    assert names(plan.job("results").inputs["bitext"]) == {"en-de"} | invented
    assert plan.job("results").settings["invented"] == ["mini-tatoeba", "mini-sts"]
    # Sentences of every benchmark are left out of every pair, as without parts.
    assert names(plan.job("data/mini/bitext/en-de").inputs["benchmarks"]) == {"mini-tatoeba", "mini-sts"}


def test_without_parts_every_encoder_sees_all(values: dict[str, Any]) -> None:
    values["presets"]["mini"]["parts"] = []
    values["encoders"]["frozen"]["languages"] = []
    plan = Plan(config.check(values))
    for encoder in ("frozen", "ems-mini"):
        inputs = plan.job(f"embeddings/mini/{encoder}").inputs
        assert inputs["bitext"] == plan.bitext
        assert names(inputs["benchmarks"]) == {"mini-tatoeba", "mini-sts"}


def test_one_part_with_everything_is_the_same_as_none(values: dict[str, Any]) -> None:
    values["encoders"]["frozen"]["languages"] = []
    preset = values["presets"]["mini"]
    preset["parts"] = []
    without = {folder: job.key for folder, job in Plan(config.check(values)).jobs.items()}
    preset["parts"] = [{kind: preset[kind] for kind in ("encoders", "corpora", "benchmarks")}]
    assert {folder: job.key for folder, job in Plan(config.check(values)).jobs.items()} == without


def test_a_part_is_covered_by_its_encoders_alone(values: dict[str, Any]) -> None:
    """The frozen encoder covers none of the invented languages, which only the other part has."""
    Plan(config.check(values))
    values["presets"]["mini"]["parts"] = []
    with pytest.raises(ConfigError, match=r"encoders\.frozen: does not cover qaa.*corpora\.mini"):
        Plan(config.check(values))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([OWN], "parts: the encoder ems-mini is in 0 parts"),
        ([OWN, INVENTED | {"encoders": ["frozen", "ems-mini"]}], "parts: the encoder frozen is in 2 parts"),
        ([OWN, INVENTED | {"encoders": ["xlmr-mini"]}], r"parts\.1\.encoders.*xlmr-mini"),
        ([OWN | {"corpora": ["owm"]}, INVENTED], r"parts\.0\.corpora.*owm.*own"),
        ([OWN | {"benchmarks": ["mini-qe"]}, INVENTED], r"parts\.0\.benchmarks.*mini-qe"),
    ],
)
def test_parts_that_do_not_fit_the_preset_are_refused_in_one_line(
    values: dict[str, Any], parts: list[dict[str, Any]], message: str
) -> None:
    values["presets"]["mini"]["parts"] = parts
    with pytest.raises(ConfigError, match=message) as caught:
        config.check(values)
    assert "\n" not in str(caught.value)


def test_a_pair_of_corpora_in_different_parts_is_refused(values: dict[str, Any]) -> None:
    values["corpora"]["more"] = LOCAL | {"files": ["texts/more.{pair}.tsv"]}
    preset = values["presets"]["mini"]
    preset["corpora"].append("more")
    preset["parts"][1] = INVENTED | {"corpora": ["mini", "more"]}
    with pytest.raises(ConfigError, match=r"presets\.mini\.parts: own, more all bring en-de"):
        Plan(config.check(values))
    preset["parts"] = [OWN | {"corpora": ["own", "more"]}, INVENTED]
    job = Plan(config.check(values)).job("data/mini/bitext/en-de")
    assert [source["name"] for source in job.settings["sources"]] == ["own", "more"]


def test_an_encoder_and_the_one_that_it_starts_from_are_in_one_part(values: dict[str, Any]) -> None:
    values["encoders"]["on-top"] = values["encoders"]["ems-mini"] | {
        "network": {"start": "encoder", "encoder": "ems-mini", "vector": "own"}
    }
    preset = values["presets"]["mini"]
    preset["encoders"].append("on-top")
    preset["parts"][1] = INVENTED | {"encoders": ["ems-mini", "on-top"]}
    plan = Plan(config.check(values))
    assert plan.job("models/mini/encoders/on-top").inputs["start"] == ["models/mini/encoders/ems-mini"]
    preset["parts"] = [OWN | {"encoders": ["frozen", "on-top"]}, INVENTED]
    with pytest.raises(ConfigError, match=r"encoders\.on-top: needs ems-mini; name both in one part"):
        Plan(config.check(values))


def test_an_ablation_of_an_encoder_of_no_part_is_refused_when_it_is_asked_for(values: dict[str, Any]) -> None:
    values["presets"]["mini"]["ablations"] = [{"encoder": "emma-x-mini", "seeds": [1]}]
    plan = Plan(config.check(values))
    with pytest.raises(ConfigError, match=r"presets\.mini\.parts: the encoder emma-x-mini is in none"):
        plan.ablations()
    values["presets"]["mini"]["ablations"] = [{"encoder": "ems-mini", "seeds": [1]}]
    job = Plan(config.check(values)).job("ablation/mini/ems/ems/seed1/embeddings")
    assert names(job.inputs["benchmarks"]) == {"mini-tatoeba"}
    assert "en-de" not in names(job.inputs["bitext"])
