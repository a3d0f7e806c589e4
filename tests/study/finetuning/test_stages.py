"""Which trainings a benchmark asks for, which encoders are refused, and the jobs of a preset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shipped_settings import shipped_values

from orthoglot.errors import ConfigError
from orthoglot.study import config
from orthoglot.study.finetuning.settings import FineTuningSettings
from orthoglot.study.finetuning.stages import stages
from plan import Plan


def preset(**settings: Any) -> dict[str, Any]:
    """All settings, with fine-tuning in the preset mini."""
    values = shipped_values()
    values["presets"]["mini"] |= {
        "fine_tuning": settings,
        "ablations": [],
        "encoders": ["ems-mini", "xlmr-mini"],
    }
    return values


@pytest.fixture(scope="module")
def benchmarks() -> Any:
    return config.check(shipped_values()).benchmarks


def forms(name: str, benchmarks: Any) -> list[tuple[str, str]]:
    return [(one.train, one.form) for one in stages(name, benchmarks, FineTuningSettings())]


def test_every_table_of_emma_x_has_its_training(benchmarks: Any) -> None:
    found = {
        "xnli-all": [("xnli-all", "pairs")],
        "americasnli": [("americasnli", "pairs")],
        "paws-x-all": [("paws-x-all", "pairs")],
        "xcopa": [("social-iqa", "choices"), ("xcopa", "choices")],
        "multieurlex-all": [("multieurlex-all", "documents")],
        "multiarc-all": [("multiarc-all", "texts")],
        "sts17": [("snli", "inference"), ("stsb-en-train", "similarity")],
        "sts17-turkish": [("snli", "inference"), ("stsb-en-train", "similarity")],
        "wmt21-qe-zero-shot": [("mlqe-pe-train", "similarity")],
        "lareqa": [("squad", "answers")],
        "mewsli-x": [("mewsli-x-train", "entities")],
    }
    assert {name: forms(name, benchmarks) for name in found} == found


def test_a_recipe_is_changed_by_form_and_then_by_benchmark(benchmarks: Any) -> None:
    settings = FineTuningSettings.model_validate(
        {"recipes": {"pairs": {"epochs": 2, "batch_size": 8}, "xnli": {"epochs": 3}}}
    )
    (one,) = stages("xnli", benchmarks, settings)
    assert (one.recipe.epochs, one.recipe.batch_size, one.recipe.learning_rate) == (3, 8, 2e-5)


@pytest.mark.parametrize(("changes", "message"), [
    ({"encoders": ["labse"]}, "labse"),
    ({"benchmarks": ["mini-tatoeba"]}, "benchmarks.mini-tatoeba: has no `taught`"),
    ({"benchmarks": ["none"]}, "fine_tuning.benchmarks"),
    ({"benchmarks": ["xnli"], "recipes": {"nothing": {"epochs": 1}}}, "fine_tuning.recipes"),
    ({"benchmarks": ["xnli"], "seeds": []}, "seeds"),
])  # fmt: skip
def test_what_cannot_be_trained_is_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        config.check(preset(**changes))
    assert "\n" not in str(error.value)


def test_encoders_without_a_network_or_with_rounded_weights_are_refused_or_left_out() -> None:
    values = preset(benchmarks=["mini-inference"])
    values["presets"]["mini"]["encoders"] = ["me5-small-4bit-any", "laser2", "xlmr-mini"]
    params = config.check(values)
    assert params.tuned_encoders(params.presets["mini"]) == ["xlmr-mini"]
    for name, reason in (("me5-small-4bit-any", "rounded to 4 bits"), ("laser2", "of kind laser")):
        values["presets"]["mini"]["fine_tuning"] = {"benchmarks": ["mini-inference"], "encoders": [name]}
        with pytest.raises(ConfigError, match=reason):
            config.check(values)


def test_benchmarks_with_one_training_share_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = preset(benchmarks=["mini-sts", "mini-nearer", "mini-inference"], seeds=[1, 2])
    values["benchmarks"]["mini-nearer"] = values["benchmarks"]["mini-sts"]
    values["preset"] = "mini"
    plan = Plan(config.check(values))
    jobs = [job for job in plan.jobs.values() if job.verb == "finetune"]
    home = "evaluations/mini/xlmr-mini/fine-tuning"
    names = {job.folder for job in jobs if "xlmr" in job.folder}
    assert names == {f"{home}/{one}/seed{n}" for one in ("mini-sts-train", "mini-inference") for n in (1, 2)}
    shared = plan.jobs[f"{home}/mini-sts-train/seed1"]
    assert shared.settings["tests"] == ["mini-sts", "mini-nearer"]
    assert set(shared.inputs["benchmarks"]) == {
        f"data/mini/benchmarks/{name}"
        for name in ("mini-sts", "mini-nearer", "mini-sts-train", "mini-sts-valid")
    }
    gathered = plan.jobs["evaluations/mini/xlmr-mini/fine-tuned"]
    assert set(gathered.inputs["fine_tuned"]) == names
    assert set(plan.jobs["results"].inputs["fine_tuned"]) == {
        "evaluations/mini/ems-mini/fine-tuned",
        "evaluations/mini/xlmr-mini/fine-tuned",
    }
    # What is only learnt on is neither embedded nor taken out of the training text.
    vectors = plan.jobs["embeddings/mini/xlmr-mini"]
    assert "data/mini/benchmarks/mini-sts-train" not in vectors.folders
    assert "data/mini/benchmarks/mini-inference" not in vectors.folders
    prepared = plan.jobs["data/mini/bitext/qaa-qab"]
    assert "data/mini/benchmarks/mini-inference" in prepared.folders
    assert "data/mini/benchmarks/mini-sts-train" not in prepared.folders
