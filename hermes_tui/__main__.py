"""The command `hermes-tui`, also as `python -m hermes_tui`."""

from __future__ import annotations


def main() -> None:
    """Run the command line. Exits; never returns."""
    from hermes_tui.cli import run

    run()


if __name__ == "__main__":
    main()
