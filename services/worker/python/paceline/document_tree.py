"""Documents of people (YAML, JSON, dicts) as one kind of tree.

A scalar keeps the text that was written: what it means, the field for which it
is given decides, as in the command `paceline`. So a label of 1.10 stays "1.10".
"""

from __future__ import annotations

import dataclasses
import json
import typing


@dataclasses.dataclass(frozen=True)
class Scalar:
    text: typing.Optional[str]  # None: null.
    line: int = 0  # From 1; 0: not from a text.


@dataclasses.dataclass(frozen=True)
class Sequence:
    items: typing.Tuple["Node", ...]
    line: int = 0


@dataclasses.dataclass(frozen=True)
class Mapping:
    # In order; a name may be there twice.
    entries: typing.Tuple[typing.Tuple["Node", "Node"], ...]
    line: int = 0


Node = typing.Union[Scalar, Sequence, Mapping]

_NULL_TAG = "tag:yaml.org,2002:null"
_DEPTH_MAX = 100


class NoYaml(ValueError):
    """PyYAML is missing, and the text is no JSON either."""


def parse_documents(text: str) -> typing.List[Node]:
    """The documents of a text in YAML, of which JSON is a part.

    Without PyYAML the text must be JSON. Raises ValueError, with the line,
    for what is neither.
    """
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(f"line {line}: a zero byte is no text")
    try:
        import yaml
    except ImportError:
        return [_parse_json(text)] if text.strip() else []
    # PyYAML's own constructors make numbers and dates of texts, and its
    # unsafe ones anything at all: only the nodes are used.
    try:
        return [_from_yaml(document, 0)
                for document in yaml.compose_all(text, Loader=yaml.SafeLoader)]
    except yaml.YAMLError as error:
        raise ValueError(_yaml_fault(error)) from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def from_python(value: typing.Any) -> Node:
    """A tree of dicts, lists, texts, numbers, True, False and None."""
    return _from_python(value, 0)


def _from_python(value: typing.Any, depth: int) -> Node:
    if depth > _DEPTH_MAX:
        raise ValueError("is nested too deeply")
    if value is None:
        return Scalar(None)
    if isinstance(value, bool):
        return Scalar("true" if value else "false")
    if isinstance(value, typing.Mapping):
        return Mapping(tuple(
            (Scalar(str(key)), _from_python(entry, depth + 1))
            for key, entry in value.items()))
    if isinstance(value, (list, tuple)):
        return Sequence(tuple(_from_python(item, depth + 1)
                              for item in value))
    if isinstance(value, float):
        return Scalar(repr(value))
    return Scalar(str(value))


def _from_yaml(node: typing.Any, depth: int) -> Node:
    import yaml
    if depth > _DEPTH_MAX:
        raise ValueError("is nested too deeply")
    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        null = node.tag == _NULL_TAG
        return Scalar(None if null else node.value, line)
    if isinstance(node, yaml.SequenceNode):
        return Sequence(tuple(_from_yaml(item, depth + 1)
                              for item in node.value), line)
    return Mapping(tuple((_from_yaml(key, depth + 1),
                          _from_yaml(value, depth + 1))
                         for key, value in node.value), line)


def _yaml_fault(error: typing.Any) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    where = f"line {mark.line + 1}: " if mark is not None else ""
    return f"{where}this is no YAML: {problem}"


class _Pairs(typing.List[typing.Tuple[str, typing.Any]]):
    """An object of JSON with all its names, also those given twice."""


class _Number(str):
    """A number of JSON as it was written."""


def _parse_json(text: str) -> Node:
    try:
        value = json.loads(text, object_pairs_hook=_Pairs, parse_int=_Number,
                           parse_float=_Number, parse_constant=_Number)
    except json.JSONDecodeError as error:
        raise NoYaml(
            f"line {error.lineno}: this is no JSON ({error.msg}); for YAML "
            "install PyYAML (pip install pyyaml)") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    return _from_pairs(value)


def _from_pairs(value: typing.Any) -> Node:
    if isinstance(value, _Pairs):
        return Mapping(tuple((Scalar(key), _from_pairs(entry))
                             for key, entry in value))
    if isinstance(value, list):
        return Sequence(tuple(_from_pairs(item) for item in value))
    return _from_python(value, 0)
