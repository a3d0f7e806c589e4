"""Loss terms by name, one paper per file.

`TERMS` maps a term's name to "module:attribute" of this room, so that names can be checked without loading PyTorch;
`orthoglot.objectives.base.Objective` resolves them.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from orthoglot.decomposers import architecture, names
from orthoglot.decomposers.base import Trained
from orthoglot.errors import ConfigError

TERMS: dict[str, str] = {
    "dream.reconstruction": "dream:reconstruction",
    "dream.meaning": "dream:meaning",
    "dream.language": "dream:language",
    "dream.identification": "dream:Identification",
    "meat.reconstruction": "meat:reconstruction",
    "meat.cross_reconstruction": "meat:cross_reconstruction",
    "meat.language": "meat:language",
    "meat.adversarial": "meat:Adversarial",
    "oracle.intra_class": "oracle:intra_class",
    "oracle.intra_class_all": "oracle:intra_class_all",
    "oracle.intra_class_released": "oracle:intra_class_released",
    "oracle.inter_class": "oracle:inter_class",
    "oracle.inter_class_released": "oracle:inter_class_released",
    "oracle.inter_class_abs": "oracle:inter_class_abs",
    "oracle.inter_class_main": "oracle:inter_class_main",
    "oracle.inter_class_old": "oracle:inter_class_old",
    "oracle.alignment": "oracle:alignment",
    "langsae.reconstruction": "langsae:reconstruction",
    "lancer.correlation": "lancer:correlation",
    "orthogonality.abs": "orthogonality:absolute",
    "orthogonality.square": "orthogonality:square",
    "seed.meaning": "seed:meaning",
    "seed.language": "seed:language",
    "seed.separation": "seed:separation",
    "seed.language_swap": "seed:language_swap",
    "seed.meaning_swap": "seed:meaning_swap",
}
# Terms against an opponent that is trained as well: when it gains, they rise, however good the maps are.
ADVERSARIAL = frozenset({"meat.adversarial"})
NEEDS_PARTNERS = frozenset(
    {"dream.meaning", "dream.language", "seed.meaning", "seed.language", "seed.language_swap"}
)


def is_trained(name: str) -> bool:
    """Whether gradient descent fits this architecture; `original` and the closed forms are not trained."""
    return name in names() and isinstance(architecture(name), Trained)


def check_method(kind: str, partners: str, terms: Mapping[str, float]) -> None:
    """Refuse combinations without a meaning. A listed term counts whatever its weight, as it is computed.

    Args:
        kind: The architecture; one that is not trained takes neither terms nor partners.
        partners: Name of the partner rule; `none` gives no partners.
        terms: Weight by term name.
    Raises:
        ConfigError: Names the combination; for an unknown term the known names, nearest first.
    """
    for name in terms:
        if name not in TERMS:
            near = difflib.get_close_matches(name, TERMS, n=len(TERMS), cutoff=0.0)
            raise ConfigError(f"term {name!r} is unknown; known: {', '.join(near)}")
    if not is_trained(kind):
        if terms or partners != "none":
            raise ConfigError(f"architecture {kind!r} is not trained: it takes no terms, no partners")
        return
    if not any(weight > 0 for weight in terms.values()):
        raise ConfigError(f"architecture {kind!r} is trained: it needs a term with a weight above 0")
    using = sorted(NEEDS_PARTNERS & set(terms))
    if using and partners == "none":
        raise ConfigError(f"terms {', '.join(using)} need partners, but the partner rule is 'none'")
    if not using and partners != "none":
        raise ConfigError(
            f"partner rule {partners!r} serves no term: none of {', '.join(terms)} uses partners"
        )
