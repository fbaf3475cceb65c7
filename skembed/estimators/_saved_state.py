"""What a model file holds of a fit, and the checks that it must pass before it is used.

Kernels check no bounds: whatever they read through an index is checked here.
"""

import numpy as np

from skembed.core import (
    CODES,
    FeatureIndex,
    ParamTable,
    QuantizedTable,
    RowArray,
    padded_width,
)
from skembed.hashing import Ledger
from skembed.losses import Cooccurrence
from skembed.models import (
    BagModel,
    CooccurrenceModel,
    FactorizationModel,
    Moments,
    SampledBagModel,
    Triplets,
)
from skembed.persistence import Malformed
from skembed.training import FitState

from ._cooccurrence import FeatureTarget
from ._targets import ClassTarget, LabelTarget, NumberTarget

OF_STATE = {
    "seed", "index", "model", "numeric", "params", "slots", "solver_state", "n_updates",
    "class_counts", "row_counts", "weight_seen", "partition", "step", "learning_rate",
    "batch_size", "loss_curve", "validation_scores", "best_epoch",
}  # fmt: skip
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def expect(condition, what):
    """Raise `Malformed` where a condition does not hold."""
    if not condition:
        raise Malformed(what)


def check_array(array, name, shape, dtypes):
    """Check an array: its dtype, its shape (None: any size) and that it is finite."""
    expect(isinstance(array, np.ndarray) and array.dtype in dtypes, f"{name} has an unknown dtype")
    fits = array.ndim == len(shape) and all(
        n in (None, m) for n, m in zip(shape, array.shape, strict=True)
    )
    expect(fits, f"{name} has shape {array.shape}, expected {shape}")
    if array.dtype.kind == "f":
        flat = array.ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(np.dot(flat, flat)) or np.isfinite(flat).all()
        expect(finite, f"{name} holds numbers that are not finite")
    return array


def check_count(value, name, least=0, most=1 << 62):
    """Check that a value is an integer within bounds."""
    fits = type(value) is int and least <= value <= most
    expect(fits, f"{name} is {value!r}, expected an integer from {least} on")
    return value


# -------------------------------------------------------------------- rows and their index
def _index_fields(index):
    names = ("n_features", "columns", "counts", "rows", "n_trainable")
    return {name: getattr(index, name) for name in names}


def _make_index(fields):
    n = check_count(fields["n_features"], "the number of features", 1)
    dtype = np.dtype(np.int32 if n <= np.iinfo(np.int32).max else np.int64)
    columns = check_array(fields["columns"], "the columns", (None,), [dtype])
    counts = check_array(fields["counts"], "the counts", columns.shape, [np.dtype(np.int64)])
    rows = check_array(fields["rows"], "the rows", columns.shape, [np.dtype(np.int32)])
    if len(columns):
        expect(0 <= columns[0] and columns[-1] < n, "a column is out of range")
        expect((columns[1:] > columns[:-1]).all(), "the columns do not ascend")
        expect(counts.min() >= 0, "a count is negative")
        expect(rows.min() >= -1, "a row is out of range")
    used = np.sort(rows[rows >= 0])
    expect(np.array_equal(used, np.arange(len(used))), "a row is out of range, or there twice")
    check_count(fields["n_trainable"], "the number of rows that train", 0, len(used))
    index = FeatureIndex.__new__(FeatureIndex)
    index.__setstate__({**fields, "n_rows": len(used)})
    return index


def _make_rows(fields):
    dtypes = (*FLOATS, np.dtype(np.int32))
    rows = check_array(fields["rows"], "the rows of an array", (None, None), dtypes)
    array = RowArray(*rows.shape, rows.dtype, padded=bool(fields["padded"]))
    array.values[:, : array.d] = rows
    return array


def _make_table(fields):
    rows = check_array(fields["rows"], "the table", (None, None), FLOATS)
    n_linear = check_count(fields["n_linear"], "the number of direct weights", 0, rows.shape[1] - 1)
    most = len(rows)
    n_trainable = check_count(fields["n_trainable"], "the number of rows that train", 0, most)
    table = ParamTable(rows.shape[1] - n_linear, rows.dtype, n_linear)
    table.insert(0, len(rows))
    table.values[:, : table.d], table.n_trainable = rows, n_trainable
    return table


