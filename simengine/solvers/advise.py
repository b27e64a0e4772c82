"""Advice: what of a model a step of a given length cannot resolve.

Read from one world of each batch group and, where others differ from it, from those that differ most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simengine.containers import to_numpy
from simengine.dynamics import eval_bias_force, eval_inverse_dynamics
from simengine.enums import BodyFlag, CombineMode, Integrator, JointType, ShapeFlag
from simengine.errors import shortened
from simengine.solvers.rebound import least_ratio, rebound

MASS_RATIO = 1e4
"""Ratio of the masses of neighbours in a chain above which float32 loses the lighter one's inertia in the sum."""

MASS_SHARE = 1e-4
"""Share of its tree's mass below which what a body shows a contact is too little to carry the tree."""

LONGEST_CHAIN = 60
"""Links in a row, above which float32 has no digits left: the condition of their mass matrix grows as the 4th power."""

MOST_ROWS = 100
"""Contacts that differ, and limits, those least damped, whose rebound is looked at."""

MOST_WORLDS = 100
"""Of a batch group, that are looked at: those with the least and the greatest of a number, in the order of READ."""

READ = {
    "shape": ("reference", "impedance", "restitution", "stiffness", "flags", "combine", "priority"),
    "contact_pair": ("reference", "impedance"),
    "dof": (
        *(f"joint_{name}" for name in ("limit_reference", "limit_impedance", "limit_ke", "limit_lower", "limit_upper")),
        *(f"joint_{name}" for name in ("target_ke", "target_kd", "stiffness", "damping", "armature")),
        "dof_inverse_weight",
    ),
    "body": ("mass", "inverse_weight", "inertia", "com", "flags"),
}
"""What is read of each world, by what it is of."""


@dataclass(frozen=True)
class Advice:
    """One warning. ``element``: label or labels; ``problem``: in words; ``value``: the number that is out of bounds;
    ``safe``: a bound that it should keep."""

    element: str
    problem: str
    value: float
    safe: float

    def __str__(self) -> str:
        return f"{self.element}: {self.problem} (now {self.value:.4g}, safe {self.safe:.4g})"


def advise(solver, dt: float) -> list[Advice]:
    """See ``Featherstone.advise``."""
    found, model = [], solver.model
    chosen = [_differing_worlds(model, group.worlds) for group in model.groups]
    masses = _mass_matrices(model, chosen) if solver.integrator == Integrator.EULER else {}
    for group, numbers in zip(model.groups, chosen, strict=True):
        worlds = [_World(model, number) for number in numbers]
        if masses:
            found += _worst(worlds, lambda world: _explicit_springs(world, masses[world.number], dt))
        found += _worst(worlds, lambda world: _short_contacts(world, dt))
        found += _worst(worlds, lambda world: _short_limits(world, dt))
        found += _gaining_contacts(worlds, group.tables, dt, solver.restitution_speed)
        found += _gaining_limits(worlds, dt, solver.restitution_speed)
        found += _worst(worlds, _mass_ratios)
        found += _worst(worlds, _massless_bodies)
        found += _worst(worlds[:1], _long_chain)
    return found


def _differing_worlds(model, worlds: np.ndarray) -> list[int]:
    """The first of the worlds, which have the same structure, and those that differ most from one another."""
    columns = [to_numpy(model.gravity)[worlds]]
    for kind, names in READ.items():
        starts = to_numpy(getattr(model, f"world_{kind}_start"))
        entries = starts[worlds][:, None] + np.arange(starts[worlds[0] + 1] - starts[worlds[0]])
        for name in names:
            values = to_numpy(getattr(model, name if kind == "dof" else f"{kind}_{name}"))
            columns.append(values[entries].reshape(len(worlds), -1))
    chosen = [0]
    for values in columns:
        differing = values[:, (values != values[0]).any(axis=0)]
        if differing.size:
            chosen += [*differing.argmin(axis=0).tolist(), *differing.argmax(axis=0).tolist()]
    return [int(worlds[i]) for i in list(dict.fromkeys(chosen))[:MOST_WORLDS]]


