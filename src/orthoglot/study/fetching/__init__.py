"""OPUS: what it holds, under which licence, and how its archives are fetched."""
