// Lanes on the CPU as fibres: a group of as many lanes as the launch asks for (CpuLaunch::lanes), or of SIM_LANES where
// that is more than 1, which run in shuffled order between barriers (CpuLaunch::seed). Slow; what shows are missing
// calls of sync(), results that depend on the lanes, and calls of keep_step() that do not keep step.
#pragma once

#include "fibres.h"
#include "lanes.h"

// where lanes leave values for each other; two, used in turn, so that one meeting a collective is enough
struct LaneExchange {
    char value[2][SUM_PARTIALS][128];
};

class Lanes {
public:
    Lanes(Fibres& fibres, LaneExchange& exchange, int lane) : fibres_(fibres), exchange_(exchange), lane_(lane) {}

    int lane() const { return lane_; }
#if SIM_LANES > 1
    static constexpr int count() { return SIM_LANES; }
#else
    int count() const { return fibres_.count(); }
#endif

    void keep_step() { ++steps_; }
    bool keep_step(bool active) {
        steps_ += !active;  // the end of a loop
        return active;
    }
    int steps() const { return steps_; }

    void sync(int line = __builtin_LINE()) { fibres_.meet("sync(), line", line); }

    bool any(bool p, int line = __builtin_LINE()) {
        put(lane_, int(p));
        meet("any(), line", line);
        int result = 0;
        for (int lane = 0; lane < count(); ++lane) result |= get<int>(lane);
        return result != 0;
    }

    template <class T>
    T broadcast(T value, int lane, int line = __builtin_LINE()) {
        if (lane == lane_) put(lane, value);
        meet("broadcast(), line", line);
        return get<T>(lane);
    }

    template <class T, class Before>
    T best(T value, Before before, int line = __builtin_LINE()) {
        put(lane_, value);
        meet("best(), line", line);
        for (int lane = 0; lane < count(); ++lane)
            if (const T other = get<T>(lane); before(other, value)) value = other;
        return value;
    }

    template <class Term>
    auto max_over(int n, Term term) {
        auto result = largest_of_share(lane_, count(), n, term);
        put(lane_, result);
        meet("max_over(), n =", n);
        for (int lane = 0; lane < count(); ++lane) result = larger(result, get<decltype(result)>(lane));
        return unsigned_zero(result);
    }

    template <class Term, class Each>
    int scan(int n, Term term, Each each) {
        int total = 0;
        for (int base = 0; base < n; base += count()) {
            const int i = base + lane_;
            put(lane_, i < n ? int(term(i)) : 0);
            meet("scan(), n =", n);
            int before = total;
            for (int lane = 0; lane < count(); ++lane) {
                if (lane == lane_) before = total;
                total += get<int>(lane);
            }
            if (i < n) each(i, before);
        }
        return total;
    }

    template <class Term>
    int scan(int n, Term term) {
        return scan(n, term, [](int, int) {});
    }

    template <class Term, class... Ranges>
    auto sum_over(int n, Term term, Ranges... ranges) {
        using T = decltype(term(0));
        T partial[SUM_PARTIALS];
        for (int p = 0; p < SUM_PARTIALS; ++p) partial[p] = empty_sum<T>();
        add(partial, n, term, ranges...);
        for (int p = lane_; p < SUM_PARTIALS; p += count()) put(p, partial[p]);
        meet("sum_over(), n =", n);
        for (int p = 0; p < SUM_PARTIALS; ++p) partial[p] = get<T>(p);
        return sum_of_partials(partial);
    }

private:
    // partials of this lane: lane, lane + count(), ...
    template <class T, class Term>
    void add(T* partial, int n, Term term) const {
        for (int p = lane_; p < SUM_PARTIALS; p += count())
            for (int i = p; i < n; i += SUM_PARTIALS) partial[p] += term(i);
    }

    template <class T, class Term, class... Ranges>
    void add(T* partial, int n, Term term, int m, Ranges... ranges) const {
        add(partial, n, term);
        add(partial, m, ranges...);
    }

    template <class T>
    void put(int place, T value) {
        static_assert(sizeof(T) <= 128, "lanes exchange values of at most 128 bytes");
        __builtin_memcpy(exchange_.value[turn_][place], &value, sizeof value);
    }

    template <class T>
    T get(int place) const {
        T value;
        __builtin_memcpy((void*)&value, exchange_.value[1 - turn_][place], sizeof value);
        return value;
    }

    void meet(const char* what, int n) {
        turn_ = 1 - turn_;
        fibres_.meet(what, n);
    }

    Fibres& fibres_;
    LaneExchange& exchange_;
    const int lane_;
    int turn_ = 0, steps_ = 0;
};

template <class Body>
void for_each_world(int worlds, const Scratch& scratch, Body body) {
    struct Context {
        Fibres& fibres;
        LaneExchange exchange;
        Body& body;
        int slot;
        GroupMemory memory;
    };
    Fibres fibres(SIM_LANES > 1 ? SIM_LANES : sim_launch->lanes, sim_launch->seed);
    Context context = {fibres, {}, body, 0, {sim_launch->scratch, sim_launch->scratch + scratch.stride}};
    auto lane_body = [](void* pointer, int lane) {
        Context& c = *static_cast<Context*>(pointer);
        Lanes lanes(c.fibres, c.exchange, lane);
        c.body(lanes, c.slot, c.memory);
        c.fibres.end_world(lanes.steps());
    };
    const int end = sim_chunk_end(worlds);
    for (int slot = sim_chunk_begin(worlds); slot < end; ++slot) {
        if (sim_launch->poison)
            __builtin_memset(context.memory.fast, 0xff, (unsigned long)(scratch.stride + scratch.spill_stride));
        context.slot = slot;
        fibres.run(lane_body, &context, slot);
    }
}
