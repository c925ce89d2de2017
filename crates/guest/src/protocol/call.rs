//! System calls that the agent makes for us: the requests of its role `calls`, and the reports of their results.
//!
//! The agent has an area of memory at an address that it reports. A request contains the first bytes of the area, and the
//! arguments may be addresses in it; the result contains the same bytes after the call. Numbers are in the byte order of
//! the machine, which is that of the guest.

/// Size of the area in bytes.
pub const AREA: usize = 1 << 22;
/// Bytes of the area that a request can contain.
pub const DATA_MAX: usize = 1384;

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of the system call on x86-64.
    pub number: i64,
    /// Arguments of the system call.
    pub arguments: [i64; 6],
    /// The first bytes of the area, at most [`DATA_MAX`].
    pub data: Vec<u8>,
}

impl Request {
    /// The request as bytes, behind the header of a frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.data.len() <= DATA_MAX, "{} bytes of a request", self.data.len());
        let words = core::iter::once(&self.number).chain(&self.arguments);
        let mut bytes: Vec<u8> = words.flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend_from_slice(&self.data);
        bytes
    }
}

/// A report about calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallReport {
    /// The agent takes requests from now on; the address of its area.
    Area(u64),
    /// A call has returned.
    Returned(Outcome),
    /// A call has returned that was made while another call waited.
    ReturnedMeanwhile(Outcome),
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Return value of the system call.
    pub result: i64,
    /// The error (errno), or 0.
    pub error: i32,
    /// The first bytes of the area, as many as the request had.
    pub data: Vec<u8>,
}

impl CallReport {
    /// Reads a report; `None` if it is about something else.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(3)?;
        match head[0] {
            b'p' => Some(Self::Area(u64::from_ne_bytes(rest.try_into().ok()?))),
            b'c' => Outcome::decode(rest).map(Self::Returned),
            b'i' => Outcome::decode(rest).map(Self::ReturnedMeanwhile),
            _ => None,
        }
    }
}

impl Outcome {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (result, rest) = bytes.split_first_chunk()?;
        let (error, data) = rest.split_first_chunk()?;
        let error = i32::try_from(i64::from_ne_bytes(*error)).ok()?;
        Some(Self { result: i64::from_ne_bytes(*result), error, data: data.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_seven_words_and_data() {
        let request = Request { number: 41, arguments: [2, 1, 6, 0, 0, -1], data: vec![7, 8] };
        let bytes = request.encode();
        assert_eq!(bytes.len(), 7 * 8 + 2);
        assert_eq!((bytes[0], bytes[8], bytes[48], &bytes[56..]), (41, 2, 0xff, &[7, 8][..]));
    }

    #[test]
    fn results_are_told_from_other_reports() {
        let mut report = b"c\0\0".to_vec();
        report.extend_from_slice(&(-1_i64).to_ne_bytes());
        report.extend_from_slice(&11_i64.to_ne_bytes());
        report.push(5);
        let outcome = Outcome { result: -1, error: 11, data: vec![5] };
        assert_eq!(CallReport::decode(&report), Some(CallReport::Returned(outcome)));
        assert_eq!(CallReport::decode(&report[..12]), None);
        assert_eq!(CallReport::decode(b"k\0\x006.12"), None);
        let mut area = b"p\0\0".to_vec();
        area.extend_from_slice(&4096_u64.to_ne_bytes());
        assert_eq!(CallReport::decode(&area), Some(CallReport::Area(4096)));
    }
}
