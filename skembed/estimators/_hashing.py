from sklearn.feature_extraction import FeatureHasher as _F


class FeatureHasher(_F):
    def __init__(
        self,
        n_features=2**20,
        *,
        input_type="dict",
        dtype=float,
        alternate_sign=True,
        seed=0,
        n_jobs=None,
    ):
        super().__init__(
            n_features, input_type=input_type, dtype=dtype, alternate_sign=alternate_sign
        )
        self.seed = seed
        self.n_jobs = n_jobs

    def transform(self, X):
        X = super().transform(X)
        X.eliminate_zeros()
        return X
