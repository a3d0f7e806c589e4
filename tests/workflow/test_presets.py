"""Which presets a stranger can run, and with what text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opus_server import OpusServer, write_opus
from shipped_settings import shipped_values

from orthoglot import config
from orthoglot.errors import ConfigError
from orthoglot.fetching.opus import fetch
from orthoglot.formats.kinds.opus import OpusSettings, read_moses_zip
from plan import Plan

pytestmark = pytest.mark.usefixtures("_in_an_empty_folder")


def planned(preset: str, **changes: Any) -> Plan:
    values = shipped_values()
    values["presets"][preset] |= changes
    return Plan(config.check(values | {"preset": preset}))


def test_a_missing_file_is_reported_with_how_to_get_it() -> None:
    plan = planned("seed-qe")
    with pytest.raises(ConfigError, match=r"corpora\.wmt20-qe: .*does not exist; follow data\.sh of SEED's"):
        plan.check_files(plan.job("data/seed-qe/bitext/en-de"))
    values = shipped_values()
    values["corpora"]["wmt20-qe"].pop("obtain")
    plan = Plan(config.check(values | {"preset": "seed-qe"}))
    with pytest.raises(ConfigError, match="does not exist; put it there or correct the entry"):
        plan.check_files(plan.job("data/seed-qe/bitext/en-de"))


@pytest.mark.parametrize(
    "preset", ["demo", "mini", "real-small", "real", "real-evaluation", "xrete", "ems-40"]
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
