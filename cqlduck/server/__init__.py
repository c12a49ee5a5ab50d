"""The page: what a connection has, in a browser, while it runs.

    server = Server(con)                listens on this machine alone
    with server: ...                    as long as the block runs

`listening` hands pages out in threads of its own; `pages` says which there are, and `lookups` which
SQL over the inspection views each table of them is; `pictures` draws plans and ticks. Nothing here
reads more of the engine than `Connection` offers anybody, and nothing can be changed by it: what is
typed goes through `Connection.sql`, which only reads.
"""

from cqlduck.server.listening import Server

__all__ = ["Server"]
