//! Port numbers of flows.
//!
//! Clients have ephemeral ports: Linux's default range, 32,768 to 60,999 (`ip_local_port_range`). Servers have ports
//! from iperf3's first, 5001, upwards.

/// The first ephemeral port.
pub const FIRST_CLIENT: u16 = 32_768;
/// The number of ephemeral ports.
pub const CLIENTS: u16 = 28_232;
/// The first port of a server.
pub const FIRST_SERVER: u16 = 5001;
/// The number of server ports that flows which arrive during a run use in turn.
const SERVERS: u64 = 2000;

/// The ports of client and server of the flow at `index` of a plan.
pub fn of_flow(index: usize) -> (u16, u16) {
    let clients = usize::from(CLIENTS);
    (FIRST_CLIENT + (index % clients) as u16, FIRST_SERVER + (index / clients) as u16)
}

/// The ports of client and server of the flow that arrives as number `number` during a run. They repeat after 56
/// million flows.
pub fn of_arrival(number: u64) -> (u16, u16) {
    let clients = u64::from(CLIENTS);
    (FIRST_CLIENT + (number % clients) as u16, FIRST_SERVER + (number / clients % SERVERS) as u16)
}

/// The client port after the one at `offset` of the ephemeral range, and its own offset. After the last comes the
/// first.
pub fn next_client(offset: u16) -> (u16, u16) {
    let next = (offset + 1) % CLIENTS;
    (FIRST_CLIENT + next, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_ports_are_the_ephemeral_range_and_then_the_server_port_moves_on() {
        assert_eq!([of_flow(0), of_flow(28_231), of_flow(28_232)], [(32_768, 5001), (60_999, 5001), (32_768, 5002)]);
        assert_eq!([of_arrival(28_231), of_arrival(28_232)], [(60_999, 5001), (32_768, 5002)]);
        assert_eq!(of_arrival(28_232 * 2000), (32_768, 5001));
    }
    #[test]
    fn the_next_client_port_wraps_round() {
        assert_eq!(next_client(0), (32_769, 1));
        assert_eq!(next_client(28_231), (32_768, 0));
    }
}
