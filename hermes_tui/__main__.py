"""The command `hermes-tui`, also as `python -m hermes_tui`."""

from __future__ import annotations


def main() -> None:
    """Run the command line. Exits; never returns."""
    try:
        from hermes_tui.cli import run

        run()
    except KeyboardInterrupt:  # while modules were imported, which nobody else sees
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
