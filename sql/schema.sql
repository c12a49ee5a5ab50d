-- What every cqlduck database has, before any stream, relation or query is registered.
-- Schema cql_state holds the data; schema cql (views.sql) is for people to look at.

CREATE SCHEMA IF NOT EXISTS cql;
CREATE SCHEMA IF NOT EXISTS cql_state;

CREATE TABLE IF NOT EXISTS cql_state.settings (
    name VARCHAR NOT NULL,
    value VARCHAR NOT NULL
);
COMMENT ON TABLE cql_state.settings IS 'What was chosen when the database was made: the kind of time, its granularity, window_edge.';

CREATE TABLE IF NOT EXISTS cql_state.connection_settings (
    name VARCHAR NOT NULL,
    value VARCHAR
);
COMMENT ON TABLE cql_state.connection_settings IS 'The settings of the connection, or of the last one in which somebody looked at them.';

CREATE TABLE IF NOT EXISTS cql_state.input_rows (
    position BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    column_names VARCHAR[] NOT NULL,
    column_types VARCHAR[] NOT NULL,
    timestamp_by VARCHAR,
    bound BIGINT NOT NULL,
    bound_text VARCHAR,
    late VARCHAR NOT NULL,
    ahead BIGINT,
    ahead_text VARCHAR,
    primary_key VARCHAR[] NOT NULL,
    source VARCHAR,
    query VARCHAR,
    heartbeat BIGINT,
    first_instant BIGINT,
    last_raw BIGINT,
    last_instant BIGINT,
    forgotten BIGINT,
    next_seq BIGINT NOT NULL,
    next_batch BIGINT NOT NULL,
    taken_batch BIGINT,
    taken_rows BIGINT,
    waiting_for VARCHAR,
    number BIGINT,
    family VARCHAR,
    as_of BIGINT NOT NULL
);
COMMENT ON TABLE cql_state.input_rows IS 'Streams and relations as they were after tick as_of; what has moved since stands with the last tick, and cql_state.inputs shows both. Instants are numbers here.';

CREATE TABLE IF NOT EXISTS cql_state.query_rows (
    position BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    column_names VARCHAR[] NOT NULL,
    column_types VARCHAR[] NOT NULL,
    inputs VARCHAR[] NOT NULL,
    order_by VARCHAR,
    state VARCHAR NOT NULL,
    error VARCHAR,
    error_reason VARCHAR,
    error_row VARCHAR,
    since BIGINT,
    begin_instant BIGINT,
    frontier BIGINT,
    answer_instant BIGINT,
    history_from BIGINT,
    keep VARCHAR,
    amend_from BIGINT,
    number BIGINT,
    taken VARCHAR,
    family VARCHAR,
    member BIGINT,
    shape VARCHAR,
    is_open BOOLEAN NOT NULL DEFAULT false,
    weight DOUBLE NOT NULL DEFAULT 1,
    sharing BOOLEAN,
    projection VARCHAR[] NOT NULL DEFAULT [],
    selection VARCHAR[] NOT NULL DEFAULT [],
    is_anew BOOLEAN NOT NULL DEFAULT false,
    merged_at BIGINT,
    is_deferred BOOLEAN NOT NULL DEFAULT false,
    promised BIGINT,
    backfill_from BIGINT,
    backfill_to BIGINT,
    complete_from BIGINT,
    as_of BIGINT NOT NULL
);
COMMENT ON TABLE cql_state.query_rows IS 'Continuous queries as they were after tick as_of, as in input_rows; begin_instant is NULL until time begins for the query. A row with a shape is a family: a query of cqlduck that computes the queries whose family it is. Of a member that shows other columns than all of these, projection lists them, and selection those that have to be true. One that had a plan of its own has its log up to merged_at in a table before_<name>. One that is deferred is answered when it is read: frontier is how far that has been done, promised how far its inputs have come for it. One that is behind the others comes up to them, from backfill_from to backfill_to, in ticks of its own. From complete_from on a query says what it would if it had been there for ever.';

