// The look-up of active features: from columns of the user's matrix to rows of the table.

// out[p] = the table row of column indices[p], -1 for none or a stored zero; kept[p] = whether
// there is one.
template <class I>
__device__ __forceinline__ void put_row(const real* data, int* out, int* kept, i64 p, int row) {
  row = data[p] != 0 ? row : -1;
  out[p] = row;
  kept[p] = row >= 0;
}

template <class I>
__device__ __forceinline__ void by_table(const I* indices, const real* data, const int* direct,
                                         int* out, int* kept, i64 n) {
  for (i64 p = thread_number(); p < n; p += thread_count())
    put_row<I>(data, out, kept, p, direct[indices[p]]);
}

template <class I, class C>
__device__ __forceinline__ void by_search(const I* indices, const real* data, const C* columns,
                                          const int* table_rows, i64 n_columns, int* out,
                                          int* kept, i64 n) {
  for (i64 p = thread_number(); p < n; p += thread_count()) {
    i64 j = indices[p], a = 0, b = n_columns;
    while (a < b) {
      i64 middle = (a + b) >> 1;
      if (columns[middle] < j) a = middle + 1;
      else b = middle;
    }
    put_row<I>(data, out, kept, p, a < n_columns && columns[a] == j ? table_rows[a] : -1);
  }
}

#define LOOK_UP(suffix, I)                                                                       \
  KERNEL map_direct_##suffix(                         \
      const I* __restrict__ indices, const real* __restrict__ data,                              \
      const int* __restrict__ direct, int* __restrict__ out, int* __restrict__ kept, i64 n) {    \
    by_table(indices, data, direct, out, kept, n);                                               \
  }                                                                                              \
  KERNEL map_sorted_##suffix(                         \
      const I* __restrict__ indices, const real* __restrict__ data,                              \
      const i64* __restrict__ columns, const int* __restrict__ table_rows, i64 n_columns,        \
      int* __restrict__ out, int* __restrict__ kept, i64 n) {                                    \
    by_search(indices, data, columns, table_rows, n_columns, out, kept, n);                      \
  }
LOOK_UP(int32, int)
LOOK_UP(int64, i64)

// Keeps the values that have a row, of which before[p] come up to p, itself included.
KERNEL compact(
    const int* __restrict__ table_rows, const real* __restrict__ data,
    const i64* __restrict__ before, int* __restrict__ new_rows, real* __restrict__ new_data,
    i64 n) {
  for (i64 p = thread_number(); p < n; p += thread_count()) {
    if (table_rows[p] < 0) continue;
    new_rows[before[p] - 1] = table_rows[p];
    new_data[before[p] - 1] = data[p];
  }
}
