// The distance of a convex body and a surface of triangles that it cuts.
//
// A surface pushes along the normals of its faces, and at a convex edge or vertex between the normals of the faces
// that meet there; at an edge of one triangle alone from its normal outwards. A way out for a triangle is a
// translation along such a normal n, by as much as brings the body in front of the plane square to n that has the
// face, edge or vertex, and the triangle, behind it. Of each triangle that is cut the shortest way counts, and of all
// triangles the longest: so a body on two slopes of a valley has the depth in the deeper one. The triangle's own face
// counts, and features whose triangles are near: the body's box, wider by the way, meets the box of one of them. A
// triangle of a height field is cut where the solid below it is. For a convex solid every plane that supports it has
// all its triangles behind it, and the distance is minus the least translation that parts it from the body.
//
// The surface near a convex vertex, continued without end, is a cone whose support function is finite for just the
// normals in which the vertex pushes. So the shortest way by a vertex is that out of the hull of the triangle and the
// tip with the cone's directions. These end somewhere: they are put where the hull is highest along the way, or a way
// beside those normals would cost no more than they are lower.
#pragma once

#include "collide_mesh.h"
#include "triangle.h"

#ifdef SIM_DOUBLE
constexpr real CONVEX_SINE = 1e-9, LEFT_PART = 1e-9;
#else
constexpr real CONVEX_SINE = 1e-5f, LEFT_PART = 1e-6f;
#endif

// Cones go on for this many times the body's radius, and depth, further than which nothing matters. How often they are
// put elsewhere.
constexpr int ENDLESS = 16, MOST_ANCHORS = 4;

// Segments on which a star's ways are told to be longer than the best.
constexpr int MOST_SEGMENTS = 8;

// Faces that a star holds. A closed fan of more about a vertex is taken in sectors.
constexpr int MOST_STAR_FACES = 64, SECTOR_FACES = MOST_STAR_FACES - 1;

constexpr int MOST_RAYS = MOST_STAR_FACES + 16, SEEN_VERTICES = 32;

// Of the hull of a cone and a triangle: the cone's tip and three corners, and a point in its depth or, in a height
// field, one below each of them.
constexpr int MORE_POINTS = 8;

// What is nearer than this part of the body's diameter touches.
constexpr real TOUCH_PART = 4 * GJK_TOLERANCE;

// A way by a star is not measured where it is longer than the best by this part of the body's radius: more than
// round-off makes of one, so that which ways were measured before changes nothing.
constexpr real LONGER_PART = real(1e-3);

// Triangles that a lane keeps, whose ways out are looked for before all are asked again.
constexpr int EXIT_BATCH = 32;

// About the body's origin, in the surface's axes.
struct SurfaceExit {
    real depth;    // -REAL_MAX: there is none
    vec3 normal;   // in which the body leaves
    vec3 point;    // of the surface, or of a face's plane
    int triangle;  // that is left

    // The order of ways: of equally long ones the first, whenever it is found.
    SIM_FUNCTION bool is_shorter(const SurfaceExit& b) const {
        if (depth != b.depth) return depth < b.depth;
        const int by_normal = compare(normal, b.normal);
        return by_normal != 0 ? by_normal < 0 : compare(point, b.point) < 0;
    }
};

// The box of the body about its own origin, in the surface's axes.
struct BodyBox {
    vec3 lower, upper;

    SIM_FUNCTION MeshBox with(const BodyOverSurface& s, real reach) const {
        const vec3 wider = reach * vec3{1, 1, 1};
        return unscaled_box(s.surface, s.origin + lower - wider, s.origin + upper + wider);
    }

    // How much wider it has to be to meet the box of a triangle, or the endless one below it.
    SIM_FUNCTION real gap(const Triangle& t, bool endless_below = false) const {
        vec3 low = least_corner(t) - upper;
        if (endless_below) low.z = -REAL_MAX;
        const vec3 apart = maximum(low, lower - largest_corner(t));
        return maximum(apart.x, maximum(apart.y, apart.z));
    }
};

SIM_FUNCTION BodyBox box_of_body(const BodyOverSurface& s) {
    BodyBox box;
    for (int k = 0; k < 3; ++k) {
        box.upper[k] = body_support(s, unit_vector(k))[k];
        box.lower[k] = body_support(s, -unit_vector(k))[k];
    }
    return box;
}

