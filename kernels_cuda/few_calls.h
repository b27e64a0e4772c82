// Included first by files of few kernels: on a GPU the functions of all headers behind it are inlined in the general
// form too. Calls pass structs through memory, for which a kernel with few groups on a multiprocessor waits.
#pragma once

#include "platform.h"

#ifdef SIM_GPU
#undef SIM_FUNCTION
#define SIM_FUNCTION __device__ inline
#undef SIM_STAGE
#define SIM_STAGE __device__ inline
#endif
