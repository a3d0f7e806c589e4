"""params.yaml and the catalogue: how entries are completed, and how mistakes are reported."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.utils.hydra import apply_overrides
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError
from referencing import Registry, Resource
from shipped_settings import ROOT, shipped_values, write_settings

from orthoglot import catalogue, yaml_files
from orthoglot.catalogue_entries import WHOLE
from orthoglot.errors import ConfigError
from orthoglot.settings import Name
from orthoglot.study import config, json_schema

PARAMS = ROOT / "params.yaml"
WRITTEN = {
    section: yaml.safe_load((ROOT / "catalogue" / f"{section}.yaml").read_text())
    for section in config.CATALOGUES
}


@pytest.fixture
def values() -> dict[str, Any]:
    """All settings, every entry in full."""
    return shipped_values()


@pytest.fixture
def written() -> dict[str, Any]:
    """All settings as they are written."""
    return copy.deepcopy(yaml.safe_load(PARAMS.read_text()) | WRITTEN)


def test_shipped_parameters_are_valid_and_default_to_comparing_every_method(values: dict[str, Any]) -> None:
    params = config.check(values)
    assert (params.preset, params.loss) == ("mini", "all")
    assert params.losses == [
        "original", "centering", "lir", "lsar", "leace", "whitening", "procrustes", "dream", "meat", "oracle",
        "dream+oracle", "dream+abs", "meat+oracle", "meat+oracle-released", "meat+abs", "seed", "seed+oracle",
    ]  # fmt: skip


def test_one_loss_is_reported_beside_the_baselines(values: dict[str, Any]) -> None:
    assert config.check({**values, "loss": "seed"}).losses == ["original", "centering", "seed"]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("loss",), "orakle", "unknown name 'orakle'; nearest known: oracle; known: all, "),
        (("preset",), "minni", "unknown name 'minni'; nearest known: mini; known: demo, emma-x, ems-40, "),
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
        (("benchmarks", "tatoeba", "languages"), ["deu"], "tatoeba.languages.0: write the language 'deu' as 'de'"),
        (("corpora", "stsb", "files"), ["t/{lang}.csv"], "may name {pair}, {source}, {target}, {name}, not 'lang'"),
        (("corpora", "multi30k", "files"), ["texts/one.tsv"], "the same for two of 3 pairs; tell them apart by {pair}"),
        (("corpora", "multi30k", "files"), ["texts/{source}.txt", "texts/own"], "the same for two of 3 pairs"),
        (("benchmarks", "tatoeba", "files"), "x/{pivot}.tsv", "files: the same for two languages; tell them apart by"),
        (("corpora", "tanaka"), {"kind": "local", "pairs": ["en-ja"], "file": ["a"], "licence": "own"},
         "unknown key 'corpora.tanaka.file'; nearest known: files"),
        (("corpora", "multi30k", "files"), [], "corpora.multi30k.files: List should have at least 1 item"),
        (("corpora", "multi30k", "columns"), [1, 2], "columns: CSV files (.csv) need them, e.g. [1, 2], and other"),
        (("corpora", "stsb", "columns"), [], "columns: CSV files (.csv) need them, e.g. [1, 2], and other"),
        (("corpora", "globalvoices", "sha256"), {"en-de": "0" * 64}, "sha256 names en-de, which is none of the pairs"),
        (("corpora", "globalvoices", "sha256"), {"en-ay": "abc"}, "globalvoices.sha256.en-ay: String should match"),
        (("benchmarks", "tatoeba", "files"), "x/{lang}.tsv", "may name {foreign}, {pivot}, {mini}, not 'lang'"),
        (("benchmarks", "tatoeba", "files"), "", "tatoeba.files: String should have at least 1 character"),
        (("variants", "ems", "ugt"), {"target": "ugd"},
         "presets.mini.ablations.0.encoder: ems-mini cannot be changed as variants.ems.ugt says: target: Input should"),
        (("variants", "emma-x", "phase-1-only"), {"text": {"steps": -1}},
         "ablations.1.encoder: emma-x-mini cannot be changed as variants.emma-x.phase-1-only says: text.steps: Input"),
        (("variants", "emma-x", "full"), {"text": {"stepz": 1}}, "variants.emma-x.full says: unknown key 'text.stepz'"),
        (("variants", "emma"), {}, "variants: unknown name 'emma'; nearest known: emma-x; known: distillation, emma-x"),
        (("methods", "seed+oracle", "host"), "sead", "methods.seed+oracle.host: unknown name 'sead'; nearest"),
        (("methods", "seed", "host"), "seed", "methods.seed: extends itself: seed <- seed"),
        (("encoders", "ems-mini", "extends"), "ems", "encoders.ems-mini.extends: unknown name 'ems'; nearest"),
        (("encoders", "ems-mini", "extends"), 7, "encoders.ems-mini.extends: unknown name 7"),
        (("presets", "mini", "extends"), "mini", "presets.mini: extends itself: mini <- mini"),
        (("methods", "seed", "remove"), ["seed.meening"], "methods.seed.remove: unknown name 'seed.meening'; nearest"),
        (("methods", "seed", "add"), "seed.meaning", "methods.seed: add lists terms or gives weights"),
        (("corpora", "globalvoices", "corpus"), "../up", "corpora.globalvoices.corpus: a name consists of letters"),
        (("corpora", "globalvoices", "version"), "v 1", "(given: 'v 1')"),
        (("corpora", "mini", "languages"), {"qab/..": 5}, "unknown language code 'qab/..'"),
        (("encoders",), [], "encoders: Input should be a valid dictionary"),
        (("encoders", "ems-mini", "xtr_weight"), 0.0, "presets.mini.ablations.0.encoder: ems-mini cannot be changed"),
        (("presets", "mini", "ablations"), [{"encoder": "xlmr-mini", "seeds": [1]}],
         "presets.mini.ablations.0.encoder: unknown name 'xlmr-mini'"),
        (("presets", "mini", "ablations"), [{"encoder": name, "seeds": [1]} for name in ("ems-mini", "ems-small")],
         "presets.mini.ablations: ems-mini and ems-small are both of kind ems; name one"),
        (("corpora", "localisation", "folder"), "po", "corpora.localisation: name packages or a folder"),
        (("benchmarks", "bucc", "train_files"), "x.{language}", "train_files, train_gold: give both or none"),
        (("benchmarks", "mldoc", "pivot"), "tr", "mldoc: languages: tr, in which classifiers learn, is not among them"),
        (("variants", "ems", "ugt"), {"target": "ugt", "xtr_weight": 0.0}, "hide tokens, which nothing predicts"),
        (("variants", "ems", "a b"), {}, "variants.ems.a b: a name consists of"),
        (("presets", "mini", "encoders"), ["../x"], "presets.mini.encoders.0: a name consists of"),
        (("corpora", "multi30k", "pairs"), ["en-deu"], 'corpora.multi30k: language pair \'en-deu\': write it "en-de"'),
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
        config.check(broken)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_variant_changes_what_it_names_and_nothing_beside_it(values: dict[str, Any]) -> None:
    params = config.check(values)
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


UNSAFE = [
    "a$(touch PWNED)", "../../../escape", "R&D", "my encoder", "l'enc", "", ".hidden", "a..b", "new\nline",
    "sch\u00f6n",
]  # fmt: skip


@pytest.mark.parametrize("name", UNSAFE)
def test_a_name_that_a_shell_or_a_path_could_misread_is_refused(name: str) -> None:
    with pytest.raises(
        ValidationError, match=re.escape("letters (A-Z, a-z), digits and the characters . _ + -")
    ):
        TypeAdapter(Name).validate_python(name)


SECTIONS = ("presets", *config.CATALOGUES)


@pytest.mark.parametrize(("section", "name"), zip(SECTIONS, UNSAFE[: len(SECTIONS)], strict=True))
def test_the_name_of_every_entry_is_checked(section: str, name: str, values: dict[str, Any]) -> None:
    values[section][name] = next(iter(values[section].values()))
    with pytest.raises(ConfigError) as caught:
        config.check(values)
    assert str(caught.value).startswith(f"{section}.{name}: a name consists of letters")
    assert str(caught.value).endswith(f"(given: {name!r})")


@pytest.mark.parametrize("name", ["dream+oracle", "v1.2_x-y", "7", "a.b."])
def test_other_names_are_accepted(name: str, values: dict[str, Any]) -> None:
    values["methods"][name] = values["methods"]["leace"]
    values["variants"]["ems"][name] = {}
    assert config.check(values).methods[name].architecture == "leace"


def test_an_entry_states_what_differs_from_the_one_it_extends(written: dict[str, Any]) -> None:
    written["encoders"] |= {
        "base": {"extends": "ems-mini", "steps": 7, "network": {"width": 64, "tokenizer": {"seed": 5}}},
        "top": {"extends": "base", "seed": 9},
        "other-start": {"extends": "base", "network": {"start": "encoder", "encoder": "ems-mini"}},
        "other-kind": {"extends": "base", "kind": "distillation", "teacher": "ems-mini"},
    }
    written["corpora"]["few"] = {"extends": "mini", "languages": {"qab": 10}}
    found = config.check(written)
    mini, base, top = (found.encoders[name].model_dump() for name in ("ems-mini", "base", "top"))
    assert (base["steps"], base["network"]["width"], base["network"]["tokenizer"]["seed"]) == (7, 64, 5)
    assert top == base | {"seed": 9}
    for node in (mini, base):
        del node["steps"], node["network"]["width"], node["network"]["tokenizer"]["seed"]
    assert mini == base
    # Another start has other settings; of another kind of encoder those are taken over that it has, too.
    assert found.encoders["other-start"].network.model_dump(exclude_defaults=True) == {
        "start": "encoder",
        "encoder": "ems-mini",
    }
    other = found.encoders["other-kind"].model_dump()
    assert (other["kind"], other["steps"], other["network"]) == ("distillation", 7, top["network"])
    assert "xtr_weight" not in other
    # Languages, pairs, terms and digests are one value.
    assert found.corpora["few"].languages == {"qab": 10}


def test_mappings_that_are_one_value_are_those_that_have_keys_of_their_own() -> None:
    definitions = config.Params.model_json_schema()["$defs"]
    open_keys = {
        name
        for definition in definitions.values()
        for name, node in definition["properties"].items()
        for one in node.get("anyOf", [node])
        if "additionalProperties" in one or "patternProperties" in one
    }
    assert open_keys == WHOLE


def test_a_preset_takes_over_another_one(written: dict[str, Any]) -> None:
    written["presets"]["mine"] = {"extends": "real-small", "splits": {"test": 0.5}, "encoders": ["ems-small"]}
    found = config.check(written).presets
    assert found["mine"] == found["real-small"].model_copy(
        update={
            "encoders": ["ems-small"],
            "splits": found["real-small"].splits.model_copy(update={"test": 0.5}),
        }
    )


def test_a_method_adds_terms_to_its_host_and_removes_some(written: dict[str, Any]) -> None:
    written["methods"] |= {
        "on-seed": {"host": "seed", "add": {"oracle.intra_class": 0.5, "seed.meaning": 2.0}},
        "like-seed": {"extends": "on-seed", "remove": ["seed.meaning", "seed.language"]},
        "own-terms": {"host": "meat", "terms": {"meat.language": 1.0}},
    }
    found = config.check(written).methods
    terms = found["seed"].terms
    assert found["on-seed"].terms == terms | {"seed.meaning": 2.0, "oracle.intra_class": 0.5}
    # The order of a sum decides its last bits.
    assert [*found["on-seed"].terms] == [*terms, "oracle.intra_class"]
    assert (found["on-seed"].host, found["on-seed"].partners) == ("seed", "same_language")
    left_out = {"seed.meaning", "seed.language"}
    assert found["like-seed"].terms == {
        name: weight for name, weight in found["on-seed"].terms.items() if name not in left_out
    }
    assert found["like-seed"].host is None
    assert (found["own-terms"].host, found["own-terms"].terms) == ("meat", {"meat.language": 1.0})


def test_complete_entries_are_left_as_they_are(values: dict[str, Any]) -> None:
    assert config.check(copy.deepcopy(values)).model_dump() == values


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A copy of params.yaml with the catalogue."""
    shutil.copy(PARAMS, tmp_path)
    shutil.copytree(ROOT / "catalogue", tmp_path / "catalogue")
    return tmp_path / "params.yaml"


