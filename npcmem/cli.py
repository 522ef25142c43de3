"""The command ``npcmem``. A subcommand is one ``_add_…`` that names its arguments and one handler that runs it.

A handler returns the exit code and may raise ValueError, KeyError, TypeError or OSError: ``main`` makes them a sentence
and exit code 2. Rooms are imported inside the handlers, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from npcmem.claims import Checked
    from npcmem.money import Price


def main(argv: list[str] | None = None) -> int:
    """Run a command line and return its exit code: 0 done, 1 the command found a fault, 2 bad input."""
    parser = _Parser(prog="npcmem", description="What it costs when a game character remembers.")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in SUBCOMMANDS:
        add(subparsers)
    try:
        args = parser.parse_args(argv)
        return args.run(args)
    except SystemExit as stop:  # argparse has printed the help
        return int(stop.code or 0)
    except (KeyError, TypeError, ValueError) as error:
        from npcmem import checks

        return _fail(checks.sentence(error))
    except OSError as error:
        return _fail(f"cannot use {error.filename!r}: {error.strerror}" if error.filename else str(error))


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are a sentence like everybody else's, without the usage above it."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _fail(sentence: str) -> int:
    print(f"npcmem: {sentence}", file=sys.stderr)
    return 2


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a date like 2026-11-30, got {text!r}") from None


def _table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as aligned columns, the first and the last flush left, those between flush right."""
    rows = [*rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join((
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)),
            row[-1],
        ))
        for row in rows
    )  # fmt: skip


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    """Return labelled facts, one below the other, long ones wrapped beside their label."""
    facts = [*facts]
    width = max([17, *(len(label) + 2 for label, _ in facts)])
    return "\n".join(
        textwrap.fill(fact, 100, initial_indent=label.ljust(width), subsequent_indent=" " * width)
        for label, fact in facts
    )


# --- prices ---------------------------------------------------------------------------------------


def _add_prices(subparsers: argparse._SubParsersAction) -> None:
    prices = subparsers.add_parser("prices", help="list, show or check the price cards")
    actions = prices.add_subparsers(title="actions", metavar="ACTION", required=True)

    listing = actions.add_parser("list", help="every model's prices and cache lifetimes")
    listing.add_argument("--on", type=_date, metavar="DATE", help="prices of this day (default: of each card's check)")
    listing.set_defaults(run=_prices_list)

    show = actions.add_parser("show", help="everything a card says about one model")
    show.add_argument("model")
    show.add_argument("--on", type=_date, metavar="DATE", help="the price of this day (default: of the card's check)")
    show.set_defaults(run=_prices_show)

    check = actions.add_parser("check", help="hold the cards against genai-prices")
    check.set_defaults(run=_prices_check)


def _usd(rate: float) -> str:
    return f"{rate:.4g}"


def _lifetime(ttl_s: float) -> str:
    from npcmem.dialogue import duration

    return "until evicted" if ttl_s == float("inf") else duration(ttl_s)


def _rates(price: Price, long: bool) -> str:
    """Return every rate with its name, the longer lifetime's write only where there is one."""
    rates = {"input": price.uncached, "output": price.output, "read": price.read, "write": price.write}
    if long:
        rates["write long"] = price.write_long
    return ", ".join(f"{name} ${_usd(rate)}" for name, rate in rates.items())


def _prices_list(args: argparse.Namespace) -> int:
    from npcmem.offers import offers

    rows = [("model", "in", "out", "read", "write", "write long", "min prefix", "since", "lifetimes")]
    for found in offers(args.on).values():
        price, long = found.price, found.rules_long
        rates = (price.uncached, price.output, price.read, price.write)
        lifetimes = ", ".join(_lifetime(rules.ttl_s) for rules in (found.rules, long) if rules)
        write_long = _usd(price.write_long) if long else "-"
        prefix = f"{found.rules.min_tokens:,}"
        rows.append((found.id, *map(_usd, rates), write_long, prefix, str(found.since), lifetimes))
    if len(rows) == 1:
        raise ValueError(f"no model has a price on {args.on}")
    print("Dollars per million tokens; the shortest cached prefix in tokens.")
    print(_table(rows))
    return 0


