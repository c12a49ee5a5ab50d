"""Runs other engines ("peers") on Nexmark, each in a process and an environment of its own.

`make peers` makes the environments; a peer without one does not run. Its program is
`peers/on_<name>.py`, and `peers/protocol.py` is what is said to it and by it. What is compared is
the final answer: the peers have change streams of many kinds, or none.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import duckdb
from contestants import THREADS, Ran, is_stream
from data import BEGIN, SECOND, Dataset
from peers.protocol import PREFIX, Task
from workload import Workload

HERE = Path(__file__).parent
FOLDER = "CQLDUCK_PEERS"
"""The environment variable that says where the environments are, if not in `.peers/`."""

TIMEOUT = 600.0
"""Seconds after which a peer is ended, its start among them."""

SHOWN = 5
"""How many lines of a peer's complaints are shown."""


def _programs() -> dict[str, Path]:
    return {file.stem.removeprefix("on_"): file for file in sorted(HERE.glob("peers/on_*.py"))}


def _queries(program: Path) -> tuple[str, ...]:
    """Return the keys of a program's table `QUERIES`; importing it would need its environment."""
    for statement in ast.parse(program.read_text()).body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="QUERIES")], value=ast.Dict(keys=keys))
                | ast.AnnAssign(target=ast.Name(id="QUERIES"), value=ast.Dict(keys=keys))
            ):
                return tuple(ast.literal_eval(key) for key in keys if key is not None)
    raise ValueError(f"{program.name} has no table QUERIES")


QUERIES: dict[str, tuple[str, ...]] = {
    name: _queries(program) for name, program in _programs().items()
}
"""Of each peer the queries that its program has."""


def available() -> dict[str, Path]:
    """Return the Python of each peer whose environment is there."""
    folder = Path(os.environ.get(FOLDER) or HERE.parent / ".peers")
    pythons = {name: folder / name / "bin" / "python" for name in QUERIES}
    return {name: python for name, python in pythons.items() if python.exists()}


def final(work: Workload, data: Dataset) -> str:
    """Return DuckDB's statement for the answer that a peer's is compared with."""
    if work.every_window is not None:
        return work.every_window.format(now=f"TIMESTAMP '{data.end}'")
    return f"SELECT * EXCLUDE (_ts) FROM ({work.once})" if is_stream(work) else work.once


def write_final(work: Workload, data: Dataset, path: Path) -> None:
    """Write that answer as Parquet."""
    with duckdb.connect(config={"threads": THREADS}) as con:
        for stream in work.streams:
            con.execute(f"CREATE VIEW {stream} AS FROM {data.scan(stream)}")
        con.execute(f"COPY ({final(work, data)}) TO '{path}' (FORMAT parquet)")


def run_peer(name: str, work: Workload, data: Dataset, output: Path | None) -> Ran:
    """Run a peer.

    Raises:
        RuntimeError: It gave no result, or not in time.
    """
    task = Task(
        query=work.name,
        files={stream: data.files(stream) for stream in work.streams},
        now=[(BEGIN + SECOND * (cut // data.rate)).isoformat() for cut in data.cuts],
        threads=THREADS,
        output=None if output is None else str(output),
    )
    with tempfile.TemporaryDirectory() as made:
        said = json.loads(_said(name, task, Path(made)))
    # Servers and Java machines are processes of their own, so processor time is not known.
    return Ran(said["seconds"], said["seconds"], output, tuple(said["ticks"]))


def _said(name: str, task: Task, folder: Path) -> str:
    """Run a peer's process in a folder; return its result as JSON."""
    (folder / "task.json").write_text(task.said())
    out, err = folder / "out", folder / "err"
    command = [str(available()[name]), str(_programs()[name]), str(folder / "task.json")]
    with out.open("wb") as stdout, err.open("wb") as stderr:
        # what it leaves in temporary folders goes with this one
        process = subprocess.Popen(
            command, cwd=folder, stdout=stdout, stderr=stderr, start_new_session=True,
            env={**os.environ, "TMPDIR": str(folder)},
        )  # fmt: skip
        try:
            process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{name} took more than {TIMEOUT:.0f} seconds") from None
        finally:
            # Also those that it has left behind.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    for line in out.read_text(errors="replace").splitlines():
        if line.startswith(PREFIX):
            return line.removeprefix(PREFIX)
    last = err.read_text(errors="replace").strip().splitlines()[-SHOWN:]
    raise RuntimeError(f"{name} gave no result: " + " | ".join(last))
