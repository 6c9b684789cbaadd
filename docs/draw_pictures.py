#!/usr/bin/python3
"""Draws pictures of real runs, docs/images/*.png.

    docs/draw_pictures.py BIN [PICTURE...]

BIN is the folder of the four programs, built with npm at hand. The pictures, all
of them by default:

  plot    the page of `paceline simulate --plot`: one model under four paradigms
  replay  the same page for the recorded times of a run of `paceline local`
  top     `paceline top` in a terminal, before and after a switch of the paradigm
  board   a part of the dashboard "Heterogeneity" during the same run

What is there is drawn anew. `plot` is the same every time. The others have the
digits of their run. All of it takes about four minutes. It needs the Debian
packages chromium, fonts-dejavu-core, tmux, aha and prometheus.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests/integration"))
from board_queries import Board, Span
from monitoring_stack import MonitoringStack
from real_cluster import RealCluster, until
from render_board import content, page_of

IMAGES = REPOSITORY / "docs/images"
PROGRAMS = {"chromium": "chromium", "tmux": "tmux", "aha": "aha",
            "prometheus": "prometheus"}
WIDTH = 1400  # Pixels.
BYTES_MAX = 300_000

TIMES = (1, 1, 2, 4)  # Of a batch, one worker to the other.
PARADIGMS = ("bsp", "bsp,batching=balanced", "cgp", "asp")
TRAINING = ("--epochs", "2", "--train", "lenet5", "--target-accuracy", "0.95")

SPEC = """
name: pool
spec:
  model: lenet5
  data: synthetic:shapes
  paradigm: bsp
  workers: {min: 4}
  stop: {epochs: 500}
  evaluation: {every: 6000}
