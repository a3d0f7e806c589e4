"""A method's own settings: needed where the formula has them, refused where they would do nothing."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from orthoglot.decomposers import architecture, names
from orthoglot.decomposers.base import ClosedForm
from orthoglot.objectives import is_trained
from orthoglot.training import PARTNER_RULES, partners
from orthoglot.training.settings import MethodSettings

TRAINED: dict[str, Any] = {"architecture": "residual", "terms": {"seed.meaning": 1.0}}
SPARSE: dict[str, Any] = {
    **{"architecture": "sparse_autoencoder", "terms": {"langsae.reconstruction": 1.0}},
    **{"expansion": 2, "active": 2, "firing": 0.9},
}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"architecture": "lir"}, r"rank\n.*required"),
        ({"architecture": "lsar"}, r"rank\n.*required"),
        ({"architecture": "whitening"}, r"shrinkage\n.*required"),
        ({"architecture": "leace", "rank": 1}, "rank does nothing with architecture 'leace'"),
        (
            {"architecture": "lir", "rank": 1, "shrinkage": 0.1},
            "shrinkage does nothing with architecture 'lir'",
        ),
        ({"architecture": "two_head", "terms": {"meat.language": 1}, "rank": 1}, "rank does nothing"),
        ({"architecture": "original", "shrinkage": 0.0}, "shrinkage does nothing"),
        ({"architecture": "centering", "centre": "overall"}, "centre does nothing"),
        ({"architecture": "plda", "rank": 2}, "rank does nothing"),
        ({"architecture": "plda", "shrinkage": 1.0}, "less than 1"),
        ({"architecture": "plda", "centre": "overall"}, "centre does nothing"),
        ({"architecture": "original", "centre": "overall"}, "centre does nothing"),
        ({"architecture": "plda", "learning_rate": 1e-5}, "learning_rate does nothing"),
        ({"architecture": "original", "max_epochs": 10}, "max_epochs does nothing"),
        ({"architecture": "lir", "rank": 0}, "greater than"),
        (SPARSE | {"expansion": 0}, r"expansion\n.*greater than"),
        (SPARSE | {"active": 0}, r"active\n.*greater than"),
        (SPARSE | {"firing": 0}, r"firing\n.*greater than"),
        (SPARSE | {"firing": 1.1}, r"firing\n.*less than"),
        (SPARSE | {"active": None}, r"active\n.*valid integer"),
        (TRAINED | {"expansion": 2}, "expansion does nothing"),
        (TRAINED | {"architecture": "both_heads"}, "'both_heads' is unknown; known: .*residual"),
        (TRAINED | {"partners": "both_heads"}, "'both_heads' is unknown; known: .*dream"),
        ({"architecture": "centering", "stopping": "retrieval"}, "stopping does nothing"),
        ({"architecture": "plda", "stopping": "retrieval"}, "stopping does nothing"),
        ({"architecture": "original", "stopping": "retrieval"}, "stopping does nothing"),
        ({"architecture": "whitening", "shrinkage": 1.1}, "less than or equal to 1"),
        ({"architecture": "whitening", "shrinkage": -0.1}, "greater than or equal to 0"),
    ],
)
def test_a_setting_is_given_exactly_where_it_does_something(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MethodSettings.model_validate(values)


def test_own_settings_are_what_the_formula_takes() -> None:
    assert MethodSettings.model_validate({"architecture": "lir", "rank": 3}).own_settings == {"rank": 3}
    assert MethodSettings.model_validate({"architecture": "whitening", "shrinkage": 0.0}).own_settings == {
        "shrinkage": 0.0
    }
    assert MethodSettings.model_validate({"architecture": "leace"}).own_settings == {}


def test_settings_that_held_out_pairs_choose_may_be_left_out() -> None:
    for given in ({"shrinkage": 0.5}, {}):
        method = MethodSettings.model_validate({"architecture": "plda", **given})
        assert method.own_settings == given
        # Training pairs choose them, each held out once.
        assert not method.uses_validation
    assert not MethodSettings.model_validate({"architecture": "whitening", "shrinkage": 0.0}).uses_validation
    assert not MethodSettings.model_validate({"architecture": "original"}).uses_validation
    assert MethodSettings.model_validate(TRAINED).uses_validation


def test_which_methods_have_weights_for_each_language() -> None:
    for centre, expected in ((None, False), ("none", False), ("overall", False), ("language", True)):
        assert MethodSettings.model_validate({**TRAINED, "centre": centre}).by_language == expected
    assert MethodSettings.model_validate({"architecture": "centering"}).by_language
    assert not MethodSettings.model_validate({"architecture": "leace"}).by_language
    assert not MethodSettings.model_validate({"architecture": "original"}).by_language


def test_the_registries_are_what_the_schema_lists_and_every_entry_exists() -> None:
    known = MethodSettings.model_json_schema()["properties"]
    assert known["architecture"]["enum"] == ["original", *names()]
    assert known["partners"]["enum"] == list(PARTNER_RULES)
    for name in names():
        assert is_trained(name) != isinstance(architecture(name), ClosedForm)
    assert not is_trained("original")
    assert all(callable(getattr(partners, rule.removeprefix("partners:"))) for rule in PARTNER_RULES.values())
