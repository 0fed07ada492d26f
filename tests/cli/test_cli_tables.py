"""Reading and writing tables."""

import gzip
import json
import stat
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from hiclass._cli._errors import CommandError
from hiclass._cli._tables import (
    check_output,
    format_of,
    open_output,
    read_table,
    safe_cell,
    write_table,
)


@pytest.fixture
def read(tmp_path):
    def read(content, name="data.csv", **options):
        raw = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(raw)
        return read_table(str(tmp_path / name), **options)

    return read


@pytest.fixture
def refuses(read):
    def refuses(content, message, name="data.csv", **options):
        with pytest.raises(CommandError, match=message):
            read(content, name, **options)

    return refuses


class TestRead:
    def test_cells_of_csv_stay_texts_and_only_empty_ones_are_missing(self, read):
        table = read('a,b\nNA,001\n"",nan\n')
        assert table.frame.to_numpy().tolist() == [["NA", "001"], [None, "nan"]]

    def test_lines_are_counted_through_line_breaks_and_blank_lines(self, read):
        table = read('\na,b\r\n1,"x\r\ny"\r\n\r\n2,z\r\n')
        assert table.frame["b"].tolist() == ["x\r\ny", "z"]
        assert table.lines == [3, 6]
        assert table.place(1).endswith("data.csv, line 6")

    def test_a_byte_order_mark_is_no_part_of_the_first_name(self, read):
        assert list(read("a,b\n1,2\n".encode("utf-8-sig")).frame) == ["a", "b"]
        assert list(read("a\n1\n".encode("utf-16"), encoding="utf-16").frame) == ["a"]

    def test_other_encodings_and_separators(self, read):
        table = read("a;b\né;2\n".encode("cp1252"), encoding="cp1252", separator=";")
        assert table.frame.iloc[0].tolist() == ["é", "2"]
        assert read("a\tb\n1,5\t2\n", "data.tsv").frame["a"].tolist() == ["1,5"]

    def test_long_cells_are_read(self, read):
        assert len(read("a\n" + "x" * 300_000).frame["a"][0]) == 300_000

    def test_json_lines_keep_types_and_may_lack_keys(self, read):
        table = read('{"a": 1, "b": "x"}\n\n{"b": "", "c": [1, 2]}\n', "data.jsonl")
        assert table.frame.to_dict("list") == {
            "a": [1, None], "b": ["x", None], "c": [None, [1, 2]]
        }  # fmt: skip
        assert table.place(1).endswith("line 3")

    def test_parquet_keeps_types_and_named_indexes(self, tmp_path):
        frame = pd.DataFrame(
            {
                "n": pd.array([1, None, 3], dtype="Int64"),
                "s": ["x", "", None],
                "f": [0.5, np.nan, 1],
            }
        )
        frame.to_parquet(tmp_path / "plain.parquet")
        table = read_table(str(tmp_path / "plain.parquet"))
        assert table.frame.to_numpy().tolist() == [[1, "x", 0.5], [None, None, None], [3, None, 1]]
        assert type(table.frame["n"][0]) is int
        assert table.place(1).endswith("plain.parquet, row 2")
        frame.assign(key=list("abc")).set_index("key").to_parquet(tmp_path / "index.parquet")
        assert list(read_table(str(tmp_path / "index.parquet")).frame) == ["key", "n", "s", "f"]

    def test_some_of_the_rows_keep_their_places(self, read, tmp_path):
        table = read("a\n1\n\n2\n3\n").take([0, 2])
        assert table.frame["a"].tolist() == ["1", "3"]
        assert table.place(1).endswith("data.csv, line 5")
        assert table.take([1]).place(0) == table.place(1)
        pd.DataFrame({"a": [1, 2, 3]}).to_parquet(tmp_path / "x.parquet")
        assert read_table(str(tmp_path / "x.parquet")).take([2]).place(0).endswith("row 3")

    def test_standard_input(self, stdin):
        stdin(b"a,b\n1,2\n")
        table = read_table("-")
        assert table.place(0) == "standard input, line 2"
        stdin(b'{"a": 1}\n')
        assert read_table("-", format="jsonl").frame["a"].tolist() == [1]

    @pytest.mark.parametrize(
        ("content", "name", "message"),
        [
            ("  \n", "x.csv", "x.csv is empty"),
            ("a,b\n", "x.csv", "has a header but no rows"),
            ("a,b\n1,2\n1,2,3\n", "x.csv", "line 3: 3 cells, but the header has 2. Put quotes"),
            ("a,b\n1\n", "x.csv", r"line 2: 1 cell, but the header has 2.* line break\.$"),
            ("a;b\n1;2,3\n", "x.csv", 'line 2: 2 cells, but the header has 1.*add --separator ";"'),
            ("a\tb\n1\t2,3\n", "x.csv", "another separator: add --format tsv"),
            ('a,b\n1,"x\n', "x.csv", "line 2: unexpected end of data. Check the quotes"),
            ('a,b\n1,2\n1,"x\n3,4\n5,6\n', "x.csv", "line 3: a quote is opened .* not closed"),
            ('a,"b\n1,2\n', "x.csv", "line 1: a quote is opened in this line"),
            ("a,b,a\n1,2,3\n", "x.csv", "2 columns with the name 'a'. Rename them"),
            ("{}\n[1]\n", "x.jsonl", "line 2: an object such as"),
            ('{"a": 1}\n{"a"\n', "x.jsonl", r"line 2: not JSON \(.*\). Every line"),
            ("no parquet", "x.parquet", "is not a Parquet file, or it is damaged"),
            ("a", "x.xlsx", "the name does not show the format. Use --format"),
        ],
    )
    def test_what_cannot_be_read_is_named(self, refuses, content, name, message):
        refuses(content, message, name)

    def test_wrong_options_are_named(self, refuses):
        refuses("a\n", "must be one character; got ';;'", separator=";;")
        refuses("a\n", "'utf-9' is unknown", encoding="utf-9")
        refuses(b"a\n\xff\n", "line 2: the byte 0xff is not ascii. Use another", encoding="ascii")

    def test_a_missing_file_and_a_folder(self, tmp_path):
        with pytest.raises(CommandError, match="cannot be read: No such file"):
            read_table(str(tmp_path / "x.csv"))
        with pytest.raises(CommandError, match=r"is a folder\. Use the name of a file"):
            read_table(str(tmp_path), format="csv")

    def test_a_missing_column_is_told_apart_from_a_wrong_separator(self, read):
        with pytest.raises(CommandError, match=r"no column 'b'. Its columns are: a, c\.$"):
            read("a,c\n1,2\n").column("b")
        with pytest.raises(CommandError, match='another separator: add --separator ";"'):
            read("a;b\n1;2\n").column("b")
        # The whole header is like the name, but it is not what is meant.
        with pytest.raises(CommandError, match='another separator: add --separator ","'):
            read("id,sub_product\n1,2\n", separator=";").column("sub_product")
        many = ",".join(f"c{i}" for i in range(12))
        with pytest.raises(CommandError, match=r"c8, c9 and 2 more\.$"):
            read(f"{many}\n{many}\n").column("other")

    def test_the_format_follows_name_or_option(self):
        assert format_of("X.CSV", None) == "csv"
        assert format_of("x.ndjson", None) == "jsonl"
        assert format_of("x.txt", "tsv") == "tsv"
        assert format_of("x.2024.TSV.GZ", None) == "tsv"
        assert format_of("x.jsonl.gz", None, output=True) == "jsonl"
        assert format_of("x.gz", None, output=True) == format_of("x", None, output=True) == "csv"
        with pytest.raises(CommandError, match=r"x.xlsx: the name .* Use --output-format csv"):
            format_of("x.xlsx", None, output=True)
        with pytest.raises(CommandError, match=r"x.gz: the name .* Use --format csv"):
            format_of("x.gz", None)

    def test_what_is_compressed_is_unpacked_whatever_its_name(self, read, stdin):
        packed = gzip.compress(b"a\tb\n1\t2\n")
        assert read(packed, "data.tsv.gz").frame.to_numpy().tolist() == [["1", "2"]]
        assert read(packed, "data.tsv").frame.to_numpy().tolist() == [["1", "2"]]
        assert read("a,b\n1,2\n", "plain.csv.gz").frame.to_numpy().tolist() == [["1", "2"]]
        stdin(packed)
        assert read_table("-", format="tsv").frame.to_numpy().tolist() == [["1", "2"]]

    @pytest.mark.parametrize(
        "damage", [lambda raw: raw[:-9], lambda raw: raw[:14] + b"?" + raw[15:]]
    )
    def test_a_damaged_compressed_file_is_named(self, refuses, damage):
        packed = gzip.compress(b"a,b\n" + b"1,2\n" * 100)
        refuses(damage(packed), "x.csv.gz is compressed with gzip, but damaged", "x.csv.gz")

    @pytest.mark.parametrize(
        "value",
        [
            "[" * 100_000 + "]" * 100_000,
            '{"a":' * 100_000 + "1" + "}" * 100_000,
            "[" * 100 + "]" * 100,
        ],
        ids=["lists", "objects", "just too deep"],
    )
    def test_json_that_is_nested_too_deeply_is_refused(self, refuses, value):
        message = "line 2: lists or objects are nested more than 100 levels deep. Remove this line"
        refuses(f'{{"a": 1}}\n{{"a": {value}}}\n', message, "x.jsonl")

    def test_json_that_is_just_not_too_deep_is_read_and_written(self, read, tmp_path):
        text = f'{{"a": {"[" * 99}{"]" * 99}}}\n'
        write_table(read(text, "x.jsonl").frame, str(tmp_path / "y.jsonl"), format="jsonl")
        assert (tmp_path / "y.jsonl").read_text(encoding="utf-8") == text

    def test_json_with_too_many_digits_is_refused(self, refuses, read):
        message = "line 1: a number has more than 4,300 digits. Write it as text"
        refuses(f'{{"a": {"9" * 4301}}}\n', message, "x.jsonl")
        assert read(f'{{"a": {"9" * 400}}}\n', "x.jsonl").frame["a"][0] == 10**400 - 1


