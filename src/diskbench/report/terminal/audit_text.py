"""The audits of runs in one line."""

from collections.abc import Sequence

from diskbench.model.result import StepAudit


def audit_line(audits: Sequence[StepAudit]) -> str:
    """The checks that hold in all steps, those that fail and where, and those that could not be
    made; empty without a step."""
    names = dict.fromkeys(check.name for audit in audits for check in audit.checks)
    good, unknown, wrong = [], [], []
    for name in names:
        pairs = [(a, check) for a in audits for check in a.checks if check.name == name]
        bad = [(a, check) for a, check in pairs if check.holds is False]
        if bad:
            first, check = bad[0]
            more = f" (and {len(bad) - 1} more steps)" if len(bad) > 1 else ""
            wrong.append(f"{name} of step {first.step} does not hold: {check.message}{more}")
        elif all(check.holds is None for _, check in pairs):
            unknown.append(name)
        else:
            good.append(name)
    parts = wrong
    if good:
        parts.append(f"{_listed(good)} hold" + ("s" if len(good) == 1 else ""))
    if unknown:
        parts.append(f"not checked: {_listed(unknown)}")
    return "audit: " + "; ".join(parts) if parts else ""


def audit_style(line: str) -> str:
    """The rich style of the line."""
    return "yellow" if "does not hold" in line else "dim"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
