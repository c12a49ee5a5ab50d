-- What people look at. Instants are text, because a database has one kind of time or the other.
-- They are bound when they are read: to bind all of them took longer than all else in opening.

-- A tick writes what moves in one row, its own; these show it in its place.

CREATE OR REPLACE VIEW cql_state.inputs WITH (DEFER_BINDING) AS
SELECT r.* REPLACE (
    CASE WHEN m.moved IS NULL THEN r.heartbeat ELSE m.moved[2] END AS heartbeat,
    CASE WHEN m.moved IS NULL THEN r.first_instant ELSE m.moved[3] END AS first_instant,
    CASE WHEN m.moved IS NULL THEN r.last_raw ELSE m.moved[4] END AS last_raw,
    CASE WHEN m.moved IS NULL THEN r.last_instant ELSE m.moved[5] END AS last_instant,
    CASE WHEN m.moved IS NULL THEN r.forgotten ELSE m.moved[6] END AS forgotten,
    CASE WHEN m.moved IS NULL THEN r.next_seq ELSE m.moved[7] END AS next_seq,
    CASE WHEN m.moved IS NULL THEN r.next_batch ELSE m.moved[8] END AS next_batch,
    CASE WHEN m.moved IS NULL THEN r.taken_batch ELSE m.moved[9] END AS taken_batch,
    CASE WHEN m.moved IS NULL THEN r.taken_rows ELSE m.moved[10] END AS taken_rows
)
FROM cql_state.input_rows AS r
LEFT JOIN (
    SELECT t.number, unnest(t.inputs) AS moved
    FROM cql_state.ticks AS t
    WHERE t.number = (SELECT max(number) FROM cql_state.ticks)
) AS m ON m.moved[1] = r.position AND m.number > r.as_of;
COMMENT ON VIEW cql_state.inputs IS 'Streams and relations, with their heartbeats; instants are numbers here.';

CREATE OR REPLACE VIEW cql_state.moved_queries WITH (DEFER_BINDING) AS
SELECT r.* REPLACE (
    CASE WHEN m.moved IS NULL THEN r.begin_instant ELSE m.moved[2] END AS begin_instant,
    CASE WHEN m.moved IS NULL THEN r.frontier ELSE m.moved[3] END AS frontier,
    CASE WHEN m.moved IS NULL THEN r.answer_instant ELSE m.moved[4] END AS answer_instant,
    CASE WHEN m.moved IS NULL THEN r.history_from ELSE m.moved[5] END AS history_from,
    CASE WHEN m.moved IS NULL THEN r.promised ELSE m.moved[6] END AS promised
)
FROM cql_state.query_rows AS r
LEFT JOIN (
    SELECT t.number, unnest(t.queries_at) AS moved
    FROM cql_state.ticks AS t
    WHERE t.number = (SELECT max(number) FROM cql_state.ticks)
) AS m ON m.moved[1] = r.position AND m.number > r.as_of;
COMMENT ON VIEW cql_state.moved_queries IS 'Continuous queries and families, with their frontiers; of members that are active these stand with their families.';

CREATE OR REPLACE VIEW cql_state.queries WITH (DEFER_BINDING) AS
SELECT q.* REPLACE (
    CASE
        WHEN q.merged_at IS NOT NULL THEN q.begin_instant
        WHEN f.name IS NULL OR q.since IS NULL THEN coalesce(f.begin_instant, q.begin_instant)
        -- greatest() ignores NULL: the family has not begun
        WHEN f.begin_instant IS NOT NULL AND f.frontier > q.since THEN greatest(f.begin_instant, q.since + 1)
    END AS begin_instant,
    CASE
        WHEN f.name IS NULL THEN q.frontier
        WHEN f.frontier IS NULL OR f.frontier < q.since THEN q.since
        ELSE f.frontier
    END AS frontier,
    CASE
        -- as long as it has a log of its own
        WHEN f.name IS NULL OR q.merged_at >= coalesce(f.history_from, q.merged_at) THEN q.history_from
        WHEN q.since IS NULL OR f.history_from > q.since THEN f.history_from
    END AS history_from,
    CASE WHEN f.name IS NULL THEN q.backfill_from ELSE f.backfill_from END AS backfill_from,
    CASE WHEN f.name IS NULL THEN q.backfill_to ELSE f.backfill_to END AS backfill_to
)
FROM cql_state.moved_queries AS q
LEFT JOIN cql_state.moved_queries AS f ON f.name = q.family AND q.state = 'active';
COMMENT ON VIEW cql_state.queries IS 'Continuous queries and families, with their frontiers.';

