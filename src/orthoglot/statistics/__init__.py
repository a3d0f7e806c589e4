"""From scores of items to records: means, intervals, paired tests and comparisons."""
