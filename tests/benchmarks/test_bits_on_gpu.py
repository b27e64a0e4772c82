"""The tool that compares many forms on a GPU with the CPU: it tells what differs and what did not end."""

import json

import pytest

from benchmarks import bits_on_gpu
from tests.bits.bits_forms import start

CASE = ("free_bodies_and_chain", "float64")


class PlainForm:
    """What stands for a form: it has ``hashes`` after so many looks."""

    def __init__(self, name: str, hashes: list[str], looks: int):
        self.case, self.name, self.steps, self.done, self.looks = CASE, name, 20, 0, looks
        self.run = self
        self.hashes = lambda: hashes

    def go_on(self) -> bool:
        self.done += self.done < self.looks
        return self.done < self.looks


def test_forms_that_differ_or_do_not_end_are_told(capsys):
    expected = {"free_bodies_and_chain float64 20 steps": ["a", "b", "c"]}
    forms = [
        PlainForm("same", ["a", "b", "c", "of no reference"], 1),
        PlainForm("other", ["a", "x", "y"], 3),
        PlainForm("endless", [], 10**12),
    ]
    found = bits_on_gpu.run_all(forms, limit=0.2)
    assert bits_on_gpu.report(forms, found, expected) == 3
    told = capsys.readouterr().out.splitlines()
    assert "same | 0 of 3 differ" in told[0] and "other | 2 of 3 differ" in told[1]
    assert f"got to step {forms[2].done} of 20" in told[2]


def test_references_are_those_of_a_run_on_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(bits_on_gpu, "REFERENCE_WORLDS", 3)
    assert bits_on_gpu.start_references([CASE], 20, tmp_path).wait() == 0
    run = start(*CASE, worlds=3)
    run.step(20)
    assert json.loads((tmp_path / "cpu.json").read_text()) == {"free_bodies_and_chain float64 20 steps": run.hashes()}


@pytest.mark.gpu
def test_all_forms_of_a_short_run_are_the_same(monkeypatch):
    monkeypatch.setattr("sys.argv", ["", "--scenes", CASE[0], "--precisions", CASE[1], "--steps", "20"])
    assert bits_on_gpu.main() == 0
