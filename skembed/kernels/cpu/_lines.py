"""Instructions for use inside kernels: on one cache line of a two-dimensional array, and `take`.

A line is 64 bytes: 16 float32 or 8 float64. Rows are padded to whole lines, so that kernels need no
remainder loops, and explicit vectors need no test for overlapping arrays. Multiplications and
additions are never fused: the same bits on every processor.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

I32, I64 = ir.IntType(32), ir.IntType(64)


def _address(context, builder, aty, array, *index):
    ary = context.make_array(aty)(context, builder, array)
    address = builder.ptrtoint(ary.data, I64)
    for axis, i in enumerate(index):
        i = builder.sext(i, I64) if i.type.width < 64 else i
        address = builder.add(address, builder.mul(i, builder.extract_value(ary.strides, axis)))
    return address


def _prefetch(context, builder, address, write):
    i8p = ir.IntType(8).as_pointer()
    fn = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.VoidType(), [i8p, I32, I32, I32]), "llvm.prefetch.p0"
    )
    builder.call(fn, [builder.inttoptr(address, i8p), I32(write), I32(3), I32(1)])
    return context.get_dummy_value()


@intrinsic
def prefetch(typingctx, array, i, k):
    """Ask for the line of array[i, k], to read."""

    def codegen(context, builder, sig, args):
        return _prefetch(context, builder, _address(context, builder, sig.args[0], *args), 0)

    return types.void(array, i, k), codegen


@intrinsic
def prefetch_write(typingctx, array, i, k):
    """Ask for the line of array[i, k], to write."""

    def codegen(context, builder, sig, args):
        return _prefetch(context, builder, _address(context, builder, sig.args[0], *args), 1)

    return types.void(array, i, k), codegen


@intrinsic
def prefetch_item(typingctx, array, i):
    """Ask for the line of array[i], to read."""

    def codegen(context, builder, sig, args):
        return _prefetch(context, builder, _address(context, builder, sig.args[0], *args), 0)

    return types.void(array, i), codegen


@intrinsic
def take(typingctx, todo, n):
    """Add n to todo[0] and return what it was: threads share work by taking parts of it."""

    def codegen(context, builder, sig, args):
        array = context.make_array(sig.args[0])(context, builder, args[0])
        n = args[1] if args[1].type.width == 64 else builder.sext(args[1], I64)
        return builder.atomic_rmw("add", array.data, n, "monotonic")

    return types.int64(todo, n), codegen


def _pointer(context, builder, aty, array, i, k):
    item = context.get_data_type(aty.dtype)
    lanes = 64 // (aty.dtype.bitwidth // 8)
    return builder.inttoptr(
        _address(context, builder, aty, array, i, k), ir.VectorType(item, lanes).as_pointer()
    )


def _load(context, builder, aty, array, i, k):
    return builder.load(_pointer(context, builder, aty, array, i, k), align=aty.dtype.bitwidth // 8)


def _times(builder, x, line):
    spread = builder.insert_element(ir.Constant(line.type, ir.Undefined), x, I32(0))
    spread = builder.shuffle_vector(
        spread, spread, ir.Constant(ir.VectorType(I32, line.type.count), [0] * line.type.count)
    )
    return builder.fmul(spread, line)


def _make_sum(n, accumulate, square=False):
    def body(context, builder, sig, args):
        out, i, rows, k = args[0], args[1], args[2], args[3 + 2 * n]
        js, xs = args[3 : 3 + n], args[3 + n : 3 + 2 * n]
        parts = [
            _times(builder, x, _load(context, builder, sig.args[2], rows, j, k))
            for j, x in zip(js, xs, strict=True)
        ]
        if square:
            parts = [builder.fmul(part, part) for part in parts]
        while len(parts) > 1:
            parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        target = _pointer(context, builder, sig.args[0], out, i, k)
        size = sig.args[0].dtype.bitwidth // 8
        if accumulate:
            parts[0] = builder.fadd(builder.load(target, align=size), parts[0])
        builder.store(parts[0], target, align=size)
        return context.get_dummy_value()

    return body


@intrinsic
def dot(typingctx, a, i, b, j, width):
    """The sum of a[i, k] * b[j, k] over k < width, whole lines; always in the same order."""

    def codegen(context, builder, sig, args):
        a, i, b, j, width = args
        kind = ir.VectorType(
            context.get_data_type(sig.return_type), 512 // sig.return_type.bitwidth
        )
        total = cgutils.alloca_once_value(builder, ir.Constant(kind, [0.0] * kind.count))
        with cgutils.for_range_slice(builder, I64(0), width, I64(kind.count), I64) as (k, _):
            x = _load(context, builder, sig.args[0], a, i, k)
            y = _load(context, builder, sig.args[2], b, j, k)
            builder.store(builder.fadd(builder.load(total), builder.fmul(x, y)), total)
        line = builder.load(total)
        while line.type.count > 1:  # the upper half onto the lower one
            half = line.type.count // 2
            low, high = (
                builder.shuffle_vector(line, line, ir.Constant(ir.VectorType(I32, half), picks))
                for picks in (list(range(half)), list(range(half, 2 * half)))
            )
            line = builder.fadd(low, high)
        return builder.extract_element(line, I32(0))

    return a.dtype(a, i, b, j, types.int64), codegen


@intrinsic
def two_to_the(typingctx, n):
    """2**n for a float n that is a whole number in the range of normal results."""

    def codegen(context, builder, sig, args):
        bits = sig.return_type.bitwidth
        mantissa, bias = (23, 127) if bits == 32 else (52, 1023)
        kind, item = ir.IntType(bits), context.get_value_type(sig.return_type)
        name = f"llvm.fptosi.sat.i{bits}.f{bits}"  # NaN becomes 0
        fn = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [item]), name)
        power = builder.add(builder.call(fn, [args[0]]), kind(bias))
        return builder.bitcast(builder.shl(power, kind(mantissa)), item)

    return n(n), codegen


@intrinsic
def set1(typingctx, out, i, rows, j, x, k):
    """out[i, k:k + line] = x * rows[j, k:k + line]"""
    return types.void(out, i, rows, j, x, k), _make_sum(1, False)


@intrinsic
def add1(typingctx, out, i, rows, j, x, k):
    """out[i, k:k + line] += x * rows[j, k:k + line]"""
    return types.void(out, i, rows, j, x, k), _make_sum(1, True)


@intrinsic
def add4(typingctx, out, i, rows, j0, j1, j2, j3, x0, x1, x2, x3, k):
    """out[i] += (x0 rows[j0] + x1 rows[j1]) + (x2 rows[j2] + x3 rows[j3]), line at k"""
    return types.void(out, i, rows, j0, j1, j2, j3, x0, x1, x2, x3, k), _make_sum(4, True)


@intrinsic
def square1(typingctx, out, i, rows, j, x, k):
    """out[i, k:k + line] += (x * rows[j, k:k + line])**2"""
    return types.void(out, i, rows, j, x, k), _make_sum(1, True, square=True)


@intrinsic
def square4(typingctx, out, i, rows, j0, j1, j2, j3, x0, x1, x2, x3, k):
    """`add4` of the squares of each x * row."""
    return types.void(out, i, rows, j0, j1, j2, j3, x0, x1, x2, x3, k), _make_sum(4, True, True)
