"""Numbers of equations are those that the papers print: in docstrings, on docs/papers.md, and in the papers' text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
# Beside the project where it is developed.
PAPERS = ROOT.parent / "shared/papers"
# What stands in the line of an equation of each paper, as its HTML or its scan has it.
PRINTED = {
    "EMS": {
        1: "sum_{i}{\\mathbf{h}_{i}}",
        2: "\\mathbf{u}_{la}",
        3: "\\mathbf{v}_{la}",
        4: "\\mathbf{u}_{la}\\oplus",
        5: "\\mathbf{v}_{la}\\oplus",
        6: "",
        7: "N_{w}",
        8: "L}_{cntrs}",
        9: "mathrm{sim}(S_{l}",
        10: "sigma_{cntrs}(\\mathbf{W}_{2}\\mathbf{u}",
        11: "sigma_{cntrs}(\\mathbf{W}_{2}\\mathbf{%",
        12: "L}_{XTR}",
    },
    "Emma-X": {
        2: "mathbf{CTL}",
        3: "(1-\\lambda)",
        4: "mathbf{MLE}",
        5: "\\frac{\\pi_{r}",
        6: "mathbf{MLE}}(\\mathcal{X}",
        7: "mathbf{CTL}}(\\mathcal{X}",
        8: "leftarrow\\Theta_{\\mathcal{G}}",
        9: "argmax",
        10: "argmin",
        11: "\\epsilon\\cdot s_{r}",
        19: "diag}(\\sigma_{r}",
    },
    "ORACLE": {5: "mathrm{IC}", 6: "mathrm{IS}", 7: "mathrm{ORACLE}"},
    "SEED": {1: "mathrm{MLP}", 2: "\\hat{\\boldsymbol{e}}_L", 3: "L_M + L_L + L_C", 4: "", 5: "L_L =", 6: ""},
}
FILES = {"EMS": "ems.txt", "Emma-X": "emma-x.txt", "ORACLE": "oracle.txt", "SEED": "seed.txt"}
CITED = re.compile(
    rf"({'|'.join(PRINTED)}) Eqs?\. ([\d, abc]+(?:(?:and|to) \d+[abc]?)*(?:[ ,]*and \d+(?: to \d+)?)?)[^#]{{0,60}}?"
    r"docs/papers\.md#([\w-]+)"
)


def numbers(text: str) -> set[int]:
    """The numbers of "6, 7 and 9 to 11"."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)[abc]?(?: to (\d+))?", text):
        found.update(range(int(first), int(last or first) + 1))
    return found


def cited() -> list[tuple[str, str, str, str]]:
    """File, paper, numbers and anchor of each citation in a docstring."""
    return [
        (str(path.relative_to(ROOT)), *found)
        for path in sorted((ROOT / "src").rglob("*.py"))
        for found in CITED.findall(re.sub(r"\s+", " ", path.read_text(encoding="utf-8")))
    ]


def stated(anchor: str) -> set[int]:
    """The numbers that the page has beside an anchor, up to the next one."""
    text = PAGE[PAGE.index(f'<a id="{anchor}"></a>') + len(anchor) + 13 :].split('<a id="', 1)[0]
    found = re.search(r"\(Eqs?\. ([^)]+)\)", text.split("\n\n", 1)[0])
    if found:
        return numbers(found[1])
    return {
        int(one)
        for label in re.findall(r"\\text\{([^}]*)\}", text)
        for one in re.findall(r"\((\d+)\)", label)
    }


def test_docstrings_and_the_page_have_the_same_numbers() -> None:
    citations = cited()
    assert len(citations) >= 20
    assert {paper for _, paper, *_ in citations} == {*PRINTED}
    for file, paper, said, anchor in citations:
        wanted = numbers(said)
        assert wanted <= {*PRINTED[paper]}, (file, paper, said)
        if "phase" in anchor:  # of many equations
            continue
        own = re.search(r"-(\d+)[abc]?$", anchor)
        assert wanted & ({int(own[1])} if own else stated(anchor)), (file, anchor, said)


def test_numbers_on_the_page_are_printed_ones() -> None:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    for paper in ("EMS", "Emma-X"):
        [text] = [section for section in sections if section.startswith(f"{paper}\n")]
        found = [numbers(some) for some in re.findall(r"\(Eqs?\. ([^)]+)\)", text)]
        assert len(found) >= 7
        assert set().union(*found) <= {*PRINTED[paper]}


@pytest.mark.parametrize("paper", PRINTED)
def test_the_papers_print_them(paper: str) -> None:
    path = PAPERS / FILES[paper]
    if not path.is_file():
        pytest.skip(f"the paper's text is not beside the project: {path.name}")
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, fragment in PRINTED[paper].items():
        # The number stands behind its equation, or on the line below.
        ends = [
            row for row, line in enumerate(lines) if re.search(rf"(?<!\d)\({number}\)(?:\}}?\$*)?\s*$", line)
        ]
        tagged = [row for row, line in enumerate(lines) if f"\\tag{{{number}}}" in line]
        assert ends or tagged, (paper, number)
        near = [" ".join(lines[max(0, row - 3) : row + 1]) for row in ends + tagged]
        assert any(fragment in text for text in near), (paper, number, fragment)
