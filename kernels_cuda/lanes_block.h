// Lanes of a whole block on the GPU: SIM_LANES threads, more than a warp. For work that many threads share, such as a
// tile of a sort; sum_over, broadcast and keep_step are for groups within a warp.
#pragma once

#include "lanes.h"

static_assert(SIM_LANES % 32 == 0 && SIM_LANES <= 1024, "a block is whole warps, at most 1024 lanes");

class Lanes {
public:
    SIM_INLINE int lane() const { return int(threadIdx.x); }
    SIM_INLINE static constexpr int count() { return SIM_LANES; }
    SIM_INLINE void sync() { __syncthreads(); }
    SIM_INLINE void keep_step() { __syncthreads(); }
    SIM_INLINE bool any(bool p) { return __syncthreads_or(p); }

    template <class Term>
    SIM_INLINE auto max_over(int n, Term term) {
        using T = decltype(term(0));
        __shared__ T of_warps[WARPS];
        T result = largest_of_share(lane(), SIM_LANES, n, term);
#pragma unroll
        for (int offset = 16; offset > 0; offset /= 2)
            result = larger(result, __shfl_xor_sync(ALL, result, unsigned(offset)));
        if (lane() % 32 == 0) of_warps[lane() / 32] = result;
        sync();
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp) result = larger(result, of_warps[warp]);
        sync();
        return unsigned_zero(result);
    }

    template <class Term, class Each>
    SIM_INLINE int scan(int n, Term term, Each each) {
        __shared__ int of_warps[WARPS];
        int total = 0;
        for (int base = 0; base < n; base += SIM_LANES) {
            const int i = base + lane(), value = i < n ? term(i) : 0;
            int before = total + through_warp(value) - value;
            if (lane() % 32 == 31) of_warps[lane() / 32] = before + value - total;
            sync();
#pragma unroll
            for (int warp = 0; warp < WARPS; ++warp) {
                before += warp < lane() / 32 ? of_warps[warp] : 0;
                total += of_warps[warp];
            }
            if (i < n) each(i, before);
            sync();
        }
        return total;
    }

    template <class Term>
    SIM_INLINE int scan(int n, Term term) {
        int share = 0;
        for (int i = lane(); i < n; i += SIM_LANES) share += term(i);
        return scan(SIM_LANES, [&](int) { return share; }, [](int, int) {});
    }

private:
    static constexpr unsigned ALL = 0xffffffffu;
    static constexpr int WARPS = SIM_LANES / 32;

    // Sum of the values of this lane and those before it in its warp.
    SIM_INLINE static int through_warp(int value) {
        int through = value;
#pragma unroll
        for (int offset = 1; offset < 32; offset *= 2) {
            const int before = __shfl_up_sync(ALL, through, unsigned(offset));
            if (threadIdx.x % 32u >= unsigned(offset)) through += before;
        }
        return through;
    }
};