CREATE OR REPLACE VIEW cql.functions WITH (DEFER_BINDING) AS
SELECT f.name, f.parameters, f.return_type, f.type, f.null_handling, f.exception_handling, f.digest
FROM cql_state.functions AS f
ORDER BY lower(f.name);
COMMENT ON VIEW cql.functions IS 'One row a function of Python that queries may call. The function itself belongs to the process: until it is registered again, queries that call it wait.';

CREATE OR REPLACE VIEW cql.streams WITH (DEFER_BINDING) AS
SELECT
    i.name,
    i.column_names AS columns,
    i.column_types AS types,
    i.timestamp_by,
    i.bound_text AS out_of_order_within,
    i.late,
    i.ahead_text AS ahead_at_most,
    i.source AS folder,
    cql_state.shown(i.heartbeat) AS heartbeat,
    cql_state.shown(i.first_instant) AS first_element,
    cql_state.shown(i.last_instant) AS last_element,
    i.next_seq AS elements,
    i.next_batch,
    i.waiting_for
FROM cql_state.inputs AS i
WHERE i.kind = 'stream'
ORDER BY i.position;
COMMENT ON VIEW cql.streams IS 'One row a stream: its columns, its heartbeat, and the number of its elements. waiting_for says why following its folder waits.';

CREATE OR REPLACE VIEW cql.relations WITH (DEFER_BINDING) AS
SELECT
    i.name,
    i.column_names AS columns,
    i.column_types AS types,
    i.primary_key,
    i.source AS folder,
    i.query,
    cql_state.shown(i.heartbeat) AS heartbeat,
    CASE
        WHEN i.first_instant IS NULL AND i.next_seq > 0 THEN 'the beginning of time'
        ELSE cql_state.shown(i.first_instant)
    END AS first_element,
    CASE
        WHEN i.last_instant IS NULL AND i.next_seq > 0 THEN 'the beginning of time'
        ELSE cql_state.shown(i.last_instant)
    END AS last_element,
    i.next_seq AS elements,
    i.next_batch,
    i.waiting_for
FROM cql_state.inputs AS i
WHERE i.kind = 'relation' AND i.family IS NULL
ORDER BY i.position;
COMMENT ON VIEW cql.relations IS 'One row a relation: its columns, its heartbeat, and the number of its elements, which are insertions and deletions, and count without an effect too. query is the query that REFRESH RELATION runs. first_element and last_element are the instants of the first and last elements that have one. waiting_for says why following its folder waits.';

CREATE OR REPLACE VIEW cql.queries WITH (DEFER_BINDING) AS
SELECT
    q.name,
    q.kind,
    q.state,
    cql_state.shown(q.begin_instant) AS began,
    cql_state.shown(coalesce(q.promised, q.frontier)) AS frontier,
    q.inputs,
    q.column_names AS columns,
    q.column_types AS types,
    q.keep,
    q.error,
    q.body AS query,
    q.family,
    q.weight,
    cql_state.shown(q.frontier) AS answer_instant,
    CASE WHEN q.is_deferred THEN 'later' END AS read,
    CASE
        WHEN q.complete_from IS NULL THEN 'never'
        WHEN q.complete_from = -9223372036854775806 THEN 'with its rows'
        ELSE cql_state.shown(
            CASE
                WHEN q.complete_from > greatest(coalesce(q.since + 1, -9223372036854775806), -9223372036854775806)
                    THEN q.complete_from
            END
        )
    END AS complete_from,
    CASE
        WHEN q.backfill_to IS NOT NULL THEN least(
            coalesce(
                (q.frontier - coalesce(q.backfill_from, q.begin_instant))
                    / greatest(q.backfill_to - coalesce(q.backfill_from, q.begin_instant), 1),
                0
            ),
            1
        )
    END AS backfilled
