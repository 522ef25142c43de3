"""Player inputs: measured figures, every form of a time, and files that are wrong in every way."""

from __future__ import annotations

import csv
import math
from datetime import datetime

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from npcmem import Empirical, ThinkTime
from npcmem import formulas as f
from npcmem.telemetry import player_inputs, read_player_inputs


def read(*lines: str, header: str = "session_id,ts"):
    return read_player_inputs("\n".join((header, *lines)).encode())


def refused(content: bytes) -> str:
    with pytest.raises(ValueError) as error:
        read_player_inputs(content)
    return str(error.value)


# --- the players of Cicero ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cicero(shared):
    return read_player_inputs(shared("traces/cicero_messages.csv"))


def test_cicero_has_1657_turns_in_101_sessions(cicero):
    assert (len(cicero.turns_s), cicero.turns, len(cicero.gaps_s), cicero.rows) == (101, 1657, 1556, 5343)
    assert cicero.problems == ()
    assert cicero.summary() == "101 sessions, 1,657 player turns, 1,556 gaps."


def test_ciceros_median_gap_is_112_s_and_23_percent_are_past_5_minutes(cicero):
    assert cicero.pace().median_s() == 112
    assert 1 - cicero.pace().cdf(300.0) == pytest.approx(0.233, abs=5e-4)
    assert 1 - cicero.pace().cdf(3600.0) == pytest.approx(0.0026, abs=5e-5)
    assert np.percentile(cicero.gaps_s, [10, 90, 99]) == pytest.approx([46, 532.5, 2422.05])


@pytest.mark.parametrize(
    ("ttl", "write", "rate", "cost"), [(300, 1.25, 0.719976, 0.486247), (3600, 2.0, 0.936632, 0.307021)]
)
def test_ciceros_hit_rates_and_relative_costs(cicero, ttl, write, rate, cost):
    assert cicero.hit_rate(ttl) == pytest.approx(rate, abs=1e-6)
    assert f.relative_input_cost(cicero.hit_rate(ttl), 0.1, write, 2400, 300) == pytest.approx(cost, abs=1e-6)


def test_ciceros_gaps_are_two_lognormals(cicero):
    found = cicero.fit(2)
    assert isinstance(found, ThinkTime)
    assert found.weights == pytest.approx((0.38, 0.62), abs=0.005)
    assert found.medians_s == pytest.approx((62.2, 229.1), rel=0.005)
    assert found.log_sds == pytest.approx((0.35, 0.96), abs=0.005)


def test_other_traces_are_read_too(shared):
    assert read_player_inputs(shared("traces/fireball_messages.csv")).turns == 182
    assert "no column for the session" in refused(shared("traces/azure_conv_2023.csv").read_bytes())


# --- turns ----------------------------------------------------------------------------------------


def test_without_a_role_every_row_is_a_turn():
    inputs = read("a,1700000000", "a,1700000030", "b,1700000000", "b,1700000100", "b,1700000400")
    assert {name: np.diff(times).tolist() for name, times in inputs.turns_s.items()} == {"a": [30], "b": [100, 300]}
    assert sorted(inputs.gaps_s) == [30, 100, 300]
    assert isinstance(inputs.pace(), Empirical)
    assert inputs.hit_rate(300) == 2 / 5


def test_a_run_of_player_messages_is_one_turn_at_its_first():
    rows = ("player,0", "player,5", "npc,9", "user,60", "assistant,62", "bot,63", "Human,100", "player,101")
    inputs = read(
        *(f"a,{1_700_000_000 + int(at)},{who}" for who, at in (row.split(",") for row in rows)),
        header="session,time,role",
    )
    assert inputs.gaps_s.tolist() == [60, 40]


def test_a_one_turn_session_counts_as_a_turn_without_a_gap():
    inputs = read("a,1700000000", "b,1700000000", "b,1700000010")
    assert (inputs.turns, inputs.gaps_s.tolist()) == (3, [10])
    assert inputs.hit_rate(300) == 1 / 3


def test_rows_of_sessions_may_be_interleaved():
    inputs = read("a,1700000000", "b,1700000001", "a,1700000010", "b,1700000021")
    assert sorted(inputs.gaps_s) == [10, 20]
    assert inputs.notes == ()


