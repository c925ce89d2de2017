"""The compiled core."""

from collections.abc import Callable, Sequence
from typing import Literal, final

class ScenarioError(ValueError):
    """A mistake in a scenario.

    Attributes
    ----------
    file
        The file, as the caller named it.
    line
        Line from 1; None for what no line says, such as an override.
    key
        Dotted path of the key.
    value
        What stands there, as it would be written; empty for a missing key.
    help
        What would be right.
    """

    file: str
    line: int | None
    key: str
    value: str
    help: str

class GuestError(RuntimeError):
    """A guest kernel is missing or failed.

    Attributes
    ----------
    failed
        True if the guest failed while it ran.
    """

    failed: bool

_Data = bytes | list[str] | tuple[list[str], bytes]
_Column = tuple[str, Literal["f64", "i64", "bool", "utf8", "labels"], _Data, list[tuple[str, str]]]

@final
class RunOutput:
    """What one run left behind."""

    @property
    def tables(self) -> dict[str, list[_Column]]:
        """Tables by name, each a list of (column, kind, data, metadata).

        Numbers are little-endian, eight bytes each; truth values one byte each; names a list, or,
        where few are repeated often, these few and for each row an index into them in four bytes. The
        metadata says what a column means, as pairs of key and value.
        """

    @property
    def meta(self) -> str:
        """Facts about the run, as a JSON object."""

def version() -> str:
    """Version of the compiled core."""

def play_script(text: str, folder: str, ipv6: bool, tolerance_us: int, kernel: str | None = None) -> str:
    """Play a script of packetdrill; an object with result, line and reason, as JSON."""

def columns_of_runs() -> dict[str, list[_Column]]:
    """The tables of a run without flows: their columns, with metadata, are those of every run."""

def schema() -> str:
    """JSON Schema of the scenario format."""

@final
class Resolved:
    """A resolved scenario: every value, checked. Two are equal if all their values are."""

    @staticmethod
    def from_json(text: str) -> Resolved:
        """Read the JSON of a resolved scenario, as results and flight records store it.

        Raises
        ------
        ScenarioError
            If it is not one.
        """

    @property
    def json(self) -> str:
        """Every value as JSON."""

    def files(self) -> list[str]:
        """Files that a run reads."""

    def file_notes(self) -> list[str]:
        """Notes of the readers of recordings and movements, a line for each file.

        Raises
        ------
        ScenarioError
            If a file cannot be read or is invalid.
        """

    def kernels(self) -> list[str]:
        """Names of the kernels that a run needs."""

    def flow_names(self) -> list[str]:
        """Names of the flows, as in results."""

    def ue_names(self) -> list[str]:
        """Names of the UEs, as in results; `host` in a wired network."""

def parse(text: str, file_name: str, overrides_json: str = "{}") -> Resolved:
    """Resolve a scenario; overrides are an object of values by dotted path.

    Raises
    ------
    ScenarioError
        Naming file, line, key and value, and what would be right.
    """

class LiveError(Exception):
    """A live run cannot begin or go on. Only on Linux."""

def replay(scenario: str, seed: int, ends: tuple[list[str], list[str], list[int]], path: str) -> str:
    """Repeat the flight record of a live run: a report as JSON. Only on Linux."""

def live(config: str) -> tuple[dict[str, list[_Column]], str, str]:
    """Make a live run in this process, which must have one thread: tables, summary, facts. Only on Linux."""

def tbs_bits(mcs: int, n_prb: int) -> int:
    """Bits of a downlink transport block (TS 36.213 tables 7.1.7.1-1 and 7.1.7.2.1-1)."""

def cqi(snr_db: Sequence[float], rule: Literal["mutual-information", "piro"], n_prb: int) -> list[int]:
    """Downlink CQI at each of these SNRs, the same on all of `n_prb` PRBs."""

def mcs_of_cqi(cqi: int) -> int | None:
    """Downlink MCS that a CQI stands for; None out of range."""