def test_params_yaml_changes_entries_of_the_catalogue_and_adds_entries(own: Path) -> None:
    text = own.read_text().replace("encoders: {}", "encoders: {ems-mini: {network: {layers: 3}}}")
    text = text.replace("methods: {}", "methods: {mine: {host: seed, add: [orthogonality.abs]}}")
    own.write_text(text)
    found, before = config.load(own), config.load(PARAMS)
    changed = before.encoders["ems-mini"].model_dump()
    changed["network"]["layers"] = 3
    assert found.encoders["ems-mini"].model_dump() == changed
    # Entries that extend it follow.
    assert found.encoders["distilled-mini"].network.layers == 3
    assert found.methods["mine"].host == "seed"
    assert found.methods.keys() - before.methods.keys() == {"mine"}


def test_an_entry_of_another_kind_replaces_that_of_the_catalogue(own: Path) -> None:
    entry = "{kind: laser, checkpoint: here, licence: own}"
    own.write_text(own.read_text().replace("encoders: {}", f"encoders: {{sbert-paraphrase: {entry}}}"))
    assert config.load(own).encoders["sbert-paraphrase"].checkpoint == "here"


def test_overrides_replace_what_the_files_say(own: Path) -> None:
    found = config.load(
        own, {"loss": "seed", "presets": {"mini": {"seeds": [7]}}, "corpora": {"mini": {"seed": 3}}}
    )
    assert (found.loss, found.selected.seeds, found.corpora["mini"].seed) == ("seed", [7], 3)
    assert found.selected.methods == config.load(own).selected.methods
    with pytest.raises(ConfigError, match="unknown name 'sead'"):
        config.load(own, {"loss": "sead"})


