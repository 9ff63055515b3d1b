"""Matrices, job files and plans of rented disks, as the tests of this room need them."""

from tests.books import SHIPPED

from diskbench.engine.trial.planning import draft
from diskbench.fio.profiles import parse_profile, shipped_profile
from diskbench.model.matrix import Matrix
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.model.spec import Cell, TargetSpec
from diskbench.units import GIB


def a_matrix(**fields):
    return Matrix.model_validate({"name": "test", **fields})


def job(options, seconds=60):
    return f"[a]\nsize=1g\n{options}\ntime_based\nruntime={seconds}\n"


RANDOM = job("rw=randread\nbs=4k\ndirect=1\niodepth=32\nioengine=libaio")
NEW_DISK = TargetSpec(kind="device", path="/dev/x")


def planned(profile, *, runs=1, promise=None, parameters=(), target=NEW_DISK, **rented):
    """A plan of a profile (shipped by name, else its text); a gp2 of 20 GiB unless told."""
    told = {"scope": Scope(provider="aws", region="us-east-1"), "spec": RentSpec(), "offer": ""}
    told |= {"disk": DiskSpec(type="gp2", size_gib=20), "cores": 4, "memory_bytes": int(7.5 * GIB)}
    rental = Rental.model_validate(told | rented)
    cell = Cell(
        provider=rental.scope.provider, target=target, rent=rental.spec, profile=profile,
        parameters=parameters, runs=runs, promise=promise,
    )  # fmt: skip
    found = parse_profile(profile, name="mine") if "\n" in profile else shipped_profile(profile)
    return draft(cell, found, rental, "campaign", SHIPPED)
