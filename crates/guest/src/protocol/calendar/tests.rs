use super::*;
use crate::protocol::memory::Bytes;

fn shared() -> Calendar<Bytes> {
    Calendar::new(Some(Bytes::new(0, SHARED)), 1_000).unwrap()
}

fn message(operation: Operation, sequence: u32, time: u64) -> Message {
    Message { operation, sequence, time }
}

/// The guest's entries in the shared memory when it wants to run at a time.
fn request(calendar: &Calendar<Bytes>, time: u64) {
    let memory = calendar.shared.as_ref().unwrap();
    memory.write_u32(HEAD + SLOT + slot::FLAGS, slot::WANTS_TO_RUN).unwrap();
    memory.write_u64(HEAD + SLOT + slot::REQUEST, time).unwrap();
}

#[test]
fn a_message_survives_its_bytes() {
    for operation in Operation::ALL {
        let sent = message(operation, 7, 1 << 40);
        assert_eq!(Message::decode(&sent.encode()), Some(sent));
    }
    let mut unknown = [0; MESSAGE];
    unknown[0] = 10;
    assert_eq!(Message::decode(&unknown), None);
}

/// The layout of `struct um_timetravel_schedshm` in include/uapi/linux/um_timetravel.h of Linux 6.12.
#[test]
fn the_shared_memory_is_described_at_its_begin() {
    let calendar = shared();
    let memory = calendar.shared.as_ref().unwrap();
    assert_eq!(memory.read_u32(0), Ok(2)); // version
    assert_eq!(memory.read_u32(4), Ok(4096 + 2 * 128)); // length
    assert_eq!(memory.read_u16(24), Ok(1)); // the guest runs first
    assert_eq!(memory.read_u16(26), Ok(2)); // slots
    assert_eq!(memory.read_u32(4096), Ok(1)); // our capability
}

#[test]
fn with_a_shared_memory_only_turns_are_messages() {
    let mut calendar = shared();
    let started = calendar.receive(message(Operation::Start, 1, 9));
    assert_eq!(started, Ok(Answer::SendShared(message(Operation::Acknowledge, 1, 1))));
    assert_eq!(calendar.limit(500), Ok(None));
    let day = calendar.receive(message(Operation::TimeOfDay, 2, 0));
    assert_eq!(day, Ok(Answer::Send(message(Operation::Acknowledge, 2, 1_000))));
    request(&calendar, 700);
    assert_eq!(calendar.receive(message(Operation::Wait, 3, 0)), Ok(Answer::Waits));
    calendar.take_turn().unwrap();
    assert!(calendar.waits());
    assert_eq!(calendar.request(), Some(700));
    assert_eq!(calendar.run(700, 900), Ok(vec![message(Operation::Run, 1, 700)]));
    let memory = calendar.shared.as_ref().unwrap();
    assert_eq!(memory.read_u64(8), Ok(900)); // free_until
    assert_eq!(memory.read_u64(16), Ok(700)); // current_time
    assert_eq!(memory.read_u16(24), Ok(1));
    assert!(!calendar.waits());
}

#[test]
fn only_an_idle_guest_is_interrupted_with_its_turn() {
    let mut calendar = shared();
    calendar.receive(message(Operation::Start, 1, 9)).unwrap();
    calendar.receive(message(Operation::Wait, 2, u64::MAX)).unwrap();
    assert!(!calendar.is_idle(), "within a step of its clock, or without the change of the kernel");
    calendar.run(700, 900).unwrap();
    calendar.receive(message(Operation::Wait, 3, u64::MAX - 1)).unwrap();
    assert!(calendar.is_idle());
    let mut of_messages = Calendar::<Bytes>::new(None, 0).unwrap();
    of_messages.receive(message(Operation::Start, 1, 9)).unwrap();
    of_messages.receive(message(Operation::Wait, 2, u64::MAX - 1)).unwrap();
    assert!(!of_messages.is_idle(), "it would answer with messages");
}

#[test]
fn a_request_for_never_is_none() {
    let mut calendar = shared();
    calendar.receive(message(Operation::Start, 1, 9)).unwrap();
    assert_eq!(calendar.request(), None);
    request(&calendar, NEVER);
    assert_eq!(calendar.request(), None);
}

#[test]
fn without_a_shared_memory_everything_is_a_message() {
    let mut calendar = Calendar::<Bytes>::new(None, 1_000).unwrap();
    let acknowledged = |sequence, time| Ok(Answer::Send(message(Operation::Acknowledge, sequence, time)));
    assert_eq!(calendar.receive(message(Operation::Start, 1, 9)), acknowledged(1, 0));
    assert_eq!(calendar.receive(message(Operation::Update, 2, 30)), acknowledged(2, 0));
    assert_eq!(calendar.receive(message(Operation::Get, 3, 0)), acknowledged(3, 30));
    assert_eq!(calendar.receive(message(Operation::Request, 4, 70)), acknowledged(4, 0));
    let waits = Ok(Answer::SendWaits(message(Operation::Acknowledge, 5, 0)));
    assert_eq!(calendar.receive(message(Operation::Wait, 5, 0)), waits);
    assert_eq!(calendar.request(), Some(70));
    // The limit comes first, so that the guest knows it when it runs.
    let turn = vec![message(Operation::FreeUntil, 1, 90), message(Operation::Run, 2, 70)];
    assert_eq!(calendar.run(70, 90), Ok(turn));
    assert_eq!(calendar.receive(message(Operation::Acknowledge, 1, 0)), Ok(Answer::Nothing));
    assert_eq!(calendar.receive(message(Operation::Acknowledge, 2, 0)), Ok(Answer::Nothing));
    assert!(calendar.receive(message(Operation::Acknowledge, 3, 0)).is_err());
    // The same limit is not said twice in one turn.
    assert_eq!(calendar.limit(90), Ok(None));
    assert_eq!(calendar.limit(80), Ok(Some(message(Operation::FreeUntil, 3, 80))));
}

#[test]
fn a_guest_that_breaks_the_rules_is_noticed() {
    let mut calendar = shared();
    let early = message(Operation::Wait, 1, 0);
    assert_eq!(calendar.receive(early), Err(Unexpected(early)));
    calendar.receive(message(Operation::Start, 1, 0)).unwrap();
    assert!(calendar.receive(message(Operation::Start, 2, 0)).is_err());
    assert!(calendar.receive(message(Operation::Run, 2, 0)).is_err());
    let mut calendar = Calendar::<Bytes>::new(None, 0).unwrap();
    calendar.receive(message(Operation::Start, 1, 0)).unwrap();
    calendar.receive(message(Operation::Update, 2, 50)).unwrap();
    assert!(calendar.receive(message(Operation::Update, 3, 49)).is_err(), "time does not go back");
}
