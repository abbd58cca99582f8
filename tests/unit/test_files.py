"""Files that are written atomically: by several writers, after others were killed, and on disks that are full."""

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

from rarefy import _files
from rarefy._files import write_atomically, write_bytes_atomically
from rarefy.cli._app import app

locks = pytest.mark.skipif(_files.fcntl is None, reason="no locks of this kind here")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_threads_that_write_one_path_leave_the_text_of_one(tmp_path):
    path, texts = tmp_path / "page.html", [str(i) * 200_000 for i in range(4)]
    start = threading.Barrier(4)

    def write(text):
        start.wait()
        for _ in range(10):
            write_atomically(path, text)
            assert path.read_text() in texts

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, texts))
    assert names(tmp_path) == ["page.html"]


def test_the_text_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(os, "fsync", lambda handle: done.append("fsync"))
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), replace(*paths)))
    write_atomically(tmp_path / "a.txt", "whole")
    assert done[:2] == ["fsync", "replace"]
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert names(tmp_path) == ["a.txt"]
    assert path.read_text() == "old"


@locks
def test_part_files_of_dead_processes_are_removed_and_those_of_others_are_left(tmp_path):
    path, token = tmp_path / "a.txt", "0123456789abcdef"
    dead, other = tmp_path / f".a.txt.{token}.part", tmp_path / f".b.txt.{token}.part"
    kept = tmp_path / ".a.txt.mine.part"
    for one in (dead, other, kept):
        one.write_text("half")
    write_atomically(path, "whole")
    assert names(tmp_path) == sorted([other.name, kept.name, "a.txt"])

    # A process that is killed while it writes: its part file is kept as long as it lives, and no longer.
    code = f"""
import os, sys, time
from rarefy import _files
os.fsync = lambda handle: (print("writing", flush=True), time.sleep(60))
_files.write_atomically({str(path)!r}, "half")
"""
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout.readline() == "writing\n"
        write_atomically(path, "second")
        assert len([name for name in names(tmp_path) if name.startswith(".a.txt.") and name != kept.name]) == 1
    finally:
        writer.kill()
        writer.communicate()
    write_atomically(path, "third")
    assert names(tmp_path) == sorted([other.name, kept.name, "a.txt"])
    assert path.read_text() == "third"


@locks
def test_a_part_file_that_was_taken_for_abandoned_is_made_again(tmp_path, monkeypatch):
    locked, seen = _files._locked, []

    def raced(file):
        if not seen:  # another process comes between making the file and locking it
            os.unlink(file.name)
        seen.append(file.name)
        return locked(file)

    monkeypatch.setattr(_files, "_locked", raced)
    write_bytes_atomically(tmp_path / "a.bin", b"whole")
    assert len(set(seen)) == 2
    assert names(tmp_path) == ["a.bin"]


def test_names_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("ä" * 120 + ".html")
    write_atomically(path, "whole")
    assert path.read_text() == "whole"


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of Unix")
def test_files_have_the_mode_that_others_have(tmp_path):
    before = os.umask(0o022)
    try:
        write_atomically(tmp_path / "a.txt", "whole")
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o644


def test_a_disk_that_is_full_when_a_page_is_written_is_one_line(tmp_path, monkeypatch):
    def full(study, out):
        raise OSError(errno.ENOSPC, "No space left on device", str(out))

    monkeypatch.setattr("rarefy.cli.demo.run_study", lambda *_: MagicMock())
    for name in ("_table", "_print_best", "findings", "escape"):
        monkeypatch.setattr(f"rarefy.cli.demo.{name}", lambda *_: "")
    monkeypatch.setattr("rarefy.cli.demo.write_page", full)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo.html")])
    assert result.exit_code == 2
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error")]
    assert errors == [f"Error: {tmp_path / 'demo.html'}: No space left on device."]
    assert not list(Path(tmp_path).iterdir())
