// One accumulator per row, see RowwiseAdagrad.

// One number a row. The squares of a row are added up in float64 in four sums, every fourth column
// in each, and the step is taken in float64, as on the CPU. Shared memory: one vector a thread.
struct RowwiseAdagrad {
  vec* table;
  real* sum_sq;
  int vecs;
  real keep, lr, eps, share;
  static const bool summed = true;
  template <class S> __device__ double begin(S& source, i64 k, i64 j, const Group& g) {
    SHARED(real, squares);
    real* mine = squares + (size_t)(threadIdx.x - g.lane) * LANES;
    int width = vecs * LANES, whole = width - width % 4, most = g.size * LANES;
    double a = 0, b = 0, c = 0, d = 0;
    for (int first = 0; first < width; first += most) {
      int v = first / LANES + g.lane;
      if (v < vecs) {
        source.sum(k, v);
        source.finish(k, v);
        store((vec*)mine + g.lane, source.total * source.total);
      }
      __syncwarp(g.mask);
      int n = width - first < most ? width - first : most, q = 0;
      for (; first + q + 4 <= whole && q < n; q += 4) {
        a += mine[q];
        b += mine[q + 1];
        c += mine[q + 2];
        d += mine[q + 3];
      }
      for (; q < n; ++q) a += mine[q];
      __syncwarp(g.mask);  // the next squares overwrite what the slowest lane reads
    }
    double s = sum_sq[j] + ((a + b) + (c + d)) * share, root = sqrt(s) + eps;
    __syncwarp(g.mask);  // all lanes have read what one of them now writes
    if (g.lane == 0) sum_sq[j] = (real)s;
    return root > 0 ? lr / root : root;
  }
  __device__ void step(i64 j, int c, vec g, double size) {
    vec* w = table + j * vecs + c;
    vec kept = keep * load(w);
    for (int t = 0; t < LANES; ++t) kept.v[t] = (real)(kept.v[t] - size * g.v[t]);
    store(w, kept);
  }
};

KERNELS(rowwise_adagrad, (RowwiseAdagrad{table, sum_sq, vecs, keep, lr, eps, share}), vec* table,
        real* sum_sq, real keep, real lr, real eps, real share)
