// collide_any.cu for models with distance fields: others are spared the code.
#define SIM_DISTANCE_FIELDS 1

#include "collide_any.cu"
