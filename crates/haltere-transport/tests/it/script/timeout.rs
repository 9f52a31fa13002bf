//! Retransmission timeouts (RFC 6298) and F-RTO (RFC 5682).

use super::table::Script;
use haltere_transport::Role;
use haltere_units::Dur;

/// Without tail loss probes.
fn plain() -> Script {
    Script::new(Role::Client, "reno", |tcp| tcp.tlp = false)
}

#[test]
fn a_timeout_repeats_the_oldest_segment_with_a_window_of_one() {
    // RFC 6298 section 5.4, RFC 5681 section 3.1.
    plain().established().run(
        "0    app write endless
         0    >  .  1:10001
         300  >  .  1:1001
         300  is cwnd 1 ssthresh 5 timeouts 1 state Loss
         590  quiet",
    );
}

#[test]
fn what_was_sent_before_a_retransmission_restarts_its_timer() {
    // Linux: what is SACKed at 250 ms left before the oldest segment did again, so it says nothing of that copy.
    plain().established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:4001
         100  >  .  1:1001
         250  <  .  ack 1 sack 1001:5001
         600  quiet
         600  is timeouts 0 state Recovery",
    );
}

#[test]
fn timeouts_double_and_leave_the_threshold() {
    // RFC 6298 section 5.5; RFC 5681 section 3.1: the threshold falls once.
    plain().established().run(
        "0     app write endless
         0     >  .  1:10001
         300   >  .  1:1001
         900   >  .  1:1001
         2100  >  .  1:1001
         4500  >  .  1:1001
         4500  is ssthresh 5 timeouts 4",
    );
}

#[test]
fn the_timeout_has_an_upper_bound() {
    // RFC 6298 section 2.5.
    let script = Script::new(Role::Client, "reno", |tcp| {
        tcp.tlp = false;
        tcp.max_rto = Dur::from_secs(1);
    });
    script.established().run(
        "0     app write 1000
         0     >  P. 1:1001
         300   >  P. 1:1001
         900   >  P. 1:1001
         1900  >  P. 1:1001
         2900  >  P. 1:1001",
    );
}

#[test]
fn after_the_last_timeout_the_connection_is_given_up() {
    // RFC 9293 section 3.8.3 (R2): the connection is closed. The standard leaves open whether with a reset.
    let script = Script::new(Role::Client, "reno", |tcp| {
        tcp.tlp = false;
        tcp.max_retries = 2;
    });
    script.established().run(
        "0     app write 1000
         0     >  P. 1:1001
         300   >  P. 1:1001
         900   >  P. 1:1001
         2099  is reset false
         2100  >  R.
         2100  is reset true",
    );
}

#[test]
fn an_acknowledgement_starts_the_timer_anew() {
    // RFC 6298 section 5.3.
    plain().established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1001
         399  quiet
         400  >  .  1001:2001",
    );
}

#[test]
fn a_repeated_segment_gives_no_sample() {
    // RFC 6298 section 3 (Karn): the backed-off timeout stays until a segment sent once is acknowledged.
    plain().established().run(
        "0    app write 1000
         0    >  P. 1:1001
         300  >  P. 1:1001
         350  <  .  ack 1001
         350  is srtt 100 rto 600",
    );
}

#[test]
fn with_timestamps_a_repeated_segment_gives_a_sample() {
    // RFC 7323 section 4.1: the echo says which copy is acknowledged. 100 ms again: the timeout is 300 ms.
    plain().with_timestamps().established().run(
        "0    app write 1000
         0    >  P. 1:1001
         300  >  P. 1:1001
         400  <  .  ack 1001 ecr 300
         400  is srtt 100 rto 300",
    );
}

#[test]
fn the_least_timeout_is_200_ms_above_the_round_trip() {
    // Linux: SRTT + max(4 RTTVAR, 200 ms), however steady the path.
    plain().established().run(
        "0     app write 1000
         0     >  P. 1:1001
         100   <  .  ack 1001
         100   app write 1000
         100   >  P. 1001:2001
         200   <  .  ack 2001
         200   app write 1000
         200   >  P. 2001:3001
         300   <  .  ack 3001
         300   is srtt 100 rto 300",
    );
}

#[test]
fn the_standards_rule_has_a_floor_of_one_timeout() {
    // RFC 6298 section 2.4: max(SRTT + 4 RTTVAR, minimum); RTTVAR falls by a quarter: 50, 37.5 ms.
    let script = Script::new(Role::Client, "reno", |tcp| {
        tcp.tlp = false;
        tcp.rto_rule = haltere_transport::RtoRule::Rfc6298;
    });
    script.established().run(
        "0     app write 1000
         0     >  P. 1:1001
         100   <  .  ack 1001
         100   is srtt 100 rto 250",
    );
}

#[test]
fn a_real_timeout_repairs_in_slow_start() {
    // RFC 5682 section 2.1 step 2: F-RTO tries two new segments; a duplicate (step 3a) shows the loss, and repair goes
    // on.
    plain().established().run(
        "0    app write endless
         0    >  .  1:10001
         300  >  .  1:1001
         400  <  .  ack 1001
         400  >  .  10001:12001
         500  <  .  ack 1001 sack 10001:11001
         500  >  .  1001:2001",
    );
}

#[test]
fn frto_finds_a_spurious_timeout() {
    // RFC 5682 section 2.1 step 3b: data never repeated is acknowledged: the originals arrived.
    plain().established().run(
        "0    app write 12000
         0    >  .  1:10001
         300  >  .  1:1001
         400  <  .  ack 1001
         400  >  .  10001:12001
         401  <  .  ack 3001
         401  is state Open retransmissions 1 undone 1 ssthresh inf",
    );
}

#[test]
fn without_frto_a_timeout_repeats_at_once() {
    // RFC 5681 section 3.1: slow start from the oldest segment on.
    let script = Script::new(Role::Client, "reno", |tcp| {
        tcp.tlp = false;
        tcp.frto = false;
    });
    script.established().run(
        "0    app write endless
         0    >  .  1:10001
         300  >  .  1:1001
         400  <  .  ack 1001
         400  >  .  1001:3001
         400  is state Loss cwnd 2",
    );
}

#[test]
fn a_timeout_forgets_nothing_that_is_sacked() {
    // RFC 2018 section 8 allows to keep the marks while the peer does not renege (Linux).
    plain().established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 5001:7001
         133  >  .  1:1001
         433  >  .  1:1001
         433  is sacked 2 timeouts 1",
    );
}

#[test]
fn what_the_receiver_takes_back_is_sent_again_after_half_a_round_trip() {
    // RFC 2018 section 8. Linux: an acknowledgement up to a segment that was SACKed waits for others, here 50.6 ms.
    plain().established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 2001:3001
         110  <  .  ack 2001
         160.625  >  .  2001:3001
         161  is sacked 0 timeouts 1 state Loss",
    );
}

#[test]
fn a_lone_repaired_segment_does_not_fill_the_window() {
    // Linux: a window of one with its retransmission in flight was not the limit of the application: ten remain.
    Script::new(Role::Client, "reno", |tcp| tcp.tlp = false).with_timestamps().established().run(
        "0    app write 1000
         0    >  P. 1:1001
         300  >  P. 1:1001
         310  <  .  ack 1001 ecr 0
         310  is undone 1 cwnd 10",
    );
}
