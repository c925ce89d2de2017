//! Keys, tokens and authentication of Multipath TCP (RFC 8684 §3.1 and §3.2), with SHA-256.

use sha2::{Digest, Sha256};

/// The block of SHA-256 in bytes (FIPS 180-4 §1, figure 1), which HMAC needs (RFC 2104 §2).
const BLOCK: usize = 64;

/// The token of a connection: the 32 most significant bits of the hash of the key (RFC 8684 §3.2).
pub(super) fn token(key: u64) -> u32 {
    let [a, b, c, d, ..] = hash(&[&key.to_be_bytes()]);
    u32::from_be_bytes([a, b, c, d])
}

/// The initial data sequence number: the 64 least significant bits of the hash of the key (RFC 8684 §3.1).
pub(super) fn initial_data_sequence(key: u64) -> u64 {
    let hash = hash(&[&key.to_be_bytes()]);
    u64::from_be_bytes(core::array::from_fn(|i| hash[24 + i]))
}

/// The HMAC of a join: of both keys and both random numbers, those of its sender first (RFC 8684 §3.2).
pub(super) fn join_hmac(keys: [u64; 2], [own_nonce, peer_nonce]: [u32; 2]) -> [u8; 32] {
    hmac(keys, &[own_nonce.to_be_bytes(), peer_nonce.to_be_bytes()].concat())
}

/// The HMAC of an announced address without a port: the 64 rightmost bits (RFC 8684 §3.4.1). The sender's key comes first.
pub(super) fn address_hmac(keys: [u64; 2], id: u8, [a, b, c, d]: [u8; 4]) -> u64 {
    let hmac = hmac(keys, &[id, a, b, c, d, 0, 0]);
    u64::from_be_bytes(core::array::from_fn(|i| hmac[24 + i]))
}

fn hmac([own_key, peer_key]: [u64; 2], message: &[u8]) -> [u8; 32] {
    let mut key = [0; BLOCK];
    key[..8].copy_from_slice(&own_key.to_be_bytes());
    key[8..16].copy_from_slice(&peer_key.to_be_bytes());
    let (inner, outer) = (key.map(|byte| byte ^ 0x36), key.map(|byte| byte ^ 0x5c)); // RFC 2104 §2
    hash(&[&outer, &hash(&[&inner, message])])
}

/// The 64 most significant bits of an HMAC, for a SYN-ACK.
pub(super) fn most_64([a, b, c, d, e, f, g, h, ..]: [u8; 32]) -> u64 {
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// The 160 most significant bits of an HMAC, for the third segment.
pub(super) fn most_160(hmac: [u8; 32]) -> [u8; 20] {
    core::array::from_fn(|i| hmac[i])
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HMAC-SHA256 of a message of 8 bytes under a key of 16, from Python's `hmac` and `hashlib`.
    #[test]
    fn the_functions_are_those_of_sha_256() {
        let (a, b) = (0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
        let hmac = join_hmac([a, b], [0x1011_1213, 0x1415_1617]);
        let text: String = hmac.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, "2007228f3918cc9abcccfd1678342b27cae4c9a85a5dd7bddb8296cc994997dd");
        assert_eq!(most_64(hmac).to_be_bytes(), hmac[..8]);
        assert_eq!(most_160(hmac), hmac[..20]);
        assert_eq!(address_hmac([a, b], 3, [10, 0, 0, 4]), 0xaf3c_1bf5_4895_ba36);
        assert_eq!((token(a), initial_data_sequence(a)), (0x8a85_1ff8, 0xe3db_22c6_785a_0d45));
    }
}
