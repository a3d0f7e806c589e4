"""Greek in Latin letters: worked answers."""

from __future__ import annotations

import pytest

from orthoglot.encoders.greek_to_latin import romanised


@pytest.mark.parametrize(
    ("text", "latin"),
    [
        ("Θέλω ψωμί και χυμό", "Thelo psomi kai chumo"),
        ("η ώρα της μπάλας", "i ora tis balas"),
        ("Αθήνα, Ελλάδα", "Athina, Ellada"),
        # Groups of letters come before letters, γκ before γγ, and an accent hides a group.
        ("ουρανός ούτε", "oyranos oyte"),
        ("ευχή εύκολα", "euchi eykola"),
        ("άγγελος γγκ γξ", "angelos ggk gch"),
        ("Υγεία υιός", "Ugeia uios"),
        # A capital letter with an accent stays.
        ("Έλα Όχι", "Έla Όchi"),
        ("cat 5 кот", "cat 5 кот"),
    ],
)
def test_worked_answers(text: str, latin: str) -> None:
    assert romanised(text) == latin
