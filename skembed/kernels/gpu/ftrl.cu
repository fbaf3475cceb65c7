// Follow the regularized leader, see FTRL.

struct FTRL {
  vec *table, *z, *n;
  int vecs;
  real lr, beta, l1, l2;
  static const bool summed = false;
  template <class S> __device__ double begin(S&, i64, i64, const Group&) { return 0; }
  __device__ void step(i64 j, int c, vec g, double) {
    size_t at = j * vecs + c;
    vec old = load(n + at), sum = old + g * g, x = load(z + at), w = load(table + at);
    for (int t = 0; t < LANES; ++t) {
      real root = sqrt(sum.v[t]);
      x.v[t] = x.v[t] + (g.v[t] - (root - sqrt(old.v[t])) / lr * w.v[t]);
      real rest = fabs(x.v[t]) - l1, size = rest / ((beta + root) / lr + l2);
      w.v[t] = rest > 0 ? (x.v[t] > 0 ? -size : size) : (real)0;
    }
    store(n + at, sum);
    store(z + at, x);
    store(table + at, w);
  }
};

KERNELS(ftrl, (FTRL{table, z, n_, vecs, lr, beta, l1, l2}), vec* table, vec* z, vec* n_, real lr,
        real beta, real l1, real l2)
