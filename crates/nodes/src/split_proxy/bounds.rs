//! Bounds on the number of connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::metrics::Cause;
use crate::clients::{Client, client_of};

/// Parts of the table of clients, each with its own lock.
const SHARDS: usize = 16;

/// The part of the table in which a client is.
fn shard(client: Client) -> usize {
    let bits = match client {
        Client::V4(bits) => bits.into(),
        Client::V6(bits) => bits,
    };
    (bits ^ bits >> 32 ^ bits >> 8) as usize % SHARDS
}

/// Numbers of connections.
#[derive(Debug)]
pub(super) struct Bounds {
    max: u32,
    per_client: u32,
    total: AtomicU32,
    clients: [Mutex<HashMap<Client, u32>>; SHARDS],
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    bounds: Arc<Bounds>,
    client: Client,
}

impl Bounds {
    pub(super) fn new(max: u32, per_client: u32) -> Self {
        Self { max, per_client, total: AtomicU32::new(0), clients: Default::default() }
    }

    fn clients(&self, client: Client) -> MutexGuard<'_, HashMap<Client, u32>> {
        self.clients[shard(client)].lock().expect("nothing panics while it is locked")
    }

    /// Admits a connection of a client.
    pub(super) fn admit(self: &Arc<Self>, client: IpAddr) -> Result<Place, Cause> {
        let client = client_of(client);
        if self.total.fetch_add(1, Ordering::Relaxed) >= self.max {
            self.total.fetch_sub(1, Ordering::Relaxed);
            return Err(Cause::Full);
        }
        let mut clients = self.clients(client);
        let count = clients.entry(client).or_insert(0);
        if *count >= self.per_client {
            self.total.fetch_sub(1, Ordering::Relaxed);
            return Err(Cause::ClientFull);
        }
        *count += 1;
        drop(clients);
        Ok(Place { bounds: Arc::clone(self), client })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.bounds.total.fetch_sub(1, Ordering::Relaxed);
        let mut clients = self.bounds.clients(self.client);
        let count = clients.get_mut(&self.client).expect("counted when it was admitted");
        *count -= 1;
        if *count == 0 {
            clients.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn each_bound_holds_and_a_place_is_free_again() {
        let bounds = Arc::new(Bounds::new(3, 2));
        let first = bounds.admit(address("10.0.0.1")).unwrap();
        let _second = bounds.admit(address("10.0.0.1")).unwrap();
        assert_eq!(bounds.admit(address("10.0.0.1")).unwrap_err(), Cause::ClientFull);
        let _other = bounds.admit(address("10.0.0.2")).unwrap();
        assert_eq!(bounds.admit(address("10.0.0.3")).unwrap_err(), Cause::Full);
        drop(first);
        let _again = bounds.admit(address("10.0.0.1")).unwrap();
    }

    #[test]
    fn the_addresses_of_a_prefix_are_one_client() {
        let bounds = Arc::new(Bounds::new(10, 1));
        let _first = bounds.admit(address("2001:db8:0:1::1")).unwrap();
        assert_eq!(bounds.admit(address("2001:db8:0:1:ffff::2")).unwrap_err(), Cause::ClientFull);
        let _other = bounds.admit(address("2001:db8:0:2::1")).unwrap();
    }

    #[test]
    fn no_client_is_kept_after_its_last_connection() {
        let bounds = Arc::new(Bounds::new(10, 1));
        drop(bounds.admit(address("10.0.0.1")).unwrap());
        assert!(bounds.clients.iter().all(|shard| shard.lock().unwrap().is_empty()));
    }
}
