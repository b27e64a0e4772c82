"""Writing URDF."""
