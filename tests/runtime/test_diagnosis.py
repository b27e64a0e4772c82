"""The doctor's findings."""

import os
import subprocess
import sys
from pathlib import Path

from simengine.runtime import build, devices, diagnosis

ROOT = Path(__file__).resolve().parents[2]


def test_a_bare_kernel_runs_on_each_device_and_what_is_missing_says_how_to_mend():
    findings = {finding.name: finding for finding in diagnosis.doctor()}
    for device in devices.devices():
        assert findings[f"kernel on {device.name}"].good, findings[f"kernel on {device.name}"]
    assert findings["python"].good
    assert all(finding.mend for finding in findings.values() if finding.good is None)


def test_a_machine_without_a_compiler_is_told_so(monkeypatch):
    monkeypatch.setattr(build, "find_compiler", lambda: None)
    monkeypatch.setattr(build, "prebuilt_folders", lambda: [])
    finding = next(f for f in diagnosis.doctor() if f.name == "C++ compiler")
    assert finding.good is False
    assert "cpu-jit" in str(finding)


def test_a_compiler_that_is_named_but_not_there_is_a_problem(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    finding = next(f for f in diagnosis.doctor() if f.name == "C++ compiler")
    assert finding.good is False
    assert "no-such-compiler" in finding.detail


def test_a_damaged_cache_is_survived_and_mended(tmp_path):
    """A library cut short ends the process that loads it: a child looks, at a whole cache, then at a damaged one."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SIMENGINE_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "simengine.cli", "doctor"]
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "kernel on cpu: runs" in done.stdout
        libraries = list((tmp_path / "cache").glob("*.so"))
        assert len(libraries) == 2  # the pool and the doctor's own kernel
        for path in libraries:
            path.write_bytes(path.read_bytes()[:5000])
    assert "is damaged: it is compiled again" in done.stderr
