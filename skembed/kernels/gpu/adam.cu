// Adam with one size of step for all rows, or with one for each row, see AdamW and LazyAdam.

__device__ __forceinline__ void adam(vec* table, vec* m, vec* v, size_t at, vec g, real keep,
                                     real size, real b1, real c1, real b2, real c2, real eps) {
  vec a = b1 * load(m + at) + c1 * g, b = b2 * load(v + at) + c2 * (g * g), w = load(table + at);
  for (int t = 0; t < LANES; ++t) {
    real root = sqrt(b.v[t]) + eps, move = size * a.v[t] / root;
    w.v[t] = keep * w.v[t] - (root > 0 ? move : root);
  }
  store(m + at, a);
  store(v + at, b);
  store(table + at, w);
}

struct Adam {
  vec *table, *m, *v;
  int vecs;
  real keep, size, b1, c1, b2, c2, eps;
  static const bool summed = false;
  template <class S> __device__ double begin(S&, i64, i64, const Group&) { return 0; }
  __device__ void step(i64 j, int c, vec g, double) {
    adam(table, m, v, j * vecs + c, g, keep, size, b1, c1, b2, c2, eps);
  }
};

struct LazyAdam {
  vec *table, *m, *v;
  int* n_steps;
  const double* corr;
  int longest, vecs;
  real keep;
  double lr;
  real b1, c1, b2, c2, eps;
  static const bool summed = false;
  template <class S> __device__ double begin(S&, i64, i64 j, const Group& g) {
    int n = n_steps[j];
    __syncwarp(g.mask);  // all lanes have read what one of them now writes
    if (g.lane == 0) n_steps[j] = n + 1;
    return (real)(lr * corr[n < longest ? n : longest - 1]);
  }
  __device__ void step(i64 j, int c, vec g, double size) {
    adam(table, m, v, j * vecs + c, g, keep, (real)size, b1, c1, b2, c2, eps);
  }
};

KERNELS(adam, (Adam{table, m, v, vecs, keep, size_, b1, c1, b2, c2, eps}), vec* table, vec* m,
        vec* v, real keep, real size_, real b1, real c1, real b2, real c2, real eps)

KERNELS(lazy_adam,
        (LazyAdam{table, m, v, n_steps, corr, longest, vecs, keep, lr, b1, c1, b2, c2, eps}),
        vec* table, vec* m, vec* v, int* n_steps, real keep, double lr,
        const double* __restrict__ corr, int longest, real b1, real c1, real b2, real c2, real eps)
