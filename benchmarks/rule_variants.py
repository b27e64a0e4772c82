"""The rules of equal bits, each dropped by an edit of the kernels' text or of the compilers' flags."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from simengine.runtime import build, nvrtc, source

SINE = """#ifdef SIM_GPU
SIM_INLINE void sine_cosine(float x, float* s, float* c) { sincosf(x, s, c); }
SIM_INLINE void sine_cosine(double x, double* s, double* c) { sincos(x, s, c); }
#else
SIM_INLINE void sine_cosine(float x, float* s, float* c) { *s = __builtin_sinf(x), *c = __builtin_cosf(x); }
SIM_INLINE void sine_cosine(double x, double* s, double* c) { *s = __builtin_sin(x), *c = __builtin_cos(x); }
#endif
"""

IN_ORDER = """template <class T, class Term>
SIM_INLINE T sum_in_order(T sum, int n, Term term) {
    for (int i = 0; i < n; ++i) sum += term(i);
    return sum;
}
template <class T, class Term, class... Ranges>
SIM_INLINE T sum_in_order(T sum, int n, Term term, int m, Ranges... ranges) {
    return sum_in_order(sum_in_order(sum, n, term), m, ranges...);
}
"""

BY_LANES = """    template <class T, class Term>
    SIM_INLINE T sum_of_lane(T sum, int n, Term term) const {
        for (int i = lane(); i < n; i += SIM_LANES) sum += term(i);
        return sum;
    }
    template <class T, class Term, class... Ranges>
    SIM_INLINE T sum_of_lane(T sum, int n, Term term, int m, Ranges... ranges) const {
        return sum_of_lane(sum_of_lane(sum, n, term), m, ranges...);
    }
    template <class Term, class... Ranges>
    SIM_INLINE auto sum_over_lanes(int n, Term term, Ranges... ranges) {
        auto sum = sum_of_lane(empty_sum<decltype(term(0))>(), n, term, ranges...);
        sync();
        for (int offset = SIM_LANES / 2; offset > 0; offset /= 2) sum += from_lane_across(sum, offset);
        return sum;
    }
