"""Sensitive text: finding it (detectors), and what is put in its place (strategies)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from typing import Any, Literal, cast

from typing_extensions import TypedDict

from plait.errors import (
    ConfigError,
    ConfigTypeError,
    InvalidPatternError,
    PIIDetectionError,
    nearest,
)

RedactionStrategy = Literal["block", "redact", "mask", "hash"]


class PIIMatch(TypedDict):
    """One place of a text that is sensitive."""

    type: str
    value: str
    start: int
    end: int


Detector = Callable[[str], list[PIIMatch]]

# --- detectors -----------------------------------------------------------------------------------

# Whatever the text, the time that this takes grows with its length alone: what could be part of a
# match is read once, not once for each place where one could begin (`++` gives nothing back). Else
# whoever writes to an agent could stop it by a long text of the right signs.

_LOCAL = re.compile(r"(?<![\w.%+-])[\w.%+-]++(?=@)")
_BEGIN = re.compile(r"\b[\w.%+-]")
_DOMAIN = re.compile(r"@(?:[^\W_]|[.-])+\.[^\W\d_]{2,}\b")
_CARD = re.compile(r"\b(?:\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}|\d{4}[ -]?\d{6}[ -]?\d{4,5})\b")
_SHORT_CARD = re.compile(r"3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}")
"""Cards with less than 16 digits begin with what their issuers own."""
_IPV4 = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f]*+:[0-9A-Fa-f]*+:[0-9A-Fa-f:])[0-9A-Fa-f:.]++")
_MAC = re.compile(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")
_URL = re.compile(
    r"https?://(?![/?#])[^\s<>\"{}|\\^`\[\]]+"
    r"|\bwww\.[a-z0-9.-]*[a-z0-9](?:/\S*)?"
    r"|(?<![a-z0-9.-])(?:(?<=\w)[a-z0-9]*+)?[.-]*+"  # up to the first place that begins a word
    r"\b(?P<bare>[a-z0-9][a-z0-9.-]*\.[a-z0-9]+/\S*)",
    re.IGNORECASE,
)


def detect_email(content: str) -> list[PIIMatch]:
    """Addresses of mail.

    >>> detect_email("write to ann@x.org")[0]["value"]
    'ann@x.org'
    """
    found: list[PIIMatch] = []
    end = 0
    for local in _LOCAL.finditer(content):
        begin = _BEGIN.search(content, max(local.start(), end), local.end())
        domain = _DOMAIN.match(content, local.end()) if begin else None
        if begin and domain:
            end = domain.end()
            found.append(_match("email", content, begin.start(), end))
    return found


def detect_credit_card(content: str) -> list[PIIMatch]:
    """Numbers of credit cards, of 14 to 16 digits, that pass Luhn's check.

    >>> [match["value"] for match in detect_credit_card("4111 1111 1111 1111, 4111 1111 1111 1112")]
    ['4111 1111 1111 1111']
    """
    return [match for match in _found("credit_card", _CARD, content) if _is_card(match["value"])]


def detect_ip(content: str) -> list[PIIMatch]:
    """Addresses of IP, versions 4 and 6.

    >>> [match["value"] for match in detect_ip("10.0.0.1, 999.0.0.1, 2001:db8::1, 10:30:00")]
    ['10.0.0.1', '2001:db8::1']
    """
    found = _found("ip", _IPV4, content)
    for signs in _IPV6.finditer(content):
        text, after = signs[0], content[signs.end() : signs.end() + 1]
        if after.isalnum() or after == "_":  # up to the dot before a word
            text = text.rpartition(".")[0]
        end = signs.start() + len(text.rstrip("."))
        found.append(_match("ip", content, signs.start(), end))
    return sorted(filter(_is_address, found), key=lambda match: match["start"])


def detect_mac_address(content: str) -> list[PIIMatch]:
    """Addresses of network cards.

    >>> detect_mac_address("at 00:1A:2B:3C:4D:5E")[0]["start"]
    3
    """
    return _found("mac_address", _MAC, content)


def detect_url(content: str) -> list[PIIMatch]:
    """Addresses of web pages, with their scheme or without.

    >>> [match["value"] for match in detect_url("https://x.org, www.y.org or z.org/page")]
    ['https://x.org,', 'www.y.org', 'z.org/page']
    """
    found = _URL.finditer(content)
    return [_match("url", content, *one.span(one.lastgroup or 0)) for one in found]


DETECTORS: dict[str, Detector] = {
    "email": detect_email,
    "credit_card": detect_credit_card,
    "ip": detect_ip,
    "mac_address": detect_mac_address,
    "url": detect_url,
}
"""What finds each type that is known."""


def _found(kind: str, pattern: re.Pattern[str], content: str) -> list[PIIMatch]:
    return [_match(kind, content, *match.span()) for match in pattern.finditer(content)]


def _match(kind: str, content: str, start: int, end: int) -> PIIMatch:
    return PIIMatch(type=kind, value=content[start:end], start=start, end=end)


def _is_card(value: str) -> bool:
    digits = [int(char) for char in value if char.isdigit()]
    if len(digits) < 16 and not _SHORT_CARD.fullmatch("".join(map(str, digits))):
        return False
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_address(match: PIIMatch) -> bool:
    try:
        ip_address(match["value"])
    except ValueError:
        return False
    return True


# --- strategies ----------------------------------------------------------------------------------


def apply_strategy(content: str, matches: Sequence[PIIMatch], strategy: RedactionStrategy) -> str:
    """A text with something else in place of what was found in it.

    Args:
        content: the text.
        matches: what was found.
        strategy: "redact" puts the type there, "mask" leaves a part that people know it by, "hash"
            a digest that is equal for equal values, "block" refuses.

    Raises:
        PIIDetectionError: the strategy is "block" and something was found.
        ConfigError: there is no such strategy.

    >>> apply_strategy("ann@x.org", detect_email("ann@x.org"), "mask")
    'ann@****.org'
    """
    _check_strategy(strategy)
    if strategy == "block" and matches:
        raise PIIDetectionError(matches[0]["type"], matches)
    parts: list[str] = []
    done = 0
    for match in sorted(matches, key=lambda match: (match["start"], -match["end"])):
        if match["start"] >= done:  # else it overlaps what was replaced
            parts += [content[done : match["start"]], _REPLACEMENTS[strategy](match)]
        done = max(done, match["end"])
    return "".join([*parts, content[done:]])


def _check_strategy(strategy: str) -> None:
    known = ["block", *_REPLACEMENTS]
    if strategy not in known:
        raise ConfigError(f"Unknown strategy {strategy!r}. {nearest(strategy, known)}")


def _redacted(match: PIIMatch) -> str:
    return f"[REDACTED_{match['type'].upper()}]"


def _hashed(match: PIIMatch) -> str:
    return f"<{match['type']}_hash:{sha256(match['value'].encode()).hexdigest()[:8]}>"


def _masked(match: PIIMatch) -> str:
    value = match["value"]
    mask = _MASKS.get(match["type"], _masked_text)
    return mask(value)


def _masked_text(value: str) -> str:
    return f"****{value[-4:]}" if len(value) > 4 else "****"


def _masked_email(value: str) -> str:
    name, _, domain = value.partition("@")
    return f"{name}@****.{domain.rpartition('.')[2]}" if "." in domain else "****"


def _masked_card(value: str) -> str:
    digits = re.sub(r"\D", "", value)
    stars = "*" * (len(digits) - 4)
    groups = [stars[at : at + 4] for at in range(0, len(stars), 4)]
    separator = "-" if "-" in value else " " if " " in value else ""
    return separator.join([*groups, digits[-4:]])


def _masked_ip(value: str) -> str:
    if ":" in value:
        return f"*:{value.rpartition(':')[2]}"
    return f"*.*.*.{value.rpartition('.')[2]}"


def _masked_mac(value: str) -> str:
    separator = ":" if ":" in value else "-"
    return separator.join(["**"] * 5 + [value[-2:]])


_MASKS: dict[str, Callable[[str], str]] = {
    "email": _masked_email,
    "credit_card": _masked_card,
    "ip": _masked_ip,
    "mac_address": _masked_mac,
    "url": lambda value: "[MASKED_URL]",
}
_REPLACEMENTS: dict[str, Callable[[PIIMatch], str]] = {
    "redact": _redacted,
    "mask": _masked,
    "hash": _hashed,
}

# --- rules ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ResolvedRedactionRule:
    """A type of sensitive text, what finds it, and what becomes of it."""

    pii_type: str
    strategy: RedactionStrategy
    detector: Detector

    def apply(self, content: str) -> tuple[str, list[PIIMatch]]:
        """The text as the rule leaves it, and what was found.

        Raises:
            PIIDetectionError: something was found, and the strategy is "block".
        """
        matches = self.detector(content)
        if not matches:
            return content, []
        if self.strategy == "block":
            raise PIIDetectionError(self.pii_type, matches)
        return apply_strategy(content, matches, self.strategy), matches


@dataclass(frozen=True)
class RedactionRule:
    """What becomes of one type of sensitive text.

    Args:
        pii_type: one of `DETECTORS`, or a name of your own.
        strategy: "block", "redact", "mask" or "hash" (see `apply_strategy`).
        detector: what finds it: a regular expression, or a function from a text to matches
            (default: what is known to find the type).
    """

    pii_type: str
    strategy: RedactionStrategy = "redact"
    detector: Detector | str | None = None

    def resolve(self) -> ResolvedRedactionRule:
        """The rule with its detector.

        Raises:
            ConfigError: the type is unknown and has no detector, or the strategy is unknown.
            ConfigTypeError: the detector can find nothing.
            InvalidPatternError: the regular expression is none.
        """
        _check_strategy(self.strategy)
        return ResolvedRedactionRule(self.pii_type, self.strategy, self._detector())

    def _detector(self) -> Detector:
        given: Any = self.detector
        if isinstance(given, str | re.Pattern):
            pattern, kind = _pattern(given), self.pii_type
            return lambda content: _found(kind, pattern, content)
        if callable(given):
            return _complete(cast("Detector", given), self.pii_type)
        if given is not None:
            raise ConfigTypeError(
                f"detector={given!r:.200} finds nothing: give a regular expression, or a function "
                "from a text to a list of dicts with 'start' and 'end'."
            )
        if self.pii_type not in DETECTORS:
            raise ConfigError(
                f"Nothing is known to find {self.pii_type!r}. Pass detector=, a regular expression "
                f"or a function. {nearest(self.pii_type, DETECTORS)}"
            )
        return DETECTORS[self.pii_type]


def _pattern(given: Any) -> re.Pattern[str]:
    try:
        return re.compile(given)
    except re.error as error:
        raise InvalidPatternError("detector", error) from error


def _complete(detector: Detector, kind: str) -> Detector:
    """A user's detector, whose matches may leave out their type."""

    def detect(content: str) -> list[PIIMatch]:
        return [_whole(match, kind, content) for match in detector(content)]

    return detect


def _whole(match: Any, kind: str, content: str) -> PIIMatch:
    """What a user's detector found, with what it may leave out."""
    if not (isinstance(match, Mapping) and {"start", "end"} <= match.keys()):
        raise ConfigTypeError(
            f"The detector of {kind!r} gave {match!r:.200} as a match: give dicts with 'start' and "
            "'end', the places of what was found in the text."
        )
    given = cast("Mapping[str, Any]", match)
    value = content[given["start"] : given["end"]]
    return cast("PIIMatch", {"type": kind, "value": value, **given})


__all__ = [
    "DETECTORS",
    "Detector",
    "PIIMatch",
    "RedactionRule",
    "RedactionStrategy",
    "ResolvedRedactionRule",
    "apply_strategy",
    "detect_credit_card",
    "detect_email",
    "detect_ip",
    "detect_mac_address",
    "detect_url",
]
