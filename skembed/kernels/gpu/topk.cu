// The k numbers of largest magnitude, ties to the lowest index, by radix select on the bits: for
// floats without a sign, larger bits, larger.
//
// state = {the highest bits of the k-th largest, how many of those that agree with them are taken}.
// Blocks write counts of their own, which the next launch adds up: no atomics.
#define BINS 256
#define N_BITS int(8 * sizeof(real) - 1)

__device__ __forceinline__ bits_t magnitude(real x) {
#ifdef DOUBLE
  return (bits_t)__double_as_longlong(x) & 0x7fffffffffffffffull;
#else
  return __float_as_uint(x) & 0x7fffffffu;
#endif
}
__device__ __forceinline__ int digit_width(int top) { return top % 8 ? top % 8 : 8; }

// counts[block, digit] = how many numbers of the block agree with state in the bits from `top` on
// and have that digit below. Shared memory: BINS counts a warp. Lanes with the same digit elect one
// that counts for them.
KERNEL count_digits(
    const real* __restrict__ x, const i64* __restrict__ state, int* __restrict__ counts, i64 n,
    int top) {
  SHARED(int, shared);
  int lane = threadIdx.x & 31, width = digit_width(top), low = top - width;
  int* mine = shared + (threadIdx.x >> 5) * BINS;
  bits_t known = (bits_t)state[0];
  for (int b = lane; b < BINS; b += 32) mine[b] = 0;
  __syncwarp();
  i64 rounds = (n + thread_count() - 1) / thread_count();  // the same for every lane
  for (i64 t = 0; t < rounds; ++t) {
    i64 i = thread_number() + t * thread_count();
    bits_t m = i < n ? magnitude(x[i]) : 0;
    bool counts_here = i < n && (top == N_BITS || m >> top == known >> top);
    u32 digit = counts_here ? (u32)(m >> low) & ((1u << width) - 1) : BINS;
    u32 same = __match_any_sync(0xffffffffu, digit);
    if (counts_here && __ffs(same) - 1 == lane) mine[digit] += __popc(same);
    __syncwarp();
  }
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) {
    int total = 0;
    for (int w = 0; w < (int)(blockDim.x >> 5); ++w) total += shared[w * BINS + b];
    counts[(size_t)blockIdx.x * BINS + b] = total;
  }
}

// Finds the next digit; one block of BINS threads. Shared memory: BINS counts.
KERNEL pick_digit(
    const int* __restrict__ counts, i64* state, int n_blocks, int top) {
  SHARED(i64, from_above);
  int t = threadIdx.x;
  i64 mine = 0, needed = state[1];
  for (int b = 0; b < n_blocks; ++b) mine += counts[(size_t)b * BINS + t];
  from_above[t] = mine;
  __syncthreads();
  for (int o = 1; o < BINS; o <<= 1) {
    i64 more = t + o < BINS ? from_above[t + o] : 0;
    __syncthreads();
    from_above[t] += more;
    __syncthreads();
  }
  i64 above = from_above[t] - mine;
  if (above < needed && needed <= from_above[t]) {
    state[0] |= (i64)t << (top - digit_width(top));
    state[1] = needed - above;
  }
}

// Counts the numbers of each block above the k-th largest, and equal to it. A block has the
// numbers from blockIdx * blockDim on. Shared memory: two counts a warp.
KERNEL count_taken(
    const real* __restrict__ x, const i64* __restrict__ state, i64* __restrict__ larger,
    i64* __restrict__ equal, i64 n) {
  SHARED(int, shared);
  int warp = threadIdx.x >> 5, n_warps = blockDim.x >> 5;
  i64 i = thread_number();
  bits_t m = i < n ? magnitude(x[i]) : 0, least = (bits_t)state[0];
  u32 above = __ballot_sync(0xffffffffu, i < n && m > least);
  u32 same = __ballot_sync(0xffffffffu, i < n && m == least && m > 0);
  if ((threadIdx.x & 31) == 0) {
    shared[warp] = __popc(above);
    shared[n_warps + warp] = __popc(same);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int a = 0, b = 0;
    for (int w = 0; w < n_warps; ++w) {
      a += shared[w];
      b += shared[n_warps + w];
    }
    larger[blockIdx.x] = a;
    equal[blockIdx.x] = b;
  }
}

// Writes where the taken numbers are, ascending; a zero is never taken. The counts are running
// totals, this block's included. Shared memory: two counts a warp.
KERNEL take_largest(
    const real* __restrict__ x, const i64* __restrict__ state, const i64* __restrict__ larger,
    const i64* __restrict__ equal, i64* __restrict__ places, i64 n) {
  SHARED(int, shared);
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n_warps = blockDim.x >> 5;
  i64 i = thread_number(), needed = state[1];
  bits_t m = i < n ? magnitude(x[i]) : 0, least = (bits_t)state[0];
  bool above = i < n && m > least, same = i < n && m == least && m > 0;
  u32 all_above = __ballot_sync(0xffffffffu, above), all_same = __ballot_sync(0xffffffffu, same);
  u32 before = (1u << lane) - 1;
  if (lane == 0) {
    shared[warp] = __popc(all_above);
    shared[n_warps + warp] = __popc(all_same);
  }
  __syncthreads();
  i64 a = blockIdx.x ? larger[blockIdx.x - 1] : 0, b = blockIdx.x ? equal[blockIdx.x - 1] : 0;
  for (int w = 0; w < warp; ++w) {
    a += shared[w];
    b += shared[n_warps + w];
  }
  a += __popc(all_above & before);
  b += __popc(all_same & before);
  if (above || (same && b < needed)) places[a + (b < needed ? b : needed)] = i;
}
