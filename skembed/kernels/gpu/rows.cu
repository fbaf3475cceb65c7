// The transpose of the pooled gather, and solver steps over touched rows.
//
// A kernel is a source of gradients joined with a rule. Sources: `Bag` and `Pairs` sum a chunk of
// the run of a row, at most CHUNK occurrences (see group.cu); `Winners` does so for max pooling;
// `Rows` adds up given rows, which is how the partial sums of a run of several chunks are finished.
// A file of a rule stands behind this one: begin() returns a number for the row, step() steps one
// vector of it. A chunk that is not all of its run has a slot, and its partial sum goes there. Every
// item has a target: the row of the table that is stepped, or for `Keep` the place of the gradient.

// ---- sources: sum(k, c) makes `total` of item k in vector c, put(slot, c) keeps it as a partial
// sum, finish(k, c) makes a whole sum the gradient.
struct Bag {
  const i64* begins;
  const int* source;
  const real* coef;
  const vec* d_pooled;
  vec* partial;
  int vecs;
  vec total;
  __device__ void sum(i64 k, int c) {
    i64 p = begins[k];
    total = coef[p] * look(d_pooled + (size_t)source[p] * vecs + c);
    total = add_rows(total, source, coef, d_pooled, p + 1, begins[k + 1], vecs, c);
  }
  __device__ void put(i64 slot, int c) const { store(partial + slot * vecs + c, total); }
  __device__ void finish(i64, int) {}
};

struct Rows {
  const i64* begins;
  const vec* values;
  int vecs;
  vec total;
  __device__ void sum(i64 k, int c) {
    i64 q = begins[k];
    total = look(values + q * vecs + c);
    while (++q < begins[k + 1]) total = total + look(values + q * vecs + c);
  }
  __device__ void put(i64, int) const {}
  __device__ void finish(i64, int) {}
};

struct Winners {  // components that the row has won
  const i64* begins;
  const int* ids;
  const int* source;
  const real* coef;
  const vec* d_pooled;
  const ivec* winners;
  vec* partial;
  int vecs;
  vec total;
  __device__ void sum(i64 k, int c) {
    total = spread(0);
    for (i64 p = begins[k]; p < begins[k + 1]; ++p) {
      size_t at = (size_t)source[p] * vecs + c;
      vec g = coef[p] * look(d_pooled + at);
      ivec won = winners[at];
      for (int t = 0; t < LANES; ++t)
        if (won.v[t] == ids[k]) total.v[t] += g.v[t];
    }
  }
  __device__ void put(i64 slot, int c) const { store(partial + slot * vecs + c, total); }
  __device__ void finish(i64, int) {}
};

// How the rows of a factorization machine divide, and whether a component is for the row's own
// field: the score has no pair of a feature with itself.
struct Shape {
  const int* fields;
  int n_fields, n_outputs, d;
  __device__ int field(int j) const { return n_fields > 1 ? fields[j] : 0; }
  __device__ int output(int f, int column) const {  // -1 if not for field f
    int o = column / d;
    return o / n_outputs == f ? o % n_outputs : -1;
  }
  __device__ vec leave(int f, int c, vec total, vec left, const vec* row) const {
    vec w = load(row + c);
    for (int t = 0; t < LANES; ++t)
      if (output(f, c * LANES + t) >= 0) total.v[t] -= left.v[t] * w.v[t];
    return total;
  }
};

