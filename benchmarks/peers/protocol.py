"""What a peer's program reads and says: JSON on its command line, and one line of JSON at the end.

A peer runs in a process and a virtual environment of its own, because Flink's requirements exclude
those of cqlduck. Its session, server or virtual machine is started before the clock runs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

PREFIX = "result: "
"""What the line with the result begins with; peers print much else."""


@dataclass(frozen=True)
class Task:
    """One run.

    Attributes:
        query: Such as 'q4'.
        files: Of each stream, the Parquet file of each batch, in order. A batch is a tick.
        now: The end of event time after each batch, exclusive, as an ISO timestamp.
        threads: How many it may use.
        output: Where its final answer goes, as Parquet; None if nobody compares it.
    """

    query: str
    files: dict[str, list[str]]
    now: list[str]
    threads: int
    output: str | None

    def said(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))


@dataclass
class Clock:
    """Seconds of each tick: from the first read of its files to the last row of its answer.

    A peer that has no ticks leaves them empty and gives `seconds` alone.
    """

    ticks: list[float] = field(default_factory=list)
    seconds: float = 0.0
    _started: float = 0.0

    def start(self) -> None:
        """Begin a tick."""
        self._started = time.perf_counter()

    def stop(self) -> None:
        """End it."""
        self.ticks.append(time.perf_counter() - self._started)
        self.seconds += self.ticks[-1]


def main(run: Callable[[Task], Clock]) -> None:
    """Run the task of the command line and print what it took."""
    task = Task(**json.loads(Path(sys.argv[1]).read_text()))
    clock = run(task)
    said = {"seconds": clock.seconds, "ticks": clock.ticks}
    print(PREFIX + json.dumps(said), flush=True)
