"""Parameters that came later than a pickle."""

from inspect import signature


class LaterDefaults:
    """Gives the parameters that a pickle of an earlier version lacks their defaults."""

    def __setstate__(self, state):
        defaults = {
            parameter.name: parameter.default
            for parameter in signature(type(self)).parameters.values()
            if parameter.default is not parameter.empty
        }
        super().__setstate__({**defaults, **state})
