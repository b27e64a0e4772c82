"""Small MJCF files, one matter each, against MuJoCo's library: bodies, joints, geoms, mass matrix, bias force."""

from __future__ import annotations

import mujoco
import pytest

import simengine as sim
from tests.builder.importers.mjcf.mujoco_facts import Answer, check_all, check_dynamics, facts_of, read

BODY = '<body pos=".1 .2 .3"><joint axis="0 1 0"/><geom type="box" size=".1 .2 .3"/>{}</body>'


def scene(inside: str, head: str = "", tail: str = "") -> str:
    return f"<mujoco>{head}<worldbody>{inside}</worldbody>{tail}</mujoco>"


def orientation(text: str, compiler: str = "") -> str:
    geom = f'<geom type="box" size=".1 .2 .3" pos="1 2 3" {text}/>'
    return scene(
        f'<body pos="0 0 1" {text}><joint/>{geom}<body {text}><joint type="ball"/>{geom}</body></body>', compiler
    )


CASES = {
    "quat": orientation('quat="1 2 3 4"'),
    "axisangle": orientation('axisangle="1 2 3 40"'),
    "axisangle in radians": orientation('axisangle="1 2 3 .7"', '<compiler angle="radian"/>'),
    "xyaxes": orientation('xyaxes="1 2 3 -1 1 .2"'),
    "xyaxes turned half": orientation('xyaxes="-1 0 0 0 -1 0"'),
    "zaxis": orientation('zaxis="1 -2 .5"'),
    "zaxis down": orientation('zaxis="0 0 -1"'),
    "euler": orientation('euler="20 -30 50"'),
    "euler extrinsic": orientation('euler="20 -30 50"', '<compiler eulerseq="XYZ"/>'),
    "euler mixed": orientation('euler="20 -30 50"', '<compiler eulerseq="zXy"/>'),
    "euler repeated": orientation('euler="20 -30 50"', '<compiler eulerseq="zxz"/>'),
    "own orientation over an inherited one": scene(
        '<body><joint/><geom type="box" size=".1 .2 .3" quat="1 1 0 0"/><geom type="box" size=".1 .2 .3"/></body>',
        '<default><geom euler="0 40 0"/></default>',
    ),
    "nested defaults": scene(
        '<body childclass="b"><joint/><geom size=".1"/><body><joint class="a"/><geom class="a"/>'
        '<body childclass="c"><joint class="main"/><geom/></body></body></body>',
        '<default><joint damping="1" armature=".5"/><geom density="500" friction=".5"/>'
        '<default class="a"><joint damping="2"/><geom size=".2" friction=".6 .7"/></default>'
        '<default class="b"><joint armature=".2" type="slide"/><geom type="box" size=".1 .2 .3" friction=".4"/>'
        '<default class="c"><geom friction=".1 .2 .3" type="sphere"/></default></default></default>',
    ),
    "several top-level defaults": scene(
        "<body><joint/><geom/></body>",
        '<default><geom size=".3"/></default><default class="main"><joint stiffness="3" springref="20"/></default>',
    ),
    "frames": scene(
        '<frame pos="1 0 0" euler="0 0 30"><body pos="0 1 0"><joint axis="1 0 0" pos=".1 .2 .3"/>'
        '<frame euler="40 0 0" pos=".1 .2 .3"><geom type="capsule" size=".1" fromto="0 0 0 1 1 1"/>'
        '<joint axis="0 1 0" pos=".1 0 .2"/><body pos="0 0 1"><joint type="slide" axis="1 1 0"/>'
        '<geom size=".2"/></body></frame></body></frame>'
    ),
    "frame with a childclass": scene(
        '<body><joint/><frame childclass="a" pos="1 0 0"><geom size=".1"/></frame><geom size=".2"/></body>',
        '<default><default class="a"><geom type="box" size=".1 .1 .1" density="10"/></default></default>',
    ),
    "replicate": scene(
        '<replicate count="12" offset=".3 .1 0" euler="0 0 25" sep="-"><body name="a" pos="0 0 1"><joint name="j"/>'
        '<geom name="g" type="box" size=".1 .2 .1" pos="0 0 .2"/></body></replicate>'
    ),
    "replicated geoms": scene(
        '<body name="b"><joint/><replicate count="3" offset="1 0 0" euler="10 20 30"><geom type="box" size=".1 .2 .3"/>'
        "</replicate></body>"
    ),
    "replicates in a replicate": scene(
        '<replicate count="2" offset="0 1 0"><replicate count="3" offset="1 0 0" sep="_"><body name="x">'
        '<joint name="j"/><geom size=".1"/></body></replicate></replicate>'
    ),
    "actuators and tendons are replicated": scene(
        '<site name="s"/><replicate count="2" offset="1 0 0"><body name="x"><joint name="j" damping="1"/>'
        '<geom size=".1"/><site name="t" pos=".2 0 0"/></body></replicate>',
        "",
        '<tendon><spatial name="w"><site site="s"/><site site="t"/></spatial></tendon>'
        '<actuator><motor joint="j" name="m"/><motor tendon="w" name="n" gear="3"/></actuator>',
    ),
    "self attachment": scene(
        '<body name="a"><joint name="j"/><geom size=".1"/></body><frame pos="1 0 0" euler="0 90 0">'
        '<attach body="a" prefix="copy_"/></frame>'
    ),
    "two joints with refs": scene(
        '<body pos="0 0 1" euler="10 20 30"><joint name="a" axis="0 1 0" pos=".1 0 .2" ref="30" springref="10"'
        ' stiffness="2"/><joint name="b" axis="1 0 1" pos=".1 0 .2" ref="-50"/>'
        '<geom type="box" size=".1 .2 .3"/></body>'
    ),
    "sliders then hinges with refs": scene(
        '<body pos="0 0 1" euler="10 20 30"><joint type="slide" axis="1 1 0" ref=".5"/><joint type="slide" axis="0 0 1"'
        ' ref="-.3"/><joint axis="0 1 0" pos=".3 .1 0" ref="30"/><joint axis="0 0 1" pos=".3 .1 0" ref="60"/>'
        '<joint axis="1 0 0" pos=".3 .1 0" ref="-20"/><geom type="box" size=".1 .2 .3"/></body>'
    ),
    "hinges with different anchors": scene(
        '<body name="b" pos="0 0 1" euler="10 20 30"><joint name="a" axis="0 1 0" pos=".3 .1 0" ref="30"/>'
        '<joint axis="0 0 1" name="c" pos="0 .1 .4" ref="60"/><geom type="box" size=".1 .2 .3"/>'
        '<body pos="1 0 0"><joint/><geom size=".1"/></body></body>'
    ),
    "hinge then slider": scene(
        '<body name="b"><joint axis="0 1 0" ref="30" pos=".1 .1 .1"/><joint type="slide" axis="0 0 1" ref=".2"/>'
        '<geom type="box" size=".1 .2 .3"/></body>'
    ),
    "slider then ball": scene(
        '<body name="b" euler="0 30 0"><joint type="slide" axis="0 0 1" ref=".2"/><joint type="ball" pos=".1 .2 .3"'
        ' range="0 40"/><geom type="box" size=".1 .2 .3"/></body>'
    ),
    "hinge then ball": scene(
        '<body name="b" euler="0 30 0"><joint axis="0 0 1" ref="20"/><joint type="ball" pos=".1 .2 .3"/>'
        '<geom type="box" size=".1 .2 .3" pos="1 0 0"/></body>'
    ),
    "four hinges": scene(
        "<body>"
        + "".join(f'<joint axis="{a}" pos="0 .1 0"/>' for a in ("1 0 0", "0 1 0", "0 0 1", "1 1 0"))
        + '<geom type="box" size=".1 .2 .3"/></body>'
    ),
    "free joints": scene(
        '<body pos="1 2 3" euler="10 20 30"><freejoint name="f"/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/>'
        '<body pos="0 0 1"><joint/><geom size=".1"/></body></body><body><joint type="free" damping=".1" armature=".2"/>'
        '<geom size=".1"/></body>'
    ),
    "aligned free joint": scene(
        '<body pos="1 2 3" euler="10 20 30"><freejoint align="true"/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/>'
        '<geom type="box" size=".1 .1 .1" pos="0 .3 .1" euler="10 0 0"/></body>'
    ),
    "a body without mass carries one with": scene(
        '<body name="a" pos="0 0 1"><joint/><body name="b" pos="1 0 0"><geom size=".1"/></body></body>'
    ),
    "explicit inertials": scene(
        '<body><joint/><inertial pos="1 2 3" mass="2" diaginertia=".3 .2 .4" euler="10 20 30"/><geom size="1"/></body>'
        '<body><joint/><inertial pos="1 2 3" mass="2" fullinertia=".3 .25 .4 .01 .02 .03"/></body>'
    ),
    "inertia from geoms of a range of groups": scene(
        '<body><joint/><inertial pos="1 2 3" mass="2" diaginertia=".3 .2 .4"/><geom size=".1" group="1"/>'
        '<geom size=".2" group="2" pos="1 0 0"/><geom size=".3" group="3"/></body>',
        '<compiler inertiafromgeom="true" inertiagrouprange="2 3"/>',
    ),
    "bounds and balance": scene(
        '<body><joint/><geom size=".1" mass=".001"/></body><body><joint/><inertial pos="0 0 0" mass="1"'
        ' diaginertia=".1 .1 .5"/></body>',
        '<compiler boundmass=".1" boundinertia=".01" balanceinertia="true"/>',
    ),
    "total mass": scene(
        '<body><joint/><geom size=".1"/><body><joint/><geom type="box" size=".1 .2 .3"/></body></body>',
        '<compiler settotalmass="5"/>',
    ),
    "mass over density, hollow shapes": scene(
        '<body><joint/><geom type="sphere" size=".1" mass="2" density="5" shellinertia="true"/>'
        '<geom type="box" size=".1 .2 .3" pos="1 0 0" shellinertia="true"/><geom type="capsule" size=".1 .2" '
        'pos="0 1 0" shellinertia="true"/><geom type="cylinder" size=".1 .2" pos="0 0 1" shellinertia="true"/>'
        '<geom type="ellipsoid" size=".1 .2 .3" pos="0 1 1" shellinertia="true"/></body>'
    ),
    "fromto of each kind": scene(
        "<body><joint/>"
        + "".join(
            f'<geom type="{kind}" size=".1" fromto="0 0 {i} 1 2 {i}.5"/>'
            for i, kind in enumerate(("capsule", "cylinder", "box", "ellipsoid"))
        )
        + "</body>"
    ),
    "fuse static bodies": scene(
        '<body name="a" pos="0 0 1"><joint name="j"/><geom size=".1"/><body name="b" pos="1 0 0" euler="0 30 0">'
        '<geom type="box" size=".1 .2 .3"/><body name="c" pos="0 1 0"><joint/><geom size=".2"/></body></body></body>'
        '<body name="d" pos="3 0 0"><geom size=".3"/></body><body name="e"><geom size=".1"/></body>',
        '<compiler fusestatic="true"/>',
        '<contact><exclude body1="a" body2="e"/></contact>',
    ),
    "discard visuals": scene(
        '<body><joint/><geom size=".1"/><geom size=".2" contype="0" conaffinity="0"/></body>',
        '<compiler discardvisual="true"/>',
    ),
    "mocap": scene(
        '<body mocap="true" pos="1 2 3" euler="10 20 30"><geom size=".1"/></body><body gravcomp=".5"><joint/>'
        '<geom size=".1"/></body>'
    ),
    "contact masks": scene(
        '<body><joint/><geom size=".1" contype="3" conaffinity="6" condim="6" friction=".1 .2 .3" priority="2"/>'
        '<geom size=".1" contype="-1" conaffinity="0" pos="1 0 0"/></body>'
    ),
    "springdamper": scene(
        '<body pos="0 0 1" euler="10 20 30"><joint axis="0 1 0" springdamper=".1 .8"/><joint axis="1 0 0"'
        ' springdamper=".2 1"/><geom type="box" size=".1 .2 .3" pos=".2 0 .1"/><body pos="1 0 0"><joint type="ball"'
        ' springdamper=".3 .7"/><geom type="box" size=".1 .2 .3"/></body></body>'
    ),
    "height field": scene(
        '<geom type="hfield" hfield="h" pos="1 0 0"/>',
        '<asset><hfield name="h" nrow="2" ncol="3" size="1 2 .5 .1" elevation="1 2 3 4 5 6"/></asset>',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_model_is_as_mujoco_makes_it(name, tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(CASES[name])
    check_all(facts_of(CASES[name]), Answer(*read(path)))


def test_armature_of_an_actuator_is_in_the_mass_matrix(tmp_path):
    text = scene(
        '<body><joint name="j" armature=".1"/><geom type="box" size=".1 .2 .3"/></body>',
        "",
        '<actuator><motor joint="j" gear="3" armature=".2" damping=".5"/></actuator>',
    )
    path = tmp_path / "scene.xml"
    path.write_text(text)
    answer = Answer(*read(path))
    check_dynamics(facts_of(text), answer)
    (dof,) = answer.builder.joints[0].dofs
    assert (dof.armature, dof.damping) == (pytest.approx(0.1 + 9 * 0.2), pytest.approx(9 * 0.5))


EXTENTS = {"sphere": ".1", "box": "1.5 1.5 .1", "capsule": ".1 .2"}


@pytest.mark.parametrize("size", ["1 1 .1", "0 0 .1"])
@pytest.mark.parametrize("place, kind", [("2 0 .12", "sphere"), ("0 0 .12", "box"), ("5 5 .3", "capsule")])
def test_a_plane_holds_what_is_beside_the_size_that_is_drawn(size, place, kind, tmp_path):
    geom = f'type="{kind}" size="{EXTENTS[kind]}"'
    text = scene(f'<geom type="plane" size="{size}"/><body pos="{place}"><freejoint/><geom {geom}/></body>')
    path = tmp_path / "scene.xml"
    path.write_text(text)
    builder = sim.ModelBuilder()
    builder.add_mjcf(path)
    model = builder.finalize(device="cpu", precision="float64")
    solver = sim.solvers.Featherstone(model, integrator="euler", specialise=False)
    state, after = model.state(), model.state()
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    for _ in range(500):
        solver.step(state, after, model.control(), None, 2e-3)
        state, after = after, state
        mujoco.mj_step(m, d)
    assert d.qpos[2] > 0.09 and state.body_q[0, 2] == pytest.approx(d.qpos[2], abs=1e-6)
