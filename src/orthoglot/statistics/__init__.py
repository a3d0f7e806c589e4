"""Make records of scores of items: means, intervals, paired tests and comparisons."""
