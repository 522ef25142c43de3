"""The command line: what it prints, its exit codes, and that bad input is one sentence."""

import ast
import re
import sys
from pathlib import Path

import pytest

from npcmem import claims, cli, offers_check
from npcmem.cli import main
from npcmem.offers import offers
from npcmem.offers_check import Difference


def run(capsys, *argv):
    code = main([*argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_prices_list(capsys):
    code, out, err = run(capsys, "prices", "list")
    rows = out.splitlines()[2:]
    assert (code, err, len(rows)) == (0, "", len(offers()))
    cells = {row.split()[0]: " ".join(row.split()[1:]) for row in rows}
    assert cells["gpt-6-luna"] == "0.1 0.5 0.01 0.125 0.25 1,024 2026-10-12 30 min, 12 h"
    assert cells["nova-lite"] == "0.06 0.24 0.015 0.06 - 1,536 2026-11-04 5 min"
    assert len({re.search(r" 20\d\d-", row).start() for row in rows}) == 1  # the dates stand below each other


def test_prices_list_on_a_day(capsys):
    code, out, _ = run(capsys, "prices", "list", "--on", "2027-01-01")
    assert code == 0
    row = next(row for row in out.splitlines() if row.startswith("gemini-3.8-flash "))
    assert row.split()[1:4] == ["1.5", "7.5", "0.15"]


def test_prices_show(capsys):
    code, out, _ = run(capsys, "prices", "show", "claude-haiku-5-5")
    assert code == 0
    for part in ("21.7%", "52.6%", "above 100,000", "output $2.5", "512 tokens", "checked", "notes", "source"):
        assert part in out
    assert max(map(len, out.splitlines())) <= 100


def test_prices_show_changes_and_storage(capsys):
    _, out, _ = run(capsys, "prices", "show", "gemini-3.8-flash", "--on", "2026-12-31")
    assert "from 2026-09-23  input $0.75" in out and "from 2027-01-01  input $1.5" in out
    assert "$0.5 per million tokens and hour" in out and "pays from 1.85 uses" in " ".join(out.split())
    _, out, _ = run(capsys, "prices", "show", "self-hosted-8b")
    assert "491,520 tokens" in out and "until evicted" in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["prices", "show", "sonet-4"], "unknown model 'sonet-4'; nearest: 'claude-sonnet-4-6'"),
        (["prices", "show", "gpt-4o", "--on", "2020-01-01"], "gpt-4o has no price on 2020-01-01; its first price is"),
        (["prices", "list", "--on", "2020-01-01"], "no model has a price on 2020-01-01"),
        (["prices", "list", "--on", "soon"], "must be a date like 2026-11-30, got 'soon'"),
        (["prices"], "ACTION"),
        (["dance"], "invalid choice: 'dance'"),
        ([], "COMMAND"),
    ],
)
def test_bad_input_is_one_sentence(capsys, argv, sentence):
    code, out, err = run(capsys, *argv)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("npcmem: ") and sentence in err


def test_help(capsys):
    code, out, err = run(capsys, "--help")
    assert code == 0 and "prices" in out and err == ""


def test_prices_check(capsys):
    pytest.importorskip("genai_prices")
    code, out, _ = run(capsys, "prices", "check")
    assert code == 0
    assert "0 faults" in out and "self-hosted-8b: not listed" in out and "gpt-6-luna write_long: card 0.25" in out


@pytest.mark.parametrize(("card", "theirs", "reason"), [(1.0, 2.0, None), (None, None, "once")], ids=["new", "stale"])
def test_prices_check_fails_on_a_fault(capsys, monkeypatch, card, theirs, reason):
    fault = Difference("m", "read", card, theirs, reason)
    monkeypatch.setattr(offers_check, "differences", lambda: [fault])
    monkeypatch.setattr(offers_check, "unlisted", lambda: [])
    code, out, _ = run(capsys, "prices", "check")
    assert code == 1 and "1 faults" in out and fault.verdict in out


