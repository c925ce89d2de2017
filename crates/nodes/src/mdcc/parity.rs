//! The law in the kernel against the simulator's: the calls of real runs are recorded, and each call is made in the
//! kernel, too (BPF_PROG_TEST_RUN). Both windows have to be equal after each call.

use airlane_core::{Duration, Instant};
use airlane_scenario::Scenario;
use airlane_transport::congestion::journal::{self, Call, Step};
use airlane_transport::congestion::{AckSample, Domain};
use airlane_transport::model::Evidence;
use libbpf_rs::{Object, ObjectBuilder, ProgramInput};

use super::kernel;

/// The length of `struct step` in `bpf/parity.h`, and where its result begins.
const LENGTH: usize = 160;
const RESULT: usize = 128;
/// `NEVER` in `bpf/law.h`.
const NEVER: u64 = u64::MAX;

/// The congestion controls' scenarios: name, and the text.
fn scenarios() -> Vec<(&'static str, String)> {
    let jump = include_str!("../../../../scenarios/mdcc-jump.toml");
    // The phone's flow is the first; the others keep CUBIC.
    let mdcc = jump.replacen("congestion = \"cubic\"", "congestion = \"mdcc\"", 1);
    let pep = |fault: &str| format!("{mdcc}\n[[middlebox]]\nkind = \"pep\"\nat = \"gateway\"\n{fault}\n");
    let lossy =
        |share: &str| pep("").replacen("[internet]\n", &format!("[internet]\nloss = \"{share}\"\n"), 1);
    let wired =
        pep("").replacen("rate = \"1 Gbit/s\"      # open", "rate = \"20 Mbit/s\"\nqueue = \"150 kB\"", 1);
    vec![
        ("fill-up, losses at the radio", pep("")),
        ("losses in the internet", wired),
        ("losses in both domains", lossy("0.2 %")),
        ("many losses: timeouts", lossy("20 %")),
        ("the PEP dies", pep("fault = { kind = \"dies\", at = \"9 s\", until = \"20 s\" }")),
        (
            "the PEP sends false reports",
            pep("fault = { kind = \"lies\", from = \"2 s\", claim = \"unsent\" }"),
        ),
        ("half of the reports lost", pep("fault = { kind = \"loses\", share = \"50 %\" }")),
        ("no PEP", mdcc.clone()),
    ]
}

fn steps(text: &str) -> Vec<Step> {
    let resolved = Scenario::parse(text, "<parity>").and_then(|scenario| scenario.resolve());
    let resolved = resolved.unwrap_or_else(|e| panic!("{e}"));
    let (output, steps) = journal::record(|| airlane_assembly::run(&resolved, 1));
    output.unwrap_or_else(|e| panic!("{e}"));
    steps
}

/// The program, which the kernel has verified.
struct Kernel {
    object: Object,
}

impl Kernel {
    /// `None` without the rights.
    fn load() -> Option<Self> {
        let missing = kernel::requirements().into_iter().find_map(|one| one.missing);
        if let Some(missing) = missing {
            eprintln!("SKIPPED: the law in the kernel is not compared: {missing}");
            return None;
        }
        let mut open = ObjectBuilder::default().open_memory(kernel::OBJECT).expect("it is an object");
        for mut program in open.progs_mut() {
            program.set_autoload(program.name() == "mdcc_parity");
        }
        for mut map in open.maps_mut() {
            let kept = ["tested", "reports", "windows", "settings", "connections"];
            map.set_autocreate(kept.iter().any(|name| map.name() == *name)).expect("it is not loaded yet");
        }
        Some(Self { object: open.load().expect("the kernel takes the program") })
    }

    /// Makes a call.
    fn call(&self, input: &Input) -> Answer {
        let program = self.object.progs_mut().find(|one| one.name() == "mdcc_parity").expect("it is there");
        let mut bytes = input.bytes();
        let run = ProgramInput { context_in: Some(&mut bytes), ..ProgramInput::default() };
        let output = program.test_run(run).expect("the program runs");
        assert_eq!(output.return_value, 0);
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = u64::from_ne_bytes(bytes[RESULT + 24..RESULT + 32].try_into().expect("eight bytes"));
        Answer { windows: core::array::from_fn(|at| word(RESULT + 4 * at)), number: long }
    }
}

