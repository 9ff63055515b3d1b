"""Matrix files: found by name or path, read, and checked against this installation; and what a
matrix would rent, according to its providers or the catalogue."""

import contextlib
import functools
import secrets
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from diskbench import __version__
from diskbench.catalog.books import Books
from diskbench.engine.matrix.machine_reuse import check_shared
from diskbench.engine.processes import new_id
from diskbench.engine.trial.planning import draft, new_ids, resolve_rental
from diskbench.errors import DiskbenchError, HostUnavailable, InvalidValue, MatrixError, UnknownName
from diskbench.files import read_text
from diskbench.fio.profiles import Profile, shipped_directory
from diskbench.limits import YAML_BYTES
from diskbench.model.facts import CpuFacts, HostFacts
from diskbench.model.matrix import CellFields, Matrix, MatrixCell
from diskbench.model.outcome import problem_of
from diskbench.model.spec import Cell
from diskbench.plan.cells import check_several
from diskbench.plan.cost import cost_of_plan, renting_s
from diskbench.plan.matrix import expand
from diskbench.plan.matrix_check import checked, in_fields
from diskbench.plan.outlook import BlockOutlook, MatrixOutlook, credit_of, outlook
from diskbench.plan.trial import make_plan
from diskbench.ports import Provider
from diskbench.providers.registry import Providers, provider
from diskbench.store.profile_file import find_profile
from diskbench.units import GIB, counted

SUFFIX: Final = ".yaml"
Pairs = Sequence[tuple[str, str]]
"""Keys with their values."""
_MOST_LISTED = 40
"""Largest number of mistakes that a message lists; our choice."""
AT_ONCE = 8
_ASSUMED = HostFacts(cpu=CpuFacts(count=2), memory_bytes=8 * GIB, memory_available_bytes=8 * GIB)
"""Assumed facts of an existing machine that was not examined."""
_MACHINES_OWN = frozenset({"instance-store", "temp-disk"})
"""Types of disks that belong to a machine and count against no quota of disks."""


@dataclass(frozen=True)
class MatrixFile:
    """A matrix without mistakes, and the file that it was read from, as the user named it."""

    matrix: Matrix
    source: str
    text: str
    folder: str
    """The directory of the file, against which paths of profiles are resolved."""


def shipped_matrices() -> tuple[str, ...]:
    """The names of the matrices that come with diskbench, sorted."""
    files = shipped_directory("matrices").glob(f"*{SUFFIX}")
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in files))


def load_matrix(name_or_path: str, tags: Pairs = ()) -> MatrixFile:
    """A shipped matrix by name, or one from a file (anything with a slash or a suffix); what it
    rents carries the `tags`, too, unless the file gives them another value.

    Raises UnknownName for a name that is not shipped, InvalidValue for a file that cannot be read,
    MatrixError naming every mistake with its line.
    """
    path = _find(name_or_path)
    try:
        text = read_text(path, YAML_BYTES)
    except (OSError, ValueError) as error:
        raise InvalidValue(
            f"the matrix {name_or_path!r} cannot be read: {error}",
            advice="give the path of a file, or a name from 'diskbench matrix list'",
        ) from error
    shown = name_or_path if path == Path(name_or_path) else path.name
    return read_matrix(text, shown, path.parent, tags)


def read_matrix(text: str, shown: str, folder: Path, tags: Pairs = ()) -> MatrixFile:
    """The matrix in the text of a file: `shown` is the file's name in messages, `folder` its
    directory, `tags` as load_matrix has them. Raises MatrixError naming every mistake with its
    line."""

    @functools.cache
    def profile(name: str) -> Profile:
        return find_profile(_beside(folder, name))

    def check(cell: Cell, of: Matrix) -> None:
        # What is impossible on this machine may work on a worker's, or here as root.
        with contextlib.suppress(HostUnavailable):
            _provider(cell.provider).check(cell)
        check_several(profile(cell.profile), cell)
        if of.reuse_host and cell.rent is not None:
            check_shared(_provider(cell.provider), cell)

    matrix, mistakes = checked(text, profile, check)
    if mistakes or matrix is None:
        lines = [f"{shown} has {counted(len(mistakes), 'mistake')}"]
        lines += [mistake.text_in(shown) for mistake in mistakes[:_MOST_LISTED]]
        lines += ["…"] if len(mistakes) > _MOST_LISTED else []
        raise MatrixError(
            "\n  ".join(lines),
            advice="'diskbench matrix schema' prints what such a file may contain",
        )
    tagged = matrix.model_copy(update={"tags": {**dict(tags), **matrix.tags}})
    found = _with_found_profiles(tagged, folder)
    return MatrixFile(found, shown, text, str(folder.absolute()))


