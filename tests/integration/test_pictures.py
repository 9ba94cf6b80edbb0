"""The flame graph in a browser: what a click, a key and a search do, and that no name does anything."""

import contextlib
import itertools
import math
import re
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import chromium
import made_recordings as recordings
from harness import ROOT, each, skip, wait_for
from made_recordings import hostile, render

NAMES = "{http://www.w3.org/2000/svg}"

@contextlib.contextmanager
def shown(lines=None, *options, **how):
    if not chromium.program():
        skip("chromium is not installed")
    with tempfile.TemporaryDirectory() as folder, chromium.Page(**how) as page:
        path = Path(folder) / "a.svg"
        path.write_bytes(render("svg", lines or recordings.shop(), *options))
        page.open(path)
        yield page
        assert not page.errors and not page.dialogs, (page.errors, page.dialogs)
        assert set(page.requests) <= {path.as_uri(), (path.parent / "page.html").as_uri()}, page.requests


def frames(page):
    """{name: {x, y, width, shown, text, ...}} of the first frame of each name."""
    boxes = page.value("""Array.from(document.querySelectorAll(".f"), (f) => {
        const box = f.querySelector("rect").getBoundingClientRect(), text = f.querySelector("text");
        return {name: f.querySelector("title").textContent.split("\\n")[0], x: box.x, y: box.y, width: box.width, height: box.height,
                shown: box.width > 0, text: text ? text.textContent : "", room: text ? text.getComputedTextLength() : 0,
                classes: f.getAttribute("class").split(" "), focused: f === document.activeElement};
    })""")
    found = {}
    for box in boxes:
        found.setdefault(box["name"], box)
    return found


def click(page, name, count=1):
    box = frames(page)[name]
    page.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, count)


def text(page, name):
    return page.value(f"document.querySelector('.{name}').textContent")


def widths(page):
    return {name: round(box["width"], 1) for name, box in frames(page).items()}


def press_reset(page):
    x, y = page.value("""(() => { const b = Array.from(document.querySelectorAll("button")).find((b) => b.textContent === "Reset")
        .getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()""")
    page.click(x, y)


RESETS = {"Escape": lambda page: page.key("Escape"), "double click": lambda page: click(page, "rank", 2), "button": press_reset}


@each(RESETS)
def test_a_click_zooms_and_it_can_be_undone(way):
    with shown() as page:
        before, at_first = frames(page), widths(page)
        click(page, "search")
        after = frames(page)
        full = before["all"]["width"]
        assert before["search"]["width"] < 0.7 * full, before["search"]
        for name in ("all", "handle", "Flask.dispatch_request", "search"):
            assert abs(after[name]["width"] - full) < 1 and after[name]["y"] == before[name]["y"], (name, after[name])
        assert "up" in after["handle"]["classes"] and "up" not in after["search"]["classes"]
        grown = full / before["search"]["width"]
        for name in ("rank", "features", "distance"):
            assert abs(after[name]["width"] / before[name]["width"] - grown) < 0.05 * grown, (name, after[name])
        for name in ("checkout", "main", "Cart.total"):
            assert not after[name]["shown"], name
        assert before["tree_apply"]["text"].endswith("\u2026") and after["tree_apply"]["text"].startswith("tree_apply"), after["tree_apply"]
        RESETS[way](page)
        assert widths(page) == at_first


def truth(pattern):
    """(milliseconds that match, all) of what is shown."""
    rows = [line.split("\t") for line in recordings.shop().splitlines()]
    rows = [row for row in rows if row[3] != "sleeping"]
    return (sum(float(row[4]) for row in rows if any(re.search(pattern, frame, re.I) for frame in row[5:])),
            sum(float(row[4]) for row in rows))


