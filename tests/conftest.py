"""What all tests share: hypothesis's profiles, `--update-golden`, a connection."""

import gc
import os
import random
from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings

import cqlduck
from cqlduck import engine
from cqlduck.forms import Forms

# a tenth of a random case's time went into looking through syntax trees for garbage
gc.set_threshold(50_000, 20, 20)

settings.register_profile("default", max_examples=100, deadline=None)
# the same cases for the same code: what lands is judged by the change, not by chance
settings.register_profile("ci", max_examples=60, deadline=None, derandomize=True)
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


class DrawnForms(Forms):
    """Draws the form of each tick, so that forms follow each other over the same synopses.

    Random cases seed it anew, each by what it is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.drawn = random.Random(0)

    def may_stage(self, elements: int | None) -> bool:
        return True

    def took(self, *_: object) -> None:
        pass

    def staged(self, *_: object) -> bool:
        return self.drawn.random() < 0.5 if self.always is None else self.always


def pytest_configure() -> None:
    engine.Forms = DrawnForms  # type: ignore[misc]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew; read the diff"
    )


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    """A new database in memory."""
    with cqlduck.connect() as connection:
        yield connection
