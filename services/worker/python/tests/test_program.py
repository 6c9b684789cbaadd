"""Frames, arenas and broken agents, over a socket pair and without torch."""

from __future__ import annotations

import array
import gc
import json
import math
import os
import random
import socket
import struct
import threading
import time
import typing
from typing import Any, Dict, Iterator, List, Tuple

import pytest

from paceline import ProgramError
from paceline.errors import code_of, few
from paceline.program import (Abandon, Begin, Drop, Evaluate, JobInfo, Kind,
                              Lot, Message, Program, Refresh, StepOrder, Stop,
                              Weights, describe, layout)

Pair = Tuple[Program, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A program, and the agent's end of its socket."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(60)
    program = Program(ours)
    yield program, theirs
    program.close()
    theirs.close()


def frame(kind: int, body: Any = b"") -> bytes:
    body = json.dumps(body).encode() if isinstance(body, dict) else body
    return struct.pack("<II", len(body), kind) + body


JOB = {"protocol": 1, "job": "mnist", "worker": "w3", "role": "trainer",
       "arguments": {"depth": "3"}, "seed": 2 ** 63, "batch_size": 64,
       "micro_batch": 0, "wire": "bf16", "optimizer": "adam",
       "learning_rate": 0.5, "data": "program"}

STEP = struct.pack("<qIIIIdqq", 2 ** 40, 3, 100, 32, 1, 0.25, 17, 2 ** 33)

MESSAGES: List[Tuple[int, Any, Any]] = [
    (Kind.JOB, JOB, JobInfo("mnist", "w3", "trainer", {"depth": "3"}, 2 ** 63,
                            64, 64, "bf16", "adam", 0.5, "program")),
    (Kind.WEIGHTS, struct.pack("<II", 3, 7), Weights(3, 7)),
    (Kind.LOT, struct.pack("<II3I", 2, 3, 9, 8, 2 ** 32 - 1),
     Lot(2, array.array("I", [9, 8, 2 ** 32 - 1]))),
    (Kind.LOT, struct.pack("<II", 2, 0), Lot(2, array.array("I"))),
    (Kind.DROP, b"", Drop()),
    (Kind.STEP, STEP, StepOrder(2 ** 40, 3, 100, 32, True, False, 0.25,
                                17, 2 ** 33)),
    (Kind.STEP, struct.pack("<qIIIIdqq", 1, 0, 8, 4, 2, 0.5, 2, 96),
     StepOrder(1, 0, 8, 4, False, True, 0.5, 2, 96)),
    (Kind.REFRESH, struct.pack("<q", 5), Refresh(5)),
    (Kind.ABANDON, struct.pack("<q", 5), Abandon(5)),
    (Kind.EVALUATE, struct.pack("<qQ", 4, 2 ** 40), Evaluate(4, 2 ** 40)),
    (Kind.STOP, {"reason": "done"}, Stop("done")),
    # Of a later version: what is behind is not ours.
    (Kind.WEIGHTS, struct.pack("<IIQ", 3, 7, 1), Weights(3, 7)),
    (Kind.STEP, STEP + b"more", StepOrder(2 ** 40, 3, 100, 32, True, False,
                                          0.25, 17, 2 ** 33)),
    (Kind.LOT, struct.pack("<III", 2, 1, 9) + b"more",
     Lot(2, array.array("I", [9]))),
    (Kind.STOP, {"reason": "done", "more": [1]}, Stop("done")),
]


@pytest.mark.parametrize("kind, body, message", MESSAGES, ids=str)
def test_a_frame_is_read_whatever_its_pieces(kind: int, body: Any,
                                             message: Any, pair: Pair) -> None:
    program, agent = pair
    data = frame(kind, body)
    for pieces in (1, 3, len(data)):
        assert program.poll() is None
        step = -(-len(data) // pieces)
        for at in range(0, len(data), step):
            assert program.poll() is None
            agent.sendall(data[at:at + step])
        assert program.poll() == message
    # And several at once.
    agent.sendall(data * 3)
    assert [program.receive() for _ in range(3)] == [message] * 3


BROKEN: Dict[str, Tuple[bytes, str]] = {
    "kind": (frame(99), "a frame of kind 99"),
    "a program's": (frame(Kind.DONE, b"x" * 40), "a frame of kind 5"),
    "too long": (struct.pack("<II", 2 ** 24 + 1, 67), "16,777,217 bytes"),
    "short struct": (frame(Kind.STEP, STEP[:-1]), "47 bytes in place of 48"),
    "short lot": (frame(Kind.LOT, struct.pack("<III", 0, 2, 1)),
                  "a lot of 2 samples in 12 bytes"),
    "no text": (frame(Kind.STOP, b"\xff"), "is no JSON"),
    "no JSON": (frame(Kind.STOP, b"{"), "is no JSON"),
    "no object": (frame(Kind.STOP, b"[]"), "no JSON object"),
    "no batch": (frame(Kind.JOB, {"protocol": 1, "job": "j"}), "batch_size"),
    "an empty batch": (frame(Kind.JOB, {**JOB, "batch_size": 0}),
                       "batch_size 0"),
    "an endless batch": (frame(Kind.JOB, {**JOB, "batch_size": math.inf}),
                         "convert float infinity"),
    "too deep": (frame(Kind.STOP, b"[" * 100_000), "is no JSON"),
    "no arenas": (frame(Kind.BEGIN, {"weights_bytes": 4}), "with 0 arenas"),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_what_the_protocol_does_not_have_is_an_error(name: str, pair: Pair
                                                     ) -> None:
    program, agent = pair
    data, sentence = BROKEN[name]
    agent.sendall(data)
    with pytest.raises(ProgramError, match=sentence) as caught:
        program.receive()
    assert "install the same release of both" in str(caught.value)


def send_arenas(agent: socket.socket, sizes: List[int], said: List[Any]
                ) -> None:
    arenas = [os.memfd_create("arena") for _ in sizes]
    for arena, size in zip(arenas, sizes):
        os.ftruncate(arena, size)
    body = frame(Kind.BEGIN, {"initialize": True, "weights_bytes": said[0],
                              "gradients_bytes": said[1]})
    socket.send_fds(agent, [body], arenas)
    for arena in arenas:
        os.close(arena)


def open_arenas() -> int:
    count = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            count += "memfd:arena" in os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            pass
    return count


def test_arenas_are_mapped_and_closed(pair: Pair) -> None:
    program, agent = pair
    send_arenas(agent, [256, 128], [256, 128])
    begin = program.receive()
    assert isinstance(begin, Begin) and begin.initialize
    assert begin.weights is not None and begin.gradients is not None
    begin.weights[:4] = b"abcd"
    assert (len(begin.weights), len(begin.gradients)) == (256, 128)
    begin.weights.close()
    begin.gradients.close()
    assert open_arenas() == 0


@pytest.mark.parametrize("sizes, said, sentence", [
    ([64, 64], [4096 * 2, 64], "cannot be mapped"),
    ([64, 64], [64, -1], "cannot be mapped"),
    ([64, 64], [64, [64]], "cannot be mapped"),
    ([64], [64, 64], "with 1 arenas"), ([64] * 3, [64, 64], "with 3 arenas")])
def test_arenas_that_are_wrong(sizes: List[int], said: List[Any],
                               sentence: str, pair: Pair) -> None:
    program, agent = pair
    send_arenas(agent, sizes, said)
    with pytest.raises(ProgramError, match=sentence):
        program.receive()
    program.close()
    assert open_arenas() == 0


# Fuzzing: frames that are nearly right.

RECORDED: List[Tuple[int, Any]] = [
    *((kind, body) for kind, body, _ in MESSAGES),
    (Kind.REFUSED, {"code": "INVALID_ARGUMENT", "message": "no"}),
    *[(Kind.BEGIN, {"initialize": True, "weights_bytes": 64,
                    "gradients_bytes": 32})] * 3]

ODD_VALUES = ["Infinity", "-Infinity", "NaN", "1e999", "9" * 400, "-1", "0",
              "0.5", "null", "true", '""', '"x"', '"\\ud800"', "[]", "{}",
              "[[]]", "[[1, 2]]", "[[{}, 1]]", "[1, 2", "[" * 5000]


def with_an_odd_value(drawn: random.Random, body: Dict[str, Any]) -> bytes:
    fields = {**body, drawn.choice([*body, "of a later version"]): "@"}
    return json.dumps(fields).replace('"@"', drawn.choice(ODD_VALUES)).encode()


def change_a_byte(drawn: random.Random, data: bytearray) -> None:
    at = drawn.randrange(len(data) + 1)
    kind = drawn.randrange(4)
    if kind == 0:
        data[at:at + 1] = bytes([drawn.randrange(256)])
    elif kind == 1:
        del data[at:at + drawn.randint(1, 8)]
    elif kind == 2:
        data[at:at] = data[:drawn.randint(1, 8)]
    else:  # A length, a count or a kind.
        data[at:at + 4] = struct.pack("<I", drawn.choice(
            [0, 1, 65, 74, 2 ** 24, 2 ** 24 + 1, 2 ** 31, 2 ** 32 - 1]))


def fuzzed_frame(drawn: random.Random) -> bytes:
    kind, body = drawn.choice(RECORDED)
    if isinstance(body, dict) and drawn.random() < 0.6:
        body = with_an_odd_value(drawn, body)
    data = bytearray(frame(kind, body))
    for _ in range(drawn.choice([0, 0, 1, 1, 2, 4])):
        change_a_byte(drawn, data)
    return bytes(data)


def hear_fuzzed(drawn: random.Random) -> Tuple[int, ProgramError]:
    """How many messages a program hears, and what ends it."""
    ours, theirs = socket.socketpair()
    program = Program(ours)
    arenas = [os.memfd_create("arena")
              for _ in range(drawn.choice([0, 0, 1, 2, 2, 2, 3]))]
    for arena in arenas:
        os.ftruncate(arena, 64)
    data = b"".join(fuzzed_frame(drawn) for _ in range(drawn.randint(1, 3)))
    socket.send_fds(theirs, [data], arenas)
    theirs.close()  # So nobody waits for what does not come.
    for arena in arenas:
        os.close(arena)
    heard = 0
    try:
        while True:
            assert isinstance(program.receive(), typing.get_args(Message))
            heard += 1
    except ProgramError as error:
        return heard, error
    finally:
        program.close()


def test_fuzzed_frames_are_messages_or_errors() -> None:
    heard, sentences = 0, set()
    for seed in range(6000):
        try:
            messages, error = hear_fuzzed(random.Random(seed))
        except BaseException as error:
            raise AssertionError(f"seed {seed}") from error
        heard += messages
        sentences.add(str(error)[:30])
        assert error.code and "\n" not in str(error)
    # It went both ways, and not each time by the same.
    assert heard > 2000 and len(sentences) > 10
    gc.collect()
    assert open_arenas() == 0


def test_both_sides_may_send_much_at_once(pair: Pair) -> None:
    """Neither waits for the other to read."""
    program, agent = pair
    lots = frame(Kind.LOT, struct.pack("<II", 0, 10 ** 6) + bytes(4 * 10 ** 6))
    text = "x" * 8_000_000
    received: List[int] = []

    def play() -> None:
        agent.sendall(lots)  # First all of this, then it reads.
        while sum(received) < len(text):
            received.append(len(agent.recv(1 << 20)))

    thread = threading.Thread(target=play)
    thread.start()
    program._send_json(Kind.ATTACH, {"tensors": text})
    message = program.receive()
    thread.join(60)
    assert isinstance(message, Lot) and len(message.indices) == 10 ** 6


def test_a_frame_that_is_too_long_is_not_sent(pair: Pair) -> None:
    program, _ = pair
    with pytest.raises(ProgramError, match="attach has .* bytes, and a frame"):
        program._send_json(Kind.ATTACH, {"tensors": "x" * (16 << 20)})


def test_what_is_sent(pair: Pair) -> None:
    program, agent = pair
    program.ready(2, 5)
    program.done(7, 1.5, 32, False, 10, 20)
    program.abandoned(8)
    program.evaluated(3, {"loss": 0.5})
    program.initialized()
    program.fail(ProgramError("no"))
    program.fail(ProgramError("again"))  # Said once.
    data = b""
    while True:
        part = agent.recv(1 << 16)
        if not part:
            break
        data += part
    assert data == (
        frame(Kind.READY, struct.pack("<II", 2, 5))
        + frame(Kind.DONE, struct.pack("<qdIIQQ", 7, 1.5, 32, 1, 10, 20))
        + frame(Kind.ABANDONED, struct.pack("<q", 8))
        + frame(Kind.EVALUATED, {"snapshot": 3, "metrics": {"loss": 0.5}})
        + frame(Kind.INITIALIZED)
        + frame(Kind.FAILED, {"code": "FAILED_PRECONDITION", "message": "no"}))
    with pytest.raises(ProgramError, match="is closed"):
        program.ready(0, 1)


def test_an_agent_that_refuses(pair: Pair) -> None:
    program, agent = pair
    agent.sendall(frame(Kind.REFUSED, {"code": "INVALID_ARGUMENT",
                                       "message": "two tensors are \"a\""}))
    with pytest.raises(ProgramError, match='two tensors are "a"') as caught:
        program.receive()
    assert caught.value.code == "INVALID_ARGUMENT" and program.closed


REFUSAL = frame(Kind.REFUSED, {"code": "ALREADY_EXISTS",
                               "message": "another program is connected"})


def test_an_agent_that_refuses_before_it_is_spoken_to(pair: Pair) -> None:
    """Its sentence lies in the socket, which cannot be written to."""
    program, agent = pair
    agent.sendall(frame(Kind.DROP) + REFUSAL)
    agent.close()
    with pytest.raises(ProgramError, match="another program is con") as caught:
        program.hello()
    assert caught.value.code == "ALREADY_EXISTS" and program.closed


def test_an_agent_that_refuses_in_the_middle_of_a_frame(pair: Pair) -> None:
    program, agent = pair

    def play() -> None:
        agent.recv(1)
        agent.sendall(REFUSAL)
        while not program._received:  # It is read while the rest is sent.
            time.sleep(0.001)
        agent.close()

    thread = threading.Thread(target=play)
    thread.start()
    with pytest.raises(ProgramError, match="another program is con"):
        program._send_json(Kind.ATTACH, {"tensors": "x" * 8_000_000})
    thread.join(60)
    assert program.closed


def test_an_agent_that_goes(pair: Pair) -> None:
    program, agent = pair
    agent.close()
    with pytest.raises(ProgramError, match="before it named a job") as caught:
        program.hello()
    assert caught.value.code == "UNAVAILABLE" and program.closed


def test_layout_is_that_of_the_protocol() -> None:
    assert layout([1, 16, 17, 0, 1], 4) == ([0, 64, 128, 256, 256], 260)
    assert layout([33, 1], 2) == ([0, 128], 130)
    assert layout([], 4) == ([], 0)


def test_errors_are_described() -> None:
    def thrown(error: BaseException) -> BaseException:
        try:
            raise error
        except BaseException as caught:
            return caught

    assert code_of(KeyError("x")) == "INTERNAL"
    assert code_of(KeyboardInterrupt()) == "CANCELLED"
    assert code_of(RuntimeError("CUDA out of memory.")) == "RESOURCE_EXHAUSTED"
    assert code_of(RuntimeError("out of luck")) == "INTERNAL"
    text = describe(thrown(ValueError("two\nlines")))
    assert text.startswith("ValueError: two lines (test_program.py:")
    assert describe(ProgramError("as it is")) == "as it is"
    assert few(["a", "b", "c"], 2) == "a, b, ..."
