"""The compiled half of Haltere: experiments are read and checked here, and run."""

from collections.abc import Sequence
from typing import Any, final

version: str
"""Haltere's version."""

class HaltereError(Exception):
    """Whatever goes wrong in Haltere."""

class InputError(HaltereError):
    """The experiment is wrong; nothing has been run."""

@final
class Scenario:
    """An experiment, read and checked. It never changes."""

    @staticmethod
    def from_toml(text: str, name: str = "") -> Scenario:
        """Reads an experiment file; ``name`` is the file's in messages. Raises :class:`InputError`."""

    @staticmethod
    def from_json(text: str, name: str = "") -> Scenario:
        """Reads an experiment written as JSON. Raises :class:`InputError`."""

    def to_json(self) -> str:
        """The full experiment with every default, as JSON."""

    def hash(self, seed: int) -> str:
        """Names a run: equal hashes, equal results. Covers this version, the seed and what decides the result."""

    def points(self) -> list[tuple[dict[str, Any], Scenario]]:
        """The points of the sweep: what each sets, and its scenario."""

    def set(self, path: str, value: str) -> Scenario:
        """The scenario with the key at a dotted path (``traffic[0].count``) set to a value, given as JSON."""

    def set_all(self, changes: list[tuple[str, str]]) -> Scenario:
        """The scenario with all these keys set, each a dotted path and a value as JSON; checked once when all are set."""

    def capacity(self, link: str, instants_s: list[float], seed: int) -> list[float] | None:
        """What a link can carry between each of these instants (seconds, rising) and the next, in bits; ``None`` if packets take no time. The seed draws what is drawn."""

    def varying(self, link: str, seed: int) -> str | None:
        """What changes on a direction of a link in the course of a run with that seed, as JSON; ``None`` if nothing does."""

    def links(self) -> str:
        """The directions of the links of a run, as JSON: name, rate in bit/s, base round-trip time in seconds, queue, and whether it is watched."""

    def drawing(self) -> str:
        """The network drawn, as JSON: nodes and links, those that are alike as one.

        ``nodes``: ``name``, ``group`` (what the names begin with, or null), ``label``, ``count``, ``host``, ``layer`` (its column from 0 on the
        left, or null: it follows from the links). ``links``: ``from``, ``to``, ``count``, ``there`` and ``back`` (null: it has one direction),
        each with ``rate``, ``packet_rate``, ``trace``, ``schedule``, ``delay`` (the least and the most), ``jitter``, ``loss``, ``queue``, ``ring``,
        ``watched``.
        """

    @property
    def title(self) -> str:
        """What it is about."""

    @property
    def seeds(self) -> int:
        """How many times it is repeated."""

    @property
    def duration_s(self) -> float:
        """How long a run lasts, in seconds."""

    @property
    def warmup_s(self) -> float:
        """What the statistics leave out at the start, in seconds."""

    def __reduce__(self) -> tuple[Any, tuple[str]]: ...

@final
class Progress:
    """How far a run is; may be read, and the run ended, from other threads."""

    def __new__(cls, threads: int = 1) -> Progress: ...
    @property
    def done(self) -> float:
        """How much of the run is done, from 0 to 1."""

    @property
    def cancelled(self) -> bool:
        """True once :meth:`cancel` was called."""

    def interrupt(self) -> None:
        """Interrupts the program at the terminal of a guest, as Ctrl-C does."""

    def cancel(self) -> None:
        """Ends the run soon: it raises :class:`HaltereError`."""

@final
class Table:
    """A table. Give it to ``pyarrow.table``, ``pandas.DataFrame.from_arrow`` or ``polars.DataFrame``."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""

    def __len__(self) -> int:
        """Number of rows."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as an Arrow C stream (Arrow's PyCapsule interface)."""

@final
class Run:
    """A run that came to its end."""

    def tables(self) -> dict[str, Table]:
        """``flows``, ``links``, ``flow_series``, ``queue_series`` and ``pings``."""

    def files(self) -> dict[str, bytes]:
        """Files beside the tables that the experiment asked for, by name: captures and qlog."""

    def digest(self) -> str:
        """SHA-256 over all tables: equal results, equal digests."""

    @property
    def events(self) -> int:
        """Events that the simulator handled."""

    @property
    def peak_events(self) -> int:
        """The most events that waited at a time."""

    @property
    def wire(self) -> str | None:
        """On the wire: the calibration and the router's books, as JSON."""

