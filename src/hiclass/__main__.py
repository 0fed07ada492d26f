"""``python -m hiclass`` is the command ``hiclass``."""

from hiclass._cli import main

if __name__ == "__main__":
    raise SystemExit(main())
