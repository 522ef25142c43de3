"""What a model costs and how its cache behaves on a given day, read from one dated, cited card per provider.

A card is ``cards/<provider>.toml``. Its prices are dollars per million tokens (storage: per million tokens and
hour), in a list of rows: a row with ``from`` is the price from that day on, a row with ``above_tokens`` is another
rate of the row before it, for whole requests whose prompt is longer. A changed price is a new row, never an edit.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from npcmem import checks
from npcmem.cache import CacheRules
from npcmem.money import Price, Tier


@dataclass(frozen=True, slots=True)
class Offer:
    """One model's price and cache rules on one day.

    ``rules``: the shorter lifetime on offer; ``rules_long``: the longer one, None where there is none. Storage in
    ``price`` is owed only under rules that pay it (a Gemini cache created on request). ``context_window``: tokens, None
    where no source states it. ``since``: first day this price is known to hold. ``checked``: day the card was last
    held against its ``source``. ``notes``: what is assumed, disputed or unpublished, in words.
    """

    id: str
    name: str
    provider: str
    price: Price
    rules: CacheRules
    rules_long: CacheRules | None
    context_window: int | None
    since: date
    checked: date
    source: str
    notes: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of a card: its offers in order of date, and what a comparison with genai-prices has to know.

    ``reference``: provider and model there, None where it has neither. ``check_hour_utc``: the hour to ask for, which
    matters where prices follow the clock. ``differs``: where it has another rate (``write_long``, ``above 200,000``)
    and why.
    """

    offers: tuple[Offer, ...]
    aliases: tuple[str, ...]
    reference: tuple[str, str] | None
    check_hour_utc: int
    differs: Mapping[str, str]


def offer(model: str, on: date | None = None) -> Offer:
    """Return the offer of ``model`` in force on a day; without a day, on the day its card was checked.

    Raises KeyError for an unknown model, naming the nearest, and ValueError for a day before its first price.
    """
    dated = changes(model)
    day = dated[0].checked if on is None else _day(on)
    first = dated[0].since
    if day < first:
        raise ValueError(f"{dated[0].id} has no price on {day}; its first price is from {first}")
    return max((found for found in dated if found.since <= day), key=lambda found: found.since)


def offers(on: date | None = None) -> dict[str, Offer]:
    """Return every model's offer on a day, by id and in the order of the cards; one not yet priced is left out."""
    day = None if on is None else _day(on)
    return {
        model: offer(model, day)
        for model, entry in entries().items()
        if entry.offers[0].since <= (day or entry.offers[0].checked)
    }


def changes(model: str) -> tuple[Offer, ...]:
    """Return a model's offers in order of date, announced ones included. Raises KeyError for an unknown model."""
    ids = _ids()
    return entries()[ids[checks.known("model", model, ids)]].offers


@cache
def _ids() -> Mapping[str, str]:
    """Return each id and alias with the id it stands for."""
    return {alias: known for known, entry in entries().items() for alias in (known, *entry.aliases)}


def _day(on: date) -> date:
    if not isinstance(on, date):
        raise TypeError(f"on must be a date, got {on!r}")
    return on.date() if isinstance(on, datetime) else on


# --- reading cards --------------------------------------------------------------------------------

_NUMBER = (int, float)
_CARD = {"provider": str, "checked": date, "source": str, "notes": str, "rules": dict, "model": list}
_MODEL = {"id": str, "name": str, "rules": str, "prices": list}
_MODEL_MORE = {
    "rules_long": str,
    "min_tokens": int,
    "context_window": int,
    "source": str,
    "notes": str,
    "aliases": list,
    "genai_prices": str,
    "check_hour_utc": int,
    "differs": list,
}
_RATES = {"input": _NUMBER, "output": _NUMBER}
_RATES_MORE = {"read": _NUMBER, "write": _NUMBER, "write_long": _NUMBER, "storage_usd_per_mtok_hour": _NUMBER}
_GPU = {"usd_per_gpu_hour": _NUMBER, "prefill_tokens_per_s": _NUMBER, "decode_tokens_per_s": _NUMBER}
_RULES_MORE = {
    "granularity_tokens": int,
    "max_breakpoints": int,
    "lookback_blocks": int,
    "capacity_tokens": int,
    "long_ttl_s": _NUMBER,
    "long_blocks": int,
    "learns_units": bool,
    "recomputes_last": bool,
    "cached_blocks": int,
    "refreshes": bool,
    "pays_storage": bool,
}


@cache
def entries() -> Mapping[str, Entry]:
    """Return every model of every card by id. Raises ValueError naming card, model and field of a faulty one."""
    found: dict[str, Entry] = {}
    names: set[str] = set()
    for path in sorted((files("npcmem") / "cards").iterdir(), key=lambda path: path.name):
        if path.name.endswith(".toml"):
            for model, entry in read_card(path.name, path.read_text("utf-8")).items():
                for name in (model, *entry.aliases):
                    if name in names:
                        raise ValueError(f"card {path.name}, model {model!r}: the id {name!r} is taken")
                    names.add(name)
                found[model] = entry
    return MappingProxyType(found)


