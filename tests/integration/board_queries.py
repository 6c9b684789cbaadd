"""What Grafana asks Prometheus for to show a dashboard, and what it is told."""

import dataclasses
import json
import math
import re

VARIABLE = re.compile(r"\$\{?(\w+)\}?")
LABEL_VALUES = re.compile(r"label_values\((.+), (\w+)\)")
LEGEND_LABEL = re.compile(r"{{(\w+)}}")


def quoted(value):
    """As a part of a regular expression in a string of PromQL."""
    return re.escape(value).replace("\\", "\\\\").replace('"', '\\"')


@dataclasses.dataclass
class Series:
    labels: dict
    points: list  # (time, value), numbers alone.

    def named(self, legend):
        return LEGEND_LABEL.sub(
            lambda label: self.labels.get(label[1], ""), legend)


@dataclasses.dataclass
class Span:
    """The times that a board shows, in Unix seconds."""
    start: float
    end: float
    step: float = 1

    @property
    def rate_interval(self):
        """As Grafana has it: at least four scrapes, each a step here."""
        return f"{max(5, round(4 * self.step))}s"


class Board:
    """A dashboard, over `span`, with All in each of its choices.
    `prometheus` has get(path, **arguments)."""

    def __init__(self, path, prometheus, span):
        self.json = json.loads(path.read_text())
        self.title = self.json["title"]
        self.prometheus = prometheus
        self.span = span
        self.chosen = {"__rate_interval": span.rate_interval}
        self.choices = {}
        for variable in self.json["templating"]["list"]:
            if variable["type"] == "query":
                self.choose_all(variable)

    def choose_all(self, variable):
        selector, label = LABEL_VALUES.fullmatch(variable["query"]).groups()
        values = self.prometheus.get(
            f"/api/v1/label/{label}/values", start=self.span.start,
            end=self.span.end, **{"match[]": self.filled_in(selector)})
        name = variable["name"]
        self.choices[name] = values
        self.chosen[name] = variable.get("allValue",
                                         f"({'|'.join(map(quoted, values))})")

    def filled_in(self, expression):
        """With the chosen values; a KeyError where there is no such choice."""
        return VARIABLE.sub(lambda name: self.chosen[name[1]], expression)

    def range(self, expression):
        result = self.prometheus.get(
            "/api/v1/query_range", query=self.filled_in(expression),
            start=self.span.start, end=self.span.end, step=self.span.step)
        return self.series((series["metric"], series["values"])
                           for series in result["result"])

    def instant(self, expression):
        result = self.prometheus.get("/api/v1/query", time=self.span.end,
                                     query=self.filled_in(expression))
        return self.series((series["metric"], [series["value"]])
                           for series in result["result"])

    @staticmethod
    def series(results):
        """Those with a number: what is divided by nothing shows nothing."""
        found = []
        for labels, values in results:
            points = [(time, float(value)) for time, value in values
                      if math.isfinite(float(value))]
            if points:
                found.append(Series(labels, points))
        return found

    def panels(self):
        """Pairs of a panel and the pairs of its queries and their series."""
        for panel in self.json["panels"]:
            targets = panel.get("targets", [])
            yield panel, [
                (target, self.instant(target["expr"])
                 if target.get("instant") else self.range(target["expr"]))
                for target in targets]

    def annotations(self):
        """Pairs of an annotation and its series."""
        for annotation in self.json["annotations"]["list"]:
            yield annotation, self.range(annotation["expr"])
