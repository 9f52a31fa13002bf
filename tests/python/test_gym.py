"""The gym: environments of Gymnasium and PettingZoo, many of them on threads, policies inside and outside the simulator."""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from conftest import ROOT

pytest.importorskip("gymnasium", reason="gymnasium is not installed (`pip install 'haltere[gym]'`)")
pytest.importorskip("pettingzoo", reason="pettingzoo is not installed (`pip install 'haltere[gym]'`)")

from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

import gym_networks
import haltere
import haltere.gym as gym
from haltere import InputError, _core
from haltere.gym import split
from haltere.gym.policy import Policy, act_all

#: Two senders with 10 Mbit/s and 20 ms, for 3 s.
NET: dict[str, Any] = {
    "title": "gym",
    "duration": "3s",
    "seeds": 1,
    "topology": {
        "dumbbell": {
            "pairs": 2,
            "access": {"rate": "100Mbit", "delay": "1ms"},
            "bottleneck": {"rate": "10Mbit", "delay": "8ms", "queue": {"kind": "drop_tail", "limit": "50p"}},
        }
    },
    "traffic": [
        {"name": "agent", "kind": "bulk", "pairs": [1], "congestion": "cubic", "jitter": "0ms"},
        {"name": "other", "kind": "bulk", "pairs": [2], "congestion": "reno", "jitter": "0ms", "start": "1s"},
    ],
}


def net(**changes: Any) -> haltere.Scenario:
    return haltere.Scenario.from_dict(NET).with_values(
        {key.replace("__", "."): value for key, value in changes.items()}
    )


def alone() -> haltere.Scenario:
    return haltere.Scenario.from_dict({**NET, "traffic": NET["traffic"][:1]})


#: Counters that the table of flows has, too.
COUNTED = ("received_bytes", "segments_sent", "retransmissions", "timeouts", "recoveries")


def counted(scenario: haltere.Scenario, seed: int) -> list[int]:
    """The counters of the first flow at the end of an ordinary run."""
    line = pyarrow.table(_core.run(scenario._core, seed).tables()["flows"]).to_pylist()[0]
    return [line[name] for name in COUNTED]


def shown_at_the_end(info: dict[str, Any]) -> list[int]:
    return [info[name] for name in COUNTED]


def episode(env: gym.HaltereEnv, seed: int, actions: Any) -> list[bytes]:
    """Every observation, reward and counter of a run, as bytes."""
    observation, info = env.reset(seed=seed)
    out = [observation.tobytes(), json.dumps(info).encode()]
    for step in range(10_000):
        observation, reward, terminated, truncated, info = env.step(actions(step))
        out += [observation.tobytes(), repr(reward).encode(), json.dumps(info).encode()]
        if terminated or truncated:
            return out
    raise AssertionError("the run does not end")


# The environment of one sender.


@pytest.mark.parametrize("action", [name for name in gym.ACTIONS if name != "probability"])
def test_an_environment_passes_the_check_of_gymnasium(action: str) -> None:
    with warnings.catch_warnings():
        # Ranges without an end, and no renderer: both are meant.
        warnings.filterwarnings("ignore", category=UserWarning)
        check_env(gym.make(alone(), action=action, observe="window"), skip_render_check=True)


def test_a_queue_passes_the_check_of_gymnasium() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        check_env(gym.make_queue(net(), "left>right"), skip_render_check=True)


def test_the_same_actions_give_the_same_bytes_and_another_seed_others() -> None:
    env = gym.make(net(**{"traffic.other.jitter": "500ms"}), observe="window")
    actions = lambda step: [math.sin(step) / 4]  # noqa: E731
    first = episode(env, 5, actions)
    assert first == episode(gym.make(net(**{"traffic.other.jitter": "500ms"}), observe="window"), 5, actions)
    assert first != episode(env, 6, actions)
    assert first != episode(env, 5, lambda step: [math.sin(step) / 3])


def test_runs_without_a_seed_follow_from_the_seed_before() -> None:
    env = gym.make(net())
    seeds = []
    for _ in range(2):
        env.reset(seed=9)
        seeds.append([env.reset()[1]["seed"] for _ in range(3)])
    assert seeds[0] == seeds[1] and len({9, *seeds[0]}) == 4