def snr_at_error_rate(mcs: int, n_prb: int, error_rate: float) -> float:
    """SNR in dB at which a first transmission that fills `n_prb` PRBs fails with this probability."""

def gap_to_fit(mcs: int, bits: int, snr_db: float, error_rate: float) -> tuple[list[float], float]:
    """Regressors of the error model's gap for a block of `bits` with CRC, and the gap in dB that it needs."""

def nr_transport_block_bits(
    resources: tuple[int, int, int, int], coding: tuple[int, float, int, float]
) -> int:
    """Bits of a transport block of NR (TS 38.214 clause 5.1.3.2); `airlane.nr` checks the values."""

def nr_thresholds(ldpc: str, blocks: Sequence[tuple[int, float, int]], error_rate: float) -> list[float]:
    """SNR in dB at which blocks (modulation order, code rate x 1024, bits) fail with this probability."""

def nr_block(mcs: int, resources: tuple[int, int, int]) -> tuple[int, float]:
    """Bits of a block of MCS table 1 on (symbols, DM-RS per PRB, PRBs), and its effective code rate."""

def layer_information(
    antennas: tuple[int, int], kind: tuple[str, str, bool], snr_db: Sequence[float]
) -> list[tuple[float, float, float, float]]:
    """Bits per resource element of the best rank: mean of channels and of the table, fifth percentiles."""

def channel_loss(
    report: str,
    scenario: str,
    carrier_ghz: float,
    link: tuple[float, float, float, float],
    state: tuple[bool, bool, bool],
) -> tuple[float, float, float]:
    """Path loss, sigma of the shadowing (dB) and its correlation distance (m)."""

def channel_line_of_sight(report: str, scenario: str, outdoor_m: float, ue_m: float) -> float:
    """Probability of a line of sight."""

def channel_wall(building: str, carrier_ghz: float) -> tuple[float, float]:
    """Loss of an external wall and its standard deviation, dB."""

def sidelink_loss(
    road: str, line_of_sight: bool, distance_m: float, carrier_ghz: float
) -> tuple[float, float]:
    """Path loss between vehicles and sigma of its shadowing, dB."""

def channel_calibration(
    report: str, scenario: str, carrier_ghz: float, antenna: tuple[int, float], drop: tuple[int, int]
) -> list[list[float]]:
    """Coupling gain, geometry (dB) and zenith of the serving site's sight (degrees) of each UE of a drop."""

def channel_full_calibration(
    report: str,
    scenario: str,
    carrier_ghz: float,
    antennas: tuple[int, int, float, bool],
    drop: tuple[int, int, bool, Sequence[str]],
) -> list[list[float]]:
    """The same with clusters, and delay (ns), ASD, ASA, ZSD and ZSA (degrees) of the serving link."""

def fading_gains(
    model: str,
    n_prb: int,
    doppler_hz: float,
    links: int,
    seed: int,
    times_us: Sequence[int],
    prbs: Sequence[int],
) -> bytes:
    """Linear power gains as little-endian f32, link by link, then time by time, then PRB by PRB."""

def run(
    jobs: Sequence[tuple[Resolved, int]],
    threads: int,
    on_done: Callable[[int], None] | None = None,
    captures: Sequence[str] | None = None,
    controllers: dict[str, type] | None = None,
    costs: dict[str, tuple[int, float]] | None = None,
    watch: type[object] | None = None,
    on_progress: Callable[[float], None] | None = None,
    on_output: Callable[[int, RunOutput], None] | None = None,
    on_rows: Callable[[int, dict[str, list[_Column]]], None] | None = None,
) -> list[RunOutput]:
    """Run each (resolved scenario, seed) on `threads` threads; outputs in the order of the jobs.

    Other Python threads run meanwhile. `on_done` is called, on the calling thread, with the index of each
    job that ended, and `on_progress`, ten times a second, with the number of runs that have been
    simulated, parts included. `on_output` gets the index and the output of each job that ended, and
    nothing is returned. `on_rows` gets rows of long tables during the runs, with the index of the job, as
    `RunOutput.tables` has them. An exception in one of them, or Ctrl-C, ends all runs within a second.
    `captures` says for each job how the names of its capture files begin; without it nothing is captured.
    `controllers` has a class by each name that a scenario has for a controller of your own; `costs` is
    filled with calls and seconds by name. `watch` ends calls into them that continue after a signal: its
    static method `interrupt` gets the threads that are in one (`threading.get_ident`), and `leave` those
    that did not end.

    Raises
    ------
    OSError
        When a capture file cannot be written.
    """

