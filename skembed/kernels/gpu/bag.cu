// Pooled forward gather over bags of rows, pooling factors, and products with a sparse matrix.

// out[i] = scale[i] * the sum of data[p] * table[indices[p]] over row rows[i] of X.
KERNEL bag_forward(
    const i64* __restrict__ indptr, const int* __restrict__ indices, const real* __restrict__ data,
    const i64* __restrict__ rows, const real* __restrict__ scale, const vec* __restrict__ table,
    vec* __restrict__ out, int n, int vecs, int size) {
  Group g = group_of(size);
  for (i64 i = g.first; i < n; i += g.step) {
    i64 p = indptr[rows[i]], e = indptr[rows[i] + 1];
    real a = scale[i];
    for (int c = g.lane; c < vecs; c += g.size) {
      vec sum = add_rows(spread(0), indices, data, table, p, e, vecs, c);
      store(out + i * vecs + c, a * sum);
    }
  }
}

// The componentwise maximum of x E over each bag and the table row it is from, the first of equals;
// zeros and row -1 for an empty bag.
KERNEL bag_max(
    const i64* __restrict__ indptr, const int* __restrict__ indices, const real* __restrict__ data,
    const i64* __restrict__ rows, const vec* __restrict__ table, vec* __restrict__ out,
    ivec* __restrict__ winners, int n, int vecs, int size) {
  Group g = group_of(size);
  for (i64 i = g.first; i < n; i += g.step) {
    i64 s = indptr[rows[i]], e = indptr[rows[i] + 1];
    for (int c = g.lane; c < vecs; c += g.size) {
      vec most = spread(0);
      ivec from;
      for (int t = 0; t < LANES; ++t) from.v[t] = -1;
      for (i64 p = s; p < e; ++p) {
        int j = indices[p];
        vec y = data[p] * look(table + (size_t)j * vecs + c);
        for (int t = 0; t < LANES; ++t) {
          if (p == s || y.v[t] > most.v[t]) {
            most.v[t] = y.v[t];
            from.v[t] = j;
          }
        }
      }
      store(out + i * vecs + c, most);
      winners[i * vecs + c] = from;
    }
  }
}

// out[i] += the sum of data[p] * block[indices[p]] over row first + i of X.
KERNEL times(
    const i64* __restrict__ indptr, const int* __restrict__ indices, const real* __restrict__ data,
    const vec* __restrict__ block, vec* __restrict__ out, i64 first, i64 n, int vecs, int size) {
  Group g = group_of(size);
  for (i64 i = g.first; i < n; i += g.step) {
    i64 p = indptr[first + i], e = indptr[first + i + 1];
    for (int c = g.lane; c < vecs; c += g.size) {
      vec* o = out + i * vecs + c;
      store(o, add_rows(load(o), indices, data, block, p, e, vecs, c));
    }
  }
}

// out[r] = 1 / the sum of |x| over row r; 0 for a row without values.
KERNEL mean_scale(
    const i64* __restrict__ indptr, const real* __restrict__ data, real* __restrict__ out, i64 n) {
  for (i64 r = thread_number(); r < n; r += thread_count()) {
    double total = 0;
    for (i64 p = indptr[r]; p < indptr[r + 1]; ++p) total += fabs((double)data[p]);
    out[r] = (real)(total > 0 ? 1 / total : 0.0);
  }
}

// out[r] = 1 / the root of the sum of x^2 over row r; squares of the raw values may overflow.
KERNEL sqrtn_scale(
    const i64* __restrict__ indptr, const real* __restrict__ data, real* __restrict__ out, i64 n) {
  for (i64 r = thread_number(); r < n; r += thread_count()) {
    double largest = 0, total = 0;
    for (i64 p = indptr[r]; p < indptr[r + 1]; ++p) largest = fmax(largest, fabs((double)data[p]));
    for (i64 p = indptr[r]; p < indptr[r + 1] && largest > 0; ++p) {
      double x = (double)data[p] / largest;
      total += x * x;
    }
    out[r] = (real)(total > 0 ? 1 / largest / sqrt(total) : 0.0);
  }
}
