//! Writes the page set `2011`: twenty synthetic pages that follow measurements of popular pages in September
//! 2011.
//!
//! `cargo run -p airlane-scenario --example page_set 2011 > crates/scenario/data/pages-2011.csv`
//!
//! These properties are measured:
//! - Bytes by type: the HTTP Archive's means of January 2011 and January 2012, two thirds of the way between
//!   them (S. Souders, "HTTP Archive: 2011 recap", 1 February 2012, table 1; 1 kB is 1024 bytes). Their sum
//!   is 728 kB; the archive itself had 735 kB on 15 August 2011 ("HTTP Archive: nine months", 17 August
//!   2011).
//! - Requests: 76 per page, 15 August 2011 (the same).
//! - Images, scripts and style sheets of these, in the proportion 29.39 : 7.09 : 3.22 (S. Ramachandran, "Web metrics: size and
//!   number of resources", Google, 26 May 2010).
//! - Hosts: 7.6 per page on average, 38 at most (J. Charzinski, "Traffic Properties, Client Side Cachability
//!   and CDN Usage of Popular Web Sites", MMB & DFT 2010: start pages of the 500 most popular sites).
//!
//! These properties are choices: the log-normal distribution of counts and sizes and its spread, which
//! objects name which and where, processing times of servers, and the sizes of requests and headers. Counts
//! and sizes are scaled to the measured means after they are drawn, so the set has these means for any seed.

use airlane_core::{Seeds, Stream};

use super::objects::{Object, Rows, head_of, one_of};

const PAGES: usize = 20;
const SEED: u64 = 2011;
const KIB: f64 = 1024.0;
/// Spread of the pages (sigma of the logarithm), of counts and of hosts.
const PAGE_SIGMA: f64 = 0.5;
const HOSTS_MEAN: f64 = 7.6;
const HOSTS_MAX: usize = 38;
/// Number of hosts shared by pages: counters, advertisements, libraries.
const SHARED_HOSTS: u64 = 40;
/// Maximum number of a site's own hosts, in addition to its first.
const STATIC_HOSTS: usize = 3;

/// A type of objects: its name, the number per page, their kilobytes, and the spread of their sizes.
struct Kind {
    name: &'static str,
    count: f64,
    kilobytes: f64,
    sigma: f64,
}

/// Interpolation between January 2011 and January 2012, at two thirds.
const fn between(january_2011: f64, january_2012: f64) -> f64 {
    january_2011 + (january_2012 - january_2011) * 2.0 / 3.0
}

/// 76 requests, of which 5 documents and frames, 1 of Flash and 3 others are a choice.
const REST: f64 = (76.0 - 5.0 - 1.0 - 3.0) / (29.39 + 7.09 + 3.22);
const OTHERS: f64 = 728.0
    - between(31.0, 34.0)
    - between(26.0, 31.0)
    - between(110.0, 158.0)
    - between(379.0, 459.0)
    - between(71.0, 64.0);
const KINDS: [Kind; 6] = [
    Kind { name: "html", count: 5.0, kilobytes: between(31.0, 34.0), sigma: 1.0 },
    Kind { name: "css", count: 3.22 * REST, kilobytes: between(26.0, 31.0), sigma: 1.0 },
    Kind { name: "script", count: 7.09 * REST, kilobytes: between(110.0, 158.0), sigma: 1.2 },
    Kind { name: "image", count: 29.39 * REST, kilobytes: between(379.0, 459.0), sigma: 1.5 },
    Kind { name: "flash", count: 1.0, kilobytes: between(71.0, 64.0), sigma: 1.0 },
    Kind { name: "other", count: 3.0, kilobytes: OTHERS, sigma: 1.0 },
];

/// The set as text.
#[must_use]
pub(crate) fn generate() -> String {
    let mut draws = Seeds::new(SEED).stream("pages/2011");
    let weights = log_normal(&mut draws, PAGE_SIGMA);
    let host_weights = log_normal(&mut draws, PAGE_SIGMA);
    let mut pages: Vec<(usize, Vec<Object>)> = (0..PAGES)
        .map(|page| {
            let hosts = ((HOSTS_MEAN * host_weights[page]).round() as usize).clamp(2, HOSTS_MAX);
            (hosts, page_of(&mut draws, weights[page], hosts))
        })
        .collect();
    for (index, kind) in KINDS.iter().enumerate() {
        let drawn: f64 = pages.iter().flat_map(|(_, p)| p).filter(|o| o.kind == index).map(|o| o.bytes).sum();
        let factor = kind.kilobytes * KIB * PAGES as f64 / drawn;
        pages.iter_mut().flat_map(|(_, p)| p).filter(|o| o.kind == index).for_each(|o| o.bytes *= factor);
    }
    let mut text = head_of(
        "Twenty synthetic pages after measurements of September 2011; written by examples/page_set/pages_2011.rs.",
    );
    for (page, (hosts, objects)) in pages.iter().enumerate() {
        let names = host_names(&mut draws, page, *hosts);
        let site = format!("site-{:02}", page + 1);
        let rows = Rows { site, hosts: &names, request: (300, 401), head: (200, 301) };
        rows.write(&mut text, &mut draws, objects, |kind| KINDS[kind].name);
    }
    text
}

