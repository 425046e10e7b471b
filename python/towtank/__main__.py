"""``python -m towtank``: the command, and ``sweep``, which runs a campaign on Dask."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command with the arguments of this process."""
    if sys.argv[1:2] == ["sweep"]:
        from towtank import _sweep_command

        return _sweep_command.main(sys.argv[2:])
    from towtank import _command

    return _command.main()


if __name__ == "__main__":
    sys.exit(main())
