#!/usr/bin/python3
"""The page of `prefetchctl status -o html`, in a browser and before a judge of HTML.

browser_test.py [TEXT]             only the cases whose names hold TEXT
browser_test.py --pictures FOLDER  judges nothing, writes the pages, pictures at three widths, light and dark, and a print

Needs chromium-headless-shell and tidy (tests/packages), and PREFETCH_WRITE_PAGES from the environment.
"""

import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy"))

from cases import Cases
from chromium import Chromium

PAGES = ("small", "hostile", "public", "node", "ready", "empty", "large", "worst")
WIDTHS = (390, 1024, 1600)
MOST_SECONDS = 10  # to open; the target is 1, and the machine of a test may be slow
TAB, ESCAPE, HOME, END, LEFT, UP, RIGHT, DOWN = 9, 27, 36, 35, 37, 38, 39, 40

# Text on its background, of everything that is visible; WCAG's formula. Large text may have 3 to 1.
CONTRAST = """(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = (rgb) => { const [r, g, b] = rgb.map((c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (element) => { for (; element; element = element.parentElement) {
      const color = parse(getComputedStyle(element).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color.slice(0, 3); }
    return [255, 255, 255]; };
  const bad = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !element.checkVisibility() || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
    if (element.disabled) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(parse(style.color).slice(0, 3)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) bad.add(element.tagName + "." + element.className + " " + ratio.toFixed(2));
  }
  return [...bad];
})()"""


def write_pages(folder):
    subprocess.run([os.environ["PREFETCH_WRITE_PAGES"], folder], check=True)


