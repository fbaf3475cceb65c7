// Groups the occurrences of a batch by table row: what lies around a stable sort of the rows.
//
// The run of a row is cut into chunks of at most CHUNK occurrences, counted from its first one.
#define CHUNK 128

// Writes the table row, the place in the batch and the value of every occurrence. Those of row i of
// the batch begin at offsets[i].
KERNEL list_occurrences(
    const i64* __restrict__ indptr, const int* __restrict__ indices, const real* __restrict__ data,
    const i64* __restrict__ rows, const i64* __restrict__ offsets, int* __restrict__ ids,
    int* __restrict__ source, real* __restrict__ coef, int n, int size) {
  Group g = group_of(size);
  for (i64 i = g.first; i < n; i += g.step) {
    i64 s = indptr[rows[i]], m = indptr[rows[i] + 1] - s, o = offsets[i];
    for (i64 p = g.lane; p < m; p += g.size) {
      ids[o + p] = indices[s + p];
      source[o + p] = (int)i;
      coef[o + p] = data[s + p];
    }
  }
}

// Brings source and coef into order; first[q] = whether a run of a row that trains begins at q.
KERNEL order_occurrences(
    const i64* __restrict__ order, const int* __restrict__ ids, const int* __restrict__ source,
    const real* __restrict__ coef, int* __restrict__ sorted_source, real* __restrict__ sorted_coef,
    int* __restrict__ first, i64 n, int n_trainable) {
  for (i64 q = thread_number(); q < n; q += thread_count()) {
    i64 p = order[q];
    int j = ids[p];
    sorted_source[q] = source[p];
    sorted_coef[q] = coef[p];
    first[q] = j < n_trainable && (q == 0 || ids[order[q - 1]] != j);
  }
}

// Lists the runs, of which number[q] have begun up to q: their rows and where they begin. A last
// entry is where rows that do not train begin.
KERNEL list_runs(
    const i64* __restrict__ order, const int* __restrict__ ids, const int* __restrict__ first,
    const int* __restrict__ number, int* __restrict__ run_ids, i64* __restrict__ starts, i64 n,
    int n_trainable) {
  for (i64 q = thread_number(); q < n; q += thread_count()) {
    int j = ids[order[q]];
    if (first[q]) {
      run_ids[number[q] - 1] = j;
      starts[number[q] - 1] = q;
    }
    bool trains = j < n_trainable;
    if (trains && (q + 1 == n || ids[order[q + 1]] >= n_trainable)) starts[number[q]] = q + 1;
  }
}

// Counts the chunks of each run, and its partial sums: none where there is one chunk.
KERNEL count_chunks(
    const i64* __restrict__ starts, int* __restrict__ chunks, int* __restrict__ partials,
    int* __restrict__ several, int m) {
  for (i64 u = thread_number(); u < m; u += thread_count()) {
    int k = (int)((starts[u + 1] - starts[u] + CHUNK - 1) / CHUNK);
    chunks[u] = k;
    partials[u] = k > 1 ? k : 0;
    several[u] = k > 1;
  }
}

// Lists the chunks: where they begin, the number and the row of their run, and the place of their
// partial sum, -1 for none. And the runs of several chunks: number, row, first partial sum. The
// counts are running totals.
KERNEL list_chunks(
    const int* __restrict__ ids, const i64* __restrict__ starts, const int* __restrict__ chunks,
    const int* __restrict__ partials, const int* __restrict__ several, i64* __restrict__ begins,
    int* __restrict__ runs, int* __restrict__ rows, int* __restrict__ slots,
    int* __restrict__ split_runs, int* __restrict__ split_rows, i64* __restrict__ first_slots,
    int m) {
  for (i64 u = thread_number(); u < m; u += thread_count()) {
    int k = u ? chunks[u - 1] : 0, slot = u ? partials[u - 1] : 0, v = u ? several[u - 1] : 0;
    bool split = chunks[u] - k > 1;
    if (split) {
      split_runs[v] = (int)u;
      split_rows[v] = ids[u];
      first_slots[v] = slot;
    }
    for (i64 p = starts[u]; k < chunks[u]; p += CHUNK, ++k, ++slot) {
      begins[k] = p;
      runs[k] = (int)u;
      rows[k] = ids[u];
      slots[k] = split ? slot : -1;
    }
    if (u == m - 1) {
      begins[chunks[u]] = starts[m];
      first_slots[several[u]] = partials[u];
    }
  }
}
