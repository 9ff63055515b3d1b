"""An account's quotas against what a matrix has at once: pure but for the asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.model.finding import Finding, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.finding import Need, Quota
    from diskbench.model.rental import Scope
    from diskbench.ports import Metered

_RAISE = "have it raised (docs/doctor.md), or give back what is not needed (diskbench gc)"


def quota_findings(provider: Metered, scope: Scope, needs: Sequence[Need] | None) -> list[Finding]:
    """A finding for each quota, in the regions of the matrix, else in that of the scope."""
    theirs = [need for need in needs or () if need.provider == scope.provider]
    regions: list[str | None] = [*sorted({need.region for need in theirs if need.region})]
    findings: list[Finding] = []
    for region in regions or [scope.region]:
        here = scope.model_copy(update={"region": region})
        try:
            quotas = provider.quotas(here)
        except DiskbenchError as error:
            finding = refusal("quota", _where(scope.provider, region), error)
            # Who may not see quotas may rent all the same.
            findings.append(finding.model_copy(update={"state": "warning"}))
            continue
        findings += compared(scope.provider, quotas, None if needs is None else theirs)
    return findings


def compared(provider: str, quotas: Sequence[Quota], needs: Sequence[Need] | None) -> list[Finding]:
    """What each quota says about what is needed; without a matrix, whether there is any left."""
    findings = []
    for quota in quotas:
        # A total counts every family and type, and those without one count against totals alone.
        needed = sum(
            need.amount
            for need in needs or ()
            if need.region == quota.region
            and need.kind == quota.kind
            and (not quota.of or need.of in quota.of)
        )
        left = quota.limit - (quota.used or 0)
        text = f"{quota.name}: {left:,.0f} of {quota.limit:,.0f} left"
        if quota.used is None:
            text = f"{quota.name}: {quota.limit:,.0f}; how much is in use is not told"
        where = _where(provider, quota.region)
        if needed > left:
            text += f", the matrix takes {needed:,.0f} at once"
            advice = f"lower max_parallel, or {_RAISE}"
            findings.append(_finding(where, "problem", text, advice))
        elif needed:
            findings.append(
                _finding(where, "ok", f"{text}, the matrix takes {needed:,.0f} at once")
            )
        elif left <= 0 and needs is None and not _is_idle_family(quota):
            findings.append(_finding(where, "warning", f"{text}: no more can be rented", _RAISE))
        elif needs is None and not _is_idle_family(quota):
            findings.append(_finding(where, "ok", text))
    return findings


def _is_idle_family(quota: Quota) -> bool:
    """One of the hundred families of machines, of which nothing runs."""
    return quota.kind.endswith("vcpus") and bool(quota.of) and not quota.used


def _finding(where: str, state: str, text: str, advice: str = "") -> Finding:
    return Finding.model_validate(
        {"check": "quota", "where": where, "state": state, "told": text, "advice": advice}
    )


def _where(provider: str, region: str | None) -> str:
    return f"{provider} {region}" if region else provider
