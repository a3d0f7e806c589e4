"""Why a command stops; each carries a one-line cause for the user."""


class ConfigError(ValueError):
    """A setting, name or option is wrong: nothing has been read or computed yet."""


class DataError(ValueError):
    """A file, archive, vector store or number is not what it must be."""


class OfflineError(RuntimeError):
    """A needed file is neither here nor reachable."""
