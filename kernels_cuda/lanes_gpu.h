// Lanes on the GPU: SIM_LANES neighbouring threads of one warp. Each group has its own mask, so the groups of a warp
// may part, take different numbers of worlds and of iterations.
#pragma once

#include "lanes.h"

#if SIM_LANES > 32
#include "lanes_block.h"
#else
static_assert(SIM_LANES == 1 || SIM_LANES == 4 || SIM_LANES == 8 || SIM_LANES == 16 || SIM_LANES == 32,
              "SIM_LANES is 1, 4, 8, 16 or 32");

class Lanes {
public:
    SIM_INLINE Lanes()
        : lane_(int(threadIdx.x) % SIM_LANES),
          mask_((0xffffffffu >> (32 - SIM_LANES)) << (threadIdx.x % 32u - unsigned(lane_))) {}

    SIM_INLINE int lane() const { return SIM_LANES == 1 ? 0 : lane_; }
    SIM_INLINE static constexpr int count() { return SIM_LANES; }

    // __syncthreads counts threads, so groups that share a warp, and groups through with their worlds, do no harm.
    SIM_INLINE void keep_step() { __syncthreads(); }
    SIM_INLINE bool keep_step(bool active) { return __syncthreads_or(active); }

    SIM_INLINE void sync() {
        if (SIM_LANES > 1) __syncwarp(mask());
    }

    SIM_INLINE bool any(bool p) {
        if (SIM_LANES == 1) return p;
        sync();
        return __any_sync(mask(), p);
    }

    // Which lanes of the group p is true in: bit i is lane i. No barrier for memory.
    SIM_INLINE unsigned ballot(bool p) const {
        const unsigned bits = __ballot_sync(mask(), p);
        return SIM_LANES == 32 ? bits : (bits & mask()) >> (threadIdx.x % 32u - unsigned(lane_));
    }

    template <class T>
    SIM_INLINE T broadcast(T value, int lane) {
        if (SIM_LANES == 1) return value;
        sync();
        return __shfl_sync(mask(), value, lane, SIM_LANES);
    }

    template <class T, class Before>
    SIM_INLINE T best(T value, Before before) {
        sync();
#pragma unroll
        for (int offset = SIM_LANES / 2; offset > 0; offset /= 2) {
            const T other = words_across(value, offset);
            if (before(other, value)) value = other;
        }
        return value;
    }

    template <class Term>
    SIM_INLINE auto max_over(int n, Term term) {
        auto result = largest_of_share(lane(), SIM_LANES, n, term);
        sync();
#pragma unroll
        for (int offset = SIM_LANES / 2; offset > 0; offset /= 2)
            result = larger(result, __shfl_xor_sync(mask(), result, offset, SIM_LANES));
        return unsigned_zero(result);
    }

    template <class Term, class Each>
    SIM_INLINE int scan(int n, Term term, Each each) {
        int total = 0;
        for (int base = 0; base < n; base += SIM_LANES) {
            const int i = base + lane();
            const int value = i < n ? term(i) : 0;
            sync();
            int through = value;  // sum of the terms of this lane and those before it
#pragma unroll
            for (int offset = 1; offset < SIM_LANES; offset *= 2) {
                const int before = __shfl_up_sync(mask(), through, unsigned(offset), SIM_LANES);
                if (lane() >= offset) through += before;
            }
            if (i < n) each(i, total + through - value);
            total += SIM_LANES == 1 ? through : __shfl_sync(mask(), through, SIM_LANES - 1, SIM_LANES);
        }
        return total;
    }

    template <class Term>
    SIM_INLINE int scan(int n, Term term) {
        int total = 0;
        for (int i = lane(); i < n; i += SIM_LANES) total += term(i);
        sync();
#pragma unroll
        for (int offset = SIM_LANES / 2; offset > 0; offset /= 2)
            total += __shfl_xor_sync(mask(), total, offset, SIM_LANES);
        return total;
    }

