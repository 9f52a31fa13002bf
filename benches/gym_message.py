"""CPU time of the message that a gym on ns-3 sends at each step: a request and its reply by ZeroMQ, with an observation and an action as Protocol Buffers.

    pip install pyzmq protobuf
    python benches/gym_message.py

It is a lower bound of what ns3-gym adds to a step of ns-3: the agent's process alone counts, which is Python there, too. ns-3's process, and the choice of an
action, are left out. Prints one line of JSON.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from typing import Any

ADDRESS = "tcp://127.0.0.1:5799"
#: Numbers of an observation: those of `haltere.gym` with windows of acknowledgements.
FIELDS = 24
STEPS = 20_000


def messages() -> tuple[Any, Any]:
    """An observation with its reward, and an action."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="gym.proto", package="gym", syntax="proto3")
    kind = descriptor_pb2.FieldDescriptorProto
    state, action = file.message_type.add(name="State"), file.message_type.add(name="Action")
    for number, (name, of, label) in enumerate(
        (
            ("observation", kind.TYPE_FLOAT, kind.LABEL_REPEATED),
            ("reward", kind.TYPE_FLOAT, kind.LABEL_OPTIONAL),
            ("is_over", kind.TYPE_BOOL, kind.LABEL_OPTIONAL),
            ("info", kind.TYPE_STRING, kind.LABEL_OPTIONAL),
        ),
        1,
    ):
        state.field.add(name=name, number=number, type=of, label=label)
    action.field.add(name="values", number=1, type=kind.TYPE_FLOAT, label=kind.LABEL_REPEATED)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made = message_factory.GetMessages([file], pool=pool) if hasattr(message_factory, "GetMessages") else None
    if made is not None:
        return made["gym.State"], made["gym.Action"]
    of_name = pool.FindMessageTypeByName
    return tuple(message_factory.GetMessageClass(of_name(name)) for name in ("gym.State", "gym.Action"))  # type: ignore[return-value]


def simulator() -> None:
    """What stands for ns-3: sends states, and waits for an action after each."""
    import zmq

    state, action = messages()
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.connect(ADDRESS)
        for step in range(STEPS):
            told = state(observation=[float(step)] * FIELDS, reward=1.0, is_over=False, info="")
            socket.send(told.SerializeToString())
            action.FromString(socket.recv())


def main() -> None:
    """Measures and prints."""
    import zmq

    state, action = messages()
    process = multiprocessing.Process(target=simulator)
    process.start()
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        socket.bind(ADDRESS)
        began = None
        for _ in range(STEPS):
            told = state.FromString(socket.recv())
            began = time.process_time() if began is None else began
            observation = list(told.observation)
            socket.send(action(values=observation[:1]).SerializeToString())
        assert began is not None
        spent = time.process_time() - began
    process.join()
    print(json.dumps({"steps": STEPS, "cpu_us_a_step": round(1e6 * spent / STEPS, 1)}))


if __name__ == "__main__":
    main()
