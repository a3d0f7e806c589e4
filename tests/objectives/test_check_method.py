"""Which methods are refused before anything is loaded or trained."""

from __future__ import annotations

import subprocess
import sys

import pytest
from shipped_settings import shipped_values

from orthoglot.errors import ConfigError
from orthoglot.objectives import check_method

METHODS = shipped_values()["methods"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_the_catalogue_is_accepted(name: str) -> None:
    method = METHODS[name]
    check_method(method["architecture"], method["partners"], method["terms"])


@pytest.mark.parametrize(
    ("architecture", "partners", "terms", "message"),
    [
        (
            "residual",
            "same_language",
            {"seed.meanin": 1.0},
            r"'seed.meanin' is unknown; known: seed\.meaning.*dream\.meaning",
        ),
        ("original", "none", {"oracle.alignment": 1.0}, "'original' is not trained: it takes no terms"),
        ("centering", "dream", {}, "'centering' is not trained: .* no partners"),
        ("leace", "none", {"orthogonality.abs": 1.0}, "'leace' is not trained: it takes no terms"),
        ("two_head", "none", {}, "'two_head' is trained: it needs a term"),
        ("residual", "dream", {"dream.meaning": 0.0}, "'residual' is trained: .* weight above 0"),
        (
            "two_head",
            "none",
            {"dream.meaning": 1.0, "dream.language": 0.0, "oracle.alignment": 1.0},
            "terms dream.language, dream.meaning need partners",
        ),
        (
            "two_head",
            "half_batch",
            {"meat.language": 1.0},
            "'half_batch' serves no term: none of meat.language",
        ),
    ],
)
def test_combinations_that_mean_nothing_are_refused(
    architecture: str, partners: str, terms: dict[str, float], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        check_method(architecture, partners, terms)


def test_a_weight_of_zero_switches_one_term_off_and_leaves_the_method_valid() -> None:
    check_method("two_head", "dream", {"dream.meaning": 0.0, "dream.reconstruction": 1.0})


def test_checking_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from orthoglot.objectives import check_method\n"
        "check_method('two_head', 'none', {'oracle.alignment': 1.0})\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