def _make_quantized(fields):
    codes = check_array(fields["codes"], "the table", (None, None), list(CODES.values()))
    most = len(codes)
    n_linear = check_count(fields["n_linear"], "the number of direct weights", 0, codes.shape[1])
    expect(codes.shape[1] > n_linear, "the table has no vectors")
    shape = (len(codes), 1 + bool(n_linear))
    check_array(fields["factors"], "the factors of the table", shape, FLOATS)
    check_count(fields["n_trainable"], "the number of rows that train", 0, most)
    expect(isinstance(fields["report"], dict), "the report of quantize has an unknown form")
    return QuantizedTable(**fields)


# -------------------------------------------------------------------- models and targets
def _make_bag(cls):
    def make(fields):
        sizes = fields["hidden_layer_sizes"]
        expect(fields["pooling"] in ("sqrtn", "mean", "sum", "max"), "the pooling is unknown")
        expect(isinstance(sizes, tuple) and len(sizes) < 1000, "the layers have an unknown form")
        for size in sizes:
            check_count(size, "the size of a layer", 1)
        return cls(fields["pooling"], sizes)

    return make


def _make_factorization(fields):
    expect(fields["pooling"] in ("sqrtn", "sum"), "the pooling is unknown")
    numbers, names = fields["fields"], fields["names"]
    expect((numbers is None) == (names is None), "the fields lack names or numbers")
    if numbers is not None:
        expect(isinstance(names, np.ndarray) and len(names), "the fields have no names")
        check_array(numbers, "the fields", (None,), [np.dtype(np.int32)])
        inside = len(numbers) and numbers.min() >= 0 and numbers.max() < len(names)
        expect(inside, "a field is out of range")
    return FactorizationModel(fields["pooling"], numbers, names)


def _make_class_target(fields):
    classes = fields["classes"]
    expect(isinstance(classes, np.ndarray) and classes.ndim == 1, "the classes have no valid form")
    return ClassTarget(classes, fields["loss"])


def _make_label_target(fields):
    n = len(check_array(fields["classes"], "the labels", (None,), [np.dtype(np.intp)]))
    return LabelTarget(n, bool(fields["sparse_output"]), fields["loss"])


def _make_number_target(fields):
    if fields["n_columns"] is not None:
        check_count(fields["n_columns"], "the number of targets", 1)
    return NumberTarget(fields["n_columns"], fields["loss"])


def _make_feature_target(fields):
    expect(isinstance(fields["loss"], Cooccurrence), "there is no loss")
    return FeatureTarget(fields["loss"])


# -------------------------------------------------------------------- a fit
def _state_fields(state):
    return {name: value for name, value in vars(state).items() if name != "fields"}


def _make_state(fields):
    for name, value in fields.items():
        plain = value is None or isinstance(value, (bool, int, float, str))
        expect(name in OF_STATE or (plain and not hasattr(FitState, name)), f"it has {name}")
    state = FitState.__new__(FitState)
    state.__setstate__(fields)
    fields = vars(state)  # with what files of earlier versions lack
    index, table = fields["index"], fields["params"]["table"]
    expect(isinstance(index, FeatureIndex), "there is no index of features")
    expect(isinstance(table, (ParamTable, QuantizedTable)), "there is no table")
    same = (table.n_rows, table.n_trainable) == (index.n_rows, index.n_trainable)
    expect(same, "the table has other rows than the index")
    counts = {"seed": 0, "partition": 0, "step": 0, "batch_size": 1, "best_epoch": 0}
    for name, least in counts.items():
        check_count(fields[name], name, least)
    for name in ("learning_rate", "weight_seen"):
        expect(isinstance(fields[name], float), f"{name} is not a number")
    for name in ("loss_curve", "validation_scores"):
        numbers = fields[name]
        fine = isinstance(numbers, list) and all(isinstance(v, float) for v in numbers)
        expect(fine, f"{name} is not a list of numbers")
    numeric = check_array(fields["numeric"], "numeric_features", (None,), [np.dtype(np.int64)])
    if len(numeric):
        inside = 0 <= numeric[0] and numeric[-1] < index.n_features
        expect(inside and (np.diff(numeric) > 0).all(), "a numeric feature is out of range")
    if not isinstance(fields["class_counts"], float):
        check_array(fields["class_counts"], "the counts of classes", (None,), FLOATS)
    n_updates = fields["n_updates"]
    expect(isinstance(n_updates, RowArray), "there are no counters of updates")
    check_array(n_updates.values, "n_updates", (table.n_rows, 1), [np.dtype(np.int32)])
    model = state.model
    check_params(state, model)
    expect(isinstance(state.row_counts, RowArray), "there are no counts of rows")
    shape = table.n_rows if model.follows_table else 0, 1
    check_array(state.row_counts.values, "row_counts", shape, [np.dtype(np.float64)])
    check_solver_state(state)
    state.fields = model.fields_of_rows(index)
    return state