class Ack:
    """What one acknowledgment brought, or all those of a round trip.

    Attributes
    ----------
    now_s
        When it arrived, in seconds of the run.
    delivered
        Segments that it newly delivered.
    may_grow
        True if data was acknowledged in order and no loss is being repaired.
    window_limited
        True if the window was what limited the sender.
    outstanding
        Segments sent and not acknowledged.
    rtt_ms
        Round trip, of a round trip's acknowledgments the least; None where none was measured.
    srtt_ms
        Smoothed round trip.
    """

    now_s: float
    delivered: int
    may_grow: bool
    window_limited: bool
    outstanding: int
    rtt_ms: float | None
    srtt_ms: float

class Loss:
    """An episode of loss begins.

    Attributes
    ----------
    now_s
        When it was detected, in seconds of the run.
    in_flight
        Segments in flight.
    random
        True if a loss discriminator takes it for one that has nothing to do with load.
    """

    now_s: float
    in_flight: int
    random: bool

class Timeout:
    """The retransmission timer expired.

    Attributes
    ----------
    now_s
        When, in seconds of the run.
    restart
        The window to restart from, in segments.
    new_episode
        True if the window was not already reduced for this flight of data.
    """

    now_s: float
    restart: int
    new_episode: bool

class PacketReport:
    """What a report of the receiver of a call says about a packet.

    Attributes
    ----------
    sequence
        Counts all packets of the sender.
    size
        Its bytes with all headers.
    sent_s
        When it left the sender, in seconds of the run.
    arrived_s
        When it arrived, in seconds of the receiver's clock; None if it has not arrived. A packet that was
        reported as lost may arrive later, and is then reported again.
    marked
        True if it arrived with a congestion mark (CE). Transport-wide feedback has no marks: always False.
    """

    sequence: int
    size: int
    sent_s: float
    arrived_s: float | None
    marked: bool

class Subflow:
    """A subflow of Multipath TCP, as schedulers see it.

    Attributes
    ----------
    index
        Its number, from 0.
    available
        True if it can send a segment now: it is usable, its window has room, and it has no timeout.
    usable
        True if its handshake is complete and no timeout suggests that its path has failed.
    backup
        True if it is a backup.
    srtt_ms
        Smoothed round trip in ms.
    cwnd
        Congestion window in segments.
    in_flight
        Segments in flight.
    """

    index: int
    available: bool
    usable: bool
    backup: bool
    srtt_ms: float
    cwnd: int
    in_flight: int

class Unsent:
    """The data of a connection that was not sent.

    Attributes
    ----------
    now_s
        The time, in seconds of the run.
    segment
        Bytes of the segment that must be sent.
    bytes
        Bytes that were written and not sent, with the segment; None if the application always has more.
    window
        The receive window of the peer in bytes, from the first byte that is not acknowledged.
    """

    now_s: float
    segment: int
    bytes: int | None
    window: int

class Feedback:
    """A report of the receiver of a call.

    Attributes
    ----------
    now_s
        When it arrived, in seconds of the run.
    packets
        The packets that it is about, by their sequence numbers, without what earlier reports have said.
    in_flight
        Bytes that were sent after the last packet that a report was about.
    rtt_ms
        The last round trip that RTCP has measured (RFC 3550 section 6.4.1), about once a second; None before
        the first.
    """

    now_s: float
    packets: tuple[PacketReport, ...]
    in_flight: int
    rtt_ms: float | None
