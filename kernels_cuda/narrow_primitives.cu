// Contacts of candidates that are all of the pairs that a step collides by itself (narrow_phase.h).
#include "few_calls.h"

#include "collide.h"

using NarrowPairs = PrimitivePairs;

#include "narrow_kernels.h"