def test_ties_are_gaps_of_0_and_no_going_back():
    inputs = read("a,1700000000", "a,1700000000", "a,1700000007")
    assert inputs.gaps_s.tolist() == [0, 7]
    assert inputs.notes == ()


def test_rows_out_of_order_are_sorted_with_a_note_that_names_line_and_session():
    inputs = read("s_03,1700000000", "s_03,1700000100", "s_03,1700000058", "s_04,1700000000")
    assert inputs.gaps_s.tolist() == [58, 42]
    assert inputs.problems == ()
    (note,) = inputs.notes
    assert note.startswith("line 4: ts goes back by 42 s within session s_03; ")


# --- times ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "gap"),
    [
        (("2023-11-16 18:15:46.6805900", "2023-11-16 18:15:50.9951690"), 4.314579),
        (("2023-11-16T18:15:46", "2023-11-16T18:16:46"), 60),
        (("2023-11-16T18:15:46Z", "2023-11-16T18:15:47.5Z"), 1.5),
        (("2023-11-16T18:15:46+00:00", "2023-11-16T20:15:50+02:00"), 4),
        (("2023-11-16T23:59:59-05:00", "2023-11-17T00:00:01-05:00"), 2),
        (("1700000000", "1700000012.25"), 12.25),
        (("1700000000000", "1700000012250"), 12.25),
        (("1.7e9", "1.7000001e9"), 100),
        (("2024-12-31T23:59:59Z", "2025-01-01T00:00:01Z"), 2),
    ],
    ids=["7 digits", "no zone", "Z", "two offsets", "midnight", "seconds", "milliseconds", "exponent", "new year"],
)
def test_every_usual_form_of_a_time_is_read(times, gap):
    inputs = read(*(f"a,{time}" for time in times))
    assert inputs.gaps_s == pytest.approx([gap], abs=1e-5)
    assert inputs.problems == ()


def test_a_time_is_the_second_it_says():
    inputs = read("a,2023-11-16T20:15:46+02:00", "a,2023-11-16T18:16:46Z")
    assert inputs.turns_s["a"][0] == datetime.fromisoformat("2023-11-16T18:15:46+00:00").timestamp()


def test_times_without_a_zone_are_read_as_utc_and_said_so():
    inputs = read("a,2024-03-31T01:59:00", "a,2024-03-31T03:01:00")
    assert inputs.gaps_s.tolist() == [62 * 60]
    (note,) = inputs.notes
    assert note.startswith("ts has no zone and was read as UTC")


def test_times_of_another_kind_than_most_are_kept_aside_by_line():
    inputs = read("a,1700000000", "a,1700000010000", "a,1700000020", "a,2023-11-14T22:13:50", "a,1700000040")
    assert inputs.gaps_s.tolist() == [20, 20]
    assert [(problem.line, problem.sentence) for problem in inputs.problems] == [
        (3, "ts is epoch milliseconds where most rows have epoch seconds"),
        (5, "ts is an ISO 8601 time without a zone where most rows have epoch seconds"),
    ]
    assert inputs.summary().endswith("2 of 5 rows kept aside.")


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ("yesterday", "ts 'yesterday' is neither ISO 8601 nor epoch seconds or milliseconds"),
        ("", "ts '' is neither ISO 8601 nor epoch"),
        ("nan", "ts must be between 1e8 (epoch seconds) and 1e14 (epoch milliseconds), got not a number"),
        ("inf", "got inf"),
        ("-5", "got -5"),
        ("51407", "got 51407"),
        ("1e300", "got 1e+300"),
        ("2023-13-45T00:00:00Z", "is neither ISO 8601 nor epoch"),
    ],
)
def test_a_row_with_a_bad_time_is_kept_aside_with_its_line_and_a_sentence(time, words):
    inputs = read("a,1700000000", f"a,{time}", "a,1700000010")
    (problem,) = inputs.problems
    assert problem.line == 3
    assert words in problem.sentence
    assert (inputs.rows, inputs.turns) == (3, 2)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("a,1700000005", "has 2 fields where the header has 3"),
        ("a,1700000005,player,x", "has 4 fields where the header has 3"),
        (",1700000005,player", "session_id is empty"),
        ("a,1700000005,narrator", "role 'narrator' is neither a player nor a character"),
        ("a,1900000005,player", "ts is 2,315 days after the other turns of session a"),
    ],
)
def test_every_other_bad_row_is_kept_aside_with_its_line_and_a_sentence(row, words):
    inputs = read("a,1700000000,player", "a,1700000002,npc", row, "a,1700000010,player", header="session_id,ts,role")
    assert [(problem.line, problem.sentence) for problem in inputs.problems] == [(4, words)]
    assert inputs.gaps_s.tolist() == [10]


