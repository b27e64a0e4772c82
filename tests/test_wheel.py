"""A built wheel, in a fresh environment with no compiler on the PATH, runs the demo."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from simengine.runtime import nvrtc

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


def call(*command, **options) -> str:
    """Standard output of a program that must succeed; its errors are shown where it does not."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def without_checkout() -> dict:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built as for a user: nothing but pip's isolated environment has NumPy."""
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "venv", folder / "bare")
    bare = folder / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    call(bare, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT, env=without_checkout())
    (path,) = folder.glob("simengine-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The folder of programs of a fresh environment that has the wheel, with its extra for USD."""
    folder = tmp_path_factory.mktemp("fresh") / "environment"
    call(sys.executable, "-m", "venv", folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    call(programs / "python", "-m", "pip", "install", f"{wheel}[usd]")
    return programs


def environment(programs: Path, cache: Path) -> dict:
    """No compiler, no checkout, an empty cache."""
    cache.mkdir(mode=0o700)
    return {"PATH": str(programs), "HOME": str(cache.parent), "SIMENGINE_CACHE_DIR": str(cache)}


def test_the_wheel_holds_kernels_robots_and_libraries(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in ("kernels_cuda/featherstone.cu", "assets/quadruped.urdf", "_prebuilt/manifest.json", "cli.py"):
        assert f"simengine/{wanted}" in names
    assert any(name.startswith("simengine/_prebuilt/") and name.endswith(".so") for name in names)
    assert not any(name.startswith(("tests/", "benchmarks/", "kernels_cuda/", "assets/")) for name in names)
    assert wheel.name.split("-")[2:4] == ["py3", "none"]
    cubins = {name.rsplit("/")[-1] for name in names if name.endswith(".cubin")}
    if sys.platform == "linux":
        assert {f"featherstone-float32-8-{arch}.cubin" for arch in nvrtc.PREBUILT_ARCHES} < cubins
    assert wheel.stat().st_size < 40e6


def test_the_demo_runs_without_a_compiler(installed, tmp_path):
    settings = {"cwd": tmp_path, "env": environment(installed, tmp_path / "cache")}
    arguments = ("--floating", "--height", 0.5, "--noise", 0.1, "--worlds", 4, "--record", "out/demo.usdc")
    out = call(installed / "simengine", "run", "quadruped", *arguments, **settings)
    assert "simulated 3 s of 4 worlds on cpu" in out
    assert (tmp_path / "out" / "demo.usdc").stat().st_size > 10_000
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_doctor_finds_no_problem_without_a_compiler(installed, tmp_path):
    out = call(installed / "simengine", "doctor", cwd=tmp_path, env=environment(installed, tmp_path / "cache"))
    assert "general kernels are prebuilt" in out
    assert "kernel on cpu: runs" in out