// A vertex with the edges that meet there: unit vectors along them, not more than a right angle apart within a face.
struct Star {
    vec3 tip;
    vec3 ray[MOST_RAYS + MORE_POINTS];
    vec3 normal[MOST_STAR_FACES];
    int rays, normals;
    bool closed;
    real gap, side_gap;  // the least of BodyBox for its faces, and where these go on below without end

    SIM_FUNCTION void take_ray(vec3 d) {
        if (rays < MOST_RAYS) ray[rays++] = d;
    }

    SIM_FUNCTION void begin(vec3 place) {
        tip = place;
        rays = normals = 0;
        closed = false;
        gap = side_gap = REAL_INFINITY;
    }

    SIM_FUNCTION void take_normal(const BodyBox& body, const Triangle& face) {
        normal[normals++] = face.normal;
        gap = minimum(gap, body.gap(face));
        side_gap = minimum(side_gap, body.gap(face, true));
    }

    SIM_FUNCTION void take_face(const MeshShape& s, const BodyBox& body, int t, const Triangle& face, int at) {
        if (dot(face.normal, face.normal) == 0) return;
        take_normal(body, face);
        const vec3 first = normalize(face.corner[(at + 1) % 3] - tip),
                   last = normalize(face.corner[(at + 2) % 3] - tip);
        take_ray(first);
        if (dot(first, last) < 0) take_ray(normalize(first + last, cross(face.normal, first)));
        if (triangle_across(s, t, (at + 2) % 3) < 0) take_ray(last);
    }

    // The number of the normal along which p is lowest.
    SIM_FUNCTION int lowest(vec3 p) const {
        int low = 0;
        for (int k = 1; k < normals; ++k)
            if (dot(normal[k], p) < dot(normal[low], p)) low = k;
        return low;
    }

    // No edge goes in front of a face.
    SIM_FUNCTION bool is_convex() const {
        for (int k = 0; k < normals; ++k)
            for (int i = 0; i < rays; ++i)
                if (dot(normal[k], ray[i]) > CONVEX_SINE) return false;
        return normals > 0 && rays < MOST_RAYS;
    }
};

// Adds faces about a corner of triangle t, from number `begin` of those that have an area, until the star is full;
// ROUND_LEFT: there are more.
SIM_FUNCTION Round take_faces(const BodyOverSurface& s, const BodyBox& body, int t, int corner, int begin, Star& star) {
    int number = 0;
    return visit_around(s.surface, t, corner, [&](int around, int at) {
        if (star.normals == MOST_STAR_FACES) return false;
        const Triangle face = load_triangle(s.surface, around, s.origin);
        if (dot(face.normal, face.normal) == 0) return true;
        if (number++ >= begin) star.take_face(s.surface, body, around, face, at);
        return true;
    });
}

// All of a closed fan that is too large for a star.
struct Fan {
    int faces;
    real gap;  // the least of BodyBox for its faces
    bool convex;
};

// As Star::is_convex, by the rays of as many faces at a time as a star holds.
SIM_STAGE Fan fan_about(const BodyOverSurface& s, const BodyBox& body, int t, const Triangle& triangle, int corner) {
    Fan fan = {1, REAL_INFINITY, true};
    for (int begin = 0; begin < fan.faces && fan.convex; begin += MOST_STAR_FACES) {
        Star part;
        part.begin(triangle.corner[corner]);
        take_faces(s, body, t, corner, begin, part);
        fan.faces = 0;
        const Round round = visit_around(s.surface, t, corner, [&](int around, int) {
            const Triangle face = load_triangle(s.surface, around, s.origin);
            if (dot(face.normal, face.normal) == 0) return true;
            ++fan.faces;
            fan.gap = minimum(fan.gap, body.gap(face));
            for (int i = 0; i < part.rays; ++i)
                if (dot(face.normal, part.ray[i]) > CONVEX_SINE) return false;
            return true;
        });
        fan.convex = round == ROUND_CLOSED && part.rays < MOST_RAYS;
    }
    return fan;
}