@final
class AckEvent:
    """Data was newly acknowledged, cumulatively or selectively. The same object comes each time: copy what you keep."""

    @property
    def now(self) -> int:
        """Now, in nanoseconds."""

    @property
    def acked(self) -> int:
        """Bytes by which the cumulative acknowledgement advanced."""

    @property
    def delivered(self) -> int:
        """Bytes newly known to be delivered, cumulatively or selectively."""

    @property
    def lost(self) -> int:
        """Bytes newly marked lost."""

    @property
    def ce(self) -> int:
        """Bytes of `delivered` that arrived with a CE mark, as the receiver says."""

    @property
    def ece(self) -> bool:
        """The ECN echo was set on this acknowledgement."""

    @property
    def accurate(self) -> bool:
        """The receiver counts marks (RFC 9768): `ce` is exact."""

    @property
    def rtt(self) -> int | None:
        """A round-trip time measured by this acknowledgement, in nanoseconds."""

    @property
    def srtt(self) -> int:
        """The smoothed round-trip time in nanoseconds; 0 before the first sample."""

    @property
    def min_rtt(self) -> int:
        """The least round-trip time of the connection so far, in nanoseconds; 0 before the first sample."""

    @property
    def prior_in_flight(self) -> int:
        """Bytes in flight before this acknowledgement."""

    @property
    def in_flight(self) -> int:
        """Bytes in flight after it."""

    @property
    def snd_una(self) -> int:
        """First byte not yet acknowledged cumulatively."""

    @property
    def snd_nxt(self) -> int:
        """First byte not yet sent."""

    @property
    def round(self) -> int:
        """Round trips counted by delivery."""

    @property
    def round_start(self) -> bool:
        """This acknowledgement begins a round."""

    @property
    def cwnd_limited(self) -> bool:
        """The window was what limited the sender: only then may it grow."""

    @property
    def in_recovery(self) -> bool:
        """The sender is in recovery, or reducing after an ECN echo: no growth."""

    @property
    def in_rto_recovery(self) -> bool:
        """The sender repairs after a retransmission timeout: slow start is allowed."""

    @property
    def next_departure(self) -> int:
        """The earliest time at which pacing lets the next segment leave, in nanoseconds; 0 without pacing."""

    @property
    def rate(self) -> RateSample | None:
        """The delivery rate sample, if one could be taken."""

@final
class RateSample:
    """A sample of the delivery rate."""

    @property
    def delivered(self) -> int:
        """Bytes delivered over `interval`."""

    @property
    def interval(self) -> int:
        """The longer of the send and the acknowledgement phase, in nanoseconds; never 0."""

    @property
    def bps(self) -> float:
        """`delivered` over `interval`, in bit/s."""

    @property
    def prior_delivered(self) -> int:
        """Bytes delivered in all when the sampled segment was sent."""

    @property
    def total_delivered(self) -> int:
        """Bytes delivered in all now."""

    @property
    def lost(self) -> int:
        """Bytes marked lost over the sample's flight."""

    @property
    def total_lost(self) -> int:
        """Bytes marked lost in all."""

    @property
    def tx_in_flight(self) -> int:
        """Bytes in flight when the sampled segment was sent."""

    @property
    def delivered_ce(self) -> int:
        """Bytes delivered with a CE mark over the sample's flight."""

    @property
    def app_limited(self) -> bool:
        """The sampled segment was sent while the application had nothing more to send."""

@final
class LossEvent:
    """A recovery episode begins."""

    @property
    def now(self) -> int:
        """Now, in nanoseconds."""

    @property
    def kind(self) -> str:
        """What began it: `loss`, `ecn`, or `asked` if the control asked for it."""

    @property
    def in_flight(self) -> int:
        """Bytes in flight, lost ones left out."""

    @property
    def lost(self) -> int:
        """Bytes marked lost so far in this episode."""

    @property
    def snd_nxt(self) -> int:
        """First byte not yet sent: the episode ends when it is acknowledged."""

@final
class RtoEvent:
    """The retransmission timer fired."""

    @property
    def now(self) -> int:
        """Now, in nanoseconds."""

    @property
    def in_flight(self) -> int:
        """Bytes in flight before everything was marked lost."""

    @property
    def first(self) -> bool:
        """The first timeout of this episode: only then is the threshold lowered."""

    @property
    def still_in_flight(self) -> int:
        """Bytes that still count as in flight now; usually none."""

    @property
    def snd_nxt(self) -> int:
        """First byte not yet sent."""

@final
class LostSegment:
    """A segment is marked lost."""

    @property
    def seq(self) -> int:
        """Its first byte."""

    @property
    def bytes(self) -> int:
        """Its payload in bytes."""

    @property
    def tx_in_flight(self) -> int:
        """Bytes in flight when it was sent, itself included."""

    @property
    def lost(self) -> int:
        """Bytes marked lost since it was sent, itself included."""

    @property
    def prior_delivered(self) -> int:
        """Bytes delivered in all when it was sent."""

    @property
    def total_delivered(self) -> int:
        """Bytes delivered in all now."""

    @property
    def app_limited(self) -> bool:
        """It was sent while the application had nothing more to send."""

