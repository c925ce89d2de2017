//! Rules of the forward hook, which packets of proxied connections do not pass.

use std::fs;

use super::config::Limits;
use crate::requirement::Requirement;

/// Tables of iptables-legacy in this network namespace, which `nft` does not show.
const LEGACY: [&str; 2] = ["/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"];

/// Whether rules of the forward hook are known not to apply. `ruleset` is what `nft list ruleset` prints.
pub(super) fn requirement(limits: &Limits, ruleset: Result<String, String>) -> Requirement {
    let name = "no rules of the forward hook";
    if limits.forward_checked {
        return Requirement::met("rules of the forward hook: forward_checked = true");
    }
    let mut chains = match ruleset {
        Ok(text) => chains(&text),
        Err(e) => return Requirement::missing(name, e),
    };
    let has_filter =
        |file: &&&str| fs::read_to_string(file).is_ok_and(|names| names.lines().any(|n| n == "filter"));
    chains.extend(LEGACY.iter().filter(has_filter).map(|file| format!("the table filter in {file}")));
    if chains.is_empty() {
        return Requirement::met(name);
    }
    let why = format!(
        "found {}; proxied connections pass the hooks prerouting, input and output, but not forward: write their \
         rules there (docs/deploy/split-proxy.md#rules-for-proxied-connections), then set proxy.forward_checked = true",
        chains.join(", ")
    );
    Requirement::missing(name, why)
}

/// The base chains of the forward hook that can drop something, with their policy and number of rules.
fn chains(ruleset: &str) -> Vec<String> {
    let mut found = vec![];
    let (mut table, mut chain) = ("", "");
    let mut policy = None;
    let mut rules = 0;
    for line in ruleset.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("table ").and_then(|line| line.strip_suffix(" {")) {
            table = name;
        } else if let Some(name) = line.strip_prefix("chain ").and_then(|line| line.strip_suffix(" {")) {
            (chain, policy, rules) = (name, None, 0);
        } else if line.starts_with("type ") && line.contains(" hook forward ") {
            policy = Some(if line.contains("policy drop") { "drop" } else { "accept" });
        } else if line == "}" {
            if let Some(policy) = policy.take()
                && (rules > 0 || policy == "drop")
            {
                found.push(format!("chain {chain} of table {table} (policy {policy}, {rules} rules)"));
            }
        } else if !line.is_empty() && !line.starts_with("comment ") {
            rules += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULESET: &str = r#"
table inet filter {
    set blocked {
        type ipv4_addr
        elements = { 10.2.0.9,
                 10.2.0.10 }
    }
    chain input {
        type filter hook input priority filter; policy drop;
        ct state established accept
    }
    chain forward {
        type filter hook forward priority filter; policy accept;
        comment "the network behind this machine"
        ip daddr @blocked drop
        tcp dport { 22, 23 } drop
    }
}
table ip nat {
    chain empty {
        type filter hook forward priority 10; policy accept;
    }
    chain closed {
        type filter hook forward priority 11; policy drop;
    }
}
"#;

    #[test]
    fn chains_of_the_forward_hook_that_can_drop_are_found() {
        assert_eq!(
            chains(RULESET),
            [
                "chain forward of table inet filter (policy accept, 2 rules)",
                "chain closed of table ip nat (policy drop, 0 rules)",
            ]
        );
        assert!(chains("").is_empty());
    }
}
