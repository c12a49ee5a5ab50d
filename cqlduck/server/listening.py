"""The server: pages handed out by threads of its own, while the connection goes on."""

from __future__ import annotations

import ipaddress
import socket
import threading
from types import TracebackType

from werkzeug.serving import WSGIRequestHandler, make_server

from cqlduck.connection import Connection
from cqlduck.errors import Error
from cqlduck.server.pages import Pages


class _Quiet(WSGIRequestHandler):
    """Handles a request, and prints none."""

    def log(self, type: str, message: str, *args: object) -> None:
        """Leave it out: a page that is looked at asks each second."""


class Server:
    """Hands out the pages of a connection; a context manager.

    Args:
        con: The connection that is looked at.
        host: The address to listen at: by default this machine alone. At any other one whoever
            reaches it sees all that the database has, and there is no page for SQL, which could
            read files.
        port: The port; 0, the default, is any that is free.

    Attributes:
        url: Where the first page is.
    """

    def __init__(self, con: Connection, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; nothing is answered before it is entered.

        Raises:
            Error: It cannot listen there.
        """
        if not host:
            raise Error("the host is empty", hint="0.0.0.0 listens at all addresses")
        try:
            socket.getaddrinfo(host, port)
        except OSError as error:
            raise Error(
                f"{host} is no address of this machine", hint="localhost is the machine alone"
            ) from error
        is_alone = _is_loopback(host)
        names = {"localhost", "127.0.0.1", "::1", host.lower()} if is_alone else None
        pages = Pages(con, hosts=names, with_sql=is_alone)
        try:
            self._server = make_server(host, port, pages.app, threaded=True, request_handler=_Quiet)
        except (OSError, SystemExit) as error:
            raise Error(
                f"the server cannot listen at {host}, port {port}",
                hint="another program may have the port: --port 0 takes a free one",
            ) from error
        self.url = f"http://{_in_url(host)}:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Server:
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _is_loopback(host: str) -> bool:
    """Return whether an address is that of this machine for itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