CREATE TABLE IF NOT EXISTS cql_state.functions (
    name VARCHAR NOT NULL,
    parameters VARCHAR[] NOT NULL,
    return_type VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    null_handling VARCHAR NOT NULL,
    exception_handling VARCHAR NOT NULL,
    digest VARCHAR NOT NULL
);
COMMENT ON TABLE cql_state.functions IS 'The functions of Python that SQL may call: their signatures, and digests of their sources.';

CREATE TABLE IF NOT EXISTS cql_state.operators (
    query VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    parent INTEGER,
    id VARCHAR NOT NULL,
    inputs VARCHAR[] NOT NULL,
    kind VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    sql VARCHAR NOT NULL
);
COMMENT ON TABLE cql_state.operators IS 'The operators of each plan and the statements that a tick runs for them.';

CREATE TABLE IF NOT EXISTS cql_state.plans (
    query VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    facts VARCHAR NOT NULL
);
COMMENT ON TABLE cql_state.plans IS 'What the engine asks of the plan of each query between ticks, as JSON; version is that of the rewriter that made it.';

CREATE TABLE IF NOT EXISTS cql_state.statements (
    query VARCHAR NOT NULL,
    form VARCHAR NOT NULL,
    steps BLOB NOT NULL
);
COMMENT ON TABLE cql_state.statements IS 'The statements of the ticks of each query, in each form that has run: JSON, packed with zlib. cql.operators shows them to people.';

CREATE TABLE IF NOT EXISTS cql_state.choices (
    point VARCHAR NOT NULL,
    owner VARCHAR,
    operator INTEGER,
    ticks VARCHAR,
    options VARCHAR[] NOT NULL,
    seconds DOUBLE[] NOT NULL,
    option VARCHAR NOT NULL,
    chosen_by VARCHAR NOT NULL,
    since BIGINT NOT NULL,
    input INTEGER
);
COMMENT ON TABLE cql_state.choices IS 'The option that stands at each point of choice that ticks have come to. A row of a user without ticks is for all points of the name, or all of the owner.';

CREATE TABLE IF NOT EXISTS cql_state.plan_log (
    number BIGINT NOT NULL,
    tick BIGINT NOT NULL,
    instant BIGINT,
    point VARCHAR NOT NULL,
    owner VARCHAR,
    operator INTEGER,
    ticks VARCHAR NOT NULL,
    from_option VARCHAR NOT NULL,
    to_option VARCHAR NOT NULL,
    chosen_by VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    from_seconds DOUBLE,
    to_seconds DOUBLE,
    input INTEGER
);
COMMENT ON TABLE cql_state.plan_log IS 'The last changes of options, in their order: before which tick, after which instant of the query, why, and the seconds that a tick took with each, if they were measured.';

CREATE TABLE IF NOT EXISTS cql_state.observations (
    number BIGINT NOT NULL,
    tick BIGINT NOT NULL,
    instant BIGINT,
    point VARCHAR NOT NULL,
    owner VARCHAR,
    operator INTEGER,
    ticks VARCHAR NOT NULL,
    input INTEGER,
    statistics DOUBLE[] NOT NULL,
    option VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    before DOUBLE,
    expected DOUBLE,
    measured DOUBLE,
    options VARCHAR[] NOT NULL,
    costs DOUBLE[] NOT NULL
);
COMMENT ON TABLE cql_state.observations IS 'What was decided at points of choice whose options are modelled, and under which statistics; at most some 256 rows a point, of older ones every second.';

CREATE TABLE IF NOT EXISTS cql_state.profiles (
    point VARCHAR NOT NULL,
    owner VARCHAR,
    operator INTEGER,
    ticks VARCHAR NOT NULL,
    input INTEGER,
    tick BIGINT NOT NULL,
    known VARCHAR NOT NULL
);
COMMENT ON TABLE cql_state.profiles IS 'What probes and ticks have found of each point of choice whose options are modelled, as JSON: its profile window, and what elements took.';