def _worst(worlds: list[_World], check) -> list[Advice]:
    """Of what a check, which gives an advice or None, says of each world the one that is farthest out of bounds."""
    found = [(world, advice) for world in worlds if (advice := check(world))]
    if not found:
        return []
    world, worst = max(found, key=lambda entry: _excess(entry[1]))
    return [replace(worst, element=worst.element + _in_world(world, worlds))]


def _excess(advice: Advice) -> float:
    """How many times its bound a value is, or the other way round."""
    low, high = sorted((abs(advice.value), abs(advice.safe)))
    return high / low if low > 0 else np.inf


def _in_world(world: _World, worlds: list[_World]) -> str:
    return f" in world {world.number}" if len(worlds) > 1 else ""


def _mass_matrices(model, chosen: list[list[int]]) -> dict[int, np.ndarray]:
    """Mass matrix, in float64, of each chosen world at the model's initial coordinates, by the world's number; none
    where no joint has a spring or a drive.

    Column j is the inverse dynamics of a unit acceleration of dof j of every world, less that of none.
    """
    forces = ("joint_stiffness", "joint_target_ke", "joint_target_kd")
    if not any(to_numpy(getattr(model, name)).any() for name in forces):
        return {}
    state = model.state()
    state.joint_qd = 0.0
    starts = to_numpy(model.world_dof_start)
    sizes = np.diff(starts)
    matrices = {world: np.zeros((sizes[world],) * 2) for worlds in chosen for world in worlds}
    rest = to_numpy(eval_bias_force(model, state)).astype(float)
    for j in range(int(sizes.max())):
        unit = np.zeros(model.joint_dof_count, model.precision)
        unit[starts[:-1][sizes > j] + j] = 1
        column = to_numpy(eval_inverse_dynamics(model, state, model.device.asarray(unit))) - rest
        for world, matrix in matrices.items():
            if j < len(matrix):
                matrix[:, j] = column[starts[world] : starts[world + 1]]
    return matrices


class _World:
    """Host copies of one world's rows: ``rows("body_mass", "body")``; indices within stay those of the model.

    ``kinematic``: of each body, whether it is; ``gravity``: m/s2, its size.
    """

    def __init__(self, model, world: int):
        self.model, self.number = model, world
        self.range = {}
        for kind in ("body", "joint", "dof", "shape"):
            first, end = (int(v) for v in to_numpy(getattr(model, f"world_{kind}_start"))[world : world + 2])
            self.range[kind] = slice(first, end)
        self.kinematic = (self.integers("body_flags", "body") & BodyFlag.KINEMATIC) != 0
        self.gravity = float(np.linalg.norm(to_numpy(model.gravity[world])))

    def rows(self, name: str, kind: str) -> np.ndarray:
        return to_numpy(getattr(self.model, name)[self.range[kind]]).astype(float)

    def integers(self, name: str, kind: str) -> np.ndarray:
        return to_numpy(getattr(self.model, name)[self.range[kind]])

    def joint_of_dof(self, dof: int) -> str:
        starts = to_numpy(self.model.joint_qd_start)
        joint = int(np.searchsorted(starts, self.range["dof"].start + dof, side="right")) - 1
        return f"joint {self.model.joint_label[joint]!r}"


