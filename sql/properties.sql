-- What can be set: of the database, and of each query, stream and relation.

CREATE OR REPLACE VIEW cql_state.property_kinds WITH (DEFER_BINDING) AS
SELECT *
FROM (
    VALUES
    -- settings of the connection
    ('database', 'adaptive', 'true', 'from the next tick',
        'Whether what is measured may change how ticks run. No answer depends on it.'),
    ('database', 'drop_zone', NULL, NULL,
        'The folder that FROM ''folder'' of a stream or relation is relative to.'),
    ('database', 'history', NULL, 'from the next tick',
        'How long the changes of queries are kept; without a value all are.'),
    ('database', 'max_tick', '2000000', 'from the next tick',
        'How many elements a tick takes in at most, unless one instant has more.'),
    ('database', 'memory_limit', NULL, NULL,
        'How much memory DuckDB may take.'),
    ('database', 'progress', NULL, NULL,
        'Whether long calls show a bar; without a value on a terminal and in a notebook.'),
    ('database', 'records', '10000', 'at once',
        'How many rows cql.late, cql.corrections and cql.batches keep of each input or query.'),
    ('database', 'sharing', 'true', 'for queries that are registered from then on',
        'Whether queries that differ in constants alone, or in nothing, are computed by one plan.'),
    ('database', 'standing', '1 day', 'from the next tick',
        'How long the inputs of a query that stands still are kept for it, or unbounded.'),
    ('database', 'strict', 'false', 'from the next tick',
        'Whether to retract what is not there is an error, rather than a row of cql.late.'),
    ('database', 'threads', NULL, NULL,
        'How many threads DuckDB has; without a value one for each core.'),
    ('database', 'trace', NULL, NULL,
        'A function that is called with the SQL statements of ticks, calls and reads before they run.'),
    ('database', 'unbounded', 'allow', 'for queries that are registered from then on',
        'With refuse, a query that would keep more with each element for ever is an error.'),
    ('database', 'variables', 'true', NULL,
        'Whether SQL may name data frames that are variables of the caller.'),
    -- settings of the database
    ('database', 'granularity', '00:00:00.000001', NULL,
        'How long an instant of wall-clock time is.'),
    ('database', 'instant', '00:00:01', NULL,
        'What an instant of integer time stands for.'),
    ('database', 'recompute', 'allow', NULL,
        'What becomes of a query that has no delta rule: allow, refuse or always.'),
    ('database', 'time', NULL, NULL,
        'The kind of time: integer or wall; without a value it is open.'),
    ('database', 'window_edge', 'closed', NULL,
        'Whether RANGE w at t is [t - w, t] (closed) or (t - w, t] (half_open).'),
    -- of queries
    ('query', 'active', 'true', 'from the next tick',
        'Whether the answer goes on; an inactive query stands still at its frontier.'),
    ('query', 'keep', NULL, 'from the next tick',
        'How long its changes are kept, or unbounded; without a value the setting history says it.'),
    ('query', 'read', NULL, 'from the next tick',
        'With later, it is answered when somebody reads it, and not in each tick.'),
    ('query', 'sharing', NULL, 'at once',
        'Whether it may be computed by one plan with others; without a value the setting sharing said it.'),
    ('query', 'weight', '1', 'from the next tick',
        'How important it is beside the others: with weight 2 its ticks are measured twice as often as with 1, where not all are.'),
    -- of streams
    ('stream', 'ahead_at_most', NULL, 'with the next rows',
        'How far ahead of all before it an element may be; without a value any distance.'),
    ('stream', 'folder', NULL, NULL,
        'The folder of the drop zone that it reads.'),
    ('stream', 'late', 'reject', 'with the next rows',
        'What becomes of late elements: reject, drop, keep or amend.'),
    ('stream', 'out_of_order_within', NULL, 'with the next rows',
        'How far behind an element may be; without a value elements come in order.'),
    ('stream', 'timestamp_by', NULL, NULL,
        'The column that has the timestamps.'),
    -- of relations
    ('relation', 'folder', NULL, NULL,
        'The folder of the drop zone that it reads.'),
    ('relation', 'primary_key', NULL, NULL,
        'The columns of its primary key.'),
    ('relation', 'query', NULL, NULL,
        'The query that REFRESH RELATION runs.')
) AS kinds (kind, name, default_value, changes, meaning);
COMMENT ON VIEW cql_state.property_kinds IS 'What can be set, or says how it was made, by kind of object. changes says from when on another value counts; NULL if it stays.';

