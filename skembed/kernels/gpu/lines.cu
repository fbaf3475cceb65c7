// What all kernels share. A source file is these lines and one file of kernels: no includes.
//
// `real` is the work dtype (-DDOUBLE: double), `vec` the LANES numbers that a thread reads or
// writes at once: 16 bytes, or one number with -DLANES=1, for rows that are not padded. Rows have
// whole vectors, `vecs` of them. A row is shared by a group of `size` lanes of a warp, a power of
// two. Products and sums are never fused (-fmad=false), and the order of additions depends on the
// data alone: the bits are those of the kernels for the CPU. No atomics; nothing is passed between
// blocks within a launch. A grid has at least one block, so that every kernel bears having no work.
#ifdef DOUBLE
typedef double real;
typedef double2 wide;
typedef unsigned long long bits_t;
#else
typedef float real;
typedef float4 wide;
typedef unsigned int bits_t;
#endif
#ifndef LANES
#define LANES int(16 / sizeof(real))
#define WIDE 1
#endif
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned char byte;

// At most 256 threads in a block, and registers for at least two blocks on a multiprocessor: without
// that bound the compiler spills to fit more warps than memory can feed.
#define KERNEL extern "C" __global__ void __launch_bounds__(256, 2)

struct __align__(LANES * sizeof(real)) vec { real v[LANES]; };
struct __align__(LANES * sizeof(int)) ivec { int v[LANES]; };

#ifndef EMULATED
#define SHARED(type, name)                                   \
  extern __shared__ __align__(16) unsigned char name##_raw[]; \
  type* name = (type*)name##_raw
template <class T> __device__ __forceinline__ T load_whole(const T* p) { return *p; }
template <class T> __device__ __forceinline__ void store_whole(T* p, T x) { *p = x; }
#endif

#ifdef WIDE
__device__ __forceinline__ vec as_vec(wide x) {
  vec r;
  r.v[0] = x.x;
  r.v[1] = x.y;
#ifndef DOUBLE
  r.v[2] = x.z;
  r.v[3] = x.w;
#endif
  return r;
}
__device__ __forceinline__ vec look(const vec* p) { return as_vec(__ldg((const wide*)p)); }
__device__ __forceinline__ vec load(const vec* p) { return as_vec(load_whole((const wide*)p)); }
__device__ __forceinline__ void store(vec* p, vec x) {
  wide w;
  w.x = x.v[0];
  w.y = x.v[1];
#ifndef DOUBLE
  w.z = x.v[2];
  w.w = x.v[3];
#endif
  store_whole((wide*)p, w);
}
#else
__device__ __forceinline__ vec look(const vec* p) { vec r; r.v[0] = __ldg((const real*)p); return r; }
__device__ __forceinline__ vec load(const vec* p) { return *p; }
__device__ __forceinline__ void store(vec* p, vec x) { *p = x; }
#endif

#define EACH(expression)                               \
  vec r;                                               \
  _Pragma("unroll") for (int t = 0; t < LANES; ++t) r.v[t] = (expression); \
  return r
__device__ __forceinline__ vec spread(real x) { EACH(x); }
__device__ __forceinline__ vec operator+(vec a, vec b) { EACH(a.v[t] + b.v[t]); }
__device__ __forceinline__ vec operator-(vec a, vec b) { EACH(a.v[t] - b.v[t]); }
__device__ __forceinline__ vec operator*(vec a, vec b) { EACH(a.v[t] * b.v[t]); }
__device__ __forceinline__ vec operator*(real a, vec b) { EACH(a * b.v[t]); }

// A group of lanes, its place among all groups of the grid, and how many of them there are.
struct Group { int lane, size; u32 mask; i64 first, step; };
__device__ __forceinline__ Group group_of(int size) {
  Group g;
  int lane = threadIdx.x & 31;
  g.size = size;
  g.lane = lane & (size - 1);
  g.mask = (size == 32 ? 0xffffffffu : (1u << size) - 1) << (lane - g.lane);
  int shift = __ffs(size) - 1;
  g.first = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> shift;
  g.step = ((i64)gridDim.x * blockDim.x) >> shift;
  return g;
}
__device__ __forceinline__ i64 thread_number() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ i64 thread_count() { return (i64)gridDim.x * blockDim.x; }

// acc + the sum of x[p] * rows[index[p]] over s <= p < e: by fours, then one by one.
__device__ __forceinline__ vec add_rows(vec acc, const int* index, const real* x, const vec* rows,
                                        i64 s, i64 e, int vecs, int c) {
  i64 p = s;
  for (; p + 4 <= e; p += 4) {
    vec a = look(rows + (size_t)index[p] * vecs + c);
    vec b = look(rows + (size_t)index[p + 1] * vecs + c);
    vec u = look(rows + (size_t)index[p + 2] * vecs + c);
    vec v = look(rows + (size_t)index[p + 3] * vecs + c);
    acc = acc + ((x[p] * a + x[p + 1] * b) + (x[p + 2] * u + x[p + 3] * v));
  }
  for (; p < e; ++p) acc = acc + x[p] * look(rows + (size_t)index[p] * vecs + c);
  return acc;
}
