// Contacts of candidates of any two shapes (narrow_phase.h).
#include "collide_any.h"

using NarrowPairs = AllPairs;

#include "narrow_kernels.h"
