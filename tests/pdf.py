"""What a PDF of Chromium's holds, as far as the tests ask: its pages, and the colours that it fills and strokes."""

from __future__ import annotations

import re
import zlib

PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.S)
COLOUR = re.compile(rb"(?<![\d.])([\d.]+) ([\d.]+) ([\d.]+) (?:rg|RG)\b")


def page_count(pdf: bytes) -> int:
    return len(PAGE.findall(pdf))


def colours(pdf: bytes) -> set[str]:
    """Return every colour that is drawn with, as "#rrggbb"."""
    found = set()
    for packed in STREAM.findall(pdf):
        try:
            content = zlib.decompress(packed)
        except zlib.error:
            continue  # a picture or a font
        found |= {"#" + "".join(f"{round(255 * float(part)):02x}" for part in one) for one in COLOUR.findall(content)}
    return found
