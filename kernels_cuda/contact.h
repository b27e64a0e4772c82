// The contacts of one world in its group's memory, and what the two materials of a pair become together.
//
// Distance is normal . (p1 - p0) of the two witness points, negative when the shapes overlap; the force acts at their
// midpoint. The witness points are kept in the frames of their bodies, rounded as they are in Contacts, and the
// midpoint is made from them: a step that collides by itself and one that reads Contacts see the same bits.
#pragma once

#include "world.h"

struct Contact {
    vec3 point;      // midpoint of the witness points, in the world
    vec3 normal;     // from the first shape to the second, unit, in the world
    vec3 tangent;    // first tangent, unit, in the world; the second is cross(normal, tangent)
    vec3 point0;     // witness point on the first shape, in its body's frame
    vec3 point1;     // witness point on the second shape, in its body's frame
    real distance;   // normal . (p1 - p0)
    real margin;     // separation at which the surfaces rest: the contact acts on distance - margin
    real time;       // s: when within the step the surfaces of a pair that is followed meet, above 0; else 0
    int shape0;      // shapes, as rows of the model
    int shape1;
    int link0;       // links of the two shapes; 0: fixed to the world
    int link1;
    int feature;     // number of the contact within its pair, stable while the same features touch
    int parameter;   // contact pair of the model whose parameters act; -1: those of the two shapes, combined
};

// Where a shape is in the world, and how far it reaches.
struct ShapePlace {
    Transform pose;
    real reach;   // radius of the bounding sphere about its origin, with margin and gap; infinite: a plane
    real margin;
    real gap;
};

// Contacts of a world. Records lie at the slots of their pairs, `slot` lists those in use in the order (pair, feature).
// Both are touched a few times a step and so lie in the slow memory of the group.
struct ContactMemory {
    ShapePlace* shape;  // of every shape of the world and every shared static one
    Contact* records;
    int* slot;
    int* candidate;           // pairs whose bounding spheres are within reach
    int* candidate_contacts;  // how many contacts each of them has

    SIM_FUNCTION Contact& operator[](int i) const { return records[slot[i]]; }
};

// Worst case: no pair can make more contacts than it has room for.
SIM_INLINE ContactMemory take_contact_memory(MemoryBump& bump, MemoryBump& slow, const Topology& t) {
    ContactMemory m;
    m.shape = bump.take<ShapePlace>(t.shapes());
    m.records = slow.take<Contact>(t.contacts_max());
    m.slot = slow.take<int>(t.contacts_max());
    m.candidate = bump.take<int>(t.pairs());
    m.candidate_contacts = bump.take<int>(t.pairs());
    return m;
}

// Shapes are numbered within a world: its own ones first, then the shared static ones. The row in the model's arrays:
SIM_FUNCTION int model_shape(const ModelView& model, int world, int shape) {
    const int first = model.world_shape_start[world], own = model.world_shape_start[world + 1] - first;
    return shape < own ? first + shape : model.world_shape_start[model.worlds] + shape - own;
}

// and back; negative where the row is no shape of this world.
SIM_FUNCTION int world_shape(const ModelView& model, int world, int row) {
    const int first = model.world_shape_start[world], end = model.world_shape_start[world + 1];
    const int shared = model.world_shape_start[model.worlds];
    if (row >= shared) return row < model.shapes ? end - first + row - shared : -1;
    return row >= first && row < end ? row - first : -1;
}

// Pose of a link as collision sees it: that of body_q, its quaternion normalised.
SIM_FUNCTION Transform contact_pose(const Transform& link_pose) { return {link_pose.p, normalize(link_pose.q)}; }

// Midpoint of the witness points, from their bodies' frames.
SIM_FUNCTION vec3 contact_midpoint(const Transform* link_pose, const Contact& c) {
    const vec3 p0 = transform_point(contact_pose(link_pose[c.link0]), c.point0);
    const vec3 p1 = transform_point(contact_pose(link_pose[c.link1]), c.point1);
    return real(0.5) * (p0 + p1);
}

// Does the model have contact pairs? Known in a specialised form.
SIM_INLINE bool has_contact_pairs(const ModelView& model) {
#ifdef SIM_CONTACT_PAIRS
    return SIM_CONTACT_PAIRS && model.contact_pairs > 0;
#else
    return model.contact_pairs > 0;
#endif
}

// How near two surfaces rest, and how much further they are detected.
struct PairReach {
    real margin, gap;
};

