//! Windows of congestion controls around a reduction: Reno, CUBIC.

use super::table::Script;

/// Ten segments, of which the first is lost, and its repair a round trip later.
const ONE_LOSS: &str = "
    0    app write endless
    0    >  .  1:10001
    100  <  .  ack 1 sack 1001:2001
    100  >  .  10001:11001
    100  <  .  ack 1 sack 1001:3001
    100  >  .  11001:12001
    100  <  .  ack 1 sack 1001:4001
    100  >  .  1:1001
";

fn after_one_loss(control: &str, then: &str) {
    Script::client(control).established().run(&format!("{ONE_LOSS}{then}"));
}

#[test]
fn reno_halves() {
    // RFC 5681 section 3.2 step 2, from the window of ten (limited transmit did not raise it).
    after_one_loss("reno", "100  is ssthresh 5 recoveries 1");
}

#[test]
fn cubic_takes_seven_tenths() {
    // RFC 9438 section 4.6.
    after_one_loss("cubic", "100  is ssthresh 7 recoveries 1");
}

#[test]
fn the_window_never_falls_below_two_segments() {
    // RFC 5681 section 3.1, equation (4).
    Script::new(haltere_transport::Role::Client, "reno", |tcp| tcp.initial_window = 3).established().run(
        "0    app write 3000
         0    >  P. 1:3001
         100  <  .  ack 1 sack 1001:3001
         133  >  .  1:1001
         133  is ssthresh 2",
    );
}

#[test]
fn reno_adds_one_segment_a_window_above_the_threshold() {
    // RFC 5681 section 3.1: congestion avoidance. The nine segments that end the episode count, too (Linux): five add
    // one.
    after_one_loss(
        "reno",
        "200  <  .  ack 12001
         200  >  .  12001:18001
         200  is cwnd 6 ssthresh 5
         300  <  .  ack 18001
         300  >  .  18001:25001
         300  is cwnd 7
         400  <  .  ack 25001
         400  >  .  25001:33001
         400  is cwnd 8",
    );
}

#[test]
fn cubic_halts_its_growth_at_the_old_window() {
    // RFC 9438 section 4.2: with W_max = 10, K = cbrt(10 * 0.3 / 0.4) = 1.96 s, so the first round trips gain little:
    // the window at 0.2 s is 10 - 0.4 * 1.76^3 = 7.8 (8 in Linux's whole segments).
    Script::client("cubic").established().run(&format!(
        "{ONE_LOSS}
         101  <  .  ack 1 sack 1001:10001
         101  >  .  12001:16001
         200  <  .  ack 12001
         200  >  .  16001:19001
         200  is cwnd 7 state Open
         201  <  .  ack 16001
         201  >  .  19001:24001
         201  is cwnd 8
         300  <  .  ack 24001
         300  >  .  24001:32001
         300  is cwnd 8"
    ));
}

#[test]
fn losses_of_one_window_reduce_once() {
    // RFC 6582 section 3.2 step 1, RFC 6675 section 5: `recover`. The fifth segment is lost, too.
    after_one_loss(
        "reno",
        "101  <  .  ack 1 sack 5001:8001,1001:4001
         101  is lost 2
         102  <  .  ack 1 sack 5001:9001,1001:4001
         102  >  .  4001:5001
         102  is recoveries 1 ssthresh 5",
    );
}

#[test]
fn a_timeout_of_cubic_leaves_seven_tenths_as_threshold() {
    // RFC 9438 section 4.8, RFC 5681 section 3.1: the window is one segment.
    Script::new(haltere_transport::Role::Client, "cubic", |tcp| tcp.tlp = false).established().run(
        "0    app write endless
         0    >  .  1:10001
         300  >  .  1:1001
         300  is cwnd 1 ssthresh 7 state Loss",
    );
}

#[test]
fn vegas_reno_and_cubic_share_slow_start() {
    for control in ["reno", "cubic", "vegas"] {
        Script::client(control).established().run(
            "0    app write endless
             0    >  .  1:10001
             100  <  .  ack 2001
             100  >  .  10001:14001",
        );
    }
}
