// The contacts of many triangles, reduced to a few that hold the bodies as all of them would: for each of six
// directions of the normal the deepest, the furthest in eight directions across, and of those that are still to be met
// the first. No result depends on the order in which they come.
#pragma once

#include "collide_shape.h"

constexpr int REDUCED_CONTACTS = 16;
constexpr int NORMAL_BINS = 6, FURTHEST = 8, MET_SLOT = FURTHEST + 1, BIN_SLOTS = FURTHEST + 2;

constexpr real STEPS_PER_RADIUS = real(1e4);
constexpr real STEP_OFFSET = real(0.37);  // round numbers of metres do not lie where a step begins
constexpr real COSINE_10 = real(0.98480775301220805937), SINE_10 = real(0.17364817766693034885);
constexpr real COSINE_55 = real(0.57357643635104609611), SINE_55 = real(0.81915204428899178968);

struct ReducedContact {
    vec3 point;    // on the surface, in the world
    vec3 normal;   // from the surface outwards
    real distance;
    real time;     // within the step, of a contact of a pair that is followed; else 0
    real way;      // m, to go until then
    int number;    // -1: none
};

// Zeros of one sign, so that what compares as the same is the same.
SIM_INLINE vec3 unsigned_zeros(vec3 v) { return v + zero_vec3(); }

// The order of contacts: by their numbers, and where these are equal (one vertex was met by several triangles; of two
// meshes numbers repeat) by what they hold. Of two with one score the first stands.
SIM_FUNCTION bool precedes(const ReducedContact& a, const ReducedContact& b) {
    if (a.number != b.number) return a.number < b.number;
    if (a.distance != b.distance) return a.distance < b.distance;
    const int by_normal = compare(a.normal, b.normal);
    return by_normal != 0 ? by_normal < 0 : compare(a.point, b.point) < 0;
}

// The bin of a unit normal in the reduction's frame: of the axis to which it is nearest.
SIM_INLINE int normal_bin(vec3 n) {
    const int k = longest_axis(n);
    return 2 * k + (n[k] < 0);
}

// What touches now comes before what is still to be met; of each the one with the higher score.
SIM_FUNCTION bool is_better(const ReducedContact& a, real score_a, const ReducedContact& b, real score_b) {
    const bool now_a = a.way == 0, now_b = b.way == 0;
    if (now_a != now_b) return now_a;
    return score_a > score_b || (score_a == score_b && precedes(a, b));
}

// Takes contacts as a routine's `write` does, with the surface as the first body. `frame`: that of the body which
// touches the surface; the bins go with it.
struct ContactReduction {
    Transform frame;
    real reach;
    real steps;  // per metre: scores are rounded down to whole ones, so that the first of nearly equal contacts wins
    real finer;  // scores of depth are rounded this many times finer
    vec3 tangent_hint;
    real limit;  // m: contacts that are deeper are left out
    real time;   // of the contacts that come
    real way;    // m, to go until then
    ReducedContact slot[NORMAL_BINS * BIN_SLOTS];
    real score[NORMAL_BINS * BIN_SLOTS];

    // `radius`: of the smaller body.
    SIM_FUNCTION void begin(const Transform& pose, real radius, real distance) {
        frame = pose;
        reach = distance;
        steps = divide(STEPS_PER_RADIUS, maximum(radius, real(1e-12)));
        finer = 1;
        tangent_hint = zero_vec3();
        time = way = 0;
        clear(REAL_INFINITY);
    }

    SIM_FUNCTION void clear(real deepest) {
        limit = deepest;
        for (int i = 0; i < NORMAL_BINS * BIN_SLOTS; ++i) slot[i].number = -1;
    }

    SIM_FUNCTION void operator()(int number, vec3 point, vec3 normal, real distance) {
        if (!(distance < reach && distance >= -REAL_MAX && distance >= -limit)) return;
        const ReducedContact c = {unsigned_zeros(point), unsigned_zeros(normal), distance, time, way, number};
        const int bin = normal_bin(inverse_rotate(frame.q, normal)), k = bin / 2;
        const vec3 p = inverse_transform_point(frame, point);
        const real u = p[(k + 1) % 3], v = p[(k + 2) % 3];
        // at 10 and 55 degrees and their right angles: along no edge or diagonal of a box or a disc's polygon, so that
        // of points on an edge its ends are the furthest, and round-off does not choose
        const real near_u = multiply_add(COSINE_10, u, SINE_10 * v), near_v = multiply_add(COSINE_10, v, -SINE_10 * u);
        const real far_u = multiply_add(COSINE_55, u, SINE_55 * v), far_v = multiply_add(COSINE_55, v, -SINE_55 * u);
        const real scores[BIN_SLOTS] = {-distance - way, near_u, near_v, -near_u, -near_v,
                                        far_u,           far_v,  -far_u, -far_v,  -way};
        for (int i = 0; i < (way > 0 ? BIN_SLOTS : MET_SLOT); ++i) {
            const int s = BIN_SLOTS * bin + i;
            const real rounded = floor_of(multiply_add(scores[i], i == 0 ? finer * steps : steps, STEP_OFFSET));
            if (slot[s].number >= 0 && !is_better(c, rounded, slot[s], score[s])) continue;
            slot[s] = c;
            score[s] = rounded;
        }
    }