// Margins and gaps of the two shapes add up, unless contact pair `parameter` (-1 none) has its own.
SIM_FUNCTION PairReach pair_reach(const ModelView& model, int shape0, int shape1, int parameter) {
    PairReach r = {model.shape_margin[shape0] + model.shape_margin[shape1],
                   model.shape_gap[shape0] + model.shape_gap[shape1]};
    if (!has_contact_pairs(model) || parameter < 0) return r;
    const real margin = model.contact_pair_margin[parameter], gap = model.contact_pair_gap[parameter];
    return {margin < 0 ? r.margin : margin, gap < 0 ? r.gap : gap};
}

// How deep two shapes may be in each other until the way out may be to the other side; 0: two surfaces.
//
// Solids of which the least translation that parts them is found: the sum of the radii of the balls inside them. A
// surface (a radius of 0) tells its front, so that the body's own ball bounds. A distance field (a radius below 0,
// minus half of what it is thick) tells each point the way to the nearer side, whatever the other shape is: its own
// half thickness bounds alone, of two fields the lesser one. Less a part, in each case, that keeps clear of the middle,
// from which either side is as near. Planes have no other side.
constexpr real SOLID_DEPTH = real(0.96875), FIELD_DEPTH = real(0.75);

SIM_FUNCTION real known_depth(const ModelView& model, int shape0, int shape1) {
    const real a = model.shape_inradius[shape0], b = model.shape_inradius[shape1], most = maximum(a, b);
    if (!(minimum(a, b) < 0) || !(most <= REAL_MAX)) return SOLID_DEPTH * (a + b);
    return -FIELD_DEPTH * (most < 0 ? most : minimum(a, b));
}

// Half of what a pair of shapes is thick: what moves further within a step may come to the other side. Two surfaces
// tell nothing of that; they count as this part of the smaller one's radius.
constexpr real SURFACE_PART = real(0.125);

SIM_FUNCTION real pair_thickness(const ModelView& model, int shape0, int shape1) {
    const real known = known_depth(model, shape0, shape1);
    return known > 0 ? known : SURFACE_PART * minimum(model.shape_radius[shape0], model.shape_radius[shape1]);
}

// ---- materials ---------------------------------------------------------------------------------------------------

// What acts in a contact of two materials.
struct ContactMaterial {
    real friction;            // sliding
    real friction_ratio;      // along the second tangent, over that along the first
    real static_friction;     // below the stiction speed
    real torsional_friction;  // m
    real rolling_friction;    // m
    real restitution;
    real reference[2];        // time constant, damping ratio
    real tangent_reference[2];  // of the tangents of an elliptic cone; 0: as reference
    real impedance[5];        // d0, dmax, width, midpoint, power
    real stiffness;           // N/m; 0: the reference and impedance form holds
    real dissipation;         // s/m, with stiffness
    int dimension;            // 1, 3, 4 or 6
};

// One value of two, by the combine mode of the pair.
SIM_FUNCTION real combine(int mode, real a, real b) {
    switch (mode) {
        case COMBINE_AVERAGE: return real(0.5) * (a + b);
        case COMBINE_MINIMUM: return minimum(a, b);
        case COMBINE_MULTIPLY: return a * b;
        default: return maximum(a, b);
    }
}

SIM_FUNCTION ContactMaterial shape_material(const ModelView& model, int s) {
    ContactMaterial m;
    m.friction = model.shape_friction[s];
    m.friction_ratio = 1;
    m.tangent_reference[0] = m.tangent_reference[1] = 0;
    m.static_friction = model.shape_static_friction[s];
    m.torsional_friction = model.shape_torsional_friction[s];
    m.rolling_friction = model.shape_rolling_friction[s];
    m.restitution = model.shape_restitution[s];
    for (int i = 0; i < 2; ++i) m.reference[i] = model.shape_reference[2 * s + i];
    for (int i = 0; i < 5; ++i) m.impedance[i] = model.shape_impedance[5 * s + i];
    m.stiffness = model.shape_stiffness[s];
    m.dissipation = model.shape_dissipation[s];
    m.dimension = model.shape_contact_dim[s];
    return m;
}