def _explicit_springs(world: _World, mass: np.ndarray, dt: float) -> Advice | None:
    """Springs and drives that `euler` takes at the start of the step.

    (M + h B) v+ = (M - h C) v - h K q, q+ = q + h v+ with drive damping C, spring and drive stiffness K and joint
    damping B, all diagonal: on a mode x this is a quadratic in the growth z, with both roots inside the unit circle
    while h^2 x.K x + 2 h x.(C - B) x < 4 x.M x. So the greatest eigenvalue of M^-1 (h^2 K + 2 h (C - B)) is to be
    below 4; where it is 4, z = -1.
    """
    free = np.flatnonzero(world.rows("dof_inverse_weight", "dof") > 0)
    stiffness = (world.rows("joint_stiffness", "dof") + world.rows("joint_target_ke", "dof"))[free]
    excess = (world.rows("joint_target_kd", "dof") - world.rows("joint_damping", "dof"))[free]
    if not ((stiffness > 0) | (excess > 0)).any():
        return None
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(mass[np.ix_(free, free)]))
    except np.linalg.LinAlgError:  # masses too unlike for the precision, of which _mass_ratios warns
        return None

    def modes(h: float):
        return np.linalg.eigh(inverse @ np.diag(h * h * stiffness + 2 * h * excess) @ inverse.T)

    values, vectors = modes(dt)
    if values[-1] < 4:
        return None
    low, high = 0.0, dt  # the limit lies between
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if modes(middle)[0][-1] < 4 else (low, middle)
    shares = (dt * dt * stiffness + 2 * dt * excess) * (inverse.T @ vectors[:, -1]) ** 2
    leading = [free[i] for i in np.argsort(-shares) if shares[i] > 0.1 * shares.max()]
    joints = dict.fromkeys(world.joint_of_dof(int(dof)) for dof in leading)
    problem = "stiffness and damping of springs and drives make euler unstable at this dt; use integrator='implicit'"
    return Advice(shortened(list(joints)), problem, dt, low)


def _too_short(world: _World, constants: np.ndarray, dt: float) -> np.ndarray:
    """Which time constants are raised to 2 dt, by more than round-off, and so are softer than asked for."""
    return constants < 2 * dt * (1 - 4 * float(np.finfo(world.model.precision).eps))


def _short_contacts(world: _World, dt: float) -> Advice | None:
    collides = (world.integers("shape_flags", "shape") & ShapeFlag.COLLIDES) != 0
    soft = collides & (world.rows("shape_stiffness", "shape") == 0)
    constants = world.rows("shape_reference", "shape")[:, 0]
    low = np.flatnonzero(soft & _too_short(world, constants, dt))
    if not low.size:
        return None
    labels = [world.model.shape_label[world.range["shape"].start + i] for i in low[:1000]]
    element = f"shape{'s' if low.size > 1 else ''} {shortened(labels)}"
    softest = low[np.argmin(constants[low])]
    problem = _raised("contact", dt, constants[softest])
    if dt > constants[softest]:
        depth = _rest_depth(world, softest, dt)
        problem = f"dt is too long for contacts: what rests on them sinks by about {depth:.2g} m; {problem}"
    return Advice(element, problem, dt, float(constants[softest]) / 2)


def _short_limits(world: _World, dt: float) -> Advice | None:
    constants = world.rows("joint_limit_reference", "dof")[:, 0]
    low = np.flatnonzero(_soft_limits(world) & _too_short(world, constants, dt))
    if not low.size:
        return None
    element = shortened([world.joint_of_dof(int(i)) for i in low[:1000]])
    return Advice(element, _raised("limit", dt, constants[low].min()), dt, float(constants[low].min()) / 2)


def _soft_limits(world: _World) -> np.ndarray:
    """Which dofs have a limit of the impedance form."""
    limited = np.isfinite(world.rows("joint_limit_lower", "dof")) | np.isfinite(world.rows("joint_limit_upper", "dof"))
    return limited & (world.rows("joint_limit_ke", "dof") == 0)


def _raised(what: str, dt: float, constant: float) -> str:
    return f"{what} time constant {constant:.4g} s is below 2 dt and raised to {2 * dt:.4g} s, which softens the {what}"


def _rest_depth(world: _World, shape: int, dt: float) -> float:
    """m, about how deep a body rests in a shape whose time constant is 2 dt: g (1 - d) (2 dt z)^2."""
    ratio = world.rows("shape_reference", "shape")[shape, 1]
    impedance = min(world.rows("shape_impedance", "shape")[shape, 1], 0.9999)
    return float(world.gravity * (1 - impedance) * np.square(np.minimum(2 * dt * ratio, 1e100)))


