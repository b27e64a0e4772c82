// Random numbers without a state: a function of (key, counter, purpose, element).
//
// Philox 4x32 with 10 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011). The
// key is that of the world (state.random_key), the counter its draw counter, `purpose` tells apart uses within one draw
// and `element` the numbers of one use.
#pragma once

#include "numeric.h"

struct RandomBits {
    unsigned word[4];
};

SIM_FUNCTION RandomBits philox(RandomBits counter, unsigned key0, unsigned key1) {
    for (int round = 0; round < 10; ++round) {
        const unsigned long long a = 0xd2511f53ull * counter.word[0], b = 0xcd9e8d57ull * counter.word[2];
        const unsigned first = unsigned(b >> 32) ^ counter.word[1] ^ key0;
        const unsigned third = unsigned(a >> 32) ^ counter.word[3] ^ key1;
        counter = {{first, unsigned(b), third, unsigned(a)}};
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return counter;
}

SIM_FUNCTION RandomBits random_bits(unsigned long long key, long long counter, unsigned purpose, unsigned element) {
    const unsigned long long c = (unsigned long long)counter;
    return philox({{unsigned(c), unsigned(c >> 32), purpose, element}}, unsigned(key), unsigned(key >> 32));
}

// in [0, 1): a multiple of 2^-24 in float, 2^-53 in double
SIM_INLINE float uniform_from_bits(unsigned high, unsigned, float) { return float(high >> 8) * 5.9604644775390625e-8f; }
SIM_INLINE double uniform_from_bits(unsigned high, unsigned low, double) {
    const unsigned long long both = (unsigned long long)high << 32 | low;
    return double(both >> 11) * 1.1102230246251565e-16;
}

SIM_FUNCTION real random_uniform(unsigned long long key, long long counter, unsigned purpose, unsigned element) {
    const RandomBits bits = random_bits(key, counter, purpose, element);
    return uniform_from_bits(bits.word[0], bits.word[1], real(0));
}

// mean 0, standard deviation 1 (Box and Muller 1958): at most 5.8 in float, 8.6 in double
SIM_FUNCTION real random_normal(unsigned long long key, long long counter, unsigned purpose, unsigned element) {
    const RandomBits bits = random_bits(key, counter, purpose, element);
    const real u = real(1) - uniform_from_bits(bits.word[0], bits.word[1], real(0));
    const real angle = real(2) * PI * uniform_from_bits(bits.word[2], bits.word[3], real(0));
    return square_root(real(-2) * logarithm(u)) * cosine(angle);
}