class TestWrite:
    FRAME = pd.DataFrame(
        {"label": ["=1+1", 'ü, "x"', None], "p": [0.25, np.nan, 1.0], "n": [1, 2, 3]}
    )

    def test_csv(self, tmp_path):
        write_table(self.FRAME, str(tmp_path / "x.csv"), format="csv")
        assert (tmp_path / "x.csv").read_text(encoding="utf-8").splitlines() == [
            "label,p,n", "'=1+1,0.25,1", '"ü, ""x""",,2', ",1.0,3"
        ]  # fmt: skip

    def test_tsv_and_unprotected_cells(self, tmp_path):
        write_table(self.FRAME, str(tmp_path / "x.tsv"), format="tsv", as_they_are=True)
        assert (tmp_path / "x.tsv").read_text(encoding="utf-8").splitlines()[1] == "=1+1\t0.25\t1"

    def test_json_lines(self, tmp_path):
        frame = self.FRAME.assign(
            d=pd.Timestamp("2024-01-02"), i=np.array([1, 2, 3], dtype=np.int8)
        )
        frame["i"] = frame["i"].astype(object).map(np.int8)
        write_table(frame, str(tmp_path / "x.jsonl"), format="jsonl")
        first, second, _ = (tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(first)["label"] == "=1+1"
        assert json.loads(first)["i"] == 1
        assert json.loads(first)["d"].startswith("2024-01-02")
        assert json.loads(second)["p"] is None
        assert "ü" in second

    def test_parquet(self, tmp_path):
        write_table(self.FRAME, str(tmp_path / "x.parquet"), format="parquet")
        back = pd.read_parquet(tmp_path / "x.parquet")
        assert back["label"][0] == "=1+1"
        assert back["n"].tolist() == [1, 2, 3]

    @pytest.mark.parametrize(
        "cells",
        [
            pd.Series([1.0, 1.0, np.nan]),
            pd.Series([np.nan, np.nan, np.nan]),
            pd.Series([1.0, 2.0, None], dtype=object),
        ],
        ids=["whole", "missing", "objects"],
    )
    def test_floating_point_numbers_stay_such_in_parquet(self, tmp_path, cells):
        write_table(pd.DataFrame({"p": cells}), str(tmp_path / "x.parquet"), format="parquet")
        back = pd.read_parquet(tmp_path / "x.parquet")["p"]
        assert back.dtype == np.float64
        np.testing.assert_array_equal(back, cells.astype(np.float64))

    @pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
    def test_a_name_with_gz_is_compressed_and_read_again(self, tmp_path, kind):
        frame = pd.DataFrame({"a": ["x", "ü"], "b": ["1", None]}, dtype=object)
        for name in ("first", "second"):
            write_table(frame, str(tmp_path / f"{name}.{kind}.gz"), format=kind)
        raw = (tmp_path / f"first.{kind}.gz").read_bytes()
        assert raw.startswith(b"\x1f\x8b")
        assert raw == (tmp_path / f"second.{kind}.gz").read_bytes()
        back = read_table(str(tmp_path / f"first.{kind}.gz")).frame
        assert back.to_numpy().tolist() == [["x", "1"], ["ü", None]]

    @pytest.mark.parametrize(
        "cells",
        [[1, "x"], [{}, {}], [[1], "x"], [2**70, 1], ["\ud800", "x"]],
        ids=["mixed types", "empty objects", "a list and a text", "too large", "half a character"],
    )
    def test_cells_that_parquet_lacks_are_refused(self, tmp_path, cells):
        frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
        with pytest.raises(
            CommandError, match=r"cannot be written as Parquet .* choose the columns"
        ):
            write_table(frame, str(tmp_path / "y.parquet"), format="parquet")
        assert list(tmp_path.iterdir()) == []

    def test_half_a_character_does_not_stop_the_output(self, tmp_path):
        frame = pd.DataFrame({"a": ["\ud800"]}, dtype=object)
        for format in ("csv", "jsonl"):
            write_table(frame, str(tmp_path / "x"), format=format)
            assert "?" in (tmp_path / "x").read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("value", "written"),
        [
            ("=SUM(A1)", "'=SUM(A1)"),
            ("+49 30", "'+49 30"),
            ("-Other", "'-Other"),
            ("@user", "'@user"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("\n=1", "'\n=1"),
            ("-1.5", "-1.5"),
            ("+3e4", "+3e4"),
            ("-inf", "'-inf"),
            ("-1 ", "'-1 "),
            ("a=1", "a=1"),
            ("", ""),
            (-2, "-2"),
            (-0.5, "-0.5"),
        ],
    )
    def test_a_cell_never_starts_a_formula(self, value, written):
        assert safe_cell(value) == written


def test_json_lines_have_no_number_that_json_lacks(tmp_path):
    cells = [np.inf, -np.inf, np.float32("nan"), [1.5, np.inf], {"x": (np.nan, "y")}, np.ones(2)]
    cells += [Decimal("1.50"), Decimal(10**30), Decimal("Infinity")]
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    write_table(frame, str(tmp_path / "x.jsonl"), format="jsonl")
    lines = (tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [None, None, None, [1.5, None], {"x": [None, "y"]}, [1.0, 1.0]]
    expected += [1.5, 10**30, None]
    assert [json.loads(line)["a"] for line in lines] == expected


class TestOutput:
    def test_a_failure_leaves_the_old_file_and_nothing_else(self, tmp_path):
        path = tmp_path / "x"
        path.write_bytes(b"old")
        with pytest.raises(TypeError), open_output(str(path)) as file:
            file.writelines([b"new", "no bytes"])
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_file_keeps_its_permissions_and_a_link_stays_a_link(self, tmp_path):
        path, link = tmp_path / "x", tmp_path / "link"
        path.write_bytes(b"old")
        path.chmod(0o640)
        link.symlink_to(path)
        with open_output(str(link)) as file:
            file.write(b"new")
        assert path.read_bytes() == b"new"
        assert link.is_symlink()
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_a_device_is_not_replaced(self):
        with open_output("/dev/null") as file:
            file.write(b"x")
        assert stat.S_ISCHR(__import__("os").stat("/dev/null").st_mode)
        with (
            pytest.raises(CommandError, match="/dev/full cannot be written: No space left"),
            open_output("/dev/full") as file,
        ):
            file.write(b"x")

    def test_bad_places_are_refused_before_any_work(self, tmp_path):
        with pytest.raises(CommandError, match="Use the name of a file"):
            check_output(str(tmp_path))
        with pytest.raises(CommandError, match="there is no folder"):
            check_output(str(tmp_path / "no" / "x"))
        check_output("-")
        check_output(str(tmp_path / "x"))
        assert not (tmp_path / "x").exists()

    def test_missing_permission_is_refused(self, tmp_path, monkeypatch):
        # Root may write everywhere: only the answer of the system can be replaced here.
        monkeypatch.setattr("os.access", lambda *_: False)
        with pytest.raises(CommandError, match="permission denied"):
            check_output(str(tmp_path / "x"))
