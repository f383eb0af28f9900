"""`python -m plait.cli`: the command line where its script is not on the path."""

from plait.cli import main

main()