// The cone about the normals of the faces from `begin` on and that of triangle t, as the star of those faces: its rays
// are their edges and, where the cone leads from t to the first of them and from the last to t, the products of these
// normals. Such cones, one behind the other round a convex vertex, fill that of all its normals. False: all are one
// normal, along which there is the way by the face.
SIM_FUNCTION bool take_sector(const BodyOverSurface& s, const BodyBox& body, int t, const Triangle& triangle,
                              int corner, int begin, real gap, Star& star) {
    const vec3 tip = triangle.corner[corner], n = triangle.normal;
    star.begin(tip);
    star.take_face(s.surface, body, t, triangle, corner);
    star.take_ray(normalize(triangle.corner[(corner + 2) % 3] - tip));
    take_faces(s, body, t, corner, begin, star);
    star.closed = true;
    star.gap = gap;
    bool is_flat = true;
    for (int k = 1; k < star.normals; ++k)
        is_flat = is_flat && length_squared(star.normal[k] - n) <= CONVEX_SINE * CONVEX_SINE;
    if (is_flat) return false;
    const vec3 between[2] = {normalize(cross(star.normal[1], n)), normalize(cross(n, star.normal[star.normals - 1]))};
    for (int i = 0; i < 2; ++i) {
        const vec3 ray = normalize(multiply_add(-dot(between[i], n), n, between[i]));
        bool behind = true;  // of equal normals the product may have any direction
        for (int k = 0; k < star.normals; ++k) behind = behind && dot(star.normal[k], ray) <= CONVEX_SINE;
        if (behind) star.take_ray(ray);
    }
    return true;
}

// Edge `edge` of triangle t as that of the first of its two triangles.
SIM_FUNCTION void go_to_first(const MeshShape& s, int& t, int& edge) {
    const int other = triangle_across(s, t, edge);
    if (other < 0 || other > t) return;
    for (int i = 0; i < 3; ++i)
        if (triangle_across(s, other, i) == t) {
            t = other;
            edge = i;
            return;
        }
}

// The wedge of a convex edge as a star about one of its ends; false: the edge is flat or concave.
SIM_FUNCTION bool take_wedge(const BodyOverSurface& s, const BodyBox& body, int t, const Triangle& triangle, int edge,
                             Star& star) {
    const vec3 along = normalize(triangle.corner[(edge + 1) % 3] - triangle.corner[edge]);
    const vec3 out = cross(along, triangle.normal);
    const int other = triangle_across(s.surface, t, edge);
    star.begin(triangle.corner[edge]);
    star.closed = other >= 0;
    star.take_normal(body, triangle);
    star.take_ray(along);
    star.take_ray(-along);
    star.take_ray(-out);
    if (other < 0) return true;
    const Triangle across = load_triangle(s.surface, other, s.origin);
    if (!(dot(across.normal, out) > CONVEX_SINE)) return false;
    star.take_normal(body, across);
    star.take_ray(normalize(cross(along, across.normal)));
    return true;
}

// The search for the shortest way out for one triangle.
struct ExitSearch {
    const BodyOverSurface& s;
    const BodyBox& body;
    const Triangle& cut;
    SurfaceExit best;
    real face_depth;  // of the way by a face
    int seen[SEEN_VERTICES];
    unsigned convex;  // a bit for each of `seen`
    int count;

    SIM_FUNCTION real top_of_cut(vec3 n) const {
        return maximum(dot(n, cut.corner[0]), maximum(dot(n, cut.corner[1]), dot(n, cut.corner[2])));
    }

    SIM_FUNCTION bool is_near(real depth, real gap) const { return depth >= gap - 2 * TOUCH_PART * s.radius; }

    SIM_FUNCTION void take(real depth, vec3 normal, vec3 point, real gap) {
        const SurfaceExit exit = {depth, unsigned_zeros(normal), unsigned_zeros(point), best.triangle};
        if (is_near(depth, gap) && exit.is_shorter(best)) best = exit;
    }

    // Features beyond it have no shorter way.
    SIM_FUNCTION MeshBox box() const {
        return body.with(s, maximum(best.depth, real(0)) + 4 * TOUCH_PART * s.radius);
    }

    SIM_FUNCTION void by_face(const Triangle& face, real gap) {
        const vec3 n = face.normal;
        if (dot(n, n) == 0) return;
        const vec3 lowest = body_support(s, -n);
        const real depth = maximum(dot(n, face.corner[0]), top_of_cut(n)) - dot(n, lowest);
        take(depth, n, multiply_add(depth, n, lowest), gap);
    }

