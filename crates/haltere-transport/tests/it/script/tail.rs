//! Tail loss probes (RFC 8985 section 7).

use super::table::Script;
use haltere_transport::Role;

#[test]
fn a_probe_goes_after_two_round_trips() {
    // Section 7.2: PTO = 2 SRTT; Linux adds two ticks of 4 ms. Nothing new: the last segment.
    Script::client("reno").established().run(
        "0    app write 5000
         0    >  P. 1:5001
         207  quiet
         208  >  P. 4001:5001
         208  is timeouts 0 state Open",
    );
}

#[test]
fn a_probe_carries_new_data_if_there_is_any() {
    // Section 7.3.
    Script::client("reno").established().run(
        "0    app write endless
         0    >  .  1:10001
         208  >  .  10001:11001",
    );
}

#[test]
fn with_one_segment_in_flight_the_timeout_comes_first() {
    // Section 7.2: 2 SRTT + the worst delay of an acknowledgement, 400 ms, but not later than the timeout of 300 ms.
    Script::client("reno").established().run(
        "0    app write 1000
         0    >  P. 1:1001
         299  quiet
         300  >  P. 1:1001
         300  is timeouts 0 cwnd 10",
    );
}

#[test]
fn after_the_probe_the_retransmission_timer_runs() {
    // Section 7.3: one probe an episode.
    Script::client("reno").established().run(
        "0    app write 5000
         0    >  P. 1:5001
         208  >  P. 4001:5001
         508  >  .  1:1001
         508  is timeouts 1 state Loss",
    );
}

#[test]
fn a_probe_that_is_sacked_starts_recovery() {
    // Section 7.4 and 6.2: it shows that what was sent before it is lost. Segments 3 to 5 of five are lost.
    Script::client("cubic").established().run(
        "0    app write 5000
         0    >  P. 1:5001
         100  <  .  ack 2001
         308  >  P. 4001:5001
         408  <  .  ack 2001 sack 4001:5001
         408  >  .  2001:3001
         408  is timeouts 0 state Recovery recoveries 1",
    );
}

#[test]
fn a_probe_answered_twice_repaired_nothing() {
    // Section 7.4.2: both copies arrived: a DSACK. No reduction.
    Script::client("reno").established().run(
        "0    app write 5000
         0    >  P. 1:5001
         208  >  P. 4001:5001
         209  <  .  ack 5001
         310  <  .  ack 5001 sack 4001:5001
         310  is cwnd 10 recoveries 0 state Open",
    );
}

#[test]
fn a_probe_that_repaired_the_loss_reduces_the_window() {
    // Section 7.4.2, TLP_process_ack: the probe repaired the tail, and data beyond it is acknowledged without a DSACK.
    Script::client("reno").established().run(
        "0    app write 5000
         0    >  P. 1:5001
         100  <  .  ack 4001
         400  >  P. 4001:5001
         500  <  .  ack 5001
         500  app write 1000
         500  >  P. 5001:6001
         600  <  .  ack 6001
         600  is ssthresh 5",
    );
}

#[test]
fn without_sack_there_is_no_probe() {
    // Section 7.1: TLP requires SACK.
    Script::client("reno").peer(|p| p.sack = false).established().run(
        "0    app write 5000
         0    >  P. 1:5001
         299  quiet
         300  >  .  1:1001
         300  is timeouts 1",
    );
}

#[test]
fn no_probe_while_something_is_sacked() {
    // Section 7.1: not in recovery, nor while losses are looked for.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:10001
         100  >  .  1:1001
         399  quiet
         400  >  .  1:1001
         400  is timeouts 1",
    );
}

#[test]
fn a_probe_is_not_held_back_by_the_window() {
    // Section 7.3: one segment beyond the congestion window. Ten are in flight.
    Script::client("reno").established().run(
        "0    app write 11000
         0    >  .  1:10001
         208  >  P. 10001:11001
         208  is in_flight 11",
    );
}

#[test]
fn probes_can_be_off() {
    Script::new(Role::Client, "reno", |tcp| tcp.tlp = false).established().run(
        "0    app write 5000
         0    >  P. 1:5001
         299  quiet
         300  >  .  1:1001",
    );
}