def _gaining_contacts(worlds: list[_World], pairs, dt: float, restitution_speed: float) -> list[Advice]:
    """Contacts so little damped for the step that a body can leave one faster than it came. ``pairs``: those of shapes
    that may touch, the tables of the worlds' batch group."""
    all_rows, places = [], []
    for world in worlds:
        materials = _Materials(world)
        first, second, parameter = _distinct_pairs(materials.numbers(), materials.fixed, pairs)
        rows, soft = materials.rows(first, second, parameter)
        all_rows.append(rows[soft])
        contacts = np.sort(np.column_stack([first, second])[soft], axis=1)
        places += [(world, materials.shapes[one], materials.shapes[other]) for one, other in contacts.tolist()]

    def names(worst: int) -> str:
        world, one, other = places[worst]
        labels = world.model.shape_label
        return f"shapes {labels[one]!r} and {labels[other]!r}{_in_world(world, worlds)}"

    return _gaining(np.concatenate(all_rows), dt, restitution_speed, "contact", names, "pairs of materials")


def _gaining_limits(worlds: list[_World], dt: float, restitution_speed: float) -> list[Advice]:
    """The same of joints at their limits."""
    all_rows, places = [], []
    for world in worlds:
        dofs = np.flatnonzero(_soft_limits(world))
        columns = [world.rows(f"joint_limit_{name}", "dof")[dofs] for name in ("reference", "impedance")]
        all_rows.append(np.column_stack([*columns, np.zeros(len(dofs))]))
        places += [(world, int(dof)) for dof in dofs]

    def names(worst: int) -> str:
        world, dof = places[worst]
        return world.joint_of_dof(dof) + _in_world(world, worlds)

    return _gaining(np.concatenate(all_rows), dt, restitution_speed, "limit", names, "degrees of freedom")


def _gaining(rows: np.ndarray, dt: float, restitution_speed: float, what: str, names, kind: str) -> list[Advice]:
    """Of rows as those of rebound.py, those that throw back faster; the worst stands for all."""
    if not len(rows):
        return []
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    least_damped = np.argsort(distinct[:, 1])[:MOST_ROWS]
    speeds = np.zeros(len(distinct))
    speeds[least_damped] = rebound(distinct[least_damped], dt, restitution_speed)
    speeds = speeds[number.reshape(-1)]
    gaining = np.count_nonzero(speeds > 1)
    if not gaining:
        return []
    worst = int(speeds.argmax())
    safe = least_ratio(rows[worst], dt, restitution_speed)
    more = f" and {gaining - 1} more {kind}" if gaining > 1 else ""
    cure = "raise the damping ratio, or shorten dt" if np.isfinite(safe) else "shorten dt, or change the impedance"
    problem = (
        f"the damping ratio of the {what} is too low for dt {dt:.4g} s, so what meets it leaves it up to "
        f"{speeds[worst]:.3g} times as fast; {cure}"
    )
    return [Advice(names(worst) + more, problem, float(rows[worst, 1]), safe)]


def _distinct_pairs(material: np.ndarray, fixed: np.ndarray, pairs):
    """Shapes, shapes, and contact pairs or -1, of the pairs that may touch and move: one of each two materials."""
    first, second, parameter = (pairs[f"pair_{name}"] for name in ("shape0", "shape1", "parameter"))
    moves = ~(fixed[first] & fixed[second])  # two that nothing moves are listed as contact pairs alone
    first, second, parameter = first[moves], second[moves], parameter[moves]
    one, other = material[first], material[second]
    sizes = (material.max(initial=0) + 1, material.max(initial=0) + 1, parameter.max(initial=-1) + 2)
    numbers = np.ravel_multi_index((np.minimum(one, other), np.maximum(one, other), parameter + 1), sizes)
    chosen = np.unique(numbers, return_index=True)[1]
    return first[chosen], second[chosen], parameter[chosen]