    // The point furthest along the unit vector n of the hull of the tip and the triangle, less the body: the way along
    // n is n . point.
    SIM_FUNCTION vec3 way_point(const Star& star, vec3 n) const { return highest(star.tip, n) - body_support(s, -n); }

    // Is every way by a closed star certain to be longer than the best? Unit vectors in its cone are sums of the faces'
    // normals n_k with weights of together at least 1, so along them the way is at least the least n_k . p, if that is
    // not negative, for any point p of the hull of way points. Looks for such a p on segments from a to b, at whose
    // ends different normals have the least: where both have as much, or, if another one has less there, from there on
    // to that one's way point. Else a way point square to the segment takes the place of an end. A way point that is
    // lower itself is of a way that is not longer.
    SIM_FUNCTION bool is_longer(const Star& star, vec3 mean) const {
        if (!star.closed) return false;
        const real limit = maximum(best.depth + LONGER_PART * s.radius, real(0));
        vec3 a = way_point(star, mean);
        int i = star.lowest(a);
        if (dot(star.normal[i], a) >= limit) return true;
        vec3 b = way_point(star, star.normal[i]);
        for (int round = 0; round < MOST_SEGMENTS; ++round) {
            const vec3 first = star.normal[i], last = star.normal[star.lowest(b)];
            if (dot(last, b) >= limit) return true;
            const real up = dot(first, b - a), down = dot(last, a - b);
            const real part = divide(dot(last - first, a), up + down);
            if (!(up > 0 && down > 0 && part > 0 && part <= 1)) return false;
            const vec3 p = multiply_add(part, b - a, a);
            const int low = star.lowest(p);
            if (dot(star.normal[low], p) >= limit) return true;
            const bool is_other = dot(star.normal[low], p) < dot(first, p) - LEFT_PART * s.radius;
            const vec3 n = is_other ? star.normal[low] : normalize(down * first + up * last, first);
            const vec3 c = way_point(star, n);
            if (!(dot(n, c) > limit)) return false;
            if (is_other) a = p, b = c;
            else if (dot(first, c) < dot(last, c)) a = c;
            else b = c;
            i = star.lowest(a);
            if (dot(star.normal[i], a) >= limit) return true;
        }
        return false;
    }

    // Makes points of the star's rays.
    SIM_FUNCTION void by_star(Star& star) {
        vec3 sum = zero_vec3(), inwards = zero_vec3();
        for (int k = 0; k < star.normals; ++k) sum = sum + star.normal[k];
        for (int i = 0; i < star.rays; ++i) inwards = inwards + star.ray[i];
        const vec3 mean = normalize(sum, star.normal[0]);
        if (is_longer(star, mean)) return;
        real cosine = 1;
        for (int k = 0; k < star.normals; ++k) cosine = minimum(cosine, dot(mean, star.normal[k]));
        const real endless = ENDLESS * (s.radius + face_depth);
        vec3 anchor = highest(star.tip, mean);
        const int rays = star.rays, moved_rays = s.surface.is_field ? rays : rays + 1;
        star.ray[rays] = cosine > 0 ? -mean : normalize(inwards, -mean);
        for (int i = 0; i < moved_rays; ++i) star.ray[i] = multiply_add(endless, star.ray[i], anchor);
        int n = moved_rays;
        for (int i = 0; i < 4; ++i) {
            const vec3 p = i == 0 ? star.tip : cut.corner[i - 1];
            star.ray[n++] = p;
            if (s.surface.is_field) star.ray[n++] = {p.x, p.y, p.z - endless};  // solid below all of it
        }
        Convex cone = {CONVEX_POINTS, {1, 1, 1}, 0, nullptr, n, {}, 0};
        cone.points = star.ray;
        ConvexPair pair;
        ConvexDistance d;
        for (int round = 0;; ++round) {
            pair = convex_pair(cone, s.frame, s.body, s.pose, s.radius, s.radius);
            d = convex_distance(pair, REAL_INFINITY);
            const vec3 moved = highest(star.tip, d.normal) - anchor;
            bool beside = false;
            for (int i = 0; i < rays; ++i)
                beside = beside || dot(d.normal, star.ray[i] - anchor) > CONVEX_SINE * endless;
            if (round == MOST_ANCHORS || !beside || !(dot(d.normal, moved) > LEFT_PART * s.radius)) break;
            for (int i = 0; i < moved_rays; ++i) star.ray[i] = star.ray[i] + moved;
            anchor = anchor + moved;
        }
        // the rim of a height field goes on below as its side
        const real gap = s.surface.is_field && !star.closed ? star.side_gap : star.gap;
        take(-pair.unit * d.distance, d.normal, pair.unit * d.point, gap);
    }

