"""The background scheduler: APScheduler calls the engine at an interval.

Logical time never depends on how often it is called: a run takes whatever has come. So runs that
were missed are one run (`coalesce`), a run is never skipped for being late
(`misfire_grace_time=None`), and two never overlap (`max_instances=1`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from apscheduler.schedulers.background import BackgroundScheduler

from cqlduck.engine import Engine
from cqlduck.errors import Error
from cqlduck.rewrite.time import parse_duration

log = logging.getLogger("cqlduck")


class Scheduler:
    """Runs `work` at an interval, in a thread of its own."""

    def __init__(self, engine: Engine, work: Callable[[], object]) -> None:
        """Keep what to run."""
        self.engine = engine
        self.work = work
        self._scheduler: BackgroundScheduler | None = None

    @property
    def running(self) -> bool:
        """Whether it is started."""
        return self._scheduler is not None

    def start(self, every: str) -> None:
        """Start, if it is not started.

        Raises:
            Error: `every` is no duration with a unit, or it runs already.
        """
        length = parse_duration(every).microseconds
        if length is None or length <= 0:
            raise Error(f"{every!r} is no interval", hint="write it as '1 second'")
        if self._scheduler is not None:
            raise Error("the scheduler runs already", hint="stop() it first")
        scheduler = BackgroundScheduler(timezone="UTC", daemon=True)
        scheduler.add_job(
            self._run,
            "interval",
            seconds=float(length) / 1e6,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
        )
        scheduler.start()
        self._scheduler = scheduler

    def _run(self) -> None:
        try:
            self.work()
        except Error as error:
            log.error("%s", error)

    def stop(self) -> None:
        """Stop, after the run that is under way; wake whoever waits for ticks."""
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.shutdown(wait=True)
        with self.engine.changed:
            self.engine.changed.notify_all()
