"""paceline.resources beside the messages that it stands for."""

import dataclasses
import typing

import pytest

from client_cluster import prepare_messages

prepare_messages()

from paceline import field_kinds, resources  # noqa: E402
from paceline.api_messages import message_class, new  # noqa: E402
from paceline.resources import to_resource  # noqa: E402

CLASSES = {kind.__name__: kind for kind in vars(resources).values()
           if dataclasses.is_dataclass(kind)}
# What a watch gives; its message has the fields in a oneof.
del CLASSES["JobUpdate"]


def descriptor_of(name):
    return message_class(f"paceline.v1.{name}").DESCRIPTOR


@pytest.mark.parametrize("name", list(CLASSES))
def test_a_resource_has_the_fields_of_its_message(name):
    assert {field.name for field in dataclasses.fields(CLASSES[name])} == {
        field.name for field in descriptor_of(name).fields}


@pytest.mark.parametrize("name", list(CLASSES))
def test_what_may_be_absent_is_none(name):
    """And nothing else is, for who reads it need not look."""
    empty = to_resource(new(name), CLASSES[name])
    hints = typing.get_type_hints(CLASSES[name])
    for field in descriptor_of(name).fields:
        if field.name == "spec":  # A dict of what is set.
            continue
        absent = field_kinds.may_be_absent(field)
        assert (getattr(empty, field.name) is None) == absent, field.name
        assert (type(None) in typing.get_args(hints[field.name])) == absent


def test_an_update_has_the_events_of_a_watch():
    events = {field.name for field in
              descriptor_of("WatchJobResponse").oneofs_by_name["event"].fields}
    assert events == set(resources.EVENTS)
    assert {"kind", *events} == {
        field.name for field in dataclasses.fields(resources.JobUpdate)}


def test_what_a_program_s_evaluation_gave():
    point = new("AccuracyPoint", samples=64, metrics={"perplexity": 4.5})
    assert to_resource(point, resources.AccuracyPoint) == (
        resources.AccuracyPoint(samples=64, accuracy=None, loss=None,
                                metrics={"perplexity": 4.5}))
    progress = new("JobProgress", accuracy=0.0, metrics={"top5": 0.5})
    told = to_resource(progress, resources.JobProgress)
    assert (told.accuracy, told.loss) == (0.0, None)
    assert told.metrics == {"top5": 0.5}