def check_params(state, model):
    """Check that the parameters of a state are those of a model."""
    params, index, table = state.params, state.index, state.params["table"]
    dtype = [table.dtype]
    if isinstance(model, FactorizationModel):
        expect(set(params) == {"table", "intercept"}, "the parameters are not those of the model")
        check_array(params["intercept"], "the intercept", (None, 1), dtype)
        n = len(params["intercept"]) * model.n_fields
        expect(n and table.d_embedding % n == 0, "the width of the table is not that of the model")
        n_numbers = index.n_features if model.fields is None else len(model.fields)
        expect(n_numbers == index.n_features, "there is not one field for each feature")
        expect(table.n_linear in (0, len(params["intercept"])), "the direct weights do not fit")
        return
    if isinstance(model, CooccurrenceModel):
        expect(set(params) == {"table", model.coef}, "the parameters are not those of the model")
        outputs = params[model.coef]
        expect(isinstance(outputs, ParamTable), "the head is not a table")
        shape = table.n_rows, table.d_embedding
        check_array(outputs.values[:, : outputs.d], model.coef, shape, dtype)
        return
    expect(isinstance(model, BagModel), "there is no model")
    names = {f"{kind}_{i}" for kind in ("coef", "intercept") for i in model.layers}
    expect(set(params) == {"table", *names}, "the parameters are not those of the model")
    n_in = table.d_embedding + len(state.numeric)
    for i, size in zip(model.layers, [*model.hidden_layer_sizes, None], strict=True):
        parts = params[f"coef_{i}"], params[f"intercept_{i}"]
        if isinstance(model, SampledBagModel) and size is None:
            expect(all(isinstance(p, ParamTable) for p in parts), "the head is not a table")
            parts = [p.values[:, : p.d] for p in parts]
        check_array(parts[0], f"coef_{i}", (size, n_in), dtype)
        n_in = len(parts[0])
        check_array(parts[1], f"intercept_{i}", (n_in, 1), dtype)
    expect(n_in > 0 and table.n_linear in (0, n_in), "the direct weights do not fit")


def check_solver_state(state):
    """Check that the state of a solver has the shapes of the parameters."""
    slots = state.slots
    kinds = isinstance(slots, dict) and set(slots.values()) <= {"element", "row", "count"}
    expect(kinds, "the state of the solver is of an unknown kind")
    expect(isinstance(state.solver_state, dict), "the state of the solver has no valid form")
    if not state.solver_state:
        return
    expect(set(state.solver_state) == set(state.params), "a parameter has no state of the solver")
    for name, arrays in state.solver_state.items():
        param = state.params[name]
        n, d = param.shape
        for slot, array in arrays.items():
            expect(slot in slots, f"the state of the solver has the unknown part {slot!r}")
            expect(isinstance(array, RowArray) == isinstance(param, ParamTable),
                   "the state of the solver has no valid form")  # fmt: skip
            rows = array.values[:, : array.d] if isinstance(array, RowArray) else array
            dtype = np.dtype(np.int32) if slots[slot] == "count" else param.dtype
            width = d if slots[slot] == "element" else 1
            if isinstance(array, RowArray):  # rows of a table and of its state have one stride
                stride = param.width if slots[slot] == "element" else 1
                expect(array.width == stride, "the state of the solver is padded in another way")
            check_array(rows, f"the state {slot!r} of {name}", (n, width), [dtype])