def test_the_sum_over_the_intervals_is_the_counter_and_the_window_is_what_was_decided() -> None:
    env = gym.make(net(), action="cwnd_segments", observe=["acked", "cwnd", "mss", "lost"])
    observation, info = env.reset(seed=1)
    acked, lost = [float(observation[0])], [float(observation[3])]
    decided = [10.0]
    for step in range(40):
        decided.append(5.0 + step % 7)
        observation, _, _, _, info = env.step([decided[-1]])
        acked.append(float(observation[0]))
        lost.append(float(observation[3]))
        assert observation[1] == decided[-1] * observation[2], "the window of the whole interval but its first event"
    # What came before the first interval: nothing was sent before the handshake.
    assert (sum(acked), sum(lost)) == (info["delivered_bytes"], info["lost_bytes"])
    assert info["decisions"] == 40


def test_with_the_interval_ack_each_acknowledgement_is_a_step() -> None:
    env = gym.make(
        net(), interval="ack", action="cwnd_segments", observe=["acked", "cwnd", "mss", "lost", "acks", "timeouts"]
    )
    observation, info = env.reset(seed=1)
    acked, lost, ended = [float(observation[0])], [float(observation[3])], False
    while not ended:
        observation, _, _, ended, info = env.step([12.0])
        acked.append(float(observation[0]))
        lost.append(float(observation[3]))
        assert observation[4] + observation[5] == 1 or (ended and observation[4] == 0)
    assert (sum(acked), sum(lost)) == (info["delivered_bytes"], info["lost_bytes"])
    # An acknowledgement answers two segments at most.
    assert info["decisions"] == len(acked) - 1 >= info["segments_sent"] / 2 - 12


def test_a_run_is_truncated_at_its_end_and_terminated_when_the_flow_is_complete() -> None:
    env = gym.make(alone())
    env.reset(seed=1)
    ends = [False, False]
    while not any(ends):
        _, _, *ends, info = env.step([0.0])
    assert ends == [False, True] and info["time_ns"] == 3_000_000_000
    with pytest.raises(InputError, match="reset must come after the end"):
        env.step([0.0])
    short = alone().with_values({"traffic.agent.bytes": "500kB"})
    env = gym.make(short)
    env.reset(seed=1)
    ends = [False, False]
    while not any(ends):
        _, _, *ends, info = env.step([0.2])
    assert ends == [True, False] and info["received_bytes"] == 500_000


@pytest.mark.parametrize("control", ["cubic", "cdg", "bbr3"])  # `cdg` asks for reductions
def test_a_control_that_is_only_watched_does_what_it_does_in_a_run(control: str) -> None:
    watched = net(traffic__0__congestion=control)
    env = gym.make(watched, decides=False, interval="100ms", observe=["cwnd"])
    env.reset(seed=3)
    ended = False
    while not ended:
        _, _, _, ended, info = env.step([1.0])
    assert shown_at_the_end(info) == counted(watched, 3)