def seed_of(matrix: Matrix, typed: int | None = None) -> int:
    """The seed of a run: as typed, else the file's, else a new one."""
    if typed is not None:
        return typed
    return secrets.randbelow(2**32) if matrix.seed is None else matrix.seed


@functools.cache
def _provider(name: str) -> Provider:
    return provider(name)


def _beside(folder: Path, profile: str) -> str:
    """A profile's path resolved against the matrix's directory; the name of a profile unchanged."""
    is_path = "/" in profile or "." in profile
    return str((folder / profile).absolute()) if is_path else profile


def _with_found_profiles(matrix: Matrix, folder: Path) -> Matrix:
    """The matrix with absolute paths of profiles, since its cells run in any directory."""

    def with_absolute_profile(fields: CellFields) -> CellFields:
        if fields.profile is None:
            return fields
        return fields.model_copy(update={"profile": _beside(folder, fields.profile)})

    def all_absolute(values: Sequence[CellFields]) -> tuple[CellFields, ...]:
        return tuple(map(with_absolute_profile, values))

    return matrix.model_copy(
        update={
            "defaults": with_absolute_profile(matrix.defaults),
            "axes": {axis: all_absolute(values) for axis, values in matrix.axes.items()},
            "include": all_absolute(matrix.include),
            "exclude": all_absolute(matrix.exclude),
        }
    )


def _find(name_or_path: str) -> Path:
    names = shipped_matrices()
    if name_or_path in names:
        return shipped_directory("matrices") / f"{name_or_path}{SUFFIX}"
    path = Path(name_or_path)
    if "/" not in name_or_path and "." not in name_or_path and not path.is_file():
        raise UnknownName("matrix", name_or_path, names)
    return path


def outlook_of(
    file: MatrixFile, books: Books, *, seed: int, offline: bool, providers: Providers | None = None
) -> MatrixOutlook:
    """The plan of each block of a matrix. Rents nothing; with `offline` no provider is called.
    `providers` are those of the caller, who closes them; without them it has its own.

    A block that cannot be planned is returned with its problem; the others are planned.
    """
    cells = expand(file.matrix, seed=seed)
    # Blocks are numbered in the order of the file, independently of the seed.
    listed = file.matrix.model_copy(update={"order": "listed"})
    firsts = [cell for cell in expand(listed, seed=seed) if cell.cell.replicate == 0]
    counts = Counter(cell.block for cell in cells)
    with (
        nullcontext(providers) if providers else Providers() as asked,
        ThreadPoolExecutor(max_workers=min(AT_ONCE, len(firsts) or 1)) as pool,
    ):

        def block(number: int, first: MatrixCell) -> BlockOutlook:
            base = BlockOutlook(
                number=number,
                block=first.block,
                provider=first.cell.provider,
                partition=first.partition,
                route=first.route,
                replicates=counts[first.block],
                runs=first.cell.runs,
            )
            try:
                fields = _planned(first.cell, books, asked, offline=offline)
            except DiskbenchError as error:
                problem = problem_of(error)
                words = {"message": in_fields(problem.message), "advice": in_fields(problem.advice)}
                fields = {"problem": problem.model_copy(update=words)}
            return base.model_copy(update=fields)

        blocks = list(pool.map(block, range(1, len(firsts) + 1), firsts))
    return outlook(file.matrix, file.source, seed, cells, blocks)


def _planned(cell: Cell, books: Books, providers: Providers, *, offline: bool) -> dict[str, object]:
    """The fields of a block's outlook from the plan of its first cell. An existing machine is not
    examined. Raises DiskbenchError."""
    was_asked, notes = False, tuple[str, ...]()
    renter = providers.renter(cell.provider)
    if renter is None:
        names = new_ids(cell, new_id())
        profile = find_profile(cell.profile)
        plan = make_plan(cell, profile, _ASSUMED, names, books, version=__version__)
    else:
        rented, was_asked, notes = resolve_rental(renter, cell, books, offline=offline)
        plan = draft(cell, find_profile(cell.profile), rented, new_id(), books)
    fields: dict[str, object] = {
        "asked": was_asked,
        "expected_s": plan.expected_s,
        "trial_s": plan.expected_s + renting_s(plan),
        "cost": cost_of_plan(plan),
        "expectation": plan.expectation,
        "credit": credit_of(plan.expectation),
        "notes": (*notes, *plan.notes),
    }
    rental = plan.rental
    if rental is not None:
        fields |= {
            "region": rental.scope.region,
            "offer": rental.offer,
            "promise": rental.promise,
            "instance_type": rental.instance_type,
            "vcpus": rental.cores,
            "spot": rental.spec.spot,
        }
    if rental is not None and rental.disk is not None:
        fields |= {
            "disk": rental.disk.type,
            "disks": 0 if rental.disk.type in _MACHINES_OWN else rental.disk.count,
            "disk_gib": rental.disk.size_gib,
        }
    return fields
