"""StreaMon: which options run at points of choice, measured while ticks run.

After the paper of that name there are three: a **profiler** counts what ticks take, a
**re-optimizer** proposes options from what was counted, an **executor** puts them into force. No
option changes an answer, so all of this is about time alone.

**A point** is a place where several options do the same: of an operator of a query, of a query, of
a stream, or of the database. `points` has all of them. A point whose best option depends on how
large a tick is has several lives, told apart by the `ticks` that they are for; each is chosen
alone. A point begins to exist when a tick comes to it. Its first option is the default, unless the
re-optimizer has a rule. The tables `cql.points` and `cql.plan_log` show what is chosen, who chose
it, since which tick and why.

**When.** A choice is made when a tick is about to come to the point, between two ticks of the same
query, inside the tick's transaction. A tick that is undone undoes the choice and its row in the
log. What was chosen is rows of the database, and stands when it is opened again. What was
*measured* is of one plan: a query that is planned anew begins anew.

**How.** Before a tick the executor asks, in this order: what does a user want (`StreaMon.force`),
what does the re-optimizer propose, what stands. A proposal is a *trial*, which runs once to be
measured and changes nothing, or a *switch*, which is written and logged. `tried` is the policy for
points whose cost nobody can say beforehand: to run each option, to keep the faster one, and to look
at the others again now and then. Other policies take their place in `reoptimizer`.

**The budget.** Counting, and looking at options again, take at most `budget.SHARE` of the time of
ticks. To learn of an option that has never run is beyond it, and is bounded otherwise: by
`tried.TRIALS` and one more run of each option, and fewer where the difference is clear.

The parts of the package know each other from above only: `streamon` (what the engine asks) →
`executor` → `reoptimizer` → `stages`, `threads` → `tried` → `profiler` → `budget`, `points`.
"""
