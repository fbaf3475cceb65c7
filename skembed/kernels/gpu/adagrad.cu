// One accumulator per coordinate, see Adagrad.

struct Adagrad {
  vec *table, *sum_sq;
  int vecs;
  real keep, lr, eps;
  static const bool summed = false;
  template <class S> __device__ double begin(S&, i64, i64, const Group&) { return 0; }
  __device__ void step(i64 j, int c, vec g, double) {
    size_t at = j * vecs + c;
    vec s = load(sum_sq + at) + g * g, w = load(table + at);
    for (int t = 0; t < LANES; ++t) {
      real root = sqrt(s.v[t]) + eps, move = lr * g.v[t] / root;
      w.v[t] = keep * w.v[t] - (root > 0 ? move : root);
    }
    store(sum_sq + at, s);
    store(table + at, w);
  }
};

KERNELS(adagrad, (Adagrad{table, sum_sq, vecs, keep, lr, eps}), vec* table, vec* sum_sq, real keep,
        real lr, real eps)
