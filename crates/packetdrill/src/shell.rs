//! The shell commands of a script, which are interpreted and never run: those that configure TCP.

use std::collections::BTreeMap;

/// The configuration of the host.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Values of sysctl by name, without `net.ipv4.`.
    pub sysctl: BTreeMap<String, String>,
    /// Attributes of the route to the peer: `initcwnd`, `mtu`, `advmss`, `congctl`, ….
    pub route: BTreeMap<String, String>,
    /// The queue of the network device paces (the queue discipline fq).
    pub paces: bool,
    /// A check of the list of sockets: some socket must be listening.
    pub(crate) wants_listener: bool,
}

/// The values that `defaults.sh` of packetdrill's tests sets, for a script without that file.
const DEFAULTS: &str = "sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\"
sysctl -q net.ipv4.tcp_wmem=\"4096 $((256*1024)) 4194304\"
sysctl -q net.ipv4.tcp_timestamps=1 net.ipv4.tcp_sack=1 net.ipv4.tcp_dsack=1
sysctl -q net.ipv4.tcp_syn_retries=5 net.ipv4.tcp_synack_retries=5
sysctl -q net.ipv4.tcp_frto=2 net.ipv4.tcp_reordering=3
sysctl -q net.ipv4.tcp_congestion_control=cubic
sysctl -q net.ipv4.tcp_slow_start_after_idle=0
sysctl -q net.ipv4.tcp_early_retrans=4 net.ipv4.tcp_recovery=1 net.ipv4.tcp_ecn=0
";

/// Commands whose effects are outside of TCP: offloads, caches, and what the script cleans up.
const WITHOUT_EFFECT: [&str; 8] =
    ["ethtool", "modprobe", "true", "sync", ":", "#!/bin/bash", "set", "export"];

impl Settings {
    /// Interprets a command; an error names what is not known. `file` reads a file in the folder of the script.
    pub(crate) fn run(&mut self, command: &str, file: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
        for simple in simple_commands(command) {
            self.simple(&simple, file)?;
        }
        Ok(())
    }

    fn simple(&mut self, text: &str, file: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
        let words = words(text)?;
        let Some(name) = words.first().map(|w| w.rsplit('/').next().unwrap_or(w).to_owned()) else {
            return Ok(());
        };
        let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        match &*name {
            "sysctl" | "set_sysctls.py" => self.sysctl(&arguments),
            "ip" => self.ip(text, &arguments),
            "tc" if text.contains("limit") || text.contains("netem") => {
                Err("a queue with a limit of its own (tc)".to_owned())
            }
            "tc" => self.queue(&words),
            "nstat" if !text.contains('|') => Ok(()),
            "echo" if text.contains("tcp_cubic/parameters/hystart_detect") => {
                if text.contains("echo 3") {
                    Ok(())
                } else {
                    Err("parameters of tcp_cubic".to_owned())
                }
            }
            "nstat" => Err("counters of the kernel (nstat)".to_owned()),
            "grep" if text.contains("/proc/net/tcp") && text.contains(" 0A ") => {
                self.wants_listener = true;
                Ok(())
            }
            "source" | "." | "bash" | "sh" => self.include(arguments.first().unwrap_or(&""), file),
            _ if name.starts_with("sysctl_restore_") || WITHOUT_EFFECT.contains(&&*name) => Ok(()),
            _ if name.ends_with(".sh") => self.include(&words[0], file),
            _ => Err(format!("the shell command {name:?}")),
        }
    }

    /// `tc qdisc replace dev tun0 root fq`.
    fn queue(&mut self, words: &[String]) -> Result<(), String> {
        const WITHOUT_RATE: [&str; 5] = ["pfifo", "pfifo_fast", "noqueue", "fq_codel", "mq"];
        let removes = words.iter().any(|word| matches!(&**word, "del" | "delete" | "show"));
        let root = words.iter().position(|word| word == "root").and_then(|at| words.get(at + 1));
        match root.map(String::as_str) {
            Some("fq") => self.paces = !removes,
            Some(name) if WITHOUT_RATE.contains(&name) => self.paces = false,
            _ if removes => self.paces = false,
            _ => return Err(format!("the shell command {:?}", words.join(" "))),
        }
        Ok(())
    }

    fn include(&mut self, path: &str, file: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
        match file(path) {
            Some(text) => self.run(&text, &|_| None),
            None if path.ends_with("defaults.sh") => self.run(DEFAULTS, &|_| None),
            None => Err(format!("the shell script {path:?}, which cannot be read")),
        }
    }

    /// `sysctl -q net.ipv4.tcp_sack=1` and `set_sysctls.py /proc/sys/net/ipv4/tcp_sack=1`.
    fn sysctl(&mut self, arguments: &[&str]) -> Result<(), String> {
        for argument in arguments.iter().filter(|a| !a.starts_with('-')) {
            let Some((key, value)) = argument.split_once('=') else {
                return Err(format!("sysctl {argument:?} without a value"));
            };
            let key = key.trim_start_matches("/proc/sys/").replace('/', ".");
            let key = key.strip_prefix("net.ipv4.").unwrap_or(&key).to_owned();
            self.sysctl.insert(key, value.trim().to_owned());
        }
        Ok(())
    }

