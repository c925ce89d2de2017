//! The objects of a page and their dependencies.
//!
//! An object depends on the response that redirected to it, else on its nearest initiator in the file, else on
//! the document, which is the end of the chain of redirections that begins with the page. If the browser had
//! the initiator already, the object depends on that one's initiator.

use std::collections::BTreeMap;

use airlane_core::Duration;

use super::entry::Entry;
use crate::pages::{Described, WAIT_MAX_MS};

/// The dependency of an entry.
#[derive(Clone, Copy, Debug)]
struct Dependency {
    parent: usize,
    /// It begins when the parent is complete, whatever the times are.
    whole: bool,
}

/// The objects of a page, the document or the first redirection to it first; none if nothing was sent.
pub(super) fn objects(entries: &[&Entry<'_>]) -> Vec<Described> {
    let Some(first) = entries.iter().position(|entry| entry.sent) else { return Vec::new() };
    let round_trips = round_trips(entries);
    let dependencies = dependencies(entries);
    let mut numbers = vec![0; entries.len()];
    let mut all = Vec::new();
    for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.sent) {
        let own = dependencies[index];
        let parent = own.parent.max(first);
        let after = if index == first { 0 } else { after(entry, entries[parent], own.whole) };
        let wait_ms =
            round_trips.get(entry.host.as_str()).map_or(0.0, |ms| (entry.times.wait_ms - ms).max(0.0));
        numbers[index] = all.len();
        all.push(Described {
            host: entry.host.clone(),
            kind: entry.kind,
            request: entry.sizes.request,
            head: entry.sizes.head,
            body: entry.sizes.body,
            parent: numbers[parent],
            after,
            wait: Duration::from_nanos((wait_ms.min(WAIT_MAX_MS as f64) * 1e6) as u64),
        });
    }
    all
}

/// Minimum connection time to each host.
fn round_trips<'a>(entries: &'a [&Entry<'_>]) -> BTreeMap<&'a str, f64> {
    let mut least: BTreeMap<&str, f64> = BTreeMap::new();
    for entry in entries {
        if let Some(ms) = entry.times.connect_ms {
            let known = least.entry(&entry.host).or_insert(ms);
            *known = known.min(ms);
        }
    }
    least
}

/// The parent of each entry; the first one is its own. Every other parent is before its entry, and it was sent
/// or is the first.
fn dependencies(entries: &[&Entry<'_>]) -> Vec<Dependency> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        places.entry(&entry.url).or_default().push(index);
    }
    let latest_before = |url: &String, index: usize| {
        let own = places.get(url.as_str())?;
        own[..own.partition_point(|place| *place < index)].last().copied()
    };
    let mut redirected = vec![None; entries.len()];
    for (index, entry) in entries.iter().enumerate() {
        let Some(own) = entry.redirect.as_ref().and_then(|url| places.get(url.as_str())) else { continue };
        let later = &own[own.partition_point(|place| *place <= index)..];
        if let Some(place) = later.iter().find(|place| redirected[**place].is_none()) {
            redirected[*place] = Some(index);
        }
    }
    let mut document = 0;
    for (index, from) in redirected.iter().enumerate() {
        document = if *from == Some(document) { index } else { document };
    }
    let dependency = |index: usize| {
        if let Some(parent) = redirected[index] {
            return Dependency { parent, whole: true };
        }
        let initiator = entries[index].initiators.iter().find_map(|url| latest_before(url, index));
        let default = if document < index { document } else { 0 };
        Dependency { parent: initiator.unwrap_or(default), whole: false }
    };
    let mut all: Vec<Dependency> = Vec::with_capacity(entries.len());
    for index in 0..entries.len() {
        let own = dependency(index);
        // The parents of earlier entries are sent ones already, or the first entry.
        all.push(if own.parent == index || entries[own.parent].sent { own } else { all[own.parent] });
    }
    all
}

/// Bytes of the body of `parent` that were there when `entry` began: none before its response began, all of
/// them after its end.
fn after(entry: &Entry<'_>, parent: &Entry<'_>, whole: bool) -> u64 {
    let body = parent.sizes.body;
    let (began, of) = (entry.times.began_ms, &parent.times);
    let share = if whole || began >= of.response_ms + of.receive_ms {
        1.0
    } else if of.receive_ms > 0.0 {
        ((began - of.response_ms) / of.receive_ms).clamp(0.0, 1.0)
    } else {
        0.0
    };
    ((body as f64 * share) as u64).min(body)
}
