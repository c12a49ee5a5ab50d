"""Invariant 4: a tick is atomic. A real process, killed with a real signal, at moments of chance.

The application follows a drop zone in small ticks and is killed again and again. What it has in the
end equals what an undisturbed run has: every element of every query, and nothing twice. A relation
under a key is killed just before statements that close it, one at a time.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from counts import fewer_if_brief, is_brief

import cqlduck
from cqlduck.sources.dropzone import BatchWriter

BATCHES, ROWS = 30 if is_brief() else 80, 40
QUERIES = ("totals", "recent", "extremes", "latest", "named", "missing", "high", "higher", "few",
           "fewer", "least", "chain", "most", "names")  # fmt: skip
APPLICATION = """
CREATE STREAM s (t BIGINT, k BIGINT, v DOUBLE) TIMESTAMP BY t FROM 's';
CREATE RELATION r (k BIGINT, name VARCHAR) FROM 'r';
CREATE CONTINUOUS QUERY totals AS SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k;
CREATE CONTINUOUS QUERY recent AS SELECT s.k, r.name, s.v FROM s [RANGE 5] JOIN r ON s.k = r.k;
CREATE CONTINUOUS QUERY most AS SELECT k, max(v) AS most FROM s GROUP BY k HAVING count(*) > 3;
CREATE CONTINUOUS QUERY names AS SELECT r.name FROM s [RANGE 5] JOIN r ON s.k = r.k;
CREATE CONTINUOUS QUERY extremes AS SELECT max(v) AS high, min(v) AS low FROM s [ROWS 25];
CREATE CONTINUOUS QUERY latest AS SELECT Istream(k, v) FROM s [PARTITION BY k ROWS 1];
CREATE CONTINUOUS QUERY named AS SELECT name, count(*) AS n FROM recent GROUP BY name;
CREATE CONTINUOUS QUERY missing AS SELECT DISTINCT s.k FROM s [RANGE 3] LEFT JOIN r ON s.k = r.k
WHERE r.k IS NULL;
CREATE CONTINUOUS QUERY high AS SELECT k, v FROM s WHERE v > 5;
CREATE CONTINUOUS QUERY higher AS SELECT k, v FROM s WHERE v > 8;
CREATE CONTINUOUS QUERY few AS SELECT k, count(*) AS n FROM s [RANGE 4] WHERE k < 2 GROUP BY k;
CREATE CONTINUOUS QUERY fewer AS SELECT k, count(*) AS n FROM s [RANGE 4] WHERE k < 1 GROUP BY k;
CREATE CONTINUOUS QUERY least AS SELECT min(n) AS n FROM fewer;
CREATE CONTINUOUS QUERY chain AS SELECT a.k, count(*) AS n FROM s [RANGE 2] a, s [RANGE 3] b,
s [RANGE 4] c WHERE a.k = b.k AND b.v = c.v AND a.v < 2 GROUP BY a.k;
"""


def drop_zone(root: Path) -> None:
    """Write the same batches each time it is called."""
    chance = random.Random(7)
    stream, relation = BatchWriter(root, "s", ts="t"), BatchWriter(root, "r")
    for batch in range(BATCHES):
        low = batch * 4
        instants = sorted(low + chance.randrange(4) for _ in range(ROWS))
        rows = {
            "t": instants,
            "k": [chance.randrange(6) for _ in instants],
            "v": [chance.randrange(40) / 4 for _ in instants],
        }
        stream.write_batch(batch, pa.table(rows), heartbeat=low + 3)
        names = {"k": [batch % 5], "name": [f"n{batch % 3}"], "_ts": [low], "_op": ["+"]}
        relation.write_batch(batch, pa.table(names), heartbeat=low + 3)


def command(folder: Path, database: str) -> list[str]:
    return [
        sys.executable, "-m", "cqlduck", "run", str(folder / "app.cql"),
        "--database", str(folder / database), "--drop-zone", str(folder / "drop"),
        "--set", f"max_tick={2 * ROWS}",
    ]  # fmt: skip


def elements(path: Path) -> dict[str, list[tuple]]:
    with cqlduck.connect(path) as con:
        return {name: sorted(con.changes(name).fetchall(), key=repr) for name in QUERIES}


def cache_otherwise(path: Path, option: str) -> None:
    """Have the next ticks make other caches of a join, as what the clock says might."""
    with cqlduck.connect(path) as con:
        if con.sql("SELECT 1 FROM cql.queries WHERE name = 'chain'").fetchall():
            con.pin("caches", option, "chain")


@pytest.mark.slow
def test_killed_again_and_again_it_ends_as_if_undisturbed(tmp_path):
    drop_zone(tmp_path / "drop")
    (tmp_path / "app.cql").write_text(APPLICATION)
    subprocess.run(command(tmp_path, "calm.duckdb"), check=True, capture_output=True, timeout=300)

    chance, kills = random.Random(11), 0
    for _ in range(1 if is_brief() else 3):
        process = subprocess.Popen(
            command(tmp_path, "killed.duckdb"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            process.communicate(timeout=chance.uniform(1.0, 4.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        if process.returncode == 0:
            break
        assert -signal.SIGKILL == process.returncode
        kills += 1
        cache_otherwise(tmp_path / "killed.duckdb", ("2+3", "1+2", "none")[kills % 3])
    subprocess.run(command(tmp_path, "killed.duckdb"), check=True, capture_output=True, timeout=300)

    assert kills >= 1
    assert elements(tmp_path / "calm.duckdb") == elements(tmp_path / "killed.duckdb")


BY_KEY = """
import os, signal, sys
import cqlduck
from cqlduck.state import pending

