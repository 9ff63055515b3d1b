"""One file per command: parse, build the adapters, call, print."""
