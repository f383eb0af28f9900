"""The links of a page, for programs that load documents from the web."""

import re
from collections.abc import Sequence
from urllib.parse import urljoin, urlparse

_SCHEMES = ("javascript:", "mailto:", "#")
_FILES = (".css", ".js", ".ico", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".csv", ".bz2", ".zip",
          ".epub", ".webp", ".pdf", ".docx", ".xlsx", ".pptx", ".pptm", ".mp3", ".mp4")  # fmt: skip
_LINK = re.compile(r"""href=["']([^"'#]+?)(?:#[^"']*)?["']""", re.IGNORECASE)


def find_all_links(raw_html: str, *, pattern: str | re.Pattern[str] | None = None) -> list[str]:
    """Where a page's links lead, as they are written; without anchors, pictures, files and mail.

    Args:
        raw_html: The page.
        pattern: What finds a link; by default any `href`.

    >>> sorted(find_all_links('<a href="/b#top">x</a> <a href="mailto:me"> <a href="c.png">'))
    ['/b']
    """
    if pattern is not None:
        return list(set(re.findall(pattern, raw_html)))
    found = {link for link in _LINK.findall(raw_html) if _is_page(link)}
    return list(found)


def _is_page(link: str) -> bool:
    return not link.lower().startswith(_SCHEMES) and not link.lower().endswith(_FILES)


def extract_sub_links(
    raw_html: str,
    url: str,
    *,
    base_url: str | None = None,
    pattern: str | re.Pattern[str] | None = None,
    prevent_outside: bool = True,
    exclude_prefixes: Sequence[str] = (),
    continue_on_failure: bool = False,
) -> list[str]:
    """The links of a page with their whole addresses.

    Args:
        raw_html: The page.
        url: Its address.
        base_url: Links must begin with this, and lead to its host (default: `url`).
        pattern: What finds a link; by default any `href`.
        prevent_outside: Leave out what does not begin with `base_url`.
        exclude_prefixes: Leave out what begins with one of these.
        continue_on_failure: Pass over a link that is no address, instead of raising `ValueError`.

    >>> extract_sub_links('<a href="b"> <a href="http://other.org/">', "http://here.org/a/")
    ['http://here.org/a/b']
    """
    base = url if base_url is None else base_url
    found: dict[str, None] = {}
    for link in find_all_links(raw_html, pattern=pattern):
        try:
            whole = _whole(link, url)
            is_inside = urlparse(whole).netloc == urlparse(base).netloc and whole.startswith(base)
        except ValueError:
            if not continue_on_failure:
                raise
            continue
        if whole.startswith(tuple(exclude_prefixes)) or (prevent_outside and not is_inside):
            continue
        found[whole] = None
    return list(found)


def _whole(link: str, url: str) -> str:
    """The address that a link on the page at `url` leads to."""
    return link if urlparse(link).scheme in ("http", "https") else urljoin(url, link)


__all__ = ["extract_sub_links", "find_all_links"]
