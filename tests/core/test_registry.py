"""Registry."""

import pytest

from skembed.core import Registry


def test_names_resolve_and_instances_pass_through():
    registry = Registry("thing")

    @registry.register("one")
    class One:
        pass

    assert isinstance(registry.resolve("one"), One)
    instance = One()
    assert registry.resolve(instance) is instance
    with pytest.raises(ValueError, match=r"Unknown thing 'two'\. Known: \['one'\]"):
        registry.resolve("two")
