#!/usr/bin/python3
"""Draws what four unequal workers do under each paradigm, as the simulator has
it: docs/images/timeline-NAME.svg, a picture for each name.

    docs/draw_timelines.py PACELINE

PACELINE is the command. The same command draws the same pictures.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

IMAGES = pathlib.Path(__file__).resolve().parent / "images"
# Of a batch, in seconds, of each worker.
TIMES = (1, 1, 1.5, 4)
SECONDS = 17
# Names and specs: parameters that show what the rule does with four workers.
PARADIGMS = {
    "bsp": "bsp", "bsp-steal": "bsp:steal=true", "asp": "asp",
    "ssp": "ssp:s=2", "dssp": "dssp:lower=1,upper=4", "saps": "saps:s=3",
    "cgp": "cgp:warmup_rounds=1", "ksync": "ksync:k=3",
    "kbatchsync": "kbatchsync:k=3", "backup": "backup:b=1",
    "kasync": "kasync:k=2", "kbatchasync": "kbatchasync:k=2",
    "psp": "psp:beta=1,s=2", "elastic": "elastic:r=4", "abs": "abs:pieces=8",
    "syncswitch": "syncswitch:first=bsp,then=asp,at=0.3",
}
# A part of the samples counts there: these need an end.
ENDS = {"syncswitch"}

LEFT, TOP, LANE, GAP, WIDTH = 44, 26, 20, 8, 720
COMPUTE = ("#2f6f9f", "#5b9bc8")  # By turns: where one iteration ends.
WAIT = "#e3e3e3"
TEXT = 'font-family="sans-serif" font-size="12" fill="#333"'


def simulate(paceline, name, page):
    """The rows of the timeline: of each worker its spans, (phase, seconds)."""
    end = (["--iterations", "9"] if name in ENDS
           else ["--duration", f"{SECONDS}s"])
    subprocess.run(
        [paceline, "simulate", "--iteration-times", ",".join(map(str, TIMES)),
         "--batch-size", "32", "--lease", "10m", *end,
         "--paradigm", PARADIGMS[name], "--plot", page],
        stdout=subprocess.DEVNULL, check=True)
    text = page.read_text()
    begin = re.search(r'\{\s*"runs"', text).start()
    document, _ = json.JSONDecoder().raw_decode(text[begin:])
    timeline = document["runs"][0]["timeline"]
    return [[(timeline["phases"][phase], length / 1e9)
             for phase, length in zip(row[::2], row[1::2])]
            for row in timeline["workers"]]


def lane(number, row):
    """The rectangles of one worker, and a mark at the end of each iteration."""
    y = TOP + number * (LANE + GAP)
    yield (f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end" {TEXT}>'
           f"w{number}</text>")
    at = 0.0
    computed = 0
    for phase, seconds in row:
        length = min(seconds, SECONDS - at)
        if length <= 0:
            return
        x = LEFT + at / SECONDS * WIDTH
        width = length / SECONDS * WIDTH
        at += length
        if phase == "compute":
            color = COMPUTE[computed % 2]
            computed += 1
        elif phase == "wait":
            color = WAIT
        else:
            continue
        yield (f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" '
               f'height="{LANE}" fill="{color}"/>')


def picture(name, rows):
    height = TOP + len(rows) * (LANE + GAP) + 18
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" '
           f'viewBox="0 0 {LEFT + WIDTH + 12} {height}" role="img">')
    yield f"<title>{PARADIGMS[name]}: what four workers do</title>"
    yield f'<rect width="{LEFT + WIDTH + 12}" height="{height}" fill="#fff"/>'
    yield (f'<text x="{LEFT}" y="16" {TEXT} font-weight="bold">'
           f"{PARADIGMS[name]}</text>")
    for number, row in enumerate(rows):
        yield from lane(number, row)
    for second in range(0, SECONDS + 1, 4):
        x = LEFT + second / SECONDS * WIDTH
        yield (f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle" '
               f"{TEXT}>{second} s</text>")
    yield "</svg>"


def main():
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        for name in PARADIGMS:
            rows = simulate(sys.argv[1], name, page)
            (IMAGES / f"timeline-{name}.svg").write_text(
                "\n".join(picture(name, rows)) + "\n")


if __name__ == "__main__":
    main()
