-- title: one term for each input: standing left of it, alive right of it
SELECT s.v, t.w FROM s [RANGE 10] JOIN t [RANGE 5] ON s.k = t.k
----
project(binary-join(seq-window(stream(s)), seq-window(stream(t))))
a0bcc1aa1875bef6

-- title: USING merges the columns
SELECT k, v, w FROM s [ROWS 2] JOIN t [RANGE 5] USING (k)
----
project(binary-join(seq-window(stream(s)), seq-window(stream(t))))
6dcea374b916cbf4

-- title: unbounded on both sides: nothing ends, so the changes are insertions
SELECT s.v, t.w FROM s JOIN t ON s.k = t.k
----
i-stream(project(binary-join(seq-window(stream(s)), seq-window(stream(t)))))
d03008bda0cad3a5

-- title: a comma and WHERE are a join, a condition on one side included
SELECT s.v FROM s [NOW], t [RANGE 5] WHERE s.k = t.k AND t.w > 0
----
project(binary-join(seq-window(stream(s)), seq-window(stream(t))))
505d8d6cc0017a8f
