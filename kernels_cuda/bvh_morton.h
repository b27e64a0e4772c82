// Morton codes: neighbours along the curve are neighbours in space.
#pragma once

#include "vector.h"

// every third bit of a 64-bit word from the low 21 bits of x
SIM_INLINE uint64 spread_bits(uint64 x) {
    x &= 0x1fffffull;
    x = (x | (x << 32)) & 0x001f00000000ffffull;
    x = (x | (x << 16)) & 0x001f0000ff0000ffull;
    x = (x | (x << 8)) & 0x100f00f00f00f00full;
    x = (x | (x << 4)) & 0x10c30c30c30c30c3ull;
    x = (x | (x << 2)) & 0x1249249249249249ull;
    return x;
}

// Place of a point within extents (lower, upper) along a Morton curve, `bits` an axis.
SIM_INLINE uint64 morton_code(vec3 point, const real* extents, int bits) {
    uint64 code = 0;
    const real cells = real(1 << bits);
    for (int a = 0; a < 3; ++a) {
        const real size = extents[3 + a] - extents[a];
        const real place = size > real(1e-30) ? (point[a] - extents[a]) * (cells * reciprocal(size)) : real(0);
        code |= spread_bits(uint64(to_int(clamp(place, real(0), cells - real(1))))) << a;
    }
    return code;
}
