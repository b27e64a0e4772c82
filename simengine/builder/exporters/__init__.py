"""Writing what a builder holds to files: MJCF, URDF and USD."""