def check_valid(path):
    judged = subprocess.run(["tidy", "-quiet", "-errors", "-utf8", path], capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stderr


class InBrowser:
    def __init__(self, browser, folder):
        self.browser, self.folder = browser, folder
        self.seen = None  # (name, page) of look_at

    def open(self, name, **looks):
        if self.seen:
            self.seen[1].close()
            self.seen = None
        return self.browser.page(os.path.join(self.folder, name + ".html"), **looks)

    def look_at(self, name):
        """The page, for a case that changes nothing in it: opened once for all such cases in a row."""
        if self.seen is None or self.seen[0] != name:
            page = self.open(name)
            self.seen = (name, page)
        return self.seen[1]

    def opens(self, name):
        started = time.monotonic()
        with self.open(name) as page:
            page.run("1")  # a frame is drawn
            took = time.monotonic() - started
            trouble, title = page.trouble(), page.run("document.title")
        assert not trouble, trouble
        assert title.startswith("prefetchd: "), title
        print(f"{name}.html opens in {took:.2f} s (target 1 s)")
        assert took <= MOST_SECONDS, took

    def fits(self, name, width):
        page = self.look_at(name)
        page.resize(width)
        assert page.run("innerWidth") == width
        wide = page.run("document.documentElement.scrollWidth")
        assert wide <= width, f"{wide} columns of pixels on a screen of {width}"

    def contrast(self, name, dark):
        with self.open(name, dark=dark) as page:
            page.run("document.querySelectorAll('details').forEach(one => one.open = true)")
            bad = page.run(CONTRAST)
        assert bad == [], bad

    def structure(self, name):
        """Headings in order, a name for each table and field, a scope for each head cell, no meaning in colour alone."""
        page = self.look_at(name)
        levels = page.run("[...document.querySelectorAll('h1,h2,h3,h4')].map(one => +one.tagName[1])")
        bare = page.run("[...document.querySelectorAll('table')].filter(one => !one.caption).length")
        scopes = page.run("[...document.querySelectorAll('th')].filter(one => !one.scope).length")
        fields = page.run("[...document.querySelectorAll('input,select')].filter(one => !one.labels.length).length")
        silent = page.run("[...document.querySelectorAll('#grid td,.key')].filter(one => !one.textContent.trim()).length")
        twice = page.run("[...document.querySelectorAll('[id]')].length - new Set([...document.querySelectorAll('[id]')].map(one => one.id)).size")
        assert levels[0] == 1 and levels.count(1) == 1, levels
        assert all(b - a <= 1 for a, b in zip(levels, levels[1:])), levels
        assert (bare, scopes, fields, silent, twice) == (0, 0, 0, 0, 0), (bare, scopes, fields, silent, twice)

    def no_script(self):
        with self.open("small", script=False) as page:
            page.call("Emulation.setScriptExecutionDisabled", value=False)  # for the question alone
            seen = page.run("[getComputedStyle(document.getElementById('letters')).display, document.getElementById('filter').hidden,"
                            "document.body.innerText]")
        assert seen[0] == "block" and seen[1], seen[:2]
        for text in ("quay.io/acme/private:v2", "denied", "ghcr.io/acme/e2e:main", "ci-23", "ci-31", "ci-33", "nice:to-have"):
            assert text in seen[2], text

    def filters_by_keyboard(self):
        with self.open("large") as page:
            rows = "[...document.querySelectorAll('#grid tbody tr')].length"
            columns = "[...document.querySelectorAll('#grid thead th')].length - 1"
            all_rows = page.run(rows)
            wanted = page.run("document.querySelector('#grid tbody tr:nth-child(7) th').title")
            self.tab_to(page, "by-image")
            page.type(wanted[wanted.index("service-"):])
            names = page.run("[...document.querySelectorAll('#grid tbody th')].map(one => one.title)")
            assert names == [wanted], (names, wanted)
            assert page.run("document.getElementById('shown').textContent").startswith("1 of "), "said to screen readers"
            page.key("Escape", ESCAPE)
            assert page.run(rows) == all_rows
            self.tab_to(page, "by-node")
            page.type("ip-10-0-7-")
            assert page.run(columns) == 1, page.run(columns)
            page.key("Escape", ESCAPE)
            self.tab_to(page, "by-state")
            page.type("n")  # "not ready"
            assert page.run("document.getElementById('by-state').value") == "!"
            seen = page.run("document.getElementById('shown').textContent")
            assert seen.endswith(" of 1,000 nodes") and not seen.endswith("1,000 of 1,000 nodes"), seen
            self.tab_to(page, "by-image")
            page.type("no such image")
            assert "Nothing matches" in page.run("document.getElementById('cell').textContent")
            assert not page.trouble(), page.trouble()

    @staticmethod
    def tab_to(page, name):
        for _ in range(60):
            if page.run("document.activeElement.id") == name:
                return
            page.key("Tab", TAB)
        raise AssertionError(f"no Tab leads to {name}")

    def cells_by_keyboard(self):
        with self.open("small") as page:
            self.tab_to(page, "grid")
            page.key("Tab", TAB)
            told = "document.getElementById('cell').innerText"
            assert "denied" in page.run(told) and "401 Unauthorized" in page.run(told), page.run(told)
            place = "[document.activeElement.parentElement.rowIndex, document.activeElement.cellIndex]"
            for key, code, expected in (("ArrowRight", RIGHT, [1, 2]), ("ArrowDown", DOWN, [2, 2]), ("ArrowLeft", LEFT, [2, 1]),
                                        ("ArrowUp", UP, [1, 1]), ("ArrowLeft", LEFT, [1, 1]), ("End", END, None), ("Home", HOME, [1, 1])):
                page.key(key, code)
                assert expected is None or page.run(place) == expected, (key, page.run(place))
            page.key("End", END)
            said = page.run(told)
            assert said.startswith("· not listed: quay.io/acme/private:v2 on ci-31") and "has it for other nodes" in said, said

    def pages_through(self):
        with self.open("worst") as page:
            head = "document.querySelector('#grid thead th:nth-child(2)').title"
            name = "document.querySelector('#grid tbody th').title"
            first, first_name = page.run(head), page.run(name)
            page.run("document.querySelector('[aria-label=\"Next columns\"]').focus()")
            page.key("Enter", 13, "\r")
            assert page.run(head) != first
            assert page.run("document.activeElement.getAttribute('aria-label')") == "Next columns"
            page.run("document.querySelector('[aria-label=\"Next images\"]').click()")
            assert page.run(name) != first_name
            letters = page.run("[document.querySelectorAll('#letters tr[data-image]').length, document.querySelectorAll('#columns li').length]")
            assert letters == [200, 1000], letters
            self.check_cells(page)

    @staticmethod
    def check_cells(page):
        """What is drawn is what the table of letters has, at the place that is drawn."""
        wrong = page.run("""(() => {
          const rows = [...document.querySelectorAll('#letters tr[data-image]')];
          return [...document.querySelectorAll('#grid td')].filter((cell) => {
            const row = rows[cell.dataset.r];
            return row.cells[2].textContent[cell.dataset.c] !== cell.textContent ||
              row.cells[0].textContent !== cell.parentElement.cells[0].title;
          }).length;
        })()""")
        assert wrong == 0, wrong

    def hostile(self):
        with self.open("hostile") as page:
            self.tab_to(page, "grid")
            page.key("Tab", TAB)
            for _ in range(12):
                page.key("ArrowDown", DOWN)
                page.key("ArrowRight", RIGHT)
            self.tab_to_start(page)
            owned = page.run("[document.title, document.images.length, document.querySelectorAll('script').length, "
                             "document.querySelectorAll('[onmouseover],[onerror]').length]")
            assert owned[0].startswith("prefetchd: ") and owned[1:] == [0, 1, 0], owned
            assert not page.trouble(), page.trouble()

    @staticmethod
    def tab_to_start(page):
        page.run("document.activeElement.blur()")

    def policy(self):
        """The head's policy stops what would get in all the same."""
        with self.open("small") as page:
            page.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">')")
            page.run("document.body.append(Object.assign(document.createElement('script'), {textContent: 'document.title=1'}))")
            assert page.run("document.title").startswith("prefetchd: ")
            assert any("Content Security Policy" in text for text in page.trouble()), page.trouble()

    def pictures(self, folder):
        for name in PAGES:
            for width in WIDTHS:
                for dark in (False, True):
                    with self.open(name, width=width, dark=dark) as page:
                        page.picture(os.path.join(folder, f"{name}-{width}-{'dark' if dark else 'light'}.png"))
        with self.open("small", script=False) as page:
            page.picture(os.path.join(folder, "small-noscript.png"))
        with self.open("small") as page:
            page.printed(os.path.join(folder, "small.pdf"))


