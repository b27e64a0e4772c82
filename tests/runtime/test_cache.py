"""The rules of the kernel cache: what it trusts, what it does where it cannot write, many processes at once."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from simengine.runtime import cache
from simengine.runtime.kernel import Kernel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache folder of this test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(folder))
    monkeypatch.setattr(cache, "_chosen", {})
    return folder


def refused(match):
    return pytest.warns(RuntimeWarning, match=match)


def test_the_folder_is_made_for_this_user_alone(place):
    assert cache.folder() == place
    assert place.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["SIMENGINE_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_relative_folder_is_below_where_the_process_is(name, monkeypatch, tmp_path):
    monkeypatch.delenv("SIMENGINE_CACHE_DIR", raising=False)
    monkeypatch.setattr(cache, "_chosen", {})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, "rel")
    text = 'extern "C" __global__ void work(int n, real* x) { for_each(i, n) x[i] = real(5); }'
    kernel = Kernel(f"{text}  // not compiled before: {name}\n", "work")
    x = np.zeros(3)
    kernel.launch(3, [x])
    assert x.tolist() == [5, 5, 5]
    assert tmp_path in cache.folder().parents and cache.entries()


def test_a_folder_that_others_can_write_is_not_used_and_the_warning_comes_once(place):
    place.mkdir()
    place.chmod(0o777)
    with refused("can be written by others"):
        chosen = cache.folder()
    assert chosen != place
    assert chosen.stat().st_mode & 0o077 == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.folder() == chosen


def test_a_link_is_not_used(place, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place.symlink_to(tmp_path / "elsewhere")
    with refused("is a link"):
        assert cache.folder() != place


def test_a_file_in_the_folders_place_is_not_used(place):
    place.write_text("")
    with refused("cannot be made"):
        assert cache.folder() != place


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_used(place):
    place.mkdir(mode=0o700)
    os.chown(place, 12345, 12345)
    with refused("belongs to user 12345"):
        assert cache.folder() != place


def test_a_folder_that_cannot_be_made_is_replaced(monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", "/proc/no/such/place")
    monkeypatch.setattr(cache, "_chosen", {})
    with refused("cannot be made"):
        assert cache.folder().is_dir()


def test_keys_tell_borders_of_texts():
    assert cache.key_of("ab", "c") != cache.key_of("a", "bc")
    assert cache.key_of("ab", "c") == cache.key_of("ab", "c")


def stored(key: str, label: str = "", suffix: str = ".so", content: bytes = b"code") -> Path:
    with cache.work_folder() as work:
        made = Path(work) / "made"
        made.write_bytes(content)
        return cache.store(key, suffix, made, label)


def test_entries_are_found_listed_and_cleared(place):
    stored("one", "walk_on.cu float32")
    stored("two", "walk.cu float64 8 lanes", ".cubin")
    assert cache.find("one", ".so").read_bytes() == b"code"
    assert cache.find("one", ".cubin") is None
    assert cache.find("three", ".so") is None
    assert [(entry["label"], entry["kind"], entry["bytes"]) for entry in cache.entries()] == [
        ("walk_on.cu float32", "cpu", 4),
        ("walk.cu float64 8 lanes", "gpu", 4),
    ]
    (place / "work-left-by-a-crash").mkdir()
    (place / "notes.txt").write_text("not ours")
    assert cache.clear() == 2
    assert [path.name for path in place.iterdir()] == ["notes.txt"]


def test_clearing_leaves_what_running_processes_compile(place):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    running = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    ended.wait()
    cache.folder()
    kept = [f"work-{running.pid}-a", f"work-{os.getpid()}-b"]
    for name in (*kept, f"work-{ended.pid}-c"):
        (place / name).mkdir()
    cache.clear()
    running.communicate()
    assert {path.name for path in place.iterdir()} == set(kept)


def test_a_folder_that_was_removed_is_made_again(place):
    stored("one")
    shutil.rmtree(place)
    text = 'extern "C" __global__ void put_nine(int n, real* x) { for_each(i, n) x[i] = real(9); }\n'
    x = np.zeros(3)
    Kernel(text, "put_nine").launch(3, [x])
    assert x.tolist() == [9, 9, 9]
    assert place.stat().st_mode & 0o077 == 0 and len(cache.entries()) == 1


def test_a_folder_that_was_removed_and_cannot_be_made_again_is_replaced(place):
    cache.folder()
    place.rmdir()
    place.write_text("")
    with refused("cannot be made"):
        assert cache.folder() != place
    stored("one")
    assert cache.find("one", ".so") is not None


@pytest.mark.parametrize("suffix", cache.SUFFIXES)
@pytest.mark.parametrize("damage", [b"", b"co", b"cods", b"code and more"])
def test_a_damaged_file_is_no_entry_and_is_removed(place, suffix, damage):
    path = stored("one", suffix=suffix)
    path.write_bytes(damage)
    assert cache.find("one", suffix) is None
    assert not path.exists()
    stored("one", suffix=suffix)
    assert cache.find("one", suffix) == path


def test_a_link_is_no_entry(place, tmp_path):
    path = stored("one")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert cache.find("one", ".so") is None


def test_folders_of_compilations_whose_process_is_gone_are_removed(place):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    cache.folder()
    names = {
        f"work-{ended.pid}-old": True,
        "work-named-by-nobody": True,
        f"work-{ended.pid}-new": False,  # perhaps another machine's
        f"work-{os.getpid()}-old": True,
    }
    for name, is_old in names.items():
        (place / name).mkdir()
        if is_old:
            os.utime(place / name, (0, 0))
    cache._chosen.clear()
    cache.folder()
    assert {path.name for path in place.iterdir()} == {f"work-{ended.pid}-new", f"work-{os.getpid()}-old"}


def test_processes_that_compile_the_same_kernel_at_once_all_succeed(place):
    script = (
        "import numpy as np, simengine as sim\n"
        "x = np.zeros(3, np.float32)\n"
        "sim.Kernel('extern \"C\" __global__ void put(int n, real* x) { for_each(i, n) x[i] = real(7); }\\n',"
        " 'put').launch(3, [x])\n"
        "assert x.tolist() == [7, 7, 7]\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen([sys.executable, "-c", script], env=environment) for _ in range(3)]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    assert [path.name for path in place.iterdir() if path.name.startswith("work-")] == []
