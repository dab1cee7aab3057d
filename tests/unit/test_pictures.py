"""The animation of a terminal shows each line at the right time."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pyte

from tests.tools.pictures.svg import LAST_FRAME_SECONDS, Frame, frame_of, picture

GROUP = "{http://www.w3.org/2000/svg}g"
TEXT = "{http://www.w3.org/2000/svg}text"


def frames(*outputs: bytes) -> list[Frame]:
    """Return one frame for each output, a second apart."""
    screen = pyte.Screen(20, 3)
    stream = pyte.ByteStream(screen)
    found = []
    for number, output in enumerate(outputs):
        stream.feed(output)
        found.append(frame_of(screen, float(number)))
    return found


def read_frames(svg: str) -> dict[str, str]:
    """Return the `keyTimes` of each line by its text."""
    lines = ElementTree.fromstring(svg).findall(f"{GROUP}/{GROUP}")
    return {
        "".join(text.text or "" for text in line.findall(TEXT)): next(
            (each.attrib["keyTimes"] for each in line if "keyTimes" in each.attrib), "always"
        )
        for line in lines
    }


def test_a_line_is_one_element_for_as_long_as_it_stays_the_same() -> None:
    total = 2 + LAST_FRAME_SECONDS
    svg = picture(frames(b"first\r\n", b"sec", b"ond"), 20, "A title")

    assert read_frames(svg) == {
        "first": "always",
        "sec": f"0;{1 / total:.4f};{2 / total:.4f}",
        "second": f"0;{2 / total:.4f}",
    }
    assert "<title>A title</title>" in svg


def test_colours_and_spaces_stay_and_markup_is_text() -> None:
    svg = picture(frames(b"\x1b[1;31m <b> \x1b[0m&"), 20, "a & b")

    texts = list(ElementTree.fromstring(svg).iter(TEXT))
    assert [text.text for text in texts] == ["\N{NO-BREAK SPACE}<b>", "&"]
    assert texts[0].attrib["font-weight"] == "bold"
    assert texts[0].attrib["fill"] != texts[1].attrib["fill"]


def test_a_wide_character_keeps_the_columns_of_the_text_after_it() -> None:
    svg = picture(frames("漢x\x1b[7m y".encode()), 20, "wide")

    first, second = ElementTree.fromstring(svg).iter(TEXT)
    width = float(re.findall(r"[\d.]+", first.attrib["textLength"])[0])
    assert (first.text, second.text) == ("漢x", "\N{NO-BREAK SPACE}y")
    assert float(second.attrib["x"]) == float(first.attrib["x"]) + width