def main(arguments):
    if arguments[:1] == ["--pictures"]:
        folder = os.path.abspath(arguments[1])
        os.makedirs(folder, exist_ok=True)
        write_pages(folder)
        with Chromium() as browser:
            InBrowser(browser, folder).pictures(folder)
        return 0
    cases = Cases(arguments[0] if arguments else "")
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        write_pages(folder)
        seen = InBrowser(browser, folder)
        for name in PAGES:
            cases.add("Valid", name, lambda name=name: check_valid(os.path.join(folder, name + ".html")))
            cases.add("Opens", name, lambda name=name: seen.opens(name))
            cases.add("Structure", name, lambda name=name: seen.structure(name))
            for width in WIDTHS:
                cases.add("Fits", f"{name}-{width}", lambda name=name, width=width: seen.fits(name, width))
        for name in ("small", "node", "public"):
            for dark in (False, True):
                cases.add("Contrast", name + ("-dark" if dark else ""), lambda name=name, dark=dark: seen.contrast(name, dark))
        cases.add("Page", "without-script", seen.no_script)
        cases.add("Page", "filters-by-keyboard", seen.filters_by_keyboard)
        cases.add("Page", "cells-by-keyboard", seen.cells_by_keyboard)
        cases.add("Page", "pages-through", seen.pages_through)
        cases.add("Page", "hostile", seen.hostile)
        cases.add("Page", "policy", seen.policy)
        return cases.run()


sys.exit(main(sys.argv[1:]))
