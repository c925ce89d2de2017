use super::*;
use crate::protocol::memory::Bytes;

const BASE: u64 = 0x1000;
const ADDRESSES: Addresses = Addresses { descriptors: BASE, available: BASE + 0x100, used: BASE + 0x200 };
const BUFFERS: u64 = BASE + 0x400;

/// A queue of four descriptors, and the driver's side of its memory.
fn queue() -> (Queue, Bytes) {
    let mut queue = Queue::default();
    queue.set_size(4).unwrap();
    queue.set_addresses(ADDRESSES);
    queue.enable(true);
    (queue, Bytes::new(BASE, 0x1000))
}

fn describe(memory: &Bytes, number: u64, length: u32, flags: u16, next: u16) -> u64 {
    let (at, buffer) = (ADDRESSES.descriptors + 16 * number, BUFFERS + 0x100 * number);
    memory.write_u64(at, buffer).unwrap();
    memory.write_u32(at + 8, length).unwrap();
    memory.write_u16(at + 12, flags).unwrap();
    memory.write_u16(at + 14, next).unwrap();
    buffer
}

/// The driver makes the chain that begins with this descriptor available, as the n-th one.
fn offer(memory: &Bytes, n: u16, head: u16) {
    memory.write_u16(ADDRESSES.available + 4 + 2 * u64::from(n % 4), head).unwrap();
    memory.write_u16(ADDRESSES.available + 2, n.wrapping_add(1)).unwrap();
}

#[test]
fn a_chain_is_read_and_given_back() {
    let (mut queue, memory) = queue();
    let first = describe(&memory, 2, 3, NEXT, 0);
    let second = describe(&memory, 0, 2, 0, 0);
    memory.write(first, b"hel").unwrap();
    memory.write(second, b"lo").unwrap();
    let mut into = vec![1, 2, 3];
    assert_eq!(queue.receive(&memory, &mut into), Ok(false));
    offer(&memory, 0, 2);
    assert_eq!(queue.receive(&memory, &mut into), Ok(true));
    assert_eq!(into, b"hello");
    assert_eq!(memory.read_u16(ADDRESSES.used + 2), Ok(1));
    assert_eq!(memory.read_u32(ADDRESSES.used + 4), Ok(2)); // the first descriptor of the chain
    assert_eq!(queue.receive(&memory, &mut into), Ok(false));
}

#[test]
fn what_is_sent_fills_the_buffers_in_their_order() {
    let (mut queue, memory) = queue();
    let first = describe(&memory, 0, 4, WRITE | NEXT, 1);
    let second = describe(&memory, 1, 4, WRITE, 0);
    offer(&memory, 0, 0);
    assert_eq!(queue.send(&memory, b"abcdef"), Ok(true));
    let mut bytes = [0; 4];
    memory.read(first, &mut bytes).unwrap();
    assert_eq!(&bytes, b"abcd");
    memory.read(second, &mut bytes).unwrap();
    assert_eq!(&bytes, b"ef\0\0");
    assert_eq!(memory.read_u32(ADDRESSES.used + 8), Ok(6));
    assert_eq!(queue.send(&memory, b"more"), Ok(false), "there is no buffer");
}

#[test]
fn the_indices_wrap() {
    let (mut queue, memory) = queue();
    queue.set_base(u32::from(u16::MAX));
    memory.write(describe(&memory, 1, 1, 0, 0), b"x").unwrap();
    memory.write_u16(ADDRESSES.available + 4 + 2 * 3, 1).unwrap(); // 65535 modulo 4
    memory.write_u16(ADDRESSES.available + 2, 0).unwrap();
    let mut into = vec![];
    assert_eq!(queue.receive(&memory, &mut into), Ok(true));
    assert_eq!(into, b"x");
    assert_eq!(memory.read_u16(ADDRESSES.used + 2), Ok(0));
}

#[test]
fn broken_queues_are_refused() {
    let mut into = vec![];
    let (mut one, memory) = queue();
    describe(&memory, 0, 1, NEXT, 1);
    describe(&memory, 1, 1, NEXT, 0);
    offer(&memory, 0, 0);
    assert_eq!(one.receive(&memory, &mut into), Err(QueueError::Endless));

    let (mut one, memory) = queue();
    offer(&memory, 0, 4);
    assert_eq!(one.receive(&memory, &mut into), Err(QueueError::Descriptor(4)));

    let (mut one, memory) = queue();
    describe(&memory, 0, 0x2000, 0, 0);
    offer(&memory, 0, 0);
    let outside = OutOfBounds { address: BUFFERS, length: 0x2000 };
    assert_eq!(one.receive(&memory, &mut into), Err(QueueError::Memory(outside)));

    let (mut one, memory) = queue();
    describe(&memory, 0, 1, WRITE, 0);
    offer(&memory, 0, 0);
    assert_eq!(one.receive(&memory, &mut into), Err(QueueError::Direction));
    assert_eq!(Queue::default().set_size(3), Err(QueueError::Size(3)));
    assert_eq!(Queue::default().set_size(1 << 16), Err(QueueError::Size(1 << 16)));
}

#[test]
fn a_buffer_that_is_too_short_is_returned_empty() {
    let (mut queue, memory) = queue();
    describe(&memory, 0, 2, WRITE, 0);
    offer(&memory, 0, 0);
    assert_eq!(queue.send(&memory, b"abc"), Ok(false));
    assert_eq!(memory.read_u16(ADDRESSES.used + 2), Ok(1));
    assert_eq!(memory.read_u32(ADDRESSES.used + 8), Ok(0));
}
