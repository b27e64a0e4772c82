// Sums of the forces of contacts over bodies: see simengine/sensors/contact_sensor.py.

#include "contact.h"

// A contact as one of its two bodies feels it.
struct FeltContact {
    int other;  // the other body, -1 the world
    int row;    // of the slab
    bool second;
};

// Does the contact of a row join the body to another? Contacts of shapes that are not of the world count for nothing.
SIM_FUNCTION bool feels(const ModelView& model, const ContactsView& contacts, int world, int body, int row,
                        FeltContact& felt) {
    const int shape0 = contacts.shape0[row], shape1 = contacts.shape1[row];
    if (world_shape(model, world, shape0) < 0 || world_shape(model, world, shape1) < 0) return false;
    const int body0 = model.shape_body[shape0], body1 = model.shape_body[shape1];
    felt = {body1 == body ? body0 : body1, row, body1 == body};
    return (body0 == body) != (body1 == body);
}

SIM_FUNCTION Transform body_pose(const real* body_q, int body) {
    return body < 0 ? identity_transform() : load_pose(&body_q[7 * body]);
}

// From the centre of mass of the body (of the world: its origin) to the middle of the two witness points. The offset
// between the bodies is taken first, which keeps the digits far from the origin.
SIM_FUNCTION vec3 contact_arm(const ModelView& model, const ContactsView& contacts, const real* body_q, int body,
                              const FeltContact& felt) {
    const Transform own = body_pose(body_q, body), other = body_pose(body_q, felt.other);
    const vec3 point0 = load_vec3(&contacts.point0[3 * felt.row]), point1 = load_vec3(&contacts.point1[3 * felt.row]);
    const vec3 near = rotate(own.q, felt.second ? point1 : point0);
    const vec3 far = (other.p - own.p) + rotate(other.q, felt.second ? point0 : point1);
    const vec3 centre = body < 0 ? zero_vec3() : rotate(own.q, load_vec3(&model.body_com[3 * body]));
    return real(0.5) * (near + far) - centre;
}

// Sensor i % sensors of world i / sensors: the contacts of its body, in the order of the slab, with the bodies that
// have a column. A contact counts that presses with more than `threshold`.
extern "C" __global__ void sum_contacts(int n, const ModelView model, const ContactsView contacts,
                                        const real* body_q,      // optional: for the torques
                                        const int* sensor_body,  // (n) -1: the world
                                        const int* column_of,    // of each body, then of the world; -1: left out
                                        int sensors, int columns, real threshold,
                                        real* force,       // (n, 3)
                                        real* torque,      // (n, 3)
                                        int* count,        // (n)
                                        real* greatest,    // (n)
                                        bool* in_contact,  // (n)
                                        real* pairs        // (n, columns, 3), optional
) {
    for_each(i, n) {
        const int world = i / sensors, body = sensor_body[i], first = contacts.world_start[world];
        const int room = contacts.world_start[world + 1] - first;
        const int used = contacts.count[world] < room ? contacts.count[world] : room;
        real* of_columns = pairs ? pairs + int64(3) * columns * i : nullptr;
        for (int k = 0; pairs && k < 3 * columns; ++k) of_columns[k] = 0;
        vec3 sum = zero_vec3(), moment = zero_vec3();
        real most = 0;
        int number = 0;
        for (int row = first; row < first + used; ++row) {
            FeltContact felt;
            if (!feels(model, contacts, world, body, row, felt)) continue;
            const int column = column_of[felt.other < 0 ? model.bodies : felt.other];
            if (column < 0) continue;
            const vec3 on_second = load_vec3(&contacts.force[3 * row]), f = felt.second ? on_second : -on_second;
            const real pressing = dot(on_second, load_vec3(&contacts.normal[3 * row]));
            sum += f;
            if (body_q) moment += cross(contact_arm(model, contacts, body_q, body, felt), f);
            most = maximum(most, pressing);
            number += pressing > threshold;
            if (pairs) store_vec3(of_columns + 3 * column, canonical(load_vec3(of_columns + 3 * column) + f));
        }
        store_vec3(&force[3LL * i], canonical(sum));
        store_vec3(&torque[3LL * i], canonical(moment));
        count[i] = number;
        greatest[i] = canonical(most);
        in_contact[i] = number > 0;
    }
}
