// What happens to listed rows besides their step. ids are distinct.

// Multiplies row j by decay[last[j]], what it has missed, and sets last[j] = now.
KERNEL decay_catch_up(
    const int* __restrict__ ids, vec* __restrict__ table, int* __restrict__ last,
    const real* __restrict__ decay, int n, int vecs, int size, int now) {
  Group g = group_of(size);
  for (i64 u = g.first; u < n; u += g.step) {
    i64 j = ids[u];
    real x = decay[last[j]];
    __syncwarp(g.mask);  // all lanes have read what one of them now writes
    if (g.lane == 0) last[j] = now;
    for (int c = g.lane; c < vecs; c += g.size) {
      vec* w = table + j * vecs + c;
      store(w, x * load(w));
    }
  }
}

// Replays the silent Adam steps of row j since last[j] in one; see kernels/cpu/_catch_up.py.
KERNEL adam_catch_up(
    const int* __restrict__ ids, vec* __restrict__ table, vec* __restrict__ m, vec* __restrict__ v,
    int* __restrict__ last, const real* __restrict__ decay, const real* __restrict__ m_keep,
    const real* __restrict__ v_keep, const real* __restrict__ size_1,
    const real* __restrict__ eps_1, const real* __restrict__ size_2,
    const real* __restrict__ eps_2, int n, int vecs, int size, int now) {
  Group g = group_of(size);
  for (i64 u = g.first; u < n; u += g.step) {
    i64 j = ids[u];
    int p = last[j];
    __syncwarp(g.mask);  // all lanes have read what one of them now writes
    if (g.lane == 0) last[j] = now;
    if (m_keep[p] == 1) continue;  // nothing missed
    for (int c = g.lane; c < vecs; c += g.size) {
      size_t at = j * vecs + c;
      vec x = load(m + at), y = load(v + at), w = load(table + at);
      for (int t = 0; t < LANES; ++t) {
        real root = sqrt(y.v[t]), low = root + eps_1[p], high = root + eps_2[p];
        real move = size_1[p] / low + size_2[p] / high;
        w.v[t] = decay[p] * w.v[t] - x.v[t] * (low > 0 ? move : low);
      }
      store(table + at, w);
      store(m + at, m_keep[p] * x);
      store(v + at, v_keep[p] * y);
    }
  }
}

KERNEL mark_rows(
    const int* __restrict__ ids, int* __restrict__ last, int n, int now) {
  for (i64 u = thread_number(); u < n; u += thread_count()) last[ids[u]] = now;
}

KERNEL count_rows(
    const int* __restrict__ ids, int* __restrict__ counts, int n) {
  for (i64 u = thread_number(); u < n; u += thread_count()) counts[ids[u]] += 1;
}

// Scales the listed rows whose Euclidean norm is above `bound` down to it.
KERNEL limit_rows(
    const int* __restrict__ ids, vec* table, int n, int vecs, int size, double bound) {
  Group g = group_of(size);
  for (i64 u = g.first; u < n; u += g.step) {
    vec* row = table + (size_t)ids[u] * vecs;
    double total = 0;
    for (int c = 0; c < vecs; ++c) {
      vec w = load(row + c);
      for (int t = 0; t < LANES; ++t) total += (double)w.v[t] * (double)w.v[t];
    }
    __syncwarp(g.mask);  // all lanes have read the row that they now scale
    if (total > bound * bound) {
      real x = (real)(bound / sqrt(total));
      for (int c = g.lane; c < vecs; c += g.size) store(row + c, x * load(row + c));
    }
  }
}
