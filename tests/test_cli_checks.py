"""What options of ``simengine run`` cannot be is refused by name, before a robot is read."""

import re

import pytest

from simengine import cli


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seconds", "-1"), "--seconds: is -1.0; give a positive"),
        (("--seconds", "0.001"), "--seconds: is 0.001, less than one frame"),
        (("--seconds", "1e30"), r"--seconds: 1e\+30 s are 6e\+31 frames of 0.0167 s \(--dt\); at most 1e\+09 are"),
        (("--dt", "1e-300", "--seconds", "1e30"), r"--seconds: 1e\+30 s are inf frames"),
        (("--dt", "nan"), "--dt: is nan"),
        (("--drive-frequency", "-1"), "--drive-frequency: is -1; it must be a number of Hz up to 100000, or 0"),
        (("--drive-frequency", "1e300"), r"--drive-frequency: is 1e\+300; it must be"),
        (("--drive-frequency", "nan"), "--drive-frequency: is nan; it must be"),
        (("--noise", "-1"), "--noise: must be"),
        (("--xform", "1", "2"), "--xform: has 2 numbers; give 3 or 7"),
        (("--xform", "0", "nan", "0"), "--xform: needs finite numbers"),
        (("--xform", *"0010000"), "--xform: its quaternion, the last four numbers, has length zero"),
        (("--height", "inf"), "--height: is inf; give a number of metres"),
        (("--threads", "100000"), "--threads: is 100000; at most 1024"),
        (("--record", "run.mp4"), r"--record: 'run\.mp4' must end in \.usdc"),
    ],
)
def test_an_option_that_cannot_be_is_named(monkeypatch, capsys, arguments, message):
    monkeypatch.setattr("simengine.cli_run._build", lambda options: pytest.fail("the robot was read first"))
    assert cli.main(["run", "pendulum", *arguments]) == 2
    err = capsys.readouterr().err
    assert re.fullmatch(f"error: {message}.*\n", err), err


def test_a_recording_never_replaces_the_file_that_is_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robot.usda").write_text("#usda 1.0\n")
    assert cli.main(["run", "robot.usda", "--record", f"../{tmp_path.name}/robot.usda"]) == 2
    assert re.match("error: --record: .* is the file that is read", capsys.readouterr().err)
    assert (tmp_path / "robot.usda").read_text() == "#usda 1.0\n"