    // Of the tip and the triangle's corners that furthest along n.
    SIM_FUNCTION vec3 highest(vec3 tip, vec3 n) const {
        vec3 best = tip;
        for (int i = 0; i < 3; ++i)
            if (dot(n, cut.corner[i]) > dot(n, best)) best = cut.corner[i];
        return best;
    }

    // Is the vertex convex? Takes the way by it when it comes anew.
    SIM_FUNCTION bool by_vertex(int from, int from_corner) {
        const int vertex = mesh_corner(s.surface, from, from_corner);
        for (int i = 0; i < SEEN_VERTICES && i < count; ++i)
            if (seen[i] == vertex) return convex >> i & 1u;
        int t = from, corner = from_corner;  // of the fan's first triangle that has area, whichever leads here
        visit_around(s.surface, from, from_corner, [&](int around, int at) {
            if (around < t && !is_zero(load_triangle(s.surface, around, s.origin).normal)) t = around, corner = at;
            return true;
        });
        const Triangle triangle = load_triangle(s.surface, t, s.origin);
        Star star;
        star.begin(triangle.corner[corner]);
        const Round round = take_faces(s, body, t, corner, 0, star);
        star.closed = round == ROUND_CLOSED;
        Fan fan = {star.normals, star.gap, false};
        if (round == ROUND_LEFT) fan = fan_about(s, body, t, triangle, corner);
        else fan.convex = star.is_convex();
        const int slot = count++ % SEEN_VERTICES;
        seen[slot] = vertex;
        convex = (convex & ~(1u << slot)) | (fan.convex ? 1u << slot : 0u);
        if (fan.convex && round != ROUND_LEFT) by_star(star);
        // each sector begins with the last face of the one before
        for (int begin = 0; fan.convex && round == ROUND_LEFT && begin < fan.faces - 1; begin += SECTOR_FACES - 1)
            if (take_sector(s, body, t, triangle, corner, begin, fan.gap, star)) by_star(star);
        return fan.convex;
    }

    SIM_FUNCTION void by_features(int t) {
        if (is_zero(load_triangle(s.surface, t, s.origin).normal)) return;
        bool is_convex[3];
        for (int i = 0; i < 3; ++i) is_convex[i] = by_vertex(t, i);
        for (int i = 0; i < 3; ++i) {  // of edges that end at a convex vertex it has all ways
            if (is_convex[i] || is_convex[(i + 1) % 3]) continue;
            int own = t, edge = i;
            go_to_first(s.surface, own, edge);
            const Triangle triangle = load_triangle(s.surface, own, s.origin);
            Star star;
            if (!is_zero(triangle.normal) && take_wedge(s, body, own, triangle, edge, star)) by_star(star);
        }
    }
};

// Features are taken in any order: the shortest way does not depend on it, to the bit. The search ends early at a way
// that is no longer than `enough`: then that, and not the shortest, is returned.
template <class Team>
SIM_STAGE SurfaceExit least_exit_of(Team& team, const BodyOverSurface& s, const BodyBox& body, int t, real enough) {
    const Triangle cut = load_triangle(s.surface, t, s.origin);
    ExitSearch search = {s, body, cut, {REAL_INFINITY, zero_vec3(), zero_vec3(), t}, REAL_INFINITY, {}, 0, 0};
    search.by_face(cut, -REAL_INFINITY);
    const auto box = [&] { return search.box(); };
    const auto is_enough = [&] { return !(search.best.depth > enough); };
    const auto agree = [&] {
        const auto shorter = [](const SurfaceExit& a, const SurfaceExit& b) { return a.is_shorter(b); };
        search.best = team.best(search.best, shorter);
    };
    share_triangles(team, s.surface, box, [&](int u) {
        if (is_enough()) return;
        if (u >= 0) {
            const Triangle face = load_triangle(s.surface, u, s.origin);
            search.by_face(face, body.gap(face));
        }
        agree();
    });
    search.face_depth = search.best.depth;
    share_triangles(team, s.surface, box, [&](int u) {
        if (is_enough()) return;
        if (u >= 0) search.by_features(u);
        agree();
    });
    return search.best;
}

