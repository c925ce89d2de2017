//! The unit that counts as one client, where a bound is per client.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A client: an IPv4 address, or the first 64 bits of an IPv6 address.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Client {
    /// An IPv4 address.
    V4(u32),
    /// A prefix of 64 bits.
    V6(u64),
}

/// The client that has an address.
///
/// One host has a whole IPv6 prefix of 64 bits and chooses addresses in it freely (RFC 6459 section 5.2 for UEs,
/// RFC 4862 and RFC 8981 for others). If each address were a client, one host could be as many as it likes. An IPv4
/// address in the form of an IPv6 address (RFC 4291 section 2.5.5.2) is that IPv4 address.
pub(crate) fn client_of(address: IpAddr) -> Client {
    match address.to_canonical() {
        IpAddr::V4(v4) => Client::V4(v4.to_bits()),
        IpAddr::V6(v6) => Client::V6((v6.to_bits() >> 64) as u64),
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::V4(bits) => Ipv4Addr::from_bits(bits).fmt(f),
            Self::V6(bits) => write!(f, "{}/64", Ipv6Addr::from_bits(u128::from(bits) << 64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> Client {
        client_of(text.parse().unwrap())
    }

    #[test]
    fn each_ipv4_address_is_a_client() {
        assert_ne!(client("10.0.0.1"), client("10.0.0.2"));
        assert_eq!(client("10.0.0.1"), client("::ffff:10.0.0.1"));
        assert_ne!(client("::ffff:10.0.0.1"), client("::ffff:10.0.0.2"));
    }

    #[test]
    fn the_addresses_of_an_ipv6_prefix_are_one_client() {
        assert_eq!(client("2001:db8:0:1::1"), client("2001:db8:0:1:ffff:ffff:ffff:ffff"));
        assert_ne!(client("2001:db8:0:1::1"), client("2001:db8:0:2::1"));
        // The two families do not share a client, whatever the bits are.
        assert_ne!(client("::1"), client("0.0.0.0"));
        assert_ne!(client("0:0:a00:1::1"), client("10.0.0.1"));
    }

    #[test]
    fn a_client_is_written_as_an_address_or_a_prefix() {
        assert_eq!(client("::ffff:192.0.2.7").to_string(), "192.0.2.7");
        assert_eq!(client("2001:db8:0:1::9").to_string(), "2001:db8:0:1::/64");
    }
}
