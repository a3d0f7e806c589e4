"""The pictures of docs/gallery.md: `python docs/gallery.py results/report.html`, of the preset mini.

Needs Chromium. Text of a report is under the licences of its corpora; mini's is invented.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image, ImageChops

FOLDER = Path(__file__).with_name("gallery")
WIDTH = 1100
TALLEST = 6000
# What of the report each picture shows: parts of it, and what of these parts.
PICTURES = {
    "answer": ("h1, ul, #answer", "*"),
    "languages": ("#task1", "h3, div:has(.heat)"),
    "intervals": ("#task1", "details:nth-of-type(1)"),
    "comparisons": ("#task1", "details:nth-of-type(2)"),
    "training": ("#training", "*"),
    "emma-x": ("#emma-x", "*"),
    "maps": ("#maps", "h2, p, details:nth-of-type(1)"),
    "run": ("#run", "*"),
}


def picture(report: str, name: str, parts: str, shown: str, chromium: str) -> None:
    """Draw the parts of the report that the selectors name, and nothing else."""
    hidden = f"main > :not({parts}), main > section > :not({shown})"
    style = f"<style>{hidden} {{ display: none !important; }}</style>"
    with TemporaryDirectory() as folder:
        page, drawn = Path(folder, "page.html"), Path(folder, "page.png")
        page.write_text(report.replace("</head>", f"{style}</head>").replace("<details", "<details open"))
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={WIDTH},{TALLEST}"]
        subprocess.run(
            [chromium, *options, f"--screenshot={drawn}", page.as_uri()], check=True, capture_output=True
        )
        image = Image.open(drawn).convert("RGB")
    ground = Image.new("RGB", image.size, image.getpixel((0, image.height - 1)))
    box = ImageChops.difference(image, ground).getbbox()
    if box is None:
        sys.exit(f"the report has nothing of {parts}, {shown}")
    image.crop((0, max(box[1] - 12, 0), WIDTH, box[3] + 12)).quantize(255, Image.Quantize.MAXCOVERAGE).save(
        FOLDER / f"{name}.png", optimize=True
    )


if __name__ == "__main__":
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if len(sys.argv) != 2 or not browser:
        sys.exit("usage: gallery.py REPORT.html, with Chromium installed")
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    for title, selectors in PICTURES.items():
        picture(text, title, *selectors, browser)
