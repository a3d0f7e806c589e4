"""The training loop, and the decomposers that it trains.

`PARTNER_RULES` maps a rule's name to a function of `orthoglot.training.partners`, so that names can be checked without
loading PyTorch.
"""

PARTNER_RULES: dict[str, str] = {
    "none": "no_partners",
    "dream": "dream",
    "half_batch": "half_batch",
    "same_language": "seed",
}
