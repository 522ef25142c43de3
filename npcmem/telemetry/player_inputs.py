"""A CSV of player inputs: one row per message with its session and its time.

Columns, by any of their usual names: the session, the time (ISO 8601 or epoch seconds or milliseconds) and,
if there is one, the role. With a role a run of player messages before the character answers is one turn,
at the time of its first message; without one every row is a turn.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock

import numpy as np

from npcmem import checks
from npcmem.dialogue import YEAR_S
from npcmem.thinktime import Empirical, ThinkTime, fit

MOST_BYTES = 64 * 2**20
MANY_LINES, LEAST_BYTES = 500_000, 8  # more lines are this long on average, or hold no session and time
MOST_NOTES = 5
LINE_ENDS = ("\n", "\r")
CSV_LIMIT = Lock()  # the csv module has one limit on cells for the whole process
SESSION_NAMES = ("session_id", "session", "sessionid", "conversation_id", "conversation", "thread_id", "chat_id")
TIME_NAMES = (
    *("ts", "time", "timestamp", "datetime", "created_at", "start_time", "starttime", "event_timestamp"),
    *("request_created_at", "sent_at", "send_date"),
)
ROLE_NAMES = ("role", "author_role", "sender", "speaker_role", "from")
PLAYER = frozenset({"player", "user", "human"})
CHARACTER = frozenset({"npc", "assistant", "character", "ai", "bot", "model"})
KINDS = {
    "zoned": "an ISO 8601 time with a zone",
    "zoneless": "an ISO 8601 time without a zone",
    "seconds": "epoch seconds",
    "milliseconds": "epoch milliseconds",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A row that was kept aside: the line of the file it stands on and why, in a sentence."""

    line: int
    sentence: str


@dataclass(frozen=True, eq=False)
class PlayerInputs:
    """What a file of player inputs says.

    ``turns_s``: for each session the epoch seconds of its player turns, in order. ``rows``: how many rows
    the file had. ``problems``: the rows kept aside. ``notes``: what was assumed about the rest.
    """

    turns_s: dict[str, np.ndarray]
    rows: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]

    @property
    def turns(self) -> int:
        return sum(map(len, self.turns_s.values()))

    @property
    def gaps_s(self) -> np.ndarray:
        """Seconds between consecutive player turns of a session, all sessions one after the other."""
        return np.concatenate([np.empty(0), *(np.diff(times) for times in self.turns_s.values())])

    def pace(self) -> Empirical:
        """Return the measured gaps as a think time; ValueError where no session has two turns."""
        return Empirical(self.gaps_s)

    def hit_rate(self, ttl_s: float) -> float:
        """The share of these turns that would have found a cache of this TTL warm; first turns never do."""
        return float((self.gaps_s < ttl_s).sum() / self.turns)

    def fit(self, parts: int = 2, log_end_s: float | None = None, open_s: float = 3600.0) -> ThinkTime:
        """Fit a lognormal mixture to the gaps.

        ``log_end_s``: when the log was cut, in epoch seconds. Sessions whose last turn is at most ``open_s``
        seconds before it are still open: their last gap is known only to be longer than what the log shows of
        it, and enters the fit as such. All others have ended, and a player who left has no next gap. Raises
        ValueError for a log that ends before its last turn.
        """
        if log_end_s is None:
            return fit(self.gaps_s, (), parts)
        checks.number("log_end_s", log_end_s, -1e12, 1e12, "epoch seconds")
        checks.number("open_s", open_s, 0, YEAR_S, "seconds")
        waits_s = log_end_s - np.array([times[-1] for times in self.turns_s.values()])
        if waits_s.min() < 0:
            last_s = log_end_s - waits_s.min()
            raise ValueError(f"log_end_s must be >= {last_s:.12g} epoch seconds, the last turn, got {log_end_s:.12g}")
        return fit(self.gaps_s, waits_s[waits_s <= open_s], parts)

    def summary(self) -> str:
        """Return what was read and what was not, in a sentence or two."""
        aside = f"; {len(self.problems):,} of {self.rows:,} rows kept aside" if self.problems else ""
        return f"{len(self.turns_s):,} sessions, {self.turns:,} player turns, {len(self.gaps_s):,} gaps{aside}."


