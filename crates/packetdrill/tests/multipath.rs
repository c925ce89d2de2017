//! Linux's scripts for Multipath TCP (github.com/multipath-tcp/packetdrill, `gtests/net/mptcp`), where they lie: the folder
//! is in the environment variable `AIRLANE_PACKETDRILL_MPTCP`. Their licence is GPL-2.0, and they are not part of the project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use airlane_packetdrill::{Options, Verdict, play};

/// Scripts below a folder.
fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
}

#[test]
fn linux_s_scripts_for_multipath_tcp() {
    let Ok(folder) = std::env::var("AIRLANE_PACKETDRILL_MPTCP") else {
        println!("skipped: AIRLANE_PACKETDRILL_MPTCP names no folder with scripts");
        return;
    };
    let mut all = Vec::new();
    scripts(Path::new(&folder), &mut all);
    assert!(!all.is_empty(), "{folder} has no scripts (*.pkt)");
    let mut counts = BTreeMap::new();
    let mut passed = Vec::new();
    for path in &all {
        let text = std::fs::read_to_string(path).unwrap();
        let beside = |name: &str| std::fs::read_to_string(path.parent()?.join(name)).ok();
        let report = play(&text, &beside, &Options::default());
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        println!("{name}: {:?} {:?} {}", report.verdict, report.line, report.reason.unwrap_or_default());
        *counts.entry(format!("{:?}", report.verdict)).or_insert(0) += 1;
        if report.verdict == Verdict::Pass {
            passed.push(name);
        }
    }
    println!("{counts:?}");
    // The handshakes and fall-backs with one subflow, of which the scripts ask nothing else.
    let names = all.iter().map(|path| path.strip_prefix(&folder).unwrap().display().to_string());
    let of_handshakes: Vec<_> = names.filter(|name| name.starts_with("mp_capable/")).collect();
    assert!(!of_handshakes.is_empty(), "the folder has no mp_capable");
    for name in of_handshakes {
        assert!(passed.contains(&name), "{name}");
    }
}
