#!/usr/bin/python3
"""Draws a dashboard as Grafana would, as one page without anything beside it.

    render_board.py PROMETHEUS_URL BOARD.json START END ECHARTS.js > page.html

START and END are Unix seconds; ECHARTS.js is echarts.min.js, which the build
of the command has fetched into services/cli/plot/npm of the build folder.
"""

import json
import pathlib
import re
import sys

from board_queries import Board, Span
from monitoring_stack import PrometheusApi

HERE = pathlib.Path(__file__).parent


def panel_content(panel, answers):
    defaults = panel.get("fieldConfig", {}).get("defaults", {})
    return {
        "type": panel["type"], "title": panel["title"],
        "description": panel.get("description", ""),
        "place": panel["gridPos"], "defaults": defaults,
        "renamed": next((t["options"]["renameByName"]
                         for t in panel.get("transformations", [])), {}),
        "series": [{"name": series.named(target["legendFormat"]),
                    "labels": series.labels, "points": series.points}
                   for target, found in answers for series in found]}


def annotation_marks(annotation, answers, step):
    """Where its series begin to be there: Grafana joins what follows on."""
    for series in answers:
        before = None
        for time, value in series.points:
            if value and (before is None or time - before > step):
                yield {"time": time, "color": annotation["iconColor"],
                       "name": annotation["name"],
                       "text": series.named(annotation["textFormat"])}
            before = time if value else None


def content(board):
    return {
        "title": board.title, "description": board.json["description"],
        "start": board.span.start, "end": board.span.end,
        "step": board.span.step,
        "choices": [[v["label"], board.choices[v["name"]]]
                    for v in board.json["templating"]["list"]
                    if v["name"] in board.choices],
        "annotations": [
            mark for annotation, answers in board.annotations()
            for mark in annotation_marks(annotation, answers, board.span.step)],
        "panels": [panel_content(panel, answers)
                   for panel, answers in board.panels()]}


def render(board, echarts):
    return page_of(content(board), echarts)


def page_of(shown, echarts):
    """A page of such a content."""
    # "<" would end the element that the data stand in.
    data = json.dumps(shown).replace("<", "\\u003c")
    texts = {"data": data, "echarts": echarts,
             "script": (HERE / "render_board.js").read_text()}
    return re.sub(r"{{(\w+)}}", lambda name: texts[name[1]],
                  (HERE / "render_board.html").read_text())


def main():
    url, board, start, end, echarts = sys.argv[1:]
    length = float(end) - float(start)
    # As many points as a wide panel has room for.
    span = Span(float(start), float(end), max(1, round(length / 800)))
    print(render(Board(pathlib.Path(board), PrometheusApi(url), span),
                 pathlib.Path(echarts).read_text()))


if __name__ == "__main__":
    main()
