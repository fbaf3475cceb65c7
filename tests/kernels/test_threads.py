"""The team of threads and the limit on BLAS."""

import threading

import pytest
from threadpoolctl import threadpool_info

from skembed.kernels._blas import single_blas
from skembed.kernels.cpu._threads import Team


def blas_threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_results_come_in_the_order_of_the_shares():
    before = threading.active_count()
    team = Team(3)
    assert team.run(divmod, [(7, 2), (8, 3), (9, 4)]) == [(3, 1), (2, 2), (2, 1)]
    assert team.run(divmod, [(7, 2)]) == [(3, 1)]
    assert threading.active_count() == before + 2
    team.close()
    assert threading.active_count() == before


def test_shares_that_were_started_are_finished_later():
    team, done = Team(3), []
    team.start(done.append, [(1,), (2,), (3,)])
    with pytest.raises(RuntimeError, match="nobody has finished"):
        team.run(divmod, [(7, 2), (8, 3)])
    assert team.finish() == [None, None, None]
    assert sorted(done) == [1, 2, 3]
    team.start(done.append, [(4,), (5,)])
    team.close()  # waits for those who are busy
    assert 5 in done


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_error_reaches_the_caller_and_the_team_goes_on(bad):
    team = Team(3)
    shares = [(1, 1), (1, 1), (1, 1)]
    shares[bad] = (1, 0)
    with pytest.raises(ZeroDivisionError):
        team.run(divmod, shares)
    assert team.run(divmod, [(7, 2), (8, 3), (9, 4)]) == [(3, 1), (2, 2), (2, 1)]
    team.close()


def test_blas_is_limited_until_the_last_one_leaves():
    before = blas_threads()
    with single_blas():
        assert blas_threads() == {1}
        with single_blas():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == before