FROM cql_state.queries AS q
WHERE q.shape IS NULL
ORDER BY q.position;
COMMENT ON VIEW cql.queries IS 'One row a continuous query: what it yields, whether it is active, and the frontier up to which its answer is final. Queries of one family are computed by one plan, which differs from them in constants alone. weight is how important a query is beside the others. One that is read later is answered when somebody reads it: its view shows the answer at answer_instant, and a read by cqlduck that at the frontier; of others both are equal. From complete_from on a query says what it would if it had been there for ever, as it had less of its streams than came; NULL if it does so from its first instant on, never if it lacks something for good, with its rows if windows of n rows have to get as many first. backfilled is which share of its way a query has gone that is behind the others.';

CREATE OR REPLACE VIEW cql.operators WITH (DEFER_BINDING) AS
SELECT
    q.name AS query,
    o.number,
    o.parent,
    o.kind,
    o.description,
    o.id,
    o.inputs,
    o.sql
FROM cql_state.operators AS o
JOIN cql_state.queries AS q ON coalesce(q.family, q.name) = o.query
WHERE q.shape IS NULL
ORDER BY q.position, o.number;
COMMENT ON VIEW cql.operators IS 'One row an operator of a plan, in the words of the STREAM papers, with the SQL that a tick runs for it. id says what it computes, whatever its columns are called: equal operators of different queries have the same id; inputs are the ids of its inputs.';

-- These name the tables of what is registered. cqlduck makes them anew when that changes
-- (cqlduck.state.inspection); here they are made for the views that read them.

CREATE VIEW IF NOT EXISTS cql_state.synopsis_rows WITH (DEFER_BINDING) AS
SELECT CAST(NULL AS VARCHAR) AS table_name, CAST(NULL AS BIGINT) AS row_count
WHERE false;

CREATE VIEW IF NOT EXISTS cql_state.store_rows WITH (DEFER_BINDING) AS
SELECT
    CAST(NULL AS VARCHAR) AS input,
    CAST(NULL AS VARCHAR) AS table_name,
    CAST(NULL AS BIGINT) AS row_count,
    CAST(NULL AS BIGINT) AS first_instant,
    CAST(NULL AS BIGINT) AS last_instant
WHERE false;

CREATE VIEW IF NOT EXISTS cql_state.bases WITH (DEFER_BINDING) AS
SELECT
    CAST(NULL AS VARCHAR) AS query,
    CAST(NULL AS VARCHAR) AS table_name,
    CAST(NULL AS BIGINT) AS row_count,
    CAST(NULL AS BIGINT) AS instant
WHERE false;

CREATE OR REPLACE VIEW cql.synopses WITH (DEFER_BINDING) AS
SELECT
    s.query,
    s.operator,
    s.kind,
    'cql_state."' || replace(s.table_name, '"', '""') || '"' AS table_name,
    r.row_count
FROM cql_state.synopses AS s
JOIN cql_state.synopsis_rows AS r ON r.table_name = s.table_name
ORDER BY s.query, s.operator, s.kind;
COMMENT ON VIEW cql.synopses IS 'One row a synopsis: the state that an operator keeps between ticks. groups: sums of each group; outliers: doubles that are summed anew; rows: the content of a ROWS window; trace: the log of a materialized input; counts: how often each tuple is in each input; content and panes: of queries that change at boundaries alone; cache: the combinations of some inputs of a join; keys: the keys that a partial cache knows.';

-- Who needs what of a store: its readers, whoever is registered next, and inputs without a heartbeat;
-- of a base its readers.

