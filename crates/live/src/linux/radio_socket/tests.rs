use std::io::{BufRead, BufReader};

use airlane_scenario::Scenario;

use super::*;

const LTE: &str = include_str!("../../../../../scenarios/lte-download.toml");

struct Run {
    cell: Cell,
    socket: RadioSocket,
    now: Instant,
}

impl Run {
    fn at(path: &Path) -> Self {
        let scenario = Scenario::parse(LTE, "cell.toml").and_then(|one| one.resolve()).unwrap();
        let mut cell = Cell::new(&scenario, 1, &[], 1_500).unwrap();
        cell.inform(&scenario, &[], ALONE);
        let mut socket = RadioSocket::open(path.to_str().unwrap(), Facts::new(&scenario, 0)).unwrap();
        socket.begin(5);
        Self { cell, socket, now: Instant::ZERO }
    }

    fn play(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            self.cell.advance(self.now);
            self.socket.serve(&mut self.cell, self.now);
        }
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("airlane-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn connect(path: &Path, request: &str) -> BufReader<UnixStream> {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream)
}

fn next(from: &mut BufReader<UnixStream>) -> Option<Message> {
    let mut line = String::new();
    // A connection that ends with unread bytes is reset.
    let _ = from.read_line(&mut line);
    (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
}

const ASK: &str = "{\"period\": 10000000, \"measure\": 100000000}\n";

#[test]
fn a_service_gets_reports_at_its_interval_and_a_second_one_waits() {
    let folder = folder("radio-socket");
    let path = folder.join("rnis");
    let mut run = Run::at(&path);
    run.play(995);
    let mut first = connect(&path, ASK);
    run.play(20);
    let mut second = connect(&path, ASK);
    run.play(100);
    let Some(Message::Begin(facts)) = next(&mut first) else { panic!("it begins with the facts") };
    assert_eq!((facts.epoch, facts.second_bearer), (5, vec![false]));
    for at in [1_010, 1_020, 1_030] {
        let Some(Message::Report(report)) = next(&mut first) else { panic!("reports follow") };
        assert_eq!((report.at, report.is_due), (at * 1_000_000, true));
        assert_eq!(report.records[0].ue, [10, 1, 0, 1]);
    }
    assert_eq!(next(&mut second), Some(Message::Busy));
    assert_eq!(next(&mut second), None);
    drop(first);
    run.play(20);
    let mut third = connect(&path, ASK);
    run.play(30);
    assert!(matches!(next(&mut third), Some(Message::Begin(_))));
    drop(run);
    assert!(!path.exists());
    fs::remove_dir(folder).unwrap();
}

#[test]
fn a_service_that_does_not_read_is_cut_off_and_the_run_continues() {
    let folder = folder("radio-stalled");
    let path = folder.join("rnis");
    let mut run = Run::at(&path);
    let mut stalled = connect(&path, "{\"period\": 1000000, \"measure\": 100000000}\n");
    run.play(20);
    assert!(run.socket.service.is_some());
    // As if it had not read for longer than the socket's own memory.
    run.socket.service.as_mut().unwrap().waiting.resize(2 * WAITING_MAX, b' ');
    run.play(20);
    assert!(run.socket.service.is_none());
    assert!(matches!(next(&mut stalled), Some(Message::Begin(_))));
    fs::remove_file(&path).unwrap();
    fs::remove_dir(folder).unwrap();
}

#[test]
fn a_wrong_request_ends_the_connection() {
    let folder = folder("radio-wrong");
    let path = folder.join("rnis");
    let mut run = Run::at(&path);
    let long = "x".repeat(REQUEST_MAX + 1);
    for wrong in ["{}\n", "{\"period\": 0, \"measure\": 1000000000}\n", "reports, please\n", &long] {
        let mut service = connect(&path, wrong);
        run.play(20);
        assert_eq!(next(&mut service), None, "{wrong}");
    }
    drop(run);
    fs::remove_dir(folder).unwrap();
}

#[test]
fn the_socket_of_a_run_that_was_killed_is_replaced_and_that_of_another_is_not() {
    let folder = folder("radio-left");
    let path = folder.join("rnis");
    drop(UnixListener::bind(&path).unwrap());
    let run = Run::at(&path);
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let second = RadioSocket::open(path.to_str().unwrap(), Facts::default());
    assert!(second.err().unwrap().to_string().contains("another run"));
    drop(run);
    fs::write(&path, "a file").unwrap();
    assert!(RadioSocket::open(path.to_str().unwrap(), Facts::default()).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "a file");
    fs::remove_dir_all(folder).unwrap();
}
