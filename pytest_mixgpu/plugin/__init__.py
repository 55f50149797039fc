"""Pytest glue. Sees every room; nothing sees it."""