@pytest.mark.parametrize(
    ("file", "override", "changed"),
    [
        ("params.yaml", "+encoders.ems-mini.network.layers=3", "encoders.ems-mini.network.layers=3"),
        ("catalogue/encoders.yaml", "ems-mini.network.layers=3", "encoders.ems-mini.network.layers=3"),
        ("params.yaml", "presets.mini.decomposition.learning_rate=0.002",
         "presets.mini.decomposition.learning_rate=0.002"),
        ("params.yaml", "++presets.opus-small.seeds=[5]", "presets.opus-small.seeds=[5]"),
        ("params.yaml", "loss=dream+oracle", "loss=dream+oracle"),
    ],
)  # fmt: skip
def test_values_that_dvc_writes_are_read(file: str, override: str, changed: str, own: Path) -> None:
    apply_overrides(own.parent / file, [override])
    dotted, _, value = changed.partition("=")
    found: Any = config.load(own).model_dump()
    for key in dotted.split("."):
        found = found[key]
    assert found == yaml.safe_load(value)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("catalogue/encoders.yaml", "  batch_size: 64", "  batch_size: 0", r"encoders\.sbert-distill\.batch_size: "),
        ("catalogue/encoders.yaml", "", "a: [1", ".*"),
        ("catalogue/methods.yaml", "", "\nseed: {}\n", ".*'seed' is there twice"),
        ("params.yaml", "encoders: {}", "encoders: {sbert-distill: {batchsize: 1}}",
         r"unknown key 'encoders\.sbert-distill\.batchsize'; nearest"),
        ("params.yaml", "encoders: {}", "encoders: {v1.2: {extends: ems-mini, batch_size: 0}}",
         r"encoders\.v1\.2\.batch_size: "),
        ("params.yaml", "encoders: {}", "encoders: [ems-mini]", "encoders: .*ems-mini"),
        ("params.yaml", "encoders: {}", "encoders: {receipt: {extends: ems-mini}}", "folders of the workflow's own"),
        ("catalogue/encoders.yaml", "", "\nx.partial: {extends: ems-mini}\n", "folders of the workflow's own"),
        ("params.yaml", "", "\nloss: seed\n", r".*'loss' is there twice.* line \d+"),
        ("params.yaml", "", "a: [1", ".*"),
        ("params.yaml", None, "- preset\n", "not a mapping"),
    ],
)  # fmt: skip
def test_an_error_names_the_file_that_has_the_entry(
    file: str, old: str | None, new: str, message: str, own: Path
) -> None:
    """The new text stands in the place of the old one, of all if that is None, or at the end if it is empty."""
    path = own.parent / file
    text = path.read_text()
    path.write_text(new if old is None else text.replace(old, new) if old else text + new)
    with pytest.raises(ConfigError, match=f"^{re.escape(str(path))}: .*{message}"):
        config.load(own)


