// The ground that every kernel stands on. On a GPU (NVRTC, nvcc) the CUDA words are the compiler's own; on the host
// this header supplies them, and the launch of the calling thread says which part of the work is its own.
//
//   SIM_GPU / SIM_CPU     which of the two this compilation is
//   SIM_DOUBLE            real is double (else float)
//   SIM_LANES             lanes of a group; the GPU's launch sets it, on the CPU it is 1 (or as given, if emulated)
//   SIM_EMULATED          CPU only: as many lanes as the launch asks for, or SIM_LANES if given, as fibres (lanes.h)
//   SIM_SPECIALISED       sizes and tables of the model are constants of the text
//   SIM_DEBUG             SIM_ARRAY(T) checks every index
//
// No include: this file and all that stands on it must compile where there are no host headers.
#pragma once

#if defined(__CUDACC__)
#define SIM_GPU 1
#else
#define SIM_CPU 1
#endif

#ifdef SIM_DOUBLE
typedef double real;
#else
typedef float real;
#endif

typedef int int32;
typedef long long int64;
typedef unsigned int uint32;
typedef unsigned long long uint64;

// ---- words -------------------------------------------------------------------------------------------------------

// SIM_INLINE: small functions, always inlined. SIM_FUNCTION: larger ones; on a GPU calls in the general form, which so
// compiles in seconds, inlined in a specialised one. SIM_STAGE: what a step does more than once, or seldom: calls on a
// GPU in both forms, since the length of the code costs time there.
#ifdef SIM_GPU
#ifdef SIM_SPECIALISED
#define SIM_FUNCTION __device__ inline
#else
#define SIM_FUNCTION __device__ __noinline__
#endif
#define SIM_STAGE __device__ __noinline__
#define SIM_INLINE __device__ __forceinline__
#define SIM_NOINLINE __device__ __noinline__
#define SIM_TABLE __device__ constexpr
#ifndef SIM_LANES
#define SIM_LANES 32
#endif
#else
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define SIM_FUNCTION inline
#define SIM_STAGE inline
#define SIM_INLINE inline __attribute__((always_inline))
#define SIM_NOINLINE __attribute__((noinline)) inline
#define SIM_TABLE constexpr
#if !defined(SIM_EMULATED) || !defined(SIM_LANES)
#undef SIM_LANES
#define SIM_LANES 1
#endif
#define SIM_EXPORT __attribute__((visibility("default")))
#endif

// Loops over the topology of a model are unrolled where the topology is a constant and many lanes share the work; with
// one lane the unrolled code is too long to compile.
#if defined(SIM_GPU) && defined(SIM_SPECIALISED) && SIM_LANES > 1
#define SIM_UNROLL _Pragma("unroll")
#else
#define SIM_UNROLL
#endif
#ifdef SIM_GPU
#define SIM_ROLLED _Pragma("unroll 1")
#else
#define SIM_ROLLED
#endif

// ---- launches ----------------------------------------------------------------------------------------------------

// Memory of the lane groups: `stride` bytes each. On the GPU in shared memory (`shared` is 1; `base` is unused) or in
// global memory, one piece for each resident group. On the CPU `base` is the worker's own piece. What is seldom touched
// goes to the `spill`, always in global memory. The runtime fills it.
struct Scratch {
    char* base;
    long long stride;
    int shared;
    char* spill;
    long long spill_stride;
};

#ifdef SIM_CPU
// What one call of a kernel on the CPU works on: part `chunk` of `chunks` equal parts.
struct CpuLaunch {
    int chunk;
    int chunks;
    int lanes;      // emulated lanes of a group (SIM_EMULATED)
    unsigned seed;  // of the order in which emulated lanes run between barriers
    int poison;     // 1: the memory of a group is filled with NaN bytes (0xff) before each world
    int padding;
    char* scratch;  // the worker's memory
};

static const CpuLaunch sim_whole_launch = {0, 1, 1, 0u, 0, 0, nullptr};
[[maybe_unused]] static __thread const CpuLaunch* sim_launch = &sim_whole_launch;

// The scratch of a launch in the worker's own memory.
[[maybe_unused]] static inline Scratch sim_own_scratch(Scratch scratch, const CpuLaunch* launch) {
    scratch.base = launch->scratch;
    return scratch;
}

template <class T>
inline T sim_chunk_begin(T n) {
    return T((long long)n * sim_launch->chunk / sim_launch->chunks);
}

