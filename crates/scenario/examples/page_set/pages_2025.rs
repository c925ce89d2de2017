//! Writes the page set `2025`: twenty synthetic pages between the published percentiles of mobile pages in July
//! 2025.
//!
//! `cargo run -p airlane-scenario --example page_set 2025 > crates/scenario/data/pages-2025.csv`
//!
//! These properties are published, for mobile pages of the crawl of July 2025 (HTTP Archive, Web Almanac 2025,
//! chapters "Page Weight" and "Third Parties", 2026; 1 kB is 1024 bytes):
//! - Bytes of a page, its requests, and its bytes of scripts: percentiles 10, 25, 50, 75 and 90.
//! - Medians of bytes of documents, style sheets and fonts, and of requests by type.
//! - Spread of the sizes of scripts and images: their 50th and 90th percentiles.
//! - Third-party hosts: 16 at the median.
//!
//! These properties are choices. A page is at the same percentile in bytes, requests and scripts; those beyond the
//! 10th and the 90th are at these. Medians of types do not add up to the median of pages: images and videos have the
//! rest. Choices are also which objects name which and where, their hosts, processing times, and the sizes of
//! headers, which HTTP/2 compresses.

use airlane_core::{Seeds, Stream};

use super::objects::{Object, Rows, head_of, one_of};

const PAGES: usize = 20;
const SEED: u64 = 2025;
const KIB: f64 = 1024.0;

/// The published percentiles, and their places.
const PLACES: [f64; 5] = [0.10, 0.25, 0.50, 0.75, 0.90];
const KILOBYTES: [f64; 5] = [516.0, 1127.0, 2164.0, 4119.0, 8337.0];
const REQUESTS: [f64; 5] = [25.0, 42.0, 72.0, 116.0, 179.0];
const SCRIPT_KILOBYTES: [f64; 5] = [89.0, 270.0, 646.0, 1233.0, 1910.0];

/// Median number of hosts of others.
const HOSTS: f64 = 16.0;
/// Number of hosts that pages share: libraries, measurements, advertisements.
const SHARED_HOSTS: u64 = 60;

/// A type of objects: its name in the table, the requests and the kilobytes of a median page, and the spread of sizes
/// (sigma of the logarithm).
struct Kind {
    name: &'static str,
    requests: f64,
    kilobytes: f64,
    sigma: f64,
}

const HTML: usize = 0;
const CSS: usize = 1;
const SCRIPT: usize = 2;
const FONT: usize = 3;
const IMAGE: usize = 4;
const DATA: usize = 5;

/// Of a normal distribution, the place of its 90th percentile.
const P90: f64 = 1.2816;
/// Median and 90th percentile of the sizes of scripts are 4.7 and 80.1 kB, of images 8 and 186 kB, of fonts 23 and 80 kB.
/// Data that scripts request (JSON, measurements) have a median below 0.5 kB.
fn kinds() -> [Kind; 6] {
    let spread = |median: f64, p90: f64| libm::log(p90 / median) / P90;
    let rest = REQUESTS[2] - 3.0 - 8.0 - 22.0 - 3.0 - 15.0;
    [
        Kind { name: "html", requests: 3.0, kilobytes: 21.0, sigma: 1.0 },
        Kind { name: "css", requests: 8.0, kilobytes: 78.0, sigma: 1.5 },
        Kind { name: "script", requests: 22.0, kilobytes: 646.0, sigma: spread(4.7, 80.1) },
        Kind { name: "other", requests: 3.0, kilobytes: 120.0, sigma: spread(23.0, 80.0) },
        Kind { name: "image", requests: 15.0, kilobytes: 0.0, sigma: spread(8.0, 186.0) },
        Kind { name: "other", requests: rest, kilobytes: 0.5 * rest, sigma: 1.0 },
    ]
}

/// Between published percentiles, on a logarithmic scale.
fn quantile(of: &[f64; 5], at: f64) -> f64 {
    let at = at.clamp(PLACES[0], PLACES[4]);
    let above = PLACES.iter().position(|place| *place >= at).unwrap_or(4).max(1);
    let share = (at - PLACES[above - 1]) / (PLACES[above] - PLACES[above - 1]);
    libm::exp(libm::log(of[above - 1]) * (1.0 - share) + libm::log(of[above]) * share)
}