CREATE OR REPLACE VIEW cql_state.holders WITH (DEFER_BINDING) AS
SELECT
    s.input,
    s.query,
    CASE WHEN i.late = 'AMEND' THEN q.since + 1 ELSE q.frontier - s.reach END AS back_to,
    CASE
        WHEN i.late = 'AMEND' THEN 'late elements have it worked out again (LATE AMEND)'
        WHEN s.reach IS NULL THEN 'windows without bound'
        WHEN s.reach = 0 THEN 'what comes after its frontier'
        ELSE 'windows that look back ' || cql_state.lasting(s.reach) || ' from its frontier'
    END || CASE q.state WHEN 'active' THEN '' ELSE ', and it stands still (' || q.state || ')' END
        AS why
FROM cql_state.stubs AS s
JOIN cql_state.queries AS q ON q.name = s.query AND q.state <> 'expired'
JOIN cql_state.inputs AS i ON i.name = s.input
UNION ALL
SELECT i.name, NULL, least_beat.heartbeat + 1, 'a query that is registered next'
FROM cql_state.inputs AS i,
    (
        SELECT min(heartbeat) AS heartbeat
        FROM cql_state.inputs
        WHERE family IS NULL
        HAVING count(heartbeat) = count(*)
    ) AS least_beat
UNION ALL
SELECT i.name, NULL, NULL, other.name || ' has no heartbeat yet'
FROM cql_state.inputs AS i, cql_state.inputs AS other
WHERE other.heartbeat IS NULL AND other.family IS NULL
UNION ALL
SELECT q.name, r.name, NULL,
    'reads it, and the log after it'
    || CASE r.state WHEN 'active' THEN '' ELSE ', and it stands still (' || r.state || ')' END
FROM (SELECT name, state, unnest(inputs) AS input FROM cql_state.query_rows WHERE shape IS NULL) AS r
JOIN cql_state.query_rows AS q ON q.name = r.input AND q.kind = 'relation';
COMMENT ON VIEW cql_state.holders IS 'For each store the queries and other readers that need its elements: from which instant on (NULL: all of them), and why. query is NULL for other readers.';

CREATE OR REPLACE VIEW cql.stores WITH (DEFER_BINDING) AS
SELECT
    s.name,
    s.kind,
    'cql_state."' || replace(s.table_name, '"', '""') || '"' AS table_name,
    s.row_count,
    cql_state.shown(s.first_instant) AS first_instant,
    cql_state.shown(s.last_instant) AS last_instant,
    cql_state.shown(s.forgotten) AS forgotten_until,
    h.held_by
FROM (
    SELECT
        i.position, i.name, i.kind, r.table_name, r.row_count, r.first_instant, r.last_instant,
        i.forgotten
    FROM cql_state.inputs AS i
    JOIN cql_state.store_rows AS r ON r.input = i.name
    UNION ALL
    SELECT q.position, q.name, 'base', b.table_name, b.row_count, b.instant, b.instant, NULL
    FROM cql_state.query_rows AS q
    JOIN cql_state.bases AS b ON b.query = q.name
) AS s
LEFT JOIN (
    SELECT
        input,
        list(struct_pack(query := query, back_to := cql_state.shown(back_to), why := why)
            ORDER BY back_to NULLS FIRST, query NULLS LAST, why) AS held_by
    FROM cql_state.holders
    GROUP BY input
) AS h ON h.input = s.name
ORDER BY s.position;
COMMENT ON VIEW cql.stores IS 'One row a store: the elements of a stream or relation, stored once for all queries; windows are positions in it. And one row (kind base) a query that yields a relation and that others read: its answer at an earlier instant, stored once for all of these, so that they read less of its log; without rows as long as they read the whole log. How many rows it has, of which instants, and why: held_by lists, the one that needs most first, each query that needs the store, from which instant on (NULL: all of it) and why; query is NULL for other readers.';

