#!/bin/sh
# The steps that both images share: Debian's Python, this package with the versions of constraints.txt, in /opt/orthoglot.
# TORCH is the index that PyTorch comes from, EXTRAS are extras of pyproject.toml.
set -eu
apt-get update
apt-get install --yes --no-install-recommends python3-venv
rm -r /var/lib/apt/lists/*
python3 -m venv /opt/orthoglot
cd "$(dirname "$0")"
pip="/opt/orthoglot/bin/pip install --no-cache-dir -c constraints.txt"
$pip --no-deps --index-url "$TORCH" torch
$pip ".[$EXTRAS]"
