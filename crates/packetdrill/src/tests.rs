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
            "expected . 1:101(100) ack 1, got P. 1:101(100) ack 1 win 64076 at 0.100000 s: the flag PSH must be \
             not set",
        ),
        (
            format!("{write}+0 > P. 1:101(100) ack 1 <nop,nop,sack 1:2>"),
            9,
            "expected P. 1:101(100) ack 1 <sack 1:2>, got P. 1:101(100) ack 1 win 64076 at 0.100000 s: the \
             options must be <sack 1:2>, not <>",
        ),
        (
            format!("{write}+.2 > P. 1:101(100) ack 1"),
            9,
            "expected P. 1:101(100) ack 1 at 0.300000 s, but it was sent at 0.100000 s (tolerance 0.025000 s)",
        ),
        ("+0 > . 1:1(0) ack 1".to_owned(), 8, "expected . 1:1(0) ack 1, but nothing was sent"),
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
        ("+0 > Q 1:1(0)".to_owned(), 8, "the script cannot be read: expected flags of the letters"),
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