def test_one_time_far_too_early_does_not_cost_the_good_rows_their_session():
    inputs = read("a,100000000", *(f"a,{1_700_000_000 + 10 * at}" for at in range(5)))
    assert inputs.gaps_s.tolist() == [10] * 4
    assert [(problem.line, problem.sentence) for problem in inputs.problems] == [
        (2, "ts is 18,519 days before the other turns of session a")
    ]


def test_nor_does_it_swallow_the_run_of_messages_behind_it():
    times = (100_000_000, 1_700_000_000, 1_700_000_001, 1_700_000_060)
    rows = zip(times, ("player", "player", "npc", "player"), strict=True)
    assert read(*(f"a,{at_s},{who}" for at_s, who in rows), header="session_id,ts,role").gaps_s.tolist() == [60]


# --- files ----------------------------------------------------------------------------------------

PLAIN = "session_id,ts\na,1700000000\na,1700000010\n"


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r\n").rstrip().encode(),
        PLAIN.replace("\n", "\r").encode(),
        PLAIN.encode("utf-8-sig"),
        PLAIN.encode("utf-16"),
        PLAIN.encode("utf-16-be").join((b"\xfe\xff", b"")),
        PLAIN.replace(",", ";").encode(),
        PLAIN.replace(",", "\t").encode(),
        ("\n \n" + PLAIN + "\n\n").encode(),
        PLAIN.replace("session_id,ts", " Session_ID , TS ").encode(),
        b'"session_id","ts"\n"a","1700000000"\n"a","1700000010"\n',
        b"ts,player_id,conversation_id\n1700000000,p,a\n1700000010,p,a\n",
    ],
    ids=[
        "plain", "CRLF", "no last line end", "CR", "UTF-8 with BOM", "UTF-16", "UTF-16 big-endian",
        "semicolons", "tabs", "blank lines", "capitals and spaces", "quotes", "other columns",
    ],
)  # fmt: skip
def test_every_usual_form_of_a_file_is_read(content):
    inputs = read_player_inputs(content)
    assert inputs.gaps_s.tolist() == [10]
    assert (inputs.rows, inputs.problems) == (2, ())


def test_a_file_is_read_from_a_path_as_from_its_bytes(tmp_path):
    file = tmp_path / "inputs.csv"
    file.write_bytes(PLAIN.encode())
    assert read_player_inputs(file).gaps_s.tolist() == read_player_inputs(str(file)).gaps_s.tolist() == [10]


def test_newlines_in_quotes_are_one_row_and_lines_are_still_the_files():
    inputs = read('a,1700000000,"hello,\nyou\n"', "a,bad,x", 'a,1700000010,"say ""hi"""', header="session_id,ts,text")
    assert inputs.gaps_s.tolist() == [10]
    assert [problem.line for problem in inputs.problems] == [5]


def test_a_bad_row_of_several_lines_stands_on_its_first():
    inputs = read("a,1700000000,x", 'a,bad,"one\ntwo\nthree"', "a,1700000010,x", header="session_id,ts,text")
    assert [problem.line for problem in inputs.problems] == [3]


ROWS = [f"s{at},{1_700_000_000 + 60 * turn},hi" for at in range(10) for turn in range(10)]


def of_ten_sessions(at: int, *lines: str):
    """Read 100 good rows with one of them put by others; it stands on line ``at + 2``."""
    return read(*ROWS[:at], *lines, *ROWS[at + 1 :], header="session_id,ts,text")


@pytest.mark.parametrize("line", ['s2,1700000000,"hi', 's2,1700000000,"hi, ""you""'])
def test_a_stray_quote_in_a_text_is_a_letter(line):
    """It once swallowed all rows up to the next quote, in silence."""
    inputs = of_ten_sessions(20, line)
    assert (inputs.turns, inputs.problems) == (100, ())
    assert inputs.notes == ("rows with a quote that is not closed, read as a letter: 1, first line 22.",)


