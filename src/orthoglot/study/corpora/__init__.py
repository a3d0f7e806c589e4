"""Entries of `corpora` in the catalogue: what each says about itself, and the forms that only the study reads."""
