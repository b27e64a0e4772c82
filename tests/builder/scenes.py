"""Small scenes that several tests of the builder use."""

import numpy as np

import simengine as sim


def chain(count=2, builder=None, radius=0.05):
    """A fixed base of links on hinges about Y: bodies ``link_0`` ... with capsules, joints ``hinge_0`` ..."""
    builder = builder or sim.ModelBuilder()
    parent = -1
    for i in range(count):
        body = builder.add_body(label=f"link_{i}")
        builder.add_shape_capsule(body, radius=radius, half_height=0.2, label=f"capsule_{i}")
        offset = (0, 0, 1 if parent < 0 else -0.5, 0, 0, 0, 1)
        builder.add_joint_revolute(parent, body, axis="Y", parent_xform=offset, label=f"hinge_{i}")
        parent = body
    return builder


def random_pose(rng):
    """A pose within a metre or so."""
    q = rng.normal(size=4)
    return (*rng.normal(size=3), *(q / np.linalg.norm(q)))


def random_tree(seed, count=12, rates=True):
    """A tree of bodies on random joints of every kind, with random frames, coordinates and rates."""
    rng = np.random.default_rng(seed)
    builder = sim.ModelBuilder()
    for i in range(count):
        body = builder.add_body(mass=rng.uniform(0.5, 2), com=rng.normal(size=3), inertia=rng.uniform(1, 1.5, 3))
        parent = int(rng.integers(-1, i))
        kind = ("revolute", "prismatic", "ball", "free", "fixed", "universal", "d6", "distance", "d6 ball")[i % 9]
        add_random_joint(builder, rng, kind, parent, body, rates)
    return builder


def add_random_joint(builder, rng, kind, parent, child, rates=True):
    """A joint of the kind with random axes, frames, coordinates and rates."""
    axes = {"revolute": 1, "prismatic": 1, "universal": 2, "d6": 5}.get(kind, 0)
    directions = [rng.normal(size=3) for _ in range(axes)]
    count = {"ball": 3, "free": 6, "distance": 6, "fixed": 0, "d6 ball": 4}.get(kind, axes)
    quaternion = kind in ("ball", "free", "distance", "d6 ball")
    q = rng.normal(size=count + quaternion)
    options = {
        "parent_xform": random_pose(rng),
        "child_xform": random_pose(rng),
        "q": q,
        "qd": rng.normal(size=count) if rates else None,
    }
    if kind == "d6":
        builder.add_joint_d6(parent, child, linear_axes=directions[:2], angular_axes=directions[2:], **options)
    elif kind == "d6 ball":
        builder.add_joint_d6(parent, child, linear_axes=["X"], ball=True, **options)
    else:
        getattr(builder, f"add_joint_{kind}")(parent, child, *directions, **options)
