"""Writing USD."""
