// shape_distance.cu for pairs with distance fields.
#define SIM_DISTANCE_FIELDS 1

#include "shape_distance.cu"