CREATE OR REPLACE VIEW cql_state.property_values WITH (DEFER_BINDING) AS
SELECT 'database' AS kind, 0 AS position, CAST(NULL AS VARCHAR) AS owner, name, value
FROM cql_state.connection_settings
UNION ALL
SELECT
    'database', 0, NULL, name,
    CASE
        WHEN name IN ('granularity', 'instant')
            THEN CAST(to_microseconds(CAST(value AS BIGINT)) AS VARCHAR)
        ELSE value
    END
FROM cql_state.settings
WHERE name <> 'schema_version'
UNION ALL
SELECT 'database', 0, NULL, 'time', NULL
WHERE NOT EXISTS (SELECT 1 FROM cql_state.settings WHERE name = 'time')
UNION ALL
SELECT
    'query', position, name,
    unnest(['active', 'keep', 'read', 'sharing', 'weight']),
    unnest([
        CAST(state = 'active' OR state LIKE 'waits %' AS VARCHAR),
        keep,
        CASE WHEN is_deferred THEN 'later' END,
        CAST(sharing AS VARCHAR),
        regexp_replace(CAST(weight AS VARCHAR), '\.0$', '')
    ])
FROM cql_state.queries
WHERE shape IS NULL
UNION ALL
SELECT
    'stream', position, name,
    unnest(['ahead_at_most', 'folder', 'late', 'out_of_order_within', 'timestamp_by']),
    unnest([ahead_text, source, lower(late), bound_text, timestamp_by])
FROM cql_state.inputs
WHERE kind = 'stream'
UNION ALL
SELECT
    'relation', position, name,
    unnest(['folder', 'primary_key', 'query']),
    unnest([source, nullif(array_to_string(primary_key, ', '), ''), query])
FROM cql_state.inputs
WHERE kind = 'relation' AND family IS NULL;
COMMENT ON VIEW cql_state.property_values IS 'The values of what cql.properties shows.';

CREATE OR REPLACE VIEW cql.properties WITH (DEFER_BINDING) AS
SELECT
    v.kind,
    v.owner,
    v.name,
    v.value,
    k.default_value,
    k.meaning,
    k.changes IS NOT NULL AS is_changeable,
    coalesce(k.changes, 'never') AS changes,
    CASE
        WHEN k.changes IS NULL THEN CASE
            WHEN v.name = 'memory_limit' THEN 'SET memory_limit = ''…'''
            WHEN v.name IN (SELECT name FROM cql_state.connection_settings)
                AND v.kind = 'database' THEN 'connect(…, ' || v.name || '=…)'
            WHEN v.kind = 'database' THEN 'make another database'
            WHEN v.name = 'query' THEN 'REFRESH RELATION ' || v.called || ' FROM …'
            ELSE 'DROP ' || upper(v.kind) || ' ' || v.called || ', and CREATE it anew'
        END
        WHEN v.kind = 'database'
            THEN 'UPDATE cql.properties SET value = ''…'' WHERE name = ''' || v.name
                || ''' AND kind = ''database'''
        WHEN v.name = 'active'
            THEN 'ALTER CONTINUOUS QUERY ' || v.called
                || CASE WHEN v.value = 'true' THEN ' DEACTIVATE' ELSE ' ACTIVATE' END
        WHEN v.kind = 'query'
            THEN 'ALTER CONTINUOUS QUERY ' || v.called || ' SET (' || v.name || ' = …)'
        ELSE 'ALTER STREAM ' || v.called || ' SET (' || v.name || ' = …)'
    END AS statement
FROM (
    SELECT
        *,
        CASE
            WHEN regexp_full_match(owner, '[A-Za-z_]\w*') THEN owner
            ELSE '"' || replace(owner, '"', '""') || '"'
        END AS called
    FROM cql_state.property_values
) AS v
JOIN cql_state.property_kinds AS k ON k.kind = v.kind AND k.name = v.name
ORDER BY v.position, v.kind, v.owner, v.name;
COMMENT ON VIEW cql.properties IS 'One row for each property of the database, of each query, stream and relation: its value, its default, what it means, whether it can be changed, from when on another value counts, and the statement that changes it. Values can be set by UPDATE, too; NULL resets them. A value of the connection belongs to it alone, and is that of the last one if the file is read without cqlduck.';
