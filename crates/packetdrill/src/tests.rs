use super::*;

/// A server with a connection, up to line 6.
const SERVER: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
";

fn report(rest: &str) -> (Verdict, Option<usize>, String) {
    let found = play(&format!("{SERVER}{rest}"), &|_| None, &Options::default());
    (found.verdict, found.line, found.reason.unwrap_or_default())
}

#[test]
fn a_script_that_describes_the_host_passes() {
    let rest = "+0 write(4, ..., 3000) = 3000
        +0 > P. 1:3001(3000) ack 1
        +.1 < . 1:1(0) ack 3001 win 65535
        +0 %{ assert tcpi_rtt == 100000 and tcpi_bytes_acked == 3001, (tcpi_rtt, tcpi_bytes_acked) }%";
    assert_eq!(report(rest), (Verdict::Pass, None, String::new()));
}

#[test]
fn each_difference_is_reported_with_its_line() {
    let write = "+0 write(4, ..., 100) = 100\n";
    for (rest, line, reason) in [
        (
            format!("{write}+0 > . 1:101(100) ack 1"),
            9,
            "expected . 1:101(100) ack 1, got P. 1:101(100) ack 1 win 64240 at 0.100000 s: the flag PSH must be \
             not set",
        ),
        (
            format!("{write}+0 > P. 1:101(100) ack 1 <nop,nop,sack 1:2>"),
            9,
            "expected P. 1:101(100) ack 1 <sack 1:2>, got P. 1:101(100) ack 1 win 64240 at 0.100000 s: the \
             options must be <sack 1:2>, not <>",
        ),
        (
            format!("{write}+.2 > P. 1:101(100) ack 1"),
            9,
            "expected P. 1:101(100) ack 1 at 0.300000 s, but it was sent at 0.100000 s (tolerance 0.025000 s)",
        ),
        ("+0 > . 1:1(0) ack 1".to_owned(), 8, "expected . 1:1(0) ack 1, but nothing was sent"),
        (
            "+0 > . 1:1(0) ack 40000001001".to_owned(),
            8,
            "40000001001 is above 4294967295, the largest number of 32",
        ),
        ("+0 > . 1:1(0) ack 1 win 70000".to_owned(), 8, "70000 is too large for the window field"),
        ("+0 read(4, ..., 10) = 10".to_owned(), 8, "expected read() = 10 to return at once, but it waits"),
        ("+0 read(9, ..., 10) = 10".to_owned(), 8, "expected read() = 10, got -1 EBADF"),
        (
            "\n+0 %{ assert tcpi_unacked == 1, tcpi_unacked }%".to_owned(),
            9,
            "the assertion does not hold: assert tcpi_unacked == 1: 0",
        ),
        (
            "+0...0.1 read(4, ..., 10) = 10\n+.2 < P. 1:11(10) ack 1 win 65535".to_owned(),
            8,
            "expected read() = 10 to return at 0.200000 s, but it returned at 0.300000 s",
        ),
    ] {
        let (verdict, at, found) = report(&rest);
        assert!(verdict == Verdict::Fail && at == Some(line) && found.starts_with(reason), "{at:?} {found}");
    }
}

