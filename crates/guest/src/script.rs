//! Scripts of packetdrill on the sockets of a guest: the answers of a real kernel, by the same interpreter.
//!
//! Each script has a guest of its own. The agent makes the system calls of the script, arriving segments enter at the
//! guest's network interface, and what it sends is compared. Time is the guest's virtual time.
//!
//! Not included: IPv6, which the kernels of `airlane kernel build` do not have, and what the interpreter itself does not
//! play. Segments of several times the segment size arrive as segments in one interrupt, which the guest joins (GRO),
//! and not as one from a TUN device: the memory that such a segment occupies in the receive buffer is another one.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod answers;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod configure;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod info;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod names;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod outbox;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod packets;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod stack;

use airlane_packetdrill::{Options, Report, Script, Verdict};

use crate::GuestError;

/// Plays a script on the sockets of a kernel, by its name. `file` reads a file in the folder of the script.
///
/// # Errors
/// If there is no such kernel, or the guest cannot be started or fails.
pub fn play_script(
    kernel: &str,
    text: &str,
    file: &dyn Fn(&str) -> Option<String>,
    options: &Options,
) -> Result<Report, GuestError> {
    let (script, device) = match Script::read(text).and_then(|s| Ok((s.device(options)?, s))) {
        Ok((device, script)) => (script, device),
        Err(report) => return Ok(report),
    };
    if device.ipv6 {
        let reason = Some("IPv6, which guest kernels do not have".to_owned());
        return Ok(Report { verdict: Verdict::NotApplicable, line: None, reason, printed: vec![] });
    }
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    {
        let mut stack = stack::GuestStack::start(kernel, device)?;
        let report = script.play(&mut stack, file, options);
        stack.take_failure().map_or(Ok(report), Err)
    }
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    {
        let _ = (kernel, script, file);
        Err(GuestError::missing("guest kernels need Linux on x86-64", "play the script without a kernel"))
    }
}
