"""The pages, as a Flask application over one connection.

    /                    queries, inputs, the last ticks; its parts are fetched again each second
    /query/<name>        the answer, the plan as a picture, the statements, the changes of choices
    /sql                 any SELECT, if the server listens to this machine alone
    /api/<view>          a view of schema `cql` as JSON; /api/plan/<query> is the plan of a query

Who asks by another name than those by which the server goes is refused, and so is a form that
another page has sent: a page of a stranger that is open in the same browser can do neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection

from flask import Flask, Response, abort, render_template, request
from werkzeug.exceptions import HTTPException

import cqlduck
from cqlduck.connection import Connection
from cqlduck.display import shown
from cqlduck.errors import CatalogError, Error
from cqlduck.server import lookups, pictures

VIEWS = ("queries", "operators", "streams", "relations", "queues", "stores", "synopses", "caches",
         "points", "plan_log", "adaptivity", "observations", "ticks", "late", "corrections",
         "batches", "functions", "properties")  # fmt: skip
"""The views of schema `cql` that can be had as JSON."""

POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
"""What a page may load and where it may be shown: nothing of others, and nowhere else."""

GUARDS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Pages:
    """The pages of a connection.

    Args:
        con: The connection that is looked at.
        hosts: The names by which the server goes; None is any.
        with_sql: Whether there is a page for any SELECT.
    """

    def __init__(self, con: Connection, *, hosts: Collection[str] | None, with_sql: bool) -> None:
        """Make the application."""
        self._con = con
        self._hosts = hosts
        self._known = {
            "database": con.engine.database.path,
            "version": cqlduck.__version__,
            "with_sql": with_sql,
        }
        self.app = app = Flask("cqlduck.server")
        app.jinja_env.filters["shown"] = shown
        app.context_processor(lambda: self._known)
        app.before_request(self._refuse_strangers)
        app.after_request(_guarded)
        app.register_error_handler(HTTPException, _refused)
        app.register_error_handler(Error, _failed)
        rules: dict[str, Callable[..., str | Response]] = {
            "/": self.overview,
            "/part/overview": self.overview_part,
            "/query/<path:name>": self.query,
            "/query": self.query_named,
            "/part/answer/<path:name>": self.answer_part,
            "/part/answer": self.answer_named,
            "/api/<view>": self.view,
            "/api/plan/<path:name>": self.plan,
        }
        for rule, function in rules.items():
            app.add_url_rule(rule, view_func=function)
        if with_sql:
            app.add_url_rule("/sql", view_func=self.sql, methods=["GET", "POST"])

    def _refuse_strangers(self) -> None:
        name = request.host
        if not name.endswith("]"):
            name = name.rpartition(":")[0] or name
        if self._hosts is not None and name.strip("[]").lower() not in self._hosts:
            abort(403, f"this server does not go by the name {name}")
        if request.method != "GET":
            sent_by = request.headers.get("Sec-Fetch-Site", "none")
            origin = request.headers.get("Origin")
            if sent_by not in ("none", "same-origin") or (
                origin is not None and origin != f"{request.scheme}://{request.host}"
            ):
                abort(403, "a form of another page is not taken")

    def overview(self) -> str:
        """Return the first page."""
        return render_template("overview.html", **self._overview())

    def overview_part(self) -> str:
        """Return what moves on the first page."""
        return render_template("overview_part.html", **self._overview())

    def _overview(self) -> dict[str, object]:
        # no tick between two of the tables
        with self._con.engine.still():
            tables = {name: lookups.table(self._con, sql) for name, sql in lookups.OVERVIEW.items()}
            ticks = lookups.table(self._con, lookups.TICKS)
        bars, stopped = pictures.ticks(ticks.records), lookups.stopped_below(self._con)
        return {**tables, "ticks": ticks, "bars": bars, "stopped": stopped}

    def query_named(self) -> str:
        """Return the page of a query whose name is an argument: it may have any signs."""
        return self.query(request.args.get("name", ""))

    def answer_named(self) -> str:
        """Return the answer of a query whose name is an argument."""
        return self.answer_part(request.args.get("name", ""))

    def query(self, name: str) -> str:
        """Return the page of a query."""
        query = self._con.queries[name]
        plan = self._con.plan(query.name, analyze=True)
        return render_template(
            "query.html",
            query=query,
            plan=plan,
            picture=pictures.plan(plan),
            stopped=lookups.stopped_below(self._con).get(query.name),
            answer=self._answer(query.name),
        )

    def answer_part(self, name: str) -> str:
        """Return the answer of a query."""
        return render_template("answer_part.html", answer=self._answer(name))

    def _answer(self, name: str) -> lookups.Table | str:
        """Return the first rows of an answer, or why there is none."""
        try:
            return lookups.answer(self._con, name)
        except CatalogError:
            raise
        except Error as error:
            return str(error)

    def sql(self) -> str:
        """Return the page for any SELECT, with what a form asks for."""
        asked = request.form.get("sql", request.args.get("sql", "FROM cql.queries"))
        found: lookups.Table | str | None = None
        if request.method == "POST":
            try:
                found = lookups.as_text(self._con, asked)
            except Error as error:
                found = str(error)
        return render_template("sql.html", asked=asked, answer=found)

    def view(self, view: str) -> Response:
        """Return the rows of a view as JSON."""
        if view not in VIEWS:
            abort(404, f"there is no view {view} here; there are {', '.join(VIEWS)}")
        found = self._con.sql(f"FROM cql.{view}")
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
        return _json(json.dumps(rows, default=str, ensure_ascii=False))

    def plan(self, name: str) -> Response:
        """Return the plan of a query as JSON."""
        return _json(self._con.plan(name, analyze=True).json())


def _json(text: str) -> Response:
    return Response(text, mimetype="application/json")


def _guarded(response: Response) -> Response:
    response.headers.update(GUARDS)
    return response


def _refused(error: HTTPException) -> tuple[str | Response, int]:
    return _said(str(error.description)), error.code or 500


def _failed(error: Error) -> tuple[str | Response, int]:
    return _said(str(error)), 404 if isinstance(error, CatalogError) else 400


def _said(message: str) -> str | Response:
    """Return an error as a page; to a program, as JSON."""
    if request.path.startswith("/api/"):
        return _json(json.dumps({"error": message}, ensure_ascii=False))
    return render_template("error.html", message=message)
