"""The training loop, and the decomposers that it trains."""