/// The set as text.
#[must_use]
pub(crate) fn generate() -> String {
    let mut draws = Seeds::new(SEED).stream("pages/2025");
    let mut text = head_of(
        "Twenty synthetic pages after percentiles of July 2025; written by examples/page_set/pages_2025.rs.",
    );
    for page in 0..PAGES {
        // Every seventh place, so that light and heavy pages alternate.
        let at = ((7 * page) % PAGES) as f64 / PAGES as f64 + 0.5 / PAGES as f64;
        let hosts = hosts_of(&mut draws, page, at);
        let objects = page_of(&mut draws, at, hosts.len());
        let site = format!("page-{:02}", page + 1);
        let rows = Rows { site, hosts: &hosts, request: (60, 241), head: (100, 201) };
        rows.write(&mut text, &mut draws, &objects, |kind| kinds()[kind].name);
    }
    text
}

/// The site's own host, its host of static objects, and those of others.
fn hosts_of(draws: &mut Stream, page: usize, at: f64) -> Vec<String> {
    let others = (HOSTS * quantile(&REQUESTS, at) / REQUESTS[2]).round() as usize;
    let mut names =
        vec![format!("www.page-{:02}.example", page + 1), format!("static.page-{:02}.example", page + 1)];
    while names.len() < others + 2 {
        let shared = format!("third-{:02}.example", 1 + draws.below(SHARED_HOSTS));
        if !names.contains(&shared) {
            names.push(shared);
        }
    }
    names
}

/// The objects of the page at this place among all pages: the document, then objects by type.
fn page_of(draws: &mut Stream, at: f64, hosts: usize) -> Vec<Object> {
    let total = quantile(&KILOBYTES, at);
    let scale = quantile(&REQUESTS, at) / REQUESTS[2];
    let mut kilobytes: Vec<f64> = kinds().iter().map(|kind| kind.kilobytes * scale).collect();
    kilobytes[SCRIPT] = quantile(&SCRIPT_KILOBYTES, at);
    kilobytes[IMAGE] = total - kilobytes.iter().sum::<f64>();
    let mut objects = vec![Object { kind: HTML, host: 0, bytes: 4.0, parent: None, after: 0 }];
    for index in [CSS, SCRIPT, HTML, FONT, IMAGE, DATA] {
        let kind = &kinds()[index];
        let least = usize::from(index == HTML);
        let count = ((kind.requests * scale).round() as usize).max(1) - least;
        for _ in 0..count {
            let (parent, after) = place(draws, index, &objects);
            let bytes = libm::exp(kind.sigma * draws.normal()) / if index == HTML { 4.0 } else { 1.0 };
            let host = host_of(draws, index, hosts);
            objects.push(Object { kind: index, host, bytes, parent: Some(parent), after });
        }
    }
    for (index, all) in kilobytes.iter().enumerate() {
        let drawn: f64 = objects.iter().filter(|o| o.kind == index).map(|o| o.bytes).sum();
        objects.iter_mut().filter(|o| o.kind == index).for_each(|o| o.bytes *= all * KIB / drawn);
    }
    objects
}

/// The parent of an object, and where it names the object: fonts are named by style sheets; data, half of the scripts
/// and a third of the images by scripts.
fn place(draws: &mut Stream, kind: usize, before: &[Object]) -> (usize, u64) {
    let by = match kind {
        FONT => one_of(draws, CSS, before),
        DATA => one_of(draws, SCRIPT, before),
        SCRIPT if draws.chance(0.5) => one_of(draws, SCRIPT, before),
        IMAGE if draws.chance(1.0 / 3.0) => one_of(draws, SCRIPT, before),
        _ => None,
    };
    let head = matches!(kind, CSS | SCRIPT);
    match by {
        Some(parent) => (parent, 1000),
        None => (0, if head { draws.below(201) } else { 100 + draws.below(901) }),
    }
}

/// The host of an object: 0 and 1 are the site's own.
fn host_of(draws: &mut Stream, kind: usize, hosts: usize) -> usize {
    let own = match kind {
        CSS => 0.9,
        IMAGE => 0.75,
        FONT | HTML => 0.5,
        SCRIPT => 0.4,
        _ => 0.1,
    };
    if draws.chance(own) {
        usize::from(draws.chance(0.7))
    } else {
        2 + draws.below((hosts - 2) as u64) as usize
    }
}
