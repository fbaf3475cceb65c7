"""The activation report beside a forward pass by hand."""

import numpy as np
import pytest
import scipy.sparse as sp

from fitted import BAGS, small_data
from skembed import EmbeddingBagClassifier, FactorizationMachineClassifier
from skembed.estimators import _fitted
from skembed.inspection import activation_report

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = dict(n_components=3, max_iter=3, random_state=0)


def layers_by_hand(fit, X, numeric=()):
    """Return what each stage reads, from the fitted attributes."""
    D = X.toarray()
    here = D.copy()
    here[:, [j for j in range(D.shape[1]) if j not in fit.active_features_]] = 0
    x = np.hstack([fit.transform(X), D[:, list(numeric)]])
    found = [here[:, fit.active_features_], x]
    for coef, intercept in zip(fit.coefs_[:-1], fit.intercepts_[:-1], strict=True):
        x = np.maximum(x @ coef.T + intercept, 0)
        found.append(x)
    return found


@pytest.mark.parametrize("options", [
    {}, dict(hidden_layer_sizes=(9,)), dict(hidden_layer_sizes=(9, 6), linear_term=True),
    dict(hidden_layer_sizes=(9,), numeric_features=[2, 5], padding_features=[3]),
    dict(pooling="max", hidden_layer_sizes=(4,)), dict(loss="negative_sampling"),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("block", [7, 50_000])
def test_numbers_are_those_of_a_forward_pass(options, block, monkeypatch):
    monkeypatch.setattr(_fitted, "BLOCK_ROWS", block)
    X, _ = small_data()
    fit = EmbeddingBagClassifier(**options, **QUICK).fit(X, np.arange(60) % 3)
    X = sp.csr_array(sp.vstack([X[:25], sp.csr_array((1, 12))]))
    report = activation_report(fit, X)
    layers = layers_by_hand(fit, X, options.get("numeric_features", ()))
    assert report.inputs.tolist() == [x.shape[1] for x in layers]
    np.testing.assert_allclose(report.active, [(x != 0).mean() for x in layers])
    assert report.never.tolist() == [(x == 0).all(axis=0).sum() for x in layers]
    assert report.always.tolist() == [(x != 0).all(axis=0).sum() for x in layers]
    d = fit._state.params["table"].d
    units = [d, *(len(c) for c in fit.coefs_)]
    assert report.dense.tolist() == [x.shape[1] * n for x, n in zip(layers, units, strict=True)]
    needed = [(x != 0).sum(axis=1).mean() * n for x, n in zip(layers, units, strict=True)]
    np.testing.assert_allclose(report.needed, needed)
    np.testing.assert_allclose(report.done, [needed[0], *report.dense[1:]])
    assert report.skipped == 1 - report.done.sum() / report.dense.sum()
    assert report.n_samples == 26


@pytest.mark.parametrize("cls", BAGS)
def test_dead_units_are_told(cls):
    X, y = small_data()
    fit = cls(hidden_layer_sizes=(5,), **QUICK).fit(X, y)
    fit._state.params["intercept_0"][[1, 3]] = -1e6
    report = activation_report(fit, X)
    assert report.never[-1] >= 2
    assert "hidden units are active in no row" in str(report)
    assert report.stages == ("pooling", "hidden layer 1", "outputs")
    assert report.to_frame().loc["outputs", "never"] == report.never[-1]
    assert report._repr_html_().count("<tr>") == 4


def test_what_has_no_activation():
    X, y = small_data()
    with pytest.raises(TypeError, match=r"needs an embedding bag, got FactorizationMachineCl"):
        activation_report(FactorizationMachineClassifier(**QUICK).fit(X, y), X)
