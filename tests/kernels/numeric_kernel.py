"""The kernel through which tests reach the functions of numeric.h: y[i] = f(x[i], w[i])."""

ONE = [
    "sine",
    "cosine",
    "tangent",
    "exponential",
    "logarithm",
    "arc_sine",
    "arc_cosine",
    "square_root",
    "reciprocal",
    "inverse_square_root",
    "absolute",
    "floor_of",
    "canonical",
]
TWO = ["arc_tangent2", "power", "divide", "minimum", "maximum", "copy_sign"]
NAMES = ONE + TWO

_CASES = "".join(f"        case {i}: y[i] = {name}(x[i]); break;\n" for i, name in enumerate(ONE)) + "".join(
    f"        case {len(ONE) + i}: y[i] = {name}(x[i], w[i]); break;\n" for i, name in enumerate(TWO)
)

TEXT = f"""
#include "numeric.h"
extern "C" __global__ void apply(int function, const real* x, const real* w, real* y, int n) {{
    for_each(i, n) {{
        switch (function) {{
{_CASES}        default: y[i] = quiet_nan<real>();
        }}
    }}
}}
extern "C" __global__ void apply_fused(const real* x, const real* w, const real* z, real* y, int n) {{
    for_each(i, n) y[i] = multiply_add(x[i], w[i], z[i]);
}}
extern "C" __global__ void apply_to_int(const real* x, int* y, int n) {{
    for_each(i, n) y[i] = to_int(x[i]);
}}
extern "C" __global__ void apply_is_finite(const real* x, int* y, int n) {{
    for_each(i, n) y[i] = is_finite(x[i]);
}}
extern "C" __global__ void apply_clamp(const real* x, const real* lower, const real* upper, real* y, int n) {{
    for_each(i, n) y[i] = clamp(x[i], lower[i], upper[i]);
}}
extern "C" __global__ void constants(real* y) {{
    y[0] = PI;
    y[1] = REAL_MAX;
    y[2] = REAL_EPSILON;
    y[3] = REAL_INFINITY;
}}
"""
