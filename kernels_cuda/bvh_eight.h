// Eight numbers at once, one for each child of a node: a vector on the CPU, unrolled loops on a GPU. Every operation is
// that of the single numbers, but for bytes_along and bytes_beyond on a GPU in float. No number here is a NaN.
#pragma once

#include "numeric.h"

// A GPU makes a number of a byte in one instruction: as bits 15 to 8 of the mantissa of 1. It is then 1 + byte 2^-15.
#if defined(SIM_GPU) && !defined(SIM_DOUBLE)
#define EIGHT_MANTISSA 1
inline constexpr real BYTE_UNIT = 32768;
#endif

#ifdef SIM_GPU
#define EIGHT_LOOP(c) _Pragma("unroll") for (int c = 0; c < 8; ++c)

struct Eight {
    real at[8];

    SIM_INLINE explicit Eight(real x) { EIGHT_LOOP(c) at[c] = x; }
    SIM_INLINE real operator[](int c) const { return at[c]; }
    SIM_INLINE void put(int c, real x) { at[c] = x; }
    SIM_INLINE void store(real* to) const { EIGHT_LOOP(c) to[c] = at[c]; }

#ifdef EIGHT_MANTISSA
    // 2^23 + byte, less 2^23
    SIM_INLINE explicit Eight(const uint64& bytes) {
        EIGHT_LOOP(c) at[c] = from_bits(__byte_perm(word(bytes, c), 0x4b000000u, 0x7650u + c % 4)) - 8388608.0f;
    }
    SIM_INLINE static real one_and_byte(const uint64& bytes, int c) {
        return from_bits(__byte_perm(word(bytes, c), 0x3f800000u, 0x7604u + 16u * (c % 4)));
    }
    SIM_INLINE static unsigned word(const uint64& bytes, int c) { return unsigned(c < 4 ? bytes : bytes >> 32); }
#else
    SIM_INLINE explicit Eight(const uint64& bytes) { EIGHT_LOOP(c) at[c] = real(unsigned(bytes >> (8 * c)) & 0xffu); }
#endif
};

SIM_INLINE Eight operator+(Eight a, const Eight& b) { EIGHT_LOOP(c) a.at[c] += b.at[c]; return a; }
SIM_INLINE Eight operator-(Eight a, const Eight& b) { EIGHT_LOOP(c) a.at[c] -= b.at[c]; return a; }
SIM_INLINE Eight operator*(Eight a, const Eight& b) { EIGHT_LOOP(c) a.at[c] *= b.at[c]; return a; }
SIM_INLINE Eight minimum(Eight a, const Eight& b) {
    EIGHT_LOOP(c) a.at[c] = smaller_number(a.at[c], b.at[c]);
    return a;
}
SIM_INLINE Eight maximum(Eight a, const Eight& b) {
    EIGHT_LOOP(c) a.at[c] = larger_number(a.at[c], b.at[c]);
    return a;
}

// sum + a^2
SIM_INLINE Eight add_square(const Eight& a, Eight sum) {
    EIGHT_LOOP(c) sum.at[c] = multiply_add(a.at[c], a.at[c], sum.at[c]);
    return sum;
}

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
    SIM_INLINE void put(int c, real x) { v[c] = x; }
    SIM_INLINE void store(real* to) const { __builtin_memcpy(to, &v, sizeof v); }
};

SIM_INLINE Eight operator+(const Eight& a, const Eight& b) { Eight r; r.v = a.v + b.v; return r; }
SIM_INLINE Eight operator-(const Eight& a, const Eight& b) { Eight r; r.v = a.v - b.v; return r; }
SIM_INLINE Eight operator*(const Eight& a, const Eight& b) { Eight r; r.v = a.v * b.v; return r; }
SIM_INLINE Eight minimum(const Eight& a, const Eight& b) { Eight r; r.v = b.v < a.v ? b.v : a.v; return r; }
SIM_INLINE Eight maximum(const Eight& a, const Eight& b) { Eight r; r.v = b.v > a.v ? b.v : a.v; return r; }
SIM_INLINE Eight add_square(const Eight& a, const Eight& sum) { return a * a + sum; }

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

// error + what bytes_along is off by, where base is rounded
SIM_INLINE real with_byte_error(real error, real scale) {
#ifdef EIGHT_MANTISSA
    return multiply_add(0.0078125f, scale, error);  // 2^-8 scales come of the two roundings in bytes_along
#else
    (void)scale;
    return error;
#endif
}

// scale byte + base, within with_byte_error
SIM_INLINE Eight bytes_along(const uint64& bytes, real scale, real base) {
#ifdef EIGHT_MANTISSA
    Eight r(real(0));
    const real step = scale * BYTE_UNIT, start = base - step;
    EIGHT_LOOP(c) r.at[c] = multiply_add(Eight::one_and_byte(bytes, c), step, start);
    return r;
#else
    return Eight(bytes) * Eight(scale) + Eight(base);
#endif
}

// The same where it is positive, else 0. On a GPU in float, at most 1.
SIM_INLINE Eight bytes_beyond(const uint64& bytes, real scale, real base) {
#ifdef EIGHT_MANTISSA
    Eight r(real(0));
    const real step = scale * BYTE_UNIT, start = base - step;
    EIGHT_LOOP(c) r.at[c] = saturate(multiply_add(Eight::one_and_byte(bytes, c), step, start));
    return r;
#else
    return maximum(Eight(real(0)), bytes_along(bytes, scale, base));
#endif
}

// Slots in the order of their keys, 3 bits each, the least in the lowest bits; above the last stands a 1. Keys of other
// slots are REAL_MAX on a GPU.
inline constexpr unsigned NO_SLOTS = 1;

#ifdef SIM_GPU
// Batcher's way to sort: a network of 19 exchanges. The lowest bits of the keys give way to the slots.
SIM_INLINE unsigned ascending_slots(const Eight& keys, unsigned slots) {
    real word[8];
    EIGHT_LOOP(c) word[c] = from_bits((bits_of(keys.at[c]) & ~decltype(bits_of(keys.at[c]))(7)) | unsigned(c));
    const auto exchange = [&](int a, int b) {
        const real less = smaller_number(word[a], word[b]);
        word[b] = larger_number(word[a], word[b]);
        word[a] = less;
    };
    exchange(0, 2), exchange(1, 3), exchange(4, 6), exchange(5, 7);
    exchange(0, 4), exchange(1, 5), exchange(2, 6), exchange(3, 7);
    exchange(0, 1), exchange(2, 3), exchange(4, 5), exchange(6, 7);
    exchange(2, 4), exchange(3, 5), exchange(1, 4), exchange(3, 6);
    exchange(1, 2), exchange(3, 4), exchange(5, 6);
    unsigned order = 0;
    EIGHT_LOOP(c) order |= unsigned(bits_of(word[c]) & 7u) << (3 * c);
    const unsigned end = 1u << (3 * __popc(slots));
    return (order & (end - 1u)) | end;
}
#else
SIM_INLINE unsigned ascending_slots(const Eight& keys, unsigned slots) {
    unsigned order = 1u << (3 * __builtin_popcount(slots));
    for (unsigned rest = slots; rest; rest &= rest - 1) {
        const int c = __builtin_ctz(rest);
        const Eight own(keys[c]);
        const unsigned less = ~not_above(own, keys), equal_before = not_above(keys, own) & ((1u << c) - 1u);
        order |= unsigned(c) << (3 * __builtin_popcount(slots & (less | equal_before)));
    }
    return order;
}
#endif
