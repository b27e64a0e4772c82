"""The text of a kernel: includes, line numbers, signatures."""

import numpy as np
import pytest

from simengine.errors import KernelCompileError
from simengine.runtime import build, source
from simengine.runtime.kernel import Kernel


def inline_file(path, headers=None):
    return source.inline(source.read_source(str(path)), headers or {})


def test_a_header_with_pragma_once_is_taken_once_and_lines_keep_their_numbers(tmp_path):
    (tmp_path / "a.h").write_text("#pragma once\nint a;\n")
    (tmp_path / "b.h").write_text('#pragma once\n#include "a.h"\nint b;\n')
    (tmp_path / "k.cu").write_text('#include "a.h"\n#include "b.h"\nint k;\nint last;\n')
    text = inline_file(tmp_path / "k.cu")
    assert text.count("int a;") == 1
    assert build.line_of(text, str(tmp_path / "k.cu"), 4) == "int last;"
    assert build.line_of(text, str(tmp_path / "b.h"), 3) == "int b;"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_of_each_file_stand_under_its_name_whatever_ends_them(tmp_path, newline):
    (tmp_path / "a.h").write_bytes(newline.join(["#pragma once", "int a;"]).encode())
    (tmp_path / "b.h").write_bytes(newline.join([' # include "a.h" // again', "int b;", ""]).encode())
    lines = ["// first", '#include "a.h"', "int k;", '#include "b.h"', "int l;", '#include "a.h"']
    (tmp_path / "k.cu").write_bytes(newline.join(lines).encode())
    a, b, k = (str(tmp_path / name) for name in ("a.h", "b.h", "k.cu"))
    assert inline_file(k).splitlines() == [
        f'#line 1 "{k}"', "// first", f'#line 1 "{a}"', "", "int a;", f'#line 3 "{k}"', "int k;",
        f'#line 1 "{b}"', "", "int b;", f'#line 5 "{k}"', "int l;", "",
    ]  # fmt: skip


def test_a_missing_header_of_a_kernel_is_told_at_its_line():
    with pytest.raises(KernelCompileError, match=r"<text>:2: includes 'nowhere.h'"):
        Kernel('// a kernel\n#include "nowhere.h"\n', "work")


def test_a_header_without_pragma_once_is_taken_each_time(tmp_path):
    (tmp_path / "part.h").write_text("X\n")
    (tmp_path / "k.cu").write_text('#include "part.h"\n#include "part.h"\n')
    assert inline_file(tmp_path / "k.cu").count("X\n") == 2


def test_a_cycle_of_includes_names_its_files(tmp_path):
    (tmp_path / "a.h").write_text('#include "b.h"\n')
    (tmp_path / "b.h").write_text('#include "a.h"\n')
    with pytest.raises(KernelCompileError, match=r"a\.h includes .*b\.h includes .*a\.h: a cycle"):
        inline_file(tmp_path / "a.h")


def test_a_missing_header_is_an_error_with_file_line_and_the_nearest_name(tmp_path):
    (tmp_path / "k.cu").write_text('\n#include "platfrom.h"\n')
    with pytest.raises(KernelCompileError, match=r"k\.cu:2: includes 'platfrom.h'.*did you mean 'platform.h'"):
        inline_file(tmp_path / "k.cu")


def test_generated_headers_come_before_files(tmp_path):
    (tmp_path / "sizes.h").write_text("int from_file;\n")
    (tmp_path / "k.cu").write_text('#include "sizes.h"\n')
    text = inline_file(tmp_path / "k.cu", {"sizes.h": "int generated;\n"})
    assert "generated" in text
    assert "from_file" not in text


def test_editing_a_header_changes_the_text(tmp_path):
    (tmp_path / "a.h").write_text("int a = 1;\n")
    (tmp_path / "k.cu").write_text('#include "a.h"\n')
    before = inline_file(tmp_path / "k.cu")
    (tmp_path / "a.h").write_text("int a = 2;\n")
    assert inline_file(tmp_path / "k.cu") != before


def test_a_file_that_does_not_exist_is_an_error():
    with pytest.raises(KernelCompileError, match=r"no file 'evil.cu'.*did you mean 'eval.cu'"):
        source.read_source("evil.cu")


def test_signature_is_read_with_comments_qualifiers_and_shape_notes():
    text = """
    // extern "C" __global__ void commented_out(int x)
    extern "C" __global__ void __launch_bounds__(128) work(
        int n, /* how many, of course */
        const real* __restrict__ q,  // (n, 7) poses
        float* out /* (2*n+1) nonfinite */, const ModelView model,
        StateArrays state,           // optional
        const unsigned char* mask, real const* other, const Scratch scratch) {}
    extern "C" __global__ void nothing() {}
    """
    found = source.signatures(text)
    assert set(found) == {"work", "nothing"}
    assert found["nothing"].parameters == ()
    kinds = [(p.name, p.kind, p.element or p.type, p.read_only) for p in found["work"].parameters]
    assert kinds == [
        ("n", "scalar", "int", True),
        ("q", "array", "real", True),
        ("out", "array", "float", False),
        ("model", "struct", "ModelView", True),
        ("state", "struct", "StateArrays", False),
        ("mask", "array", "unsigned char", True),
        ("other", "array", "real", True),
        ("scratch", "scratch", "Scratch", False),
    ]
    notes = {p.name: (p.shape, p.optional, p.nonfinite) for p in found["work"].parameters}
    assert notes["q"] == (("n", "7"), False, False)
    assert notes["out"] == (("2*n+1",), False, True)
    assert notes["state"] == (None, True, False)
    assert notes["mask"] == (None, False, False)


@pytest.mark.parametrize("declaration", ["real** rows", "real& x", "long n", "const Thing* thing", "real x[3]"])
def test_parameters_that_cannot_be_passed_are_refused(declaration):
    with pytest.raises(KernelCompileError):
        source.signatures(f'extern "C" __global__ void bad({declaration}) {{}}')


def test_real_is_the_precision_and_other_types_are_fixed():
    text = 'extern "C" __global__ void f(const real* a, const double* b, const int* c, const bool* d) {}'
    dtypes = {p: [q.dtype(p) for q in source.signatures(text)["f"].parameters] for p in ("float32", "float64")}
    assert dtypes["float32"] == [np.float32, np.float64, np.int32, np.bool_]
    assert dtypes["float64"] == [np.float64, np.float64, np.int32, np.bool_]
