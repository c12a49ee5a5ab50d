"""The delta rule of each operator: from the changes below, its own change in ($t0, $t1].

One tick covers many instants, and one statement gives the exact elements of each of them, because
the instant is a column. A node of the plan becomes an `Operator` (`statements.choose`: one table of
alternatives), which says four things of it:

* `elements`: its changes in the tick, as elements;
* `lives`: the same as lifetimes, of all tuples that come or go in the tick;
* `standing`: the lifetimes that cover $t0 and reach beyond $t1;
* `alive`: all lifetimes that touch the tick, which is `standing` and `lives` together.

State is read as it was before the tick: every table of elements is cut at $t0 by time, and
synopses that are updated in place are updated after the last statement that reads them.

Linear operators (filter, project, union all) answer by asking the same of their inputs. The join is
multilinear: its change is a sum of one term for each input. Each operator has a file of its own,
with its law in the docstring. The writer (`physical.writer`) takes the statements and synopses
that they write.

All of it is written in several forms (`physical.form`): for ticks of one instant and of many, and
with or without stages, which are temporary tables of what meets a large state. Streams are read by
names that mean the same wherever their rows lie (`physical.arrivals`).

Parameters: `$t0`, `$t1` the tick; `$low` is $t0, or the least BIGINT in a query's first tick, when
relations come in as they are; `$begin` the first instant of the query; `$since` the instant after
which stream elements count for it.
"""
