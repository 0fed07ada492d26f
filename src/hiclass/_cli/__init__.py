"""The command ``hiclass``: from a file to a model, to predictions, to scores.

It uses the library through its public names. Messages go to standard error and results to standard
output, so that commands can be piped. Files are written whole or not at all.
"""

from hiclass._cli._main import main

__all__ = ["main"]