CREATE OR REPLACE VIEW cql.queues WITH (DEFER_BINDING) AS
SELECT
    i.name AS input,
    q.name AS query,
    cql_state.shown(q.frontier) AS read_until,
    cql_state.shown(i.heartbeat) AS complete_until,
    cql_state.shown(i.last_instant) AS last_element
FROM cql_state.queries AS q
JOIN cql_state.inputs AS i ON list_contains(q.inputs, i.name)
WHERE q.shape IS NULL
ORDER BY q.position, i.position;
COMMENT ON VIEW cql.queues IS 'One row for each input of each query: how far the query has read it, and how far it is complete.';

CREATE OR REPLACE VIEW cql.caches WITH (DEFER_BINDING) AS
SELECT
    query,
    operator,
    regexp_replace(
        replace(regexp_extract(table_name, '_of_([0-9_]+(_at_[0-9_]+_in_[0-9]+)?)_cache"$', 1), '_', '+'),
        '\+at\+(.*)\+in\+', '@\1:'
    ) AS inputs,
    table_name,
    row_count
FROM cql.synopses
WHERE kind = 'cache';
COMMENT ON VIEW cql.caches IS 'One row a cache of a join: the combinations of some of its inputs, counted from 1 as EXPLAIN shows them, with their lifetimes; of a partial cache, such as 2+3@1:64, those of the keys that tuples of an input have asked for, 64 at most and what one tick asks for. StreaMon makes and drops them between ticks, as the point caches says.';

CREATE OR REPLACE VIEW cql.points WITH (DEFER_BINDING) AS
SELECT
    c.point,
    c.owner,
    c.operator,
    c.ticks,
    c.option,
    c.options,
    c.seconds,
    c.chosen_by,
    c.since,
    c.input + 1 AS input
FROM cql_state.choices AS c
ORDER BY
    c.owner NULLS FIRST, c.point, c.operator NULLS FIRST, c.input NULLS FIRST, c.ticks NULLS FIRST;
COMMENT ON VIEW cql.points IS 'One row a point of choice that ticks have reached: the options, the one that stands, and the seconds that a tick took with each when it was chosen, if they were measured. No option changes an answer. owner is the query or stream, NULL for the database; operator is its number in cql.operators; ticks says for which sizes of ticks the choice is. chosen_by is default, measured or user; since is the number of the first tick with the choice. Of filters an option is written, or their order by number as in EXPLAIN, and the seconds are those of the statements with the filters for one element.';

CREATE OR REPLACE VIEW cql.plan_log WITH (DEFER_BINDING) AS
SELECT
    l.number,
    l.tick,
    cql_state.shown(l.instant) AS instant,
    l.point,
    l.owner,
    l.operator,
    l.ticks,
    l.from_option,
    l.to_option,
    l.chosen_by,
    l.reason,
    l.from_seconds,
    l.to_seconds,
    l.input + 1 AS input
FROM cql_state.plan_log AS l
ORDER BY l.number;
COMMENT ON VIEW cql.plan_log IS 'The last changes of choices, in order: before which tick, and after which instant of the query; from which option to which; who chose it (measured or user) and why; and the seconds that a tick took with each, if they were measured.';

CREATE OR REPLACE VIEW cql.observations WITH (DEFER_BINDING) AS
SELECT
    o.number,
    o.tick,
    cql_state.shown(o.instant) AS instant,
    o.point,
    o.owner,
    o.operator,
    o.input + 1 AS input,
    o.statistics,
    o.option,
    o.outcome,
    o.before,
    o.expected,
    o.measured,
    map_from_entries(list_zip(o.options, o.costs)) AS costs
