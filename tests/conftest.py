"""What all tests share: hypothesis's profiles, `--update-golden`, a connection."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings

import cqlduck

# a tenth of a random case's time went into looking through syntax trees for garbage
gc.set_threshold(50_000, 20, 20)

settings.register_profile("default", max_examples=100, deadline=None)
# the same cases for the same code: what lands is judged by the change, not by chance
settings.register_profile("ci", max_examples=500, deadline=None, derandomize=True)
# a mutant is to be noticed, not explained
settings.register_profile(
    "mutants",
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew; read the diff"
    )


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    """A new database in memory."""
    with cqlduck.connect() as connection:
        yield connection