@pytest.mark.parametrize("line", ['s2,"1700000000,hi', '"s2,1700000000,hi', '"'])
def test_a_stray_quote_in_another_column_costs_its_row_alone(line):
    inputs = of_ten_sessions(20, line)
    assert inputs.turns == 99
    assert [(problem.line, problem.sentence) for problem in inputs.problems] == [
        (22, "opens a quote that is not closed")
    ]


def test_lines_that_a_stray_quote_took_are_counted():
    inputs = of_ten_sessions(20, 's2,1700000000,"hi', "you", "", "there")
    assert inputs.turns == 99
    assert [(problem.line, problem.sentence) for problem in inputs.problems] == [
        (22, "opens a quote that is not closed; 4 lines went into it")
    ]
    (problem,) = of_ten_sessions(20, '"s2', 'x,y"').problems
    assert problem.sentence == "has 1 fields where the header has 3; 2 lines went into it"


def test_two_stray_quotes_do_not_make_one_cell_of_the_rows_between_them():
    lines = [*ROWS[:20], 's2,1700000000,"hi', *ROWS[21:29], 's2,1700000540,bye"', *ROWS[30:]]
    assert read(*lines, header="session_id,ts,text").turns == 100
    assert read(*lines[:21], *lines[29:], header="session_id,ts,text").turns == 92
    quoted = [",".join(f'"{cell}"' for cell in row.split(",")) for row in ROWS]
    assert read(*quoted[:20], quoted[20][:-1], *quoted[21:], header="session_id,ts,text").turns == 100


def test_a_text_of_several_lines_may_come_first_or_in_the_middle():
    for header, rows in (
        ("text,session_id,ts", ('"a\nb",a,1700000000', '"a,1,2\n\nb ""c""\n",a,1700000010')),
        ("session_id,text,ts", ('a,"a\nb",1700000000', 'a,"a,1,2\n\nb ""c""\n",1700000010')),
        ("text,session_id,ts", ('"a\nb","a","1700000000"', '"a\r\nb","a","1700000010"')),
    ):
        inputs = read(*rows, header=header)
        assert (inputs.gaps_s.tolist(), inputs.problems, inputs.notes) == ([10], (), ())


def test_a_cell_may_be_as_long_as_it_is_and_the_csv_module_keeps_its_limit():
    limit = csv.field_size_limit()
    inputs = of_ten_sessions(20, "s2,1700000000," + "x" * 200_000)
    assert (inputs.turns, inputs.problems) == (100, ())
    inputs = of_ten_sessions(20, 's2,1700000000,"' + "x\n" * 100_000 + '"')
    assert (inputs.turns, inputs.problems) == (100, ())
    assert "no column for the session" in refused(b"x" * 200_000)
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    "lines", ['x","z\n', 'x","z\ns1,1700000000,",q,"z\n', '"q\n', '"""\n', 's1,1700000000,"hi\n'], ids=repr
)
def test_quotes_that_open_again_and_again_are_read_in_one_pass(lines, monkeypatch):
    """Lines read again for each quote would be 10^8 here."""
    cells, taken = player_inputs._cells, []
    monkeypatch.setattr(player_inputs, "_cells", lambda *line: taken.append(1) or cells(*line))
    content = "session_id,ts,text\n" + lines * 10_000
    try:
        read_player_inputs(content.encode())
    except ValueError as error:
        assert str(error).startswith("none of the ")
    assert len(taken) <= 4 * content.count("\n")


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"  \r\n", b"\xef\xbb\xbf", b",,\n", b'""\n', b'"",""\n\n""\n'], ids=repr
)
def test_an_empty_file_says_so(content):
    assert refused(content) == "the file is empty; it needs a header with a session and a time column"


def test_a_header_alone_says_so():
    assert (
        refused(b"session_id,ts\n")
        == "the file has a header and no rows; it needs at least 2 player turns of one session"
    )


@pytest.mark.parametrize(
    ("header", "what", "name"),
    [("who,ts", "session", "session_id"), ("session_id,when", "time", "ts"), ("a", "session", "session_id")],
)
def test_a_missing_column_is_named_with_the_columns_there_are(header, what, name):
    said = refused(f"{header}\n1,2\n".encode())
    assert said.startswith(f"no column for the {what}; name it '{name}' or ")
    assert said.endswith("the columns are " + ", ".join(map(repr, header.split(","))))


