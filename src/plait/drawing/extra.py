"""What is said when the libraries of the extra `plait[draw]` are not there."""

from plait.errors import MissingExtraError


def missing(package: str, what: str) -> MissingExtraError:
    """The error for a picture that needs a package."""
    return MissingExtraError(
        f"{what} needs {package}, which is not installed. Install it: pip install "
        "'plait[draw]'; or take draw_mermaid(), which needs nothing."
    )