# -------------------------------------------------------------------- other estimators
def _make_moments(fields):
    check_count(fields["n_rows"], "the number of rows", 1)
    check_array(fields["sums"], "the sums", (None,), [np.dtype(np.float64)])
    expect(isinstance(fields["squares"], float), "the sum of squares is not a number")
    return Moments(**fields)


def _make_triplets(fields):
    expect(isinstance(fields["vectors"], RowArray), "there are no singular vectors")
    vectors = fields["vectors"]
    check_array(vectors.values[:, : vectors.d], "the vectors", (None, None), FLOATS)
    expect(vectors.width == padded_width(vectors.d, vectors.dtype), "the vectors are not padded")
    check_array(fields["values"], "the values", (vectors.d,), [np.dtype(np.float64)])
    if fields["n_iter"] is not None:
        check_count(fields["n_iter"], "the number of iterations")
    return Triplets(**fields)


def _ledger_fields(ledger):
    entries = ledger.entries
    return {
        **{name: getattr(ledger, name) for name in ("most", "error", "dropped")},
        "hashes": np.fromiter(entries, np.int64, len(entries)),
        "counts": np.array([count for count, _ in entries.values()], np.int64),
        "names": np.array([name for _, name in entries.values()], object),
    }


def _make_ledger(fields):
    ledger = Ledger(check_count(fields["most"], "the number of names", 1))
    ledger.error = check_count(fields["error"], "the error of a count")
    ledger.dropped = check_count(fields["dropped"], "the number of dropped tokens")
    hashes = check_array(fields["hashes"], "the hashes", (None,), [np.dtype(np.int64)])
    counts = check_array(fields["counts"], "the counts", hashes.shape, [np.dtype(np.int64)])
    names, bound = fields["names"], 1 << 31
    fits = isinstance(names, np.ndarray) and names.shape == hashes.shape
    expect(fits and all(type(name) is str for name in names), "the names are not texts")
    inside = ((hashes >= -bound) & (hashes < bound)).all() and (counts > 0).all()
    expect(inside, "a hash or a count is out of range")
    entries = map(list, zip(counts.tolist(), names.tolist(), strict=True))
    ledger.entries = dict(zip(hashes.tolist(), entries, strict=True))
    expect(len(ledger.entries) == len(hashes), "a hash is there twice")
    return ledger


def _named(*names):
    """Return what takes attributes of these names."""
    return lambda obj: {name: getattr(obj, name) for name in names}


TABLE = _named("n_linear", "n_trainable")
KINDS = {  # class: (what a file holds of it, what makes it from that)
    FeatureIndex: (_index_fields, _make_index),
    RowArray: (
        lambda a: {
            "rows": a.values[:, : a.d], "padded": a.width == padded_width(a.d, a.dtype)
        },
        _make_rows,
    ),
    ParamTable: (lambda t: {"rows": t.values[:, : t.d], **TABLE(t)}, _make_table),
    QuantizedTable: (lambda t: dict(vars(t)), _make_quantized),
    BagModel: (_named("pooling", "hidden_layer_sizes"), _make_bag(BagModel)),
    SampledBagModel: (_named("pooling", "hidden_layer_sizes"), _make_bag(SampledBagModel)),
    CooccurrenceModel: (_named("pooling", "hidden_layer_sizes"), _make_bag(CooccurrenceModel)),
    FactorizationModel: (_named("pooling", "fields", "names"), _make_factorization),
    Cooccurrence: (lambda loss: loss.get_params(), lambda fields: Cooccurrence(**fields)),
    FeatureTarget: (_named("loss"), _make_feature_target),
    ClassTarget: (_named("classes", "loss"), _make_class_target),
    LabelTarget: (_named("classes", "sparse_output", "loss"), _make_label_target),
    NumberTarget: (_named("n_columns", "loss"), _make_number_target),
    FitState: (_state_fields, _make_state),
    Moments: (_named("n_rows", "sums", "squares"), _make_moments),
    Triplets: (_named("vectors", "values", "n_iter"), _make_triplets),
    Ledger: (_ledger_fields, _make_ledger),
}  # fmt: skip
