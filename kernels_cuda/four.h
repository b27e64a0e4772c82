// Four neighbouring numbers, loaded and stored at once.
#pragma once

#include "platform.h"

inline constexpr int IN_FOUR = 4;

template <class T>
struct alignas(16) Four {
    T at[IN_FOUR];
};

// Number `block` of the fours that rows consist of; they begin at whole 16 bytes.
template <class T>
SIM_INLINE Four<T>& four(T* rows, int64 block) {
    return *(Four<T>*)(rows + IN_FOUR * block);
}
template <class T>
SIM_INLINE const Four<T>& four(const T* rows, int64 block) {
    return *(const Four<T>*)(rows + IN_FOUR * block);
}
