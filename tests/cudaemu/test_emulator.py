"""The emulator finds faults that were planted, in every order of threads, and nothing else."""

import numpy as np
import pytest

from cudaemu import emulator, standin
from skembed.kernels.gpu._kernels import OPTIONS, source

SCHEDULES = range(1, 9)
I32, I64 = np.int32, np.int64

pytestmark = pytest.mark.skipif(
    emulator.WHY_NOT is not None and not emulator.REQUIRED, reason=str(emulator.WHY_NOT)
)

OWN = r"""
extern "C" __global__ void plain_sum(const int* at, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[at[i]] += 1;
}
extern "C" __global__ void atomic_sum(const int* at, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[at[i]], 1.f);
}
extern "C" __global__ void half_atomic(const int* at, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i % 2) atomicAdd(&out[at[i]], 1.f);
  else if (i < n) out[at[i]] = 1;
}
extern "C" __global__ void flag(const int* at, float* out, int n) {
  if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = 1;
  if (threadIdx.x == 0 && blockIdx.x == 1) out[1] = out[0];
}
extern "C" __global__ void divergent(const int* at, float* out, int n) {
  SHARED(float, s);
  s[threadIdx.x] = 1;
  if (threadIdx.x < 40) { __syncthreads(); out[0] = 0 * s[threadIdx.x] + blockIdx.x * 0; }
  else { __syncthreads(); }
}
extern "C" __global__ void left_early(const int* at, float* out, int n) {
  if (threadIdx.x == 3) return;
  __syncthreads();
}
extern "C" __global__ void deadlock(const int* at, float* out, int n) {
  if (threadIdx.x == 0) __syncthreads();
  else if (threadIdx.x < 32) __syncwarp();
}
extern "C" __global__ void outside_mask(const int* at, float* out, int n) {
  float x = 1;
  if (threadIdx.x < 16) x = __shfl_sync(0x0000ffffu, x, 20);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x;
}
extern "C" __global__ void left_lanes(const int* at, float* out, int n) {
  if (threadIdx.x % 32 > 4) return;
  __syncwarp();
}
extern "C" __global__ void const_write(const int* at, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ((int*)at)[i] = 0;
}
extern "C" __global__ void misaligned(const int* at, float* out, int n) {
  if (threadIdx.x == 0 && blockIdx.x == 0) store_whole((float4*)(out + 1), float4());
}
extern "C" __global__ void shuffle_orders_nothing(const int* at, float* out, int n) {
  SHARED(float, s);
  s[threadIdx.x] = 1;
  __shfl_sync(0xffffffffu, 0, 0);
  float x = s[threadIdx.x ^ 1];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x;
}
extern "C" __global__ void warp_orders(const int* at, float* out, int n) {
  SHARED(float, s);
  s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  float x = s[threadIdx.x ^ 1];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x;
}
"""


def launch_own(name):
    kernel = standin.RawModule(code=OWN).get_function(name)
    at = standin.asarray(np.zeros(100, I32))
    kernel((2,), (64,), (at, standin.zeros(100, np.float32), I32(100)), shared_mem=256)


PLANTED = {
    "plain_sum": "race of",
    "half_atomic": "race of",
    "flag": "race of a",
    "divergent": "barrier divergence",
    "left_early": "after some threads have left",
    "deadlock": "deadlock",
    "outside_mask": "shuffle from outside its mask",
    "left_lanes": "lanes that have left",
    "const_write": "write to a const argument",
    "misaligned": "misaligned access",
    "shuffle_orders_nothing": "race of",
}


@pytest.mark.parametrize("seed", SCHEDULES)
@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults(name, seed):
    with emulator.scheduled(seed=seed), pytest.raises(emulator.LaunchError, match=PLANTED[name]):
        launch_own(name)


@pytest.mark.parametrize("seed", SCHEDULES)
@pytest.mark.parametrize("name", ["atomic_sum", "warp_orders"])
def test_controls_are_clean(name, seed):
    with emulator.scheduled(seed=seed):
        launch_own(name)


def test_a_finding_names_the_line():
    number = 1 + OWN[: OWN.index("out[at[i]] += 1")].count("\n")
    with pytest.raises(emulator.LaunchError, match=f"kernel.cu:{number} "):
        launch_own("plain_sum")


def forward_args():
    """Arguments of `bag_forward`, by name: 10 bags of 2 rows, width 16."""
    rng = np.random.default_rng(0)
    up = standin.asarray
    return {
        "indptr": up(np.arange(0, 22, 2)),
        "indices": up(rng.integers(0, 9, 20).astype(I32)),
        "data": up(np.ones(20, np.float32)),
        "rows": up(np.arange(10)),
        "scale": up(np.ones(10, np.float32)),
        "table": up(rng.normal(size=(9, 16)).astype(np.float32)),
        "out": standin.empty((10, 16), np.float32),
        "n": I32(10),
        "vecs": I32(4),
        "size": I32(4),
    }


def launch_forward(args, code=None):
    kernel = standin.RawModule(code=code or source("bag"), options=OPTIONS)
    kernel.get_function("bag_forward")((1,), (64,), tuple(args.values()))


def with_item(array, at, value):
    host = array.get()
    host[at] = value
    return standin.asarray(host)