def test_catalogue_comes_with_the_package_or_lies_next_to_the_file_that_is_named(tmp_path: Path) -> None:
    assert catalogue.shipped().samefile(PARAMS)
    assert catalogue.method("seed").architecture == "residual"
    with pytest.raises(
        ConfigError, match="method: unknown name 'sead'; nearest known: seed; known: centering, "
    ):
        catalogue.method("sead")
    text = PARAMS.read_text().replace("methods: {}", "methods: {mine: {architecture: original}}")
    (tmp_path / "own.yaml").write_text(text)
    assert catalogue.method("mine", tmp_path / "own.yaml").architecture == "original"
    assert catalogue.method("seed", tmp_path / "own.yaml").terms
    values = shipped_values()
    values["methods"]["seed"]["terms"]["seed.meaning"] = 3.0
    write_settings(values, tmp_path)
    assert catalogue.method("seed", tmp_path / "params.yaml").terms["seed.meaning"] == 3.0


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("params.yaml", "methods: {}", "methods: {seed: {learning_rat: 1.0}}",
         "methods.seed: unknown key 'learning_rat'; nearest known: learning_rate"),
        ("params.yaml", "methods: {}", "methods: {seed: {partners: none}}", "methods.seed: terms seed."),
        ("catalogue/methods.yaml", "lir: {architecture: lir, rank: 1}", "lir: {extends: lir}",
         "methods.lir: extends itself"),
    ],
)  # fmt: skip
def test_an_entry_read_alone_names_its_file_too(
    file: str, old: str, new: str, message: str, own: Path
) -> None:
    path = own.parent / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ConfigError, match=f"^{re.escape(str(path))}: {re.escape(message)}"):
        catalogue.method("seed", own)


