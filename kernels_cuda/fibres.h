// Fibres for the emulated lanes: up to 32 call stacks of one thread, which hand the thread to each other at barriers.
// CPU only (x86-64, arm64).
#pragma once

#include "platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

// Saves the registers that a called function must keep on the current stack and its top in *from; goes on from `to`.
extern "C" __attribute__((visibility("hidden"))) void sim_switch_stack(void** from, void* to) asm("sim_switch_stack");

#if defined(__x86_64__)
asm(".text\n"
    ".p2align 4\n"
    "sim_switch_stack:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n");
constexpr int FIBRE_FRAME = 8;       // words at the top of a new stack: six registers, the entry, an end of frames
constexpr int FIBRE_FRAME_ENTRY = 6;
#elif defined(__aarch64__)
asm(".text\n"
    ".p2align 4\n"
    "sim_switch_stack:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");
constexpr int FIBRE_FRAME = 20;
constexpr int FIBRE_FRAME_ENTRY = 11;
#else
#error "emulated lanes need x86-64 or arm64"
#endif

// What a lane waits at: all lanes must come to the same.
struct Meeting {
    const char* what;
    int n;
};

// The lanes of one group. run() calls a function once in each; between two meetings they run one after another, in an
// order that depends on the seed, the world and the number of the meeting.
class Fibres {
public:
    static constexpr int MOST = 32;

    Fibres(int lanes, unsigned seed) : count_(lanes), seed_(seed) {
        if (lanes < 1 || lanes > MOST) fail("simengine: a group has 1 to 32 emulated lanes, not %d\n", lanes);
        const long size = (STACK + GUARD) * count_;
        void* stacks = mmap(nullptr, (unsigned long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stacks == MAP_FAILED) fail("simengine: no memory for the stacks of %d emulated lanes\n", lanes);
        stacks_ = (char*)stacks;
        for (int lane = 0; lane < count_; ++lane)
            if (mprotect(stacks_ + lane * (STACK + GUARD), GUARD, PROT_NONE) != 0)
                fail("simengine: the stack of emulated lane %d cannot be guarded\n", lane);
    }

    ~Fibres() { munmap(stacks_, (unsigned long)((STACK + GUARD) * count_)); }

    Fibres(const Fibres&) = delete;
    Fibres& operator=(const Fibres&) = delete;

    int count() const { return count_; }

    // body(context, lane) in every lane
    void run(void (*body)(void*, int), void* context, int slot) {
        body_ = body;
        context_ = context;
        slot_ = slot;
        for (int lane = 0; lane < count_; ++lane) start(lane);
        for (unsigned round = 0;; ++round) {
            int order[MOST];
            shuffle(order, round);
            for (int i = 0; i < count_; ++i) {
                current_ = order[i];
                running = this;
                sim_switch_stack(&home_, stack_[current_]);
            }
            check_meeting();
            if (!at_[0].what) return;
        }
    }

    // called by a lane: goes on when all lanes have come here
    __attribute__((noinline)) void meet(const char* what, int n) {
        const int lane = current_;
        at_[lane] = {what, n};
        sim_switch_stack(&stack_[lane], home_);
    }

    // called by a lane at the end of a world, with the number of its calls of keep_step()
    void end_world(int steps) {
        meet("the end, calls of keep_step():", steps);
        if (steps_ >= 0 && steps != steps_)
            fail("simengine: world slot %d came to keep_step() %d times, the world before it %d times: "
                 "every world must come to it equally often\n", slot_, steps, steps_);
        steps_ = steps;
    }

private:
    static constexpr long STACK = 512 * 1024, GUARD = 64 * 1024;
    static __thread Fibres* running;

    template <class... Values>
    [[noreturn]] static void fail(const char* format, Values... values) {
        fprintf(stderr, format, values...);
        abort();
    }

    static void enter() {
        Fibres* fibres = running;
        fibres->body_(fibres->context_, fibres->current_);
        fibres->meet(nullptr, 0);
        fail("simengine: an emulated lane went on after its end\n%s", "");
    }

    void start(int lane) {
        void** frame = (void**)(stacks_ + (lane + 1) * (STACK + GUARD)) - FIBRE_FRAME;
        for (int i = 0; i < FIBRE_FRAME; ++i) frame[i] = nullptr;
        frame[FIBRE_FRAME_ENTRY] = (void*)&enter;
        stack_[lane] = frame;
    }

    // Fisher and Yates; seed 0 keeps the lanes in order
    void shuffle(int* order, unsigned round) const {
        for (int i = 0; i < count_; ++i) order[i] = i;
        if (seed_ == 0) return;
        unsigned state = seed_ * 0x9e3779b9u + (unsigned)slot_ * 0x85ebca6bu + round * 0xc2b2ae35u + 1u;
        for (int i = count_ - 1; i > 0; --i) {
            state = (state ^ state >> 16) * 0x7feb352du;
            state = (state ^ state >> 15) * 0x846ca68bu;
            state ^= state >> 16;
            const int j = int(state % unsigned(i + 1)), kept = order[i];
            order[i] = order[j];
            order[j] = kept;
        }
    }

    static const char* place(const Meeting& meeting) { return meeting.what ? meeting.what : "the end"; }

    void check_meeting() const {
        for (int lane = 1; lane < count_; ++lane) {
            const Meeting &first = at_[0], &other = at_[lane];
            if (first.what == other.what && first.n == other.n) continue;
            fail("simengine: in world slot %d emulated lane 0 is at %s %d, lane %d at %s %d: "
                 "all lanes of a group must come to the same calls in the same order\n",
                 slot_, place(first), first.n, lane, place(other), other.n);
        }
    }

    const int count_;
    const unsigned seed_;
    int slot_ = 0, current_ = 0;
    int steps_ = -1;  // calls of keep_step() in the last world, -1 before there is one
    char* stacks_ = nullptr;
    void* home_ = nullptr;
    void* stack_[MOST] = {};
    Meeting at_[MOST] = {};
    void (*body_)(void*, int) = nullptr;
    void* context_ = nullptr;
};

__thread Fibres* Fibres::running = nullptr;