class _Materials:
    """What decides how the shapes of a world throw back, and those of all worlds after them, numbered as in the
    tables of a batch group. ``fixed``: of each shape, whether nothing moves it."""

    def __init__(self, world: _World):
        model = world.model
        own, shared = world.range["shape"], slice(int(to_numpy(model.world_shape_start)[-1]), model.shape_count)
        self.shapes = [*range(own.start, own.stop), *range(shared.start, shared.stop)]

        def rows(name: str) -> np.ndarray:
            array = getattr(model, f"shape_{name}")
            return np.concatenate([to_numpy(array[own]), to_numpy(array[shared])]).astype(float)

        self.fixed = rows("immovable") != 0
        self.reference, self.impedance = rows("reference"), rows("impedance")
        self.stiffness, self.restitution = rows("stiffness"), rows("restitution")
        self.combine, self.priority = rows("combine"), rows("priority")
        start, end = (int(i) for i in to_numpy(model.world_contact_pair_start)[world.number : world.number + 2])
        self.pair_reference = to_numpy(model.contact_pair_reference[start:end]).astype(float)
        self.pair_impedance = to_numpy(model.contact_pair_impedance[start:end]).astype(float)

    def numbers(self) -> np.ndarray:
        """Of each shape the number of its material; equal ones have the same."""
        columns = (self.reference, self.impedance, self.stiffness, self.restitution, self.combine, self.priority)
        return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].reshape(-1)

    def rows(self, one: np.ndarray, other: np.ndarray, parameter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of rebound.py of contacts, and which are not in N/m: as contact.h mixes materials, and takes what
        contact pairs say themselves."""
        mode = np.maximum(self.combine[one], self.combine[other])
        higher = np.sign(self.priority[one] - self.priority[other]) * (mode == CombineMode.MJCF)
        share = 0.5 * (1 + higher)[:, None]  # of the first one's values
        reference = share * self.reference[one] + (1 - share) * self.reference[other]
        impedance = share * self.impedance[one] + (1 - share) * self.impedance[other]
        stiff = ((higher >= 0) & (self.stiffness[one] > 0)) | ((higher <= 0) & (self.stiffness[other] > 0))
        in_pair = np.flatnonzero(parameter >= 0)
        own = in_pair[self.pair_reference[parameter[in_pair], 0] > 0]
        reference[own], stiff[own] = self.pair_reference[parameter[own]], False
        own = in_pair[self.pair_impedance[parameter[in_pair], 0] >= 0]
        impedance[own], stiff[own] = self.pair_impedance[parameter[own]], False
        restitution = _combined_restitution(mode, higher, self.restitution[one], self.restitution[other])
        return np.column_stack([reference, impedance, restitution]), ~stiff


def _combined_restitution(mode, higher, one, other) -> np.ndarray:
    """By combine mode; ``higher``: 1 or -1 where the one or the other has priority."""
    cases = {
        CombineMode.AVERAGE: 0.5 * (one + other),
        CombineMode.MINIMUM: np.minimum(one, other),
        CombineMode.MULTIPLY: one * other,
    }
    chosen = [higher > 0, higher < 0, *(mode == case for case in cases)]
    return np.select(chosen, [one, other, *cases.values()], np.maximum(one, other))


def _moving_pairs(world: _World):
    """(child, parent) within the world of every joint between two bodies."""
    first = world.range["body"].start
    parents, children = world.integers("joint_parent", "joint"), world.integers("joint_child", "joint")
    return [(int(c) - first, int(p) - first) for p, c in zip(parents, children, strict=True) if p >= 0]


def _rigid_groups(world: _World) -> tuple[list[int], np.ndarray]:
    """Bodies whose masses act as one: the number of each body's group (-1: the world's), group masses.

    Fixed joints hold bodies together, and to the world; a link of no mass belongs to its neighbour: its parent, or, at
    the root, its child. Kinematic bodies are the world's, as nothing that pulls at them moves them.
    """
    first = world.range["body"].start
    mass = world.rows("body_mass", "body")
    leader = list(range(len(mass)))

    def find(body: int) -> int:
        while body >= 0 and leader[body] != body:
            body = leader[body]
        return body

    def join(child: int, parent: int) -> None:
        low, high = sorted((find(child), find(parent)))
        if low != high:
            leader[high] = low

    for body in np.flatnonzero(world.kinematic):
        join(int(body), -1)
    fixed = world.integers("joint_type", "joint") == JointType.FIXED
    parents, children = (world.integers(f"joint_{end}", "joint") for end in ("parent", "child"))
    at_root = set((children[(parents < 0) & ~fixed] - first).tolist())
    for held, parent, child in zip(fixed.tolist(), parents.tolist(), children.tolist(), strict=True):
        parent, child = max(parent - first, -1), child - first
        hangs = parent >= 0 and (mass[child] == 0 or (mass[parent] == 0 and parent in at_root))
        if held or hangs:
            join(child, parent)
    groups = [find(body) for body in range(len(mass))]
    total = np.zeros(len(mass))
    for body, group in enumerate(groups):
        if group >= 0:
            total[group] += mass[body]
    return groups, total


def _mass_ratios(world: _World) -> Advice | None:
    """Neighbours in a chain; what acts as one body counts as one, and the world as none. The worst stands for all."""
    groups, group_mass = _rigid_groups(world)
    found = set()
    for pair in _moving_pairs(world):
        light, heavy = sorted((groups[body] for body in pair), key=lambda group: group_mass[group])
        if light == heavy or min(light, heavy) < 0:
            continue
        ratio = group_mass[heavy] / max(group_mass[light], 1e-300)
        if ratio > MASS_RATIO:
            found.add((float(ratio), heavy, light))
    if not found:
        return None
    ratio, *worst = max(found)
    names = [_heaviest(world, groups, group) for group in worst]
    more = f" and {len(found) - 1} more pairs" if len(found) > 1 else ""
    problem = "neighbours in a chain differ in mass by this factor"
    return Advice(f"bodies {names[0]!r} and {names[1]!r}{more}", problem, ratio, MASS_RATIO)


def _heaviest(world: _World, groups: list[int], group: int) -> str:
    """Label of the heaviest body of a group."""
    first, mass = world.range["body"].start, world.rows("body_mass", "body")
    members = [body for body, of in enumerate(groups) if of == group]
    return world.model.body_label[first + max(members, key=lambda body: mass[body])]


def _massless_bodies(world: _World) -> Advice | None:
    """Moving bodies that collide and whose effective mass is next to nothing beside that of their tree.

    Contacts are as stiff as the effective mass of the body they touch: a tree that stands on a foot of no mass sinks.
    """
    mass = np.where(world.kinematic, 0, world.rows("body_mass", "body"))
    weight = world.rows("body_inverse_weight", "body")[:, 0]
    root = np.arange(len(mass))
    for child, parent in _moving_pairs(world):
        root[child] = parent
    for _ in range(len(mass)):
        if (root == root[root]).all():
            break
        root = root[root]
    tree_mass = np.bincount(root, mass, len(mass))[root]
    collides = (world.integers("shape_flags", "shape") & ShapeFlag.COLLIDES) != 0
    touched = np.unique(world.integers("shape_body", "shape")[collides]) - world.range["body"].start
    light = {}
    for body in touched[touched >= 0]:
        if world.kinematic[body] or weight[body] == 0:
            continue
        share = float(1 / (weight[body] * tree_mass[body]))
        if share < MASS_SHARE:
            light[world.model.body_label[world.range["body"].start + body]] = share
    if not light:
        return None
    element = f"{'bodies' if len(light) > 1 else 'body'} {shortened(list(light))}"
    problem = "collides and is nearly massless beside its tree, which contacts on it cannot carry; mass share"
    return Advice(element, problem, min(light.values()), MASS_SHARE)


def _long_chain(world: _World) -> Advice | None:
    """The longest row of bodies of a tree that joints let move against each other."""
    if world.model.precision == "float64":
        return None
    first, count = world.range["body"].start, len(world.kinematic)
    children, parents = (world.integers(f"joint_{end}", "joint") - first for end in ("child", "parent"))
    moves = world.integers("joint_type", "joint") != JointType.FIXED
    length, longer = np.zeros(count, int), np.zeros(count, int)
    for _ in range(count):
        longer[children] = np.where(parents >= 0, length[np.maximum(parents, 0)], 0) + moves
        if (longer == length).all():
            break
        length = longer.copy()
    if length.max(initial=0) <= LONGEST_CHAIN:
        return None
    problem = "links follow each other, too many for the digits of float32; finalize with precision='float64'"
    last = world.model.body_label[first + int(length.argmax())]
    return Advice(f"the chain that ends in body {last!r}", problem, float(length.max()), LONGEST_CHAIN)
