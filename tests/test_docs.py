"""What the pages say runs as written."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import simengine as sim
from simengine.cli import make_parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("assets/*.md")])


def blocks(page: str) -> list[str]:
    """The indented blocks of a page, without their indentation."""
    found, lines = [], []
    for line in [*(ROOT / page).read_text(encoding="utf-8").splitlines(), "end"]:
        if line.startswith("    ") or (not line.strip() and lines):
            lines.append(line)
        elif lines:
            while not lines[-1].strip():
                lines.pop()
            depth = min(len(text) - len(text.lstrip()) for text in lines if text.strip())
            found.append("\n".join(text[depth:] for text in lines))
            lines = []
    return found


def test_the_script_of_the_readme(tmp_path, monkeypatch, capsys):
    (script,) = (block for block in blocks("README.md") if block.startswith("import simengine"))
    shutil.copy(ROOT / "assets" / "quadruped.urdf", tmp_path / "robot.urdf")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(script, names)
    simulation = names["simulation"]
    assert simulation.time.tolist() == [pytest.approx(2.0)]
    assert np.isfinite(sim.to_numpy(simulation.state.body_q)).all()
    assert "[" in capsys.readouterr().out


def test_the_commands_of_the_readme_are_understood():
    commands = [line for block in blocks("README.md") for line in block.splitlines() if line.startswith("simengine ")]
    assert len(commands) == 6
    for command in commands:
        assert callable(make_parser().parse_args(shlex.split(command, comments=True)[1:]).command)


def test_the_targets_of_the_readme_are_in_the_makefile():
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for page in ("README.md", "docs/performance.md"):
        named = re.findall(r"^    make (\S+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert named
        assert set(named) <= set(targets)


def test_the_kernel_of_its_page(device):
    text, launch = blocks("docs/adding_a_kernel.md")[:2]
    x, y = device.asarray(np.arange(4, dtype=np.float32)), device.asarray(np.ones(4, np.float32))
    names = {"x": x, "y": y, "sim": sim}
    exec(launch.replace('"add_scaled.cu"', "text"), {**names, "text": text})
    assert sim.to_numpy(y).tolist() == [1, 3, 5, 7]


def test_the_scripts_of_the_contacts(capsys):
    """A cup of 1 kg on a table; the ball is 0.1 m wide, 0.2 m above the table, and 0.25 m beside the cup's side."""
    names: dict = {}
    script, ring = blocks("docs/contacts.md")
    exec(script, names)
    contacts, used, found = names["contacts"], names["used"], names["found"]
    assert capsys.readouterr().out.count("table cup\n") == 4
    np.testing.assert_allclose(contacts.force[used].sum(axis=0), [0, 0, 9.81], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(contacts.normal[used], [[0, 0, 1]] * 4, atol=1e-5)
    np.testing.assert_allclose(found.distance, [np.hypot(0.25, 0.1) - 0.1, 0.1], atol=1e-3)
    np.testing.assert_allclose(found.normal[1], [0, 0, -1], atol=1e-6)
    builder = sim.ModelBuilder()
    exec(ring, {"sim": sim, "builder": builder})
    assert [shape.type for shape in builder.shapes] == [sim.enums.ShapeType.SDF]


def test_the_script_of_the_sensors(tmp_path, monkeypatch, capsys):
    """The ball ahead of the cart is 2.5 m from its middle; the camera is 0.3 m ahead of that, 0.6 m up."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(blocks("docs/sensors.md")[0], names)
    np.testing.assert_allclose(sim.to_numpy(names["hits"].distance), [[2.5, 0.5]], rtol=1e-5)
    assert sim.to_numpy(names["distance"])[0, 1, 180] == pytest.approx(2.5, rel=1e-5)
    depth = sim.to_numpy(names["depth"])[0]
    assert depth[24, 32] == pytest.approx(2.7 - np.sqrt(0.5**2 - 0.1**2), abs=0.02)  # half a pixel from the axis
    lowest = np.tan(np.radians(30)) * 47 / 48  # slope of the rays of the last row, which meet the ground
    assert depth[-1, 32] == pytest.approx(0.6 / lowest, rel=1e-5)
    assert (tmp_path / "view.png").stat().st_size > 100


def test_the_script_of_the_contact_sensor(capsys):
    """Of 20 kg and 1 kg: the cup rests on the table, 0.3 m from its middle, and the table on the ground."""
    names: dict = {}
    exec(blocks("docs/sensors.md")[1], names)
    weight, cup = 20 * 9.81, 9.81
    readings = names["readings"]
    np.testing.assert_allclose(readings.force[0, :, 2], [weight, cup], rtol=1e-4)
    np.testing.assert_allclose(readings.pairs[0, :, :, 2], [[0, -cup, weight + cup], [cup, 0, 0]], rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(readings.torque[0], np.zeros((2, 3)), atol=1e-3)
    assert readings.count.tolist() == [[8, 4]]


def test_names_of_the_package_are_there_after_its_import_alone():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    names = set(re.findall(r"(?<!-m )\bsim(?:engine)?((?:\.[A-Za-z_]\w*)+)", text))
    assert len(names) > 20
    look = "for name in sys.argv[1:]: functools.reduce(getattr, name.split('.')[1:], simengine)"
    command = [sys.executable, "-c", f"import functools, sys, simengine\n{look}", *sorted(names)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).is_file(), target


def test_every_file_of_the_kernels_is_on_the_map_once():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+\.(?:h|cu|cpp))`", page.split("## The files of `kernels_cuda/`")[1])
    there = {path.name for path in (ROOT / "kernels_cuda").iterdir()}
    assert sorted(there - set(named)) == []  # files that the page does not name
    assert sorted(set(named) - there) == []  # names of no file
    assert len(named) == len(there)


def test_every_error_class_and_status_bit_is_on_its_page():
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    for name in vars(sim.errors):
        if name.endswith("Error"):
            assert f"`{name}`" in text or f"simengine.{name}" in text, name
    for bit in sim.enums.StatusBit:
        assert f"`{bit.name}`" in text