@final
class RestartEvent:
    """A transmission while nothing is outstanding."""

    @property
    def now(self) -> int:
        """Now, in nanoseconds."""

    @property
    def idle(self) -> int:
        """How long nothing was in flight, in nanoseconds."""

    @property
    def rto(self) -> int:
        """The current retransmission timeout in nanoseconds."""

    @property
    def app_limited(self) -> bool:
        """The application had nothing more to send. False: the pace is below a segment a round trip."""

@final
class Sibling:
    """One subflow of a multipath connection, as its siblings see it."""

    @property
    def cwnd(self) -> int:
        """Its congestion window in bytes."""

    @property
    def srtt(self) -> int:
        """Its smoothed round-trip time in nanoseconds; 0 before the first sample."""

    @property
    def between_losses(self) -> int:
        """Its control's `bytes_between_losses`."""

@final
class PathView:
    """One path as a scheduler sees it."""

    @property
    def path(self) -> int:
        """The path's number, from 0."""

    @property
    def usable(self) -> bool:
        """Established, and not silent since a timeout."""

    @property
    def ready(self) -> bool:
        """The window has room for a segment now; for a scheduler that queues ahead: the subflow's buffer has room."""

    @property
    def is_open(self) -> bool:
        """Usable and ready."""

    @property
    def srtt(self) -> int:
        """Smoothed round-trip time in nanoseconds; 0 before the first sample."""

    @property
    def rttvar(self) -> int:
        """Its variation in nanoseconds."""

    @property
    def cwnd(self) -> int:
        """Congestion window in bytes."""

    @property
    def ssthresh(self) -> int | None:
        """Slow-start threshold in bytes; `None` before the first reduction."""

    @property
    def in_flight(self) -> int:
        """Bytes in flight."""

    @property
    def queued(self) -> int:
        """Bytes given to the path and not acknowledged on it."""

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""

@final
class SegView:
    """The segment to be sent, as a scheduler sees it."""

    @property
    def len(self) -> int:
        """Its payload bytes."""

    @property
    def carried(self) -> list[int]:
        """The numbers of the paths that have carried it already."""

    @property
    def waiting(self) -> int:
        """Bytes that wait to be sent for the first time, this segment included."""

    @property
    def unacked(self) -> int:
        """Bytes sent and not acknowledged to the connection."""

    @property
    def window(self) -> int:
        """Bytes that the receiver's window leaves open, this segment included."""

@final
class Relations:
    """What the first correlator knows of each two paths."""

    def shares(self, a: int, b: int) -> bool:
        """True if the two paths share a bottleneck."""

    def known(self, a: int, b: int) -> bool:
        """True if the correlator knows enough of both paths to say so."""

    def coefficient(self, a: int, b: int) -> float | None:
        """The coefficient of two paths from -1 to 1, if there is one."""

@final
class Packet:
    """A packet in a queue."""

    @property
    def id(self) -> int:
        """Its number: the first packet of a queue is 0."""

    @property
    def arrived(self) -> int:
        """When it arrived, in nanoseconds."""

    @property
    def len(self) -> int:
        """Length on the link in bytes, headers and framing included."""

    @property
    def ecn(self) -> str:
        """The ECN field at its arrival: `not_ect`, `ect0`, `ect1` or `ce`."""

    @property
    def ecn_capable(self) -> bool:
        """It may be marked instead of dropped."""

    @property
    def flow(self) -> tuple[int, int, int, int, int]:
        """The flow: source and destination address, source and destination port, and protocol number."""

    def flow_hash(self, seed: int = 0) -> int:
        """A hash of the flow: the same in every process."""

    @property
    def priority(self) -> int:
        """Linux's packet priority, 0 to 15, 0 for best effort."""

    @property
    def dscp(self) -> int:
        """The DSCP of its IP header, 0 for best effort."""

    @property
    def stream_offset(self) -> int | None:
        """Offset of its first payload byte in its stream, if the header shows it."""

