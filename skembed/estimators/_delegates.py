"""What a wrapped estimator does, done by the estimator that wraps it."""

from sklearn.base import TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def estimator_has(name):
    """Return a check of whether the wrapped estimator, fitted if it is, has an attribute."""

    def check(self):
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


class Delegates(TransformerMixin):
    """The methods of `estimator_`, where it has them."""

    @property
    def classes_(self):
        """Class labels, sorted; of a classifier."""
        return self.estimator_.classes_

    @available_if(estimator_has("predict"))
    def predict(self, X):
        """Predict by the fitted estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray or sparse matrix
            What `predict` of the wrapped estimator returns.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(estimator_has("predict_proba"))
    def predict_proba(self, X):
        """Compute class probabilities by the fitted estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column a class or label, in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(estimator_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Compute logarithms of class probabilities by the fitted estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column a class or label, in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(X)

    @available_if(estimator_has("decision_function"))
    def decision_function(self, X):
        """Compute raw scores by the fitted estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            What `decision_function` of the wrapped estimator returns.
        """
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    @available_if(estimator_has("predict_top_k"))
    def predict_top_k(self, X, k):
        """Find the k classes or labels with the highest scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to score.
        k : int
            How many, at most the number of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            Classes, or column numbers of labels, best first.
        scores : ndarray of shape (n_samples, k)
            Their scores.
        """
        check_is_fitted(self)
        return self.estimator_.predict_top_k(X, k)

    @available_if(estimator_has("score"))
    def score(self, X, y, sample_weight=None):
        """Score predictions of the fitted estimator, as its own `score` does.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to predict.
        y : array-like
            Their true targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        score : float
            Accuracy of a classifier, R^2 of a regressor.
        """
        check_is_fitted(self)
        return self.estimator_.score(X, y, sample_weight)

    def transform(self, X):
        """Pool the embeddings of the features of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, sparse array} of shape (n_samples, n_features)
            Rows to transform.

        Returns
        -------
        pooled : ndarray
            What `transform` of the wrapped estimator returns.
        """
        check_is_fitted(self)
        return self.estimator_.transform(X)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Checked against the features of fit.

        Returns
        -------
        names : ndarray of str
            The names.
        """
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out(input_features)
