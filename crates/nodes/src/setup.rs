//! The rules, routes and parameters that lead packets to a node.

use core::fmt;

/// Settings of the machine before a node starts, and their removal when it is no longer used. Printed, it is a shell
/// script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Parameters of the kernel.
    pub sysctl: Vec<(String, String)>,
    /// Commands of `ip`, without the name of the program, each with the one that removes its effect.
    pub routes: Vec<(String, String)>,
    /// A table of nftables, as `nft -f` reads it, with the command that removes it.
    pub nftables: Option<(String, String)>,
}

impl Setup {
    /// Whether there is nothing to set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(f, "# This node needs no rules, routes or parameters.");
        }
        writeln!(f, "#!/bin/sh\nset -e")?;
        for (key, value) in &self.sysctl {
            writeln!(f, "sysctl -q -w {key}={value}")?;
        }
        for (add, remove) in &self.routes {
            // The script may run again. A rule could otherwise exist twice.
            writeln!(f, "ip {remove} 2>/dev/null || true\nip {add}")?;
        }
        if let Some((table, _)) = &self.nftables {
            writeln!(f, "nft -f - <<'EOF'\n{}\nEOF", table.trim_end())?;
        }
        writeln!(f, "\n# To remove it again:")?;
        if let Some((_, remove)) = &self.nftables {
            writeln!(f, "#   {remove}")?;
        }
        for (_, remove) in self.routes.iter().rev() {
            writeln!(f, "#   ip {remove}")?;
        }
        Ok(())
    }
}
