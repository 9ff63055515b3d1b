"""The decisions that benchmarks/mutants.py makes wrong, each as one text of the source, and the
tests that must notice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A decision, how it is made wrong, and the tests of its room."""

    name: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS = (
    Mutant(
        "limit: a file of settings may be one byte too large",
        "    if len(data) > limit:\n",
        "    if len(data) > limit + 1:\n",
        ("tests/unit/test_quoting.py",),
    ),
    Mutant(
        "owner: a cell is taken whoever has it",
        "sa.or_(expected, cell.c.owner == owner)",
        "sa.true()",
        ("tests/unit/store/test_rows.py",),
    ),
    Mutant(
        "owner: gc ends what somebody else rents",
        "if not (not_mine or is_same_owner(listed_lease.owner, owner) or is_over(listed_lease)):",
        "if False:",
        ("tests/drills/test_ids.py::test_an_unexpired_lease_of_another_owner_needs_not_mine",),
    ),
    Mutant(
        "expiry: an expired lease is kept",
        "lease.ends is not None and lease.ends < now",
        "lease.ends is not None and lease.ends > now",
        ("tests/drills/test_clocks.py",),
    ),
    Mutant(
        "quoting: values of a unit reach the shell as they are",
        'f"{key}={shlex.quote(str(value))}\\n" for key, value in values.items()',
        'f"{key}={value}\\n" for key, value in values.items()',
        ("tests/unit/test_quoting.py",),
    ),
    Mutant(
        "quoting: an ssh command is joined by blanks",
        'shlex.join([*words, f"{user}@{host}" if user else host, *command])',
        '" ".join([*words, f"{user}@{host}" if user else host, *command])',
        ("tests/unit/test_quoting.py",),
    ),
    Mutant(
        "quoting: a formula stays one in CSV",
        "risky = _FORMULA.match(text) and not _NUMBER.fullmatch(text)",
        "risky = False",
        ("tests/unit/store/test_frames.py", "tests/drills/test_injection.py"),
    ),
    Mutant(
        "identity: a device with another identity is measured",
        "    if identity in own:\n",
        "    if identity:\n",
        ("tests/unit/hosts/test_device.py", "tests/drills/test_refused_devices.py"),
    ),
    Mutant(
        "safety: a mounted device is measured",
        """join(state.mounts)}": state.mounts,\n""",
        """join(state.mounts)}": (),\n""",
        ("tests/unit/hosts/test_device.py", "tests/drills/test_refused_devices.py"),
    ),
    Mutant(
        "safety: a job file may name any option",
        "if name not in _SPECIAL and name not in harmless():",
        "if False:",
        ("tests/unit/fio/test_guard.py", "tests/drills/test_hostile_job_files.py"),
    ),
    Mutant(
        "cost: a plan above --max-cost is begun",
        "    if not total <= limit_usd:\n",
        "    if total < 0:\n",
        ("tests/unit/plan/test_cost.py",),
    ),
    Mutant(
        "method: steady although no rule holds",
        'holds = result.state == "steady" and kind is not None and moves',
        "holds = kind is not None and moves",
        ("tests/unit/analysis/test_steady.py", "tests/method/test_mr01_fill.py"),
    ),
    Mutant(
        "method: a trial's figure mixes burst and baseline",
        'at_baseline = [at for at, kind in enumerate(kinds) if kind == "baseline"]',
        "at_baseline = list(range(len(kinds)))",
        ("tests/unit/analysis/test_figure.py", "tests/unit/analysis/test_trust.py"),
    ),
    Mutant(
        "secrets: a directory of ours that others read stays so",
        "if status.st_uid == os.geteuid() and status.st_mode & _OTHERS:",
        "if False:",
        ("tests/unit/test_quoting.py",),
    ),
    Mutant(
        "owner: the cell of a living process is taken",
        "        cell.owner in alive\n",
        "        False\n",
        ("tests/unit/engine/durable/test_process.py",),
    ),
    Mutant(
        "owner: a wish to stop is nobody's",
        'is_asked = sa.or_(cell.c.cancel.is_(True), matrix.c.state == "cancelling")',
        "is_asked = sa.false()",
        ("tests/unit/engine/durable/test_process.py",),
    ),
    Mutant(
        "release: a lease whose release failed is closed",
        "plan.rental.scope, made=made)\n    except ReleaseFailed:\n        raise\n",
        "plan.rental.scope, made=made)\n    except ReleaseFailed:\n        pass\n",
        ("tests/unit/engine/trial/test_lease.py",),
    ),
    Mutant(
        "release: a directory without a trial's name is removed",
        'if path is not None and (not _OURS.fullmatch(path) or ".." in path.split("/")):',
        "if False:",
        ("tests/unit/hosts/test_jobs.py", "tests/unit/hosts/test_directory.py"),
    ),
    Mutant(
        "identity: one that two disks answer to is proof",
        "    own = [i for i in state.identities if i not in shared]\n",
        "    own = [*state.identities]\n",
        ("tests/unit/hosts/test_device.py",),
    ),
    Mutant(
        "identity: a disk is named twice",
        "        if same is not None:\n            raise TargetRefused(\n",
        "        if False:\n            raise TargetRefused(\n",
        ("tests/unit/hosts/test_device.py",),
    ),
    Mutant(
        "identity: nobody asks again before the write",
        "        if self.identity not in identities(self.number):\n",
        "        if False:\n",
        ("tests/drills/test_guard.py", "tests/unit/hosts/test_guarded_unit.py"),
    ),
    Mutant(
        "evidence: a fetched file that differs from the host's is kept",
        "if arrived != digest and name != _SUMS:",
        "if False:",
        ("tests/unit/hosts/test_jobs.py",),
    ),
    Mutant(
        "limit: several disks are allowed what one is",
        "value and value * count for",
        "value and value for",
        ("tests/unit/catalog/test_lookup.py", "tests/unit/plan/test_loads.py"),
    ),
    Mutant(
        "limit: a cap far from the figure is named",
        'NEAR = 0.10\n"""A measured',
        'NEAR = 0.30\n"""A measured',
        ("tests/method/test_mr12_limiter.py",),
    ),
    Mutant(
        "cost: a matrix begins cells beyond its budget",
        "if (over := _too_dear(cell, limits, committed)) is not None:",
        "if (over := None) is not None:",
        ("tests/unit/plan/test_admit.py",),
    ),
    Mutant(
        "doubt: a figure that is none of the disk's is trusted",
        '    if "no" in weights:\n',
        "    if False:\n",
        ("tests/unit/analysis/test_trust.py",),
    ),
    Mutant(
        "doubt: a heavy one is not printed under the verdict",
        'if one.weight != "note" and one not in elsewhere',
        "if False",
        ("tests/unit/report/terminal/test_compare_text.py",),
    ),
    Mutant(
        "copies: a foreign store counts as the one that the settings name",
        "    return _plain(url) == _plain(other)\n",
        "    return bool(_plain(url)) and bool(_plain(other))\n",
        ("tests/unit/store/test_evidence.py",),
    ),
    Mutant(
        "prune: a run of an unfinished trial is pruned",
        " or run.trial_id in unfinished:\n",
        ":\n",
        ("tests/unit/results/test_exported_rows.py", "tests/unit/cli/test_results_prune.py"),
    ),
    Mutant(
        "canary: other types of machine are the fleet",
        "lambda runs: (runs[0].provider, runs[0].instance_type, runs[0].cpu_model),\n",
        "lambda runs: (),\n",
        ("tests/method/test_mr13_canary.py",),
    ),
    Mutant(
        "canary: five machines are a fleet",
        "        if len(readings) < LEAST_READINGS:\n",
        "        if len(readings) < 2:\n",
        ("tests/method/test_mr13_canary.py",),
    ),
    Mutant(
        "secrets: the password of a database is printed",
        "            return _postgres(url)\n",
        "            return url\n",
        ("tests/unit/store/test_evidence.py", "tests/drills/test_urls.py"),
    ),
)
