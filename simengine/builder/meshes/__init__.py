"""Meshes from files."""