WRONG_CALLS = {
    "int32 row borders": lambda a: a.update(indptr=a["indptr"].astype(I32)),
    "int64 indices": lambda a: a.update(indices=a["indices"].astype(I64)),
    "float64 table": lambda a: a.update(table=a["table"].astype(np.float64)),
    "NumPy array": lambda a: a.update(data=a["data"].get()),
    "Python int": lambda a: a.update(n=10),
    "Python float": lambda a: a.update(n=10.0),
    "int64 number": lambda a: a.update(n=I64(10)),
    "missing argument": lambda a: a.pop("size"),
    "too many arguments": lambda a: a.update(more=I32(1)),
    "strided table": lambda a: a.update(table=a["table"][:, :8]),
    "short output": lambda a: a.update(out=standin.empty((9, 16), np.float32)),
    "index of no row": lambda a: a.update(indices=with_item(a["indices"], 7, 9)),
    "negative index": lambda a: a.update(indices=with_item(a["indices"], 7, -1)),
    "borders beyond the values": lambda a: a.update(indptr=with_item(a["indptr"], 10, 21)),
    "input as output": lambda a: a.update(out=a["table"]),
    "table one number in": lambda a: a.update(
        table=standin.zeros(161, np.float32)[1:].reshape(10, 16)
    ),
}


@pytest.mark.parametrize("seed", SCHEDULES)
@pytest.mark.parametrize("fault", WRONG_CALLS)
def test_wrong_calls(fault, seed):
    args = forward_args()
    WRONG_CALLS[fault](args)
    with emulator.scheduled(seed=seed), pytest.raises((TypeError, emulator.LaunchError)):
        launch_forward(args)


@pytest.mark.parametrize("seed", SCHEDULES)
def test_right_call(seed):
    args = forward_args()
    with emulator.scheduled(seed=seed):
        launch_forward(args)
    index = args["indices"].get().reshape(10, 2)
    table = args["table"].get()
    assert np.array_equal(args["out"].get(), table[index[:, 0]] + table[index[:, 1]])


def test_an_empty_grid_has_one_block():
    kernel = standin.RawModule(code=source("bag"), options=OPTIONS).get_function("bag_forward")
    args = forward_args()
    kernel((0,), (64,), tuple(args.values()))
    assert np.isfinite(args["out"].get()).all()
    with pytest.raises(TypeError, match="tuple"):
        kernel(1, 64, tuple(args.values()))


# Faults in a kernel of the package: what is there, what stands there instead, what is found.
EDITS = {
    "no __syncthreads": (
        "  __syncthreads();\n  for (int b = threadIdx.x; b < BINS",
        "  for (int b = threadIdx.x; b < BINS",
        "race of a .* in shared memory|uninitialised shared memory",
    ),
    "no __syncwarp after zeros": ("mine[b] = 0;\n  __syncwarp();", "mine[b] = 0;", "race of"),
    "no zeros": (
        "for (int b = lane; b < BINS; b += 32) mine[b] = 0;",
        "",
        "uninitialised shared memory",
    ),
    "one thread too many": (
        "i < n ? magnitude(x[i]) : 0;\n    bool",
        "i <= n ? magnitude(x[i]) : 0;\n    bool",
        "read out of bounds",
    ),
    "one count for all warps": ("shared + (threadIdx.x >> 5) * BINS;", "shared;", "race of"),
}


def launch_count(code):
    kernel = standin.RawModule(code=code, options=OPTIONS).get_function("count_digits")
    x = standin.asarray(np.random.default_rng(0).normal(size=90).astype(np.float32))
    state, counts = standin.asarray(np.array([0, 5])), standin.empty((2, 256), I32)
    kernel((2,), (64,), (x, state, counts, I64(90), I32(31)), shared_mem=2048)
    assert counts.get().sum() == 90


@pytest.mark.parametrize("seed", SCHEDULES)
@pytest.mark.parametrize("fault", EDITS)
def test_faults_in_kernels_of_the_package(fault, seed):
    old, new, finding = EDITS[fault]
    code = source("topk")
    assert code.count(old) == 1
    with emulator.scheduled(seed=seed):
        launch_count(code)
        with pytest.raises(emulator.LaunchError, match=finding):
            launch_count(code.replace(old, new))


@pytest.mark.parametrize("seed", SCHEDULES)
@pytest.mark.parametrize("new", ["", "__syncwarp();"])
def test_masks_of_groups(new, seed):
    """No sync before one lane writes what others read; or one that names lanes of other groups."""
    code = source("rowwise_adagrad")
    old = "__syncwarp(g.mask);  // all lanes have read what one of them now writes"
    assert code.count(old) == 1
    arrays = standin.zeros((9, 8), np.float32), standin.ones((9, 1), np.float32)
    targets = standin.asarray(np.array([0, 2, 3, 5, 8], I32))
    begins, values = standin.arange(6), standin.ones((5, 8), np.float32)
    numbers = map(np.float32, (1, 0.1, 1e-10, 0.125))
    args = (begins, targets, values, I32(5), I32(2), I32(2), *arrays, *numbers)

    def launch(code):
        kernel = standin.RawModule(code=code, options=OPTIONS)
        kernel.get_function("rowwise_adagrad_rows")((2,), (32,), args, shared_mem=32 * 16)

    with emulator.scheduled(seed=seed):
        launch(code)
        with pytest.raises(emulator.LaunchError):
            launch(code.replace(old, new))


def test_orders_differ_where_bits_may():
    """Sums by atomics come out in another order for another schedule: the schedules are real."""
    code = OWN.replace("atomicAdd(&out[at[i]], 1.f)", "atomicAdd(&out[at[i]], 1.f / (i + 3))")
    found = set()
    for seed in range(1, 13):
        kernel = standin.RawModule(code=code).get_function("atomic_sum")
        out = standin.zeros(1, np.float32)
        with emulator.scheduled(seed=seed):
            kernel((2,), (64,), (standin.asarray(np.zeros(100, I32)), out, I32(100)))
        found.add(out.get().tobytes())
    assert len(found) > 1


def test_memory_that_is_asked_for_is_poisoned():
    assert np.isnan(standin.empty(5, np.float32).get()).all()
    assert standin.empty(5, I32).get().tolist() == [-1] * 5
