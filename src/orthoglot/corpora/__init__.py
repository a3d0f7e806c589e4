"""Text: where it comes from, how it is cleaned, how it is split."""
