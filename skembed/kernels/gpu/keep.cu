// The rule that writes gradients, and what factorization machines and max pooling need for it.

struct Keep {
  vec* values;
  int vecs;
  static const bool summed = false;
  template <class S> __device__ double begin(S&, i64, i64, const Group&) { return 0; }
  __device__ void step(i64 j, int c, vec g, double) { store(values + j * vecs + c, g); }
};

KERNELS(keep, (Keep{values_out, vecs}), vec* __restrict__ values_out)

KERNEL keep_winners(OCCURRENCES, const int* __restrict__ ids, const ivec* __restrict__ winners,
                    vec* __restrict__ values_out) {
  over_items(Winners{begins, ids, source, coef, d_pooled, winners, partial, vecs},
             Keep{values_out, vecs}, targets, slots, n, vecs, size);
}

// Adds up the partial sums of the runs of several chunks, and leaves out own pairs.
KERNEL join_pairs(const i64* __restrict__ begins, const int* __restrict__ ids,
                  const vec* __restrict__ partial, const vec* __restrict__ table,
                  const int* __restrict__ fields, vec* __restrict__ out, int n, int vecs, int size,
                  int n_fields, int n_outputs, int d) {
  Group g = group_of(size);
  Shape shape = {fields, n_fields, n_outputs, d};
  for (i64 k = g.first; k < n; k += g.step) {
    int j = ids[k];
    for (int c = g.lane; c < vecs; c += g.size) {
      i64 q = begins[k];
      vec total = look(partial + 2 * q * vecs + c), left = look(partial + (2 * q + 1) * vecs + c);
      while (++q < begins[k + 1]) {
        total = total + look(partial + 2 * q * vecs + c);
        left = left + look(partial + (2 * q + 1) * vecs + c);
      }
      total = shape.leave(shape.field(j), c, total, left, table + (size_t)j * vecs);
      store(out + k * vecs + c, total);
    }
  }
}
