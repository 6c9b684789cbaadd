"""The parts that the dashboards are made of, as Grafana's JSON has them."""

import re

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}

NAMES = {"overview": "Overview", "heterogeneity": "Heterogeneity",
         "parameter-servers": "Parameter servers",
         "control-plane": "Control plane"}


def target(ref, expr, legend, kind):
    query = {"refId": ref, "expr": scoped(expr), "legendFormat": legend,
             "datasource": DATASOURCE}
    if kind == "heatmap":
        query["format"] = "heatmap"
    if kind in ("stat", "table", "bargauge"):
        query["instant"] = True
    if kind == "table":
        query["format"] = "table"
    return query


def panel(kind, title, description, unit, queries, width, defaults=None,
          options=None, **more):
    """`queries` are pairs of expression and legend; `width` of 24."""
    targets = [target(chr(ord("A") + i), expr, legend, kind)
               for i, (expr, legend) in enumerate(queries)]
    return {"type": kind, "title": title, "description": description,
            "datasource": DATASOURCE, "targets": targets,
            "fieldConfig": {"defaults": {"unit": unit, **(defaults or {})},
                            "overrides": []},
            "options": options or {}, "width": width, **more}


def lines(title, description, unit, *queries, width=12, stack=False, low=None,
          high=None, thresholds=None):
    custom = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 10,
              "showPoints": "never"}
    if stack:
        custom["stacking"] = {"mode": "normal", "group": "A"}
    defaults = {"custom": custom}
    if low is not None:
        defaults["min"] = low
    if high is not None:
        defaults["max"] = high
    if thresholds:
        custom["thresholdsStyle"] = {"mode": "line"}
        defaults["thresholds"] = limits(*thresholds)
    return panel("timeseries", title, description, unit, queries, width,
                 defaults,
                 {"legend": {"displayMode": "list", "placement": "bottom",
                             "showLegend": True, "calcs": []},
                  "tooltip": {"mode": "multi", "sort": "desc"}})


def limits(*steps):
    """Green, and from each of the pairs (value, colour) on that colour."""
    return {"mode": "absolute",
            "steps": [{"value": None, "color": "green"},
                      *({"value": v, "color": c} for v, c in steps)]}


def number(title, description, unit, query, width=4, thresholds=None,
           legend=""):
    return panel("stat", title, description, unit, [(query, legend)], width,
                 {"thresholds": limits(*(thresholds or ()))},
                 {"reduceOptions": {"calcs": ["lastNotNull"], "values": False,
                                    "fields": ""},
                  "colorMode": "value", "graphMode": "none",
                  "justifyMode": "auto", "orientation": "auto",
                  "textMode": "auto"}, height=4)


def heat(title, description, unit, query, width=12):
    """Of a histogram's buckets; the unit is that of the axis."""
    return panel("heatmap", title, description, unit, [(query, "{{le}}")],
                 width, None,
                 {"calculate": False, "cellGap": 1,
                  "color": {"mode": "scheme", "scheme": "Oranges",
                            "exponent": 0.5, "fill": "dark-orange",
                            "steps": 64, "reverse": False},
                  "exemplars": {"color": "rgba(255,0,255,0.7)"},
                  "filterValues": {"le": 1e-9},
                  "legend": {"show": True}, "rowsFrame": {"layout": "auto"},
                  "showValue": "never",
                  "tooltip": {"mode": "single", "yHistogram": False,
                              "showColorScale": False},
                  "yAxis": {"axisPlacement": "left", "unit": unit,
                            "reverse": False}})


def states(title, description, query, legend, mappings=None, width=24):
    """A coloured line of what something was over time."""
    defaults = {"custom": {"fillOpacity": 70, "lineWidth": 0},
                "color": {"mode": "thresholds"},
                "thresholds": limits((1, "orange"))}
    if mappings:
        defaults["mappings"] = [{"type": "value", "options": {
            value: {"text": text, "color": colour, "index": index}
            for index, (value, text, colour) in enumerate(mappings)}}]
    return panel("state-timeline", title, description, "none",
                 [(query, legend)], width, defaults,
                 {"mergeValues": True, "showValue": "auto", "alignValue": "left",
                  "rowHeight": 0.9,
                  "legend": {"displayMode": "list", "placement": "bottom",
                             "showLegend": False, "calcs": []},
                  "tooltip": {"mode": "single", "sort": "none"}})