def test_a_file_without_one_usable_row_names_the_first_problem():
    assert refused(b"session_id,ts\na,x\na,y\n") == (
        "none of the 2 rows is a usable player input; the first: line 2: "
        "ts 'x' is neither ISO 8601 nor epoch seconds or milliseconds"
    )


def test_sessions_of_one_turn_each_have_no_gap_to_read():
    assert refused(b"session_id,ts\na,1700000000\nb,1700000000\n") == (
        "none of the 2 sessions has 2 player turns; a gap needs two"
    )


def test_a_file_of_characters_only_has_no_player():
    said = refused(b"session_id,ts,role\na,1700000000,npc\na,1700000010,npc\n")
    assert said == "none of the 2 rows is a usable player input"


def test_what_is_not_text_says_so():
    assert refused(b"\x89PNG\r\n\x1a\n\x00").startswith("the file is not UTF-8 text: byte 0 ")
    assert refused(np.random.default_rng(0).bytes(10_000_000)).startswith("the file is not UTF-8 text: byte ")


def test_ten_megabytes_of_letters_are_refused_in_a_sentence():
    letters = bytes(np.random.default_rng(0).integers(97, 123, 10_000_000, dtype=np.uint8))
    assert refused(letters).startswith("no column for the session; ")
    assert refused(b"session_id,ts\n" + letters).endswith("line 2: has 1 fields where the header has 2")


def test_200_000_bad_rows_are_counted():
    assert refused(b"session_id,ts\n" + b"a,b\n" * 200_000).startswith(
        "none of the 200,000 rows is a usable player input"
    )


def test_a_file_past_the_bound_is_refused_before_it_is_read():
    assert refused(b"x" * (64 * 2**20 + 1)).startswith("the file must be <= 67,108,864 bytes, got 67,108,865")


# --- fits with a cut log --------------------------------------------------------------------------


def test_a_log_that_was_cut_knows_of_longer_gaps():
    rng, truth = np.random.default_rng(8), ThinkTime((1.0,), (100.0,), (1.0,))
    lines, end_s = [], 1_700_000_000 + 900.0
    for session in range(600):
        at_s = 1_700_000_000 + rng.uniform(0, 600)
        while at_s < end_s:
            lines.append(f"s{session},{at_s:.3f}")
            at_s += truth.sample(rng).item()
    inputs = read(*lines)
    with_end, without = inputs.fit(1, end_s), inputs.fit(1)
    assert with_end.medians_s[0] == pytest.approx(100, rel=0.1)
    assert without.medians_s[0] < 85


DELIBERATE = ThinkTime((0.38, 0.62), (62.0, 229.0), (0.35, 0.96))
START_S = 1_700_000_000


def log_of(sessions: int, days: float):
    """Return sessions of 10 turns that begin at any time of so many days, and the second the log was cut."""
    rng, end_s = np.random.default_rng(3), START_S + days * 86_400
    begun_s = START_S + rng.uniform(0, end_s - START_S, sessions)
    turns_s = begun_s[:, None] + np.cumsum(DELIBERATE.sample(rng, (sessions, 10)), axis=1)
    return read(*(f"s{at},{time:.3f}" for at, of in enumerate(turns_s) for time in of if time < end_s)), end_s


@pytest.mark.parametrize(("sessions", "days"), [(200, 30), (600, 1)], ids=["a month", "a busy day"])
def test_sessions_that_ended_do_not_bend_the_pace_of_a_cut_log(sessions, days):
    """Nobody who left for good is still thinking: such sessions once drew a median to 700 years."""
    inputs, end_s = log_of(sessions, days)
    found = inputs.fit(2, log_end_s=end_s)
    assert found.median_s() == pytest.approx(DELIBERATE.median_s(), rel=0.08)
    assert found.medians_s == pytest.approx(DELIBERATE.medians_s, rel=0.15)
    assert 1 - found.cdf(300.0) == pytest.approx(1 - DELIBERATE.cdf(300.0), abs=0.03)


