"""`diskbench doctor --live`: resolves a rental as a run does, has the cloud check its requests, and
records what was asked and answered. Nothing is rented."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from diskbench import __version__
from diskbench.engine.doctor import examine_provider
from diskbench.engine.redaction import Cleaner
from diskbench.engine.trial.planning import check_rentable
from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.fio.jobfile import may_be_secret
from diskbench.model.finding import Finding, Recording, refusal
from diskbench.model.options import own_options
from diskbench.model.rental import Scope
from diskbench.plugin import plugin
from diskbench.ports import Rehearses
from diskbench.providers.recorder import recording
from diskbench.providers.registry import Providers
from diskbench.store.profile_file import find_profile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from diskbench.catalog.books import Books
    from diskbench.model.finding import Exchange
    from diskbench.model.spec import Cell

_PAIRS = frozenset({"--label", "--set"})
"""Flags of KEY=VALUE. The value of a label is the user's own text, and never part of a replay; that
of a parameter is, unless its key says that it is a secret."""
_LEFT_OUT = frozenset({"--recording", "--endpoint-url", "--output", "--ca-file"})
"""Flags that a replay gives by itself."""


def check_live(
    cell: Cell, books: Books, words: Sequence[str], options: Mapping[str, object]
) -> tuple[list[Finding], Recording]:
    """The findings of a provider on a rental that was not made, and the recording of all calls.
    `words` are those of the command line after `doctor`, `options` the value of each by its name.

    Raises UserError for a cell that no run would accept, before any call.
    """
    with Providers() as providers:
        renter = providers.renter(cell.provider)
        if not isinstance(renter, Rehearses):
            raise InvalidValue(
                f"--live cannot be used with --provider {cell.provider}, which cannot check "
                "requests without carrying them out",
                advice="leave --live out",
                field="provider",
            )
        check_rentable(renter, cell, find_profile(cell.profile))
        with recording() as exchanges:
            findings = _found(renter, cell, books)
        return findings, recording_of(cell.provider, exchanges, findings, words, options)


def _found(renter: Rehearses, cell: Cell, books: Books) -> list[Finding]:
    try:
        rental = renter.resolve(cell, books)
    except DiskbenchError as error:
        assert cell.rent is not None, "a renter's cell says what to rent"
        scope = Scope(
            provider=cell.provider,
            account=cell.rent.account,
            region=cell.rent.region,
            endpoint=cell.rent.endpoint_url,
            ca_file=cell.rent.text("ca_file"),
            insecure=cell.rent.flag("insecure"),
        )
        refused = refusal("rental", cell.provider, error)
        return [refused, *examine_provider(renter, scope)]
    findings = [Finding(check="rental", where=cell.provider, state="ok", told=rental.offer)]
    findings += examine_provider(renter, rental.scope)
    try:
        return [*findings, *renter.rehearse(rental)]
    except DiskbenchError as error:
        return [*findings, refusal("dry run", rental.scope.provider, error)]


def recording_of(
    provider: str,
    exchanges: Sequence[Exchange],
    findings: Sequence[Finding],
    words: Sequence[str],
    options: Mapping[str, object],
) -> Recording:
    """The recording of what was asked and found, without what is private."""
    cleaner = _cleaner(provider, words, options)
    cleaner.learn(exchanges)

    def cleaned(finding: Finding) -> Finding:
        prose = {"told": finding.told, "advice": finding.advice}
        return finding.model_copy(update={name: cleaner.prose(of) for name, of in prose.items()})

    return Recording(
        diskbench_version=__version__,
        provider=provider,
        flags=_flags(words, provider, cleaner),
        findings=tuple(map(cleaned, findings)),
        exchanges=tuple(map(cleaner.exchange, exchanges)),
    )


def _cleaner(provider: str, words: Sequence[str], options: Mapping[str, object]) -> Cleaner:
    """What to remove: secret values of the environment, and values of private options and pairs."""
    redaction = plugin(provider).redaction
    secrets = [value for name in redaction.variables if (value := os.environ.get(name))]
    values = [str(option) for name in _private(provider) if (option := options.get(name))]
    hosts = [urlsplit(value).hostname or "" for value in (*values, *secrets) if "://" in value]
    logins = [value.partition("@")[0] for value in secrets if "@" in value]
    pairs = [(flag, pair.partition("=")) for flag, _, pair in _flagged(words)]
    own = [
        value
        for flag, (key, _, value) in pairs
        if flag in _PAIRS and value and _is_private_pair(flag, key)
    ]
    return Cleaner(redaction, secrets, [*values, *hosts, *logins, *own])


def _is_private_pair(flag: str, key: str) -> bool:
    return flag == "--label" or may_be_secret(key)


def _flagged(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Each word with the flag that it is a value of ("" for none): `--label k=v`, `--label=k=v`.
    The second is what stands before the value in the word."""
    before = ""
    for word in words:
        flag, equals, value = word.partition("=")
        is_flag = word.startswith("--") and before not in _PAIRS
        if is_flag and equals:
            yield flag, f"{flag}=", value
        else:
            yield "" if is_flag else before, "", word
        before = word if is_flag and not equals else ""


def _private(provider: str) -> tuple[str, ...]:
    known = plugin(provider)
    account = (known.account_option,) if known.account_option else ()
    return (*account, *known.redaction.options)


def _flags(words: Sequence[str], provider: str, cleaner: Cleaner) -> tuple[str, ...]:
    """The words of the command line for a replay, without what is private."""
    own = {option.name: option.flag for option in own_options(provider)}
    private = {own.get(name, f"--{name.replace('_', '-')}") for name in _private(provider)}
    kept: list[str] = []
    for flag, head, value in _flagged(words):
        if flag in _LEFT_OUT or value in _LEFT_OUT:
            continue
        key, _, text = value.partition("=")
        if flag in private:
            kept.append(head + cleaner.option(value))
        elif flag in _PAIRS and text and _is_private_pair(flag, key):
            kept.append(f"{head}{key}={cleaner.option(text)}")
        else:
            kept.append(head + (value if value.startswith("--") else cleaner.text(value)))
    return tuple(kept)
