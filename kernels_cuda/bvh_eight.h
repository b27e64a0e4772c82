// Eight numbers at once, one for each child of a node: a vector on the CPU, unrolled loops on a GPU. Every operation is
// that of the single numbers.
#pragma once

#include "numeric.h"

#ifdef SIM_GPU
#define EIGHT_LOOP(c) _Pragma("unroll") for (int c = 0; c < 8; ++c)

struct Eight {
    real at[8];

    SIM_INLINE explicit Eight(real x) { EIGHT_LOOP(c) at[c] = x; }
    SIM_INLINE explicit Eight(const uint64& bytes) { EIGHT_LOOP(c) at[c] = real(unsigned(bytes >> (8 * c)) & 0xffu); }
    SIM_INLINE real operator[](int c) const { return at[c]; }
};

SIM_INLINE Eight operator+(Eight a, const Eight& b) { EIGHT_LOOP(c) a.at[c] += b.at[c]; return a; }
SIM_INLINE Eight operator-(Eight a, const Eight& b) { EIGHT_LOOP(c) a.at[c] -= b.at[c]; return a; }
SIM_INLINE Eight operator*(Eight a, const Eight& b) { EIGHT_LOOP(c) a.at[c] *= b.at[c]; return a; }
SIM_INLINE Eight minimum(Eight a, const Eight& b) { EIGHT_LOOP(c) a.at[c] = minimum(a.at[c], b.at[c]); return a; }
SIM_INLINE Eight maximum(Eight a, const Eight& b) { EIGHT_LOOP(c) a.at[c] = maximum(a.at[c], b.at[c]); return a; }

// bit c: a[c] <= b[c]
SIM_INLINE unsigned not_above(const Eight& a, const Eight& b) {
    unsigned bits = 0;
    EIGHT_LOOP(c) bits |= a.at[c] <= b.at[c] ? 1u << c : 0u;
    return bits;
}
#else
struct Eight {
    typedef real Vector __attribute__((vector_size(8 * sizeof(real))));
    typedef int Integers __attribute__((vector_size(32)));
    Vector v;

    Eight() = default;
    SIM_INLINE explicit Eight(real x) : v(Vector{} + x) {}
    SIM_INLINE explicit Eight(const uint64& bytes) {
        const int low = int(bytes), high = int(bytes >> 32);
        const Integers words = {low, low, low, low, high, high, high, high}, places = {0, 8, 16, 24, 0, 8, 16, 24};
        v = __builtin_convertvector((words >> places) & 255, Vector);
    }
    SIM_INLINE real operator[](int c) const { return v[c]; }
};

SIM_INLINE Eight operator+(const Eight& a, const Eight& b) { Eight r; r.v = a.v + b.v; return r; }
SIM_INLINE Eight operator-(const Eight& a, const Eight& b) { Eight r; r.v = a.v - b.v; return r; }
SIM_INLINE Eight operator*(const Eight& a, const Eight& b) { Eight r; r.v = a.v * b.v; return r; }
SIM_INLINE Eight minimum(const Eight& a, const Eight& b) { Eight r; r.v = b.v < a.v ? b.v : a.v; return r; }
SIM_INLINE Eight maximum(const Eight& a, const Eight& b) { Eight r; r.v = b.v > a.v ? b.v : a.v; return r; }

// bit c: a[c] <= b[c]
SIM_INLINE unsigned not_above(const Eight& a, const Eight& b) {
    const Eight::Integers mask = __builtin_convertvector(a.v <= b.v, Eight::Integers);
#ifdef __AVX__
    typedef float Floats __attribute__((vector_size(32)));
    Floats signs;
    __builtin_memcpy(&signs, &mask, sizeof signs);
    return unsigned(__builtin_ia32_movmskps256(signs));
#else
    unsigned bits = 0;
    for (int c = 0; c < 8; ++c) bits |= unsigned(mask[c]) & (1u << c);
    return bits;
#endif
}
#endif