// Does the body overlap the triangle (of a height field: the solid below it)?
SIM_FUNCTION bool cuts(const BodyOverSurface& s, const Triangle& triangle) {
    const ConvexPair pair = convex_pair(triangle_body(s, triangle), s.frame, s.body, s.pose, s.radius, s.radius);
    const vec3 start = normalize(pair.offset, vec3{1, 0, 0});
    const GjkResult near = gjk(pair, zero_vec3(), start, pair.b.radius + TOUCH_PART);
    return near.overlap || near.distance < pair.b.radius + TOUCH_PART;
}

// A triangle that may need a longer way out than the longest so far.
struct CutTriangle {
    real depth;    // behind its own plane: no shortest way is longer
    int triangle;  // -1: none

    // Those deepest behind their own planes come first.
    SIM_INLINE bool is_before(const CutTriangle& b) const {
        if (triangle < 0 || b.triangle < 0) return triangle >= 0 && b.triangle < 0;
        return depth != b.depth ? depth > b.depth : triangle < b.triangle;
    }
};

template <class Team>
SIM_INLINE CutTriangle first_of(Team& team, const CutTriangle& c) {
    return team.best(c, [](const CutTriangle& a, const CutTriangle& b) { return a.is_before(b); });
}

// The first of them that a lane has found, in order.
struct ExitBatch {
    CutTriangle cut[EXIT_BATCH];
    int count, next;
    bool is_cut;  // the next one, as far as is known

    SIM_INLINE void clear() { count = next = 0, is_cut = false; }

    SIM_FUNCTION void take(const CutTriangle& c) {
        if (count == EXIT_BATCH && !c.is_before(cut[EXIT_BATCH - 1])) return;
        int k = count < EXIT_BATCH ? count++ : EXIT_BATCH - 1;
        for (; k > 0 && c.is_before(cut[k - 1]); --k) cut[k] = cut[k - 1];
        cut[k] = c;
    }

    SIM_INLINE CutTriangle first() const { return next < count ? cut[next] : CutTriangle{0, -1}; }

    SIM_INLINE void pop() { ++next, is_cut = false; }

    // Behind it there may be more.
    SIM_INLINE CutTriangle end() const { return count == EXIT_BATCH ? cut[EXIT_BATCH - 1] : CutTriangle{0, -1}; }
};

// Has a body that goes by a way left the triangle too?
SIM_FUNCTION bool is_left(const BodyOverSurface& s, const SurfaceExit& way, const Triangle& triangle) {
    const real plane = dot(way.normal, way.point) + LEFT_PART * s.radius;
    bool left = way.depth > -REAL_MAX;
    for (int i = 0; i < 3; ++i) left = left && dot(way.normal, triangle.corner[i]) <= plane;
    return left;
}

constexpr SurfaceExit NO_EXIT = {-REAL_MAX, {0, 0, 0}, {0, 0, 0}, -1};

// The triangles that a body cuts or touches and that may need a longer way out than the `longest` so far, one after the
// other in an order of their own: neither the tree that finds them nor the number of lanes has a say.
struct ExitQueue {
    const BodyOverSurface& s;
    BodyBox body;
    OwnBox own;
    SurfaceExit longest;
    ExitBatch batch;        // of this lane
    CutTriangle done, end;  // the last one of the batches before, and of these

    SIM_INLINE bool may_be_longer(const CutTriangle& c, const Triangle& triangle) const {
        return c.depth > longest.depth && !is_left(s, longest, triangle);
    }

    SIM_FUNCTION void find(int t, real touch) {
        const Triangle triangle = load_triangle(s.surface, t, s.origin);
        const vec3 n = triangle.normal;
        if (is_zero(n) || body.gap(triangle, s.surface.is_field) > touch) return;
        if (!s.surface.is_field && is_beside(s, own, triangle, touch + apart_slack(s, triangle))) return;
        const CutTriangle cut = {dot(n, triangle.corner[0] - body_support(s, -n)), t};
        if (cut.depth > -touch && done.is_before(cut) && may_be_longer(cut, triangle)) batch.take(cut);
    }

