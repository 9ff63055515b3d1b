"""Results of other tools as rows: one module for each format, and their registry.

Reading is pure and repeatable: the same bytes give the same rows, so an imported run can be rebuilt
from its file like any other from its evidence. docs/importing.md lists the formats, their units,
and what each lacks.
"""
