//! Sending data: initial window, slow start, limits, Nagle, idle times, the peer's window.

use super::table::Script;
use haltere_transport::Role;

#[test]
fn the_initial_window_is_ten_segments() {
    // RFC 6928 section 2.
    Script::client("reno").established().run(
        "0    app write 20000
         0    >  .  1:10001
         90   quiet",
    );
}

#[test]
fn slow_start_grows_by_what_is_acknowledged() {
    // RFC 5681 section 3.1 with byte counting (RFC 3465 section 2.2; Linux without its limit of two).
    Script::client("reno").established().run(
        "0    app write endless
         0    >  .  1:10001
         100  <  .  ack 1001
         100  >  .  10001:12001
         101  <  .  ack 3001
         101  >  .  12001:16001
         102  <  .  ack 10001
         102  >  .  16001:30001
         102  is cwnd 20 ssthresh inf",
    );
}

#[test]
fn a_sender_limited_by_the_application_does_not_grow_its_window() {
    // RFC 7661 section 4.3; Linux: growth only if more than half the window was in flight.
    Script::client("reno").established().run(
        "0    app write 4000
         0    >  P. 1:4001
         100  <  .  ack 4001
         100  is cwnd 10
         100  app write 4000
         100  >  P. 4001:8001
         200  <  .  ack 8001
         200  is cwnd 10",
    );
}

#[test]
fn a_window_used_by_more_than_half_grows_in_slow_start() {
    // Linux: a window below twice what was in flight counts as used; all that is acknowledged is added.
    Script::client("reno").established().run(
        "0    app write 6000
         0    >  P. 1:6001
         100  <  .  ack 6001
         100  is cwnd 16",
    );
}

#[test]
fn the_peers_window_limits() {
    // RFC 9293 section 3.8.6.
    Script::client("reno").established().run(
        "0    app write 2000
         0    >  P. 1:2001
         100  <  .  ack 2001 win 3072
         100  app write 9000
         100  >  .  2001:5001
         200  <  .  ack 5001 win 2048
         200  >  .  5001:7001
         290  quiet",
    );
}

#[test]
fn a_small_segment_waits_while_one_is_unacknowledged() {
    // RFC 9293 section 3.7.4 (Nagle), in Minshall's variant.
    Script::client("reno").established().run(
        "0    app write 100
         0    >  P. 1:101
         1    app write 100
         50   quiet
         100  <  .  ack 101
         100  >  P. 101:201",
    );
}

#[test]
fn a_small_segment_follows_full_ones_at_once() {
    // Minshall's variant: only a small segment in flight holds back the next.
    Script::client("reno").established().run(
        "0    app write 2500
         0    >  P. 1:2501
         1    app write 100
         50   quiet",
    );
}

#[test]
fn without_nagle_small_segments_go() {
    // RFC 9293 section 3.7.4 (MUST-17: it can be disabled).
    Script::new(Role::Client, "reno", |tcp| tcp.nagle = false).established().run(
        "0    app write 100
         0    >  P. 1:101
         1    app write 100
         1    >  P. 101:201",
    );
}

#[test]
fn an_idle_time_of_one_timeout_halves_the_window_down_to_the_initial_one() {
    // RFC 5681 section 4.1, RFC 2861 section 3 (Linux): halved once a timeout. RTO = 300 ms: after 400 ms, 20 -> 10.
    Script::client("reno").established().run(
        "0    app write 20000
         0    >  .  1:10001
         100  <  .  ack 10001
         100  >  .  10001:20001
         200  <  .  ack 20001
         200  is cwnd 20
         700  app write endless
         700  >  .  20001:30001",
    );
}

#[test]
fn a_window_kept_over_an_idle_time() {
    // Linux: net.ipv4.tcp_slow_start_after_idle = 0.
    Script::new(Role::Client, "reno", |tcp| tcp.slow_start_after_idle = false).established().run(
        "0    app write 20000
         0    >  .  1:10001
         100  <  .  ack 10001
         100  >  .  10001:20001
         200  <  .  ack 20001
         700  app write endless
         700  >  .  20001:40001",
    );
}

#[test]
fn a_closed_window_is_probed_at_growing_intervals() {
    // RFC 9293 section 3.8.6.1 (SHLD-29, 30): after the timeout, then doubled; with a number that the peer has.
    Script::client("reno").established().run(
        "0     app write 1000
         0     >  P. 1:1001
         100   <  .  ack 1001 win 0
         100   app write 5000
         400   >  .  1000:1000
         1000  >  .  1000:1000
         2200  >  .  1000:1000
         2300  <  .  ack 1001 win 64000
         2300  >  P. 1001:6001",
    );
}

#[test]
fn an_answered_window_probe_never_gives_up() {
    // RFC 9293 section 3.8.6.1 (MUST-37): the peer may keep its window closed for as long as it answers.
    Script::new(Role::Client, "reno", |tcp| tcp.max_retries = 2).established().run(
        "0     app write 1000
         0     >  P. 1:1001
         100   <  .  ack 1001 win 0
         100   app write 5000
         400   >  .  1000:1000
         400   <  .  ack 1001 win 0
         1000  >  .  1000:1000
         1000  <  .  ack 1001 win 0
         2200  >  .  1000:1000
         2200  <  .  ack 1001 win 0
         4600  >  .  1000:1000
         4600  <  .  ack 1001 win 0
         4600  is reset false",
    );
}

#[test]
fn a_window_that_moves_back_takes_nothing_back() {
    // RFC 9293 section 3.8.6 (MUST-34): the sender must be robust against a window that shrinks.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1001 win 1024
         100  app write 2000
         100  is unacked 9
         150  <  .  ack 10001 win 8064
         150  >  P. 10001:12001",
    );
}

#[test]
fn what_acknowledges_unsent_data_is_answered_and_ignored() {
    // RFC 9293 section 3.10.7.4: SEG.ACK > SND.NXT: send an ACK, drop the segment.
    Script::client("reno").established().run(
        "0    app write 2000
         0    >  P. 1:2001
         50   <  .  ack 9001
         50   >  .  2001:2001 ack 1
         50   is acked 0",
    );
}

#[test]
fn an_old_acknowledgement_changes_nothing() {
    // RFC 9293 section 3.10.7.4: SEG.ACK < SND.UNA is a duplicate.
    Script::client("reno").established().run(
        "0    app write endless
         0    >  .  1:10001
         100  <  .  ack 10001
         100  >  .  10001:30001
         101  <  .  ack 5001
         150  quiet
         150  is unacked 20 state Open",
    );
}
