"""Test sets: the settings of each kind, and its files brought into one layout."""
