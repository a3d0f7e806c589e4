"""Text on disk: lines, rows and pairs of sentences, their keys, hashes and splits."""
