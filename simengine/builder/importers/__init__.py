"""Readers of robot files."""
