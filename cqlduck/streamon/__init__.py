"""StreaMon: which options run at points of choice, measured while ticks run.

As in the paper, there are three parts: a **profiler** counts the seconds and rows of ticks, a
**re-optimizer** proposes options from the counts, an **executor** puts them into force. No option
changes an answer, so all of this is about time alone.

**A point** is a place where several options compute the same: of an operator of a query, of a
query, of a stream, or of the database. `points` has all of them. If the best option of a point
depends on the size of a tick, there is a choice for each range of sizes (`ticks`). A point begins
to exist when a tick first reaches it. Its first option is the default, unless the re-optimizer's
policy names another. The views `cql.points` and `cql.plan_log` show the choices, who made them,
since which tick and why.

**When.** A choice is made when a tick is about to reach the point, between two ticks of the same
query, inside the tick's transaction. A rollback of the tick undoes the choice and its row in the
log. Choices are rows of the database, and still stand when it is opened again. So is what the
policies of modelled points have found (`modelled`), which choice waits to be confirmed
(`confirming`), what was decided there (`regions`), and what that has cost and brought (`ledger`).
*Measurements* belong to one plan: a query that is planned anew begins without any.

**How.** Before a tick the executor asks, in this order: the user (`StreaMon.pin`), the
re-optimizer's proposal, the standing option. A proposal is a *trial*, which runs once to be
measured and changes nothing, or a *switch*, which is written and logged. `trials` is the policy for
points whose cost has no model: it runs each option, selects the faster one, and runs the others
again now and then. Where to run an option takes a fill, it is rehearsed (`answering`). Other
policies are added in `reoptimizer`.

**The budget.** Counting, and running options again, take at most a stated share of the time of
ticks (`budget`). The first trials of an option are beyond the budget; their number is bounded by
`trials.TRIALS` and one more for each option, and is smaller if the difference is clear. A trial is
one tick, but seven where another number of threads is tried (`threads`). Where the budget does not
afford to count all queries of a tick, their weights say whose turn it is (`turns`).

Of queries of which nothing has changed for long, few ticks are looked at (`resting`).

Every policy answers the same three questions (`policy`): before a tick what it would `propose` and
what it `wants` profiled, after the tick what it `saw`.

The imports inside the package go one way: `streamon` (what the engine calls) → `sites`,
`answers`, `resting` → `executor` → `reoptimizer` → `answering`, `filters`, `stages`, `threads` →
`ordering` → `confirming` → `policy` → `trials` → `profiler` → `budget`, `decisions`, `ledger`,
`noise`, `points`, `regions`, `turns`.
"""