def _prices_show(args: argparse.Namespace) -> int:
    from npcmem.formulas import break_even_hit_rate, storage_break_even_reads
    from npcmem.offers import changes, offer

    found = offer(args.model, args.on)
    price, rules, long = found.price, found.rules, found.rules_long
    facts = [
        ("id", found.id),
        ("provider", found.provider),
        ("since", str(found.since)),
        ("input", f"${_usd(price.uncached)} per million tokens"),
        ("output", f"${_usd(price.output)} ({price.rho:.3g} × input)"),
        ("cache read", f"${_usd(price.read)} ({price.r:.3g} × input)"),
    ]
    lifetimes = [(rules, price.write, price.w), *([(long, price.write_long, price.w_long)] if long else [])]
    for kind, write, w in lifetimes:
        pays = f"hit rate of {break_even_hit_rate(price.r, w):.1%}" if w > 1 else "first hit"
        kept = f"kept {_lifetime(kind.ttl_s)}, pays from the {pays}"
        facts += [("cache write", f"${_usd(write)} ({w:.3g} × input), {kept}")]
    if price.storage_usd_per_mtok_hour:
        uses = storage_break_even_reads(price.r, price.storage_usd_per_mtok_hour / price.uncached, 1)
        storage = f"${_usd(price.storage_usd_per_mtok_hour)} per million tokens and hour for the longer lifetime"
        facts += [("cache storage", f"{storage}, an hour of which pays from {uses:.3g} uses")]
    steps = f", cached in steps of {rules.granularity_tokens:,}" if rules.granularity_tokens > 1 else ""
    facts += [("shortest prefix", f"{rules.min_tokens:,} tokens{steps}")]
    for label, value, unit in (
        ("breakpoints", rules.max_breakpoints, "a request"),
        ("lookback", rules.lookback_blocks, "block ends"),
        ("cache capacity", rules.capacity_tokens, "tokens"),
        ("context window", found.context_window, "tokens"),
    ):
        facts += [(label, f"{value:,} {unit}")] if value is not None else []
    for tier in price.tiers:
        facts += [(f"above {tier.above_tokens:,}", f"the whole request: {_rates(tier.price, bool(long))}")]
    dated = changes(args.model)
    if len(dated) > 1:
        facts += [(f"from {other.since}", _rates(other.price, bool(long))) for other in dated]
    facts += [("checked", str(found.checked)), ("source", found.source), ("notes", found.notes)]
    print(found.name)
    print(_facts(facts))
    return 0


def _prices_check(args: argparse.Namespace) -> int:
    from npcmem import offers_check

    try:
        found, unlisted = offers_check.differences(), offers_check.unlisted()
    except ImportError:
        return _fail("the check needs the package genai-prices; install the extra npcmem[prices]")
    for difference in found:
        rates = "" if difference.card is None else f" card {_usd(difference.card)}, theirs {_usd(difference.theirs)},"
        reason = f": {difference.reason}" if difference.reason else ""
        print(f"{difference.model} {difference.field}:{rates} {difference.verdict}{reason}")
    for model in unlisted:
        print(f"{model}: not listed by genai-prices")
    faults = sum(difference.verdict != "explained" for difference in found)
    print(f"{len(found) - faults} differences explained, {faults} faults, {len(unlisted)} models not listed")
    return 1 if faults else 0


# --- pages ----------------------------------------------------------------------------------------


def _add_dashboard(subparsers: argparse._SubParsersAction) -> None:
    dashboard = subparsers.add_parser("dashboard", help="serve the pages")
    dashboard.add_argument(
        "notebooks", nargs="?", metavar="NOTEBOOKS", help="a notebook or a folder (default: our pages)"
    )
    dashboard.add_argument("--port", type=int, default=8866)
    dashboard.add_argument("--ip", default="127.0.0.1", help="address to listen on (default: this machine only)")
    dashboard.add_argument("--base-url", default="/", help="path under which a proxy shows the pages")
    warm = "kernels started ahead for each page, about 62 MB each (default: 1)"
    dashboard.add_argument("--warm-kernels", type=int, default=1, metavar="N", help=warm)
    dashboard.add_argument("--cull-after-s", type=int, default=600, metavar="S", help="idle seconds of a closed page")
    crowd = "many visitors in one process, about 0.2 MB each, without kernels (default: Voila, a kernel each)"
    dashboard.add_argument("--crowd", action="store_true", help=crowd)
    dashboard.add_argument("--open", action="store_true", help="open a browser")
    dashboard.set_defaults(run=_dashboard)


def _dashboard(args: argparse.Namespace) -> int:
    from pathlib import Path

    from npcmem.serve import own_notebooks, serve, serve_to_a_crowd

    notebooks = Path(args.notebooks) if args.notebooks else own_notebooks()
    where = {"port": args.port, "ip": args.ip, "base_url": args.base_url, "open_browser": args.open}
    try:
        if args.crowd:
            serve_to_a_crowd(notebooks, **where)
        else:
            serve(notebooks, warm_kernels=args.warm_kernels, cull_after_s=args.cull_after_s, **where)
    except ImportError:
        extra = "crowd" if args.crowd else "pages"
        return _fail(f"the pages need more than this installation has; install the extra npcmem[{extra}]")
    return 0


# --- telemetry ------------------------------------------------------------------------------------


def _add_pace(subparsers: argparse._SubParsersAction) -> None:
    pace = subparsers.add_parser("pace", help="what a CSV of player inputs says about think time and hit rates")
    pace.add_argument("csv", help="a file with a session and a time column, and a role column if it has replies too")
    pace.add_argument(
        "--ttl-s", type=float, action="append", metavar="S", help="cache lifetime (default: 300 and 3600)"
    )
    pace.set_defaults(run=_pace)


