"""What all tests share: hypothesis's profiles, `--update-golden`, processes, a connection."""

import gc
import os
import signal
from collections.abc import Iterator

import choices
import pytest
from counts import Values, is_brief, is_left_out, outside
from hypothesis import Phase, settings
from xdist.scheduler import LoadScopeScheduling

import cqlduck
from cqlduck.state import condensed
from cqlduck.streamon.streamon import StreaMon

# a tenth of a random case's time went into looking through syntax trees for garbage
gc.set_threshold(50_000, 20, 20)

settings.register_profile("default", max_examples=100, deadline=None)
# what `make test` takes: the same cases for the same code, so that a change is judged by what it
# does and not by chance, and fewer (counts.py)
settings.register_profile("brief", max_examples=7, deadline=None, derandomize=True)
# a mutant is to be noticed, not explained
settings.register_profile(
    "mutants",
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("brief" if os.environ.get("BRIEF") else "default")


def pytest_configure() -> None:
    StreaMon.makes = choices.Drawn
    # random cases are short, and are to read logs that are condensed
    condensed.TAIL = 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew; read the diff"
    )
    parser.addoption(
        "--update-laws", action="store_true", help="write the SQL of the laws anew; read the diff"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not asked for, behind all other choices: those marked long do not count."""
    if is_brief():
        left_out = is_left_out([(item.nodeid, parameters(item)) for item in items])
        _deselect(config, items, left_out)
    part = os.environ.get("PART")
    if part:
        try:
            _deselect(config, items, outside(len(items), part))
        except ValueError as error:
            raise pytest.UsageError(str(error)) from error


def _deselect(config: pytest.Config, items: list[pytest.Item], left_out: list[bool]) -> None:
    pairs = list(zip(items, left_out, strict=True))
    config.hook.pytest_deselected(items=[item for item, is_out in pairs if is_out])
    items[:] = [item for item, is_out in pairs if not is_out]


def parameters(item: pytest.Item) -> Values:
    """Return the parameters of a test."""
    called = getattr(item, "callspec", None)
    return (
        frozenset() if called is None else frozenset((k, repr(v)) for k, v in called.params.items())
    )


TOGETHER = {
    "tests/test_demo.py::TestDemo": "spark",
    "tests/test_spark_writer.py": "spark",
    "tests/test_sparksink.py::test_a_query_of_spark": "spark",
    "tests/test_content.py": "contents",
    "tests/test_packaging.py": "packages",
}
"""The beginnings of the names of tests that share what is costly to make, and its name."""


class Scheduling(LoadScopeScheduling):
    """Hands tests to processes one by one, and those of `TOGETHER` first, each group to one.

    The mark xdist_group is not seen: pytest-xdist 3.8 hands it on in what pytest 9.2 has made
    immutable, and then forgets it in silence.
    """

    def _split_scope(self, nodeid: str) -> str:
        found = (name for begins, name in TOGETHER.items() if nodeid.startswith(begins))
        return next(found, nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling:
    return Scheduling(config, log)


@pytest.fixture
def con() -> Iterator[cqlduck.Connection]:
    """A new database in memory."""
    with cqlduck.connect() as connection:
        yield connection


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Have Ctrl-C raise: a process that was started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
