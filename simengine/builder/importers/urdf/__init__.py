"""Reading URDF."""