#[test]
fn what_is_not_modelled_is_named() {
    for (rest, reason) in [
        ("+0 < udp (1000)", "UDP packets"),
        ("+0 < [1:1001(1000)] icmp unreachable frag_needed mtu 1200", "ICMP packets"),
        ("+0 < . 1:1(0) ack 1 win 9 <nop,mp_x v1 flags[flag_a,flag_b] key[1],nop>", "the option \"mp_x\""),
        ("+0 `python3 x.py`", "the shell command \"python3\""),
        (
            "+0 `tc qdisc replace dev tun0 root fq`",
            "a queue that paces segments of several times the segment size (fq)",
        ),
        ("+0 %{ assert SK_MEMINFO_RCVBUF > 0 }%", "the name \"SK_MEMINFO_RCVBUF\""),
        ("+0 splice(4, NULL, 5, NULL, 10, 0) = 10", "the call splice()"),
        ("+0 recv(4, ..., 10, MSG_WAITALL) = 10", "the flag MSG_WAITALL"),
        ("+0 recv(4, ..., 10, MSG_DONTWAITT) = -1 EAGAIN", "the name \"MSG_DONTWAITT\""),
        ("+0 recv(4, ..., 10, 0x10) = 10", "the flags 0x10 of a message"),
        ("+0 recv(4, ..., 10, MSG_DONTWAIT) = -1 EAGAINN", "the error \"EAGAINN\""),
        ("+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [ECONRESET], [4]) = 0", "the name \"ECONRESET\""),
        ("+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [ON], 4) = 0", "the name \"ON\""),
        (
            "+0 setsockopt(4, SOL_SOCKET, TCP_NODELAY, [1], 4) = 0",
            "the socket option TCP_NODELAY of the level \"SOL_SOCKET\"",
        ),
        ("+0 setsockopt(4, SOL_TCP, TCP_NODELAYY, [1], 4) = 0", "the socket option TCP_NODELAYY"),
        ("+0 shutdown(4, SHUT_WRRD) = 0", "shutdown \"SHUT_WRRD\""),
        ("+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOK) = 0", "the name \"O_NONBLOK\""),
        ("+0 poll([{fd=4, events=POLLOUTT}], 1, 0) = 0", "the name \"POLLOUTT\""),
        ("+0 < sctp: INIT[flgs=0, tag=1]", "SCTP packets"),
        ("+0 > sctp: INIT[flgs=0,\n  tag=1,\n  ECN_CAPABLE[]]\n+0 read(4, ..., 1) = 1", "SCTP packets"),
        (
            "+0 setsockopt(4, SOL_SOCKET, SO_TIMESTAMPING, [SOF_X], 4) = 0",
            "the socket option SO_TIMESTAMPING",
        ),
        ("+0 > (hlim 4) . 1:1(0) ack 1", "the field \"hlim\" of the IP header"),
        ("+0 < . 1:1(0)! ack 1 win 9", "sequence numbers that are not relative (!)"),
        ("+0 < . 1:1(0) ack 1 win 9 <nop>/udp(1 > 2)", "TCP over UDP"),
        (
            "+0 `tc qdisc replace dev tun0 root tbf rate 1mbit`",
            "the shell command \"tc qdisc replace dev tun0 root tbf rate 1mbit\"",
        ),
    ] {
        assert_eq!(report(rest), (Verdict::NotApplicable, Some(8), reason.to_owned()));
    }
}

#[test]
fn times_count_from_what_happened_after_a_range() {
    // The timeout is the round trip of 100 ms and 200 ms; the next one is twice as long.
    let rest = "+0 write(4, ..., 100) = 100
        +0 > P. 1:101(100) ack 1
        +.1~+.5 > P. 1:101(100) ack 1
        +.6 > P. 1:101(100) ack 1";
    assert_eq!(report(rest), (Verdict::Pass, None, String::new()));
}

/// A script that cannot be read says nothing about TCP.
#[test]
fn what_cannot_be_read_is_not_judged() {
    for (rest, line, reason) in [
        ("+0 > Q 1:1(0)", 8, "the script cannot be read: expected flags of the letters"),
        (
            "+0 > . 1:1(0) ack 1\n#ifdef Linux",
            9,
            "the script cannot be read: a #ifdef that begins here has no",
        ),
        (
            "+0 < . 1:1(0) ack 1 win MSS",
            8,
            "the script cannot be read: expected the window field, not \"MSS\"",
        ),
    ] {
        let (verdict, at, found) = report(rest);
        assert!(
            verdict == Verdict::NotApplicable && at == Some(line) && found.starts_with(reason),
            "{at:?} {found}"
        );
    }
}

