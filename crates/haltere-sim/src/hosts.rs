//! What the hosts keep beyond their connections: ephemeral ports and TCP metrics.

use haltere_plan::ports;
use haltere_transport::MetricsCache;

/// All hosts of a run.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    /// Offset in the ephemeral range of the client port that was assigned last during the run.
    last_port: u16,
    /// What TCP remembers of destinations.
    pub metrics: MetricsCache,
}

impl Hosts {
    /// The next ephemeral port. After the last comes the first.
    pub fn ephemeral_port(&mut self) -> u16 {
        let (port, offset) = ports::next_client(self.last_port);
        self.last_port = offset;
        port
    }
}
