//! Kernels that a scenario names.

use crate::ScenarioError;
use crate::format::{Resolved, Transport};

impl Resolved {
    /// The names of the kernels that are ends of flows; each once, sorted.
    #[must_use]
    pub fn kernels(&self) -> Vec<&str> {
        let named = self.flow.iter().filter_map(|flow| match &flow.transport {
            Transport::Kernel(kernel) => Some(kernel.kernel.as_str()),
            Transport::Tcp(_)
            | Transport::Udp(_)
            | Transport::Quic(_)
            | Transport::Mptcp(_)
            | Transport::Mpquic(_)
            | Transport::Icmp
            | Transport::External => None,
        });
        let mut names: Vec<_> = named.collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// For a program that has no guests: no flow may need one.
    ///
    /// # Errors
    /// The first flow whose ends are sockets of a kernel. `help` says what would be right there.
    pub fn without_kernels(&self, help: &str) -> Result<(), ScenarioError> {
        let is_kernel = |transport: &Transport| matches!(transport, Transport::Kernel(_));
        match self.flow.iter().position(|flow| is_kernel(&flow.transport)) {
            None => Ok(()),
            Some(flow) => {
                let key = format!("flow.{flow}.transport");
                let mut error = ScenarioError::new(key, "this program runs no kernels", help);
                error.value = "kernel".into();
                Err(error)
            }
        }
    }
}
