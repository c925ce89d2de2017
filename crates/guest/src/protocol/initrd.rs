//! The first file system of a guest: an archive in cpio's format "newc", which the kernel unpacks into memory.
//!
//! Format: Documentation/driver-api/early-userspace/buffer-format.rst of Linux.

/// An entry of an archive.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Path of the entry, without a slash at the beginning.
    pub path: &'a str,
    /// Type and permissions, as in stat(2).
    pub mode: u32,
    /// The contents of a file.
    pub content: &'a [u8],
    /// Major and minor number of a device.
    pub device: (u32, u32),
}

impl<'a> Entry<'a> {
    /// A program.
    #[must_use]
    pub const fn program(path: &'a str, content: &'a [u8]) -> Self {
        Self { path, mode: 0o100_755, content, device: (0, 0) }
    }

    /// A file.
    #[must_use]
    pub const fn file(path: &'a str, content: &'a [u8]) -> Self {
        Self { path, mode: 0o100_644, content, device: (0, 0) }
    }

    /// A folder.
    #[must_use]
    pub const fn folder(path: &'a str) -> Self {
        Self { path, mode: 0o040_755, content: &[], device: (0, 0) }
    }

    /// A character device.
    #[must_use]
    pub const fn device(path: &'a str, major: u32, minor: u32) -> Self {
        Self { path, mode: 0o020_600, content: &[], device: (major, minor) }
    }
}

/// The archive of these entries. Folders come before what is in them.
#[must_use]
pub fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, entry) in (1..).zip(entries) {
        append(&mut out, number, entry);
    }
    append(&mut out, 0, &Entry { path: "TRAILER!!!", mode: 0, content: &[], device: (0, 0) });
    out
}

fn append(out: &mut Vec<u8>, number: u32, entry: &Entry<'_>) {
    let fields = [
        number,
        entry.mode,
        0,
        0, // owner and group
        1, // links
        0, // time
        entry.content.len() as u32,
        0,
        0, // device of the archive
        entry.device.0,
        entry.device.1,
        entry.path.len() as u32 + 1,
        0, // checksum, not used by this format
    ];
    out.extend_from_slice(b"070701");
    for field in fields {
        out.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    out.extend_from_slice(entry.path.as_bytes());
    out.push(0);
    pad(out);
    out.extend_from_slice(entry.content);
    pad(out);
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_the_trailer_is_last() {
        let bytes = archive(&[Entry::folder("a"), Entry::file("a/b", b"hello")]);
        // A header has 6 + 13 * 8 = 110 bytes. "a\0" ends at 112; "a/b\0" at 112 + 114 = 226, padded to 228;
        // 5 bytes of content are padded to 8: the trailer is at 236 and has 110 + 11 bytes, padded to 124.
        assert_eq!(bytes.len(), 236 + 124);
        assert_eq!(&bytes[112..118], b"070701");
        assert_eq!(&bytes[228..233], b"hello");
        assert_eq!(&bytes[236 + 110..236 + 120], b"TRAILER!!!");
        assert_eq!(&bytes[112 + 14..112 + 22], b"000081a4"); // 0o100644
    }
}
