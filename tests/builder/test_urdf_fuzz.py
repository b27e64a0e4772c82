"""Damaged files: whatever is cut, doubled, exchanged or misspelt, a URDF is read or refused by an error of ours."""

import re
import warnings
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import simengine as sim

TEXT = (Path(__file__).resolve().parents[2] / "assets/cartpole.urdf").read_text()
PIECES = re.findall(r"<[^>]*>|\s+|[^<\s]+", TEXT)
VALUES = ("0", "-1", "1e308", "-1e308", "1e-308", "nan", "", "0 0 0", "1 2", "rail", "cart", "hinge", "fixed", "planar",
          "floating", "../x.stl", "package://x/y.obj", "٣", "\x00", "&lt;", "x" * 300)  # fmt: skip


@st.composite
def damaged(draw):
    pieces = list(PIECES)
    for _ in range(draw(st.integers(1, 4))):
        i, j = (draw(st.integers(0, len(pieces) - 1)) for _ in range(2))
        kind = draw(st.sampled_from(("drop", "double", "exchange", "value", "cut")))
        if kind == "drop":
            pieces[i] = ""
        elif kind == "double":
            pieces[i] *= 2
        elif kind == "exchange":
            pieces[i], pieces[j] = pieces[j], pieces[i]
        elif kind == "value":
            quoted = [n for n, piece in enumerate(pieces) if '="' in piece]
            n = quoted[i % len(quoted)] if quoted else i
            new = draw(st.sampled_from(VALUES))
            pieces[n] = re.sub(r'="[^"]*"', lambda match, new=new: f'="{new}"', pieces[n], count=1)
        elif draw(st.booleans()):
            pieces = pieces[: i + 1]
    return "".join(pieces)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=damaged())
def test_a_damaged_file_is_read_or_refused_and_leaves_nothing_half_built(tmp_path, text):
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            report = builder.add_urdf(path, filter_overlapping=False)
        except sim.SimError:
            assert not builder.bodies and not builder.joints and not builder.shapes and not builder.equalities
        else:
            assert len(builder.bodies) == report.read["links"]
            builder._assemble("float64", 0)  # what was read can be compiled
