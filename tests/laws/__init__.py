"""Laws: one file an operator, with its rule as SQL and the data that shows each part of it.

A block of `laws/<operator>.sql` is a head, a line `----`, and the statements that the operator
writes over named inputs. The head has a key a line, and what belongs to it indented below:

    -- law: what the operator is, as a formula or a sentence
    -- operator: the class that runs it
    -- node: the node of the plan, over the inputs by name (`plans`)
    -- means: SQL over {input} or {stream Window()}, for `reference`; optional
    -- asks: elements; or some of elements, lives, standing, alive, rows, answer
    -- form: single, staged, reduces, stepwise, intervals, or nothing for none; optional
    -- hides: kinds or purposes of statements that another block shows; optional
    -- within: k, j in SELECT x, y FROM lives_q (what stands need not have other tuples); optional
    -- l(k INTEGER, v BIGINT) has_unit_weights:
    --   1..4: (1, 2) (NULL, 3)
    -- stream s(k INTEGER):
    --   1: (1) 2(2)
    -- ticks: 3, 6
    -- gives:
    --   1: (1, 2)
    --   4: -(1, 2)
    -- kept counts:
    --   (1, 2, 7)
    -- same, the reason why what is below changes nothing:
    --   elements: the title of a mutation

What a block above has in lines of its own under the same key need not be said again: `as above`.
Inputs are a relation as lifetimes (`1..4` is from 1 up to before 4; `1` or `1..` has no end, as an
element), or a stream as elements. Behind the columns stands what holds of the input: names of
`Properties`, as `key={'k'}`. A number before a tuple is its weight; a semicolon
stands for a new line. `ticks` are the last instants
of ticks; the first tick begins with instant 0, or what stands at `begin`. `gives` are the net
elements at each instant: written by hand or by `define`, which asks `reference` for what `means`
comes to; where that is given, a test compares the two. `kept` is what a synopsis holds in the end.
No operator writes these. The SQL is written by `pytest --update-laws` (`make golden`), and a person
reads the diff.

In the statements an input l is these tables, with what the tick has of it (`inputs`):

    delta_l     the elements of the tick           lives_l    the lifetimes that begin or end in it
    l           the lifetimes that stand           alive_l    all that touch it
    s, of a stream: all elements, with `_cql_seq`, the number of the arrival

An operator that is a leaf itself reads what the catalogue has, and so does a window of several
lengths.

`bench` runs the statements tick by tick: deltas, what is asked, upkeep. `mutations` breaks them in
all ways there are, one at a time. A mutation counts when the block's own data notice it; of an
operator at least six count, in all of its blocks. One that changes nothing is listed under its
reason, by its title or the beginning of several before `…`; if the data notice it after all, the
test says so. If one survives that matters, the data have to get sharper.

To write one: the head with an empty `gives`; `PYTHONPATH=tests python -m laws.define FILE` for
what the definition gives; `pytest --update-laws tests/test_laws.py -k "files and FILE"` for the
SQL; then `pytest -n 0 --tb=line tests/test_laws.py -k FILE` until all is noticed.
"""
