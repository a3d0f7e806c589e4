"""The parts of measurements/gpu/gpu.py: a module each, with a function `measure`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# The package as it is here, the straightforward loop, the plan of the workflow.
for _folder in ("workflow", "tests/support", "measurements/speed-of-pretraining", "measurements/gpu", "src"):
    sys.path.insert(0, str(ROOT / _folder))

# cuBLAS repeats its bits only with a workspace of fixed size, and reads this when it is first used.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

# Title by name; a name is that of the module, with a hyphen for an underscore.
PARTS = {
    "same-results": "The same results as on a CPU",
    "decomposers": "Decomposers at paper size",
    "encoders": "EMS and Emma-X at paper size",
    "encoding": "Encoding",
    "search": "Search",
    "workflow": "The workflow",
}
