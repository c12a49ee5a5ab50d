"""How many random cases a property takes.

A property whose generator stands in `test_many_cases` is run there on thousands (`make long`). In
CI, where the same cases come each time, it takes a third of what it takes elsewhere.
"""

from hypothesis import settings

LEAST = 3


def fewer_in_ci(count: int) -> int:
    """Return how many cases a property takes that `test_many_cases` runs too.

    Args:
        count: How many it takes elsewhere: on a developer's machine, and against mutants.
    """
    if settings.get_current_profile_name() != "ci":
        return count
    return max(LEAST, count // 3)
