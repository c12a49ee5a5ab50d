"""`python -m cqlduck`."""

from cqlduck.cli import main

if __name__ == "__main__":
    main()