SCHEMAS = {"params": json_schema.params_schema, "catalogue": json_schema.catalogue_schema}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_json_schemas_are_those_of_the_settings(name: str) -> None:
    """`orthoglot study schema NAME > schemas/NAME.schema.json` writes one anew."""
    assert json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text()) == SCHEMAS[name]()


def _schema_of(path: Path) -> tuple[str, Draft202012Validator]:
    """The schema that a YAML file names for editors."""
    found = re.match(r"# yaml-language-server: \$schema=(\S+)\n", path.read_text())
    assert found, path
    file, _, fragment = found[1].partition("#")
    contents = {
        other.resolve().as_uri(): json.loads(other.read_text())
        for other in (ROOT / "schemas").glob("*.schema.json")
    }
    resources = [(uri, Resource.from_contents(content | {"$id": uri})) for uri, content in contents.items()]
    uri = (path.parent / file).resolve().as_uri()
    assert uri in contents
    reference = {"$ref": f"{uri}#{fragment}" if fragment else uri}
    return uri, Draft202012Validator(reference, registry=Registry().with_resources(resources))


def _files() -> Iterator[Path]:
    yield PARAMS
    yield from sorted((ROOT / "catalogue").glob("*.yaml"))


@pytest.mark.parametrize("path", _files(), ids=lambda path: path.stem)
def test_editors_accept_the_files_and_see_a_misspelt_key(path: Path) -> None:
    _, validator = _schema_of(path)
    content = yaml.safe_load(path.read_text())
    assert not list(validator.iter_errors(content))
    if path.stem != "variants":
        entries = content["presets"] if path == PARAMS else content
        next(iter(entries.values()))["misspelt"] = 1
        assert list(validator.iter_errors(content))


def test_every_setting_is_described() -> None:
    plain = {"kind", "start"}
    for name, definition in config.Params.model_json_schema()["$defs"].items():
        missing = {key for key, node in definition["properties"].items() if "description" not in node} - plain
        assert not missing, f"{name}: {missing}"


def test_params_yaml_is_short() -> None:
    assert len(PARAMS.read_text().splitlines()) <= 190


@pytest.mark.parametrize(
    "page", ["README.md", "docs/configure.md", "docs/curation-engines.md", "docs/methods.md"]
)
def test_every_entry_that_the_documentation_shows_is_valid(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
        config.load(PARAMS, yaml.safe_load(block))


def test_a_variant_may_take_all_limits_away(values: dict[str, Any]) -> None:
    values["variants"]["emma-x"]["all-pairs"] = {"parallel": {"pairs": {}, "steps": 7}}
    params = config.check(values)
    ablation = next(one for one in params.selected.ablations if one.encoder == "emma-x-mini")
    found, base = (params.variant(ablation, name, seed=1) for name in ("all-pairs", "full"))
    assert base.parallel.pairs
    assert (found.parallel.pairs, found.parallel.steps) == ({}, 7)
    assert found.parallel.batch_size == base.parallel.batch_size


def test_a_value_that_grows_when_it_is_printed_is_not_printed_in_full(own: Path) -> None:
    values = yaml.safe_load(own.read_text())
    del values["loss"]
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    own.write_text(yaml.safe_dump(values) + "\n".join(levels) + "\nloss: *a8\n")
    with pytest.raises(ConfigError) as refused:
        config.load(own)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("keys", ["1 0x1", "1 1.0", "true yes", "~ null", "<< <<", "a 'a'"])
def test_keys_of_one_value_are_one_key_however_they_are_written(keys: str, tmp_path: Path) -> None:
    first, second = keys.split()
    path = tmp_path / "x.yaml"
    path.write_text(f"{first}: {{a: 1}}\n{second}: {{a: 2}}\n")
    with pytest.raises(ConfigError, match=r"x\.yaml: .* is there twice"):
        yaml_files.read(path)
    path.write_text(f"{first}: {{a: 1}}\nother: {{a: 2}}\n")
    assert len(yaml_files.read(path)) == 2