/// Conditions choose what is for Linux.
#[test]
fn a_script_for_several_systems_states_what_this_one_does() {
    let write = "+0 write(4, ..., 100) = 100\n";
    let rest = format!("{write}#ifdef FreeBSD\n+0 > . 9:9(0)\n#else\n+0 > P. 1:101(100) ack 1\n#endif");
    assert_eq!(report(&rest), (Verdict::Pass, None, String::new()));
    let rest = format!("#define SIZE 100\n{write}#ifdef Linux\n+0 > P. 1:102(101) ack 1\n#endif");
    let (verdict, line, _) = report(&rest.replace("(4, ..., 100)", "(4, ..., SIZE)"));
    assert_eq!((verdict, line), (Verdict::Fail, Some(11)));
}

/// recv(2), send(2): MSG_DONTWAIT is for one call what O_NONBLOCK is for a socket.
#[test]
fn a_call_that_must_not_wait_fails() {
    let rest = "+0 recv(4, ..., 10, MSG_DONTWAIT) = -1 EAGAIN
        +0 recv(4, ..., 10, 0x40) = -1
        +0 < P. 1:11(10) ack 1 win 65535
        +0 recv(4, ..., 4, MSG_PEEK|MSG_DONTWAIT) = 4
        +0 recv(4, ..., 10, MSG_DONTWAIT|MSG_NOSIGNAL) = 10
        +0 recvmsg(4, {msg_iov(1)=[{..., 10}]}, MSG_DONTWAIT) = -1 EWOULDBLOCK
        +0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [1000], 4) = 0
        +0 send(4, ..., 2000, MSG_DONTWAIT) = 2000
        +0 send(4, ..., 1, MSG_DONTWAIT) = -1 EAGAIN";
    assert_eq!(report(rest), (Verdict::Pass, None, String::new()));
    let (verdict, _, reason) = report("+0 recv(4, ..., 10, MSG_DONTWAIT) = -1 EPIPE");
    assert_eq!((verdict, &*reason), (Verdict::Fail, "expected recv() = -1 EPIPE, got -1 EAGAIN"));
}

/// Linux `tcp_reset`: ECONNREFUSED in SYN-SENT, EPIPE in CLOSE-WAIT, ECONNRESET in every other state; an error is
/// reported once, by its name or number.
#[test]
fn the_error_of_a_reset_follows_from_the_state() {
    let reset = "+.1 < R 1:1(0) win 0\n";
    let after_fin = "+.1 < F. 1:1(0) ack 1 win 65535\n+0~+.1 > . 1:1(0) ack 2\n+.1 < R 2:2(0) win 0\n";
    let own_fin = "+.1 < F. 1:1(0) ack 1 win 65535\n+0~+.1 > . 1:1(0) ack 2\n+0 shutdown(4, SHUT_WR) = 0
        +0 > F. 1:1(0) ack 2\n+.1 < R 2:2(0) win 0\n";
    for (what, error, number) in
        [(reset, "ECONNRESET", 104), (after_fin, "EPIPE", 32), (own_fin, "ECONNRESET", 104)]
    {
        for stated in [error.to_owned(), number.to_string()] {
            let rest = format!(
                "{what}+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [{stated}], [4]) = 0
                +0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [4]) = 0\n+0 write(4, ..., 10) = -1 EPIPE"
            );
            assert_eq!(report(&rest), (Verdict::Pass, None, String::new()), "{what}");
        }
        let (verdict, _, reason) =
            report(&format!("{what}+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [7], [4]) = 0"));
        let differs = format!("expected getsockopt() = 0, got [{number}] ({error})");
        assert_eq!((verdict, reason), (Verdict::Fail, differs), "{what}");
    }
    // The end of the peer's data is read before the error.
    let read = format!("{after_fin}+0 read(4, ..., 10) = 0\n+0 write(4, ..., 10) = -1 EPIPE");
    assert_eq!(report(&read), (Verdict::Pass, None, String::new()));
    let refused = |stated: &str| {
        let script = format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
            +0 connect(3, ..., ...) = -1 EINPROGRESS\n+0 > S 0:0(0) <...>\n+.1 < R. 0:0(0) ack 1 win 0
            +0 getsockopt(3, SOL_SOCKET, SO_ERROR, [{stated}], [4]) = 0"
        );
        play(&script, &|_| None, &Options::default()).verdict
    };
    assert_eq!(["ECONNREFUSED", "111"].map(refused), [Verdict::Pass; 2]);
    assert_eq!(["ECONNRESET", "0", "1234"].map(refused), [Verdict::Fail; 3]);
}

