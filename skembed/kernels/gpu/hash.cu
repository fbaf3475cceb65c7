// MurmurHash3 of tokens (MurmurHash3_x86_32, Appleby, 2011), as kernels/cpu/_hash.py has it.

__device__ __forceinline__ u32 scramble(u32 k) {
  k *= 0xCC9E2D51u;
  k = k << 15 | k >> 17;
  return k * 0x1B873593u;
}
__device__ __forceinline__ u32 absorb(u32 h, u32 k) {
  h ^= scramble(k);
  h = h << 13 | h >> 19;
  return h * 5u + 0xE6546B64u;
}
__device__ __forceinline__ u32 finish(u32 h, u32 n) {
  h ^= n;
  h = (h ^ h >> 16) * 0x85EBCA6Bu;
  h = (h ^ h >> 13) * 0xC2B2AE35u;
  return h ^ h >> 16;
}
__device__ __forceinline__ u64 word_at(const byte* buffer, i64 p) {
  return buffer[p] | (u64)buffer[p + 1] << 8 | (u64)buffer[p + 2] << 16 | (u64)buffer[p + 3] << 24;
}

// out[i] = the hash of ids[i] as eight bytes, the low ones first.
KERNEL hash_ids(
    const i64* __restrict__ ids, int* __restrict__ out, i64 n, u32 seed) {
  for (i64 i = thread_number(); i < n; i += thread_count()) {
    u64 x = (u64)ids[i];
    out[i] = (int)finish(absorb(absorb(seed, (u32)x), (u32)(x >> 32)), 8);
  }
}

// out[i, column] = the hash of prefix + buffer[starts[i]:ends[i]].
KERNEL hash_spans(
    const byte* __restrict__ prefix, int n_before, const byte* __restrict__ buffer,
    const i64* __restrict__ starts, const i64* __restrict__ ends, int* __restrict__ out, i64 n,
    u32 seed, int column, int n_columns) {
  u32 begin = seed;
  int q = 0;
  for (; q + 4 <= n_before; q += 4) begin = absorb(begin, (u32)word_at(prefix, q));
  u64 rest = 0, rest_bits = 8 * (n_before - q);
  for (; q < n_before; ++q) rest |= (u64)prefix[q] << 8 * (q & 3);
  for (i64 i = thread_number(); i < n; i += thread_count()) {
    u32 h = begin;
    u64 held = rest, shift = rest_bits;
    i64 p = starts[i], e = ends[i];
    for (; p + 4 <= e; p += 4) {
      held |= word_at(buffer, p) << shift;
      h = absorb(h, (u32)held);
      held >>= 32;
    }
    for (; p < e; ++p, shift += 8) held |= (u64)buffer[p] << shift;
    if (shift >= 32) {
      h = absorb(h, (u32)held);
      held >>= 32;
    }
    h ^= scramble((u32)held);
    out[i * n_columns + column] = (int)finish(h, (u32)(n_before + ends[i] - starts[i]));
  }
}