@each(["sqlalchemy", "^(rank|discount) ", "tokenize|features|DISTANCE"])
def test_the_search_states_its_share(pattern):
    # A line has name@file:line where the page has a space.
    matched, whole = truth(pattern.replace(" ", "@"))
    with shown() as page:
        page.key("/")
        page.type(pattern)
        assert text(page, "found").startswith(f"{100 * matched / whole:.2f}% matched, "), (text(page, "found"), matched, whole)
        hits = {name for name, box in frames(page).items() if "hit" in box["classes"]}
        assert hits and not hits & {"all", "handle", "checkout"}, hits
        assert all("dim" in box["classes"] for name, box in frames(page).items() if name not in hits)
        page.key("Escape")
        assert text(page, "found") == "" and not any({"hit", "dim"} & set(box["classes"]) for box in frames(page).values())


def test_a_search_within_a_zoom_and_one_that_is_no_expression():
    with shown() as page:
        click(page, "rank")
        page.key("f", 2)
        page.type("^distance")
        own, whole = 640, sum(own for own, _ in recordings.walk(recordings.RANK))
        assert text(page, "found").startswith(f"{100 * own / whole:.2f}% matched"), text(page, "found")
        page.key("Escape")
        page.key("/")
        page.type("re/__init__.py:186(")
        assert text(page, "found") == "no frames (taken as plain text)", text(page, "found")
        page.key("Escape")
        page.key("/")
        page.type("^discount$|^discount ")
        assert text(page, "found") == "none in this zoom, 1 elsewhere", text(page, "found")


def focused(page):
    return next((name for name, box in frames(page).items() if box["focused"]), None)


def test_keys_are_enough():
    with shown() as page:
        page.key("ArrowDown")
        assert focused(page) == "_bootstrap"  # the widest
        page.key("ArrowLeft")
        assert focused(page) == "<module>"
        page.key("ArrowRight")
        for _ in range(2):
            page.key("ArrowDown")
        assert focused(page) == "_worker"
        page.key("ArrowUp")
        assert focused(page) == "run" and "run" in text(page, "detail") and "threading.py:994" in text(page, "detail")
        for _ in range(5):
            page.key("ArrowDown")
        before = frames(page)
        assert focused(page) == "search"
        page.key("Enter")
        assert frames(page)["search"]["width"] > 1.5 * before["search"]["width"]
        page.key("Backspace")
        assert abs(frames(page)["Flask.dispatch_request"]["width"] - before["all"]["width"]) < 1
        page.key("Escape")
        assert widths(page) == {name: round(box["width"], 1) for name, box in before.items()}


@each(["down", "up"])
def test_a_deep_stack_scrolls_under_its_head(way):
    """Also where scroll bars take some of the width."""
    lines = recordings.line(1, 1, "t", "running", 100, *(f"f{depth}@/srv/a.py:{depth + 1}" for depth in range(150)))
    with shown(lines, height=400, scrollbars=True) as page:
        if way == "up":
            page.key("i")
        for _ in range(150):
            page.key("ArrowDown" if way == "down" else "ArrowUp")
        box = frames(page)["f149"]
        assert box["focused"] and 60 <= box["y"] <= 400 - box["height"], box
        wait_for(lambda: page.value("document.querySelector('.title').getBoundingClientRect().y") < 30, "the head follows")
        assert page.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_next_match_flip_and_help():
    with shown() as page:
        page.key("/")
        page.type("^(load|sub) ")
        page.key("Enter")
        assert focused(page) == "load"
        page.key("n")
        assert focused(page) == "sub"
        page.key("n")
        assert focused(page) == "load"
        page.key("N", 8)
        assert focused(page) == "sub"
        page.key("Escape")
        assert frames(page)["all"]["y"] < frames(page)["search"]["y"]
        page.key("i")
        upside = frames(page)
        assert upside["all"]["y"] > upside["search"]["y"] > upside["rank"]["y"]
        page.key("?", 8)
        assert page.value("document.activeElement.textContent") == "Close"
        page.key("Escape")
        assert page.value("document.querySelector('.keys').getBoundingClientRect().width") == 0
        assert frames(page)["all"]["y"] == upside["all"]["y"]


