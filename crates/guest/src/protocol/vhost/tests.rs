use super::*;

fn header(request: u32, size: u32) -> Header {
    Header { request, flags: VERSION | NEED_REPLY, size }
}

#[test]
fn a_memory_table_has_one_region() {
    let words: [u64; 5] = [1, 0x6100_0000, 0x1000, 0x6100_0000, 0x2000];
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let region = Region { address: 0x6100_0000, size: 0x1000, offset: 0x2000 };
    assert_eq!(Request::decode(header(5, 40), &payload), Some(Request::SetMemory(region)));
    let mut two = payload;
    two[0] = 2;
    assert_eq!(Request::decode(header(5, 40), &two), None);
}

#[test]
fn addresses_are_in_the_order_of_the_protocol() {
    // Index and flags, then descriptors, used, available, log.
    let mut payload = vec![1, 0, 0, 0, 0, 0, 0, 0];
    for word in [10_u64, 20, 30, u64::MAX] {
        payload.extend_from_slice(&word.to_ne_bytes());
    }
    let addresses = Addresses { descriptors: 10, used: 20, available: 30 };
    assert_eq!(Request::decode(header(9, 40), &payload), Some(Request::SetQueueAddresses(1, addresses)));
}

#[test]
fn short_and_unknown_requests_are_refused() {
    assert_eq!(Request::decode(header(8, 4), &[0; 4]), None);
    assert_eq!(Request::decode(header(8, 8), &[0; 4]), None, "the size is that of the payload");
    assert_eq!(Request::decode(header(99, 0), &[]), None);
    assert_eq!(Request::decode(Header { request: 1, flags: 2, size: 0 }, &[]), None, "another version");
}

#[test]
fn a_call_is_confirmed_by_its_answer() {
    let sent = call(1, true);
    let mut answer = sent;
    answer[4..8].copy_from_slice(&(VERSION | REPLY).to_ne_bytes());
    answer[12..].fill(0);
    assert!(is_call_confirmed(&answer));
    answer[12] = 1; // an error
    assert!(!is_call_confirmed(&answer));
    assert!(!is_call_confirmed(&sent));
    let header = |call: [u8; HEADER + 8]| Header::decode(&call[..HEADER].try_into().unwrap());
    assert_eq!(header(sent).size, 8);
    assert!(header(sent).needs_reply());
    assert!(!header(call(1, false)).needs_reply());
}
