"""Files that are appended: what is in them comes in as it is there, or is refused with its line."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import cqlduck

AB = "a INTEGER, b VARCHAR"


def taken(columns: str, path: Path | str) -> list[tuple[Any, ...]]:
    """Return what a stream has of a file, in its order."""
    with cqlduck.connect() as con:
        con.execute(f"CREATE STREAM s ({columns}); CREATE CONTINUOUS QUERY q AS SELECT * FROM s")
        con.append("s", path, at=1)
        con.advance(1)
        return [row[:-1] for row in con.table("q").fetchall()]


def file(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("folder", ["a=7", "k=7", "batch=3"])
@pytest.mark.parametrize("name", ["x.csv", "x.json"])
def test_the_name_of_a_folder_is_no_column(folder: str, name: str, tmp_path: Path) -> None:
    text = "a,b\n1,x\n" if name == "x.csv" else '{"a": 1, "b": "x"}'
    assert [(1, "x")] == taken(AB, file(tmp_path / folder / name, text))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,#p\n2,q # r\n", [(1, "#p"), (2, "q # r")]),
        ("a,b\n1,'x'\n2,'y'\n", [(1, "'x'"), (2, "'y'")]),
        ("a,b\n1,'x\n2,'\n", [(1, "'x"), (2, "'")]),
        ('a,b\n1,"x""y"\n2,"x,y"\n3,"x\ny"\n', [(1, 'x"y'), (2, "x,y"), (3, "x\ny")]),
        ("a,b\n1,x\\\n2,\\x\n", [(1, "x\\"), (2, "\\x")]),
        ("b;a\nx,y;1\n", [(1, "x,y")]),
        ("b|a\nx;y|1\n", [(1, "x;y")]),
        ("a\tb\n1\t'x;y,z'\n", [(1, "'x;y,z'")]),
        ("\ufeffa,b\r\n1,x\r\n", [(1, "x")]),
        ('a,b\n1,""\n2,\n', [(1, ""), (2, None)]),
        ("a,b\n", []),
    ],
)
def test_a_csv_is_read_as_the_standard_says(
    text: str, rows: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    assert rows == taken(AB, file(tmp_path / "x.csv", text))


@pytest.mark.parametrize("written", ['"x""y"', '"x,y"', "#x", "'x'"])
def test_a_csv_is_read_alike_from_beginning_to_end(written: str, tmp_path: Path) -> None:
    rows = "".join(f"{at},x\n" for at in range(30_000))
    found = taken(AB, file(tmp_path / "x.csv", f"a,b\n{rows}100000,{written}\n"))
    bare = written.removeprefix('"').removesuffix('"').replace('""', '"')
    assert (100_000, bare) == found[-1]


def test_a_column_of_texts_with_other_delimiters(tmp_path: Path) -> None:
    path = file(tmp_path / "x.csv", "b\nx;y\nz|w\n")
    assert [("x;y",), ("z|w",)] == taken("b VARCHAR", path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,x\n2\n", "Line: 3: Expected Number of Columns: 2 Found: 1"),
        ("a,b\n1,x\n2,y,z\n", "Line: 3: Expected Number of Columns: 2 Found: 3"),
        ('a,b\n1,x\n2,"y\n', "unterminated quote"),
        ("a,b\n1,\xe9\n".encode("latin-1"), "not utf-8"),
        ("a,b\n1,x\n".encode("utf-16"), "not utf-8"),
        ("", "no line with the names of its columns"),
        ("a,b\n#1,p\n#note\n2,q # r\n", "Line: 3: Expected Number of Columns: 2 Found: 1"),
        ("a,b\n" + "".join(f"{at},x\n" for at in range(30_000)) + "1\n", "Line: 30002: Expected"),
    ],
)
def test_a_csv_that_is_none_is_refused_with_its_line(
    text: str | bytes, said: str, tmp_path: Path
) -> None:
    with pytest.raises(cqlduck.DataError) as caught:
        taken(AB, file(tmp_path / "x.csv", text))
    assert said in caught.value.message
    assert "x.csv" in caught.value.message


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("1234567890123456.78", "DECIMAL(18, 2)", Decimal("1234567890123456.78")),
        ("0.12345678901234567890", "DECIMAL(38, 20)", Decimal("0.12345678901234567890")),
        ('"0.1234567890123456789"', "DECIMAL(38, 20)", Decimal("0.1234567890123456789")),
        ("1e3", "DECIMAL(38, 20)", Decimal(1000)),
        ("null", "DECIMAL(38, 20)", None),
        ("[0.12345678901234567890, 1]", "DECIMAL(38, 20)[]", [Decimal("0.1234567890123456789"), 1]),
        ('{"x": 0.1234567890123456789}', "STRUCT(x DECIMAL(38, 20))",
         {"x": Decimal("0.1234567890123456789")}),
        ("123456789012345678901234567890", "HUGEINT", 123456789012345678901234567890),
        ("18446744073709551617", "UHUGEINT", 18446744073709551617),
        ("9223372036854775807", "BIGINT", 9223372036854775807),
        ("0.1", "DOUBLE", 0.1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["[{}]", "{}", "{}\n{}"])
def test_numbers_of_json_keep_their_digits(
    text: str, kind: str, values: Any, form: str, tmp_path: Path
) -> None:
    one = f'{{"a": {text}}}'
    found = taken(f"a {kind}", file(tmp_path / "x.json", form.replace("{}", one)))
    assert [(values,)] * form.count("{}") == found


@pytest.mark.parametrize("text", ["[]", ""])
def test_json_without_objects_has_no_rows(text: str, tmp_path: Path) -> None:
    assert [] == taken("a DECIMAL(5, 2), b VARCHAR", file(tmp_path / "x.json", text))


@pytest.mark.parametrize("kind", ["DECIMAL(5, 2)", "DECIMAL(5, 2)[]", "DOUBLE"])
def test_a_null_among_the_objects_of_json_is_a_row_of_nulls(kind: str, tmp_path: Path) -> None:
    path = file(tmp_path / "x.json", '[{"a": null}, null]')
    assert [(None,), (None,)] == taken(f"a {kind}", path)


def test_a_file_comes_before_what_its_name_matches(tmp_path: Path) -> None:
    for name, value in (("x[1].csv", 1), ("x1.csv", 2), ("y*.csv", 3), ("yz.csv", 4)):
        file(tmp_path / name, f"a\n{value}\n")
    assert [(1,)] == taken("a INTEGER", tmp_path / "x[1].csv")
    assert [(3,)] == taken("a INTEGER", tmp_path / "y*.csv")
    assert [(4,)] == taken("a INTEGER", tmp_path / "yz*.csv")
    assert [(2,)] == taken("a INTEGER", tmp_path / "x[12].csv")


TEXTS = st.text(st.sampled_from("ab,;|\t\"'#\\ \n0é"), max_size=5)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), max_size=6), delimiter=st.sampled_from(",;|\t"))
def test_what_python_writes_is_what_comes_in(
    rows: list[tuple[str, str]], delimiter: str, tmp_path: Path
) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    lines = [delimiter.join(map(quoted, row)) for row in [("a", "b"), *rows]]
    path = file(tmp_path / "x.csv", "".join(f"{line}\n" for line in lines))
    assert rows == taken("a VARCHAR, b VARCHAR", path)
