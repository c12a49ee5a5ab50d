-- Shows an instant, which is a number inside, as people write it.

CREATE OR REPLACE MACRO cql_state.shown(instant) AS (
    SELECT CASE
        WHEN instant IS NULL THEN NULL
        WHEN instant = -9223372036854775807 THEN 'the beginning of time'
        WHEN any_value(value) FILTER (WHERE name = 'time') = 'wall'
            THEN CAST(make_timestamp(
                instant * CAST(any_value(value) FILTER (WHERE name = 'granularity') AS BIGINT)
            ) AS VARCHAR)
        ELSE CAST(instant AS VARCHAR)
    END
    FROM cql_state.settings
);

-- Shows a number of instants as a length of time.

CREATE OR REPLACE MACRO cql_state.lasting(instants) AS (
    SELECT CASE
        WHEN any_value(value) FILTER (WHERE name = 'time') = 'wall'
            THEN CAST(to_microseconds(
                instants * CAST(any_value(value) FILTER (WHERE name = 'granularity') AS BIGINT)
            ) AS VARCHAR)
        ELSE CAST(instants AS VARCHAR) || ' instants'
    END
    FROM cql_state.settings
);
