"""Every trained method of params.yaml: its terms are built and one step down their gradient lowers their sum."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from cases import Case, Side, case_of

from orthoglot import catalogue
from orthoglot.decomposers.base import Decomposition
from orthoglot.decomposers.modules import Maps
from orthoglot.objectives.base import Objective
from orthoglot.random_streams import stream
from orthoglot.study import config

METHODS = config.load(catalogue.shipped()).methods
TRAINED = [name for name, method in METHODS.items() if method.terms]
B, D, K = 12, 6, 3


def batch(maps: Maps) -> Case:
    """The pairs of a small batch; language ids repeat every third row, so every fourth row is a fit peer."""
    generator = stream(5, "batch")
    sides = []
    for k in range(2):
        sentence = torch.randn(B, D, generator=generator, dtype=torch.float64)
        ids = (torch.arange(B) * (k + 1)) % K
        following = (torch.arange(B) + K) % B
        parts: Decomposition = maps(sentence)
        sides.append(Side(parts, ids, following, following))
    return case_of(sides[0], sides[1], torch.ones(B, dtype=torch.bool), K)


@pytest.mark.parametrize("name", TRAINED)
def test_one_step_lowers_the_total(name: str) -> None:
    method = METHODS[name]
    maps = Maps(method.architecture, D, stream(1, "maps"), **method.own_settings).double()
    objective = Objective(method.terms, dim=D, n_languages=K, generator=stream(1, "heads")).double()
    for adversary in objective.adversaries():
        adversary.discriminate(batch(maps)).backward()
        assert all(parameter.grad is None for parameter in maps.parameters())
    values = objective(batch(maps))
    assert set(values) == {*method.terms, "total"}
    values["total"].backward()
    with torch.no_grad():
        for parameter in (*maps.parameters(), *objective.heads()):
            parameter -= 1e-4 * parameter.grad
    assert objective(batch(maps))["total"] < values["total"]


def test_the_hosts_have_every_reading_and_the_ablations_lack_what_their_names_say() -> None:
    for host in ("dream", "meat", "seed"):
        own = METHODS[host].terms
        for suffix, added in {
            "+oracle": {"oracle.intra_class", "oracle.inter_class"},
            "+oracle-released": {"oracle.intra_class_released", "oracle.inter_class_released"},
            "+abs": {"oracle.intra_class", "orthogonality.abs"},
            "+square": {"oracle.intra_class", "orthogonality.square"},
        }.items():
            assert METHODS[host + suffix].terms == own | dict.fromkeys(added, 1.0)
    for host in ("dream", "meat"):
        for reading in ("", "-released"):
            full = METHODS[f"{host}+oracle{reading}"]
            for part, lost in {"ic": "oracle.intra_class", "is": "oracle.inter_class"}.items():
                ablated = METHODS[f"{host}+oracle{reading}-without-{part}"]
                assert full.terms.keys() - ablated.terms.keys() == {lost + reading.replace("-", "_")}
                alike = {"terms": {}, "host": None}
                assert full.model_copy(update=alike) == ablated.model_copy(update=alike)
    for part, lost in {
        "meaning": {"seed.meaning"},
        "language": {"seed.language"},
        "consistency": {"seed.separation", "seed.language_swap", "seed.meaning_swap"},
    }.items():
        assert METHODS["seed"].terms.keys() - METHODS[f"seed-without-{part}"].terms.keys() == lost


def test_terms_within_a_part_and_across_both_divide_those_of_seed() -> None:
    intra, inter = (
        {"seed.meaning", "seed.language"},
        {"seed.separation", "seed.language_swap", "seed.meaning_swap"},
    )
    assert METHODS["seed-without-consistency"].terms.keys() == intra
    assert METHODS["seed-inter"].terms.keys() == inter
    assert METHODS["seed"].terms.keys() == intra | inter
    assert METHODS["two-maps-intra"].terms.keys() == intra
    assert METHODS["two-maps-inter"].terms.keys() == inter | {"meat.reconstruction"}
    assert METHODS["two-maps-both"].terms == METHODS["two-maps-intra"].terms | METHODS["two-maps-inter"].terms


def test_added_terms_are_compared_with_the_host_that_has_the_same_partners() -> None:
    hosts = {name: method.host for name, method in METHODS.items() if method.host}
    assert hosts == {
        "dream+oracle": "dream",
        "dream+oracle-released": "dream-released",
        "dream+oracle-recipe": "dream-recipe",
        "meat+oracle": "meat",
        "meat+oracle-released": "meat",
        "meat+oracle-recipe": "meat-recipe",
        "seed+oracle": "seed",
        "seed+oracle-released": "seed",
        "meat+oracle-centred": "meat-centred",
        "seed+oracle-centred": "seed-centred",
        "seed+lancer": "seed",
    }
    for name, host in hosts.items():
        assert METHODS[name].partners == METHODS[host].partners
        assert METHODS[name].terms.items() > METHODS[host].terms.items()


def test_the_centred_methods_differ_by_the_mean_alone() -> None:
    names = [name for name in METHODS if name.endswith("-centred")]
    assert len(names) == 6
    for name in names:
        plain = METHODS[name.removesuffix("-centred")]
        assert METHODS[name] == plain.model_copy(update={"centre": "overall", "host": METHODS[name].host})


def test_the_table_of_methods_names_the_whole_catalogue_and_nothing_else() -> None:
    text = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.split("## Other")[0].splitlines() if line.startswith("| ")][
        1:
    ]
    named: set[str] = set()
    for cell in rows:
        for host, name in re.findall(r"(HOST)?`([^`]+)`", cell):
            hosts = ["dream", "meat"] if "-without-" in name else ["dream", "meat", "seed"]
            named.update(f"{one}{name}" for one in hosts) if host else named.add(name)
    assert named == set(METHODS)
