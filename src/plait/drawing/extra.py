"""What is said when the libraries of the extra `plait[draw]` are not there, or do not load."""

from plait.errors import MissingExtraError


def missing(package: str, what: str, error: ImportError) -> MissingExtraError:
    """The error for a picture that needs a package, from the error of its import."""
    if isinstance(error, ModuleNotFoundError):
        lack = "is not installed. Install it: pip install 'plait[draw]'"
    else:
        lack = (
            f"is installed and does not load: {error}. Install the library of the system that this "
            "names (on Debian: apt-get install libglib2.0-0 libxrender1 libxext6)"
        )
    return MissingExtraError(
        f"{what} needs {package}, which {lack}; or take draw_mermaid(), which needs nothing."
    )
