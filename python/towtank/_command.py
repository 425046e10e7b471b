"""The ``towtank`` command of the wheel."""

from __future__ import annotations

import os
import sys
import sysconfig

from towtank import _towtank


def main() -> int:
    """Run the command with the arguments of this process."""
    return run(sys.argv[1:])


def run(arguments: list[str]) -> int:
    """Run the command with these arguments, once in a process."""
    return _towtank.command(_program(), arguments)


def _program() -> str:
    """The file that starts this command: processes of a store are started by it."""
    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) == "towtank" and os.access(started, os.X_OK):
        return started
    return os.path.join(sysconfig.get_path("scripts"), "towtank")
