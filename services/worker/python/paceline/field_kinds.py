"""What kind of value a field of a message has, by its descriptor."""

from __future__ import annotations

import typing


def is_message(field: typing.Any) -> bool:
    return field.cpp_type == field.CPPTYPE_MESSAGE


def is_repeated(field: typing.Any) -> bool:
    """A list or a map."""
    # Newer versions of Protobuf warn of `label`, older ones have nothing else.
    repeated = getattr(field, "is_repeated", None)
    if isinstance(repeated, bool):
        return repeated
    return field.label == field.LABEL_REPEATED


def is_map(field: typing.Any) -> bool:
    return (is_message(field) and is_repeated(field) and
            field.message_type.GetOptions().map_entry)


def may_be_absent(field: typing.Any) -> bool:
    """HasField() says something of it."""
    return not is_repeated(field) and (
        is_message(field) or field.containing_oneof is not None)