FROM cql_state.observations AS o
ORDER BY o.number;
COMMENT ON VIEW cql.observations IS 'What the re-optimizer decided at points of choice whose options are modelled, in order: under which statistics (all about 0 to 1: which part of all tuples each filter or input drops; then the part of the time that each filter takes, or how many rows there are, as a logarithm), which option it picked, and what became of it: stays is one that stood, little to gain the same where another one is better by too little, confirmed and taken back are of new ones, when ticks had measured them. before, expected and measured are seconds for an element with the option before, and with this one as modelled and as measured; NULL where that was not measured. costs is what options cost by the model: seconds for a tuple (filters), rows for a tuple (order), seconds for a tick (caches). At most some 256 rows a point; of older ones every second is deleted from time to time.';

CREATE OR REPLACE VIEW cql.adaptivity WITH (DEFER_BINDING) AS
WITH compared AS (
    -- what an option cost wherever it was compared, and what was picked there
    SELECT
        n.number,
        n.point,
        n.owner,
        n.operator,
        n.ticks,
        n.input,
        unnest(n.options) AS option,
        unnest(n.costs) AS cost,
        n.costs[list_position(n.options, n.option)] AS picked
    FROM cql_state.observations AS n
),
singles AS (
    SELECT
        point,
        owner,
        operator,
        ticks,
        input,
        option,
        avg(cost) AS best_cost,
        avg(picked) AS picked_cost,
        count(*) AS decisions
    FROM compared
    GROUP BY ALL
),
best AS (
    -- compared with what was picked in the same decisions; not by a few of them alone
    SELECT * FROM (
        SELECT
            *,
            max(decisions) OVER (PARTITION BY point, owner, operator, ticks, input) AS most
        FROM singles
        WHERE picked_cost > 0
    )
    WHERE 2 * decisions >= most
    QUALIFY row_number() OVER (
        PARTITION BY point, owner, operator, ticks, input
        ORDER BY best_cost / picked_cost, decisions DESC, option
    ) = 1
),
tried AS (
    SELECT
        point,
        owner,
        operator,
        ticks,
        input,
        list_zip(options, seconds).list_filter(lambda one: one[2] IS NOT NULL)
            .list_sort('ASC') AS known,
        option,
        chosen_by
    FROM cql_state.choices
),
last_tick AS (
    SELECT coalesce(max(number), 0) // 128 AS block FROM cql_state.ticks
)
SELECT
    a.owner,
    a.point,
    a.operator,
    a.input + 1 AS input,
    a.ticks,
    c.option,
    c.chosen_by,
    a.probes,
    a.trials,
    a.fills,
    a.probe_seconds,
    greatest(a.trial_seconds, 0) AS trial_seconds,
    a.fill_seconds,
    a.switches,
    a.returned AS taken_back,
    a.expected AS expected_savings,
    a.measured AS measured_savings,
    greatest(
        CASE WHEN a.block = l.block THEN a.last_cost ELSE 0 END
        + CASE WHEN a.block >= l.block - 1 THEN a.block_cost ELSE 0 END,
        0
    ) AS last_seconds,
    list_sum(list_filter([
        CASE WHEN a.block = l.block THEN a.last_expected END,
        CASE WHEN a.block >= l.block - 1 THEN a.block_expected END
    ], lambda saved: saved IS NOT NULL)) AS last_expected_savings,
    list_sum(list_filter([
        CASE WHEN a.block = l.block THEN a.last_measured END,
        CASE WHEN a.block >= l.block - 1 THEN a.block_measured END
    ], lambda saved: saved IS NOT NULL)) AS last_measured_savings,
    b.option AS best_option,
    b.best_cost,
    b.picked_cost
FROM cql_state.accounts AS a
CROSS JOIN last_tick AS l
LEFT JOIN tried AS c
    ON
        c.point = a.point
        AND c.owner IS NOT DISTINCT FROM a.owner
        AND c.operator IS NOT DISTINCT FROM a.operator
        AND c.ticks IS NOT DISTINCT FROM a.ticks
        AND c.input IS NOT DISTINCT FROM a.input
LEFT JOIN best AS b
    ON
        b.point = a.point
        AND b.owner IS NOT DISTINCT FROM a.owner
        AND b.operator IS NOT DISTINCT FROM a.operator
        AND b.ticks IS NOT DISTINCT FROM a.ticks
        AND b.input IS NOT DISTINCT FROM a.input
