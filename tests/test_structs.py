"""Generated C: layouts agree with NumPy's, both forms of Topology answer alike, enumerations have Python's values."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from simengine import enums, schema, structs
from tests import two_bodies

KERNELS = Path(__file__).resolve().parent.parent / "kernels_cuda"
FLAGS = ["-std=c++17", "-O1", "-Wall", "-Wdouble-promotion", "-Werror", "-fPIC", "-shared"]


def build(folder: Path, text: str, tables=None, defines=()) -> ctypes.CDLL:
    """``text`` after the generated headers, compiled by g++ and loaded."""
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")
    for name, header in structs.headers(tables).items():
        (folder / name).write_text(header)
    includes = '#include "topology.h"\n#include "enums.h"\n#include "solver_memory.h"\n#include <stddef.h>\n'
    (folder / "test.cpp").write_text(includes + text)
    command = ["g++", *FLAGS, *defines, f"-I{folder}", f"-I{KERNELS}", "-o", str(folder / "test.so")]
    subprocess.run([*command, str(folder / "test.cpp")], check=True)
    return ctypes.CDLL(str(folder / "test.so"))


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_layout_is_the_one_of_the_compiler(tmp_path, debug):
    lines, expected = [], []
    for owner in structs.OWNERS:
        dtype = structs.struct_dtype(owner, debug)
        for suffix in ("Arrays", "View"):
            struct = f"{owner.capitalize()}{suffix}"
            lines += [f"offsetof({struct}, {name})" for name in dtype.names] + [f"sizeof({struct})"]
            expected += [dtype.fields[name][1] for name in dtype.names] + [dtype.itemsize]
    defines = ["-DSIM_DEBUG", "-Wno-invalid-offsetof"] if debug else []
    library = build(tmp_path, f'extern "C" const size_t offsets[] = {{{", ".join(lines)}}};\n', defines=defines)
    np.testing.assert_array_equal((ctypes.c_size_t * len(expected)).in_dll(library, "offsets"), expected)


def test_members_have_the_types_of_the_table(tmp_path):
    checks = ["template <class A, class B> constexpr bool same = false;"]
    checks.append("template <class A> constexpr bool same<A, A> = true;")
    for row in schema.TABLE:
        name, kind = row.owner.capitalize(), structs.C_TYPES[row.dtype]
        checks.append(f"static_assert(same<decltype({name}Arrays::{row.name}), {kind}*>);")
        checks.append(f"static_assert(same<decltype({name}View::{row.name}), const {kind}*>);")
    build(tmp_path, "\n".join(checks) + "\n", defines=["-DSIM_DOUBLE"])


READ_TOPOLOGY = """
extern "C" void read(const TopologyView* view, int* out) {
    const Topology t(*view);
    const int counts[] = {t.links(), t.dofs(),         t.coords(), t.shapes(),
                          t.pairs(), t.contacts_max(), t.worlds()};
    for (int count : counts) *out++ = count;
    for (int i = 0; i < t.worlds(); ++i) *out++ = t.world(i);
    for (int j = 0; j < t.dofs(); ++j)
        for (int i = 0; i < t.dofs(); ++i) *out++ = t.dof_in_path(j, i);
READ_ROWS
}
"""


def read_topology(folder, tables, specialised):
    """What C++ reads from a topology, and what it should."""
    rows = [row for row in schema.rows("topology") if row.name != "group_world"]
    reads = [f"    for (int i = 0; i < {len(tables[row.name])}; ++i) *out++ = t.{row.name}(i);" for row in rows]
    text = READ_TOPOLOGY.replace("READ_ROWS", "\n".join(reads))
    library = build(folder, text, tables if specialised else None, ["-DSIM_SPECIALISED"] if specialised else [])
    struct = np.zeros((), structs.struct_dtype("topology"))
    for name, count in structs.topology_counts(tables).items():
        struct[name] = count
    for name in tables if not specialised else ["group_world"]:
        struct[name] = tables[name].ctypes.data
    parents = tables["dof_parent"]
    paths = np.zeros((len(parents), len(parents)), int)
    for j in range(len(parents)):
        i = j
        while i >= 0:
            paths[j, i] = 1
            i = parents[i]
    links, dofs, shapes = len(tables["link_parent"]), len(parents), len(tables["shape_link"])
    contacts = sum(enums.PAIR_CONTACTS[routine] for routine in tables["pair_routine"])
    counts = [links, dofs, tables["coords"], shapes, len(tables["pair_routine"]), contacts, 2]
    expected = [*counts, *tables["group_world"], *paths.ravel(), *(value for row in rows for value in tables[row.name])]
    out = np.full(len(expected) + 1, -99, np.int32)
    library.read(struct.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
    return out, [*expected, -99]


def chain_of_hinges(dofs: int) -> dict[str, np.ndarray]:
    """Topology tables of two trees of hinges, ``dofs`` in all: more than 32 need several words of mask."""
    half = dofs // 2
    parents = np.array([-1 if i in (0, half) else i - 1 for i in range(dofs)])
    words = (dofs + 31) // 32
    mask = np.zeros((dofs, words), np.uint32)
    for j in range(dofs):
        i = j
        while i >= 0:
            mask[j, i // 32] |= np.uint32(1 << (i % 32))
            i = parents[i]
    each = np.arange(dofs)
    root = np.where(each < half, 1, half + 1)
    tables = {
        "group_world": [4, 7], "link_parent": [-1, *(parents + 1)], "link_body": each_with(-1, each),
        "link_joint": each_with(-1, each), "link_dof_start": each_with(0, each), "link_dof_count": [0] + [1] * dofs,
        "link_root": each_with(0, root),
        "link_depth": each_with(0, each - root + 2), "link_flags": [0] * (dofs + 1),
        "dof_link": each + 1, "dof_kind": [1] * dofs, "dof_user": each[::-1], "dof_coord": each[::-1],
        "dof_parent": parents, "dof_depth": each - (each >= half) * half,
        "dof_tree_start": (each >= half) * half,
        "dof_tree_end": np.where(each < half, half, dofs), "dof_mask": mask.ravel().view(np.int32),
        "shape_link": [], "pair_shape0": [], "pair_shape1": [], "pair_routine": [], "pair_slot": [],
        "pair_parameter": [],
    }  # fmt: skip
    return {name: np.array(values, np.int32) for name, values in tables.items()}


def each_with(first, rest):
    return [first, *(int(value) for value in rest)]


@pytest.mark.parametrize("specialised", [False, True], ids=["general", "specialised"])
@pytest.mark.parametrize("dofs", [7, 70])
def test_topology_answers_as_the_tables_say(tmp_path, specialised, dofs):
    if dofs == 7:
        tables = two_bodies.topology(2) | {"coords": 8}
    else:
        tables = chain_of_hinges(dofs) | {"coords": dofs}
    out, expected = read_topology(tmp_path, Tables(tables, {"coords": tables["coords"]}), specialised)
    np.testing.assert_array_equal(out, expected)


class Tables(dict):
    """Topology arrays; the facts of the test (coords) can be looked up but are not listed."""

    def __init__(self, tables, facts):
        super().__init__({name: table for name, table in tables.items() if name not in facts})
        self.facts = facts

    def __missing__(self, name):
        return self.facts[name]


@pytest.mark.parametrize("routine", [0, 10, 31, 32, 63])
def test_a_specialised_topology_knows_each_routine_up_to_the_64th(tmp_path, routine, monkeypatch):
    monkeypatch.setattr(structs, "topology_counts", lambda tables: dict.fromkeys(structs.TOPOLOGY_ACCESSORS, 1))
    tables = two_bodies.topology(2) | {"pair_routine": np.array([routine, 1], np.int32)}
    checks = [
        f'static_assert(Topology::has_routine({i}) == {str(i in (routine, 1)).lower()}, "routine {i}");'
        for i in range(64)
    ]
    build(tmp_path, "\n".join(checks) + "\n", tables, ["-DSIM_SPECIALISED"])


@pytest.mark.parametrize(("macros", "known"), [([], range(64)), (["-DSIM_ROUTINES=0x30001ull"], (0, 16, 17))])
def test_a_general_topology_has_all_routines_or_those_that_it_is_told(tmp_path, macros, known):
    checks = [
        f'static_assert(Topology::has_routine({i}) == {str(i in known).lower()}, "routine {i}");' for i in range(64)
    ]
    build(tmp_path, "\n".join(checks) + "\n", None, macros)


@pytest.mark.parametrize(("flags", "kinds", "expected"), [
    (0, [0, 0, 0, 2, 3, 4, 1], "true"),
    (enums.LinkFlag.FLOATING, [0, 0, 0, 2, 3, 4, 1], "false"),
    (0, [0, 0, 0, 1, 1, 1, 1], "false"),
])  # fmt: skip
def test_a_specialised_topology_knows_whether_links_are_flagged_and_there_are_ball_joints(
    tmp_path, flags, kinds, expected, monkeypatch
):
    monkeypatch.setattr(structs, "topology_counts", lambda tables: dict.fromkeys(structs.TOPOLOGY_ACCESSORS, 1))
    tables = two_bodies.topology(2)
    tables |= {"dof_kind": np.array(kinds, np.int32), "link_flags": np.array([0, flags, 0], np.int32)}
    text = f'static_assert(Topology::has_ball_joints() == {expected}, "ball joints");\n'
    text += f'static_assert(Topology::has_link_flag(LINK_FLOATING) == {str(flags != 0).lower()}, "floating");\n'
    text += 'static_assert(!Topology::has_link_flag(LINK_SINGLE_FREE_BODY), "single");\n'
    build(tmp_path, text, tables, ["-DSIM_SPECIALISED"])


def test_enumerations_have_the_values_of_python(tmp_path):
    names, values = [], []
    for name, prefix in structs.ENUM_PREFIXES.items():
        for member in getattr(enums, name):
            names.append(f"{prefix}_{member.name}")
            values.append(member.value)
    assert len(set(names)) == len(names)
    text = f'extern "C" const int values[] = {{{", ".join(names)}}};\n'
    text += 'extern "C" int contacts_of(int routine) { return pair_contacts(routine); }\n'
    library = build(tmp_path, text)
    np.testing.assert_array_equal((ctypes.c_int * len(values)).in_dll(library, "values"), values)
    for routine in enums.PairRoutine:
        assert library.contacts_of(int(routine)) == enums.PAIR_CONTACTS[routine]


def test_all_enumerations_reach_the_kernels():
    kinds = {name: kind for name, kind in vars(enums).items() if isinstance(kind, type)}
    defined = {name for name, kind in kinds.items() if kind.__module__ == enums.__name__}
    assert defined == set(structs.ENUM_PREFIXES)


def test_every_routine_has_a_number_of_contacts():
    assert set(enums.PAIR_CONTACTS) == set(enums.PairRoutine)


def test_every_solver_row_can_be_cleared():
    text = structs.solver_memory_header()
    for row in schema.rows("state"):
        assert (f"state.{row.name}[i] = 0" in text) == bool(row.solver)