/// RFC 9293 §3.10.7.4, SYN-RECEIVED: after a RST the end listens again, for the same peer and for another one.
#[test]
fn a_listener_survives_a_reset() {
    const LISTENER: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32767 <mss 1460>
+0 > S. 0:0(0) ack 1 <...>
";
    let verdict = |rest: &str| play(&format!("{LISTENER}{rest}"), &|_| None, &Options::default());
    for rest in [
        "+.1 < R 1:1(0) win 0\n+.1 < S 0:0(0) win 32767 <mss 1460>\n+0 > S. 0:0(0) ack 1 <...>
        +.1 < . 1:1(0) ack 1 win 32767\n+0 accept(3, ..., ...) = 4",
        "+.1 < R. 1:1(0) ack 1 win 0\n+.1 < S 5000:5000(0) win 32767 <mss 500>\n+0 > S. 0:0(0) ack 5001 <...>
        +.1 < R 1:1(0) win 0\n+.1 < S 0:0(0) win 32767 <mss 1460>\n+0 > S. 0:0(0) ack 1 <...>
        +.1 < . 1:1(0) ack 1 win 32767\n+0 accept(3, ..., ...) = 4",
        "+.1 < R 1:1(0) win 0\n+.1 < . 1:1(0) ack 1 win 32767\n+0 > R 1:1(0) win 0", // no connection
        "+.1 < R 7:7(0) win 0\n+0 > . 1:1(0) ack 1\n+.1 < . 1:1(0) ack 1 win 32767\n+0 accept(3, ..., ...) = 4", // RFC 5961
    ] {
        let report = verdict(rest);
        assert_eq!((report.verdict, report.reason), (Verdict::Pass, None), "{rest}");
    }
    assert_eq!(verdict("+.1 < R 1:1(0) win 0\n+1 > S. 0:0(0) ack 1 <...>").verdict, Verdict::Fail);
}

/// Linux `tcp_select_initial_window`: half of `tcp_rmem[1]` in whole segments, of a SYN-ACK without the timestamps of
/// the peer. 131,072 / 2 = 65,536 = 44 × 1460 + 1296 = 45 × 1448 + 376; 65,536 = 122 × 536 + 144; 20,000 = 13 × 1460 +
/// 1020 = 13 × 1448 + 1176.
#[test]
fn the_first_window_is_whole_segments() {
    let stamp = "TS val 1 ecr 0,";
    for (memory, mtu, option, window) in [
        (131_072, 1500, "", 64_240),
        (131_072, 1500, stamp, 65_160),
        (131_072, 576, "", 65_392),
        (131_072, 576, stamp, 65_500),
        (40_000, 1500, "", 18_980),
        (40_000, 1500, stamp, 18_824),
        (540_000, 1500, stamp, 65_535),
        (2_000, 1500, "", 1_000),
    ] {
        let script = format!(
            "--mtu={mtu}\n`sysctl -q net.ipv4.tcp_rmem=\"4096 {memory} 6291456\"`
            0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0
            +0 < S 0:0(0) win 32767 <mss 1460,{option}nop>\n+0 > S. 0:0(0) ack 1 win {window} <...>"
        );
        let report = play(&script, &|_| None, &Options::default());
        assert_eq!((report.verdict, report.reason), (Verdict::Pass, None), "{memory} {mtu} {option}");
    }
    for (memory, window) in [(131_072, 64_240), (40_000, 18_980)] {
        let script = format!(
            "`sysctl -q net.ipv4.tcp_rmem=\"4096 {memory} 6291456\"`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
            +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n+0 connect(3, ..., ...) = -1 EINPROGRESS
            +0 > S 0:0(0) win {window} <mss 1460,sackOK,TS val 0 ecr 0,nop,wscale 7>"
        );
        let report = play(&script, &|_| None, &Options::default());
        assert_eq!((report.verdict, report.reason), (Verdict::Pass, None), "{memory}");
    }
}