    template <class Term, class... Ranges>
    SIM_INLINE auto sum_over(int n, Term term, Ranges... ranges) {
        using T = decltype(term(0));
        if constexpr (SIM_LANES == 1) return sum_by_one_lane(n, term, ranges...);
        T partial[SHARE];
#pragma unroll
        for (int q = 0; q < SHARE; ++q) partial[q] = empty_sum<T>();
        add(partial, n, term, ranges...);
        sync();
#pragma unroll
        for (int offset = SHARE / 2; offset > 0; offset /= 2) {
#pragma unroll
            for (int q = 0; q < offset; ++q) partial[q] += partial[q + offset];
        }
        T result = partial[0];
#pragma unroll
        for (int offset = SIM_LANES / 2; offset > 0; offset /= 2) result += from_lane_across(result, offset);
        return result;
    }

private:
    // A whole warp is a constant, so that the compiler need not ask who is there.
    SIM_INLINE unsigned mask() const { return SIM_LANES == 32 ? 0xffffffffu : mask_; }

    SIM_INLINE real from_lane_across(real x, int offset) const { return __shfl_xor_sync(mask(), x, offset, SIM_LANES); }
    SIM_INLINE RealPair from_lane_across(const RealPair& x, int offset) const {
        return {from_lane_across(x.first, offset), from_lane_across(x.second, offset)};
    }

    template <class T>
    SIM_INLINE T words_across(const T& value, int offset) const {
        static_assert(sizeof(T) % sizeof(unsigned) == 0, "whole words");
        unsigned word[sizeof(T) / sizeof(unsigned)];
        memcpy(word, &value, sizeof(T));
#pragma unroll
        for (unsigned& w : word) w = __shfl_xor_sync(mask(), w, offset, SIM_LANES);
        T other;
        memcpy(&other, word, sizeof(T));
        return other;
    }

    static constexpr int SHARE = SUM_PARTIALS / SIM_LANES;  // partials of a lane: lane, lane + SIM_LANES, ...

    template <class T, class Term>
    SIM_INLINE void add(T* partial, int n, Term term) const {
        for (int base = 0; base < n; base += SUM_PARTIALS) {
#pragma unroll
            for (int q = 0; q < SHARE; ++q) {
                const int i = base + q * SIM_LANES + lane();
                if (i < n) partial[q] += term(i);
            }
        }
    }

    template <class T, class Term, class... Ranges>
    SIM_INLINE void add(T* partial, int n, Term term, int m, Ranges... ranges) const {
        add(partial, n, term);
        add(partial, m, ranges...);
    }

    int lane_;
    unsigned mask_;
};
#endif

// Block size: whole groups; a multiple of 32 above 32. Group g of all resident groups works slots g, g + groups, ...
template <class Body>
SIM_INLINE void for_each_world(int worlds, const Scratch& scratch, Body body) {
    extern __shared__ __align__(16) char sim_shared_memory[];
    const int in_block = int(threadIdx.x) / SIM_LANES, groups_of_block = int(blockDim.x) / SIM_LANES;
    const int group = int(blockIdx.x) * groups_of_block + in_block, groups = int(gridDim.x) * groups_of_block;
    char* fast = scratch.shared ? sim_shared_memory + in_block * scratch.stride : scratch.base + group * scratch.stride;
    const GroupMemory memory = {fast, scratch.spill + group * scratch.spill_stride};
    Lanes lanes;
#pragma unroll 1
    for (int slot = group; slot < worlds; slot += groups) {
#ifdef SIM_POISON
        for (long long i = lanes.lane(); i < scratch.stride; i += SIM_LANES) memory.fast[i] = char(0xff);
        for (long long i = lanes.lane(); i < scratch.spill_stride; i += SIM_LANES) memory.slow[i] = char(0xff);
        lanes.sync();
#endif
        lanes.keep_step();
        body(lanes, slot, memory);
        lanes.sync();
    }
}