def test_the_mouse_tells_of_a_frame():
    with shown() as page:
        box = frames(page)["discount"]
        page.move(box["x"] + 3, box["y"] + 3)
        told = text(page, "detail")
        assert "discount" in told and "/srv/shop/shop/cart.py:91" in told and re.match(r"609 ms, 3\.32%, \d+ samples", told), told


@each([(1200, "light"), (700, "dark")])
def test_text_stays_in_its_box(how):
    with shown(width=how[0], scheme=how[1]) as page:
        for turn in ("at first", "zoomed", "resized"):
            if turn == "zoomed":
                click(page, "search")
            elif turn == "resized":
                page.look(950, 600, how[1])
            width = 950 if turn == "resized" else how[0]
            wait_for(lambda: abs(frames(page)["all"]["width"] - (width - 24)) < 2, f"{turn}: {width} pixels")
            for name, box in frames(page).items():
                assert not box["shown"] or box["room"] <= box["width"], (turn, name, box)
        back = page.value("getComputedStyle(document.documentElement).backgroundColor")
        assert back == ("rgb(255, 255, 255)" if how[1] == "light" else "rgb(20, 23, 28)"), back


# Whose code it is: a band of hue, in degrees of OKLCH, as the legend names it.
HUES = {"orange": (45, 75), "green": (130, 157), "blue": (223, 270), "pink": (337, 357)}
BANDS = {"o": "orange", "s": "green", "l": "blue", "n": "pink"}


def linear(color):
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color]


def oklab(color):
    r, g, b = linear(color)
    l, m, s = (sum(map(math.prod, zip(row, (r, g, b)))) ** (1 / 3) for row in (
        (0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566), (0.0883024619, 0.2817188376, 0.6299787005)))
    return (0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s, 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s)


