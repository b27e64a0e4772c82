"""Reading USD files: UsdPhysics, and what PhysxSchema, Newton and MjcPhysics add to it."""
