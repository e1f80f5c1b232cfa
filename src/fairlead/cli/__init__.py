"""The command line: `fairlead --help`."""

import sys


def main() -> None:
    """Run the command line; the version is printed before anything is imported."""
    if sys.argv[1:] == ["--version"]:
        from fairlead.version import __version__

        print(f"fairlead {__version__}")
        return
    from fairlead.cli.program import app

    app(prog_name="fairlead")
