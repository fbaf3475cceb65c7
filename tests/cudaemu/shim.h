// CUDA C++ for g++: what kernels use of the language, in terms of the runtime beside this file.
// Loads and stores reach the runtime through the hooks of -fsanitize=thread, whose own library is
// not linked. Functions here are not instrumented, so that a finding names a line of the kernel.
#pragma once
#include <math.h>  // with the overloads for float
#include <cstdint>
#include <cstring>

#define EMULATED 1
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__
#define __align__(n) __attribute__((aligned(n)))
#define SHARED(type, name) type* name = (type*)emu_shared()

struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct Index { unsigned x; };

enum WarpKind { WARP_SYNC, WARP_SHUFFLE, WARP_XOR, WARP_BALLOT, WARP_MATCH };

extern "C" {
Index emu_thread_index();
Index emu_block_index();
Index emu_block_size();
Index emu_grid_size();
void* emu_shared();
void emu_block_sync(const void* site);
uint64_t emu_warp(unsigned mask, uint64_t value, int kind, int argument, const void* site);
void emu_access(const void* address, int bytes, int writes, int atomic, const void* site);
}

#define threadIdx emu_thread_index()
#define blockIdx emu_block_index()
#define blockDim emu_block_size()
#define gridDim emu_grid_size()

#define PLAIN __attribute__((noinline, no_sanitize("thread"))) static
#define HERE __builtin_return_address(0)

PLAIN void __syncthreads() { emu_block_sync(HERE); }
PLAIN void __syncwarp(unsigned mask = 0xffffffffu) { emu_warp(mask, 0, WARP_SYNC, 0, HERE); }
template <class T> PLAIN T __shfl_sync(unsigned mask, T value, int lane) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  bits = emu_warp(mask, bits, WARP_SHUFFLE, lane, HERE);
  memcpy(&value, &bits, sizeof(T));
  return value;
}
PLAIN unsigned __ballot_sync(unsigned mask, int holds) {
  return (unsigned)emu_warp(mask, holds != 0, WARP_BALLOT, 0, HERE);
}
PLAIN unsigned __match_any_sync(unsigned mask, unsigned value) {
  return (unsigned)emu_warp(mask, value, WARP_MATCH, 0, HERE);
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __float_as_uint(float x) { unsigned u; memcpy(&u, &x, 4); return u; }
static inline long long __double_as_longlong(double x) { long long u; memcpy(&u, &x, 8); return u; }

template <class T> PLAIN T atomicAdd(T* address, T value) {
  emu_access(address, sizeof(T), 1, 1, HERE);
  T old = *address;
  *address = old + value;
  return old;
}
template <class T> PLAIN T __ldg(const T* address) {
  emu_access(address, sizeof(T), 0, 0, HERE);
  return *address;
}
template <class T> PLAIN T load_whole(const T* address) {
  emu_access(address, sizeof(T), 0, 0, HERE);
  return *address;
}
template <class T> PLAIN void store_whole(T* address, T value) {
  emu_access(address, sizeof(T), 1, 0, HERE);
  *address = value;
}