def table(title, description, unit, query, hidden, names, width=24):
    """The series of an instant query; `names` says what columns are called."""
    shown = {key: True for key in ("Time", "__name__", *hidden)}
    return panel("table", title, description, unit, [(query, "")], width,
                 None, {"showHeader": True, "cellHeight": "sm"},
                 transformations=[{"id": "organize", "options": {
                     "excludeByName": shown, "indexByName": {},
                     "renameByName": names}}])


def row(title):
    return {"type": "row", "title": title, "collapsed": False, "panels": []}


METRIC = re.compile(r"\b((?:paceline|process)_\w+|up\b)({)?")
BY = re.compile(r"\b(by|on) \((?=job_id|instance)")


def scoped(expr):
    """Of the chosen namespaces, and jobs and pods of one name in two of them
    apart: said here, so that no query can forget it."""
    def selected(metric):
        return (metric[1] + '{namespace=~"$namespace"'
                + ("," if metric[2] else "}"))
    return BY.sub(r"\1 (namespace, ", METRIC.sub(selected, expr))


def variable(name, label, query, scope=scoped, **more):
    return {"name": name, "label": label, "type": "query",
            "datasource": DATASOURCE, "query": scope(query), "refresh": 2,
            "sort": 1, "multi": True, "includeAll": True,
            "current": {"text": "All", "value": "$__all"}, **more}


def annotation(name, colour, expr, title, text):
    return {"name": name, "datasource": DATASOURCE, "enable": True,
            "iconColor": colour, "expr": scoped(expr), "step": "15s",
            "titleFormat": title, "textFormat": text}


def increased(metric, by, selector=""):
    """Where a counter has gone up, and where it is new: a series that begins
    at 1 has no increase."""
    of = f'{metric}{{job_id=~"$job"{selector}}}'
    return (f"sum by ({by}) (increase({of}[$__rate_interval]) > 0 "
            f"or ({of} unless {of} offset $__rate_interval) > 0)")


ANNOTATIONS = [
    annotation("Switches", "purple",
               increased("paceline_coordinator_paradigm_switches_total",
                         "job_id, from, to"),
               "{{job_id}}", "{{from}} to {{to}}"),
    annotation("Regroupings", "blue",
               increased("paceline_coordinator_decisions_total", "job_id",
                         ',reason="regrouped"'),
               "{{job_id}}", "regrouped"),
    annotation("Joins", "green",
               increased("paceline_coordinator_workers_joined_total",
                         "job_id"),
               "{{job_id}}", "a worker joined"),
    annotation("Losses", "red",
               increased("paceline_coordinator_workers_lost_total",
                         "job_id, reason"),
               "{{job_id}}", "a worker is gone: {{reason}}"),
    annotation("Checkpoints", "yellow",
               'changes(paceline_coordinator_last_checkpoint_timestamp_seconds'
               '{job_id=~"$job"}[$__rate_interval]) > 0',
               "{{job_id}}", "a checkpoint is ready"),
]


def place(panels):
    """Positions from left to right; each gets a number."""
    placed = []
    x = y = line = 0
    for number_, item in enumerate(panels, 1):
        item = dict(item)
        width = item.pop("width", 24)
        height = item.pop("height", 1 if item["type"] == "row" else 8)
        if x + width > 24:
            x, y, line = 0, y + line, 0
        item["gridPos"] = {"x": x, "y": y, "w": width, "h": height}
        item["id"] = number_
        line = max(line, height)
        x += width
        placed.append(item)
    return placed


def dashboard(board):
    links = [{"title": title, "type": "link", "icon": "dashboard",
              "url": f"/d/paceline-{name}", "asDropdown": False,
              "includeVars": True, "keepTime": True, "targetBlank": False,
              "tags": [], "tooltip": ""}
             for name, title in NAMES.items() if name != board.NAME]
    return {
        "title": f"paceline / {NAMES[board.NAME]}",
        "uid": f"paceline-{board.NAME}",
        "description": board.DESCRIPTION,
        "tags": ["paceline"], "timezone": "browser", "editable": True,
        "graphTooltip": 1, "schemaVersion": 39, "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "links": links,
        "annotations": {"list": ANNOTATIONS if board.ANNOTATED else []},
        "templating": {"list": [
            {"name": "datasource", "label": "Data source",
             "type": "datasource", "query": "prometheus"},
            *board.VARIABLES]},
        "panels": place(board.PANELS),
    }
