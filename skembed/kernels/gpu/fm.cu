// Factorization machines: sums and scores of a batch, and the gradients of the sums.
//
// Rows of the table are divided as PairShape tells: (n_fields, n_outputs, d), then n_linear direct
// weights. out and d_pooled have one row for each row of the batch and field.

// The sums and scores with one field. work: a row for each group of the grid.
KERNEL fm_forward(
    const i64* __restrict__ indptr, const int* __restrict__ indices, const real* __restrict__ data,
    const i64* __restrict__ rows, const real* __restrict__ scale, const vec* __restrict__ table,
    vec* out, vec* work, real* __restrict__ raw, int n, int vecs, int size, int n_outputs, int d,
    int n_linear) {
  Group g = group_of(size);
  vec* mine = work + g.first * vecs;
  for (i64 i = g.first; i < n; i += g.step) {
    i64 s = indptr[rows[i]], e = indptr[rows[i] + 1];
    real a = scale[i];
    for (int c = g.lane; c < vecs; c += g.size) {
      vec sum = spread(0), square = spread(0);
      i64 p = s;
      for (; p + 4 <= e; p += 4) {
        vec x0 = data[p] * look(table + (size_t)indices[p] * vecs + c);
        vec x1 = data[p + 1] * look(table + (size_t)indices[p + 1] * vecs + c);
        vec x2 = data[p + 2] * look(table + (size_t)indices[p + 2] * vecs + c);
        vec x3 = data[p + 3] * look(table + (size_t)indices[p + 3] * vecs + c);
        sum = sum + ((x0 + x1) + (x2 + x3));
        square = square + ((x0 * x0 + x1 * x1) + (x2 * x2 + x3 * x3));
      }
      for (; p < e; ++p) {
        vec x = data[p] * look(table + (size_t)indices[p] * vecs + c);
        sum = sum + x;
        square = square + x * x;
      }
      sum = a * sum;
      store(out + i * vecs + c, sum);
      store(mine + c, square);
    }
    __syncwarp(g.mask);
    const real *sums = (real*)(out + i * vecs), *squares = (real*)mine;
    for (int o = g.lane; o < n_outputs; o += g.size) {
      real total = 0, norm = 0;
      for (int k = o * d; k < o * d + d; ++k) {
        total += sums[k] * sums[k];
        norm += squares[k];
      }
      real score = (real)0.5 * total - (real)0.5 * (a * a * norm);
      raw[(size_t)o * n + i] = n_linear > 0 ? score + sums[n_outputs * d + o] : score;
    }
    __syncwarp(g.mask);  // the next row of the batch overwrites what the slowest lane reads
  }
}

// The sums by field.
KERNEL ffm_sums(
    const i64* __restrict__ indptr, const int* __restrict__ indices, const real* __restrict__ data,
    const i64* __restrict__ rows, const real* __restrict__ scale, const int* __restrict__ fields,
    const vec* __restrict__ table, vec* __restrict__ out, int n, int vecs, int size, int n_fields) {
  Group g = group_of(size);
  for (i64 r = g.first; r < (i64)n * n_fields; r += g.step) {
    i64 i = r / n_fields, s = indptr[rows[i]], e = indptr[rows[i] + 1];
    int f = (int)(r % n_fields);
    for (int c = g.lane; c < vecs; c += g.size) {
      vec sum = spread(0);
      for (i64 p = s; p < e; ++p) {
        int j = indices[p];
        if (fields[j] == f) sum = sum + data[p] * look(table + (size_t)j * vecs + c);
      }
      store(out + r * vecs + c, scale[i] * sum);
    }
  }
}

// total + the lanes' numbers, one after the other, of which the first `count` lanes have one.
__device__ __forceinline__ real add_in_order(real total, real mine, int count, const Group& g) {
  int base = (threadIdx.x & 31) - g.lane;
  for (int l = 0; l < count; ++l) total += __shfl_sync(g.mask, mine, base + l);
  return total;
}

// The scores from the sums by field. Lanes take occurrences, then pairs of fields, in turns.
KERNEL ffm_scores(
    const i64* __restrict__ indptr, const int* __restrict__ indices, const real* __restrict__ data,
    const i64* __restrict__ rows, const real* __restrict__ scale, const int* __restrict__ fields,
    const real* __restrict__ table, const real* __restrict__ sums, real* __restrict__ raw, int n,
    int vecs, int size, int n_fields, int n_outputs, int d, int n_linear) {
  Group g = group_of(size);
  int width = vecs * LANES, direct = n_fields * n_outputs * d;
  for (i64 r = g.first; r < (i64)n * n_outputs; r += g.step) {
    i64 i = r / n_outputs, s = indptr[rows[i]], e = indptr[rows[i] + 1];
    int o = (int)(r % n_outputs);
    const real* row = sums + (size_t)i * n_fields * width;
    real norm = 0, total = 0, linear = 0;
    for (i64 p = s; p < e; p += g.size) {
      real mine = 0;
      if (p + g.lane < e) {
        int j = indices[p + g.lane];
        const real* own = table + (size_t)j * width + (fields[j] * n_outputs + o) * d;
        for (int k = 0; k < d; ++k) {
          real x = data[p + g.lane] * own[k];
          mine += x * x;
        }
      }
      norm = add_in_order(norm, mine, (int)(e - p < g.size ? e - p : g.size), g);
    }
    for (int f = 0; f < n_fields; ++f) {
      for (int h = f; h < n_fields; h += g.size) {
        int other = h + g.lane;
        real mine = 0;
        if (other < n_fields) {
          const real* a = row + (size_t)f * width + (other * n_outputs + o) * d;
          const real* b = row + (size_t)other * width + (f * n_outputs + o) * d;
          for (int k = 0; k < d; ++k) mine += a[k] * b[k];
          if (other == f) mine = (real)0.5 * mine;
        }
        total = add_in_order(total, mine, n_fields - h < g.size ? n_fields - h : g.size, g);
      }
      if (n_linear > 0) linear += row[(size_t)f * width + direct + o];
    }
    if (g.lane == 0)
      raw[(size_t)o * n + i] = total - (real)0.5 * (scale[i] * scale[i] * norm) + linear;
  }
}

// The gradients of the unscaled sums; own[i, o] = scale[i]^2 d_raw[o, i]. Columns of padding are
// zero.
KERNEL fm_slopes(
    const real* __restrict__ pooled, const real* __restrict__ d_raw,
    const real* __restrict__ scale, real* __restrict__ d_pooled, real* __restrict__ own, int n,
    int width, int n_fields, int n_outputs, int d, int n_linear) {
  int direct = n_fields * n_outputs * d, wide_row = n_fields * width;
  for (i64 at = thread_number(); at < (i64)n * wide_row; at += thread_count()) {
    i64 i = at / wide_row;
    int f = (int)(at % wide_row) / width, k = (int)(at % width);
    real x = 0;
    if (k < direct) {
      int h = k / (n_outputs * d), o = k / d % n_outputs;
      real slope = d_raw[(size_t)o * n + i] * scale[i];
      x = slope * pooled[(i * n_fields + h) * width + (f * n_outputs + o) * d + k % d];
    } else if (k < direct + n_linear) {
      x = d_raw[(size_t)(k - direct) * n + i] * scale[i];
    }
    d_pooled[at] = x;
    if (f == 0 && k < n_outputs) {
      real slope = d_raw[(size_t)k * n + i] * scale[i];
      own[i * n_outputs + k] = slope * scale[i];
    }
  }
}
