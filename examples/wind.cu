// Linear drag of a steady wind along x: F = c (w - v), on every body.
extern "C" __global__ void wind_force(int n,
                                      const real* body_qd,  // (n, 6) velocity of the centre of mass, angular velocity
                                      real* body_f,         // (n, 6) force, torque
                                      real drag,            // N s/m
                                      real wind)            // m/s
{
    for_each(i, n) {
        body_f[6 * i + 0] = drag * (wind - body_qd[6 * i + 0]);
        body_f[6 * i + 1] = -drag * body_qd[6 * i + 1];
        body_f[6 * i + 2] = -drag * body_qd[6 * i + 2];
    }
}
