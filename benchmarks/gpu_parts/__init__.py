"""The parts of benchmarks/gpu.py: a module each, with a function `measure`."""

# Title by name; a name is that of the module, with a hyphen for an underscore.
PARTS = {
    "same-results": "The same results as on a CPU",
    "decomposers": "Decomposers at paper size",
    "encoders": "EMS and Emma-X at paper size",
    "encoding": "Encoding",
    "search": "Search",
    "workflow": "The workflow",
}
