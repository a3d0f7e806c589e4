"""Write the tables of README.md from the numbers that a run of the demo leaves.

    python measurements/demo/demo_page.py results/plots/corner.csv

keeps those that the page shows in measurements/demo/demo.csv; without an argument the tables are made of these.
`make demo-page` runs the demo first.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pandas as pd

PAGE = Path(__file__).resolve().with_name("README.md")
RECORD = "demo.csv"
REAL, INVENTED = ("me5-small-4bit",), ("ems-demo", "emma-x-demo")
NAMES = {
    "centering": "centering",
    "procrustes": "Procrustes",
    "plda": "plda (ours)",
    "meat": "MEAT",
    "meat-centred": "MEAT, centred",
    "oracle": "ORACLE",
    "seed": "SEED",
}
HELD_OUT, TATOEBA, STS = "heldout", "tatoeba/mini-tatoeba", "sts/mini-sts/spearman"
NUMBERS = [f"{view}{end}" for view in ("meaning", "language") for end in ("", "_low", "_high")]


def shown(numbers: pd.DataFrame) -> pd.DataFrame:
    """The rows and columns that are kept."""
    kept = numbers["task"].isin([HELD_OUT, TATOEBA, STS]) & numbers["method"].isin(NAMES)
    return numbers.loc[kept, ["encoder", "task", "method", *NUMBERS, "sentence"]].reset_index(drop=True)


def tables(numbers: pd.DataFrame) -> dict[str, str]:
    """Each table in Markdown, by the name of its place in the page."""
    by_name = numbers.set_index(["encoder", "task", "method"])
    if absent := {*REAL, *INVENTED} - {*numbers["encoder"]}:
        raise SystemExit(f"no numbers of {', '.join(sorted(absent))}: is this a run of the whole demo?")

    def cell(encoder: str, task: str, method: str, view: str) -> str:
        if (encoder, task, method) not in by_name.index:
            return "–"
        value, low, high = by_name.loc[(encoder, task, method), [view, f"{view}_low", f"{view}_high"]]
        return f"{value:.1f} [{low:.1f}, {high:.1f}]"

    def rows(encoder: str, columns: dict[str, tuple[str, str]]) -> list[list[str]]:
        undivided = {task: by_name.loc[(encoder, task), "sentence"].iloc[0] for task, _ in columns.values()}
        whole = [f"{undivided[task]:.1f}" if view == "meaning" else "–" for task, view in columns.values()]
        return [
            ["undivided", *whole],
            *(
                [name, *(cell(encoder, *column) for column in _of(method, columns))]
                for method, name in NAMES.items()
            ),
        ]

    software = {"meaning ↑": (HELD_OUT, "meaning"), "language ↓": (HELD_OUT, "language")}
    invented = {
        "held-out: meaning ↑": (HELD_OUT, "meaning"),
        "held-out: language ↓": (HELD_OUT, "language"),
        "Tatoeba-like: meaning ↑": (TATOEBA, "meaning"),
    }
    return {
        name: _markdown(
            ["Encoder", "Method", *columns],
            [[encoder, *row] for encoder in encoders for row in rows(encoder, columns)],
        )
        for name, encoders, columns in (("software", REAL, software), ("invented", INVENTED, invented))
    }


def _of(method: str, columns: dict[str, tuple[str, str]]) -> list[tuple[str, str, str]]:
    return [(task, method, view) for task, view in columns.values()]


def _markdown(heading: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in [heading, ["---"] * len(heading), *rows])


def write(numbers: Path, page: Path) -> None:
    """Keep the numbers beside the page, and put the tables between the page's marks."""
    found = shown(pd.read_csv(numbers))
    found.to_csv(page.with_name(RECORD), index=False)
    text = page.read_text(encoding="utf-8")
    for name, table in tables(found).items():
        begin, end = f"<!-- table: {name} -->\n", "<!-- end -->"
        text, places = re.subn(f"{begin}.*?{end}", begin + table + end, text, flags=re.DOTALL)
        if places != 1:
            raise SystemExit(f"{page}: has {places} places for the table {name}, not one")
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Read the command line, write the page and its numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("numbers", type=Path, nargs="?", default=PAGE.with_name(RECORD))
    write(parser.parse_args().numbers, PAGE)


if __name__ == "__main__":
    main()