def test_prices_check_without_the_package(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    code, _, err = run(capsys, "prices", "check")
    assert code == 2 and "npcmem[prices]" in err and err.count("\n") == 1


@pytest.mark.parametrize(("name", "sentence"), [("", "no .ipynb in it"), ("none.ipynb", "no such file")])
def test_a_dashboard_without_a_notebook_is_one_sentence(capsys, tmp_path, name, sentence):
    code, out, err = run(capsys, "dashboard", str(tmp_path / name))
    assert (code, out) == (2, "")
    assert err.startswith("npcmem: notebooks must be a") and err.endswith(f"{sentence}\n") and err.count("\n") == 1


def test_claims(capsys):
    code, out, err = run(capsys, "claims")
    rows, total = out.splitlines()[1:-1], out.splitlines()[-1]
    assert (code, err) == (0, "") and total.startswith(f"{len(rows)} claims: ")
    row = next(row for row in rows if row.startswith("saving-at-60 "))
    assert row.split()[1:] == ["summary-interval", "incomplete", "57%", "57.2%", "(wider:", "14.3%;", "27.3%)"]


def test_claims_of_an_article_with_a_verdict(capsys):
    code, out, _ = run(capsys, "claims", "--article", "npc-memory", "--verdict", "unsupported")
    assert code == 0 and out.splitlines()[1].split()[0] == "search-latency"
    assert out.splitlines()[-1] == "1 claims: 0 right, 0 incomplete, 0 wrong, 1 unsupported"


def test_one_claim(capsys):
    code, out, _ = run(capsys, "claims", "ten-turn-conversation")
    assert code == 0 and max(map(len, out.splitlines())) <= 100
    for part in ("Multi-turn cost: Crossover analysis", "wrong: ", "claimed $0.025, computed $0.1375", "5.5 times"):
        assert part in out


@pytest.mark.parametrize("argv", [["ten-turn-conversation"], ["--article", "multi-turn-cost"], []])
def test_claims_fail_where_a_verdict_is_another_than_expected(capsys, monkeypatch, argv):
    monkeypatch.setattr(claims, "verdict", lambda claim, results: "right")
    code, out, _ = run(capsys, "claims", *argv)
    assert code == 1 and "right (expected: wrong)" in out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["ten-turns"], "unknown claim 'ten-turns'; nearest: "),
        (["--article", "npc"], "unknown article 'npc'; nearest: 'npc-memory'"),
        (["--verdict", "wrongs"], "unknown verdict 'wrongs'; nearest: 'wrong'"),
        (["ten-turn-conversation", "--verdict", "wrong"], "takes an id or a filter, got both"),
    ],
)
def test_a_bad_choice_of_claims_is_one_sentence(capsys, argv, sentence):
    code, out, err = run(capsys, "claims", *argv)
    assert (code, out, err.count("\n")) == (2, "", 1) and sentence in err


@pytest.mark.parametrize(("name", "why"), [("taken", "File exists"), ("taken/below", "Not a directory")])
def test_a_place_that_cannot_be_written_is_one_sentence(capsys, tmp_path, name, why):
    (tmp_path / "taken").write_text("a file, not a folder")
    code, out, err = run(capsys, "data", str(tmp_path / name))
    assert (code, out, err) == (2, "", f"npcmem: cannot use {str(tmp_path / name)!r}: {why}\n")


def test_a_fact_stands_apart_from_its_label_however_long_that_is(capsys, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("session,ts\na,1700000000\na,1700000100\na,1700000400\n")
    code, out, _ = run(capsys, "pace", str(log), *(f"--ttl-s={ttl}" for ttl in ("300", "1234", "5000", "inf")))
    rows = [row for row in out.splitlines() if row.startswith("cached ")]
    labels = [re.split(r"\s{2,}", row)[0] for row in rows]
    assert (code, labels) == (0, ["cached 5 min", "cached 20.6 min", "cached 1.39 h", "cached until evicted"])
    assert len({row.index("% of turns hit") for row in rows}) == 1


def test_importing_the_command_is_cheap():
    top = ast.parse(Path(cli.__file__).read_text()).body
    imports = [node for node in top if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {getattr(node, "module", None) or node.names[0].name for node in imports}
    assert {name.partition(".")[0] for name in modules} <= sys.stdlib_module_names
