"""The process beside each lab host that limits its disks as their cloud would.

It starts with the bare interpreter (`python -S`), so it may import the standard library and this
package only. It shares no code with diskbench.catalog: each is tested against the other."""
