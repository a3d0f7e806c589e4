"""The training loop, and the decomposers that it trains.

`PARTNER_RULES` maps a rule's name to "module:function" of this room, so that names can be checked without loading
PyTorch.
"""

PARTNER_RULES: dict[str, str] = {
    "none": "partners:no_partners",
    "dream": "partners:dream",
    "half_batch": "partners:half_batch",
    "same_language": "partners:seed",
}