"""

LIBRARY_ORDER = """#ifdef SIM_GPU
SIM_INLINE float minimum(float a, float b) { return fminf(a, b); }
SIM_INLINE float maximum(float a, float b) { return fmaxf(a, b); }
SIM_INLINE double minimum(double a, double b) { return fmin(a, b); }
SIM_INLINE double maximum(double a, double b) { return fmax(a, b); }
#else
SIM_INLINE float minimum(float a, float b) { return __builtin_fminf(a, b); }
SIM_INLINE float maximum(float a, float b) { return __builtin_fmaxf(a, b); }
SIM_INLINE double minimum(double a, double b) { return __builtin_fmin(a, b); }
SIM_INLINE double maximum(double a, double b) { return __builtin_fmax(a, b); }
#endif
"""

# lines of the headers that edits hang on
SINE_FLOAT = "SIM_INLINE void sine_cosine(float x, float* sine_out, float* cosine_out) {"
SINE_DOUBLE = "SIM_INLINE void sine_cosine(double x, double* sine_out, double* cosine_out) {"
RECIPROCAL = """    const float a = absolute(x);
    return a >= 1.17549435e-38f && a <= 8.50705917e37f ? reciprocal_inside_domain(x) : quiet_nan<float>();"""
ROOT = """    const bool inside = x >= 7.88860905e-31f && x <= 3.40282347e38f;
    return inside ? root_inside_domain(x) : x >= 0.0f && x < 1.0f ? 0.0f : quiet_nan<float>();"""
DIVIDE = "{ return a * reciprocal(b); }"
NEWTON_RECIPROCAL = "    return multiply_add(multiply_add(-x, y, 1.0f), y, y);"
NEWTON_ROOT = "    return multiply_add(multiply_add(-root, root, x), 0.5f * y, root);"
CLAMP = "// x within [lower, upper]; NaN stays NaN"
ONE_LANE = """template <class Term, class... Ranges>
SIM_INLINE auto sum_by_one_lane(int n, Term term, Ranges... ranges) {"""
GPU_SUM = "        if constexpr (SIM_LANES == 1) return sum_by_one_lane(n, term, ranges...);"
GPU_PRIVATE = "    static constexpr int SHARE ="


@dataclass(frozen=True)
class Variant:
    """What is changed: per file of kernels_cuda pairs (old, new), and words of the flags."""

    what: str
    edits: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    cpu_flags: dict[str, str] | None = None  # None: it does not change the CPU's code
    gpu_flags: dict[str, str] | None = None
    devices: tuple[str, ...] = ("cpu", "cuda")


def _numeric(*pairs: tuple[str, str]) -> dict:
    return {"numeric.h": pairs}


VARIANTS = {
    "same bits": Variant("as shipped"),
    "contraction": Variant(
        "the compilers may fuse multiply and add",
        cpu_flags={"-ffp-contract=off": "-ffp-contract=fast"},
        gpu_flags={"--fmad=false": "--fmad=true"},
    ),
    "library sine": Variant(
        "sine and cosine of the C library and of CUDA",
        _numeric(
            (SINE_FLOAT, SINE + SINE_FLOAT.replace("sine_cosine(", "own_sine_cosine(")),
            (SINE_DOUBLE, SINE_DOUBLE.replace("sine_cosine(", "own_sine_cosine(")),
        ),
    ),
    "IEEE division and root": Variant(
        "1/x, a/b and the square root of the language, with their slow paths",
        _numeric(
            (RECIPROCAL, "    return 1.0f / x;"),
            (ROOT, "#ifdef SIM_GPU\n    return __fsqrt_rn(x);\n#else\n    return __builtin_sqrtf(x);\n#endif"),
            (DIVIDE, "{ return a / b; }"),
        ),
    ),
    "no domain test": Variant(
        "reciprocal and root without the test of their domain, but for the root of 0",
        _numeric(
            (RECIPROCAL, "    return reciprocal_inside_domain(x);"),
            (ROOT, "    return x > 0.0f ? root_inside_domain(x) : x;"),
        ),
    ),
    "approximate division and root": Variant(
        "the hardware's estimates, no Newton step",
        _numeric(
            (RECIPROCAL, "    return reciprocal_inside_domain(x);"),
            (ROOT, "    return x > 0.0f ? root_inside_domain(x) : x;"),
            (NEWTON_RECIPROCAL, "    return y;"),
            (NEWTON_ROOT, "    return root;"),
        ),
        devices=("cuda",),
    ),
    "loose sums": Variant(
        "sums in order on the CPU, by lanes on the GPU",
        {
            "lanes.h": (
                (
                    ONE_LANE,
                    IN_ORDER
                    + ONE_LANE
                    + "\n    return sum_in_order(empty_sum<decltype(term(0))>(), n, term, ranges...);\n}\n\n"
                    + ONE_LANE.replace("sum_by_one_lane", "sum_in_partials"),
                ),
            ),
            "lanes_gpu.h": (
                (GPU_SUM, "        if constexpr (SIM_LANES > 0) return sum_over_lanes(n, term, ranges...);"),
                (GPU_PRIVATE, BY_LANES + GPU_PRIVATE),
            ),
        },
    ),
    "library min and max": Variant("fmin and fmax", _numeric((CLAMP, LIBRARY_ORDER + CLAMP))),
    "denormals flushed": Variant("-ftz=true", gpu_flags={"--fmad=false": "--fmad=false --ftz=true"}, devices=("cuda",)),
    "collectives that order no memory": Variant(
        "no barrier within a collective", {"lanes_gpu.h": (("        sync();\n", ""),)}, devices=("cuda",)
    ),
    "-Ofast": Variant("all that the host compiler may do", cpu_flags={"-O3": "-Ofast"}, devices=("cpu",)),
}


def apply(name: str, folder: Path) -> None:
    """Make this process compile the variant: an edited copy of the kernels in ``folder``, changed flags.

    To be called before any kernel is read. Raises ValueError where a header no longer holds the text of an edit.
    """
    variant = VARIANTS[name]
    copy = folder / "kernels_cuda"
    shutil.copytree(source.kernels_folder(), copy)
    for file, pairs in variant.edits.items():
        text = (copy / file).read_text(encoding="utf-8")
        for old, new in pairs:
            if old not in text:
                raise ValueError(
                    f"variant {name!r}: kernels_cuda/{file} no longer holds {old.splitlines()[0]!r}: mend its edit"
                )
            text = text.replace(old, new)
        (copy / file).write_text(text, encoding="utf-8")
    source.kernels_folder = lambda: copy
    build.FLAGS = _changed(build.FLAGS, variant.cpu_flags)
    nvrtc.OPTIONS = _changed(nvrtc.OPTIONS, variant.gpu_flags)


def _changed(flags: tuple[str, ...], changes: dict[str, str] | None) -> tuple[str, ...]:
    missing = [old for old in changes or {} if old not in flags]
    if missing:
        raise ValueError(f"the flags no longer hold {missing}: mend the variant")
    return tuple(word for flag in flags for word in (changes or {}).get(flag, flag).split())
