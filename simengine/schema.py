"""The table of arrays: every array of Model, State, Control, Contacts and Topology, once.

Containers, the C++ structs that kernels receive, ``docs/arrays.md``, save and load and the ``.grad`` twins are
generated from this table. To add an array is to add one row.

A shape is a tuple of count names (see ``COUNTS``) and integers; a name followed by ``+1`` is one longer (offsets).
``dtype`` is ``real`` (float32 or float64, chosen in ``finalize``) or a NumPy dtype name.
"""

# ruff: noqa: E501 (a row of the table is one line)

from __future__ import annotations

from dataclasses import dataclass

COUNTS = {
    "worlds": "worlds of the model",
    "bodies": "bodies of all worlds",
    "joints": "joints of all worlds",
    "coords": "joint coordinates of all worlds (joint_q)",
    "dofs": "degrees of freedom of all worlds (joint_qd)",
    "shapes": "shapes of all worlds, the shared static ones last",
    "sites": "sites of all worlds",
    "equalities": "equality constraints and loop joints of all worlds",
    "contact_pairs": "pairs of shapes of all worlds that touch whatever the rules say, with parameters of their own",
    "meshes": "distinct meshes",
    "mesh_points": "vertices of all meshes",
    "mesh_triangles": "triangles of all meshes",
    "mesh_nodes": "nodes of the trees over the triangles of all meshes that collide as such",
    "hull_points": "vertices of the convex hulls of all meshes that collide as these",
    "hull_neighbours": "edges of these hulls, twice",
    "hull_faces": "faces of these hulls",
    "hull_corners": "corners of all these faces",
    "field_corners": "corners of the blocks of all distance fields",
    "field_blocks": "blocks of all distance fields",
    "field_held": "blocks of these that hold a value at each node",
    "filtered_pairs": "pairs of shapes that a search for pairs passes over",
    "explicit_pairs": "pairs of shapes that touch whatever the rules say, of a model whose pairs are searched for",
    "contact_slots": "contacts that all slabs together can hold",
    # of one world of a batch group
    "links": "bodies of one world and the world itself, which is link 0",
    "link_dofs": "degrees of freedom of one world",
    "kinematic_links": "kinematic bodies of one world",
    "link_coords": "joint coordinates of one world",
    "link_shapes": "shapes of one world, then the shared static ones",
    "pairs": "shape pairs of one world that may touch",
    "pair_slots": "contacts of all pairs of one world, at most",
    "mask_words": "32-bit words of a bit mask over the dofs of one world, for all its dofs (none where there are too many)",
    "group_worlds": "worlds of the batch group",
}

ELEMENTS = {"bodies": "body", "joints": "joint", "shapes": "shape", "sites": "site", "equalities": "equality"}
"""Counts of what a builder adds and labels, and the name of one of each."""

PER_WORLD = {**ELEMENTS, "coords": "coord", "dofs": "dof", "contact_pairs": "contact_pair"}
"""Counts of which each world has a share of its own, and the name of one: ``world_start`` is where a share begins."""


@dataclass(frozen=True)
class Array:
    """One row: an array, its place and its meaning."""

    owner: str  # model, state, control, contacts, topology
    name: str
    shape: tuple
    dtype: str
    unit: str
    meaning: str
    frame: str = ""
    differentiable: bool = False
    solver: str = ""  # the solver whose memory this is (rows of a state that only it makes)
    indexes: str = ""  # the count that its numbers are indices of; for offsets: the count that they end at
    least: int = 0  # the least of such an index: -1 where that stands for the world, or for none

    @property
    def is_offsets(self) -> bool:
        """Whether the array holds one entry more than there are things: where each begins, and the end."""
        return str(self.shape[0]).endswith("+1")

    @property
    def over(self) -> str:
        """The count that the array runs over."""
        return self.shape[0].removesuffix("+1")


def _rows(owner: str, *rows: tuple, **common) -> list[Array]:
    return [Array(owner, *row[:5], **{**common, **(row[5] if len(row) > 5 else {})}) for row in rows]


_D = {"differentiable": True}


