"""The parts of benchmarks/gpu.py: a module each, with a function `measure`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The package as it is here, the straightforward loop, the plan of the workflow.
for _folder in ("workflow", "tests/support", "benchmarks", "src"):
    sys.path.insert(0, str(ROOT / _folder))

# Title by name; a name is that of the module, with a hyphen for an underscore.
PARTS = {
    "same-results": "The same results as on a CPU",
    "decomposers": "Decomposers at paper size",
    "encoders": "EMS and Emma-X at paper size",
    "encoding": "Encoding",
    "search": "Search",
    "workflow": "The workflow",
}
