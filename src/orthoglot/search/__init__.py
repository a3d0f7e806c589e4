"""Nearest neighbours: exact or in cells of k-means, and the margins of cosines by which pairs are mined."""
