//! The folder that is served. The kernel resolves each path below it, so that neither `..` nor a symbolic link leads
//! out (`RESOLVE_BENEATH` of openat2).

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use percent_encoding::percent_decode_str;
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};

/// The file of a folder that is asked for.
const INDEX: &str = "index.html";
/// The longest path of a request.
const PATH_MAX: usize = 4096;

/// The folder.
#[derive(Clone, Debug)]
pub(super) struct Root(Arc<OwnedFd>);

/// A regular file.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) file: Arc<File>,
    pub(super) size: u64,
    /// Time of modification, not later than now: a time in the future becomes that of the answer (RFC 9110 §8.8.2.1),
    /// and dates in HTTP end with the year 9999.
    pub(super) modified: SystemTime,
    /// A strong validator (RFC 9110 §8.8.1), without quotes: it changes with each change of the file, because a
    /// change also moves the time that no program can set.
    pub(super) tag: String,
    /// Type of its content, by its name.
    pub(super) kind: String,
}

/// The target of a path.
#[derive(Clone, Debug)]
pub(super) enum Place {
    File(Found),
    /// A folder, whose path must end in a slash for its links to lead below it.
    Folder,
}

impl Root {
    /// Opens the folder.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = Self(Arc::new(open(path, flags, Mode::empty())?));
        root.beneath(".", OFlags::PATH)?; // fails on kernels before 5.6
        Ok(root)
    }

    fn beneath(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        Ok(openat2(&*self.0, path, flags | OFlags::CLOEXEC, Mode::empty(), rules)?)
    }

    /// The file of the path of a request. It blocks.
    ///
    /// # Errors
    /// `NotFound` if there is none that may be served.
    pub(super) fn find(&self, path: &str) -> io::Result<Place> {
        let name = decoded(path).ok_or(io::ErrorKind::NotFound)?;
        // Without O_NONBLOCK, opening a pipe would wait for its other end.
        let file = File::from(self.beneath(&name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?);
        let about = file.metadata()?;
        if about.is_dir() && !path.ends_with('/') {
            return Ok(Place::Folder);
        }
        if !about.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Place::File(found(file, &about, &name)))
    }
}

fn found(file: File, about: &Metadata, name: &str) -> Found {
    let tag = format!(
        "{:x}-{:x}-{:x}.{:x}-{:x}.{:x}",
        about.ino(),
        about.size(),
        about.mtime(),
        about.mtime_nsec(),
        about.ctime(),
        about.ctime_nsec()
    );
    let kind = mime_guess::from_path(name).first_or_octet_stream();
    let is_text = kind.type_() == mime_guess::mime::TEXT && kind.get_param("charset").is_none();
    Found {
        size: about.size(),
        modified: modified(about.mtime(), SystemTime::now()),
        tag,
        kind: if is_text { format!("{kind}; charset=utf-8") } else { kind.to_string() },
        file: Arc::new(file),
    }
}

/// The time of modification, from its seconds since 1970.
fn modified(seconds: i64, now: SystemTime) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or(0)); // before 1970
    SystemTime::UNIX_EPOCH.checked_add(seconds).map_or(now, |modified| modified.min(now))
}

/// The name of the file for the path of a request; `None` for a path that is not served: of another form, or with a
/// name that begins with a dot.
fn decoded(path: &str) -> Option<String> {
    let path = path.strip_prefix('/').filter(|_| path.len() <= PATH_MAX)?;
    let mut names = vec![];
    for part in path.split('/') {
        let name = percent_decode_str(part).decode_utf8().ok()?;
        if name.starts_with('.') || name.contains(['/', '\\', '\0']) {
            return None;
        }
        names.push(name);
    }
    let end = names.len() - 1;
    if names[..end].iter().any(|name| name.is_empty()) {
        return None;
    }
    if names[end].is_empty() {
        names[end] = INDEX.into();
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_of_a_file_is_a_date_of_http() {
        let since = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let now = since(1_800_000_000);
        for (seconds, expected) in [
            (0, 0),
            (-1, 0),
            (i64::MIN, 0),
            (1_700_000_000, 1_700_000_000),
            (1_800_000_001, 1_800_000_000),
            (253_402_300_799, 1_800_000_000), // the last second of the year 9999
            (253_402_300_800, 1_800_000_000),
            (300_000_000_000, 1_800_000_000),
            (i64::MAX, 1_800_000_000),
        ] {
            assert_eq!(modified(seconds, now), since(expected), "{seconds}");
            assert!(!httpdate::fmt_http_date(modified(seconds, now)).is_empty());
        }
    }

    #[test]
    fn only_plain_paths_name_files() {
        for (path, name) in [
            ("/", Some("index.html")),
            ("/a", Some("a")),
            ("/a/", Some("a/index.html")),
            ("/a/b.txt", Some("a/b.txt")),
            ("/%61%20b", Some("a b")),
            ("/a..b", Some("a..b")),
            ("", None),
            ("a", None),
            ("//a", None),
            ("//", None),
            ("/a//b", None),
            ("/..", None),
            ("/../a", None),
            ("/a/../b", None),
            ("/%2e%2e/a", None),
            ("/..%2fa", None),
            ("/a%2Fb", None),
            ("/a%5c..%5cb", None),
            ("/a%00", None),
            ("/%ff", None),
            ("/.git/config", None),
            ("/a/.htaccess", None),
            ("*", None),
        ] {
            assert_eq!(decoded(path).as_deref(), name, "{path}");
        }
        assert_eq!(decoded(&format!("/{}", "a".repeat(PATH_MAX))), None);
    }

    /// Paths at random, of pieces that matter: each name is relative, and has no part that leads up or is hidden.
    #[test]
    fn no_path_names_what_is_not_below_the_root() {
        let pieces = [
            "/", "//", ".", "..", "%2e", "%2F", "%5c", "\\", "%00", "%", "%f", "%c0%ae", "a", "b c", "\u{e9}",
        ];
        let mut draws = airlane_core::Seeds::new(1).stream("paths");
        let mut served = 0;
        for _ in 0..50_000 {
            let count = draws.bits() % 8;
            let rest = (0..count).map(|_| pieces[(draws.bits() % pieces.len() as u64) as usize]);
            let path: String = ["/"].into_iter().chain(rest).collect();
            let Some(name) = decoded(&path) else { continue };
            served += 1;
            let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.');
            assert!(name.split('/').all(is_plain) && !name.contains(['\\', '\0']), "{path}: {name}");
        }
        assert!(served > 1000, "{served}");
    }
}