def read_card(card: str, text: str) -> dict[str, Entry]:
    """Return the models of one card. Raises ValueError naming card, model and field of whatever is wrong."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"card {card} is not TOML: {error}") from error
    _fields(f"card {card}", data, _CARD, {"genai_prices": str})
    found = {}
    for number, model in enumerate(data["model"], start=1):
        where = f"card {card}, model {model.get('id', f'number {number}')!r}"
        try:
            found[model.get("id")] = _entry(where, data, model)
        except (KeyError, TypeError, ValueError) as error:
            sentence = checks.sentence(error)
            raise ValueError(sentence if sentence.startswith(where) else f"{where}: {sentence}") from error
    return found


def _fields(where: str, table: Mapping[str, Any], needed: Mapping[str, Any], more: Mapping[str, Any]) -> None:
    """Refuse a table that lacks a needed field, has an unknown one, or one of another type."""
    for field in needed:
        if field not in table:
            raise ValueError(f"{where}: the field {field!r} is missing")
    for field, value in table.items():
        kind = {**needed, **more}.get(field)
        if kind is None:
            raise ValueError(f"{where}: unknown field {field!r}")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{where}: the field {field!r} has the wrong type, got {value!r}")
        if value == "":
            raise ValueError(f"{where}: the field {field!r} is empty")


def _entry(where: str, card: Mapping[str, Any], model: Mapping[str, Any]) -> Entry:
    _fields(where, model, _MODEL, _MODEL_MORE)
    rules = _rules(where, card, model, model["rules"], long=False)
    rules_long = _rules(where, card, model, model["rules_long"], long=True) if "rules_long" in model else None
    priced = _prices(where, model["prices"])
    for differs in model.get("differs", ()):
        _fields(f"{where}, differs", differs, {"field": str, "reason": str}, {})
    reference = (card["genai_prices"], model.get("genai_prices", model["id"])) if "genai_prices" in card else None
    return Entry(
        tuple(
            Offer(
                id=model["id"],
                name=model["name"],
                provider=card["provider"],
                price=price,
                rules=rules,
                rules_long=rules_long,
                context_window=model.get("context_window"),
                since=since,
                checked=card["checked"],
                source=model.get("source", card["source"]),
                # What holds for one model is read first; what holds for its whole provider still holds.
                notes=" ".join(filter(None, (model.get("notes"), card["notes"]))),
            )
            for since, price in priced
        ),
        tuple(model.get("aliases", ())),
        reference,
        model.get("check_hour_utc", 12),
        {differs["field"]: differs["reason"] for differs in model.get("differs", ())},
    )


def _rules(where: str, card: Mapping[str, Any], model: Mapping[str, Any], name: str, long: bool) -> CacheRules:
    table = card["rules"][checks.known("set of rules", name, card["rules"])]
    _fields(f"{where}, rules {name!r}", table, {"ttl_s": _NUMBER}, _RULES_MORE)
    return CacheRules(**table, min_tokens=model.get("min_tokens", 0), long_writes=long)


def _prices(where: str, rows: list[Mapping[str, Any]]) -> list[tuple[date, Price]]:
    """Return the dated prices of a price list, tiers attached."""
    priced: list[tuple[date, Price]] = []
    for number, row in enumerate(rows, start=1):
        at = f"{where}, price row {number}"
        if "from" in row:
            day = row["from"]
            if "usd_per_gpu_hour" in row:
                _fields(at, row, {"from": date, **_GPU}, {})
                price = Price.self_hosted(**{field: row[field] for field in _GPU})
            else:
                _fields(at, row, {"from": date, **_RATES}, _RATES_MORE)
                price = _rates(row)
            if priced and day <= priced[-1][0]:
                raise ValueError(f"{at}: 'from' ({day}) must be later than the row before ({priced[-1][0]})")
            priced.append((day, price))
        elif "above_tokens" in row and priced:
            _fields(at, row, {"above_tokens": int, **_RATES}, _RATES_MORE)
            since, price = priced[-1]
            priced[-1] = since, replace(price, tiers=(*price.tiers, Tier(row["above_tokens"], _rates(row))))
        else:
            raise ValueError(f"{at}: the field 'from' is missing")
    if not priced:
        raise ValueError(f"{where}: the field 'prices' is empty")
    return priced


def _rates(row: Mapping[str, Any]) -> Price:
    rates = {field: float(row[field]) for field in (*_RATES, *_RATES_MORE) if field in row}
    return Price.of(rates.pop("input"), **rates)