    /// `ip route change … initcwnd 4 congctl reno`, `ip tcp_metrics flush`.
    fn ip(&mut self, text: &str, arguments: &[&str]) -> Result<(), String> {
        const WITH_VALUE: [&str; 8] =
            ["initcwnd", "initrwnd", "mtu", "advmss", "congctl", "rto_min", "quickack", "features"];
        let arguments: Vec<&str> = arguments.iter().copied().filter(|a| !a.starts_with('-')).collect();
        match arguments.first() {
            Some(&"tcp_metrics" | &"link" | &"addr" | &"address") => Ok(()),
            Some(&"route" | &"ro" | &"r") => {
                let mut rest = arguments[1..].iter();
                while let Some(word) = rest.next() {
                    if WITH_VALUE.contains(word) {
                        let mut value = rest.next();
                        if value == Some(&"lock") {
                            value = rest.next();
                        }
                        let Some(value) = value else { return Err(format!("{text:?} without a value")) };
                        self.route.insert((*word).to_owned(), (*value).to_owned());
                    }
                }
                Ok(())
            }
            Some(&"mptcp") => match arguments.get(1..3) {
                Some(["endpoint", "flush"] | ["limits", "set"]) => Ok(()),
                _ => Err("addresses of Multipath TCP beside the first".to_owned()),
            },
            _ => Err(format!("the shell command {:?}", text.trim())),
        }
    }
}

/// The commands of a text, without comments. What follows `||` is run only after an error.
fn simple_commands(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        for part in line.split(';').flat_map(|part| part.split("&&")) {
            found.push(part.split("||").next().unwrap_or(part).trim().to_owned());
        }
    }
    found.retain(|part| !part.is_empty());
    found
}

/// The words of a command, without redirections. Quotes are removed and sums calculated.
fn words(text: &str) -> Result<Vec<String>, String> {
    let text = calculated(text)?;
    let text = text.split(" #").next().unwrap_or_default();
    let (mut words, mut current, mut quote, mut any) = (Vec::new(), String::new(), None, false);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                any = true;
            }
            (None, _) if c.is_whitespace() => {
                if any {
                    words.push(core::mem::take(&mut current));
                }
                any = false;
            }
            _ => {
                current.push(c);
                any = true;
            }
        }
    }
    if any {
        words.push(current);
    }
    if let Some(at) = words.iter().position(|w| w.contains('>') && !w.contains('=')) {
        words.truncate(at);
    }
    Ok(words)
}

/// Replaces `$((15*1024))` by its value.
fn calculated(text: &str) -> Result<String, String> {
    let mut text = text.to_owned();
    while let Some(from) = text.find("$((") {
        let Some(length) = text[from..].find("))") else { return Err(format!("{text:?} without ))")) };
        let inner = &text[from + 3..from + length];
        let mut product = 1_u64;
        for factor in inner.split('*') {
            let number = factor.trim().parse::<u64>().ok().and_then(|n| product.checked_mul(n));
            product = number.ok_or_else(|| format!("the calculation {inner:?}"))?;
        }
        text.replace_range(from..from + length + 2, &product.to_string());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str) -> Result<Settings, String> {
        let mut settings = Settings::default();
        settings.run(command, &|_| None).map(|()| settings)
    }

    #[test]
    fn sysctls_are_set_in_each_form() {
        let s = run("./defaults.sh\nsysctl -q net.ipv4.tcp_rmem=\"4096 131072 $((32*1024*1024))\"\n\
             ./set_sysctls.py /proc/sys/net/ipv4/tcp_sack=0 \\\n  /proc/sys/net/ipv4/tcp_ecn=1\n\
             sysctl -e -q net/ipv4/tcp_min_tso_segs=2 &> /dev/null || echo no; ip tcp_metrics flush all > /dev/null")
        .unwrap();
        assert_eq!(s.sysctl["tcp_rmem"], "4096 131072 33554432");
        assert_eq!(s.sysctl["tcp_wmem"], "4096 262144 4194304");
        let values = ["tcp_sack", "tcp_ecn", "tcp_min_tso_segs"].map(|key| &*s.sysctl[key]);
        assert_eq!(values, ["0", "1", "2"]);
    }

    #[test]
    fn routes_have_attributes() {
        let s =
            run("ip -6 route change 2001:DB8::1 dev tun0 advmss 600 mtu lock 640 initcwnd 11 congctl reno");
        let s = s.unwrap();
        let route: Vec<(&str, &str)> = s.route.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(route, [("advmss", "600"), ("congctl", "reno"), ("initcwnd", "11"), ("mtu", "640")]);
    }

    #[test]
    fn other_commands_are_named() {
        assert_eq!(run("python3 x.py").unwrap_err(), "the shell command \"python3\"");
        assert_eq!(run("nstat | grep -q Beyond").unwrap_err(), "counters of the kernel (nstat)");
        assert!(run("nstat -n > /dev/null").is_ok());
        assert!(run("grep \" 0A \" /proc/net/tcp | grep \":1F90\"").unwrap().wants_listener);
    }
}
