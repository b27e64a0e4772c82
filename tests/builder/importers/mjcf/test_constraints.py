"""Tuples of custom data: what MuJoCo takes as a member is taken."""

from __future__ import annotations

import mujoco
import pytest

import simengine as sim
from tests.builder.importers.mjcf.mujoco_facts import read

MEMBERS = {
    "camera": "c", "light": "l", "texture": "t", "numeric": "n", "text": "x",
    "body": "b", "xbody": "b", "joint": "j", "geom": "g", "site": "s", "material": "m", "tuple": "u", "key": "k",
    "exclude": "e", "equality": "q", "tendon": "w", "actuator": "a", "sensor": "r",
}  # fmt: skip
SCENE = """<mujoco><asset><texture name="t" type="2d" builtin="flat" width="4" height="4"/><material name="m"/></asset>
<custom><numeric name="n" data="1"/><text name="x" data="a"/>
<tuple name="u"><element objtype="geom" objname="g"/></tuple>
<tuple name="given">{}</tuple></custom>
<worldbody><camera name="c"/><light name="l"/><geom name="g" size="1"/><site name="s"/>
<body name="b"><joint name="j"/><geom size="1"/></body></worldbody>
<contact><exclude name="e" body1="b" body2="world"/></contact><equality><joint name="q" joint1="j"/></equality>
<tendon><fixed name="w"><joint joint="j" coef="1"/></fixed></tendon><actuator><motor name="a" joint="j"/></actuator>
<sensor><jointpos name="r" joint="j"/></sensor><keyframe><key name="k"/></keyframe></mujoco>"""


@pytest.fixture
def path(tmp_path):
    members = "".join(f'<element objtype="{kind}" objname="{MEMBERS[kind]}" prm="2"/>' for kind in MEMBERS)
    result = tmp_path / "scene.xml"
    result.write_text(SCENE.format(members))
    return result


def test_members_of_every_kind_that_mujoco_takes_are_kept(path):
    builder, _ = read(path)
    given = dict(builder.custom)["given"]
    assert given == tuple((kind, name, 2.0) for kind, name in MEMBERS.items())
    m = mujoco.MjModel.from_xml_path(str(path))
    assert m.tuple("given").size[0] == len(given)


def test_tuples_of_an_attached_model_come_with_what_they_name_or_are_noted(tmp_path):
    (tmp_path / "m.xml").write_text(SCENE.format('<element objtype="camera" objname="c"/>'))
    main = tmp_path / "main.xml"
    main.write_text(
        '<mujoco><asset><model name="m" file="m.xml"/></asset><worldbody><attach model="m" prefix="p_"/></worldbody>'
        "</mujoco>"
    )
    builder, report = read(main)
    assert dict(builder.custom) == {"p_u": (("geom", "p_g", 0.0),)}
    assert {note.what for note in report.ignored} >= {"custom 'given'", "custom 'n'", "custom 'x'"}


def test_a_tuple_comes_through_the_process_for_files_from_strangers(path):
    plain, other = read(path)[0], sim.ModelBuilder()
    with pytest.warns(UserWarning):
        other.add_mjcf(path, untrusted=True)
    assert other.custom == plain.custom