template <class T>
inline T sim_chunk_end(T n) {
    return T((long long)n * (sim_launch->chunk + 1) / sim_launch->chunks);
}
#endif

// for_each(i, n) { ... }: this thread's share of 0 .. n-1; i has the type of n, an integer.
template <class T>
struct SimCounter {
    T value, stride;
    SIM_INLINE T operator*() const { return value; }
    SIM_INLINE void operator++() { value += stride; }
    SIM_INLINE bool operator!=(const SimCounter& end) const { return value < end.value; }
};

template <class T>
struct SimRange {
    SimCounter<T> first, last;
    SIM_INLINE SimCounter<T> begin() const { return first; }
    SIM_INLINE SimCounter<T> end() const { return last; }
};

template <class T>
SIM_INLINE SimRange<T> sim_share(T n) {
#ifdef SIM_GPU
    const T stride = T(gridDim.x) * T(blockDim.x);
    return {{T(blockIdx.x) * T(blockDim.x) + T(threadIdx.x), stride}, {n, stride}};
#else
    return {{sim_chunk_begin(n), T(1)}, {sim_chunk_end(n), T(1)}};
#endif
}

#define for_each(i, n) for (const auto i : sim_share(n))

// ---- arrays ------------------------------------------------------------------------------------------------------

// SIM_ARRAY(T), the type of an array in a struct or a signature, is T*; where SIM_DEBUG is defined it is a pointer that
// knows its bounds (the runtime gives pointer parameters of a kernel this type too): an index outside them is recorded
// in `sim_debug_slot` (the first one of a launch) and the access goes to a spare place.
#ifndef SIM_DEBUG
#define SIM_ARRAY(...) __VA_ARGS__*
#else
#define SIM_ARRAY(...) Array<__VA_ARGS__>
struct SimDebugSlot {
    int code;  // 1: an index was out of bounds
    int block;
    long long name, index, size;
};

#ifdef SIM_GPU
extern "C" {
__device__ SimDebugSlot sim_debug_slot;
__device__ long long sim_debug_spare[4];
}
#else
extern "C" {
SIM_EXPORT SimDebugSlot sim_debug_slot;
}
[[maybe_unused]] static long long sim_debug_spare[4];
#endif

// Records an index out of bounds; returns the spare place.
SIM_NOINLINE void* sim_debug_report(long long name, long long index, long long size) {
#ifdef SIM_GPU
    const bool first = atomicCAS(&sim_debug_slot.code, 0, 1) == 0;
    const int block = int(blockIdx.x);
#else
    int expected = 0;
    const bool first = __atomic_compare_exchange_n(&sim_debug_slot.code, &expected, 1, false,  //
                                                   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    const int block = sim_launch->chunk;
#endif
    if (first) {
        sim_debug_slot.block = block;
        sim_debug_slot.name = name;
        sim_debug_slot.index = index;
        sim_debug_slot.size = size;
    }
    return sim_debug_spare;
}

template <class T>
struct Array {
    T* data;
    long long size;  // elements
    long long name;  // address of its name in the host's memory

    Array() = default;
    // From a bare pointer: nothing is known of its bounds.
    SIM_FUNCTION Array(T* pointer) : data(pointer), size(pointer ? 0x7fffffffffffffffll : 0), name(0) {}
    template <class U>
    SIM_FUNCTION Array(const Array<U>& other) : data(other.data), size(other.size), name(other.name) {}

    SIM_FUNCTION T& at(long long index) const {
        if (index < 0 || index >= size) return *static_cast<T*>(sim_debug_report(name, index, size));
        return data[index];
    }
    template <class I>
    SIM_FUNCTION T& operator[](I i) const {
        return at((long long)i);
    }
    SIM_FUNCTION T& operator*() const { return at(0); }
    SIM_FUNCTION T* operator->() const { return &at(0); }
    // What begins `offset` elements on: indices and bounds count from there.
    template <class I>
    SIM_FUNCTION Array operator+(I offset) const {
        Array rest = *this;
        rest.data += (long long)offset;
        rest.size -= (long long)offset;
        return rest;
    }
    template <class I>
    SIM_FUNCTION Array operator-(I offset) const {
        return *this + (-(long long)offset);
    }
    // A function that takes a bare pointer gets one, without checks.
    SIM_FUNCTION operator T*() const { return data; }
};
#endif
