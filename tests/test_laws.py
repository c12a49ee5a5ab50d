"""Each operator by its law: the statements over named inputs, and all that breaks them.

`laws/__init__.py` says how a file is read, and how one is written.
"""

from __future__ import annotations

import functools
from collections import Counter

import duckdb
import pytest
from laws import blocks, define, mutations, pending
from laws.bench import Bench, Written, written
from laws.blocks import Law
from laws.pending import Pending

from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.statements.choose import ALTERNATIVES

LONGEST = 60
"""How many lines the statements of a block may have."""

LONG = {
    "by keys, of two inputs": 70,
    "sums of doubles": 87,
    "under a key": 99,
    "between two bounds": 103,
}
"""More, by the beginning of the law."""


@functools.cache
def laws(file: str) -> list[Law]:
    return blocks.read(file)


LAWS = [
    pytest.param(file, place, id=f"{file}-{place}")
    for file in blocks.FILES
    for place in range(len(blocks.read(file)))
]
IN_FORMS = [law for law in LAWS if laws(law.values[0])[law.values[1]].operator not in pending.RULES]
FORMS = [Form(single, staged) for single in (False, True) for staged in (False, True)]


@functools.cache
def bench(file: str, place: int, ticks: tuple[int, ...] | None = None) -> Bench:
    return Bench(laws(file)[place], ticks)


@functools.cache
def rule(file: str, place: int) -> Pending | None:
    law = laws(file)[place]
    return Pending(law) if law.operator in pending.RULES else None


def run(file: str, place: int, written: Written) -> list[str]:
    return (rule(file, place) or bench(file, place)).run(written)


@functools.cache
def statements(file: str, place: int) -> Written:
    of = rule(file, place)
    return of.written() if of else written(laws(file)[place], bench(file, place).plan)


@functools.cache
def broken(file: str, place: int) -> dict[str, mutations.Mutation]:
    return {one.title: one for one in mutations.mutations(statements(file, place))}


def all_broken() -> list[pytest.param]:
    return [
        pytest.param(*law.values, title, id=f"{law.id}-{title}")
        for law in LAWS
        for title in broken(*law.values)
    ]


def reason(law: Law, title: str) -> str | None:
    """Return why a mutation changes nothing, if the block says that it does not."""
    listed = (why for name, why in law.same.items() if _is_listed(name, title))
    return next(listed, None)


def _is_listed(name: str, title: str) -> bool:
    return title.startswith(name[:-1]) if name.endswith("…") else title == name


@pytest.mark.parametrize("file", blocks.FILES)
def test_files_are_as_they_would_be_written(file: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-laws"):
        found = blocks.read(file)
        for place, law in enumerate(found):
            law.sql = str(statements(file, place))
        blocks.write(file, found)
    text = (blocks.FOLDER / f"{file}.sql").read_text(encoding="utf-8")
    assert "\n".join(map(str, blocks.read(file))) == text


@pytest.mark.parametrize(("file", "place"), LAWS)
def test_the_text_is_what_the_operator_writes(file: str, place: int) -> None:
    text = blocks.read(file)[place].sql
    assert str(statements(file, place)) == text
    title = blocks.read(file)[place].title
    longest = next((most for begin, most in LONG.items() if title.startswith(begin)), LONGEST)
    assert longest >= len(text.splitlines())


@pytest.mark.parametrize(("file", "place"), LAWS)
def test_the_law_holds(file: str, place: int) -> None:
    assert [] == run(file, place, statements(file, place))


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize(("file", "place"), IN_FORMS)
def test_it_holds_in_each_form_of_all_that_may_be_asked(file: str, place: int, form: Form) -> None:
    law = laws(file)[place]
    instants = tuple(range(law.begin, law.ticks[-1] + 1))
    on = bench(file, place, instants if form.single else None)
    assert [] == on.run(written(law, on.plan, form, every=True))


@pytest.mark.parametrize(("file", "place"), LAWS)
def test_what_it_gives_is_what_the_definition_says(file: str, place: int) -> None:
    of = rule(file, place)
    if of is not None:
        assert of.gives == of.defined()
        return
    on = bench(file, place)
    defined = on.defined()
    if defined is not None:
        assert on.gives == defined, f"the definition gives\n{define.shown(defined)}"


@pytest.mark.parametrize(("file", "place", "title"), all_broken())
def test_a_mutation_is_noticed(file: str, place: int, title: str) -> None:
    mutated = broken(file, place)[title].applied(statements(file, place))
    try:
        noticed = run(file, place, mutated)
    except duckdb.Error as error:
        noticed = [str(error)]
    why = reason(laws(file)[place], title)
    if why is None:
        assert noticed, f"nothing shows: {title}"
    else:
        assert [] == noticed, f"it shows, though {why}"


@pytest.mark.parametrize("file", blocks.FILES)
def test_there_are_mutations_enough(file: str) -> None:
    counted: Counter[str] = Counter()
    for place, law in enumerate(laws(file)):
        titles = broken(file, place)
        counted[law.operator] += sum(reason(law, title) is None for title in titles)
        for name in law.same:
            assert any(_is_listed(name, title) for title in titles), f"there is no {name}"
    assert {} == {operator: number for operator, number in counted.items() if number < 6}


def test_every_operator_has_a_law() -> None:
    known = {one.operator.__name__ for found in ALTERNATIVES.values() for one in found}
    shown = {law.operator for file in blocks.FILES for law in blocks.read(file)}
    assert known | {"AtBoundaries", *pending.RULES} == shown
