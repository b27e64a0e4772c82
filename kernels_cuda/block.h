// Eight neighbouring numbers of an array, worked as one. A CPU's compiler keeps a Block in vector registers: all of it
// is read before any of it is written, so that no two arrays need to be told apart.
#pragma once

#include "numeric.h"

constexpr int BLOCK = 8;

struct Block {
    real v[BLOCK];
};

// n rounded up to whole blocks
SIM_INLINE constexpr int whole_blocks(int n) { return (n + BLOCK - 1) / BLOCK * BLOCK; }

SIM_INLINE Block load_block(const real* p) {
    Block b;
    for (int i = 0; i < BLOCK; ++i) b.v[i] = p[i];
    return b;
}

SIM_INLINE void store_block(real* p, const Block& b) {
    for (int i = 0; i < BLOCK; ++i) p[i] = b.v[i];
}

SIM_INLINE Block operator*(real s, const Block& a) {
    Block b;
    for (int i = 0; i < BLOCK; ++i) b.v[i] = s * a.v[i];
    return b;
}

SIM_INLINE Block operator+(const Block& a, const Block& b) {
    Block c;
    for (int i = 0; i < BLOCK; ++i) c.v[i] = a.v[i] + b.v[i];
    return c;
}

// s a + b, each number with one rounding
SIM_INLINE Block multiply_add(real s, const Block& a, const Block& b) {
    Block c;
    for (int i = 0; i < BLOCK; ++i) c.v[i] = multiply_add(s, a.v[i], b.v[i]);
    return c;
}

// N numbers become zero
template <int N>
SIM_INLINE void clear_numbers(real* p) {
    for (int i = 0; i < N / BLOCK; ++i) store_block(p + i * BLOCK, Block{});
    for (int i = N / BLOCK * BLOCK; i < N; ++i) p[i] = 0;
}

// N numbers are added to N others
template <int N>
SIM_INLINE void add_numbers(real* sum, const real* p) {
    for (int i = 0; i < N / BLOCK; ++i)
        store_block(sum + i * BLOCK, load_block(sum + i * BLOCK) + load_block(p + i * BLOCK));
    for (int i = N / BLOCK * BLOCK; i < N; ++i) sum[i] += p[i];
}
