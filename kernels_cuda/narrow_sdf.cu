// narrow_phase.cu for models with distance fields.
#define SIM_DISTANCE_FIELDS 1

#include "narrow_phase.cu"
