"""The presets of the papers' training text: what they select, and that all of it is planned without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from orthoglot.encoders import segmentation
from orthoglot.errors import ConfigError
from orthoglot.languages import parse_pair, spellings
from orthoglot.study import config
from orthoglot.study.corpora.kinds.opus import OpusSettings
from orthoglot.study.fetching.catalogue import entries
from orthoglot.study.fetching.forecast import estimates
from orthoglot.study.papers.published import DATA_SETS, printed_numbers
from plan import Job, Plan

PRESETS = ("oracle", "seed-qe", "seed-sts", "ems-62", "emma-x")
EIGHT = {
    "Europarl": "v8",
    "GlobalVoices": "v2018q4",
    "News-Commentary": "v16",
    "WikiMatrix": "v1",
    "OpenSubtitles": "v2018",
    "TED2020": "v1",
    "UNPC": "v1.0",
    "Tatoeba": "v2022-03-03",
}

# EMS: English with these 61
NAMED = """
    af ar bg bn ca cs da de el eo es et eu fa fi fr gl gu he hi hr hu hy id it ja jv ka kk ko ku lt lv mk ml mn mr ms
    my nb nl pl pt ro ru sk sl sq sr sv sw ta te th tl tr uk ur vi yo zh
    """
LANGUAGES = set(NAMED.split())


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_a_network: None) -> None:
    monkeypatch.chdir(tmp_path)


def planned(values: dict[str, Any], preset: str, **changes: Any) -> Plan:
    values["presets"][preset] |= changes
    return Plan(config.check(values | {"preset": preset}))


def read(plan: Plan) -> dict[tuple[str, str], int]:
    """The limit of each corpus and language pair; 0 for none."""
    return {
        (source["name"], Path(folder).name): source.get("max_pairs", 0)
        for folder in plan.bitext
        for source in plan.jobs[folder].settings["sources"]
    }


def fetched(plan: Plan) -> dict[str, Job]:
    return {Path(job.folder).name: job for job in plan.jobs.values() if job.verb == "fetch"}


def held(corpus: str) -> set[str]:
    """The languages of which the catalogue has pairs with English."""
    found = {frozenset((one.source, one.target)) for one in entries(corpus, EIGHT[corpus])}
    return {
        code for code in LANGUAGES if any(frozenset(("en", spelled)) in found for spelled in spellings(code))
    }


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_planned_from_its_files_alone(values: dict[str, Any], preset: str) -> None:
    plan = planned(values, preset)
    assert plan.bitext
    assert all(source == "en" for source, _ in map(parse_pair, (Path(one).name for one in plan.bitext)))
    assert any(job.own for job in plan.jobs.values()) == (preset == "emma-x")


def test_oracle_has_twelve_pairs_of_half_a_million(values: dict[str, Any]) -> None:
    plan = planned(values, "oracle")
    assert read(plan) == {
        **{("europarl-oracle", f"en-{code}"): 500_000 for code in ("de", "es", "fr", "it", "nl", "pt")},
        **{("wikimatrix-oracle", f"en-{code}"): 500_000 for code in ("ar", "ja", "ro", "zh")},
        ("tatoeba-oracle", "en-gn"): 500_000,
        ("nllb-oracle", "en-ay"): 500_000,
    }
    sizes = {row.pair: row.pairs for row in estimates(plan.corpora)}
    assert sizes.pop("en-gn") == 225
    assert set(sizes.values()) == {500_000}
    splits = plan.preset.splits
    assert (splits.test, splits.max_test, splits.max_train) == (0.1, 50_000, 450_000)
    assert plan.preset.evaluation.heldout_pairs == 50_000


def test_seed_has_the_sizes_of_its_paper(values: dict[str, Any]) -> None:
    limits = {"de": 1_000_000, "zh": 1_000_000, "ro": 200_000, "et": 200_000, "ne": 50_000, "si": 50_000}
    assert read(planned(values, "seed-qe")) == {
        ("wmt20-qe", f"en-{code}"): most for code, most in limits.items()
    }
    limits = {
        "it": 500_000,
        "tr": 500_000,
        "de": 200_000,
        "es": 200_000,
        "fr": 200_000,
        "ar": 30_000,
        "nl": 30_000,
    }
    plan = planned(values, "seed-sts")
    assert read(plan) == {("tatoeba-seed", f"en-{code}"): most for code, most in limits.items()}
    short = {row.pair: row.pairs for row in estimates(plan.corpora) if row.pairs != limits[row.pair[3:]]}
    assert short == {"en-it": 492_744, "en-ar": 29_313}


def test_ems_62_has_all_pairs_that_the_catalogue_holds(values: dict[str, Any]) -> None:
    plan = planned(values, "ems-62")
    assert {code for folder in plan.bitext for code in Path(folder).name.split("-")} == LANGUAGES | {"en"}
    assert len(LANGUAGES) == 61
    for entry in plan.preset.corpora:
        corpus = plan.params.corpora[entry]
        assert isinstance(corpus, OpusSettings)
        assert corpus.version == EIGHT[corpus.corpus]
        assert set(corpus.pairs) == {f"en-{code}" for code in held(corpus.corpus)}
    limits = read(plan)
    assert {most for (entry, _), most in limits.items() if entry == "opensubtitles-62"} == {2_000_000}
    assert {pair: most for (entry, pair), most in limits.items() if entry == "unpc-62"} == {
        "en-ru": 5_000_000,
        **{f"en-{code}": 2_000_000 for code in ("ar", "es", "fr", "zh")},
    }
    assert not any(
        most for (entry, _), most in limits.items() if entry not in ("opensubtitles-62", "unpc-62")
    )


@pytest.mark.parametrize("preset", ["oracle", "seed-sts", "ems-62", "emma-x"])
def test_no_spelling_of_a_language_is_left_out(values: dict[str, Any], preset: str) -> None:
    rows = estimates(planned(values, preset).corpora)
    assert {(row.corpus, row.pair): row.left_out for row in rows if row.left_out} == {}
    merged = {(row.corpus, row.pair[3:]): set(row.archives) for row in rows if len(row.archives) > 1}
    if preset == "ems-62":
        assert merged["ted2020-62", "zh"] == {"en-zh", "en-zh_cn", "en-zh_tw"}
        assert merged["globalvoices-62", "zh"] == {"en-zhs", "en-zht"}
        assert {code for _, code in merged} == {"fr", "pt", "sr", "tl", "zh"}


def test_segmenters_that_are_not_installed_stop_the_plan_and_no_job(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(values, "ems-62", languages=["en", "zh"])
    (tokens,) = (job for job in plan.jobs.values() if job.verb == "tokenise")
    assert tokens.settings["tokenizer"]["segmenters"] == {
        "zh": "jieba",
        "ja": "sudachi",
        "th": "moses",
        "my": "moses",
    }
    plan.check_files(tokens)

    def absent(name: str) -> NoReturn:
        raise segmentation.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(segmentation.metadata, "version", absent)
    with pytest.raises(
        ConfigError, match=r"segmenter jieba: the package jieba is not installed; pip install"
    ):
        plan.check_files(tokens)


def test_the_spellings_of_a_slice_are_those_of_its_pairs(values: dict[str, Any]) -> None:
    job = fetched(planned(values, "ems-62", languages=["en", "zh", "de"]))["ted2020-62"]
    assert job.settings["spellings"] == {"zh": ["zh", "zh_cn", "zh_tw"]}
    whole = fetched(planned(values, "ems-62", languages=["en", "de"]))["ted2020-62"]
    assert whole.settings["spellings"] == {}


@pytest.mark.parametrize(
    ("without", "absent"),
    [
        ([], set()),
        (["wikimatrix-62"], {"jv"}),
        (["ted2020-62"], {"gu", "mn", "nb"}),
        (["globalvoices-62"], {"yo"}),
    ],
)
def test_tatoeba_brings_exactly_the_pairs_that_no_other_corpus_has(
    values: dict[str, Any], without: list[str], absent: set[str]
) -> None:
    names = [name for name in values["presets"]["ems-62"]["corpora"] if name not in without]
    plan = planned(values, "ems-62", corpora=names)
    others = [values["corpora"][name]["corpus"] for name in names if name != "tatoeba-62"]
    elsewhere = set[str]().union(*map(held, others))
    assert held("Tatoeba") - elsewhere == absent
    brought = {pair for entry, pair in read(plan) if entry == "tatoeba-62"}
    assert brought == {f"en-{code}" for code in absent}
    assert ("tatoeba-62" in fetched(plan)) == bool(absent)
    if absent:
        assert set(fetched(plan)["tatoeba-62"].settings["pairs"]) == brought


def test_emma_x_has_the_languages_of_its_paper_in_every_corpus_that_holds_them(
    values: dict[str, Any],
) -> None:
    plan = planned(values, "emma-x")
    languages = {code for folder in plan.bitext for code in Path(folder).name.split("-")}
    assert len(languages - {"en"}) == 52
    assert {Path(folder).name for folder in plan.text} == languages
    assert set(fetched(plan)) == {"ccaligned-emma-x", "ccmatrix-emma-x", "multiun-emma-x"}
    assert set(plan.unread.split()) == set()


def test_a_pair_that_opus_does_not_hold_stops_the_plan(values: dict[str, Any]) -> None:
    values["corpora"]["europarl-oracle"]["pairs"].append("en-gn")
    with pytest.raises(
        ConfigError, match=r"corpora\.europarl-oracle: OPUS has no en-gn in Europarl v8; it has"
    ):
        planned(values, "oracle")
    values["corpora"]["europarl-oracle"]["listed"] = False
    assert "en-gn" in fetched(planned(values, "oracle"))["europarl-oracle"].settings["pairs"]


def test_a_slice_is_one_setting_away_and_fetches_no_more(values: dict[str, Any]) -> None:
    whole = planned(values, "emma-x")
    values["corpora"]["ccmatrix-emma-x"]["max_pairs"] = 999
    plan = planned(values, "emma-x", max_pairs=1000)
    assert {(entry == "ccmatrix-emma-x", most) for (entry, _), most in read(plan).items()} == {
        (True, 999),
        (False, 1000),
    }
    # What is read of an archive does not change what is fetched.
    assert {name: job.key for name, job in fetched(plan).items()} == {
        name: job.key for name, job in fetched(whole).items()
    }
    plan = planned(values, "emma-x", languages=["en", "fy", "gd"])
    assert {Path(folder).name for folder in plan.bitext} == {"en-fy", "en-gd"}
    assert {Path(folder).name for folder in plan.text} == {"en", "fy", "gd"}
    (job,) = fetched(plan).values()
    assert (job.settings["corpus"], job.settings["pairs"]) == ("CCMatrix", ["en-fy", "en-gd"])


def test_a_limit_of_the_corpus_holds_if_it_is_lower(values: dict[str, Any]) -> None:
    limits = read(planned(values, "ems-62", max_pairs=3_000_000))
    assert limits["opensubtitles-62", "en-de"] == 2_000_000
    assert limits["unpc-62", "en-ru"] == limits["europarl-62", "en-de"] == 3_000_000


def test_languages_of_which_nothing_is_left_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"presets\.oracle\.languages: no corpus has text in en, qu"):
        planned(values, "oracle", languages=["en", "qu"])


def test_pins_and_limits_of_a_slice_are_those_of_its_pairs(values: dict[str, Any]) -> None:
    corpus = values["corpora"]["tatoeba-seed"]
    corpus["sha256"] = {"en-it": "0" * 64, "en-tr": "1" * 64}
    slice_of = {"languages": ["en", "tr", "nl"], "benchmarks": [], "evaluation": {"tasks": ["heldout"]}}
    job = fetched(planned(values, "seed-sts", **slice_of))["tatoeba-seed"]
    kept = OpusSettings.model_validate(job.settings)
    assert (kept.pairs, kept.sha256) == (["en-tr", "en-nl"], {"en-tr": "1" * 64})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_pairs": {"en-gn": 1}}, "max_pairs names en-gn, which is none of the pairs"),
        ({"max_pairs": -1}, "greater than or equal to 0"),
        (
            {"unless_in": ["europarl"]},
            r"corpora\.tatoeba-seed\.unless_in: unknown name 'europarl'; nearest known",
        ),
        ({"unless_in": ["tatoeba-seed"]}, r"unless_in: unknown name 'tatoeba-seed'"),
    ],
)
def test_wrong_limits_and_names_are_refused(
    values: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    values["corpora"]["tatoeba-seed"] |= changes
    with pytest.raises(ConfigError, match=message):
        config.check(values)


@pytest.mark.parametrize(
    ("preset", "paper", "measured"),
    [
        ("oracle", "oracle", {"heldout", "sts", "tatoeba", "code-switched", "translation-cosine"}),
        ("seed-sts", "seed", {"sts"}),
        ("seed-qe", "seed", {"qe"}),
    ],
)
def test_the_preset_of_a_table_measures_what_the_table_prints(
    values: dict[str, Any], preset: str, paper: str, measured: set[str]
) -> None:
    """Its tasks, and a test set of each source that the catalogue has; a table without any would stay empty."""
    plan = planned(values, preset)
    assert measured <= {*plan.preset.evaluation.tasks}
    printed = {one.dataset for one in printed_numbers(paper) if one.task in measured}
    wanted = {DATA_SETS[name].stand_in or DATA_SETS[name].source for name in printed} - {""}
    here = {plan.params.benchmarks[name].source for name in plan.preset.benchmarks}
    assert wanted <= here


@pytest.mark.parametrize(
    ("preset", "languages"),
    [*((preset, {"en", "de", "zh"}) for preset in PRESETS), ("xrete", {"en", "de", "es", "zh"})],
)
def test_a_slice_of_languages_is_one_setting(
    values: dict[str, Any], preset: str, languages: set[str]
) -> None:
    """Its text and its test sets are in these languages."""
    plan = planned(values, preset, languages=sorted(languages))
    assert {code for folder in plan.bitext for code in parse_pair(Path(folder).name)} <= languages
    sets = plan.params.benchmarks_of(preset)
    assert set(plan.benchmarks) == set(sets)
    assert all(one.codes <= languages for one in sets.values())
    assert bool(sets) == (preset != "emma-x")


def test_what_a_user_gets_by_hand_is_left_out_while_it_is_absent(
    values: dict[str, Any], tmp_path: Path
) -> None:
    plan = planned(values, "ems-62")
    assert set(plan.left_out) == set(plan.params.presets["ems-62"].optional)
    assert not {"mldoc", "laser2"} & {*plan.benchmarks, *plan.encoders}
    assert plan.left_out["mldoc"].startswith("benchmarks.mldoc is left out: texts/mldoc/")
    assert "ask NIST" in plan.left_out["mldoc"]
    assert plan.left_out["laser2"] == (
        "encoders.laser2 is left out: weights/laser2 does not exist; docs/encoders.md says how to get it"
    )
    for path in config.check(values).benchmarks["mldoc"].outside:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "weights/laser2").mkdir(parents=True)
    plan = planned(values, "ems-62")
    assert {"mldoc", "laser2"} <= {*plan.benchmarks, *plan.encoders}
    assert not {"mldoc", "laser2"} & set(plan.left_out)
    # What is not called optional stops the job.
    values["presets"]["ems-62"]["optional"] = ["laser2"]
    plan = planned(values, "ems-62")
    with pytest.raises(ConfigError, match=r"benchmarks\.amazon-v2: .* does not exist; Amazon no longer"):
        plan.check_files(plan.job("data/ems-62/benchmarks/amazon-v2"))


def test_what_is_learnt_on_an_absent_set_is_left_out(values: dict[str, Any], tmp_path: Path) -> None:
    plan = planned(values, "xrete")
    assert {"mewsli-x", "mewsli-x-train", "multiarc-all"} <= set(plan.left_out)
    tuned = {Path(job.folder).parent.name for job in plan.jobs.values() if job.verb == "finetune"}
    assert "squad" in tuned
    assert not [name for name in tuned if "mewsli" in name or "multi" in name]
    for job in plan.jobs.values():
        if job.verb == "benchmark":
            plan.check_files(job)
    # The test set alone is measured with frozen vectors, and not learnt for.
    for path in config.check(values).benchmarks["mewsli-x"].outside:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    plan = planned(values, "xrete")
    assert "mewsli-x" in plan.benchmarks
    assert not [job.folder for job in plan.jobs.values() if job.verb == "finetune" and "mewsli" in job.folder]
    values["presets"]["xrete"]["fine_tuning"] = {"benchmarks": ["multiarc-all"]}
    assert planned(values, "xrete").taught == {}


def test_languages_that_an_encoder_does_not_cover_are_a_setting(values: dict[str, Any]) -> None:
    planned(values, "oracle")
    with pytest.raises(ConfigError, match=r"encoders\.laser1: does not cover .*gn"):
        planned(values, "oracle", embedding={"train_pairs": 450000})
