"""The largest inputs that diskbench accepts from hosts, files, stores and templates.

Each limit lies well above what real measurements produce and well below what exhausts a controller
of a few GiB of memory. docs/runs.md lists them for users. The error for an input beyond its limit
names the input, the limit and what to do: LimitExceeded for hosts and evidence, InvalidValue or
ProfileError for what the user typed.
"""

from typing import Final

MIB: Final = 2**20
GIB: Final = 2**30

# --- Streams from a host

COMMAND_BYTES: Final = 16 * MIB
"""Standard output and standard error of one command together. The facts of a machine with a
thousand disks and 192 cores take 1 MB, `fio --cmdhelp=all` 60 kB."""
NOISE_BYTES: Final = MIB
"""What a host prints before a command of ours begins, on each stream: a message of the day takes
2 kB, a login file that is traced (`set -x`) 100 kB."""
LINE_BYTES: Final = 64 * 1024
"""One progress line of a followed step; real ones hold 14 numbers in at most 350 bytes."""
FOLLOWED_BYTES: Final = GIB
"""All lines of one followed step. One line of 350 bytes per second is 30 MB a day: a month fits."""

# --- Files of one step

FILE_BYTES: Final = 4 * GIB
"""One file. A histogram log of fio takes 5.6 kB per second and direction: 1 GB for a day of mixed
reads and writes. Streamed to disk and into the store; never held in memory."""
STEP_BYTES: Final = 16 * GIB
"""All files of one step, packed or unpacked: a day of such logs of eight jobs, twice."""
STEP_FILES: Final = 20_000
"""Files of one step: fio writes about ten logs per job, so 2,000 jobs fit."""
NAME_CHARS: Final = 128
"""Characters of a file's name."""
TAR_READ_BYTES: Final = 64 * 1024
"""The most that a tar reader may buffer for one header; our headers have 512 bytes."""

# --- What is read into memory

PARSED_BYTES: Final = 64 * MIB
"""A file that is parsed whole: fio's JSON, whose 1,000 jobs with histograms take 20 MB. Parsing
takes ten times as much memory."""
RECORD_BYTES: Final = 64 * MIB
"""plan.json, step.json or manifest.json: 20,000 files are 4 MB."""
IMPORT_BYTES: Final = 512 * MIB
"""All files of one import, which are parsed in memory."""
IMPORT_FILES: Final = 20_000
"""Files in an imported folder: as many as one step may have."""
EXPANSION: Final = 20_000
"""How many times its size a compressed file may become. Real logs reach 300, a file of one byte
repeated 30,000."""
EXPANSION_FREE_BYTES: Final = 16 * MIB
"""Unpacked files up to this size may have any ratio."""

# --- Numbers of fio

COUNTER: Final = 2**63 - 1
"""The largest count that both databases hold. A disk of 100 GB/s needs three years to move that
many bytes."""
FASTEST: Final = 1e15
"""Bytes or I/Os per second that no storage reaches: a thousand times the fastest of 2026. An
imported figure above it is damaged."""
JOBS: Final = 20_000
"""Jobs in one output of fio."""

# --- What the user asks for

RUNS: Final = 10_000
"""Consecutive runs of one trial: each is a row, a folder and a part of the plan."""
VALUE_CHARS: Final = 1_000
"""Characters of one label or parameter: it is printed with each of its runs."""
REPLICATES: Final = 10_000
"""Replicates of one cell: each rents a machine."""
CELLS: Final = 100_000
"""Cells of one command, replicates included."""
ROUNDS: Final = 1_000
"""Rounds of a profile's loop (MR-2 needs 25 at most)."""
FIO_JOBS: Final = 10_000
"""Jobs of one step (`numjobs` added up): each is a process or thread on the host."""
FIO_FILES: Final = 4_000_000
"""Files of one step (`nrfiles` times `numjobs`): fio keeps about 500 bytes of each in memory. The
shipped profile bonnie makes 524,288."""
TEXT_BYTES: Final = 8 * MIB
"""A matrix, profile or job file, as typed or as a template renders it. The profile bonnie renders
2 MB where it names 32,768 files."""
SETTINGS_BYTES: Final = 64 * 1024
"""diskbench.toml or config.toml, which have five settings."""
YAML_BYTES: Final = MIB
"""A matrix, or the front matter of a profile: 10,000 cells written one by one."""
YAML_DEPTH: Final = 100
"""Lists and mappings in each other; a matrix has five."""
YAML_VALUES: Final = 200_000
"""Values in one YAML text; each use of an alias counts its values again."""
INCLUDE_CHECKS: Final = 20_000_000
"""Entries of `include` and `exclude` times the combinations they are compared with: about 10 s."""

# --- Templates

TEMPLATE_S: Final = 1.0
"""CPU time of one template. The largest shipped one takes 0.01 s."""
TEMPLATE_WALL_S: Final = 30.0
"""Wall time of one template: on a busy machine its process may wait long for a CPU."""
TEMPLATE_MEMORY_BYTES: Final = 512 * MIB
"""Memory of the process in which a template is expanded; Python itself takes 60 MB."""