def _d(frame: str = "") -> dict:
    return {"frame": frame, "differentiable": True}


def _f(frame: str) -> dict:
    return {"frame": frame}


def _i(indexes: str, least: int = 0) -> dict:
    return {"indexes": indexes, "least": least}


# fmt: off
TABLE: list[Array] = [
    *_rows(
        "model",
        # worlds
        ("gravity", ("worlds", 3), "real", "m/s2", "acceleration of gravity", _d("world")),
        ("world_body_start", ("worlds+1",), "int32", "", "first body of each world", _i("bodies")),
        ("world_joint_start", ("worlds+1",), "int32", "", "first joint of each world", _i("joints")),
        ("world_coord_start", ("worlds+1",), "int32", "", "first coordinate of each world", _i("coords")),
        ("world_dof_start", ("worlds+1",), "int32", "", "first degree of freedom of each world", _i("dofs")),
        ("world_shape_start", ("worlds+1",), "int32", "", "first shape of each world; the last entry is the first shared static shape", _i("shapes")),
        ("world_site_start", ("worlds+1",), "int32", "", "first site of each world", _i("sites")),
        ("world_equality_start", ("worlds+1",), "int32", "", "first equality of each world", _i("equalities")),
        ("world_contact_pair_start", ("worlds+1",), "int32", "", "first contact pair of each world", _i("contact_pairs")),
        ("world_group", ("worlds",), "int32", "", "batch group of each world"),
        ("random_key", ("worlds",), "uint64", "", "default key of each world's random numbers"),
        # bodies
        ("body_mass", ("bodies",), "real", "kg", "mass", _D),
        ("body_com", ("bodies", 3), "real", "m", "centre of mass", _d("body")),
        ("body_inertia", ("bodies", 3, 3), "real", "kg m2", "inertia about the centre of mass", _d("body")),
        ("body_inverse_weight", ("bodies", 2), "real", "1/kg, 1/(kg m2)", "mean inverse inertia at the reference pose, linear and angular"),
        ("body_flags", ("bodies",), "int32", "", "bit 0: kinematic"),
        ("body_world", ("bodies",), "int32", "", "world of the body", _i("worlds")),
        ("body_q", ("bodies", 7), "real", "m, -", "initial pose of the body frame", _d("world")),
        ("body_qd", ("bodies", 6), "real", "m/s, rad/s", "initial velocity of the centre of mass, angular velocity", _d("world")),
        # joints
        ("joint_type", ("joints",), "int32", "", "JointType"),
        ("joint_parent", ("joints",), "int32", "", "parent body, -1 the world", _i("bodies", -1)),
        ("joint_child", ("joints",), "int32", "", "child body", _i("bodies")),
        ("joint_q_start", ("joints+1",), "int32", "", "first coordinate of each joint", _i("coords")),
        ("joint_qd_start", ("joints+1",), "int32", "", "first degree of freedom of each joint", _i("dofs")),
        ("joint_parent_xform", ("joints", 7), "real", "m, -", "joint frame on the parent", _d("parent body")),
        ("joint_child_xform", ("joints", 7), "real", "m, -", "joint frame on the child", _d("child body")),
        ("joint_swing_limit", ("joints", 2), "real", "rad", "swing limits of a ball joint about y and z; infinite: none"),
        ("joint_twist_limit", ("joints", 2), "real", "rad", "lower and upper twist of a ball joint; infinite: none"),
        ("joint_angle_limit", ("joints",), "real", "rad", "largest rotation angle of a ball joint (MJCF's range); infinite: none"),
        ("joint_q", ("coords",), "real", "m, rad, -", "initial joint coordinates", _D),
        ("joint_qd", ("dofs",), "real", "m/s, rad/s", "initial joint rates", _D),
        # degrees of freedom
        ("joint_axis", ("dofs", 3), "real", "-", "axis of the degree of freedom, unit", _d("joint, on the parent")),
        ("joint_armature", ("dofs",), "real", "kg, kg m2", "inertia added to the diagonal of the mass matrix", _D),
        ("joint_damping", ("dofs",), "real", "N s/m, N m s/rad", "viscous damping", _D),
        ("joint_stiffness", ("dofs",), "real", "N/m, N m/rad", "spring towards joint_spring_ref", _D),
        ("joint_spring_ref", ("dofs",), "real", "m, rad", "rest coordinate of the spring (a ball joint's rotation vector)", _D),
        ("joint_friction", ("dofs",), "real", "N, N m", "dry friction", _D),
        ("joint_friction_reference", ("dofs", 2), "real", "s, -", "time constant and damping ratio of the friction row"),
        ("joint_friction_impedance", ("dofs", 5), "real", "-", "impedance of the friction row"),
        ("joint_target_ke", ("dofs",), "real", "N/m, N m/rad", "drive stiffness", _D),
        ("joint_target_kd", ("dofs",), "real", "N s/m, N m s/rad", "drive damping", _D),
        ("joint_target_pos", ("dofs",), "real", "m, rad", "initial drive target", _D),
        ("joint_target_vel", ("dofs",), "real", "m/s, rad/s", "initial drive rate", _D),
        ("joint_effort_limit", ("dofs",), "real", "N, N m", "largest effort of the drive; infinite: none"),
        ("joint_velocity_limit", ("dofs",), "real", "m/s, rad/s", "largest rate, either sign; infinite: off"),
        ("joint_limit_lower", ("dofs",), "real", "m, rad", "lower limit; -infinite: none"),
        ("joint_limit_upper", ("dofs",), "real", "m, rad", "upper limit; infinite: none"),
        ("joint_limit_ke", ("dofs",), "real", "N/m, N m/rad", "limit stiffness; 0: the reference form"),
        ("joint_limit_kd", ("dofs",), "real", "N s/m, N m s/rad", "limit damping, with joint_limit_ke"),
        ("joint_limit_reference", ("dofs", 2), "real", "s, -", "time constant and damping ratio of the limit (of a ball joint: its first dof)"),
        ("joint_limit_impedance", ("dofs", 5), "real", "-", "impedance of the limit"),
        ("joint_limit_margin", ("dofs",), "real", "m, rad", "distance from the limit at which it begins to act"),
        ("dof_inverse_weight", ("dofs",), "real", "1/kg, 1/(kg m2)", "diagonal of the inverse mass matrix at the reference pose, averaged over the dofs of one joint of a kind"),
        # shapes
        ("shape_type", ("shapes",), "int32", "", "ShapeType"),
        ("shape_body", ("shapes",), "int32", "", "body, -1 the world", _i("bodies", -1)),
        ("shape_world", ("shapes",), "int32", "", "world, -1 shared by all", _i("worlds", -1)),
        ("shape_flags", ("shapes",), "int32", "", "bit 0: collides, bit 1: visible"),
        ("shape_xform", ("shapes", 7), "real", "m, -", "pose on its body", _d("body")),
        ("shape_size", ("shapes", 3), "real", "m", "sphere: radius; box: half extents; capsule, cylinder, cone: radius, half height; ellipsoid: semi-axes; plane: half sizes of what is drawn and rays meet, 0 endless; mesh: scale; distance field: 1", _D),
        ("shape_mesh", ("shapes",), "int32", "", "mesh index, -1 none", _i("meshes", -1)),
        ("shape_radius", ("shapes",), "real", "m", "radius of the bounding sphere about the shape's origin; infinite for a plane"),
        ("shape_inradius", ("shapes",), "real", "m", "radius of the largest ball about the shape's origin that is in it; infinite for a plane, 0 for a mesh and a height field; of a distance field minus half of what it is thick where it is thinnest"),
        ("shape_radius_size", ("shapes", 3), "real", "m", "the shape_size that shape_radius and shape_inradius are of: Model.update finds them anew where it is another"),
        ("shape_friction", ("shapes",), "real", "-", "sliding friction", _D),
        ("shape_static_friction", ("shapes",), "real", "-", "friction below the stiction speed", _D),
        ("shape_torsional_friction", ("shapes",), "real", "m", "torsional friction (contact dimension 4)", _D),
        ("shape_rolling_friction", ("shapes",), "real", "m", "rolling friction (contact dimension 6)", _D),
        ("shape_restitution", ("shapes",), "real", "-", "coefficient of restitution", _D),
        ("shape_reference", ("shapes", 2), "real", "s, -", "time constant and damping ratio"),
        ("shape_impedance", ("shapes", 5), "real", "-", "impedance: d0, dmax, width, midpoint, power"),
        ("shape_stiffness", ("shapes",), "real", "N/m", "SI stiffness; 0: the impedance form", _D),
        ("shape_dissipation", ("shapes",), "real", "s/m", "SI dissipation, with shape_stiffness", _D),
        ("shape_combine", ("shapes",), "int32", "", "CombineMode of the material"),
        ("shape_priority", ("shapes",), "int32", "", "MJCF priority"),
        ("shape_contact_dim", ("shapes",), "int32", "", "contact dimension: 1, 3, 4, 6"),
        ("shape_margin", ("shapes",), "real", "m", "surfaces rest at this separation"),
        ("shape_gap", ("shapes",), "real", "m", "detection reaches this much further"),
        ("shape_group", ("shapes",), "int32", "", "collision group"),
        ("shape_contype", ("shapes",), "int32", "", "bits of which one must be in the other shape's shape_conaffinity, or the other way round"),
        ("shape_conaffinity", ("shapes",), "int32", "", "see shape_contype"),
        ("shape_rigid_body", ("shapes",), "int32", "", "leading body of those fixed together with the shape's own, -1 the world", _i("bodies", -1)),
        ("shape_parent_body", ("shapes",), "int32", "", "leading body of the parent that the shape does not touch, -1 none", _i("bodies", -1)),
        ("shape_immovable", ("shapes",), "int32", "", "1: nothing moves the shape, or it is kinematic"),
        ("shape_color", ("shapes", 4), "float32", "-", "red, green, blue, opacity"),
        # contact pairs, in the order in which the builder was told of them
        ("contact_pair_shape0", ("contact_pairs",), "int32", "", "one shape of the pair", _i("shapes")),
        ("contact_pair_shape1", ("contact_pairs",), "int32", "", "the other shape", _i("shapes")),
        ("contact_pair_dim", ("contact_pairs",), "int32", "", "contact dimension; 0: that of the two shapes"),
        ("contact_pair_friction", ("contact_pairs", 5), "real", "-, -, m, m, m", "sliding friction along the two tangents, torsional friction, rolling friction about the two tangents; first one negative: all of the two shapes"),
        ("contact_pair_reference", ("contact_pairs", 2), "real", "s, -", "time constant and damping ratio; 0: of the two shapes"),
        ("contact_pair_friction_reference", ("contact_pairs", 2), "real", "s, -", "the same of the tangents of an elliptic cone; 0: that of the normal"),
        ("contact_pair_impedance", ("contact_pairs", 5), "real", "-", "impedance; first one negative: of the two shapes"),
        ("contact_pair_margin", ("contact_pairs",), "real", "m", "surfaces rest at this separation; negative: the sum of the two shapes' margins"),
        ("contact_pair_gap", ("contact_pairs",), "real", "m", "detection reaches this much further; negative: the sum of the two shapes' gaps"),
        # pairs of shapes that the search of a model without a list of pairs is told of, sorted
        ("filtered_shape0", ("filtered_pairs",), "int32", "", "first shape of each pair that the search passes over: those that do not touch, and explicit ones", _i("shapes")),
        ("filtered_shape1", ("filtered_pairs",), "int32", "", "second shape, of a higher number", _i("shapes")),
        ("explicit_shape0", ("explicit_pairs",), "int32", "", "first shape of each pair that touches whatever the rules say", _i("shapes")),
        ("explicit_shape1", ("explicit_pairs",), "int32", "", "second shape; the first has the smaller ShapeType", _i("shapes")),
        ("explicit_parameter", ("explicit_pairs",), "int32", "", "contact pair that it is", _i("contact_pairs")),
        # sites, equalities, meshes
        ("site_body", ("sites",), "int32", "", "body, -1 the world", _i("bodies", -1)),
        ("site_xform", ("sites", 7), "real", "m, -", "pose on its body", _f("body")),
        ("equality_type", ("equalities",), "int32", "", "EqualityType"),
        ("equality_object0", ("equalities",), "int32", "", "first body or joint, -1 the world"),
        ("equality_object1", ("equalities",), "int32", "", "second body or joint, -1 the world"),
        ("equality_xform0", ("equalities", 7), "real", "m, -", "anchor frame on the first body", _f("body")),
        ("equality_xform1", ("equalities", 7), "real", "m, -", "anchor frame on the second body", _f("body")),
        ("equality_data", ("equalities", 8), "real", "", "polynomial of a joint equality; lower and upper of a distance; axis of a loop hinge or slider"),
        ("mesh_point_start", ("meshes+1",), "int32", "", "first vertex of each mesh", _i("mesh_points")),
        ("mesh_triangle_start", ("meshes+1",), "int32", "", "first triangle of each mesh", _i("mesh_triangles")),
        ("mesh_point", ("mesh_points", 3), "real", "m", "vertices", _f("mesh")),
        ("mesh_triangle", ("mesh_triangles", 3), "int32", "", "vertex indices, counted from the first vertex of the mesh", _i("mesh_points")),
        # of meshes that collide as triangles: a complete binary tree of boxes; node 1 is the root, nodes 2 i and 2 i + 1 are below node i
        ("mesh_neighbour", ("mesh_triangles", 3), "int32", "", "triangle (of all) across the edge from corner i to i + 1, -1 none", _i("mesh_triangles", -1)),
        ("mesh_order", ("mesh_triangles",), "int32", "", "triangles (of all) in the order of the leaves: of n triangles of a mesh and m leaves, leaf i has i n / m to (i + 1) n / m - 1", _i("mesh_triangles")),
        ("mesh_node_start", ("meshes+1",), "int32", "", "first node of each mesh: twice as many as leaves, none where it does not collide as triangles", _i("mesh_nodes")),
        ("mesh_lower", ("mesh_nodes", 3), "real", "m", "least coordinates in a node", _f("mesh")),
        ("mesh_upper", ("mesh_nodes", 3), "real", "m", "largest coordinates in a node", _f("mesh")),
        ("mesh_solid", ("meshes",), "int32", "", "1: its triangles close up, wound outwards, and it collides as such: what it holds is pushed out; 2: it is convex as well"),
        ("mesh_grid", ("meshes", 2), "int32", "", "rows and columns of the vertices of a height field; 0, 0: another mesh"),
        # convex hulls of meshes that collide as these
        ("mesh_hull_point_start", ("meshes+1",), "int32", "", "first vertex of the hull of each mesh", _i("hull_points")),
        ("mesh_hull_face_start", ("meshes+1",), "int32", "", "first face of the hull of each mesh", _i("hull_faces")),
        ("hull_point", ("hull_points", 3), "real", "m", "vertices", _f("mesh")),
        ("hull_neighbour_start", ("hull_points+1",), "int32", "", "first neighbour of each vertex", _i("hull_neighbours")),
        ("hull_neighbour", ("hull_neighbours",), "int32", "", "vertices (of all) that an edge joins to it", _i("hull_points")),
        ("hull_face_normal", ("hull_faces", 3), "real", "-", "outward normal of each face, unit", _f("mesh")),
        ("hull_face_start", ("hull_faces+1",), "int32", "", "first corner of each face", _i("hull_corners")),
        ("hull_corner", ("hull_corners",), "int32", "", "vertices (of all) of the faces, counter-clockwise seen from outside", _i("hull_points")),
        # distance fields (kernels_cuda/sdf.h): of meshes that are the surface of one
        ("mesh_field_blocks", ("meshes", 3), "int32", "", "blocks of 8 cells of the grid along x, y and z; 0, 0, 0: no distance field"),
        ("mesh_field_origin", ("meshes", 3), "real", "m", "first node of the grid", _f("mesh")),
        ("mesh_field_voxel", ("meshes",), "real", "m", "size of a cell"),
        ("mesh_field_slope", ("meshes",), "real", "-", "the field changes by no more than this per m"),
        ("mesh_field_inner", ("meshes", 4), "real", "m", "the node at which the field is least, and the field there", _f("mesh")),
        ("mesh_field_corner_start", ("meshes+1",), "int32", "", "first corner of each grid's blocks", _i("field_corners")),
        ("mesh_field_block_start", ("meshes+1",), "int32", "", "first block of each grid", _i("field_blocks")),
        ("field_corner", ("field_corners",), "real", "m", "distance at the corners of blocks, z fastest"),
        ("field_slot", ("field_blocks",), "int32", "", "row of field_node that a block holds, -1 none", _i("field_held", -1)),
        ("field_node", ("field_held", 729), "real", "m", "distance at the 9 x 9 x 9 nodes of a block, z fastest"),
    ),
    *_rows(
        "state",
        ("joint_q", ("coords",), "real", "m, rad, -", "joint coordinates", _D),
        ("joint_qd", ("dofs",), "real", "m/s, rad/s", "joint rates", _D),
        ("body_q", ("bodies", 7), "real", "m, -", "pose of the body frame; a step of Featherstone writes it and reads joint_q alone: after writing it call eval_ik", _d("world")),
        ("body_qd", ("bodies", 6), "real", "m/s, rad/s", "velocity of the centre of mass, angular velocity; read and written as body_q is", _d("world")),
        ("time", ("worlds",), "float64", "s", "simulated time"),
        ("step_count", ("worlds",), "int64", "", "steps since the start or the last reset"),
        ("draw_count", ("worlds",), "int64", "", "random draws made; never reset"),
        ("random_key", ("worlds",), "uint64", "", "key of the world's random numbers"),
        ("status", ("worlds",), "int32", "", "sticky status bits, see StatusBit"),
        ("status_step", ("worlds",), "int64", "", "step_count at which the first bit of status was set; 0 where none is"),
    ),
    *_rows(
        "state",
        ("featherstone_qacc", ("dofs",), "real", "m/s2, rad/s2", "joint accelerations of the last step: the next solve starts from them"),
        solver="Featherstone",
    ),
    *_rows(
        "control",
        ("joint_f", ("dofs",), "real", "N, N m", "effort on each degree of freedom", _D),
        ("body_f", ("bodies", 6), "real", "N, N m", "force, and torque about the centre of mass", _d("world")),
        ("joint_target_pos", ("dofs",), "real", "m, rad", "drive targets (a ball joint's rotation vector)", _D),
        ("joint_target_vel", ("dofs",), "real", "m/s, rad/s", "drive rates", _D),
        ("kinematic_q", ("bodies", 7), "real", "m, -", "where each kinematic body is to be at the end of the step", _f("world")),
        ("equality_active", ("equalities",), "int32", "", "1: the equality acts"),
    ),
    *_rows(
        "contacts",
        ("world_start", ("worlds+1",), "int32", "", "first slot of each world's slab"),
        ("count", ("worlds",), "int32", "", "contacts in each slab"),
        ("needed", ("worlds",), "int32", "", "contacts that there were to write; above the slab's size some were left out and the status says so"),
        ("shape0", ("contact_slots",), "int32", "", "first shape"),
        ("shape1", ("contact_slots",), "int32", "", "second shape"),
        ("feature", ("contact_slots",), "int32", "", "feature of the pair, its number within the pair"),
        ("parameter", ("contact_slots",), "int32", "", "contact pair of the model whose parameters act; -1: those of the two shapes, combined"),
        ("point0", ("contact_slots", 3), "real", "m", "witness point on the first shape", _f("its body")),
        ("point1", ("contact_slots", 3), "real", "m", "witness point on the second shape", _f("its body")),
        ("normal", ("contact_slots", 3), "real", "-", "from the first shape to the second", _f("world")),
        ("tangent", ("contact_slots", 3), "real", "-", "first tangent", _f("world")),
        ("distance", ("contact_slots",), "real", "m", "normal . (p1 - p0), negative when they overlap"),
        ("time", ("contact_slots",), "real", "s", "when within the step the surfaces of a fast pair meet: 1e-30 (SWEEP_START of kernels_cuda/continuous.h) where they touch as it begins, so that it is above 0; 0: the pair is not followed"),
        ("force", ("contact_slots", 3), "real", "N", "force on the second shape at the middle of the two witness points, as the constraint solve of the last step found it; zero where nothing pushes. The first shape feels the opposite", _f("world")),
    ),
    *_rows(
        "topology",
        # links: link 0 is the world; a parent comes before its children
        ("group_world", ("group_worlds",), "int32", "", "the worlds of this batch group"),
        ("link_parent", ("links",), "int32", "", "parent link; -1 for link 0"),
        ("link_body", ("links",), "int32", "", "body within the world; -1 for link 0"),
        ("link_joint", ("links",), "int32", "", "joint within the world that moves this link; -1 for link 0"),
        ("link_dof_start", ("links",), "int32", "", "first dof in kernel order"),
        ("link_dof_count", ("links",), "int32", "", "dofs of the link's joint"),
        ("link_root", ("links",), "int32", "", "root link of the tree; 0 for link 0"),
        ("link_depth", ("links",), "int32", "", "joints between the link and the world; link 0: 0"),
        ("link_flags", ("links",), "int32", "", "bit 0: kinematic; bit 1: a single free body (its tree is this link, on a free joint); bit 2: on a free or distance joint, whose ball no limit acts on"),
        # degrees of freedom in kernel order: that of the links
        ("dof_link", ("link_dofs",), "int32", "", "link that the dof moves"),
        ("dof_kind", ("link_dofs",), "int32", "", "DofKind: linear, angular, or one of the three of a ball"),
        ("dof_user", ("link_dofs",), "int32", "", "dof within the world, in the order of joint_qd"),
        ("dof_coord", ("link_dofs",), "int32", "", "coordinate within the world, in the order of joint_q; of a ball dof: the first of its quaternion"),
        ("dof_parent", ("link_dofs",), "int32", "", "the dof before this one on the way to the root, -1 none"),
        ("dof_depth", ("link_dofs",), "int32", "", "dofs before this one on the way from the root"),
        ("dof_tree_start", ("link_dofs",), "int32", "", "first dof of its tree: of those with a common first dof on the way from the root"),
        ("dof_tree_end", ("link_dofs",), "int32", "", "the dof behind the last one of its tree"),
        ("dof_mask", ("mask_words",), "int32", "", "bit i of row j (mask_words / link_dofs words a row): dof i is j or on the way from j to the root; empty for more than enums.DENSE_DOFS dofs"),
        # shapes and pairs: local shapes, then the shared static ones
        ("shape_link", ("link_shapes",), "int32", "", "link of the shape; 0: fixed to the world"),
        ("pair_shape0", ("pairs",), "int32", "", "first shape within the world, the shared static ones after its own"),
        ("pair_shape1", ("pairs",), "int32", "", "second shape; the first has the smaller ShapeType"),
        ("pair_routine", ("pairs",), "int32", "", "PairRoutine"),
        ("pair_slot", ("pairs",), "int32", "", "contacts of all pairs before this one, at most"),
        ("pair_parameter", ("pairs",), "int32", "", "contact pair within the world that the pair is, -1 none"),
    ),
]
# fmt: on


def rows(owner: str) -> list[Array]:
    """All rows of one container, in order."""
    return [row for row in TABLE if row.owner == owner]


def world_start(count: str) -> str:
    """Name of the model's row that says where each world's share of a count of ``PER_WORLD`` begins."""
    return f"world_{PER_WORLD[count]}_start"


def references() -> dict[str, str]:
    """Rows of the model over things of the worlds that are numbers of things of the worlds, and the count of these."""
    return {row.name: row.indexes for row in rows("model") if row.over in PER_WORLD and row.indexes in PER_WORLD}


def counts(owner: str) -> tuple[str, ...]:
    """Counts that the rows of one container use, in the order of ``COUNTS``; a topology knows all of one world."""
    names = list(COUNTS)
    if owner == "topology":
        return tuple(names[names.index("links") :])
    used = {str(size).removesuffix("+1") for row in rows(owner) for size in row.shape}
    return tuple(name for name in names if name in used)