path, moment, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
pending.MAX_SCRATCH_ELEMENTS = 20
closing = False

def killed(sql, _):
    global left
    if closing and moment in sql:
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

def rows(low, high, value):
    return [(k, f"{value} {k}", value / 4) for k in range(low, high)]

with cqlduck.connect(path, trace=killed) as con:
    if not con.relations:
        con.execute("CREATE RELATION r (k BIGINT, name VARCHAR, v DOUBLE) PRIMARY KEY (k)")
        con.execute("CREATE CONTINUOUS QUERY content AS SELECT * FROM r")
        con.execute("CREATE CONTINUOUS QUERY total AS SELECT v, count(*) AS n FROM r GROUP BY v")
    ((last,),) = con.sql("SELECT coalesce(max(_ts), 0) FROM cql_state.pending_r").fetchall()
    ((done,),) = con.sql("SELECT coalesce(max(frontier::BIGINT), 0) FROM cql.queries").fetchall()
    # what was appended before it was killed is there
    for tick in range(done + 1, 8):
        if tick > last:
            if tick == 1:
                con.append("r", rows(0, 90, 0), at=1)
            elif tick in (2, 5, 7):
                con.retract("r", rows(10 * tick, 10 * tick + 5, 0), at=tick)
                con.append("r", rows(10 * tick, 10 * tick + 4, tick), at=tick)
            elif tick == 3:
                con.retract("r", rows(30, 45, 0), at=tick)
                con.append("r", rows(33, 48, tick)[:12], at=tick)
            elif tick == 4:
                con.append("r", rows(100, 130, tick), at=tick)
            else:
                con.retract("r", rows(0, 12, 0) + rows(200, 203, 0), at=tick)
                con.append("r", rows(0, 12, 1) + rows(4, 8, 2), at=tick)
        closing = True
        con.advance(tick)
        closing = False
"""


def by_key(path: Path, moment: str, count: int) -> int:
    """Run that script; return what became of it."""
    command = [sys.executable, "-c", BY_KEY, str(path), moment, str(count)]
    return subprocess.run(command, capture_output=True, timeout=300).returncode


@pytest.mark.slow
def test_killed_while_a_relation_closes_by_key_it_ends_as_if_undisturbed(tmp_path):
    def found(path: Path) -> list[list[tuple]]:
        with cqlduck.connect(path) as con:
            assert {("right",)} == set(con.check().project("state").fetchall())
            queries = [con.changes(name) for name in ("content", "total")]
            stored = con.sql("SELECT * FROM cql_state.relation_r")
            late = con.sql("SELECT * FROM cql.late")
            return [sorted(one.fetchall(), key=repr) for one in (*queries, stored, late)]

    assert 0 == by_key(tmp_path / "calm.duckdb", "nothing", 1)
    calm = found(tmp_path / "calm.duckdb")
    assert [True] * 4 == [bool(part) for part in calm]
    moments = {
        "DROP COLUMN _op": 1,
        'CREATE OR REPLACE TABLE cql_state."pending_r"': 1,
        'UPDATE cql_state."relation_r"': 3,
        'INSERT INTO cql_state."relation_r"': 4,
        'DELETE FROM cql_state."pending_r"': 2,
        "INSERT INTO cql_state.late": 1,
        "COMMIT": 5,
    }
    chosen = list(moments.items())[:: -(-len(moments) // fewer_if_brief(len(moments)))]
    for number, (moment, count) in enumerate(chosen):
        path = tmp_path / f"killed{number}.duckdb"
        assert -signal.SIGKILL == by_key(path, moment, count), moment
        assert 0 == by_key(path, "nothing", 1)
        assert calm == found(path), moment
