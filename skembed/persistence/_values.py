"""Plain values as JSON and arrays, by a closed list of kinds.

JSON has null, true, false, strings, integers, finite floats and lists. All else is an object with
one member, whose name says what it is: tuples, dicts, floats that are not finite, dtypes, arrays,
arrays of strings, and objects of classes that the caller knows.
"""

import json
import math
from numbers import Integral, Real

import numpy as np

from ._tensors import NAMES, Malformed, parse_json
from ._texts import pack, unpack

BUILTIN = {"bool": bool, "int": int, "float": float}  # taken for dtypes
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Encoder:
    """Turns values into JSON; keeps the arrays that it meets.

    Parameters
    ----------
    object_fields : callable
        Called with an object; returns the name of its class and a dict of its fields, or None for
        an object that may not be saved.

    Attributes
    ----------
    arrays : dict of str to ndarray
        The arrays, by the places where they were met.
    """

    def __init__(self, object_fields):
        self.object_fields, self.arrays = object_fields, {}

    def json(self, value, where):
        """Return the JSON text of a value.

        Parameters
        ----------
        value : object
            The value.
        where : str
            What it is, for messages.

        Raises
        ------
        TypeError
            If it is, or holds, something that files do not hold; the message tells where.
        """
        return json.dumps(self.tree(value, where), allow_nan=False, separators=(",", ":"))

    def tree(self, value, where):
        """Return a value as JSON's own types."""
        if value is None or isinstance(value, (bool, np.bool_)):
            return value if value is None else bool(value)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Real):
            return float(value) if math.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, (list, tuple)):
            items = [self.tree(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict):
            return {"dict": [self._item(key, item, where) for key, item in value.items()]}
        if isinstance(value, np.dtype) or (isinstance(value, type) and value.__module__ == "numpy"):
            return {("dtype" if isinstance(value, np.dtype) else "type"): np.dtype(value).str}
        if isinstance(value, type) and value in BUILTIN.values():
            return {"builtin": value.__name__}
        found = self.object_fields(value)
        if found is not None:
            name, fields = found
            fields = {k: self.tree(v, f"{where}.{k}") for k, v in fields.items()}
            return {"object": [name, fields]}
        if hasattr(value, "__array__"):
            return self._array(np.asarray(value), where)
        what = "a function" if callable(value) else f"of the class {type(value).__name__}"
        raise TypeError(
            f"{where} is {what}, which a model file cannot hold: it holds numbers, texts and "
            "arrays, never code. Pickle the estimator, or replace this part."
        )

    def _item(self, key, item, where):
        return [self.tree(key, where), self.tree(item, f"{where}.{key}")]

    def _array(self, array, where):
        kind = array.dtype.kind
        if kind == "U" or (kind == "O" and all(type(v) is str for v in array.flat)):
            raw, ends = pack(array.ravel().tolist(), "surrogatepass")
            self.arrays[f"{where}.text"], self.arrays[f"{where}.ends"] = raw, ends
            kind = kind if kind == "O" else array.dtype.str[1:]
            return {"strings": [where, list(array.shape), kind]}
        if kind == "O":
            return {"objects": [self.tree(array.ravel().tolist(), where), list(array.shape)]}
        if array.dtype.newbyteorder("<") not in NAMES:
            raise TypeError(f"{where} has dtype {array.dtype}, which a model file cannot hold.")
        if array.dtype.kind not in "iu" or array.size == 0:
            self.arrays[where] = array
            return {"array": where}
        least, most = int(array.min()), int(array.max())
        narrow = np.min_scalar_type(most if least >= 0 else min(least, -most - 1))
        self.arrays[where] = array.astype(narrow, copy=False)
        return {"integers": [where, array.dtype.name]}  # in as few bytes as hold them


class Decoder:
    """Turns what `Encoder` has made back into values.

    Parameters
    ----------
    array : callable
        Returns the array of a name.
    make_object : callable
        Called with the name of a class and the dict of its fields; returns the object.
    """

    def __init__(self, array, make_object):
        self.array, self.make_object = array, make_object

    def value(self, text):
        """Return the value of a JSON text; raise `Malformed` for what no encoder writes."""
        return self._value(parse_json(text))

    def _value(self, tree):
        if isinstance(tree, list):
            return [self._value(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        if len(tree) != 1:
            raise Malformed("its parameters have an unknown form")
        ((kind, content),) = tree.items()
        read = getattr(self, f"_{kind}", None) if kind in KINDS else None
        if read is None:
            raise Malformed(f"its parameters hold the unknown kind {kind!r}")
        return read(content)

    def _float(self, content):
        return SPECIAL[content]

    def _tuple(self, content):
        return tuple(self._value(content))

    def _dict(self, content):
        return {self._value(key): self._value(item) for key, item in content}

    def _dtype(self, content):
        return np.dtype(str(content))

    def _type(self, content):
        return np.dtype(str(content)).type

    def _builtin(self, content):
        return BUILTIN[content]

    def _array(self, content):
        return self.array(content)

    def _integers(self, content):
        name, dtype = content
        array, dtype = self.array(name), np.dtype(str(dtype))
        if array.dtype.kind not in "iu" or dtype.kind not in "iu":
            raise Malformed(f"the array {name!r} does not hold integers")
        out = array.astype(dtype, copy=False)
        if out.itemsize < array.itemsize:
            raise Malformed(f"the integers of {name!r} do not fit into {dtype}")
        return out

    def _objects(self, content):
        items, shape = content
        out = np.empty(len(items), object)
        out[:] = self._value(items)
        return out.reshape(shape)

    def _strings(self, content):
        name, shape, kind = content
        raw, ends = self.array(f"{name}.text"), self.array(f"{name}.ends")
        width = 0 if kind == "O" else int(kind.removeprefix("U"))
        if not 0 <= width * len(ends) <= 64 * (len(raw) + 1024):
            raise Malformed(f"the texts of {name} would take much more memory than the file")
        out = np.empty(len(ends), kind)
        out[:] = unpack(raw, ends, "surrogatepass")
        return out.reshape(shape)

    def _object(self, content):
        name, fields = content
        return self.make_object(name, {key: self._value(item) for key, item in fields.items()})


KINDS = {
    "float", "tuple", "dict", "dtype", "type", "builtin", "array", "integers", "objects",
    "strings", "object",
}  # fmt: skip