def contrast(one, other):
    """As WCAG counts it: 4.5 is what text needs, 3 what may be a little harder to read."""
    dark, light = sorted(sum(map(math.prod, zip((0.2126, 0.7152, 0.0722), linear(color)))) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


def over(color, opacity, below):
    return [opacity * a + (1 - opacity) * b for a, b in zip(color, below)]


COLORS = """(() => {
    const g = document.querySelector(".frames .f"), rect = g.querySelector("rect"), text = g.querySelector("text"), shades = {};
    const part = document.createElementNS(g.namespaceURI, "tspan");
    const rgb = (words) => words.match(/[0-9.]+/g).slice(0, 3).map((number) => number / 255);
    const opacity = (element) => Number(getComputedStyle(element).fillOpacity);
    part.setAttribute("class", "p");
    text.appendChild(part);
    g.setAttribute("class", "f v");
    const found = {text: rgb(getComputedStyle(text).fill), place: opacity(part), pale: opacity(rect),
        back: rgb(getComputedStyle(document.querySelector(".back")).fill)};
    for (const band of "oslnm")
        for (let number = 0; ; number++) {
            rect.setAttribute("class", band + number);
            if (getComputedStyle(rect).fill === "rgb(0, 0, 0)")
                break;
            shades[band + number] = rgb(getComputedStyle(rect).fill);
        }
    g.setAttribute("class", "f v hit");
    return {...found, shades, hit: rgb(getComputedStyle(rect).fill), marked: rgb(getComputedStyle(text).fill), whole: opacity(rect)};
})()"""


@each(["light", "dark", "paper"])
def test_colours_are_what_the_legend_says(scheme):
    with shown(scheme="light" if scheme == "light" else "dark") as page:
        if scheme == "paper":
            page.look(1200, 600, "dark", media="print")
        at = page.value(COLORS)
        legend = text(page, "keys p")
    assert re.findall("orange|blue|green|pink", legend.lower()) == ["orange", "blue", "green", "pink"], legend
    assert (sum(at["back"]) < 1) == (scheme == "dark"), at["back"]
    shades = {}
    for name, plain in at["shades"].items():
        for color in (plain, over(plain, at["pale"], at["back"])):
            _, a, b = oklab(color)
            hue, chroma = math.degrees(math.atan2(b, a)) % 360, math.hypot(a, b)
            if name[0] == "m":
                assert chroma < 0.03, (name, chroma)
            else:
                least, most = HUES[BANDS[name[0]]]
                assert least <= hue <= most and chroma > 0.05, (name, hue, chroma)
            assert contrast(at["text"], color) > 4.5, (name, contrast(at["text"], color))
            assert contrast(over(at["text"], at["place"], color), color) > 3, name
        shades.setdefault(name[0], []).append(oklab(plain))
    assert at["whole"] == 1 and contrast(at["marked"], at["hit"]) > 4.5, at  # what a search has found
    # As many as module_color.c chooses from, and two of a band are not the same to the eye.
    assert {band: len(of) for band, of in shades.items()} == {"o": 8, "l": 10, "s": 5, "n": 4, "m": 2}, shades.keys()
    for band, of in shades.items():
        assert all(math.dist(*pair) > 0.015 for pair in itertools.combinations(of, 2)), band


PARTS = [".title", ".about", ".detail", ".found", "input", ".bar button:nth-of-type(1)", ".bar button:nth-of-type(2)",
         ".bar button:nth-of-type(3)"]
KEYS = [".keys", ".keys dl", ".keys dd", ".keys p", ".keys button"]


def boxes(page, names):
    return {name: page.value(f"""(() => {{ const b = document.querySelector("{name}").getBoundingClientRect();
        return [b.left, b.top, b.right, b.bottom]; }})()""") for name in names}


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@each([300, 320, 400, 500, 639, 640, 800, 1200])
def test_everything_fits_into_the_window(width):
    """Buttons and words, with a zoom and a search, none over another; and the page of keys, also over few frames."""
    with shown(width=width, height=640) as page:
        click(page, "_worker")
        page.key("ArrowDown")
        page.key("/")
        page.type("sqlalchemy|re/__init__.py:186(")
        found = boxes(page, PARTS)
        for name, box in found.items():
            assert 0 <= box[0] < box[2] <= width and 0 <= box[1] < box[3] < frames(page)["all"]["y"] + 1, (name, box)
            assert not any(overlap(box, other) for at, other in found.items() if at != name), (name, found)
        assert found["input"][2] - found["input"][0] > 100
        assert page.value("document.documentElement.scrollWidth") == width
    few = recordings.line(1, 1, "t", "running", 100, "f@/srv/a.py:1")
    for lines in (few, recordings.shop()):
        with shown(lines, width=width, height=660) as page:
            page.key("?", 8)
            whole = boxes(page, [*KEYS, "svg"])
            for name in KEYS:
                box = whole[name]
                assert 0 <= box[0] < box[2] <= width and 0 < box[1] < box[3] <= min(660, whole["svg"][3]), (name, box)
            assert page.value("document.querySelector('.keys').scrollWidth <= document.querySelector('.keys').clientWidth")
            page.look(width, 330)  # too low for it: it scrolls
            wait_for(lambda: boxes(page, [".keys"])[".keys"][3] <= 330, "the page of keys is lower")
            assert page.value("document.querySelector('.keys').scrollHeight") >= 280
            page.key("Escape")
            assert page.value("document.querySelector('.keys').getBoundingClientRect().width") == 0


def test_paper_is_white_and_has_no_buttons():
    with shown(scheme="dark") as page:
        page.look(1000, 700, "dark", media="print")
        assert page.value("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
        assert page.value("document.querySelector('.bar').getBoundingClientRect().width") == 0


@each([320, 700, 900, 1200])
def test_the_verdict_is_what_stays_of_the_line(width):
    """Most of the recording is waiting that is hidden: the share is of what is shown, as in the summary."""
    frame = "f@/srv/a.py:1"
    lines = "".join(recordings.line(1, 1, "t", state, ms, *frames) for state, ms, *frames in (
        ("sleeping", 60000, frame), ("running", 1780, frame), ("unseen", 2220)))
    assert "Quality: poor, 44.5% of this time has a true stack;" in render("text", lines).decode()
    with shown(lines, width=width) as page:
        verdict = "quality: poor, 44.5% has a true stack"
        assert text(page, "about").startswith(verdict), text(page, "about")
        assert width < 1200 or "60.0 s of waiting hidden (--idle shows it)" in text(page, "about"), text(page, "about")


def test_on_paper_words_take_the_room_of_the_buttons():
    with shown(width=700) as page:
        length = "document.querySelector('.about').textContent.length"
        before = page.value(length)
        assert text(page, "about").endswith("\u2026"), text(page, "about")
        page.value("void window.dispatchEvent(new Event('beforeprint'))")
        assert page.value(length) > before
        page.value("void window.dispatchEvent(new Event('afterprint'))")
        assert page.value(length) == before


def test_no_name_does_anything():
    with shown(hostile(), "threads") as page:
        assert page.value("document.querySelectorAll('script').length") == 1
        kinds = page.value("Array.from(new Set(Array.from(document.querySelectorAll('.frames *'), (e) => e.localName)))")
        assert set(kinds) == {"g", "title", "rect", "text", "tspan"}, kinds
        for name in list(frames(page))[:12]:
            click(page, name)
            page.key("Escape")
        page.key("/")
        page.type("alert|script|<")
        assert " matched" in text(page, "found")
        page.value("alert('this is what would be seen')")
        assert page.dialogs == ["this is what would be seen"]
        page.dialogs.clear()
        assert any("</title><script>alert(1)</script>" == name for name in frames(page)), list(frames(page))


def test_in_a_page_it_is_a_picture():
    with shown() as page:
        folder = Path(page.value("decodeURIComponent(location.pathname)")).parent
        (folder / "page.html").write_text('<!doctype html><img src="a.svg" width="600">')
        page.open(folder / "page.html")
        size = page.value("(({naturalWidth, naturalHeight, width, height}) => [naturalWidth, naturalHeight, width, height])(document.images[0])")
        assert size[0] == 1200 and size[2] == 600 and abs(size[3] - size[1] / 2) <= 1, size


@each(["shop", "hostile"])
def test_without_its_script_it_is_right(what):
    lines = recordings.shop() if what == "shop" else hostile()
    root = ElementTree.fromstring(render("svg", lines, "threads"))
    boxes = root.findall(f"{NAMES}svg/{NAMES}g")
    scale, path = None, {}
    assert len(boxes) > 20
    for box in boxes:
        depth, start, total, _ = map(int, box.get("data-d").split())
        rect = box.find(f"{NAMES}rect")
        x, width = float(rect.get("x")), float(rect.get("width"))
        scale = scale or 1176 / total
        assert abs(x - start * scale) < 0.02 and 0.69 * total * scale - 0.02 <= width <= total * scale, ElementTree.tostring(box)
        assert float(rect.get("y")) == 19 * depth
        if depth:
            above = path[depth - 1]
            assert above[0] <= start and start + total <= above[0] + above[1], ElementTree.tostring(box)
        path[depth] = (start, total)
        label = box.find(f"{NAMES}text")
        if label is not None:
            assert sum(map(len, label.itertext())) * 7.25 <= total * scale, ElementTree.tostring(box)
    assert len(render("svg", lines, "threads")) < 200000


def test_nothing_is_loaded_from_elsewhere():
    text = render("svg", recordings.shop()).decode()
    assert set(re.findall(r"[a-z]+://[^\s\"'<>)]+", text)) == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    for word in ("@import", "url(", "innerHTML", "eval(", "fetch(", "XMLHttpRequest", "href"):
        assert word not in text, word
    for name in ("flamegraph.js", "flamegraph.css"):
        assert (ROOT / "src" / "format" / name).exists()
