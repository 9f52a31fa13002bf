"""Trains a small policy for a sender with the cross-entropy method, and compares it with congestion controls on held-out networks.

    python examples/gym/train.py --out results/gym                # trains, then scores: some minutes on one core
    python examples/gym/train.py --out results/gym --score-only   # scores results/gym/policy.json

The policy sees eleven fields (``FIELDS``), decides once a round-trip time by which factor its window changes, and is rewarded with the
power of `haltere.gym.rewards.power`. The cross-entropy method draws policies from a normal distribution, keeps the best quarter, and moves the
distribution there. All policies of a generation run in the same networks with the same seeds, all in one call of the gym: its threads
need no Python. Writes ``policy.json``, ``learning.csv``, ``scores.csv`` and two figures.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import haltere.gym as gym
from haltere.gym.policy import Policy, act_all
from haltere.gym.split import Network

#: What the policy observes.
FIELDS = [
    "rtt_ratio", "rtt_min_ratio", "rtt_gradient", "loss_share", "mark_share", "rate_ratio", "sent_ratio", "cwnd_ratio", "cwnd_size",
    "slow_start", "last_action",
]  # fmt: skip
#: With whom it is compared. ``reno`` is AIMD.
CONTROLS = ["reno", "cubic", "bbr", "bbr3", "vegas", "copa"]


def returns(policies: Sequence[Policy], networks: Sequence[Network], seed: int, threads: int | None) -> np.ndarray:
    """The mean reward of each policy over the networks, all with the same seed."""
    each = len(networks)
    scenarios = [network.scenario() for network in networks]
    many = len(policies) * each
    envs = gym.make_vec(many, scenarios, observe=FIELDS, threads=threads, fixed=True, autoreset="disabled")
    observations, _ = envs.reset(seed=[seed] * envs.num_envs)
    total, spent = np.zeros(envs.num_envs), np.zeros(envs.num_envs)
    over = np.zeros(envs.num_envs, bool)
    while not over.all():
        actions = act_all(policies, observations.reshape(len(policies), each, -1)).reshape(envs.num_envs, 1)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        counted = np.where(over, 0.0, infos["duration"])
        total, spent, over = total + rewards * counted, spent + counted, over | terminated | truncated
    return (total / spent).reshape(len(policies), each).mean(axis=1)


def train(args: argparse.Namespace, out: Path) -> Policy:
    """The cross-entropy method."""
    about = "Trained with the cross-entropy method (examples/gym/train.py)."
    first = Policy.random(FIELDS, args.hidden, seed=args.seed, name="trained", about=about)
    mean, spread = first.parameters * 0.1, 0.5
    drawn, deviation = np.random.default_rng(args.seed), np.full(mean.size, spread)
    training, elites = gym.networks("train"), max(args.population // 4, 2)
    began, best = time.time(), (-np.inf, mean)
    with (out / "learning.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["generation", "seconds", "population_mean", "elite_mean", "train_score"])
        for generation in range(args.generations):
            batch = [training[index] for index in drawn.choice(len(training), args.networks, replace=False)]
            vectors = mean + deviation * drawn.normal(size=(args.population, mean.size))
            vectors[0] = mean
            found = returns([first.with_parameters(one) for one in vectors], batch, generation + 1, args.threads)
            kept = vectors[np.argsort(found)[-elites:]]
            # A floor under the deviation, lower with each generation, keeps the search going.
            floor = 0.3 * spread * (1 - generation / args.generations) + 0.02
            mean = 0.3 * mean + 0.7 * kept.mean(axis=0)
            deviation = np.maximum(0.3 * deviation + 0.7 * kept.std(axis=0), floor)
            check = ""
            if generation % 5 == 4 or generation == args.generations - 1:
                value = float(returns([first.with_parameters(mean)], training[:12], 1000, args.threads)[0])
                check = f"{value:.4f}"
                if value > best[0]:
                    best = (value, mean.copy())
                    first.with_parameters(mean).save(out / "policy.json")
            seconds, middle = f"{time.time() - began:.1f}", f"{np.sort(found)[-elites:].mean():.4f}"
            row = [generation, seconds, f"{found.mean():.4f}", middle, check]
            table.writerow(row)
            file.flush()
            print(*row, flush=True)
            if time.time() - began > args.minutes * 60:
                break
    return first.with_parameters(best[1])


def compare(policy: Policy, args: argparse.Namespace, out: Path) -> None:
    """Scores on the held-out networks, by network, and figures."""
    held_out = gym.networks("held_out")
    seeds = range(101, 101 + args.seeds)
    scores = {"policy": gym.score(policy, held_out, seeds=seeds, threads=args.threads)}
    for control in CONTROLS:
        scores[control] = gym.score(control, held_out, seeds=seeds, threads=args.threads)
    with (out / "scores.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["network", "family", *scores])
        for number, network in enumerate(held_out):
            means = [f"{found[number].mean():.4f}" for found in scores.values()]
            table.writerow([network.name, network.family, *means])
    for name, found in scores.items():
        by_network = found.mean(axis=1)
        print(f"{name:8} {by_network.mean():.3f}")


def figures(out: Path) -> None:
    """The learning curve, and the scores by family."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with (out / "learning.csv").open() as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    generations = [int(row["generation"]) for row in rows]
    axes.plot(
        generations, [float(row["population_mean"]) for row in rows], label="all policies of a generation", color="0.6"
    )
    axes.plot(generations, [float(row["elite_mean"]) for row in rows], label="best quarter", color="C0")
    checked = [(int(row["generation"]), float(row["train_score"])) for row in rows if row["train_score"]]
    axes.plot(*zip(*checked, strict=True), "o-", ms=3, label="mean policy, twelve fixed networks", color="C1")
    axes.set(xlabel="generation", ylabel="mean reward (power, 0 to 1)", ylim=(0, 1))
    axes.legend(frameon=False)
    figure.savefig(out / "learning.png", dpi=150)
    with (out / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    families = list(dict.fromkeys(row["family"] for row in rows))
    names = [name for name in rows[0] if name not in ("network", "family")]
    figure, axes = plt.subplots(figsize=(9, 3.8), layout="constrained")
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        means = [np.mean([float(row[name]) for row in rows if row["family"] == family]) for family in families]
        at = np.arange(len(families)) + (place - (len(names) - 1) / 2) * width
        axes.bar(at, means, width, label=name, color="black" if name == "policy" else f"C{place - 1}")
    axes.set_xticks(range(len(families)), families)
    axes.set(ylabel="mean reward (power, 0 to 1)", ylim=(0, 1))
    axes.legend(frameon=False, ncols=len(names), loc="upper center", bbox_to_anchor=(0.5, 1.12))
    figure.savefig(out / "scores.png", dpi=150)


def main() -> None:
    """Trains, scores, draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/gym"))
    parser.add_argument("--generations", type=int, default=50)
    parser.add_argument("--population", type=int, default=24)
    parser.add_argument("--networks", type=int, default=6, help="networks a generation")
    parser.add_argument(
        "--hidden", type=int, nargs="*", default=[], help="widths of hidden layers; none: a linear policy"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=5, help="seeds of the scores")
    parser.add_argument("--minutes", type=float, default=60, help="training ends after this time at the latest")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--score-only", action="store_true")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    policy = Policy.load(args.out / "policy.json") if args.score_only else train(args, args.out)
    compare(policy, args, args.out)
    figures(args.out)


if __name__ == "__main__":
    main()
