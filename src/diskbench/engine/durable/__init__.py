"""The only room that knows DBOS."""
