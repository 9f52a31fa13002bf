//! Explicit congestion notification (RFC 3168), DCTCP (RFC 8257).

use super::table::Script;
use haltere_transport::Role;

fn client(control: &str) -> Script {
    Script::new(Role::Client, control, |tcp| tcp.ecn = true).peer(|p| p.ecn = true)
}
fn server(control: &str) -> Script {
    Script::new(Role::Server, control, |tcp| tcp.ecn = true).peer(|p| p.ecn = true)
}
/// Its acknowledgements are delayed from the start.
fn slow_server(control: &str) -> Script {
    Script::new(Role::Server, control, |tcp| (tcp.ecn, tcp.quick_acks) = (true, 0)).peer(|p| p.ecn = true)
}

#[test]
fn a_syn_asks_with_both_flags() {
    // RFC 3168 section 6.1.1.
    client("reno").run(
        "0    app open
         0    >  SEW [not-ect]
         100  <  S.E ack 1 win 64000 mss 1000 wscale 7 sackOK
         100  >  .  1:1 [not-ect]
         100  is ecn true
         100  app write 1000
         100  >  P. 1:1001 [ect0]",
    );
}

#[test]
fn a_syn_that_is_repeated_does_not_ask() {
    // RFC 3168 section 6.1.1.1: a host behind a broken middlebox; Linux.
    client("reno").run(
        "0     app open
         0     >  SEW
         1000  >  S",
    );
}

#[test]
fn a_peer_that_reflects_both_flags_does_not_agree() {
    // RFC 3168 section 6.1.1: an ECN-setup SYN-ACK has ECE and not CWR.
    client("reno").run(
        "0    app open
         0    >  SEW
         100  <  S.EW ack 1 win 64000 mss 1000
         100  >  .  1:1
         100  is ecn false
         100  app write 1000
         100  >  P. 1:1001 [not-ect]",
    );
}

#[test]
fn a_server_agrees_with_one_flag() {
    // RFC 3168 section 6.1.1.
    server("reno").run(
        "0    <  SEW win 64000 mss 1000
         0    >  S.E 0:0 [not-ect]",
    );
}

#[test]
fn a_server_without_ecn_does_not_agree() {
    Script::server("reno").run(
        "0    <  SEW win 64000 mss 1000
         0    >  S. 0:0",
    );
}

#[test]
fn an_echo_halves_the_window_and_is_answered_once() {
    // RFC 3168 section 6.1.2: CWR on the first new segment after the reduction.
    client("reno").established().run(
        "0    app write endless
         0    >  .  1:10001 [ect0]
         100  <  .E ack 2001
         100  >  .W 10001:11001 [ect0]
         100  is ssthresh 5 ecn_reductions 1 state Cwr
         101  <  .E ack 4001
         101  >  .  11001:12001",
    );
}

#[test]
fn echoes_of_one_window_reduce_once() {
    // RFC 3168 section 6.1.2: at most once a window of data.
    client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .E ack 2001
         101  <  .E ack 4001
         102  <  .E ack 8001
         103  <  .E ack 10001
         103  is ecn_reductions 1 ssthresh 5",
    );
}

#[test]
fn a_retransmission_is_not_ecn_capable() {
    // RFC 3168 section 6.1.5.
    client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001 [ect0]
         100  <  .  ack 1 sack 1001:4001
         100  >  .  1:1001 [not-ect]",
    );
}

#[test]
fn acknowledgements_are_not_ecn_capable() {
    // RFC 3168 section 6.1.4.
    slow_server("reno").established().run(
        "0    <  .  1:1001 ack 1 [ect0]
         0    <  .  1001:2001 ack 1 [ect0]
         0    >  .  ack 2001 [not-ect]",
    );
}

#[test]
fn a_mark_is_echoed_until_the_sender_answers() {
    // RFC 3168 section 6.1.3. The answer is acknowledged at once (Linux).
    server("reno").established().run(
        "0    <  .  1:1001 ack 1 [ce]
         0    >  .E ack 1001
         1    <  .  1001:2001 ack 1 [ect0]
         1    >  .E ack 2001
         3    <  .W 2001:3001 ack 1 [ect0]
         3    >  .  ack 3001",
    );
}

#[test]
fn the_first_mark_is_echoed_at_once_without_quick_acknowledgements() {
    slow_server("reno").established().run(
        "0    <  .  1:1001 ack 1 [ce]
         0    >  .E ack 1001
         1    <  .  1001:2001 ack 1 [ce]
         44   >  .E ack 2001",
    );
}

#[test]
fn the_answer_counts_without_data() {
    // Linux takes CWR from stacks that do not wait for data.
    server("reno").established().run(
        "0    <  .  1:1001 ack 1 [ce]
         0    >  .E ack 1001
         1    <  .W 1001:1001 ack 1
         2    <  .  1001:2001 ack 1 [ect0]
         2    >  .  ack 2001",
    );
}

#[test]
fn a_mark_with_the_answer_is_echoed_anew() {
    // RFC 3168 section 6.1.3: the CE of the segment with CWR counts.
    server("reno").established().run(
        "0    <  .  1:1001 ack 1 [ce]
         0    >  .E ack 1001
         3    <  .W 1001:2001 ack 1 [ce]
         3    >  .E ack 2001",
    );
}

#[test]
fn dctcp_acknowledges_at_once_when_the_mark_changes() {
    // RFC 8257 section 3.2, figure 1: what was held back goes first, with the old echo.
    slow_server("dctcp").established().run(
        "0    <  .  1:1001 ack 1 [ect0]
         0    <  .  1001:2001 ack 1 [ect0]
         0    >  .  ack 2001
         1    <  .  2001:3001 ack 1 [ect0]
         2    <  .  3001:4001 ack 1 [ce]
         2    >  .  ack 3001
         2    >  .E ack 4001",
    );
}

#[test]
fn all_packets_of_dctcp_are_ecn_capable() {
    // RFC 8257 section 3.3 (Linux: SYN and acknowledgements, too).
    Script::client("dctcp").run(
        "0    app open
         0    >  SEW [ect0]
         100  <  S.E ack 1 win 64000 mss 1000
         100  >  .  1:1 [ect0]",
    );
}

#[test]
fn dctcp_reduces_by_half_of_alpha() {
    // RFC 8257 section 3.3: alpha starts at 1 (Linux), so the first mark halves.
    Script::client("dctcp").peer(|p| p.ecn = true).established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .E ack 1001
         100  is ssthresh 5 state Cwr",
    );
}
