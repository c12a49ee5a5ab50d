"""An operator says what it is: id, kind, inputs, synopses, deltas, upkeep and points of choice."""

from __future__ import annotations

import itertools

import pytest
import test_content
from sqlglot import exp

import cqlduck
from cqlduck.rewrite.physical.form import Form
from cqlduck.rewrite.physical.operator import Operator
from cqlduck.rewrite.plan import Plan, unique
from cqlduck.rewrite.statements.choose import writer_of

FORMS = [Form(single, staged) for single, staged in itertools.product((False, True), repeat=2)]


def operators(con: cqlduck.Connection, cql: str, form: Form) -> list[Operator[Plan]]:
    plan = con.engine.compile("q", cql).plan
    writer = writer_of("q", plan, con.engine.clock, form)
    return [writer.operator(node) for node in unique(plan)]  # type: ignore[misc]


@pytest.fixture
def inputs(con: cqlduck.Connection) -> cqlduck.Connection:
    con.execute(test_content.INPUTS)
    return con


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_statements_are_those_of_operators(inputs: cqlduck.Connection, form: Form) -> None:
    """Upkeep writes the operator's own synopses, and reads these and temporary tables alone."""
    count = 0
    for cql in test_content.QUERIES.values():
        found = operators(inputs, cql, form)
        writer = found[0].writer
        assert len(writer.statements) == sum(len(one.deltas) for one in found)
        assert len(writer.updates) == sum(len(one.upkeep) for one in found)
        for one in found:
            own = {synopsis.name for synopsis in one.synopses}
            for statement in one.upkeep:
                tables = list(statement.tree.find_all(exp.Table))
                assert {t.name for t in tables if t.db == "cql_state"} <= own
                assert isinstance(statement.tree, (exp.Insert, exp.Delete))
                count += 1
    assert count > 20


def test_what_an_operator_is(inputs: cqlduck.Connection) -> None:
    cql = "SELECT k, sum(w) AS x FROM u [RANGE 6] JOIN s [RANGE 3] USING (k) GROUP BY k"
    con = inputs
    con.execute(f"CREATE CONTINUOUS QUERY q AS {cql}")
    found = operators(con, cql, Form(staged=True))
    rows = con.sql("SELECT id, kind, inputs FROM cql.operators ORDER BY number").fetchall()
    assert rows == [
        (one.id, one.kind, [one.writer.operator(node).id for node in one.inputs])  # type: ignore[attr-defined]
        for one in found
    ]
    (aggregate,) = (one for one in found if one.kind == "aggregate")
    assert ["groups"] == [synopsis.kind for synopsis in aggregate.synopses]
    assert aggregate.properties.has_unit_weights
    assert {"stages"} == set().union(*(one.points for one in found))
