"""Rows in SQL, files in an object store, frames for people."""