def test_larger_windows_fill_the_queue_and_the_reward_says_so() -> None:
    rewards = {}
    for segments in (4, 17, 60):
        env = gym.make(alone(), action="cwnd_segments", reward="power", observe=["rtt_mean", "loss_share"])
        env.reset(seed=1)
        rewards[segments] = np.mean([env.step([segments])[1] for _ in range(30)][10:])
    # 10 Mbit/s times 20 ms is 17 segments.
    assert rewards[17] > 0.85 > 0.6 > rewards[60] and rewards[17] > rewards[4] + 0.2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agent": "nobody"}, "gym: agents must be the name of another flow or traffic entry: `agent`, `other`, got `nobody`"),
        ({"action": "jump"}, "gym: action must be one of `cwnd`"),
        ({"action": "probability"}, "gym: action must be an action of a sender, got `probability`"),
        ({"interval": "0ms"}, "gym: interval must be `ack`, a duration from 100us to 1h, or from 0.1rtt to 100rtt, got `0ms`"),
        ({"observe": "capacity"}, "gym: observe must be one of `window`, `scaled`, `tcp_info` or a list"),
        ({"observe": ["capacity"]}, "gym: observe must be fields of the groups"),
        ({"observe": []}, "gym: observe must be at least one field"),
        ({"reward": "riches"}, "gym: reward must be a function or one of `power`"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_a_run(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        gym.make(net(), **settings)
    assert str(error.value).startswith(message)


def test_several_senders_and_a_queue_decide_at_fixed_instants() -> None:
    for wrong in ("ack", "1rtt"):
        rule = f"interval must be a duration if several senders or a queue decide, got `{wrong}`"
        with pytest.raises(InputError, match=rule):
            gym.make_parallel(net(), ["agent", "other"], interval=wrong)
        with pytest.raises(InputError, match=rule):
            gym.make_queue(net(), "left>right", interval=wrong)


def test_actions_and_seeds_have_ranges() -> None:
    env = gym.make(net())
    with pytest.raises(InputError, match="reset must come before step"):
        env.step([0.0])
    with pytest.raises(InputError, match="seed must be from 0 to"):
        gym.make_vec(1, net()).reset(seed=[-1])
    env.reset(seed=1)
    with pytest.raises(InputError, match="actions must be finite, got NaN"):
        env.step([math.nan])
    with pytest.raises(InputError, match="actions must have 1 values, got 2"):
        env.step([0.0, 0.0])


# The queue, and several senders.


def test_a_queue_that_drops_more_has_a_shorter_delay_and_counts_its_drops() -> None:
    delays, drops = [], []
    for probability in (0.0, 0.05):
        env = gym.make_queue(
            net(), "left>right", observe=["sojourn", "dropped", "overlimit", "arrivals"], limit="1000p"
        )
        env.reset(seed=1)
        shown = np.array([env.step([probability])[0] for _ in range(140)])
        info = env.step([probability])[4]
        delays.append(shown[40:, 0].mean())
        drops.append(info["dropped"])
        assert shown[:, 1].sum() <= info["dropped"] and shown[:, 2].sum() == 0
    assert drops[0] == 0 < drops[1] and delays[1] < delays[0] / 3


def test_a_queue_marks_instead_if_it_may() -> None:
    ecn = net(**{"traffic.agent.ecn": True, "traffic.other.ecn": True})
    env = gym.make_queue(ecn, "left>right", ecn=True)
    env.reset(seed=1)
    for _ in range(100):
        info = env.step([0.05])[4]
    assert info["marked"] > 20 and info["dropped"] == 0


def test_several_senders_pass_the_test_of_pettingzoo() -> None:
    parallel_api_test(gym.make_parallel(net(), ["agent", "other"]), num_cycles=300)


def test_a_flow_that_is_complete_leaves_and_the_other_goes_on() -> None:
    env = gym.make_parallel(net(**{"traffic.other.bytes": "300kB"}), ["agent", "other"])
    env.reset(seed=1)
    assert env.agents == ["agent", "other"]
    left = None
    while env.agents:
        _, _, terminated, truncated, infos = env.step({name: [0.1] for name in env.agents})
        if left is None and terminated.get("other"):
            left = infos["other"]["time_ns"]
            assert env.agents == ["agent"]
    assert left is not None and left < 3_000_000_000 and truncated == {"agent": True}


# Many environments.


def rolled(threads: int, count: int = 5, **settings: Any) -> list[bytes]:
    envs = gym.make_vec(count, gym.networks("train")[:7], threads=threads, observe="window", **settings)
    shown = [envs.reset(seed=11)[0].tobytes()]
    for step in range(60):
        actions = np.sin(np.arange(count) + step)[:, None] / 2
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        shown += [observations.tobytes(), rewards.tobytes(), terminated.tobytes(), truncated.tobytes()]
        shown += [infos[name].tobytes() for name in sorted(infos)]
    return shown


def test_the_number_of_threads_does_not_matter() -> None:
    assert rolled(1) == rolled(2) == rolled(3)


def test_many_environments_show_what_single_ones_show() -> None:
    given = [net(), alone()]
    envs = gym.make_vec(2, given, fixed=True, threads=2)
    together, _ = envs.reset(seed=[4, 8])
    single = [gym.make(one) for one in given]
    for number, (env, seed) in enumerate(zip(single, (4, 8), strict=True)):
        assert (env.reset(seed=seed)[0] == together[number]).all()
    for step in range(50):
        together, rewards, *_ = envs.step([[0.3 * math.sin(step)]] * 2)
        for number, env in enumerate(single):
            observation, reward, *_ = env.step([0.3 * math.sin(step)])
            assert (observation == together[number]).all() and reward == rewards[number]


def test_the_step_after_an_end_begins_the_next_run() -> None:
    envs = gym.make_vec(3, alone(), interval="500ms")
    _, infos = envs.reset(seed=1)
    seeds = infos["seed"].copy()
    truncated = np.zeros(3, bool)
    while not truncated.any():
        _, rewards, _, truncated, infos = envs.step(np.zeros((3, 1)))
    assert truncated.all() and (infos["seed"] == seeds).all()
    _, rewards, _, truncated, infos = envs.step(np.zeros((3, 1)))
    assert (rewards == 0).all() and not truncated.any()
    assert (infos["seed"] != seeds).all() and (infos["time_ns"] < 1e9).all()


def test_without_restarts_an_environment_waits_for_its_mask() -> None:
    envs = gym.make_vec(2, alone(), interval="500ms", autoreset="disabled")
    envs.reset(seed=1)
    for _ in range(10):
        _, rewards, _, truncated, infos = envs.step(np.zeros((2, 1)))
    assert truncated.all() and (rewards == 0).all() and (infos["time_ns"] == 3_000_000_000).all()
    _, infos = envs.reset(options={"reset_mask": np.array([True, False])})
    assert infos["time_ns"][0] < 1e9 and infos["time_ns"][1] == 3_000_000_000


# Fields, actions, rewards.


def test_every_observation_lies_in_its_space() -> None:
    for group in ("window", "scaled", "tcp_info"):
        env = gym.make(net(), observe=group, action="both")
        observation, _ = env.reset(seed=1)
        for step in range(100):
            assert env.observation_space.contains(observation)
            observation, _, _, ended, _ = env.step([math.sin(step), math.cos(step)])
            if ended:
                break


def test_the_page_has_every_reward() -> None:
    page = (ROOT / "docs" / "gym.md").read_text()
    for name in (*gym.rewards.OF_SENDERS, *gym.rewards.OF_QUEUES):
        assert f"| `{name}` |" in page, name


def test_rewards_are_what_their_sentences_say() -> None:
    fields = gym.SENDER_FIELDS
    row = np.zeros((1, 1, len(fields)))
    values = {
        "throughput": 8e6, "capacity": 1e7, "path_rtt": 0.02, "rtt_mean": 0.04, "base_rtt": 0.02, "loss_share": 0.1, "send_rate": 9e6,
        "rtt_gradient": 0.01,
    }  # fmt: skip
    for name, value in values.items():
        row[0, 0, [field.name for field in fields].index(name)] = value
    interval = gym.fields.Interval(fields, row)
    found = {name: float(reward(interval)[0, 0]) for name, reward in gym.rewards.OF_SENDERS.items()}
    assert found["power"] == pytest.approx(0.8 * 0.5)
    assert found["throughput_delay"] == pytest.approx(0.8 - 0.5 * 1 - 0.1)
    assert found["copa"] == pytest.approx(math.log2(8) - 0.5 * math.log2(20))
    assert found["allegro"] == pytest.approx(9 * 0.9 / (1 + math.exp(5)) - 0.9)
    assert found["vivace"] == pytest.approx(9**0.9 - 900 * 9 * 0.01 - 11.35 * 9 * 0.1)


def test_a_reward_may_be_a_function_of_the_user() -> None:
    env = gym.make(net(), reward=lambda w: w["acked"] / 1e3, observe=["acked"])
    env.reset(seed=1)
    observation, reward, *_ = env.step([0.0])
    assert reward == pytest.approx(observation[0] / 1e3)


# The networks.


def test_the_table_of_networks_is_what_its_seeds_draw(tmp_path: Path) -> None:
    gym_networks.write(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == split.TABLE.read_text()


def test_the_splits_share_no_network_and_every_network_is_an_experiment() -> None:
    train, held_out = (gym.networks(split) for split in ("train", "held_out"))
    key = lambda one: (one.rate_mbps, one.rtt_ms, one.buffer_bdp)  # noqa: E731
    assert not set(map(key, train)) & set(map(key, held_out))
    for network in (*train, *held_out):
        assert network.scenario().to_dict()["traffic"][0]["name"] == "agent"
    assert {one.family for one in train} == {"usual"} and len({one.family for one in held_out}) == 9


# Policies.


def trained() -> Policy:
    policy = Policy.random(
        ["rtt_ratio", "loss_share", "cwnd_size", "slow_start", "sent_ratio"], (6,), seed=2, name="small"
    )
    # Large weights, so that the decisions differ from step to step, and windows that are not always the least one.
    policy = policy.with_parameters(policy.parameters * 3)
    policy.biases[-1] += 0.3
    return policy


def test_a_policy_keeps_its_decisions_in_its_file_and_numpy_agrees(tmp_path: Path) -> None:
    policy = trained()
    policy.save(tmp_path / "policy.json")
    again = Policy.load(tmp_path / "policy.json")
    rows = np.random.default_rng(1).normal(size=(50, 5)).astype(np.float32)
    assert (policy.act(rows) == again.act(rows)).all()
    assert np.allclose(act_all([policy], rows[None])[0], policy.act(rows), atol=1e-12)
    choices = Policy.random(["rtt_ratio"], (), outputs=5, action="discrete")
    assert set(choices.act(np.linspace(-3, 3, 50, dtype=np.float32)[:, None]).reshape(-1)) <= {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("network", "interval"),
    [(one.name, "1rtt") for one in gym.networks("held_out")[::9]] + [("held_out-usual-1", "ack")],
)
def test_a_policy_in_the_simulator_decides_as_it_does_in_python(network: str, interval: str, tmp_path: Path) -> None:
    """The same windows after every decision, and the same counters at the end: the file runs without Python."""
    policy = dataclasses.replace(trained(), interval=interval)
    policy.save(tmp_path / "small.json")
    (one,) = [one for one in gym.networks("held_out") if one.name == network]
    env = gym.make(one.scenario(), observe=policy.observe, interval=policy.interval)
    observation, info = env.reset(seed=7)
    ended = False
    while not ended:
        observation, _, _, ended, info = env.step(policy.act(observation))
    values = one.to_dict(f"policy:{tmp_path / 'small.json'}")
    assert shown_at_the_end(info) == counted(haltere.Scenario.from_dict(values), 7)
    assert info["segments_sent"] > 50


def test_a_wrong_policy_file_is_refused_with_its_reason(tmp_path: Path) -> None:
    table = trained().to_dict()
    table["observations"][0] = "capacity"
    (tmp_path / "wrong.json").write_text(json.dumps(table))
    with pytest.raises(
        InputError, match=r"`observations`: fields of the groups `window` and `scaled`\), got `capacity`"
    ):
        haltere.Scenario.from_dict(
            {**NET, "traffic": [{**NET["traffic"][0], "congestion": f"policy:{tmp_path}/wrong.json"}]}
        )
    with pytest.raises(InputError, match="readable file"):
        haltere.Scenario.from_dict({**NET, "traffic": [{**NET["traffic"][0], "congestion": "policy:nowhere.json"}]})
    with pytest.raises(InputError, match=r"haltere\.gym\.make"):
        haltere.Scenario.from_dict({**NET, "traffic": [{**NET["traffic"][0], "congestion": "gym:agent"}]})


def test_the_trained_policy_beats_aimd_on_held_out_networks() -> None:
    """Fifteen of them, those below 15 Mbit/s, with one seed: the page has all."""
    policy = Policy.load(ROOT / "examples" / "gym" / "policy.json")
    some = [one for one in gym.networks("held_out") if one.rate_mbps < 15][:15]
    found, reno = (gym.score(who, some, seeds=[101]).mean() for who in (policy, "reno"))
    assert found > reno + 0.05
