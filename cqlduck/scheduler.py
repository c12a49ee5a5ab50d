"""The background scheduler: APScheduler calls the engine at an interval.

Logical time never depends on how often the engine is called: a run consumes all arrivals. So missed
runs are merged into one (`coalesce`), a late run is not skipped (`misfire_grace_time=None`), and
two runs never overlap (`max_instances=1`). A run that takes longer than the interval is normal.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from apscheduler.schedulers.background import BackgroundScheduler

from cqlduck.engine import Engine
from cqlduck.errors import DropZoneError, Error
from cqlduck.rewrite.text.time import parse_duration

log = logging.getLogger("cqlduck")

MAX_INTERVAL_MICROSECONDS = 36_500 * 86_400 * 10**6
"""The longest interval in microseconds: the calendar of Python ends with the year 9999."""

OnError = Callable[[Exception], object]

_quiet = logging.getLogger("cqlduck.scheduler")
_quiet.setLevel(logging.ERROR)


class Scheduler:
    """Runs `work` at an interval, in a thread of its own."""

    def __init__(self, engine: Engine, work: Callable[[], object]) -> None:
        """Keep what to run."""
        self.engine = engine
        self.work = work
        self._lock = threading.RLock()
        self._scheduler: BackgroundScheduler | None = None
        self._on_error: OnError | None = None
        self._thread: int | None = None

    @property
    def running(self) -> bool:
        """Whether it is started."""
        return self._scheduler is not None

    def start(self, every: str, on_error: OnError | None = None) -> None:
        """Start, if it is not started.

        Args:
            every: How often to run.
            on_error: Is called with each error, in the scheduler's thread.

        Raises:
            Error: `every` is no duration with a unit, or too long, or it runs already.
        """
        length = parse_duration(every).microseconds
        if length is None or length <= 0:
            raise Error(f"{every!r} is no interval", hint="write it as '1 second'")
        if length > MAX_INTERVAL_MICROSECONDS:
            raise Error(f"{every!r} is too long an interval", hint="at most 36500 days")
        scheduler = BackgroundScheduler(timezone="UTC", daemon=True, logger=_quiet)
        scheduler.add_job(
            self._run,
            "interval",
            seconds=float(length) / 1e6,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
        )
        # a signal's handler may stop it
        with self.engine.database.interrupts.deferred, self._lock:
            if self._scheduler is not None:
                raise Error("the scheduler runs already", hint="stop() it first")
            self._on_error = on_error
            scheduler.start()
            self._scheduler = scheduler

    def _run(self) -> None:
        self._thread = threading.get_ident()
        try:
            told: set[str] = set()
            while self._work(told) and self.running and self.engine.has_backfill():
                # of the backfill a run does a slice; whoever stops it waits for no more
                pass
            for failure in self.engine.new_failures():
                self._tell(failure, is_logged=True)
        finally:
            self._thread = None

    def _work(self, told: set[str]) -> bool:
        """Do the work once; return whether it may be done again at once.

        Args:
            told: The errors of this run that have been told; it gets the others.
        """
        try:
            self.work()
        except DropZoneError as error:
            # one input waits at a batch, and the others have gone on
            if str(error) not in told:
                told.add(str(error))
                self._tell(error)
        except Exception as error:
            self._tell(error)
            return False
        return True

    def _tell(self, error: Exception, *, is_logged: bool = False) -> None:
        """Log an error, and call `on_error` with it."""
        if not is_logged:
            # of what is not of the family, nobody but a developer can make anything
            log.error("%s", error, exc_info=None if isinstance(error, Error) else error)
        if self._on_error is not None:
            try:
                self._on_error(error)
            except BaseException:
                # sys.exit() in it too: it ends no program from here, and the other errors are to
                # be told
                log.exception("on_error failed")

    def stop(self) -> None:
        """Stop, after the run that is under way; wake whoever waits for ticks."""
        with self._lock:
            scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            # on_error may stop it: a run cannot wait for its own end
            scheduler.shutdown(wait=self._thread != threading.get_ident())
        with self.engine.changed:
            self.engine.changed.notify_all()
