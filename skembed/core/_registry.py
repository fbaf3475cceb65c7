"""Name to class, with one good error message."""


class Registry(dict):
    """Classes by name.

    Parameters
    ----------
    kind : str
        What the classes are, for the error message ("solver", "loss", ...).
    """

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def register(self, name):
        """Return a class decorator that files the class under `name`."""

        def add(cls):
            self[name] = cls
            return cls

        return add

    def resolve(self, spec):
        """Return an instance: of the named class with default parameters, or `spec` itself."""
        if not isinstance(spec, str):
            return spec
        if spec not in self:
            raise ValueError(f"Unknown {self.kind} {spec!r}. Known: {sorted(self)}.")
        return self[spec]()
