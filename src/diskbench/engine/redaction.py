"""Removes what is private from a recording: secrets, tokens, account numbers, addresses, names.

Each removed value is replaced by a numbered one of the same form, the same everywhere in one
recording, so that a recording can still be replayed. What is private in any cloud stands here, what
is private in one cloud only stands in the `redaction` of its plugin.
"""

import base64
import html
import ipaddress
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, urlencode

from diskbench.model.finding import Exchange
from diskbench.plugin import Redaction

REMOVED = "removed"
SHORT = 4
"""Values with fewer characters are removed where they are a whole value only, because as a part of
others they occur by chance. Our choice."""
_UUID = r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b"
_IP4 = (
    r"(?<![\w.])(?<!ersion>)(?<!ersionId=\")(?<!vim25/)"
    r"(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?(?![\w.]*\d)"
)
_IP6 = r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?:/\d{1,3})?(?![\w:])"
_WORD = "A-Za-z0-9+=_-"
_TOKEN = (
    # Base64 or an opaque page token: letters of both cases and digits without a break.
    rf"(?<![\w+=/-])(?=[/{_WORD}]*?[{_WORD}]{{40}})(?=[/{_WORD}]*[a-z])(?=[/{_WORD}]*[A-Z])"
    rf"(?=[/{_WORD}]*\d)[{_WORD}][/{_WORD}]{{39,}}"
)
_GENERAL = {
    r"-----BEGIN [A-Z ]+-----[\s\S]*?-----END [A-Z ]+-----": REMOVED,
    r"\b(?:ssh-[a-z0-9]+|ecdsa-sha2-\w+) AAAA[A-Za-z0-9+/=]+": REMOVED,
    r"\beyJ[\w-]+\.[\w-]+\.[\w-]*": "token-{n}",
    r"(?i:\bbearer )[\w.~+/=-]+": "token-{n}",
    r"[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+": "user-{n}@example.com",
    _UUID: "00000000-0000-0000-0000-{n:012d}",
    r"\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b": "02:00:00:00:00:{n:02x}",
    _IP4: "198.18.0.0",
    _IP6: "2001:db8::",
    r"(?<=/home/)[\w.-]+": "user-{n}",
    r"(?<=/Users/)[\w.-]+": "user-{n}",
    _TOKEN: "token-{n}",
}
"""Pattern → its replacement, the first that matches at a place."""
_FIELDS = (
    "password", "secret", "clientSecret", "accessToken", "access_token", "refresh_token",
    "adminPassword", "customData", "userData", "protectedSettings",
)  # fmt: skip


