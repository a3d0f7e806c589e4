"""Training text: how it is cleaned, split and written."""