// Springs in series: 1/k = 1/k0 + 1/k1, and the dissipation that makes the two dampers carry the same force as their
// springs do, weighted by the share of the deformation that each takes. A side without stiffness leaves the other's.
SIM_FUNCTION void combine_stiffness(ContactMaterial& m, const ContactMaterial& other) {
    if (!(other.stiffness > 0)) return;
    if (!(m.stiffness > 0)) {
        m.stiffness = other.stiffness;
        m.dissipation = other.dissipation;
        return;
    }
    const real share = divide(other.stiffness, m.stiffness + other.stiffness);  // of the deformation, the first one's
    m.dissipation = multiply_add(share, m.dissipation, (1 - share) * other.dissipation);
    m.stiffness = share * m.stiffness;
}

// Pair values. The combine mode is the later of the two in the list of CombineMode. Friction and restitution combine by
// it, contact dimensions by their maximum, impedance forms by their average, stiffnesses in series (mixed pairs use
// stiffness). In MJCF's mode friction is the maximum element by element, and a shape of higher priority gives all.
SIM_FUNCTION ContactMaterial mix_materials(const ModelView& model, int shape0, int shape1) {
    const int mode0 = model.shape_combine[shape0], mode1 = model.shape_combine[shape1];
    const int mode = mode0 > mode1 ? mode0 : mode1;
    ContactMaterial m = shape_material(model, shape0);
    const ContactMaterial other = shape_material(model, shape1);
    const int priority0 = model.shape_priority[shape0], priority1 = model.shape_priority[shape1];
    if (mode == COMBINE_MJCF && priority0 != priority1) return priority0 > priority1 ? m : other;
    m.friction = combine(mode, m.friction, other.friction);
    m.static_friction = combine(mode, m.static_friction, other.static_friction);
    m.torsional_friction = combine(mode, m.torsional_friction, other.torsional_friction);
    m.rolling_friction = combine(mode, m.rolling_friction, other.rolling_friction);
    m.restitution = combine(mode, m.restitution, other.restitution);
    for (int i = 0; i < 2; ++i) m.reference[i] = real(0.5) * (m.reference[i] + other.reference[i]);
    for (int i = 0; i < 5; ++i) m.impedance[i] = real(0.5) * (m.impedance[i] + other.impedance[i]);
    m.dimension = m.dimension > other.dimension ? m.dimension : other.dimension;
    combine_stiffness(m, other);
    return m;
}

// Least friction of a contact pair that has any (MuJoCo's mjMINMU): its two tangents are told apart by a ratio.
#define SIM_LEAST_PAIR_FRICTION real(1e-5)

SIM_FUNCTION void take_pair_friction(const real* friction, ContactMaterial& m) {
    const bool slides = friction[0] > 0 || friction[1] > 0;
    m.friction = slides ? maximum(friction[0], SIM_LEAST_PAIR_FRICTION) : real(0);
    m.static_friction = m.friction;
    const real second = maximum(friction[1], SIM_LEAST_PAIR_FRICTION);
    if (slides && second != m.friction) m.friction_ratio = divide(second, m.friction);
    m.torsional_friction = friction[2];
    m.rolling_friction = friction[3];
}

// What a contact pair says itself, in place of what its shapes make together. A reference or an impedance of its own
// takes the place of a stiffness.
SIM_FUNCTION void take_pair_parameters(const ModelView& model, int pair, ContactMaterial& m) {
    const real* reference = &model.contact_pair_reference[2 * pair];
    const real* impedance = &model.contact_pair_impedance[5 * pair];
    if (model.contact_pair_dim[pair] > 0) m.dimension = model.contact_pair_dim[pair];
    if (model.contact_pair_friction[5 * pair] >= 0) take_pair_friction(&model.contact_pair_friction[5 * pair], m);
    if (reference[0] > 0)
        for (int i = 0; i < 2; ++i) m.reference[i] = reference[i];
    if (impedance[0] >= 0)
        for (int i = 0; i < 5; ++i) m.impedance[i] = impedance[i];
    if (reference[0] > 0 || impedance[0] >= 0) m.stiffness = 0;
    for (int i = 0; i < 2; ++i) m.tangent_reference[i] = model.contact_pair_friction_reference[2 * pair + i];
}

// What acts in a contact of two shapes; `parameter`: as of Contact.
SIM_FUNCTION ContactMaterial contact_material(const ModelView& model, int shape0, int shape1, int parameter) {
    ContactMaterial m = mix_materials(model, shape0, shape1);
    if (has_contact_pairs(model) && parameter >= 0) take_pair_parameters(model, parameter, m);
    return m;
}