@final
class Live:
    """A run that is watched, and changed, while it goes on. One that is never changed gives what :func:`run` gives."""

    def __new__(cls, scenario: Scenario, seed: int) -> Live: ...
    def advance(self, seconds: float, progress: Progress | None = None) -> None:
        """Goes on by so many seconds of virtual time, at most to the end. Other threads go on meanwhile."""

    def samples(self, inner: Sequence[int] = ...) -> dict[str, dict[str, list[Any]]]:
        """The samples taken since the last call, as columns: of ``queues``, ``flows`` and ``pings``. Those of the flows in ``inner``
        have their inner values."""

    def queue_state(self, link: int) -> list[tuple[str, str, float]]:
        """The inner values of a link's discipline at this time: name, unit, value."""

    def flow_state(self, flow: int) -> list[tuple[str, str, float]]:
        """The inner values of a flow's sender and of its congestion control at this time: name, unit, value. Empty without a
        sender of TCP."""

    def change(self, scenario: Scenario) -> None:
        """From now on the scenario holds: links may have another rate, delay (both also in their course), jitter, loss and
        discipline, flows may be added after those there are, and a flow may get an earlier stop. Raises :class:`InputError` if it
        differs otherwise; nothing is changed then."""

    def finish(self) -> Run:
        """Ends the run where it is: its tables."""

    @property
    def now_s(self) -> float:
        """The virtual time reached, in seconds."""

    @property
    def links(self) -> list[str]:
        """Names of the links, by index."""

    @property
    def flows(self) -> list[str]:
        """Names of the flows, by index."""

def gym_fields(queue: bool) -> list[tuple[str, str, str, float, float, str]]:
    """The fields that a sender observes, or a queue: name, group, unit, least and largest value, meaning."""

def gym_counters(queue: bool) -> list[str]:
    """The names of the exact whole numbers of a sender, or of a queue."""

def gym_actions() -> list[tuple[str, int, int, str, float, float, str]]:
    """The actions: name, values, choices, unit, least and largest value, meaning."""

@final
class GymPolicy:
    """A policy: decides for observations."""

    def __new__(cls, text: str) -> GymPolicy: ...
    def act(self, observed: Any) -> list[float]:
        """The decisions for rows of observations (64-bit numbers), one row after another."""

@final
class Gym:
    """Environments that are stepped together."""

    def __new__(cls, networks: Sequence[Scenario], choices: str, envs: int, threads: int, fixed: bool) -> Gym: ...
    def names(self) -> list[str]:
        """Names of those that decide, in the first network."""

    def reset(self, which: Sequence[bool], seeds: Sequence[int | None]) -> None:
        """A new run begins in the environments whose ``which`` is true. A seed makes it the first run of that seed."""

    def step(self, values: Any, restart: bool) -> None:
        """One step of every environment. With ``restart`` a run that is over is followed by the next; without, it stays as it is."""

    def show(self, rows: Any, counters: Any, flags: Any) -> None:
        """Writes what the last step or reset showed into buffers: fields, exact whole numbers, and flags."""

def run(scenario: Scenario, seed: int, progress: Progress | None = None) -> Run:
    """Runs a scenario (its sweep left aside) with that seed in the simulator. Other threads go on meanwhile."""

def sim_check(scenario: Scenario) -> None:
    """Raises :class:`InputError` if the simulator cannot run the scenario (its sweep left aside): if a queue is a kernel's own."""

def kernel_check(scenario: Scenario, controls: list[str], accurate_ecn: bool = False) -> None:
    """Raises :class:`InputError` if a guest kernel with those congestion controls cannot run the scenario (its sweep left aside)."""

def kernel_cost(scenario: Scenario, options: str = "{}") -> float:
    """Processor time in seconds that a run of the scenario (its sweep left aside) takes in a guest, to about a factor of two."""

def kernel_run(
    scenario: Scenario, seed: int, vmlinux: str, guest: str, options: str = "{}", progress: Progress | None = None
) -> Run:
    """Runs a scenario (its sweep left aside) with that seed in a guest: ``vmlinux`` is the kernel, ``guest`` the program in it.

    ``options`` is JSON: ``router`` (``auto``, ``kernel``, ``user``), ``gso``, ``ftp_server``.
    """

@final
class KernelSession:
    """The network of a scenario in a guest, and a program in one of its hosts with a person's terminal."""

    def __new__(cls, vmlinux: str, guest: str) -> KernelSession:
        """``vmlinux`` is the kernel, ``guest`` the program in it."""

    def hold(self, scenario: Scenario, session: str, options: str, progress: Progress) -> int:
        """Holds the network until the program ends: its exit status, or 128 and the signal that ended it.

        ``session`` (``servers``, ``host``, ``words``, ``environment``) and ``options`` are JSON. Another thread must :meth:`hear`.
        """
    def hear(self, seconds: float) -> tuple[str, bytes] | None:
        """The next message of the terminal: letter and text, as ``kernel/line.h`` lists them.

        The letter is empty if no message comes within so many seconds. ``None``: the guest has ended.
        """
    def say(self, kind: str, text: bytes) -> None:
        """Sends a message. Raises :class:`OSError` if the guest has ended."""