    // Of those behind `done` each lane finds the first.
    template <class Team>
    SIM_FUNCTION void fill(Team& team) {
        const real touch = 2 * TOUCH_PART * s.radius;
        const MeshBox box = body.with(s, touch);
        batch.clear();
        share_triangles(team, s.surface, [&] { return box; }, [&](int t) {
            if (t >= 0) find(t, touch);
        });
        end = first_of(team, batch.end());
    }

    // Goes to the lane's next triangle that is cut and may have a longer way.
    SIM_FUNCTION void go_on() {
        for (; batch.next < batch.count; batch.pop()) {
            const CutTriangle next = batch.first();
            const Triangle triangle = load_triangle(s.surface, next.triangle, s.origin);
            if (!may_be_longer(next, triangle)) continue;
            batch.is_cut = batch.is_cut || cuts(s, triangle);
            if (batch.is_cut) return;
        }
    }

    // The next triangle; -1: there is none.
    template <class Team>
    SIM_FUNCTION int take(Team& team) {
        for (;; done = end, fill(team)) {
            go_on();
            const CutTriangle first = first_of(team, batch.first());
            if (first.triangle >= 0 && !end.is_before(first)) {
                if (batch.first().triangle == first.triangle) batch.pop();
                return first.triangle;
            }
            if (end.triangle < 0) return -1;
        }
    }
};

// The longest of the shortest ways out for the triangles that the body cuts or touches, and of one that is `known`.
template <class Team>
SIM_STAGE SurfaceExit exit_of_body(Team& team, const BodyOverSurface& s, const SurfaceExit& known = NO_EXIT) {
    ExitQueue queue = {s, box_of_body(s), own_box(s.body), known, {}, {REAL_INFINITY, 0}, {}};
    queue.fill(team);
    for (int t = queue.take(team); t >= 0; t = queue.take(team)) {
        const SurfaceExit exit = least_exit_of(team, s, queue.body, t, queue.longest.depth);
        if (exit.depth > queue.longest.depth) queue.longest = exit;
    }
    return queue.longest;
}

// Depths are the same within this part of the radius of the body or the surface, whichever is smaller.
constexpr real SAME_DEPTH = real(2e-4);

// Bodies that are deeper than this part of that radius may leave by another side of the surface than that by which
// they came.
constexpr real SHALLOW_PART = real(0.02);

// A body that cuts a closed surface is as deep as its way out: the triangles' contacts `found` push it no further, and
// along that way it has a contact of that depth. `depth`: what the triangles tell of it; `size`: the smaller radius;
// `collide`: finds the contacts of the triangles again.
template <class Team, class Collide>
SIM_STAGE void leave_cut(Team& team, const BodyOverSurface& s, const DepthBounds& depth, real size,
                         ContactReduction& found, Collide collide) {
    const real slack = SAME_DEPTH * size;
    const ReducedContact c = found.deepest();
    const bool shallow = maximum(depth.least, -c.distance) <= SHALLOW_PART * size;
    if (shallow && depth.most <= depth.least + slack && c.distance <= slack - depth.least) return;
    SurfaceExit known = NO_EXIT;
    if (shallow && absolute(c.distance + depth.least) <= slack)
        known = {-c.distance, inverse_rotate(s.frame.q, c.normal), inverse_transform_point(s.frame, c.point), -1};
    const SurfaceExit exit = exit_of_body(team, s, known);
    if (!(exit.depth > -REAL_MAX)) return;
    if (found.deepest().distance < -exit.depth - slack) {
        found.clear(exit.depth + slack);
        collide();
    }
    if (found.deepest().distance <= slack - exit.depth) return;
    // of a face's plane the body may be deepest far beside the surface
    const Triangle left = load_triangle(s.surface, exit.triangle, s.origin);
    const PreparedTriangle prepared(left.corner[0], left.corner[1], left.corner[2]);
    const vec3 near = prepared.at(prepared.closest(exit.point)), beside = exit.point - near;
    const bool is_far = dot(beside, beside) > size * size;
    const vec3 point = is_far ? multiply_add(dot(exit.normal, beside), exit.normal, near) : exit.point;
    const int number = exit.triangle - s.surface.model->mesh_triangle_start[s.surface.mesh];
    found(triangle_contact(number, 1020), transform_point(s.frame, point), rotate(s.frame.q, exit.normal), -exit.depth);
}