def test_a_session_is_open_up_to_an_hour_before_the_end_or_as_long_as_said():
    inputs = read(*(f"a,{START_S + at * at}" for at in range(9)), *(f"b,{START_S + at * at}" for at in range(8)))
    last_s, ended = START_S + 64, inputs.fit(1)
    assert inputs.fit(1, last_s + 3601) == ended
    assert inputs.fit(1, last_s + 3600).medians_s[0] > 1.1 * ended.medians_s[0]
    assert inputs.fit(1, last_s + 3600, open_s=3599) == ended
    assert inputs.fit(1, last_s + 3601, open_s=3601).medians_s[0] > 1.1 * ended.medians_s[0]
    assert inputs.fit(1, 1_900_000_000) == ended


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"log_end_s": START_S + 63}, "log_end_s must be >= 1700000064 epoch seconds, the last turn, got 1700000063"),
        ({"log_end_s": math.nan}, r"log_end_s must be >= .* epoch seconds, got nan"),
        ({"log_end_s": START_S * 1000}, r"log_end_s must be <= .* epoch seconds, got 1\.7e\+12"),
        ({"log_end_s": START_S + 99, "open_s": -1}, "open_s must be >= 0 seconds, got -1"),
    ],
)
def test_an_end_that_cannot_be_is_refused_in_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        read(*(f"a,{START_S + at * at}" for at in range(9))).fit(1, **arguments)


# --- anything -------------------------------------------------------------------------------------

times = st.sampled_from(
    ["1700000000", "1700000050.5", "1700000000000", "2023-11-16T18:15:46Z", "2023-11-16 18:15:46.1234567", "1e8", "nan"]
) | st.text(max_size=8)
csv_rows = st.lists(
    st.tuples(st.sampled_from(["a", "b", "", '"q\nr"']), times, st.sampled_from(["", ",", ",x"])), max_size=20
)


def check(content: bytes) -> None:
    """Content parses or is refused in a sentence; without a role every row is a turn or a problem."""
    try:
        inputs = read_player_inputs(content)
    except ValueError as error:
        assert type(error) is ValueError
        assert str(error)
        return
    assert len(inputs.gaps_s) == inputs.turns - len(inputs.turns_s) > 0
    assert (inputs.gaps_s >= 0).all()
    assert np.isfinite(inputs.gaps_s).all()
    assert inputs.turns + len(inputs.problems) <= inputs.rows
    assert all(problem.line >= 2 and problem.sentence for problem in inputs.problems)
    assert 0 <= inputs.hit_rate(300.0) <= 1
    if b"role" not in content and b"sender" not in content and b"from" not in content:
        assert inputs.turns + len(inputs.problems) == inputs.rows


@given(st.binary(max_size=300))
@example(b",,\n")
@example(b'""\n')
def test_any_bytes_parse_or_are_refused(content):
    check(content)


@given(st.binary(max_size=200), st.sampled_from([b"session_id,ts\n", b"session;time;role\n", b"\xff\xfes\x00"]))
def test_any_bytes_behind_a_header_parse_or_are_refused(content, header):
    check(header + content)


@given(csv_rows)
@example([("a", "1700000000", ""), ("a", "0001-01-01T00:00:00+14:00", ""), ("a", "1700000050", "")])
@example([("a", "9999-12-31T23:59:59-14:00", ""), ("a", "9999-12-31T23:59:58-14:00", "")])
@example([("a", "1_700_000_000", ""), ("a", "1700000000", ""), ("a", "1700000001", "")])
def test_any_rows_are_turns_or_problems(rows):
    check(("session_id,ts\n" + "\n".join(f"{who},{at}{more}" for who, at, more in rows)).encode("utf-8", "replace"))


def test_many_disordered_sessions_are_counted_not_listed():
    rows = [f"s{at},{1_700_000_000 + 60 * (1 - turn)}" for at in range(40) for turn in range(2)]
    inputs = read_player_inputs("\n".join(["session,ts", *rows]).encode())
    assert inputs.turns == 80
    assert len(inputs.notes) == 6
    assert inputs.notes[-1] == "35 more sessions were put in order of time."


@pytest.mark.parametrize("line", ["x\n", '"\n', "\n", "\r\n", 'a,"\n'])
def test_a_file_of_lines_too_short_for_a_row_is_refused_at_once(line):
    """Eight megabytes of them took a gigabyte and ten seconds of a server."""
    content = b"session,ts\na,1700000000\na,1700000010\n" + line.encode() * 600_000
    with pytest.raises(ValueError, match=r"^the file must have lines of >= 8 bytes on average, .*, got [0-9,]+ lines"):
        read_player_inputs(content)