    // Numbers of two meshes have too few bits for all pairs of triangles (depths are fine for these alone).
    SIM_INLINE bool numbers_repeat() const { return finer > 1; }

    // The deepest of all; number -1: there is none.
    SIM_FUNCTION ReducedContact deepest() const {
        ReducedContact best = {zero_vec3(), zero_vec3(), REAL_INFINITY, 0, 0, -1};
        for (int bin = 0; bin < NORMAL_BINS; ++bin)
            if (slot[BIN_SLOTS * bin].number >= 0 && slot[BIN_SLOTS * bin].distance < best.distance)
                best = slot[BIN_SLOTS * bin];
        return best;
    }
};

struct ScoredContact {
    ReducedContact contact;
    real score;
};

// What the lanes of a team have found each for itself becomes what all of them have.
template <class Team>
SIM_FUNCTION void merge_reductions(Team& team, ContactReduction& found) {
    if (team.count() == 1) return;
    SIM_ROLLED
    for (int i = 0; i < NORMAL_BINS * BIN_SLOTS; ++i) {
        if (!team.any(found.slot[i].number >= 0)) continue;
        const auto before = [](const ScoredContact& a, const ScoredContact& b) {
            if (a.contact.number < 0 || b.contact.number < 0) return a.contact.number >= 0 && b.contact.number < 0;
            return is_better(a.contact, a.score, b.contact, b.score);
        };
        const ScoredContact best = team.best(ScoredContact{found.slot[i], found.score[i]}, before);
        found.slot[i] = best.contact;
        found.score[i] = best.score;
    }
}

// Contacts nearer to each other than this part of the body's radius, along nearly one normal, are one, and so are those
// with one number: near each other where numbers repeat, else anywhere. A deepest contact that is deeper than the
// furthest ones by less than this part says no more than they do.
constexpr real MERGED_CONTACTS = real(1e-3);
constexpr real DEEPER_CONTACT = real(3e-4);
constexpr real MERGED_NORMALS = real(0.999);

// Contact i of a bin, of those that are to be kept.
SIM_FUNCTION bool is_wanted(const ContactReduction& found, int bin, int i, real radius) {
    const ReducedContact* slot = found.slot + BIN_SLOTS * bin;
    if (i > 0 || slot[0].number < 0) return slot[i].number >= 0;
    real least = REAL_INFINITY;
    for (int k = 1; k <= FURTHEST; ++k) {
        // where depths are fine one of the furthest is taken first, so that none near it takes its place
        const vec3 apart = slot[k].point - slot[0].point;
        const real merge = MERGED_CONTACTS * radius;
        if (found.finer > 1 && dot(apart, apart) <= merge * merge) return true;
        least = minimum(least, slot[k].distance);
    }
    return slot[0].distance < least - divide(DEEPER_CONTACT * radius, found.finer);
}

// Writes what was kept, features ascending. `surface_first`: the surface is the pair's first shape.
template <class Writer>
SIM_FUNCTION void write_reduced(const ContactReduction& found, real radius, bool surface_first, Writer& write) {
    ReducedContact kept[REDUCED_CONTACTS];
    int count = 0;
    for (int turn = 0; turn < BIN_SLOTS; ++turn)
        for (int bin = 0; bin < NORMAL_BINS; ++bin) {
            const int i = turn == 0 ? 0 : turn == 1 ? MET_SLOT : turn - 1;
            const ReducedContact& c = found.slot[BIN_SLOTS * bin + i];
            bool is_new = count < REDUCED_CONTACTS && is_wanted(found, bin, i, radius);
            for (int k = 0; k < count && is_new; ++k) {
                const vec3 apart = c.point - kept[k].point;
                const real merge = MERGED_CONTACTS * radius;
                const bool far = dot(apart, apart) > merge * merge, one_number = c.number == kept[k].number;
                is_new = one_number ? far && found.numbers_repeat()
                                    : far || dot(c.normal, kept[k].normal) < MERGED_NORMALS;
            }
            if (is_new) kept[count++] = c;
        }
    for (int i = 1; i < count; ++i)
        for (int k = i; k > 0 && precedes(kept[k], kept[k - 1]); --k) {
            const ReducedContact c = kept[k];
            kept[k] = kept[k - 1];
            kept[k - 1] = c;
        }
    for (int i = 0; i < count; ++i) {
        const ReducedContact& c = kept[i];
        write.time = c.time;
        if (surface_first) write(c.number, c.point, c.normal, c.distance);
        else write(c.number, multiply_add(c.distance, c.normal, c.point), -c.normal, c.distance);
    }
}
