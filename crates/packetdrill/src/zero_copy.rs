//! Notifications of zero-copy sends (MSG_ZEROCOPY): the kernel reports when it no longer needs the pages.

use std::collections::VecDeque;

use crate::script::Value;

/// Segments have room for this many pages (Linux MAX_SKB_FRAGS); a send of more is divided there.
pub(crate) const PAGES_MAX: usize = 17;

/// The sends of a connection.
#[derive(Debug, Default)]
pub(crate) struct ZeroCopy {
    next: i64,
    /// Ends of the sends in the stream, and their numbers.
    waiting: VecDeque<(u64, i64)>,
    /// Ranges of numbers that the application has not read.
    notices: VecDeque<(i64, i64)>,
}

impl ZeroCopy {
    /// A send that ends here.
    pub(crate) fn send(&mut self, end: u64) {
        self.waiting.push_back((end, self.next));
        self.next += 1;
    }

    /// Data up to here was acknowledged. Returns true if there is a new notification.
    pub(crate) fn on_acknowledged(&mut self, to: u64) -> bool {
        let mut new = false;
        while let Some(&(end, number)) = self.waiting.front()
            && end <= to
        {
            self.waiting.pop_front();
            new = true;
            match self.notices.back_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => self.notices.push_back((number, number)),
            }
        }
        new
    }

    /// True if a notification waits in the error queue.
    pub(crate) fn has_notice(&self) -> bool {
        !self.notices.is_empty()
    }

    /// Reads a notification, and compares it with the control message that the script states. The error is the
    /// content instead.
    pub(crate) fn read(&mut self, stated: Option<&Value>) -> Option<Result<(), String>> {
        let (first, last) = self.notices.pop_front()?;
        let found = [("ee_errno", 0), ("ee_info", first), ("ee_data", last)];
        let message = match stated {
            Some(Value::List(messages)) => messages.first().and_then(|m| m.field("cmsg_data")),
            _ => None,
        };
        let Some(message) = message else { return Some(Err(format!("a notification of {first} to {last}"))) };
        let same = found.iter().all(|(name, n)| message.field(name).and_then(Value::number) == Some(*n))
            && message.field("ee_origin").is_some_and(|v| v.names("SO_EE_ORIGIN_ZEROCOPY"))
            && message.field("ee_code").is_some_and(|v| v.names("SO_EE_CODE_ZEROCOPY_COPIED"));
        let text = found.map(|(name, n)| format!("{name}={n}")).join(",");
        Some(if same { Ok(()) } else { Err(format!("{text},ee_code=SO_EE_CODE_ZEROCOPY_COPIED")) })
    }
}
