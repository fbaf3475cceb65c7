// Stochastic gradient descent, see SGD.

struct SGD {
  vec* table;
  int vecs;
  real keep, lr;
  static const bool summed = false;
  template <class S> __device__ double begin(S&, i64, i64, const Group&) { return 0; }
  __device__ void step(i64 j, int c, vec g, double) {
    vec* w = table + j * vecs + c;
    store(w, keep * load(w) - lr * g);
  }
};

KERNELS(sgd, (SGD{table, vecs, keep, lr}), vec* table, real keep, real lr)
