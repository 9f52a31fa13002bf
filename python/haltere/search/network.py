"""The networks of an attack: a dumbbell, described by conditions, each with a range.

A condition is a property of the network: its rate, its buffer, loss on the line, a step of the rate, cross traffic. Every network has those of
``BASE``. Any subset of ``OPTIONAL`` may be added. The neutral value of a condition is that of a plain network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, unknown
from ..kinds import label
from .harms import ATTACKED, BESIDE, Harm
from .ranges import Choice, Draw, Range, number_of, parse_range, rounded

#: Each value of a network: its condition comes before the dot. The range, and what it means.
KEYS: dict[str, tuple[str, str]] = {
    "rate": ("2Mbit..100Mbit", "rate of the bottleneck"),
    "rtt": ("10ms..200ms", "round-trip time without queue"),
    "buffer": ("0.25bdp..8bdp", "limit of the bottleneck's queue"),
    "queue": ("drop_tail,codel,pie,fq_codel", "discipline of the bottleneck's queue"),
    "control": ("cubic,reno,bbr", "congestion control of the flows, if a queue discipline is attacked"),
    "flows": ("1..4", "flows under attack"),
    "beside_flows": ("1..4", "flows beside them"),
    "loss": ("0.01%..3%", "independent loss on the line"),
    "bursts.loss": ("0.01%..1%", "probability that a burst of losses begins"),
    "bursts.length": ("2..20", "packets of a burst, on average"),
    "jitter": ("1ms..30ms", "each packet takes longer by up to this; the order is kept"),
    "rate_step1.at": ("10%..90%", "when the rate changes, as part of the run"),
    "rate_step1.to": ("10%..100%", "the rate from then on, as part of `rate`"),
    "rate_step2.at": ("10%..90%", "a second change"),
    "rate_step2.to": ("10%..100%", ""),
    "rate_step3.at": ("10%..90%", "a third change"),
    "rate_step3.to": ("10%..100%", ""),
    "delay_step1.at": ("10%..90%", "when the delay changes, as part of the run"),
    "delay_step1.to": ("100%..400%", "the round-trip time from then on, as part of `rtt`"),
    "delay_step2.at": ("10%..90%", "a second change"),
    "delay_step2.to": ("100%..400%", ""),
    "cross.kind": ("cbr,on_off,poisson", "traffic kind of the cross traffic"),
    "cross.load": ("5%..50%", "its load, as part of `rate`"),
    "cross.start": ("linear:0%..50%", "when it starts, as part of the run"),
    "late": ("5%..50%", "later start of the flows beside, or of every second flow under attack, as part of the run"),
    "far": ("50%..500%", "longer round-trip time of half the flows under attack, as part of `rtt`; with `--rtt-fairness`"),
}  # fmt: skip
#: The conditions of every network, with the neutral value of those that have one.
BASE: dict[str, Any] = {
    "rate": None, "rtt": None, "buffer": None, "queue": "drop_tail", "control": "cubic", "flows": 1, "beside_flows": 1,
}  # fmt: skip
#: The conditions that a network may have.
OPTIONAL = tuple(dict.fromkeys(key.partition(".")[0] for key in KEYS if key.partition(".")[0] not in BASE))

#: No host's link is a bottleneck.
_ACCESS = "1Gbit"
#: Hosts have some jitter: the time of a full packet at the bottleneck, at most this. It keeps flows out of phase (Floyd and Jacobson 1992).
_MOST_HOST_JITTER_S = 1e-3
_FULL_PACKET_BITS = 1514 * 8


@dataclass(frozen=True)
class Scene:
    """What is attacked, beside what, and for which harm."""

    target: Any
    """A congestion control or a queue discipline: its name, or a table with `kind`."""
    is_queue: bool
    harm: Harm
    reference: Any
    """What the target is compared with in the same network."""
    beside: Any = None
    far: bool = False

    @property
    def name(self) -> str:
        """The name of the target."""
        return label(kind_of(self.target))

    def neutral(self, condition: str) -> Any:
        """The value of a condition in a plain network; ``None``: every value is needed, or the condition is left out."""
        return self.harm.flows if condition == "flows" else BASE.get(condition)


def kind_of(mechanism: Any) -> str:
    """The name of a mechanism that is given by its name or by a table."""
    return str(mechanism["kind"]) if isinstance(mechanism, Mapping) else str(mechanism)


#: With which a target is compared if nothing is named: the first one, or the second one if that is the target.
_REFERENCES = {"congestion": ("cubic", "reno"), "queues": ("codel", "pie")}


def default_reference(name: str, kind: str, beside: Any) -> Any:
    """What a target is compared with if nothing is named: the control beside it, or a common mechanism of its kind."""
    if beside is not None and kind_of(beside) != name:
        return beside
    first, second = _REFERENCES[kind]
    return second if name == first else first


def conditions_of(values: Iterable[str]) -> list[str]:
    """The conditions of these keys, in their order."""
    return list(dict.fromkeys(key.partition(".")[0] for key in values))


@dataclass(frozen=True)
class Space:
    """The space of networks: the range of every value, and which conditions are optional and which are always there."""

    scene: Scene
    ranges: Mapping[str, Range]
    always: frozenset[str]
    """Conditions that were asked for: they are in every network, and are not removed."""
    optional: tuple[str, ...]

    @classmethod
    def of(cls, scene: Scene, over: Mapping[str, Range], optional: Sequence[str] | None) -> Space:
        """The space of a scene. ``over``: other ranges, by key. ``optional``: the conditions that a network may have; default: all."""
        unused = _unused(scene)
        _check(over, optional or (), unused)
        always = frozenset(conditions_of(over)) | (frozenset({"far"}) if scene.far else frozenset())
        asked = OPTIONAL if optional is None else optional
        chosen = [one for one in asked if one not in always and one not in unused]
        wanted = {*BASE, *always, *chosen} - unused
        texts = {key: text for key, (text, _) in KEYS.items() if key.partition(".")[0] in wanted}
        ranges = {key: over.get(key) or parse_range(text, key) for key, text in texts.items()}
        if "flows" in ranges and "flows" not in over and scene.harm.flows > 1:
            ranges["flows"] = parse_range(f"{scene.harm.flows}..4", "flows")
        return cls(scene, ranges, always, tuple(chosen))

    def draw(self, by: Draw) -> dict[str, Any]:
        """A proposed network."""
        present = {one for one in self.optional if by.suggest_categorical(f"with {one}", [False, True])}
        return {
            key: one.draw(key, by) for key, one in self.ranges.items()
            if key.partition(".")[0] not in self.optional or key.partition(".")[0] in present
        }  # fmt: skip

    def removable(self, values: Mapping[str, Any]) -> list[str]:
        """The conditions of a network that could be left out, and then those that could be neutral."""
        there = [one for one in conditions_of(values) if one not in self.always]
        optional = [one for one in there if one in self.optional]
        return optional + [one for one in there if one not in optional and self._could_be_plain(one, values[one])]

    def _could_be_plain(self, condition: str, value: Any) -> bool:
        """Whether a condition of every network has a neutral value, other than this one, within its range."""
        neutral, one = self.scene.neutral(condition), self.ranges[condition]
        if neutral is None or neutral == value:
            return False
        return neutral in one.values if isinstance(one, Choice) else one.low <= neutral <= one.high

    def without(self, values: Mapping[str, Any], removed: Iterable[str]) -> dict[str, Any]:
        """The network with these conditions left out or neutral."""
        gone = set(removed)
        out = {}
        for key, value in values.items():
            condition = key.partition(".")[0]
            if condition not in gone:
                out[key] = value
            elif condition in BASE:
                out[key] = self.scene.neutral(condition)
        return out


def _unused(scene: Scene) -> set[str]:
    """The conditions that make no sense in this scene."""
    out = {"late", "flows"} if scene.far else {"far"}
    if scene.beside is None:
        out |= {"beside_flows"} if scene.harm.flows > 1 else {"beside_flows", "late"}
    return out | ({"queue"} if scene.is_queue else {"control"})


def _check(over: Iterable[str], optional: Iterable[str], unused: set[str]) -> None:
    for key in over:
        if key not in KEYS:
            raise unknown("--over: key", key, KEYS)
        if key.partition(".")[0] in unused:
            raise InputError(f"--over: key must be one that this attack has, got `{key}`")
    for one in optional:
        if one not in OPTIONAL:
            rule = f"among {', '.join(f'`{name}`' for name in OPTIONAL)}, or `none`"
            raise InputError(f"--conditions must be {rule}, got `{one}`")


def experiment(values: Mapping[str, Any], scene: Scene, target: Any) -> dict[str, Any]:
    """The experiment of a network, with ``target`` in the place of what is attacked."""
    run_s = scene.harm.duration_s
    rate, rtt = number_of(values["rate"]), number_of(values["rtt"])
    traffic = _attacked(values, scene, target, run_s)
    if "cross.kind" in values:
        traffic.append(_cross(values, rate, run_s))
    if scene.harm.ping:
        traffic.append({"name": "ping", "kind": "ping", "interval": "50ms"})
    pairs = 0
    for one in traffic:
        many = 2 if scene.far and one["name"] == ATTACKED else 1
        rest = {key: one.pop(key) for key in list(one) if key not in ("name", "kind")}
        one |= {"pairs": list(range(pairs + 1, pairs + many + 1)), **rest}
        pairs += many
    dumbbell: dict[str, Any] = {
        "pairs": pairs, "access": {"rate": _ACCESS, "jitter": _ms(rounded(min(_FULL_PACKET_BITS / rate, _MOST_HOST_JITTER_S), 2))},
        "bottleneck": _bottleneck(values, target if scene.is_queue else values["queue"], rate, rtt, run_s),
    }  # fmt: skip
    if scene.far:
        # Data of a pair crosses two of these links, and so do the ACKs.
        extra = rtt * number_of(values["far"]) / 100 / 4
        dumbbell["access_delays"] = ["0ms", _ms(extra), *["0ms"] * (pairs - 2)]
    out: dict[str, Any] = {"title": f"{scene.harm.name} of {scene.name}", "duration": f"{run_s:g}s"}
    out |= {"warmup": f"{scene.harm.warmup_s:g}s", "topology": {"dumbbell": dumbbell}, "traffic": traffic}
    return out | {"measure": {"state": True}} if scene.harm.state else out


def _bottleneck(values: Mapping[str, Any], queue: Any, rate: float, rtt: float, run_s: float) -> dict[str, Any]:
    out: dict[str, Any] = {"rate": values["rate"], "delay": _ms(rtt / 2)}
    if "jitter" in values:
        out["jitter"] = values["jitter"]
    if "bursts.loss" in values:
        chance = 100 / number_of(values["bursts.length"])
        out["loss"] = {"kind": "gilbert_elliott", "p": values["bursts.loss"], "r": f"{chance:.4g}%"}
        if "loss" in values:
            out["loss"]["loss_good"] = values["loss"]
    elif "loss" in values:
        out["loss"] = values["loss"]
    out["queue"] = dict(queue) if isinstance(queue, Mapping) else {"kind": queue}
    if ":" not in kind_of(queue):  # one from outside the tree has the limit of its own parameters
        out["queue"]["limit"] = values["buffer"]
    if steps := _steps(values, rate, rtt, run_s):
        out["schedule"] = steps
    return out


def _attacked(values: Mapping[str, Any], scene: Scene, target: Any, run_s: float) -> list[dict[str, Any]]:
    control = values["control"] if scene.is_queue else target
    attacked: dict[str, Any] = {"name": ATTACKED, "kind": "bulk", "congestion": control}
    if values.get("flows", 1) > 1:
        attacked["count"] = values["flows"]
    late = _ms(run_s * number_of(values["late"]) / 100) if "late" in values else None
    if scene.beside is None:
        return [attacked | ({"start": ["0ms", late]} if late else {})]
    beside = {"name": BESIDE, "kind": "bulk", "congestion": scene.beside}
    if values["beside_flows"] > 1:
        beside["count"] = values["beside_flows"]
    return [attacked, beside | ({"start": late} if late else {})]


def _steps(values: Mapping[str, Any], rate: float, rtt: float, run_s: float) -> list[dict[str, Any]]:
    by_time: dict[float, dict[str, Any]] = {}
    for key in values:
        condition, _, part = key.partition(".")
        if part != "at":
            continue
        at = round(run_s * number_of(values[key]) / 100, 3)
        to = number_of(values[f"{condition}.to"]) / 100
        own = {"rate": f"{rate * to / 1e6:.4g}Mbit"} if condition.startswith("rate") else {"delay": _ms(rtt * to / 2)}
        by_time.setdefault(at, {"at": f"{at:g}s"}).update(own)
    return [by_time[at] for at in sorted(by_time)]


def _cross(values: Mapping[str, Any], rate: float, run_s: float) -> dict[str, Any]:
    kind, load = values["cross.kind"], number_of(values["cross.load"]) / 100
    start = _ms(run_s * number_of(values["cross.start"]) / 100)
    entry: dict[str, Any] = {"name": "cross", "kind": kind, "start": start}
    if kind == "poisson":
        return entry | {"sizes": "100kB", "load": f"{100 * load:.3g}%"}
    if kind == "on_off":
        # Its application is silent half of the time.
        return entry | {"rate": f"{2 * load * rate / 1e6:.3g}Mbit", "on": "500ms", "off": "500ms", "congestion": "reno"}
    return entry | {"rate": f"{load * rate / 1e6:.3g}Mbit"}


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}ms" if seconds < 10 else f"{seconds:.4g}s"