struct Pairs {  // the sums for the field of the row, less own pairs: the sum of x^2 own, times row
  const i64* begins;
  const int* ids;
  const int* source;
  const real* coef;
  const vec* d_pooled;
  const real* own;
  const vec* table;  // perhaps what the rule writes
  vec* partial;
  Shape shape;
  int vecs;
  vec total, left;
  __device__ vec owns(int i, const int* outputs) const {
    EACH(outputs[t] < 0 ? (real)0 : own[(size_t)i * shape.n_outputs + outputs[t]]);
  }
  __device__ vec row(int i, int f, int c) const {
    return look(d_pooled + ((size_t)i * shape.n_fields + f) * vecs + c);
  }
  __device__ void sum(i64 k, int c) {
    i64 p = begins[k], e = begins[k + 1];
    int f = shape.field(ids[k]), o[LANES];
    for (int t = 0; t < LANES; ++t) o[t] = shape.output(f, c * LANES + t);
    real x0 = coef[p];
    total = x0 * row(source[p], f, c);
    left = (x0 * x0) * owns(source[p], o);
    for (++p; p + 4 <= e; p += 4) {
      real x1 = coef[p + 1], x2 = coef[p + 2], x3 = coef[p + 3];
      int i0 = source[p], i1 = source[p + 1], i2 = source[p + 2], i3 = source[p + 3];
      x0 = coef[p];
      vec a = x0 * row(i0, f, c) + x1 * row(i1, f, c);
      vec b = x2 * row(i2, f, c) + x3 * row(i3, f, c);
      total = total + (a + b);
      a = (x0 * x0) * owns(i0, o) + (x1 * x1) * owns(i1, o);
      b = (x2 * x2) * owns(i2, o) + (x3 * x3) * owns(i3, o);
      left = left + (a + b);
    }
    for (; p < e; ++p) {
      x0 = coef[p];
      total = total + x0 * row(source[p], f, c);
      left = left + (x0 * x0) * owns(source[p], o);
    }
  }
  __device__ void put(i64 slot, int c) const {
    store(partial + 2 * slot * vecs + c, total);
    store(partial + (2 * slot + 1) * vecs + c, left);
  }
  __device__ void finish(i64 k, int c) {
    int j = ids[k];
    total = shape.leave(shape.field(j), c, total, left, table + (size_t)j * vecs);
  }
};

// ---- items are shared among groups; slots is null where every item is all of its run.
template <class S, class R>
__device__ __forceinline__ void over_items(S source, R rule, const int* targets, const int* slots,
                                           int n, int vecs, int size) {
  Group g = group_of(size);
  for (i64 k = g.first; k < n; k += g.step) {
    int slot = slots ? slots[k] : -1;
    if (slot >= 0) {
      for (int c = g.lane; c < vecs; c += g.size) {
        source.sum(k, c);
        source.put(slot, c);
      }
      continue;
    }
    i64 j = targets[k];
    double x = rule.begin(source, k, j, g);
    for (int c = g.lane; c < vecs; c += g.size) {
      if (!R::summed || vecs > g.size) {  // else `begin` has left it in `total`
        source.sum(k, c);
        source.finish(k, c);
      }
      rule.step(j, c, source.total, x);
    }
  }
}

#define OCCURRENCES                                                                            \
  const i64 *__restrict__ begins, const int *__restrict__ targets, const int *__restrict__ slots, \
      const int *__restrict__ source, const real *__restrict__ coef,                           \
      const vec *__restrict__ d_pooled, vec *__restrict__ partial, int n, int vecs, int size
#define OF_PAIRS                                                                       \
  const int *__restrict__ ids, const real *__restrict__ own, const int *__restrict__ fields, \
      int n_fields, int n_outputs, int d, const vec *table_read

#define KERNELS(name, rule, ...)                                                               \
  KERNEL name##_bag(OCCURRENCES, __VA_ARGS__) {                                                \
    over_items(Bag{begins, source, coef, d_pooled, partial, vecs}, rule, targets, slots, n,    \
               vecs, size);                                                                    \
  }                                                                                            \
  KERNEL name##_pairs(OCCURRENCES, OF_PAIRS, __VA_ARGS__) {                                    \
    Shape shape = {fields, n_fields, n_outputs, d};                                            \
    over_items(Pairs{begins, ids, source, coef, d_pooled, own, table_read, partial, shape, vecs}, \
               rule, targets, slots, n, vecs, size);                                           \
  }                                                                                            \
  KERNEL name##_rows(const i64* __restrict__ begins, const int* __restrict__ targets,          \
                     const vec* __restrict__ values, int n, int vecs, int size, __VA_ARGS__) { \
    over_items(Rows{begins, values, vecs}, rule, targets, nullptr, n, vecs, size);             \
  }
