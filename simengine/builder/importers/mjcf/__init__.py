"""Reading MJCF, MuJoCo's format."""