def read_player_inputs(source: bytes | str | Path) -> PlayerInputs:
    """Read a CSV of player inputs from a path or from its bytes.

    Rows that cannot be used are kept aside with their line and a sentence. A quote that is not closed costs at
    most the lines up to the next one that is a row by itself; where it costs none a note says so. Raises
    ValueError where nothing can be read at all: no text, no such columns, no usable row.
    """
    lines, delimiter = _lines(source)
    problems: list[Problem] = []
    read: list[tuple[int, str, str, float, str]] = []  # line, session, kind of time, epoch seconds, role
    count, stray = 0, []
    with _long_cells():
        header, start = _header(lines, delimiter)
        _, time_at, role_at = columns = _columns(header)
        is_row = partial(_is_row, header, columns, delimiter)
        for line, spans, row in _rows(lines, start, delimiter, is_row):
            count += 1
            try:
                read.append((line, *_fields(header, columns, row)))
                if spans == 1 and row[-1].endswith(LINE_ENDS):
                    stray.append(line)
            except ValueError as error:
                more = f"; {spans:,} lines went into it" if spans > 1 else ""
                problems.append(Problem(line, f"{error}{more}"))
    if not count:
        raise ValueError("the file has a header and no rows; it needs at least 2 player turns of one session")
    kept, notes = _of_one_kind(header[time_at], read, problems)
    if stray:
        notes.append(f"rows with a quote that is not closed, read as a letter: {len(stray):,}, first line {stray[0]}.")
    has_role = role_at is not None
    turns_s = {name: _turns(header[time_at], name, of, has_role, problems, notes) for name, of in kept.items()}
    problems.sort(key=lambda problem: problem.line)
    if len(notes) > MOST_NOTES:
        notes = [*notes[:MOST_NOTES], f"{len(notes) - MOST_NOTES:,} more sessions were put in order of time."]
    inputs = PlayerInputs({k: v for k, v in turns_s.items() if len(v)}, count, tuple(problems), tuple(notes))
    if not inputs.turns:
        first = f"; the first: line {problems[0].line}: {problems[0].sentence}" if problems else ""
        raise ValueError(f"none of the {count:,} rows is a usable player input{first}")
    if not len(inputs.gaps_s):
        raise ValueError(f"none of the {len(inputs.turns_s):,} sessions has 2 player turns; a gap needs two")
    return inputs


def _lines(source: bytes | str | Path) -> tuple[list[str], str]:
    """Return the lines of a CSV, each with its end, and what separates its cells: commas, semicolons or tabs."""
    content = source if isinstance(source, bytes) else Path(source).read_bytes()
    if len(content) > MOST_BYTES:
        raise ValueError(f"the file must be <= {MOST_BYTES:,} bytes, got {len(content):,}")
    try:
        utf16 = content[:2] in (b"\xff\xfe", b"\xfe\xff")
        text = content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"the file is not UTF-8 text: byte {error.start:,} cannot be read") from None
    if (count := max(map(text.count, LINE_ENDS))) > MANY_LINES and len(content) < LEAST_BYTES * count:
        raise ValueError(
            f"the file must have lines of >= {LEAST_BYTES} bytes on average, a session and a time, "
            f"got {count:,} lines in {len(content):,} bytes"
        )
    delimiter = max(",;\t", key=text.lstrip().split("\n", 1)[0].count)
    return list(io.StringIO(text.removesuffix("\n") + "\n", newline="")), delimiter


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let a cell be as long as a file for now; the limit of the csv module is then what it was."""
    with CSV_LIMIT:
        before = csv.field_size_limit(MOST_BYTES)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _header(lines: list[str], delimiter: str) -> tuple[list[str], int]:
    """Return the names of the columns and how many lines stand before the first row."""
    reader = csv.reader(lines, delimiter=delimiter)
    for row in reader:
        if any(cell.strip() for cell in row):
            return [name.strip() for name in row], reader.line_num
    raise ValueError("the file is empty; it needs a header with a session and a time column")


def _rows(
    lines: list[str], at: int, delimiter: str, is_row: Callable[[str], bool]
) -> Iterator[tuple[int, int, list[str] | None]]:
    """Yield the rows that are not blank: the line each starts on, how many lines it has, and its cells.

    A quote may hold line ends, but no line that is a row by itself: a quote that is not closed before the
    next such line is stray. If its own line is a row all the same, it is yielded with the line's end in its
    last cell; if not, or if other lines stand between, there are no cells.
    """
    while at < len(lines):
        start, row = at, _cells(lines[at], delimiter)
        at += 1
        if row[-1].endswith(LINE_ENDS):
            reader = csv.reader(_quoted(lines, start, delimiter, is_row), delimiter=delimiter, strict=True)
            try:
                row = next(reader)
                at = start + reader.line_num
            except csv.Error:
                while at < len(lines) and not is_row(lines[at]):
                    at += 1
                if at - start > 1 or not is_row(lines[start]):
                    row = None
        if row is None or any(cell.strip() for cell in row):
            yield start + 1, at - start, row


def _quoted(lines: list[str], start: int, delimiter: str, is_row: Callable[[str], bool]) -> Iterator[str]:
    """Yield the line that opens a quote and those behind it, up to the next one that is a row by itself.

    That one is yielded too if it closes the quote and the line that opened it is no row: the text comes
    first then, and the other columns behind its last line.
    """
    yield lines[start]
    for at in range(start + 1, len(lines)):
        if is_row(lines[at]):
            closes = re.match(rf'(?:[^"]|"")*+"[{delimiter}\r\n]', lines[at])
            if closes and not is_row(lines[start]):
                yield lines[at]
            return
        yield lines[at]


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of one line; its end is in the last of them only where a quote is still open."""
    if '"' in line:
        return next(csv.reader([line], delimiter=delimiter))
    return line.rstrip("\r\n").split(delimiter)


