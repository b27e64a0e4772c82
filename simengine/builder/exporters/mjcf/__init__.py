"""Writing MJCF."""
