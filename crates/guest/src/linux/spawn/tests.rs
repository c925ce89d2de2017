use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::*;

/// A folder with a file for output.
fn folder(name: &str) -> (PathBuf, File) {
    let folder = env::temp_dir().join(format!("airlane-spawn-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let output = File::create(folder.join("output")).unwrap();
    (folder, output)
}

/// Starts a script of the shell, with a folder in which its output is.
fn begin(name: &str, script: &str) -> (Process, PathBuf) {
    let (folder, output) = folder(name);
    let arguments = ["-c".to_owned(), script.to_owned()];
    let environment = ["A=1".to_owned(), "PATH=/usr/bin:/bin".to_owned()];
    let program = Program {
        path: "/bin/sh",
        arguments: &arguments,
        environment: &environment,
        folder: folder.as_os_str(),
        output: &output,
    };
    (Process::start(&program).unwrap(), folder)
}

/// Runs a script of the shell to its end: how it ended, and what it wrote.
fn shell(name: &str, script: &str) -> (End, String) {
    let (process, folder) = begin(name, script);
    let end = loop {
        match process.end() {
            Some(end) => break end,
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    let text = fs::read_to_string(folder.join("output")).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    (end, text)
}

#[test]
fn a_program_has_its_arguments_environment_folder_and_streams() {
    let (end, text) = shell("streams", "echo $A; pwd | grep -o '[a-z]*$'; wc -c; echo no >&2; exit 7");
    assert_eq!((end, text.as_str()), (End::Exited(7), "1\nstreams\n0\nno\n"));
}

#[test]
fn a_program_has_a_group_of_its_own_and_fixed_addresses() {
    let (end, text) = shell("own", "ps -o pgid= -p $$ | tr -d ' '; echo $$; cat /proc/$$/personality");
    let lines: Vec<_> = text.lines().collect();
    let [group, own, personality] = lines.as_slice() else { panic!("{text}") };
    assert_eq!((end, group), (End::Exited(0), own));
    assert_eq!(*personality, "00040000", "ADDR_NO_RANDOMIZE");
}

#[test]
fn no_signal_is_blocked_and_a_closed_pipe_ends_a_program() {
    let (_, text) = shell("blocked", "grep SigBlk /proc/$$/status | cut -f 2");
    assert_eq!(text, "0000000000000000\n");
    // Ignored here, as in Python.
    assert_eq!(shell("pipe", "kill -PIPE $$").0, End::Killed(libc::SIGPIPE));
}

#[test]
fn what_cannot_be_started_is_an_error() {
    let (folder, output) = folder("none");
    let mut program = Program {
        path: "./none",
        arguments: &[],
        environment: &[],
        folder: folder.as_os_str(),
        output: &output,
    };
    assert_eq!(Process::start(&program).unwrap_err().kind(), io::ErrorKind::NotFound);
    fs::write(folder.join("empty"), b"").unwrap();
    program.path = "./empty";
    assert_eq!(Process::start(&program).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    fs::remove_dir_all(&folder).unwrap();
}

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn handle_fork() {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// Handlers of libraries for fork(3) wait for locks of other threads, and have ended the threads of OpenBLAS.
#[test]
fn handlers_for_fork_are_not_called() {
    // SAFETY: the handler is a function that stays, and only adds to a number.
    let registered = unsafe { libc::pthread_atfork(Some(handle_fork), None, Some(handle_fork)) };
    assert_eq!(registered, 0);
    assert_eq!(shell("handlers", "true").0, End::Exited(0));
    assert_eq!(HANDLED.load(Ordering::Relaxed), 0);
}

#[test]
fn the_group_ends_with_the_value() {
    let (folder, output) = folder("group");
    let arguments = ["-c".to_owned(), "sleep 100 & echo $!; wait".to_owned()];
    let program = Program {
        path: "/bin/sh",
        arguments: &arguments,
        environment: &["PATH=/usr/bin:/bin".to_owned()],
        folder: folder.as_os_str(),
        output: &output,
    };
    let process = Process::start(&program).unwrap();
    let child = loop {
        let text = fs::read_to_string(folder.join("output")).unwrap();
        match text.trim().parse::<i32>() {
            Ok(child) => break child,
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    };
    assert_eq!(process.end(), None);
    drop(process);
    // It is a zombie until its new parent has noticed.
    let runs = || fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(|stat| !stat.contains(") Z"));
    for _ in 0..1000 {
        if !runs() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert!(!runs());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_caught_signals_are_read() {
    let status = "Name:\tlinux\nSigIgn:\t0000000000001000\nSigCgt:\t00000000180064da\nCapInh:\t0\n";
    assert_eq!(caught(status), Some(0x1800_64da));
    assert_eq!(caught("Name:\tlinux\n"), None);
}

/// User Mode Linux uses up the handler of a signal that asks it to end. Here, the program removes it.
#[test]
fn a_process_without_its_handlers_was_asked_to_end() {
    let script =
        "trap 'trap - TERM; echo asked' USR1; trap : TERM INT; echo ready; while :; do sleep 0.01; done";
    let (process, folder) = begin("asked", script);
    let wait_for = |word: &str| {
        let said = || fs::read_to_string(folder.join("output")).unwrap().contains(word);
        assert!(
            (0..10_000).any(|_| said() || {
                thread::sleep(Duration::from_millis(1));
                false
            }),
            "{word}"
        );
    };
    wait_for("ready");
    assert!(!was_asked_to_end(process.pid()));
    kill_process(process.pid(), Signal::USR1).unwrap();
    wait_for("asked");
    assert!(was_asked_to_end(process.pid()));
    fs::remove_dir_all(&folder).unwrap();
}