ORDER BY a.owner NULLS FIRST, a.point, a.operator NULLS FIRST, a.input NULLS FIRST, a.ticks;
COMMENT ON VIEW cql.adaptivity IS 'Whether adaptivity pays: one row a point of choice where something was measured. Costs: how many probes and trials of other options ran, how often a cache was filled, and the seconds that these took; of a trial those by which it took longer than what stands. Gains: how many switches there were because of what was measured, how many of them were taken back, and the seconds that they were expected to save, and saved as measured: the difference of what an element took in the ticks before and after the switch, or a tick where options are tried, times those since, until the next switch. NULL where nothing was measured, less than 0 where a switch cost time. The columns last_… are the same of the last 128 to 255 ticks. best_option is the best single option in hindsight: of those that were compared in half of the decisions of cql.observations or more the one with the least mean cost by the model; picked_cost is the mean cost of what was picked in the same decisions. Costs are seconds for a tuple (filters), rows for a tuple (order), seconds for a tick (caches); NULL where nothing was compared.';

CREATE OR REPLACE VIEW cql.late WITH (DEFER_BINDING) AS
SELECT
    l.input,
    cql_state.shown(l.instant) AS instant,
    l.reason,
    l.occurrences,
    l.element
FROM cql_state.late AS l
UNION ALL
SELECT owner, NULL, reason, amount, NULL
FROM cql_state.cut_records
WHERE kind = 'late';
COMMENT ON VIEW cql.late IS 'Elements that were late, or too far ahead (AHEAD AT MOST); that were after a heartbeat that was lowered; or that retracted a tuple that was not there. With the reason, and the number of occurrences. The newest of each input (the setting records); older ones are one row for each reason, without instant and element.';

CREATE OR REPLACE VIEW cql.corrections WITH (DEFER_BINDING) AS
SELECT
    c.query,
    cql_state.shown(c.instant) AS instant,
    c.element,
    c.weight,
    c.published
FROM cql_state.corrections AS c
UNION ALL
SELECT owner, NULL, NULL, amount, CAST(reason AS BOOLEAN)
FROM cql_state.cut_records
WHERE kind = 'corrections';
COMMENT ON VIEW cql.corrections IS 'The elements of a query that correct its answer after late elements of a stream with LATE AMEND. One that is not published belongs to a stream, which cannot delete: with a negative weight it should not have been published, with a positive one it should after all. The newest of each query (the setting records); older ones are one row with the sum of their weights, without instant and element.';

CREATE OR REPLACE VIEW cql.batches WITH (DEFER_BINDING) AS
SELECT
    b.input,
    b.batch,
    b.row_count,
    b.state,
    b.reason
FROM (
    SELECT name AS input, taken_batch AS batch, taken_rows AS row_count, 'taken' AS state, NULL AS reason
    FROM cql_state.inputs
    WHERE taken_batch IS NOT NULL
    UNION ALL
    SELECT input, batch, row_count, 'quarantined', reason
    FROM cql_state.quarantined
    UNION ALL
    SELECT owner, NULL, amount, 'quarantined', records || ' batches before these'
    FROM cql_state.cut_records
    WHERE kind = 'quarantined'
) AS b
ORDER BY b.input, b.batch;
COMMENT ON VIEW cql.batches IS 'For each folder of the drop zone the last batch that was consumed, and the quarantined ones with the reason: the newest (the setting records), and one row for older ones.';

CREATE OR REPLACE VIEW cql.ticks WITH (DEFER_BINDING) AS
SELECT
    t.number,
    cql_state.shown(t.from_instant) AS after,
    cql_state.shown(t.to_instant) AS until,
    t.queries,
    t.elements,
    t.seconds
FROM cql_state.ticks AS t
ORDER BY t.number;
COMMENT ON VIEW cql.ticks IS 'The last ticks: the instants that each covered, the elements that it wrote, and its seconds.';