def _pace(args: argparse.Namespace) -> int:
    from pathlib import Path

    from npcmem import checks
    from npcmem.telemetry import read_player_inputs

    path = Path(args.csv)
    if not path.is_file():
        raise ValueError(f"csv must be a file, got {args.csv!r}: no such file")
    inputs = read_player_inputs(path)
    print(inputs.summary())
    facts = [("median gap", f"{inputs.pace().median_s():.4g} s")]
    for ttl_s in args.ttl_s or (300.0, 3600.0):
        checks.number("ttl_s", ttl_s, 0, float("inf"), "seconds", above=True)
        facts += [(f"cached {_lifetime(ttl_s)}", f"{inputs.hit_rate(ttl_s):.1%} of turns hit")]
    if len(inputs.gaps_s) >= 4:
        fit = inputs.fit()
        parts = zip(fit.weights, fit.medians_s, fit.log_sds, strict=True)
        facts += [("lognormal fit", " + ".join(f"{w:.2f} x (median {m:.4g} s, log-sd {sd:.2f})" for w, m, sd in parts))]
    facts += [("note", note) for note in inputs.notes]
    facts += [(f"line {problem.line}", problem.sentence) for problem in inputs.problems[:20]]
    if len(inputs.problems) > 20:
        facts += [("", f"and {len(inputs.problems) - 20:,} more rows kept aside")]
    print(_facts(facts))
    return 0


# --- claims ---------------------------------------------------------------------------------------


def _add_claims(subparsers: argparse._SubParsersAction) -> None:
    claims = subparsers.add_parser("claims", help="every number of the five articles, recomputed")
    claims.add_argument("id", nargs="?", metavar="ID", help="one claim in full (default: a table of them)")
    claims.add_argument("--article", metavar="ID", help="claims of this article only")
    claims.add_argument("--verdict", metavar="V", help="claims with this verdict only")
    claims.set_defaults(run=_claims)


def _claims(args: argparse.Namespace) -> int:
    from npcmem import checks
    from npcmem.claims import ARTICLES, VERDICTS, check, claims, find

    if args.id is not None:
        if args.article is not None or args.verdict is not None:
            raise ValueError(f"claims takes an id or a filter, got both: {args.id!r}")
        return _claim(check(find(args.id)))
    for kind, value, choices in (("article", args.article, ARTICLES), ("verdict", args.verdict, VERDICTS)):
        if value is not None:
            checks.known(kind, value, choices)
    found = [check(claim) for claim in claims() if args.article in (None, claim.article)]
    shown = [one for one in found if args.verdict in (None, one.verdict)]
    rows = [(one.claim.id, one.claim.article, _verdict(one), _some(one.stated), _recomputed(one)) for one in shown]
    print(_table([("claim", "article", "verdict", "claimed", "computed"), *rows]))
    counts = ", ".join(f"{sum(one.verdict == verdict for one in shown)} {verdict}" for verdict in VERDICTS)
    print(f"{len(shown)} claims: {counts}")
    return 0 if all(one.as_expected for one in found) else 1


def _claim(checked: Checked) -> int:
    from npcmem.claims import ARTICLES, VERDICTS

    claim = checked.claim
    facts = [
        ("id", claim.id),
        ("article", f"{ARTICLES[claim.article]}: {claim.where}"),
        ("claim", claim.claim),
        ("verdict", f"{_verdict(checked)}: {VERDICTS[checked.verdict]}"),
        ("in fact", checked.sentence),
    ]
    for stated, computed, wider in zip(checked.stated, checked.computed, checked.wider, strict=True):
        more = f"; under wider assumptions {', '.join(wider)}" if wider else ""
        facts.append(("figure", f"claimed {stated}, computed {computed}{more}"))
    facts.append(("recomputed by", f"npcmem.claim_checks.{claim.call}"))
    print(_facts(facts))
    return 0 if checked.as_expected else 1


def _verdict(checked: Checked) -> str:
    return checked.verdict if checked.as_expected else f"{checked.verdict} (expected: {checked.claim.verdict})"


def _recomputed(checked: Checked) -> str:
    wider = [figure for figures in checked.wider for figure in figures]
    return _some(checked.computed) + (f" (wider: {_some(wider)})" if wider else "")


def _some(figures: Sequence[str]) -> str:
    """Return the first figures of a row; a whole table of them has its own page."""
    return "; ".join(figures[:3]) + (" …" if len(figures) > 3 else "")


# --- the articles' data ---------------------------------------------------------------------------


def _add_data(subparsers: argparse._SubParsersAction) -> None:
    data = subparsers.add_parser("data", help="write the data behind the articles' tables and charts as JSON")
    data.add_argument("folder", nargs="?", default="data/articles", help="default: data/articles")
    data.set_defaults(run=_data)


def _data(args: argparse.Namespace) -> int:
    from pathlib import Path

    from npcmem.articles import write

    folder = Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for path in write(folder):
        print(path)
    return 0


# --- all subcommands, in the order of the help ----------------------------------------------------

SUBCOMMANDS = (_add_dashboard, _add_prices, _add_pace, _add_claims, _add_data)

if __name__ == "__main__":
    sys.exit(main())
