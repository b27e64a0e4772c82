"""A crate scripted by hand: it falls one metre, lands and comes to rest."""

import simengine as sim


def main(device=None) -> sim.State:
    builder = sim.ModelBuilder(up_axis="Z", gravity=-9.81)
    wood = sim.Material(friction=0.6, restitution=0.1)
    crate = builder.add_body(xform=sim.transform(p=(0, 0, 1)), label="crate")  # no joint: it floats freely
    builder.add_shape_box(crate, hx=0.2, hy=0.2, hz=0.2, density=500, material=wood)
    builder.add_ground_plane(material=wood)
    model = builder.finalize(device=device)

    solver = sim.solvers.Featherstone(model)  # before the states: they carry its memory
    state, next_state = model.state(), model.state()
    control, contacts = model.control(), model.contacts()
    for _ in range(600):
        sim.collide(model, state, contacts, dt=1 / 600)
        solver.step(state, next_state, control, contacts, dt=1 / 600)
        state, next_state = next_state, state
    solver.check(state)
    print("crate at", state.body_q[crate])  # position and quaternion (x, y, z, w)
    return state


if __name__ == "__main__":
    main()
