// Stochastic gradient descent with momentum, see SGD.

struct Momentum {
  vec *table, *velocity;
  int vecs;
  real keep, lr, mu, a, b;
  static const bool summed = false;
  template <class S> __device__ double begin(S&, i64, i64, const Group&) { return 0; }
  __device__ void step(i64 j, int c, vec g, double) {
    size_t at = j * vecs + c;
    vec u = mu * load(velocity + at) + g;
    store(velocity + at, u);
    store(table + at, keep * load(table + at) - lr * (a * g + b * u));
  }
};

KERNELS(momentum, (Momentum{table, velocity, vecs, keep, lr, mu, a, b}), vec* table, vec* velocity,
        real keep, real lr, real mu, real a, real b)
