#!/usr/bin/env python3
"""Generates values.schema.json and README.md of the chart from values.yaml.

    helm/generate_values.py [--check]

A comment "# -- TEXT" above a value is its description. Lines "# @NAME ..." below
that narrow it down:

    @enum A B C       one of these
    @pattern REGEX    a text of that form
    @range MIN [MAX]  a number within
    @items [REGEX]    a list of texts, of that form
    @number           any number, not only whole ones
    @strings          an object of texts, none of the chart's own labels
    @count            a number or a percentage

Without one the type is that of the value; {} is any object, [] any list. The
values below `poolDefaults` are those of each of `pools` and of `evaluators` too.
With --check nothing is written; exits with 1 if a page is not in step.
"""

import json
import pathlib
import re
import sys

CHART = pathlib.Path(__file__).parent / "paceline"

# Of every object, by the chart alone.
OWN_LABELS = r"^(app\.kubernetes\.io|helm\.sh|paceline\.dev)/"

LINE = re.compile(r"^( *)([A-Za-z][A-Za-z0-9]*):(?: +(.*))?$")


class Value:
    """One key of values.yaml, with what is said above it."""

    def __init__(self, path, text, description, hints):
        self.path = path
        self.text = text
        self.description = description
        self.hints = hints
        self.children = []


def parse(lines):
    """The values as a tree. Reads the regular form that values.yaml has."""
    root = Value([], None, "", {})
    stack = [(-2, root)]
    description, hints = "", {}
    skip_below = None
    for number, line in enumerate(lines, 1):
        indent = len(line) - len(line.lstrip())
        if skip_below is not None and line.strip():
            if indent > skip_below:
                continue  # The inside of a documented object.
            skip_below = None
        comment = line.strip()
        if comment.startswith("# -- "):
            description = comment[5:]
        elif comment.startswith("# @"):
            name, _, rest = comment[3:].partition(" ")
            hints[name] = rest.strip()
        elif comment.startswith("#") or not comment:
            description, hints = "", {}
        else:
            match = LINE.match(line)
            if not match:
                raise SystemExit(f"values.yaml:{number}: cannot read {line!r}")
            while stack[-1][0] >= indent:
                stack.pop()
            parent = stack[-1][1]
            value = Value(parent.path + [match[2]], match[3], description,
                          hints)
            parent.children.append(value)
            if value.text is None and description:
                skip_below = indent  # It is documented as a whole.
            elif value.text is None:
                stack.append((indent, value))
            elif not description:
                raise SystemExit(
                    f"values.yaml:{number}: {match[2]} has no description")
            description, hints = "", {}
    return root


def type_of(text):
    if text in ("true", "false"):
        return "boolean"
    if re.fullmatch(r"-?\d+", text):
        return "integer"
    if text.startswith("["):
        return "array"
    if text.startswith("{"):
        return "object"
    return "string"


def schema_of(value):
    if value.children:
        return {"type": "object", "additionalProperties": False,
                "properties": {child.path[-1]: schema_of(child)
                               for child in value.children}}
    schema = {}
    if value.description:
        schema["description"] = value.description
    kind = "object" if value.text is None else type_of(value.text)
    hints = value.hints
    if "number" in hints:
        kind = "number"
    schema["type"] = kind
    if "count" in hints:
        schema.update({"type": ["integer", "string"], "minimum": 0,
                       "pattern": "^[0-9]+%$"})
    if "enum" in hints:
        schema["enum"] = hints["enum"].split()
    if "pattern" in hints:
        schema["pattern"] = hints["pattern"]
    if "items" in hints:
        schema["items"] = {"type": "string"}
        if hints["items"]:
            schema["items"]["pattern"] = hints["items"]
    if "strings" in hints:
        schema["additionalProperties"] = {"type": "string"}
        schema["propertyNames"] = {"not": {"pattern": OWN_LABELS}}
    if "range" in hints:
        low, *high = hints["range"].split()
        schema["minimum"] = json.loads(low)
        if high:
            schema["maximum"] = json.loads(high[0])
    return schema


def make_schema(root):
    schema = schema_of(root)
    properties = schema["properties"]
    pool = properties["poolDefaults"]
    properties["pools"] = {
        "description": properties["pools"]["description"],
        "type": "object", "additionalProperties": False,
        "patternProperties": {
            "^[a-z]([a-z0-9-]{0,12}[a-z0-9])?$":
                {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/pool"}]}}}
    # Nobody scales them, and one may always go.
    properties["evaluators"] = {**pool, "properties": {
        key: value for key, value in pool["properties"].items()
        if key not in ("autoscaling", "podDisruptionBudget")}}
    # Of an umbrella chart.
    properties["enabled"] = {"type": "boolean"}
    properties["global"]["additionalProperties"] = True
    properties["poolDefaults"] = {"$ref": "#/definitions/pool"}
    return {"$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Values of the paceline chart",
            "definitions": {"pool": pool}, **schema}


def rows_of(value):
    if value.children:
        for child in value.children:
            yield from rows_of(child)
        return
    text = value.text or "see values.yaml"
    if len(text) > 40:
        text = "see values.yaml"
    text = text.replace("|", "\\|")
    yield (f"| `{'.'.join(value.path)}` | `{text}` "
           f"| {value.description.replace('|', chr(92) + '|')} |")


def make_readme(root, template):
    table = "\n".join(["| value | default | what it is |", "| --- | --- | --- |",
                       *rows_of(root)])
    head = template[:template.index("## Values\n")]
    return (f"{head}## Values\n\nGenerated from `values.yaml` by "
            f"`helm/generate_values.py`.\n\n{table}\n")


def main():
    root = parse((CHART / "values.yaml").read_text().splitlines())
    readme = CHART / "README.md"
    pages = {CHART / "values.schema.json":
             json.dumps(make_schema(root), indent=2) + "\n",
             readme: make_readme(root, readme.read_text())}
    stale = [path for path, text in pages.items()
             if not path.exists() or path.read_text() != text]
    if "--check" not in sys.argv[1:]:
        for path in stale:
            path.write_text(pages[path])
        return 0
    for path in stale:
        print(f"{path.name} is not in step with values.yaml: run "
              "helm/generate_values.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
