"""An account's quotas compared with what a matrix needs at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.model.finding import finding, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.finding import Finding, Need, Quota
    from diskbench.model.rental import Scope
    from diskbench.ports import Metered

_RAISE = "request a higher one (docs/renting.md), or give back what is not needed (diskbench gc)"


def quota_findings(provider: Metered, scope: Scope, needs: Sequence[Need] | None) -> list[Finding]:
    """One finding per quota, in the regions of the matrix, or without a matrix in the scope's."""
    theirs = [need for need in needs or () if need.provider == scope.provider]
    regions: list[str | None] = [*sorted({need.region for need in theirs if need.region})]
    findings: list[Finding] = []
    for region in regions or [scope.region]:
        here = scope.model_copy(update={"region": region})
        try:
            quotas = provider.quotas(here)
        except DiskbenchError as error:
            refused = refusal("quota", _where(scope.provider, region), error)
            # An account that may not read its quotas may still be allowed to rent.
            findings.append(refused.model_copy(update={"state": "warning"}))
            continue
        findings += compared(scope.provider, quotas, None if needs is None else theirs)
    return findings


def compared(provider: str, quotas: Sequence[Quota], needs: Sequence[Need] | None) -> list[Finding]:
    """One finding per quota that matters: whether it suffices for `needs`, or, without a matrix,
    whether any of it is left."""
    findings = []
    for quota in quotas:
        # A total covers all families and types; needs without a family count against totals only.
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
            text = f"{quota.name}: {quota.limit:,.0f}; the usage is not reported"
        where = _where(provider, quota.region)
        if needed > left:
            text += f", the matrix takes {needed:,.0f} at once"
            advice = f"lower max_parallel, or {_RAISE}"
            findings.append(finding("quota", where, "problem", text, advice))
        elif needed:
            findings.append(
                finding("quota", where, "ok", f"{text}, the matrix takes {needed:,.0f} at once")
            )
        elif left <= 0 and needs is None and not _is_idle_family(quota):
            full = f"{text}: none can be rented until something is given back"
            findings.append(finding("quota", where, "warning", full, _RAISE))
        elif needs is None and not _is_idle_family(quota):
            findings.append(finding("quota", where, "ok", text))
    return findings


def _is_idle_family(quota: Quota) -> bool:
    """Whether it is the quota of one of about 100 machine families, none of whose machines run."""
    is_family = quota.kind.endswith("vcpus") and bool(quota.of) and not quota.common
    return is_family and not quota.used


def _where(provider: str, region: str | None) -> str:
    return f"{provider} {region}" if region else provider