"""
SWITCH = ("job", "switch", "pool", "--paradigm", "cgp",
          "--reason", "w3 is four times slower")
# Of the job under each of its two paradigms, in seconds.
RUN_SECONDS = 60
ROLES = {"coordinator": "coordinator", "e0": "evaluator",
         "s0": "server", "s1": "server"}
# Rows of the board.
PANELS = (("Stragglers", "Fastest over slowest", "Staleness, 99 %",
           "Gap, 99 %", "Threshold", "Groups"),
          ("Rate of each worker", "Straggler score"),
          ("Gap of each worker", "Where a worker's time goes"))

# Of the page of a simulation.
ON_ONE_SCREEN = """
#histograms, .note { display: none }
.grid.curves .chart { height: 300px }
main { padding: 18px 20px }
"""
TERMINAL = """<!DOCTYPE html>
<meta charset="utf-8">
<style>
body { margin: 0; padding: 16px 20px; background: #fff; color: #1b2330; }
pre { margin: 0; font: 15px/1.45 "DejaVu Sans Mono", monospace; }
.typed { color: #2563c9; font-weight: bold; }
.bold { font-weight: bold; }
.yellow { color: #9a6700; }
.green { color: #1a7f37; }
.red { color: #c4320a; }
</style>
<pre>%s</pre>
"""
# The page says how high it is: the picture is as high.
MEASURE = """
<style>%s</style>
<script>
%s
document.documentElement.dataset.height = document.documentElement.scrollHeight;
</script>
"""


def chromium(page, width, height, *flags):
    """What it prints. It shows the page light, as nobody asks for it dark."""
    # As root it has no sandbox. It opens nothing but the page.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as profile:
        ended = subprocess.run(
            ["chromium", "--headless", "--disable-gpu", "--hide-scrollbars",
             *sandbox, f"--user-data-dir={profile}",
             f"--force-device-scale-factor={WIDTH / width}",
             f"--window-size={width},{height}", "--virtual-time-budget=10000",
             *flags, f"file://{page}"],
            capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"chromium has failed:\n{ended.stderr}")
    return ended.stdout


def draw(name, html, folder, width, style="", script=""):
    """A picture of the page, `width` of its own pixels wide and as high as it
    is with this style, after this script."""
    page = folder / f"{name}.html"
    page.write_text(html + MEASURE % (style, script))
    # A page is as high as its window at least.
    dom = chromium(page, width, 50, "--dump-dom")
    height = int(re.search(r'data-height="(\d+)"', dom)[1])
    picture = IMAGES / f"{name}.png"
    chromium(page, width, height, f"--screenshot={picture}")
    size = picture.stat().st_size
    if size > BYTES_MAX:
        sys.exit(f"{picture} has {size} bytes, more than {BYTES_MAX}")
    print(f"{picture.relative_to(REPOSITORY)}: {size // 1000} KB")


def paceline(programs, *arguments, **options):
    """What the command prints. The page quotes the command as it was called."""
    ended = subprocess.run(
        ["paceline", *arguments], executable=programs / "paceline",
        stdout=subprocess.PIPE, text=True, check=False, **options)
    if ended.returncode != 0:
        sys.exit(f"paceline {arguments[0]} has failed")
    return ended.stdout


def simulate(programs, folder, *flags):
    """The page of a simulation of all paradigms."""
    page = folder / "page.html"
    paceline(programs, "simulate", *flags, *TRAINING,
             *(flag for paradigm in PARADIGMS
               for flag in ("--paradigm", paradigm)),
             "--plot", page.name, cwd=folder)
    return page.read_text()


def draw_plot(programs, folder):
    times = ",".join(map(str, TIMES))
    draw("plot", simulate(programs, folder, "--iteration-times", times), folder,
         1000, ON_ONE_SCREEN)


def draw_replay(programs, folder):
    paceline(programs, "local", "--step-time", "20ms", "--slowdown",
             ",".join(map(str, TIMES)), "--paradigm", "asp", "--no-eval",
             "--record", "times.jsonl", cwd=folder)
    draw("replay", simulate(programs, folder, "--trace", "times.jsonl"), folder,
         1000, ON_ONE_SCREEN,
         "document.querySelectorAll('#timeline .choices button')[2].click();")


def show_top(programs, address):
    """A terminal in which `paceline top pool` runs, as HTML."""
    tmux = ["tmux", "-L", f"paceline-pictures-{os.getpid()}", "-f", "/dev/null"]
    subprocess.run([*tmux, "new-session", "-d", "-x", "96", "-y", "12",
                    programs / "paceline", "top", "pool", "--address", address],
                   check=True)

    def screen():
        seen = subprocess.run([*tmux, "capture-pane", "-e", "-p"],
                              capture_output=True, text=True, check=False)
        return seen.stdout if "WORKER" in seen.stdout else None

    try:
        drawn = until("paceline top has drawn", screen, seconds=20)
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)
    html = subprocess.run(["aha", "--no-header", "--stylesheet"], input=drawn,
                          capture_output=True, text=True, check=True).stdout
    return typed("top", "pool") + html.rstrip() + "\n\n"


def typed(*arguments):
    words = (f'"{word}"' if " " in word else word for word in arguments)
    return f'<span class="typed">$ paceline {" ".join(words)}</span>\n'


def watch_a_switch(programs, cluster):
    """Half of the time under bsp, half under cgp: what a terminal showed."""
    address = ("--address", cluster.address)
    time.sleep(RUN_SECONDS)
    before = show_top(programs, cluster.address)
    answer = paceline(programs, *SWITCH, *address)
    time.sleep(RUN_SECONDS)
    return (before + typed(*SWITCH) + answer + "\n"
            + show_top(programs, cluster.address))


def draw_board(prometheus, begin, folder, echarts):
    dashboard = REPOSITORY / "helm/paceline/dashboards/heterogeneity.json"
    shown = content(Board(dashboard, prometheus, Span(begin, time.time())))
    panels = {panel["title"]: panel for panel in shown["panels"]}
    shown["panels"] = []
    y = 0
    for row in PANELS:
        x = 0
        for title in row:
            panels[title]["place"] |= {"x": x, "y": y}
            shown["panels"].append(panels[title])
            x += panels[title]["place"]["w"]
        y += panels[row[0]]["place"]["h"]
    draw("board", page_of(shown, echarts), folder, 1200)


def draw_run(programs, folder, pictures):
    """`top` and `board` are of one run."""
    workers = [(f"w{i}", ("--step-time", "20ms", "--slowdown", str(slowdown)))
               for i, slowdown in enumerate(TIMES)]
    cluster = RealCluster(programs, folder, 2, workers)
    try:
        prometheus = MonitoringStack(folder, rules=())
        try:
            prometheus.scrape({
                (name, ROLES.get(name, "worker")):
                    f"127.0.0.1:{cluster.monitoring_port(name)}"
                for name in ("coordinator", *cluster.processes)})
            paceline(programs, "job", "create", "-f", "-", "--address",
                     cluster.address, input=SPEC)
            until("Prometheus has seen a push", lambda: prometheus.value(
                "paceline_coordinator_worker_samples_per_second"))
            begin = time.time()
            terminal = watch_a_switch(programs, cluster)
            if "board" in pictures:
                draw_board(prometheus, begin, folder, echarts_of(programs, folder))
        finally:
            prometheus.stop()
    finally:
        cluster.stop()
    if "top" in pictures:
        draw("top", TERMINAL % terminal, folder, 860)


def echarts_of(programs, folder):
    """What draws charts: the command has it for its page."""
    page = folder / "echarts.html"
    paceline(programs, "simulate", "--iterations", "1", "--plot", page)
    scripts = re.findall(r"<script>\n(.*?)\n</script>", page.read_text(), re.S)
    return max(scripts, key=len)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv[1]).resolve()
    pictures = sys.argv[2:] or ["plot", "replay", "top", "board"]
    unknown = set(pictures) - {"plot", "replay", "top", "board"}
    if unknown:
        sys.exit(f"there is no picture {', '.join(sorted(unknown))}")
    for name in ("paceline", "paceline-coordinator", "paceline-server",
                 "paceline-worker"):
        if not (programs / name).exists():
            sys.exit(f"there is no program {name} in {programs}")
    missing = [package for program, package in PROGRAMS.items()
               if not shutil.which(program)]
    if missing:
        sys.exit(f"missing: apt-get install {' '.join(missing)}")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="paceline-pictures-") as scratch:
        folder = pathlib.Path(scratch)
        if "plot" in pictures:
            draw_plot(programs, folder)
        if "replay" in pictures:
            draw_replay(programs, folder)
        if {"top", "board"} & set(pictures):
            draw_run(programs, folder, pictures)


if __name__ == "__main__":
    main()
