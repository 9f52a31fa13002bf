//! Reductions taken back: Eifel (RFC 3522, 4015), DSACK (RFC 3708); what a DSACK counts for.

use super::table::Script;
use haltere_transport::Role;

/// Three segments overtake the first.
const SPURIOUS: &str = "
    0    app write 10000
    0    >  P. 1:10001
    100  <  .  ack 1 sack 1001:4001 ecr 0
    100  >  .  1:1001
    100  is recoveries 1 ssthresh 5
";

#[test]
fn the_echo_of_the_original_takes_the_reduction_back() {
    // RFC 3522 section 3.2: the echo is older than the retransmission. Ten as before, and the seven newly acknowledged.
    Script::client("reno").with_timestamps().established().run(&format!(
        "{SPURIOUS}
         110  <  .  ack 10001 ecr 0
         110  is undone 1 cwnd 17 ssthresh inf state Open"
    ));
}

#[test]
fn the_echo_of_the_retransmission_does_not() {
    // RFC 3522 section 3.2: it was needed.
    Script::client("reno").with_timestamps().established().run(&format!(
        "{SPURIOUS}
         200  <  .  ack 10001 ecr 100
         200  is undone 0 ssthresh 5"
    ));
}

#[test]
fn a_dsack_of_the_retransmission_takes_the_reduction_back() {
    // RFC 3708 section 2, RFC 2883 section 4: the peer had it. All is acknowledged when the report comes.
    Script::client("reno").established().run(&format!(
        "{SPURIOUS}
         105  <  .  ack 10001
         105  is undone 0
         200  <  .  ack 10001 sack 1:1001
         200  is undone 1 cwnd 10 dsacks 1"
    ));
}

#[test]
fn one_dsack_of_two_retransmissions_does_not() {
    // RFC 3708 section 3: only if every retransmission of the window is reported.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 2001:10001
         100  >  .  1:2001
         105  <  .  ack 10001
         200  <  .  ack 10001 sack 1:1001
         200  is undone 0
         201  <  .  ack 10001 sack 1001:2001
         201  is undone 1",
    );
}

#[test]
fn a_reported_duplicate_was_delivered() {
    // Linux 6.1: it counts as one more segment delivered: ten and the copy.
    Script::client("reno").established().run(&format!(
        "{SPURIOUS}
         105  <  .  ack 10001
         200  <  .  ack 10001 sack 1:1001
         200  is delivered 11"
    ));
}

#[test]
fn an_ecn_echo_in_the_episode_keeps_the_reduction() {
    // RFC 3168 section 6.1.2: the mark called for the reduction, whatever became of the loss (Linux clears the undo
    // marker).
    Script::new(Role::Client, "reno", |tcp| tcp.ecn = true).peer(|p| p.ecn = true).with_timestamps().established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .E ack 1 sack 1001:4001 ecr 0
         100  >  .  1:1001
         110  <  .  ack 10001 ecr 0
         110  is undone 0 ssthresh 5",
    );
}

#[test]
fn undo_can_be_off() {
    Script::new(Role::Client, "reno", |tcp| tcp.undo = false).with_timestamps().established().run(&format!(
        "{SPURIOUS}
         110  <  .  ack 10001 ecr 0
         110  is undone 0 ssthresh 5"
    ));
}

#[test]
fn a_spurious_timeout_is_taken_back_by_the_echo() {
    // RFC 4015 section 3: window and threshold as before.
    Script::new(Role::Client, "reno", |tcp| tcp.tlp = false).with_timestamps().established().run(
        "0    app write endless
         0    >  .  1:10001
         300  >  .  1:1001
         350  <  .  ack 1001 ecr 0
         350  >  .  10001:12001
         350  is undone 1 ssthresh inf state Open",
    );
}

#[test]
fn originals_that_come_after_a_spurious_timeout_are_not_lost_again() {
    // RFC 8985 section 6.2 step 2: the echo is older than the retransmission, so RACK learns nothing of that.
    Script::new(Role::Client, "reno", |tcp| tcp.tlp = false).with_timestamps().established().run(
        "0    app write endless
         0    >  .  1:10001
         300  >  .  1:1001
         900  >  .  1:1001
         1500 <  .  ack 1001 ecr 0
         1500 >  .  10001:12001
         1500 is undone 1 state Open recoveries 0 lost 0",
    );
}

#[test]
fn reordering_is_learned_from_an_undo() {
    // RFC 8985 section 6.2 step 3: a segment below the highest SACKed one, never repeated, arrives.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 5001:7001
         110  <  .  ack 5001 sack 5001:7001
         110  is reordering 7 recoveries 0",
    );
}
