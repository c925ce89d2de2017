use super::*;
use crate::protocol::vhost::{Addresses, HEADER};

fn request(nic: &mut Nic, number: u32, words: &[u32]) -> Action {
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let header = Header { request: number, flags: 1 | 1 << 3, size: payload.len() as u32 };
    nic.handle(header, &payload).unwrap()
}

fn number_of(action: &Action) -> u64 {
    let Action::Reply(bytes) = action else { panic!("{action:?}") };
    u64::from_ne_bytes(bytes[HEADER..].try_into().unwrap())
}

/// The requests of the driver of Linux 6.12 (arch/um/drivers/virtio_uml.c), in their order.
#[test]
fn a_driver_finds_its_device() {
    let mut nic = Nic::new(3);
    assert_eq!(number_of(&request(&mut nic, 3, &[])), 0); // SET_OWNER
    let features = number_of(&request(&mut nic, 1, &[]));
    assert_eq!(features, 1 << 32 | 1 << 30 | 1 << 5);
    assert_eq!(number_of(&request(&mut nic, 15, &[])), 1 << 14 | 1 << 9 | 1 << 5 | 1 << 3);
    assert!(matches!(request(&mut nic, 21, &[]), Action::KeepSocket(_)));
    let Action::Reply(configuration) = request(&mut nic, 24, &[0, 6, 0]) else { panic!() };
    assert_eq!(configuration[HEADER + 12..], [2, 0, 0, 0, 0, 3], "the address of the interface");
    let region = Region { address: 0x100, size: 0x200, offset: 0 };
    let table = [1, 0, 0x100, 0, 0x200, 0, 0x100, 0, 0, 0];
    assert!(matches!(request(&mut nic, 5, &table), Action::Map(mapped, _) if mapped == region));
    for queue in [0, 1] {
        request(&mut nic, 8, &[queue, 256]);
        request(&mut nic, 10, &[queue, 0]);
        request(&mut nic, 9, &[queue, 0, 0x100, 0, 0x180, 0, 0x140, 0, 0, 0]);
        request(&mut nic, 18, &[queue, 1]);
    }
    let mut queue = Queue::default();
    queue.set_size(256).unwrap();
    queue.set_addresses(Addresses { descriptors: 0x100, used: 0x180, available: 0x140 });
    queue.enable(true);
    assert_eq!(nic.queues, [queue; 2]);
    assert_eq!(request(&mut nic, 35, &[1, 0]), Action::Sent);
    assert_eq!(
        number_of(&request(&mut nic, 35, &[0, 0])),
        0,
        "buffers for frames to the guest need no action"
    );
}

#[test]
fn wrong_requests_are_named() {
    let mut nic = Nic::new(0);
    let header = Header { request: 8, flags: 1, size: 8 };
    let third_queue = [2, 0, 0, 0, 0, 1, 0, 0];
    assert_eq!(nic.handle(header, &third_queue), Err(Unknown { request: 8 }));
    let header = Header { request: 77, flags: 1, size: 0 };
    assert!(nic.handle(header, &[]).unwrap_err().to_string().contains("77"));
}