CREATE TABLE IF NOT EXISTS cql_state.accounts (
    point VARCHAR NOT NULL,
    owner VARCHAR,
    operator INTEGER,
    ticks VARCHAR NOT NULL,
    input INTEGER,
    probes BIGINT NOT NULL,
    probe_seconds DOUBLE NOT NULL,
    trials BIGINT NOT NULL,
    trial_seconds DOUBLE NOT NULL,
    fills BIGINT NOT NULL,
    fill_seconds DOUBLE NOT NULL,
    switches BIGINT NOT NULL,
    returned BIGINT NOT NULL,
    expected DOUBLE,
    measured DOUBLE,
    block BIGINT NOT NULL,
    block_cost DOUBLE NOT NULL,
    block_expected DOUBLE,
    block_measured DOUBLE,
    last_cost DOUBLE NOT NULL,
    last_expected DOUBLE,
    last_measured DOUBLE,
    saves_expected DOUBLE,
    saves_measured DOUBLE,
    units DOUBLE,
    before_expected DOUBLE,
    before_measured DOUBLE
);
COMMENT ON TABLE cql_state.accounts IS 'What adapting each point of choice has cost and brought: all in all, in the current block of 128 ticks, and in the one before; and what the option saves that stands, for an element or a tick.';

CREATE TABLE IF NOT EXISTS cql_state.synopses (
    query VARCHAR NOT NULL,
    operator INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    reach BIGINT,
    is_log BOOLEAN NOT NULL,
    compacted_rows BIGINT NOT NULL
);
COMMENT ON TABLE cql_state.synopses IS 'The tables that operators keep between ticks.';

CREATE TABLE IF NOT EXISTS cql_state.stubs (
    query VARCHAR NOT NULL,
    input VARCHAR NOT NULL,
    reach BIGINT
);
COMMENT ON TABLE cql_state.stubs IS 'The windows of queries on the stores of streams and relations, a row for each pair: how many instants before its frontier the query looks back; NULL if for good.';

CREATE TABLE IF NOT EXISTS cql_state.quarantined (
    input VARCHAR NOT NULL,
    batch BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    reason VARCHAR NOT NULL
);
COMMENT ON TABLE cql_state.quarantined IS 'The batches of the drop zone that were passed over; the last one taken stands in inputs.';

CREATE TABLE IF NOT EXISTS cql_state.open_batches (
    input VARCHAR NOT NULL,
    batch BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    first_row BIGINT NOT NULL,
    last_row BIGINT NOT NULL
);
COMMENT ON TABLE cql_state.open_batches IS 'With the setting strict: batches of relations whose rows may be at instants that are not closed yet, and the numbers of their rows.';

CREATE TABLE IF NOT EXISTS cql_state.late (
    input VARCHAR NOT NULL,
    instant BIGINT,
    reason VARCHAR NOT NULL,
    occurrences BIGINT NOT NULL,
    element VARCHAR
);
COMMENT ON TABLE cql_state.late IS 'Elements that were late or ahead, that a heartbeat taken back left behind, or that retracted what was not there.';

CREATE TABLE IF NOT EXISTS cql_state.cut_records (
    kind VARCHAR NOT NULL,
    owner VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    amount BIGINT NOT NULL
);
COMMENT ON TABLE cql_state.cut_records IS 'Of late, corrections and quarantined only the newest rows are kept; of the others, of each owner and reason, how many there were, and the sum of what they counted.';

CREATE TABLE IF NOT EXISTS cql_state.corrections (
    query VARCHAR NOT NULL,
    instant BIGINT NOT NULL,
    element VARCHAR NOT NULL,
    weight BIGINT NOT NULL,
    published BOOLEAN NOT NULL
);
COMMENT ON TABLE cql_state.corrections IS 'The elements of queries that are there, or should not be, because of late elements of streams with LATE AMEND.';

CREATE TABLE IF NOT EXISTS cql_state.ticks (
    number BIGINT NOT NULL,
    from_instant BIGINT,
    to_instant BIGINT NOT NULL,
    queries INTEGER NOT NULL,
    elements BIGINT NOT NULL,
    seconds DOUBLE NOT NULL,
    inputs BIGINT[][] NOT NULL,
    queries_at BIGINT[][] NOT NULL
);
COMMENT ON TABLE cql_state.ticks IS 'The last ticks: what they covered and what they cost; and, of inputs and queries whose rows are older, the position and what has moved.';
