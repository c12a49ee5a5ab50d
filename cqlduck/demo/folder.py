"""The folder of a run of the demo: its files, and the progress of the run.

drop/            the drop zone, written by the Spark job `cqlduck.demo.flights`
flights.duckdb   the database with the queries of `sql/examples/flights.cql`
flights.cql      that application, to play with
spark.log        the output of the Spark job
run.json         the progress of the run: {"version": 1, "phase": "running", "days": 366}
"""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cqlduck.demo.flights import STREAMS
from cqlduck.errors import Error
from cqlduck.sources.dropzone import batch_folder

RELATIONS = ("airlines", "airports", "planes")
RUNNING, FINISHED = "running", "finished"


@dataclass(frozen=True)
class Folder:
    """The folder of a run."""

    path: Path

    @property
    def drop_zone(self) -> Path:
        """What Spark writes into."""
        return self.path / "drop"

    @property
    def database(self) -> Path:
        """The database."""
        return self.path / "flights.duckdb"

    @property
    def application(self) -> Path:
        """A copy of the application."""
        return self.path / "flights.cql"

    @property
    def log(self) -> Path:
        """What Spark says."""
        return self.path / "spark.log"

    @property
    def state(self) -> Path:
        """How far the run is."""
        return self.path / "run.json"

    def read(self) -> dict[str, Any] | None:
        """Return the state of the run that is here, or None if there is none.

        Raises:
            Error: There is something here that no run of this version made.
        """
        try:
            state = json.loads(self.state.read_text(encoding="utf-8"))
        except FileNotFoundError:
            foreign = [p for p in (self.drop_zone, self.database, self.application) if p.exists()]
            if foreign:
                raise Error(
                    f"{foreign[0]} is there, and it is not the demo's",
                    hint="choose another folder with --data",
                ) from None
            return None
        except (OSError, ValueError):
            state = None
        if (
            not isinstance(state, dict)
            or state.get("version") != 1
            or state.get("phase") not in (RUNNING, FINISHED)
            or not isinstance(state.get("days"), int)
        ):
            raise Error(
                f"{self.state} cannot be read as the demo's",
                hint="choose another folder with --data, or remove this one",
            )
        return state

    def write(self, phase: str, days: int) -> None:
        """Note how far the run is."""
        self.path.mkdir(parents=True, exist_ok=True)
        new = self.state.with_suffix(".new")
        new.write_text(json.dumps({"version": 1, "phase": phase, "days": days}) + "\n", "utf-8")
        new.replace(self.state)

    def clear(self) -> None:
        """Remove what the demo made and nothing else; the state last, for a second try."""
        for name in (*STREAMS, *RELATIONS):
            shutil.rmtree(self.drop_zone / name, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.drop_zone.rmdir()
        wal = self.database.with_name(self.database.name + ".wal")
        for file in (wal, self.database, self.application, self.log, self.state):
            file.unlink(missing_ok=True)

    def written(self, stream: str, at_least: int, days: int) -> int:
        """Return how many batches of a stream there are."""
        count = at_least
        while count < days and batch_folder(self.drop_zone / stream, count).exists():
            count += 1
        return count

    def complete(self, days: int) -> bool:
        """Return whether the drop zone has all that Spark was to write."""
        relations = (batch_folder(self.drop_zone / name, 0).exists() for name in RELATIONS)
        return all(relations) and all(self.written(s, 0, days) == days for s in STREAMS)
