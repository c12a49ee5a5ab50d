"""Invariant 4: a tick is atomic. A real process, killed with a real signal, at moments of chance.

The application follows a drop zone in small ticks and is killed again and again. What it has in the
end equals what an undisturbed run has: every element of every query, and nothing twice.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import cqlduck
from cqlduck.sources.dropzone import BatchWriter

BATCHES, ROWS = 80, 40
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
    for _ in range(8):
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
