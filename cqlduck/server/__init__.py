"""The page: what a connection has, in a browser, while it runs.

    server = Server(con)                listens on this machine alone
    with server: ...                    as long as the block runs

`listening` hands pages out in threads of its own; `pages` says which there are, and `lookups` which
SQL over the inspection views each table of them is; `pictures` draws plans and ticks. Pages read by
`Connection.sql` and `Connection.plan`, as anybody can, so they change nothing. Of the engine itself
they ask where its file is, and whether the answer of a query has an order.
"""

from cqlduck.server.listening import Server

__all__ = ["Server"]
