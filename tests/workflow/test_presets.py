"""Which presets a stranger can run, and with what text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opus_server import OpusServer, write_opus
from shipped_settings import shipped_values

from orthoglot.errors import ConfigError
from orthoglot.study import config
from orthoglot.study.corpora.kinds.opus import OpusSettings, read_moses_zip
from orthoglot.study.fetching.opus import fetch
from plan import Plan

pytestmark = pytest.mark.usefixtures("_in_an_empty_folder")


def planned(preset: str, **changes: Any) -> Plan:
    values = shipped_values()
    values["presets"][preset] |= changes
    return Plan(config.check(values | {"preset": preset}))


def test_a_missing_file_is_reported_with_how_to_get_it() -> None:
    plan = planned("oracle", corpora=["oracle-dataset"])
    with pytest.raises(
        ConfigError, match=r"corpora\.oracle-dataset: texts/.*\.en does not exist; run `hf download zoeyki"
    ):
        plan.check_files(plan.job("data/oracle/bitext/en-de"))
    values = shipped_values()
    values["corpora"]["oracle-dataset"].pop("obtain")
    values["presets"]["oracle"]["corpora"] = ["oracle-dataset"]
    plan = Plan(config.check(values | {"preset": "oracle"}))
    with pytest.raises(ConfigError, match="does not exist; put it there or correct the entry"):
        plan.check_files(plan.job("data/oracle/bitext/en-de"))


def test_the_text_of_seed_is_fetched_and_put_together() -> None:
    plan = planned("seed-qe")
    (job,) = [job for job in plan.jobs.values() if job.folder == "data/seed-qe/files/corpora.wmt20-qe"]
    assert len(job.settings["addresses"]) == 12
    romanian = plan.job("data/seed-qe/bitext/en-ro")
    (source,) = romanian.settings["sources"]
    assert source["detokenise"] == "moses"
    assert source["max_pairs"] == 200_000
    assert [Path(path).name for path in source["paths"]] == ["train.roen.en", "train.roen.ro"]
    assert romanian.inputs["roots"] == [job.folder]
    assert not romanian.own


def test_a_benchmark_of_opus_is_fetched_with_its_preset_and_drawn() -> None:
    plan = planned("ems-62", benchmarks=["paracrawl"], baselines=["original"])
    fetched = plan.job("data/ems-62/opus/benchmarks.paracrawl")
    assert fetched.verb == "fetch"
    settings = OpusSettings.model_validate(fetched.settings)
    assert (settings.corpus, settings.version, len(settings.pairs)) == ("ParaCrawl", "v5", 21)
    drawn = plan.job("data/ems-62/benchmarks/paracrawl")
    assert drawn.inputs["files"] == [fetched.folder]
    assert not drawn.own
    # Its sentences are left out of the training text.
    assert plan.job("data/ems-62/bitext/en-de").inputs["benchmarks"] == [drawn.folder]
    # How many are drawn does not change what is fetched.
    values = shipped_values()
    values["presets"]["ems-62"] |= {"benchmarks": ["paracrawl"], "baselines": ["original"]}
    values["benchmarks"]["paracrawl"]["most"] = 1000
    fewer = Plan(config.check(values | {"preset": "ems-62"}))
    assert fewer.job(fetched.folder).key == fetched.key
    assert fewer.job(drawn.folder).key != drawn.key


def test_a_benchmark_that_opus_does_not_hold_stops_the_plan() -> None:
    values = shipped_values()
    values["presets"]["ems-62"]["benchmarks"] = ["paracrawl"]
    values["benchmarks"]["paracrawl"] |= {"languages": ["bg", "gn"]}
    with pytest.raises(ConfigError, match=r"^benchmarks\.paracrawl: OPUS has no en-gn in ParaCrawl v5"):
        Plan(config.check(values | {"preset": "ems-62"}))


@pytest.mark.parametrize(
    "preset", ["demo", "mini", "real-small", "real", "real-evaluation", "xrete-dev", "ems-40"]
)
def test_a_preset_on_real_text_needs_no_file_of_the_users(preset: str) -> None:
    assert not any(job.own for job in planned(preset).jobs.values())


def test_variants_without_a_paper_on_them_are_refused_when_their_table_is_asked_for() -> None:
    values = shipped_values()
    values["variants"]["mlm"] = {"longer": {"steps": 9}}
    values["presets"]["mini"]["ablations"] = [{"encoder": "xlmr-mini", "seeds": [1]}]
    plan = Plan(config.check(values))
    with pytest.raises(ConfigError, match=r"variants\.mlm: .*no paper"):
        plan.ablations()


def test_the_text_of_opus_small_is_fetched_by_name(tmp_path: Path) -> None:
    plan = planned("opus-small")
    (job,) = [job for job in plan.jobs.values() if job.verb == "fetch"]
    settings = OpusSettings.model_validate(job.settings)
    assert {Path(folder).name for folder in plan.bitext} == set(settings.pairs)
    # OPUS spells Aymara with three letters, and two languages in alphabetical order.
    served = {
        tuple(sorted(pair.replace("ay", "aym").split("-"))): [
            (f"{pair} {n}", f"{n} {pair}") for n in range(3)
        ]
        for pair in settings.pairs
    }
    write_opus(tmp_path / "opus", settings.corpus, served, settings.version)
    (tmp_path / "out").mkdir()
    with OpusServer(tmp_path / "opus") as server:
        fetch(settings, server.api, tmp_path / "out")
    for pair in settings.pairs:
        assert len(list(read_moses_zip(tmp_path / "out" / f"{pair}.zip", *pair.split("-")))) == 3


def test_a_threshold_reaches_the_job_that_reads_the_alignments() -> None:
    def bitext(**others: object) -> list[dict[str, object]]:
        values = shipped_values()
        values["corpora"]["globalvoices-en"] |= {"preprocess": "raw", "threshold": 0.5} | others
        plan = Plan(config.check(values | {"preset": "opus-small"}))
        (job,) = [job for job in plan.jobs.values() if job.verb == "fetch"]
        assert OpusSettings.model_validate(job.settings).preprocess == "raw"
        return [plan.job(folder).settings["sources"][0] for folder in plan.bitext]

    for source in bitext():
        assert (source["corpus"], source["preprocess"]) == ("GlobalVoices", "raw")
        assert (source["attribute"], source["threshold"]) == ("certainty", 0.5)
        assert len(source["paths"]) == 3  # type: ignore[arg-type]
    assert {source["threshold"] for source in bitext(threshold=1.0)} == {1.0}
    with pytest.raises(
        ConfigError, match=r"corpora\.globalvoices-en: version: latest is another text tomorrow"
    ):
        bitext(version="latest")
