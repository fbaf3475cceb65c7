"""The version of the package, which files and pickles are stamped with."""

__version__ = "0.1.0.dev0"
