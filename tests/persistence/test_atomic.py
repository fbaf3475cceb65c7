"""A file that is replaced is the old one or the new one, whatever happens."""

import os
import stat

import pytest

from skembed.persistence import atomic_write


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "file"
    for content in (b"old", b"new one"):
        with atomic_write(path) as file:
            file.write(content)
            assert not path.exists() or path.read_bytes() == b"old"
        assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["file"]


def test_an_error_keeps_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as file:
        file.write(b"half of the n")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_keeps_the_old_file(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "file"
    path.write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        for size in (60_000, 50_001):  # while it is written, and when it is flushed
            with pytest.raises(OSError), atomic_write(path) as file:
                file.write(bytes(size))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "none" / "file"):
        pass


@pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX")
def test_links_and_modes_stay(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to("file")
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with atomic_write(tmp_path / "other") as file:
        file.write(b"new")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "other").stat().st_mode == (tmp_path / "plain").stat().st_mode
