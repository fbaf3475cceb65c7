"""Pickles tell which version they are of."""

import warnings

from sklearn.exceptions import InconsistentVersionWarning

from skembed.core import LaterDefaults, __version__

STAMP = "_skembed_version"


class OtherVersionWarning(InconsistentVersionWarning):
    """An estimator was pickled by another version of skembed."""

    def __str__(self):
        return (
            f"This {self.estimator_name} was pickled by skembed "
            f"{self.original_sklearn_version}, and is loaded by {self.current_sklearn_version}. "
            "What is missing in it gets its default; whether it predicts as before was tested for "
            "released versions only. Pickle it anew, or fit it anew."
        )


def major(version):
    """Return the number in front of the first point of a version."""
    return int(version.partition(".")[0])


class Stamped(LaterDefaults):
    """Puts the version of skembed into pickles, and looks at it in those that are loaded."""

    def __getstate__(self):
        return {**super().__getstate__(), STAMP: __version__}

    def __setstate__(self, state):
        state = dict(state)
        name, version = type(self).__name__, state.pop(STAMP, "before 0.1")
        if version != __version__:
            if version[0].isdigit() and major(version) > major(__version__):
                raise ValueError(
                    f"This {name} was pickled by skembed {version}, which {__version__} cannot "
                    "read. Upgrade skembed."
                )
            warnings.warn(
                OtherVersionWarning(
                    estimator_name=name,
                    current_sklearn_version=__version__,
                    original_sklearn_version=version,
                ),
                stacklevel=2,
            )
        super().__setstate__(state)