def kernel_fabric(scenario: Scenario) -> str:
    """The network of a scenario as JSON: the text that changes the links of a session."""

def kernel_hosts(scenario: Scenario) -> list[str]:
    """The nodes between which the flows of a scenario run."""

def kernel_about(vmlinux: str, guest: str) -> str:
    """What a guest kernel says of itself, as JSON: ``release``, ``controls``, ``fabric``. Boots it."""

def kernel_confined() -> bool:
    """Whether this machine has Landlock, which confines guests."""

def wire_check(scenario: Scenario) -> None:
    """Raises :class:`InputError` where the wire cannot run the scenario (its sweep left aside) or this process may not use it."""

def wire_run(
    scenario: Scenario,
    seed: int,
    progress: Progress | None = None,
    calibrate: str = "refuse",
    ftp_server: Sequence[str] = ...,
    gso: bool = False,
) -> Run:
    """Runs a scenario (its sweep left aside) with that seed on real packets, in real time.

    ``calibrate``: ``refuse`` (a machine that is not fit), ``note`` or ``no``; ``ftp_server``: the command that serves uploads; ``gso``:
    hosts hand buffers of up to 64 kB to their link.
    """

def wire_router(scenario: Scenario, options: str, signals: int) -> None:
    """Is a router between two interfaces until the number of SIGTERM or SIGINT can be read from the descriptor ``signals``."""

@final
class LiveNetwork:
    """A live network of namespaces, with a host for each node between which the scenario's flows run."""

    hosts: list[str]
    """The names of its hosts."""

    def __new__(cls, scenario: Scenario, outside: str | None = None) -> LiveNetwork:
        """``outside``: the node that is in the caller's network namespace."""
    def run(self, host: str, words: Sequence[str], environment: Sequence[tuple[str, str]]) -> int:
        """Runs a program there with this process's terminal; its exit status, or 128 and the signal that ended it."""
    def serve(self, host: str, words: Sequence[str], environment: Sequence[tuple[str, str]]) -> None:
        """Starts a program there beside others, until the network is closed."""
    def change(self, scenario: Scenario) -> None:
        """From now on its links are those of this scenario."""
    def snapshot(self) -> str:
        """The router's counters, as JSON."""
    def close(self) -> None:
        """Takes it down, once no program runs in it any more."""

def capture_classify(path: str, options: str, progress: Progress | None = None) -> str:
    """Shows every packet of a capture to classifiers. Options and report are JSON. Raises :class:`InputError`."""

def capture_correlate(captures: Sequence[Sequence[str]], options: str, progress: Progress | None = None) -> str:
    """Which flows of captures share a bottleneck; a capture is one file or the files of its directions. JSON as above."""

def capture_flows(path: str, progress: Progress | None = None) -> str:
    """The TCP flows of a capture as JSON: a list of ``start_ns``, ``client``, ``from_client`` and ``bytes``."""

def capture_defaults() -> str:
    """What :func:`capture_classify` and :func:`capture_correlate` do without options, as JSON: an object for each."""

def parse_quantity(kind: str, text: str) -> float:
    """A quantity in its base unit: ``duration`` in seconds, ``rate`` in bit/s, ``bytes``, ``probability`` from 0 to 1."""

def spell_quantity(text: str) -> str:
    """A quantity for people: a space before the unit, and the unit in full. What is no quantity stays as it is."""

def traffic_name(kind: str, place: int) -> str:
    """What the results call a traffic entry without a name: its kind and its place in the file, from 0."""

def traffic_kinds() -> str:
    """What each traffic kind is, by name, as JSON.

    ``tcp``: its flows are TCP. ``goodput``: it delivers payload, so its goodput means something. ``request_response``: it measures the time
    until a response. ``arrivals``: its flows arrive and end during the run. ``table``: the table of its own results, or null.
    ``endless_without``: its flows always have something to send unless an entry gives one of these keys; null: never. ``example``: an
    entry's keys, as TOML.
    """

def schema() -> str:
    """The JSON Schema of experiment files, as JSON."""

def kinds() -> list[str]:
    """The kinds of names: what :func:`names` takes."""

def limits() -> str:
    """What inputs may hold at most, as JSON: a list of objects with ``input``, ``what``, ``most`` and ``unit``."""

def names(kind: str) -> list[str]:
    """The names of a kind, such as ``queues``: all kinds are in :func:`kinds`."""

def describe(name: str) -> str:
    """What a name stands for, with its parameters, as JSON."""