/// One weight for each page, with the mean 1.
fn log_normal(draws: &mut Stream, sigma: f64) -> Vec<f64> {
    let drawn: Vec<f64> = (0..PAGES).map(|_| libm::exp(sigma * draws.normal())).collect();
    let mean = drawn.iter().sum::<f64>() / PAGES as f64;
    drawn.iter().map(|x| x / mean).collect()
}

/// The objects of a page: the document, then style sheets, scripts, frames, images, Flash and others.
fn page_of(draws: &mut Stream, weight: f64, hosts: usize) -> Vec<Object> {
    let document = Object { kind: 0, host: 0, bytes: 4.0, parent: None, after: 0 };
    let mut objects = vec![document];
    for kind in [1, 2, 0, 3, 4, 5] {
        let least = usize::from(kind == 0);
        let count = ((KINDS[kind].count * weight).round() as usize).max(least) - least;
        for _ in 0..count {
            let (parent, after) = place(draws, kind, &objects);
            let bytes = libm::exp(KINDS[kind].sigma * draws.normal()) / if kind == 0 { 4.0 } else { 1.0 };
            let host = host_of(draws, kind, hosts);
            objects.push(Object { kind, host, bytes, parent: Some(parent), after });
        }
    }
    // A host without objects serves an image, or another object.
    for host in 1..hosts.min(objects.len()) {
        if objects.iter().all(|object| object.host != host) {
            let place = objects.len() - host;
            objects[place].host = host;
        }
    }
    objects
}

/// The parent of an object, and where it names the object.
fn place(draws: &mut Stream, kind: usize, before: &[Object]) -> (usize, u64) {
    let by = match kind {
        // Images of style sheets, images of frames, and images loaded by scripts.
        3 if draws.chance(0.2) => one_of(draws, 1, before).map(|css| (css, 1000)),
        3 if draws.chance(0.1) => one_of(draws, 0, before).map(|frame| (frame, draws.below(1001))),
        2..=5 if draws.chance(0.2) => one_of(draws, 2, before).map(|script| (script, 1000)),
        _ => None,
    };
    // Style sheets are in the head of the document, and half of the scripts too.
    let head = kind == 1 || (kind == 2 && draws.chance(0.5));
    by.unwrap_or_else(|| (0, if head { draws.below(101) } else { 100 + draws.below(901) }))
}

/// The host of an object: 0 is the site, then its other own hosts, then shared ones.
fn host_of(draws: &mut Stream, kind: usize, hosts: usize) -> usize {
    let own = STATIC_HOSTS.min((hosts - 1) / 2);
    let shared = hosts - 1 - own;
    let (on_site, on_own) = match kind {
        0 => (0.4, 0.0),
        1 => (0.5, 0.4),
        2 => (0.3, 0.2),
        4 => (0.2, 0.2),
        _ => (0.25, 0.55),
    };
    let draw = draws.uniform();
    if draw < on_site || (own == 0 && draw < on_site + on_own) {
        0
    } else if draw < on_site + on_own {
        1 + draws.below(own as u64) as usize
    } else {
        1 + own + draws.below(shared as u64) as usize
    }
}

fn host_names(draws: &mut Stream, page: usize, hosts: usize) -> Vec<String> {
    let own = STATIC_HOSTS.min((hosts - 1) / 2);
    let mut names = vec![format!("www.site-{:02}.example", page + 1)];
    names.extend((1..=own).map(|n| format!("static-{n}.site-{:02}.example", page + 1)));
    while names.len() < hosts {
        let shared = format!("shared-{:02}.example", 1 + draws.below(SHARED_HOSTS));
        if !names.contains(&shared) {
            names.push(shared);
        }
    }
    names
}
