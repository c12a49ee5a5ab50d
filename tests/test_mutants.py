"""The list of broken delta rules is in step with the source, and the tests notice what it breaks.

`make mutants` runs all of them; here it is a few, one of each kind of rule.
"""

import mutants
import pytest

SAMPLE = (
    "a range is one instant short",
    "the weight is that of the last input",
    "a group of count 0 has a row",
)


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_about_the_source_as_it_is(mutant: mutants.Mutant) -> None:
    """A fragment that is not there exactly once is to be written anew, or the mutant dropped."""
    assert 1 == mutants.occurrences(mutant)
    assert mutant.old != mutant.new
    file, _, test = mutant.killer.partition("::")
    text = (mutants.ROOT / "tests" / file).read_text(encoding="utf-8")
    assert f"def {test}(" in text if test else text


def test_there_are_mutants_enough() -> None:
    assert 40 <= len({mutant.name for mutant in mutants.MUTANTS}) == len(mutants.MUTANTS)
    assert set(SAMPLE) <= {mutant.name for mutant in mutants.MUTANTS}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_is_noticed(name: str) -> None:
    (mutant,) = (mutant for mutant in mutants.MUTANTS if mutant.name == name)
    verdict = mutants.judge(mutant)
    assert verdict.killed_by is not None, f"{name} survives"
    assert mutant.killer in verdict.killed_by
