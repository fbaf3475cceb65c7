"""Use an installed skembed once, from outside the checkout: ``python tests/smoke.py``."""

import pickle
import sysconfig
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import skembed


def main():
    installed = Path(skembed.__file__).resolve()
    assert installed.is_relative_to(Path(sysconfig.get_path("purelib")).resolve()), installed

    rng = np.random.default_rng(0)
    X = rng.integers(5, size=(300, 3))
    y = np.where(X[:, 0] + X[:, 1] > 4, "high", "low")
    model = make_pipeline(
        OneHotEncoder(dtype=np.float32, handle_unknown="ignore"),
        skembed.EmbeddingBagClassifier(8, tol=0.01, random_state=0),
    )
    accuracy = model.fit(X, y).score(X, y)
    assert accuracy > 0.8, accuracy

    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
    print(f"skembed {skembed.__version__} from its wheel: accuracy {accuracy:.2f}")


if __name__ == "__main__":
    main()
