"""The only package that imports DBOS."""