/// The window and threshold of the sender, of the internet, and of the radio network.
struct Answer {
    windows: [u32; 6],
    number: u64,
}

/// The inputs of `struct step`.
#[derive(Default)]
struct Input {
    call: u32,
    domain: u32,
    /// Fields of `struct ack`: now, rtt, srtt, acked_to, sent_to; then the words.
    ack: ([u64; 5], [u32; 6]),
    /// Fields of `struct timeout`.
    timeout: ([u64; 2], [u32; 2]),
    numbers: [u64; 2],
    /// segments, segment_size, acks_per_increase, hystart
    begin: [u32; 4],
}

impl Input {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LENGTH);
        let words =
            |bytes: &mut Vec<u8>, words: &[u32]| words.iter().for_each(|w| bytes.extend(w.to_ne_bytes()));
        let longs =
            |bytes: &mut Vec<u8>, longs: &[u64]| longs.iter().for_each(|l| bytes.extend(l.to_ne_bytes()));
        words(&mut bytes, &[self.call, self.domain]);
        longs(&mut bytes, &self.ack.0);
        words(&mut bytes, &self.ack.1);
        longs(&mut bytes, &self.timeout.0);
        words(&mut bytes, &self.timeout.1);
        longs(&mut bytes, &self.numbers);
        words(&mut bytes, &self.begin);
        assert_eq!(bytes.len(), RESULT);
        bytes.resize(LENGTH, 0);
        bytes
    }

    fn of(step: &Step) -> Self {
        let none = Self::default();
        let number = |domain: Domain| domain as u32;
        match step.call {
            Call::Begin { hystart, acks_per_increase } => {
                let (segments, size) = (step.window.segments, step.window.segment_size());
                let begin = [segments, size, acks_per_increase, hystart.into()];
                Self { call: 0, begin, ..none }
            }
            Call::Ack(domain, ack) => Self { call: 1, domain: number(domain), ack: words(&ack), ..none },
            Call::Episode => Self { call: 2, ..none },
            Call::Loss(domain) => Self { call: 3, domain: number(domain), ..none },
            Call::Timeout(t) => {
                let timeout = ([nanos(t.now), t.sent_to], [t.restart_segments, t.new_episode.into()]);
                Self { call: 4, timeout, ..none }
            }
            Call::Undo => Self { call: 5, ..none },
            Call::Validation(segments) => Self { call: 6, begin: [segments, 0, 0, 0], ..none },
            Call::Restart(r) => Self { call: 7, numbers: [nanos(r.now), nanos(r.last_sent_at)], ..none },
            Call::ClockChange => Self { call: 8, ..none },
        }
    }
}

fn nanos(at: Instant) -> u64 {
    at.as_nanos()
}

fn words(ack: &AckSample) -> ([u64; 5], [u32; 6]) {
    let rtt = ack.rtt.map_or(NEVER, Duration::as_nanos);
    let longs = [nanos(ack.now), rtt, ack.srtt.as_nanos(), ack.acked_to, ack.sent_to];
    let flags = [ack.may_grow.into(), ack.window_limited.into()];
    let segments = [ack.max_outstanding_segments, ack.outstanding_segments];
    (longs, [ack.delivered_segments, flags[0], flags[1], segments[0], segments[1], 0])
}

/// The differences of a run.
#[derive(Debug, Default)]
struct Compared {
    steps: usize,
    acks: usize,
    internet_losses: usize,
    ran_losses: usize,
    timeouts: usize,
    other: usize,
    cwnd_max: u32,
    largest: u32,
    differing: usize,
}

impl Compared {
    fn count(&mut self, call: &Call) {
        self.steps += 1;
        let count = match call {
            Call::Ack(..) => &mut self.acks,
            Call::Loss(Domain::Internet) => &mut self.internet_losses,
            Call::Loss(Domain::Ran) => &mut self.ran_losses,
            Call::Timeout(_) => &mut self.timeouts,
            _ => &mut self.other,
        };
        *count += 1;
    }
}

