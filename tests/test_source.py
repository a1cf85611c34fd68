"""Places in text: lines, columns, and what a span shows."""

from pywgsl.source import Source


def test_a_line_is_found_from_its_first_and_last_character() -> None:
    source = Source("a.py", "one\ntwo\n\nfour")
    assert [source.line_of(offset) for offset in (0, 3, 4, 7, 8, 9, 12)] == [0, 0, 1, 1, 2, 3, 3]
    assert [source.line_text(index) for index in range(4)] == ["one", "two", "", "four"]


def test_line_and_column_are_those_of_the_authors_file() -> None:
    source = Source("a.py", "def f():\n    x = 1", first_line=10, first_column=8)
    span = source.span(13, 14)
    assert span.text == "x"
    assert span.location() == "a.py:11:13"


def test_a_span_never_ends_before_it_starts() -> None:
    span = Source("a.py", "abc").span(2, 1)
    assert (span.start, span.end) == (2, 2)


def test_columns_count_characters_not_bytes() -> None:
    source = Source("a.py", "é = ö + x")
    assert source.span(8, 9).column == 9
    assert source.span(8, 9).text == "x"