@dataclass
class Cleaner:
    """Replaces what is private, each value by the same numbered one. `secrets` are removed wherever
    they stand, `values` as words."""

    redaction: Redaction
    secrets: Sequence[str] = ()
    values: Sequence[str] = ()
    _numbers: dict[str, dict[str, str]] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _known: re.Pattern[str] | None = None

    def learn(self, exchanges: Iterable[Exchange]) -> None:
        """Collect the names that the owner chose from all answers, before any is removed."""
        for exchange in exchanges:
            text = exchange.body if isinstance(exchange.body, str) else json.dumps(exchange.body)
            for pattern in self.redaction.names:
                names = {html.unescape(name) for name in re.findall(pattern, text)}
                self._names |= {name for name in names if not self._public(name)}
        self._known = None

    def exchange(self, exchange: Exchange) -> Exchange:
        """The exchange without what is private."""
        form = "x-www-form-urlencoded" in exchange.sent.get("content-type", "")
        return exchange.model_copy(
            update={
                "url": self.text(exchange.url),
                "sent": {name: self.text(value) for name, value in exchange.sent.items()},
                "asked": self._form(exchange.asked) if form else self._clean(exchange.asked),
                "headers": {name: self.text(value) for name, value in exchange.headers.items()},
                "body": self._clean(exchange.body),
            }
        )

    def text(self, text: str) -> str:
        """The text without what is private."""
        if text in self._short():
            return self._numbered("private-{n}", text)
        return self._pattern().sub(self._replaced, text)

    def prose(self, text: str) -> str:
        """A sentence for people without what is private; short names are removed from it, too."""
        short = sorted(name for name in (*self._names, *self.values) if 0 < len(name) < SHORT)
        if short:
            words = rf"(?<![\w-])(?:{'|'.join(map(re.escape, short))})(?![\w-])"
            text = re.sub(words, lambda match: self._numbered("private-{n}", match[0]), text)
        return self.text(text)

    def option(self, value: str) -> str:
        """The value typed for a private option, replaced as it is in the exchanges."""
        changed = self.text(value)
        return self._numbered("private-{n}", value) if changed == value else changed

    def _form(self, asked: Any) -> Any:  # noqa: ANN401 - text, or nothing
        if not isinstance(asked, str):
            return self._clean(asked)
        fields = self._fields()
        return urlencode(
            [
                (name, REMOVED if name.rpartition(".")[2].lower() in fields else self.text(value))
                for name, value in parse_qsl(asked, keep_blank_values=True)
            ]
        )

    def _clean(self, value: Any) -> Any:  # noqa: ANN401 - what JSON holds
        if isinstance(value, str):
            return self._xml(value) if value.lstrip().startswith("<") else self.text(value)
        if isinstance(value, list):
            return [self._clean(item) for item in value]
        if isinstance(value, dict):
            private, members = self._fields(), dict[str, Any]()
            for key, item in value.items():
                is_kept = key.lower() not in private or item is None
                empty = type(item)() if isinstance(item, list | dict) else REMOVED
                members[self.text(key)] = self._clean(item) if is_kept else empty
            return members
        if isinstance(value, int) and not isinstance(value, bool):
            cleaned = self.text(str(value))
            return value if cleaned == str(value) else cleaned
        return value

    def _xml(self, text: str) -> str:
        names = "|".join(sorted(self._fields()))

        def emptied(match: re.Match[str]) -> str:
            inner = "" if "<" in match["inner"] or not match["inner"] else REMOVED
            return f"{match['begin']}{inner}{match['end']}"

        element = (
            rf"(?is)(?P<begin><(?P<tag>(?:\w+:)?(?:{names}))(?:\s[^>]*)?(?<!/)>)"
            r"(?P<inner>.*?)(?P<end></(?P=tag)>)"
        )
        return self.text(re.sub(element, emptied, text))

    def _fields(self) -> frozenset[str]:
        return frozenset(name.lower() for name in (*_FIELDS, *self.redaction.fields))

    def _short(self) -> frozenset[str]:
        return frozenset(v for v in (*self.secrets, *self.values) if 0 < len(v) < SHORT)

    def _pattern(self) -> re.Pattern[str]:
        """One expression for everything, so that nothing that was replaced is replaced again."""
        if self._known is None:
            long = [value for value in self.secrets if len(value) >= SHORT]
            words = [value for value in (*self.values, *self._names) if len(value) >= SHORT]
            parts = []
            if long:
                parts.append(f"(?P<secret>(?i:{_either(long)}))")
            if words:
                parts.append(rf"(?P<word>(?<![\w.:</-])(?i:{_either(words)})(?![\w-]))")
            if short := [name for name in self._names if 0 < len(name) < SHORT]:
                parts.append(f"(?P<short>(?<=>)(?:{_either(short)})(?=<))")
            parts += [
                f"(?P<p{index}>{pattern})"
                for index, pattern in enumerate((*self.redaction.patterns, *_GENERAL))
            ]
            self._known = re.compile("|".join(parts))
        return self._known

    def _public(self, value: str) -> bool:
        return any(re.fullmatch(public, value) for public in self.redaction.public)

    def _replaced(self, match: re.Match[str]) -> str:
        value, kind = match[0], str(match.lastgroup)
        if kind != "secret" and self._public(value):
            return value
        addresses = {_GENERAL[_IP4], _GENERAL[_IP6]}
        if kind.startswith("p"):
            template = [*self.redaction.patterns.values(), *_GENERAL.values()][int(kind[1:])]
            make = self._address if template in addresses else self._numbered
            return make(template, value)
        # A known value, replaced by one of the same form where a pattern describes it.
        for pattern, template in {**self.redaction.patterns, **_GENERAL}.items():
            if template in addresses:
                if (changed := self._address(template, value)) != value:
                    return changed
            elif re.fullmatch(pattern, value):
                return self._numbered(template, value)
        return self._numbered("private-{n}", value)

    def _address(self, base: str, value: str) -> str:
        """Another address or network of the same size; one that is nobody's own stays."""
        try:
            network = ipaddress.ip_network(value, strict=False)
        except ValueError:
            return value
        first = network.network_address
        if first.is_loopback or first.is_unspecified or first.is_link_local:
            return value
        start = ipaddress.ip_address(base)
        if start.version != network.version:
            return value
        number = int(self._numbered("{n}" + f" {base}", value).split()[0])
        host_bits = network.max_prefixlen - network.prefixlen
        other = start + (number << min(host_bits, 8))
        made = ipaddress.ip_network((other, network.prefixlen), strict=False)
        return str(made) if "/" in value else str(other)

    def _numbered(self, template: str, value: str) -> str:
        known = self._numbers.setdefault(template, {})
        return known.setdefault(value.lower(), template.format(n=len(known) + 1))


def _either(values: Iterable[str]) -> str:
    """An expression for any of the values, in every way in which a request may write them."""
    forms: set[str] = set()
    for value in values:
        forms |= {
            value, quote(value, safe=""), quote(value), quote_plus(value), html.escape(value),
            html.escape(value, quote=False), json.dumps(value)[1:-1],
            json.dumps(value, ensure_ascii=False)[1:-1],
            base64.b64encode(value.encode()).decode(),
        }  # fmt: skip
    return "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
