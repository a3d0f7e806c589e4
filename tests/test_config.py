"""params.yaml: unknown names and values out of range stop with one line that helps."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from orthoglot import config
from orthoglot.errors import ConfigError

PARAMS = Path(__file__).parents[1] / "params.yaml"


@pytest.fixture
def values() -> dict[str, Any]:
    return yaml.safe_load(PARAMS.read_text())


def test_shipped_parameters_are_valid_and_default_to_comparing_every_method(values: dict[str, Any]) -> None:
    params = config.check(values, "params.yaml")
    assert (params.preset, params.loss) == ("mini", "all")
    assert params.losses == [
        "original", "centering", "lir", "lsar", "leace", "whitening", "procrustes", "dream", "meat", "oracle",
        "dream+oracle", "dream+abs", "meat+oracle", "meat+oracle-released", "meat+abs", "seed", "seed+oracle",
    ]  # fmt: skip


def test_one_loss_is_reported_beside_the_baselines(values: dict[str, Any]) -> None:
    assert config.check({**values, "loss": "seed"}, "p").losses == ["original", "centering", "seed"]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("loss",), "orakle", "unknown name 'orakle'; nearest known: oracle; known: all, "),
        (("preset",), "minni", "unknown name 'minni'; nearest known: mini; known: mini, real-small"),
        (("presets", "mini", "seedz"), [1], "unknown key 'presets.mini.seedz'; nearest known: seeds"),
        (("presets", "mini", "splits", "test"), 1.5, "splits.test: Input should be less than 1 (given: 1.5)"),
        (("presets", "mini", "encoders"), ["labs"], "presets.mini.encoders: unknown name 'labs'"),
        (("presets", "mini", "decomposition", "learning_rate"), "1e-3", "should be a valid number (given: '1e-3')"),
        (("encoders", "ems-mini", "network", "layres"), 2, "'encoders.ems-mini.network.layres'; nearest known: layers"),
        (("methods", "seed", "terms"), {"seed.meening": 1.0}, "'seed.meening'"),
        (("methods", "leace", "rank"), 2, "methods.leace: rank does nothing with architecture 'leace'"),
        (("presets", "mini", "seeds"), [1, 1], "seeds: [1, 1] names something twice"),
        (("presets", "mini", "seeds"), [-1], "presets.mini.seeds.0: Input should be greater than or equal to 0"),
        (("encoders", "ems-mini", "network", "heads"), 3, "ems-mini.network: width 128 is not a multiple of heads 3"),
        (("encoders", "ems-mini", "learning_rate"), float("inf"), "should be a finite number"),
        (("presets", "mini", "splits", "valid"), 0.95, "valid 0.95 and test 0.16 leave nothing to train on"),
        (("presets", "mini", "cleaning", "min_characters"), 2000, "min_characters 2000 is above max_characters 1000"),
        (("presets", "mini", "cleaning", "max_ratio"), 0.5, "should be greater than or equal to 1"),
        (("device",), "cudaa", "device: String should match pattern"),
        (("benchmarks", "tatoeba", "languages"), ["deu"], "benchmarks.tatoeba: write the language 'deu' as 'de'"),
        (("corpora", "anki", "files"), ["t/{lang}.tsv"], "may name {pair}, {source}, {target}, not 'lang'"),
        (("corpora", "anki", "files"), ["texts/one.tsv"], "the same for two of 6 pairs; tell them apart by {pair}"),
        (("corpora", "anki", "files"), ["texts/{source}.txt", "texts/own"], "the same for two of 6 pairs"),
        (("benchmarks", "tatoeba", "files"), "x/{pivot}.tsv", "files: the same for two languages; tell them apart by"),
        (("corpora", "tanaka"), {"kind": "local", "pairs": ["en-ja"], "file": ["a"], "licence": "own"},
         "unknown key 'corpora.tanaka.file'; nearest known: files"),
        (("corpora", "anki", "files"), [], "params.yaml: corpora.anki.files: List should have at least 1 item"),
        (("corpora", "globalvoices", "sha256"), {"en-de": "0" * 64}, "sha256 names en-de, which is none of the pairs"),
        (("corpora", "globalvoices", "sha256"), {"en-ay": "abc"}, "globalvoices.sha256.en-ay: String should match"),
        (("benchmarks", "tatoeba", "files"), "x/{lang}.tsv", "may name {foreign}, {pivot}, not 'lang'"),
        (("benchmarks", "tatoeba", "files"), "", "a local benchmark needs files"),
        (("variants", "ems", "ugt"), {"target": "ugd"},
         "presets.mini.ablations.0.encoder: ems-mini cannot be changed as variants.ems.ugt says: target: Input should"),
        (("variants", "emma-x", "phase-1-only"), {"text": {"steps": -1}},
         "ablations.1.encoder: emma-x-mini cannot be changed as variants.emma-x.phase-1-only says: text.steps: Input"),
        (("variants", "emma-x", "full"), {"text": {"stepz": 1}}, "variants.emma-x.full says: unknown key 'text.stepz'"),
        (("variants", "emma"), {}, "variants: unknown name 'emma'; nearest known: emma-x; known: emma-x, ems"),
        (("encoders", "ems-mini", "xtr_weight"), 0.0, "presets.mini.ablations.0.encoder: ems-mini cannot be changed"),
        (("presets", "mini", "ablations"), [{"encoder": "xlmr-mini", "seeds": [1]}],
         "presets.mini.ablations.0.encoder: unknown name 'xlmr-mini'"),
        (("presets", "mini", "ablations"), [{"encoder": name, "seeds": [1]} for name in ("ems-mini", "ems-small")],
         "presets.mini.ablations: ems-mini and ems-small are both of kind ems; name one"),
        (("corpora", "anki", "pairs"), ["en-deu"], 'corpora.anki: language pair \'en-deu\': write it "en-de"'),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_the_key_and_the_nearest_name(
    values: dict[str, Any], path: tuple[str, ...], value: Any, message: str
) -> None:
    broken = copy.deepcopy(values)
    node = broken
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    with pytest.raises(ConfigError) as caught:
        config.check(broken, "params.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_variant_changes_what_it_names_and_nothing_beside_it(values: dict[str, Any]) -> None:
    params = config.check(values, "params.yaml")
    origin, ablation = params.encoders["emma-x-mini"].model_dump(), params.selected.ablations[1]
    for name, changes in {
        "full": {},
        "phase-1-only": {"text": origin["text"] | {"steps": 0}},
        "fixed-mixture": {"text": origin["text"] | {"fixed_classifier": True}},
        "linear-classifier": {"classifier": "linear"},
        "ranks-2": {"ranks": 2},
        "ranks-8": {"ranks": 8},
    }.items():
        assert params.variant(ablation, name, seed=9).model_dump() == origin | changes | {"seed": 9}
    assert (origin["ranks"], origin["classifier"], origin["text"]["fixed_classifier"]) == (
        4,
        "mixture",
        False,
    )


def test_unreadable_yaml_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("a: [1")
    with pytest.raises(ConfigError, match=r"p\.yaml: .*"):
        config.load(tmp_path / "p.yaml")


def test_catalogue_comes_with_the_package_or_from_the_file_that_is_named(tmp_path: Path) -> None:
    assert config.shipped().samefile(PARAMS)
    assert config.method_named("seed").architecture == "residual"
    with pytest.raises(
        ConfigError, match="method: unknown name 'sead'; nearest known: seed; known: centering, "
    ):
        config.method_named("sead")
    text = PARAMS.read_text().replace("\n  seed:\n", "\n  mine:\n    architecture: original\n  seed:\n")
    (tmp_path / "own.yaml").write_text(text)
    assert config.method_named("mine", tmp_path / "own.yaml").architecture == "original"


@pytest.mark.parametrize("page", ["README.md", "docs/methods.md"])
def test_every_entry_that_the_documentation_shows_is_valid(page: str, values: dict[str, Any]) -> None:
    text = (PARAMS.parent / page).read_text(encoding="utf-8")
    shown = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    for entries in shown:
        for catalogue, entry in entries.items():
            values[catalogue] |= entry
    config.check(values, page)


def test_a_variant_may_take_all_limits_away(values: dict[str, Any]) -> None:
    values["variants"]["emma-x"]["all-pairs"] = {"parallel": {"pairs": {}, "steps": 7}}
    params = config.check(values, "params.yaml")
    ablation = next(one for one in params.selected.ablations if one.encoder == "emma-x-mini")
    found, base = (params.variant(ablation, name, seed=1) for name in ("all-pairs", "full"))
    assert base.parallel.pairs
    assert (found.parallel.pairs, found.parallel.steps) == ({}, 7)
    assert found.parallel.batch_size == base.parallel.batch_size