def _is_row(header: list[str], columns: tuple[int, int, int | None], delimiter: str, line: str) -> bool:
    """Say whether a line is a usable row by itself."""
    try:
        _fields(header, columns, _cells(line, delimiter))
    except ValueError:
        return False
    return True


def _columns(header: list[str]) -> tuple[int, int, int | None]:
    """Return where the session, the time and, if there, the role stand."""
    lower = [name.lower() for name in header]

    def find(names: tuple[str, ...]) -> int | None:
        return next((lower.index(name) for name in names if name in lower), None)

    session_at, time_at, role_at = find(SESSION_NAMES), find(TIME_NAMES), find(ROLE_NAMES)
    for what, at, names in (("session", session_at, SESSION_NAMES), ("time", time_at, TIME_NAMES)):
        if at is None:
            has = ", ".join(repr(name[:30]) for name in header[:6]) + (" …" if len(header) > 6 else "")
            raise ValueError(f"no column for the {what}; name it {names[0]!r} or {names[1]!r}; the columns are {has}")
    return session_at, time_at, role_at


def _fields(
    header: list[str], columns: tuple[int, int, int | None], row: list[str] | None
) -> tuple[str, str, float, str]:
    """Return session, kind of time, epoch seconds and role of one row, or say what is wrong with it."""
    if row is None:
        raise ValueError("opens a quote that is not closed")
    if len(row) != len(header):
        raise ValueError(f"has {len(row)} fields where the header has {len(header)}")
    session_at, time_at, role_at = columns
    session = row[session_at].strip()
    if not session:
        raise ValueError(f"{header[session_at]} is empty")
    role = row[role_at].strip().lower() if role_at is not None else "player"
    if role not in PLAYER and role not in CHARACTER:
        raise ValueError(f"{header[role_at]} {role[:30]!r} is neither a player nor a character")
    return session, *_time(header[time_at], row[time_at].strip()), role


def _time(name: str, text: str) -> tuple[str, float]:
    """Return the kind of a time and its epoch seconds."""
    try:
        value = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{name} {text[:40]!r} is neither ISO 8601 nor epoch seconds or milliseconds") from None
        kind = "zoned" if moment.tzinfo else "zoneless"
        return kind, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if 1e8 <= value < 1e11:
        return "seconds", value
    if 1e11 <= value < 1e14:
        return "milliseconds", value / 1000
    shown = "not a number" if math.isnan(value) else f"{value:g}"
    raise ValueError(f"{name} must be between 1e8 (epoch seconds) and 1e14 (epoch milliseconds), got {shown}")


def _of_one_kind(
    name: str, read: list[tuple[int, str, str, float, str]], problems: list[Problem]
) -> tuple[dict[str, list[tuple[float, int, str]]], list[str]]:
    """Return (time, line, role) by session for the rows whose time is of the commonest kind; others go aside."""
    kinds = Counter(kind for _, _, kind, _, _ in read)
    common = kinds.most_common(1)[0][0] if kinds else "zoned"
    kept: dict[str, list[tuple[float, int, str]]] = {}
    for line, session, kind, at_s, role in read:
        if kind == common:
            kept.setdefault(session, []).append((at_s, line, role))
        else:
            problems.append(Problem(line, f"{name} is {KINDS[kind]} where most rows have {KINDS[common]}"))
    notes = []
    if common == "zoneless":
        notes.append(f"{name} has no zone and was read as UTC; a clock change inside a session would shift a gap.")
    return kept, notes


def _turns(
    name: str,
    session: str,
    rows: list[tuple[float, int, str]],
    has_role: bool,
    problems: list[Problem],
    notes: list[str],
) -> np.ndarray:
    """Return the times of one session's player turns, in order."""
    back = [(then - now, line) for (then, *_), (now, line, _) in zip(rows, rows[1:], strict=False) if now < then]
    if back:
        notes.append(
            f"line {back[0][1]}: {name} goes back by {back[0][0]:g} s within session {session[:40]}; "
            f"its {len(rows):,} rows were put in order of time."
        )
        rows = sorted(rows, key=lambda row: row[0])
    turns: list[tuple[float, int]] = []
    before_s, before = -math.inf, ""
    for at_s, line, role in rows:
        same_run = has_role and before in PLAYER and at_s - before_s <= YEAR_S
        if role in PLAYER and not same_run:
            turns.append((at_s, line))
        before_s, before = at_s, role
    return _within_a_year(name, session, turns, problems)


def _within_a_year(name: str, session: str, turns: list[tuple[float, int]], problems: list[Problem]) -> np.ndarray:
    """Return the times of the turns, but for those more than a year away from most: their clock is wrong."""
    times = np.array([at_s for at_s, _ in turns])
    spans = np.split(np.arange(len(turns)), np.flatnonzero(np.diff(times) > YEAR_S) + 1)
    most = max(spans, key=len)
    for span in spans:
        if span is not most:
            for at in span:
                early = at < most[0]
                days = abs(times[at] - times[most[0 if early else -1]]) / 86_400
                where = f"{days:,.0f} days {'before' if early else 'after'} the other turns of session {session[:40]}"
                problems.append(Problem(turns[at][1], f"{name} is {where}"))
    return times[most]
