"""scikit-learn's own tests of HashingVectorizer, run on ours.

They are taken from the installed scikit-learn: all whose text names the class, none is changed or
left out. Deviations:

- warnings are no errors in these tests, as they are none there; they would fail on scikit-learn's
  own classes, too.
"""

import importlib.util
import inspect
import sys

import pytest
import sklearn.feature_extraction.tests.test_text as theirs

import skembed

pytestmark = pytest.mark.filterwarnings("default")


def _with_ours(module):
    """Return a copy of a test module that sees our class instead."""
    source = inspect.getsource(module)
    swapped = source.replace("    HashingVectorizer,\n", "\n", 1)  # lines keep their numbers
    assert swapped != source
    spec = importlib.util.spec_from_loader("sklearn_text_tests_on_skembed", loader=None)
    ours = importlib.util.module_from_spec(spec)
    ours.HashingVectorizer, ours.__file__ = skembed.HashingVectorizer, module.__file__
    sys.modules[spec.name] = ours  # where what they pickle is found again
    exec(compile(swapped, module.__file__, "exec"), vars(ours))
    return ours


for name, test in vars(_with_ours(theirs)).items():
    if name.startswith("test_") and "HashingVectorizer" in inspect.getsource(test):
        globals()[name] = test


def test_the_tests_are_there():
    assert len([name for name in globals() if name.startswith("test_")]) > 15