/// Makes all calls of the steps in the kernel, too.
fn compare(kernel: &Kernel, steps: &[Step]) -> Compared {
    let mut compared = Compared::default();
    let connections = steps.iter().map(|step| step.connection).max().map_or(0, |last| last + 1);
    for connection in 0..connections {
        for step in steps.iter().filter(|step| step.connection == connection) {
            let windows = kernel.call(&Input::of(step)).windows;
            let inner =
                [step.internet.segments, step.internet.ssthresh, step.ran.segments, step.ran.ssthresh];
            let mut difference = (0..4).map(|at| windows[2 + at].abs_diff(inner[at])).max().unwrap_or(0);
            // The other calls leave the sender's window to the sender.
            if matches!(step.call, Call::Ack(..) | Call::Loss(_) | Call::Timeout(_) | Call::Undo) {
                let outer = [step.window.segments, step.window.ssthresh];
                let governing = (0..2).map(|at| windows[at].abs_diff(outer[at])).max().unwrap_or(0);
                difference = difference.max(governing);
            }
            compared.count(&step.call);
            compared.cwnd_max = compared.cwnd_max.max(step.window.segments);
            compared.largest = compared.largest.max(difference);
            compared.differing += usize::from(difference > 0);
        }
    }
    compared
}

#[test]
fn the_windows_are_those_of_the_simulator() {
    let Some(kernel) = Kernel::load() else { return };
    println!(
        "| run | steps | ACKs | losses: internet | radio | timeouts | largest cwnd | largest difference, segments | steps that differ |"
    );
    println!("| --- | --: | --: | --: | --: | --: | --: | --: | --: |");
    let mut all = Compared::default();
    for (name, text) in scenarios() {
        let one = compare(&kernel, &steps(&text));
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
            one.steps,
            one.acks,
            one.internet_losses,
            one.ran_losses,
            one.timeouts,
            one.cwnd_max,
            one.largest,
            one.differing
        );
        assert!(one.acks > 300, "{name}: {one:?}");
        assert_eq!((one.largest, one.differing), (0, 0), "{name}");
        all.internet_losses += one.internet_losses;
        all.ran_losses += one.ran_losses;
        all.timeouts += one.timeouts;
    }
    // The runs have what the comparison is about.
    assert!(all.internet_losses > 20 && all.ran_losses > 20 && all.timeouts > 2, "{all:?}");
}

/// The evidence for losses at the radio network, with random round trips.
#[test]
fn the_evidence_is_that_of_the_simulator() {
    let Some(kernel) = Kernel::load() else { return };
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    let mut seen = [0; 2];
    for _ in 0..50 {
        let tolerance = Duration::from_micros(next(10_000));
        let mut evidence = Evidence::new(tolerance);
        let begin = [10, 1448, 10, 1];
        kernel.call(&Input { call: 0, numbers: [tolerance.as_nanos(), 0], begin, ..Input::default() });
        let (pep, client) = (5_000 + next(20_000), 30_000 + next(50_000));
        for _ in 0..400 {
            let numbers = [1000 * (pep + next(12_000)), 1000 * next(8_000)];
            evidence.on_report(Duration::from_nanos(numbers[0]), Duration::from_nanos(numbers[1]));
            kernel.call(&Input { call: 10, numbers, ..Input::default() });
            let rtt = 1000 * (client + next(12_000));
            evidence.on_client(Duration::from_nanos(rtt));
            kernel.call(&Input { call: 11, numbers: [rtt, 0], ..Input::default() });
            let answer = u64::from(evidence.is_radio());
            assert_eq!(kernel.call(&Input { call: 12, ..Input::default() }).number, answer);
            seen[answer as usize] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 2000), "{seen:?}");
}

/// K is the only number that the simulator computes in floating point.
#[test]
fn the_root_is_that_of_the_simulator() {
    let Some(kernel) = Kernel::load() else { return };
    let some = (20..24).flat_map(|bit| (0..64_u32).map(move |near| (1 << bit) - 32 + near));
    for distance in (0..65_536_u32).chain(some) {
        let simulated = (libm::cbrt(f64::from(distance) * 1024.0 / 410.0) * 1024.0) as u64;
        let input = Input { call: 9, begin: [distance, 0, 0, 0], ..Input::default() };
        assert_eq!(kernel.call(&input).number, simulated, "{distance}");
    }
}
