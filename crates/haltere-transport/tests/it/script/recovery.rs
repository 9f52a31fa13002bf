//! Fast recovery: duplicates, NewReno, SACK, proportional rate reduction, RACK.

use super::table::Script;
use haltere_transport::Role;

fn without_sack() -> Script {
    Script::client("reno").peer(|p| p.sack = false).established()
}

#[test]
fn three_duplicates_bring_the_lost_segment_again() {
    // RFC 5681 section 3.2, RFC 3042 (limited transmit for the first two).
    without_sack().run(
        "0    app write endless
         0    >  .  1:10001
         100  <  .  ack 1
         100  >  .  10001:11001
         100  <  .  ack 1
         100  >  .  11001:12001
         100  is recoveries 0
         100  <  .  ack 1
         100  >  .  1:1001
         100  is recoveries 1 ssthresh 5",
    );
}

#[test]
fn two_duplicates_are_no_loss() {
    // RFC 5681 section 3.2.
    without_sack().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1
         100  <  .  ack 1
         101  <  .  ack 10001
         290  quiet
         290  is recoveries 0 retransmissions 0 state Open",
    );
}

#[test]
fn a_segment_with_data_is_no_duplicate_acknowledgement() {
    // RFC 5681 section 2: a duplicate carries no data.
    without_sack().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  1:1001 ack 1
         100  >  .  ack 1001
         100  <  .  1001:2001 ack 1
         100  >  .  ack 2001
         100  <  .  2001:3001 ack 1
         100  >  .  ack 3001
         100  is recoveries 0",
    );
}

#[test]
fn a_window_update_is_no_duplicate_acknowledgement() {
    // RFC 5681 section 2: the advertised window equals the last one.
    without_sack().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 win 500096
         100  <  .  ack 1 win 500224
         100  <  .  ack 1 win 500352
         100  is recoveries 0",
    );
}

#[test]
fn a_partial_acknowledgement_repeats_the_next_hole() {
    // RFC 6582 section 3.2 step 3 (no SACK).
    without_sack().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1
         100  <  .  ack 1
         100  <  .  ack 1
         100  >  .  1:1001
         200  <  .  ack 5001
         200  >  .  5001:6001
         200  is state Recovery recoveries 1
         300  <  .  ack 10001
         300  is recoveries 1",
    );
}

#[test]
fn without_sack_the_episode_ends_above_recover() {
    // RFC 6582 section 3.2, "careful" variant (Linux): an acknowledgement of just `recover` leaves recovery open.
    without_sack().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1
         100  <  .  ack 1
         100  <  .  ack 1
         100  >  .  1:1001
         200  <  .  ack 10001
         200  is state Recovery
         200  app write 1000
         200  >  P. 10001:11001
         300  <  .  ack 11001
         300  is state Open",
    );
}

#[test]
fn three_sacked_segments_bring_the_hole_at_once() {
    // RFC 6675 section 5 (DupThresh), RFC 8985 section 6.2 (Linux: no wait then).
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:4001
         100  >  .  1:1001
         100  is state Recovery sacked 3 lost 1",
    );
}

#[test]
fn both_holes_are_repaired_in_one_round_trip() {
    // RFC 6675 section 5: NextSeg rule 1 goes on with the next hole.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:4001,5001:9001
         100  >  .  1:1001
         100  >  .  4001:5001
         101  <  .  ack 1 sack 1001:4001,5001:10001
         200  <  .  ack 10001
         200  is state Open recoveries 1 retransmissions 2",
    );
}

#[test]
fn what_is_sacked_is_not_repeated() {
    // RFC 2018 section 5.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:10001
         100  >  .  1:1001
         290  quiet",
    );
}

#[test]
fn a_sack_block_below_the_acknowledged_stream_marks_nothing() {
    // RFC 2883 section 4: it is a report of a duplicate.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 5001
         101  <  .  ack 5001 sack 1:1001
         101  is sacked 0 state Open",
    );
}

#[test]
fn a_sack_block_of_unsent_data_is_ignored() {
    // RFC 2018 section 3: a block reports what was received; nobody can have what was not sent.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 20001:24001
         100  is sacked 0 lost 0 recoveries 0",
    );
}

#[test]
fn proportional_rate_reduction_sends_one_for_two() {
    // RFC 6937 section 3.1: from ten to five, after k deliveries ceil(k 5 / 10) were sent: 2, 2, 3, 3. With five in
    // flight one goes for each that is delivered beyond.
    Script::client("reno").established().run(
        "0    app write endless
         0    >  .  1:10001
         100  <  .  ack 1 sack 1001:4001
         100  >  .  1:1001
         100  >  .  10001:11001
         101  <  .  ack 1 sack 1001:5001
         102  <  .  ack 1 sack 1001:6001
         102  >  .  11001:12001
         103  <  .  ack 1 sack 1001:7001
         104  <  .  ack 1 sack 1001:8001
         104  is in_flight 5
         105  <  .  ack 1 sack 1001:9001
         105  >  .  12001:13001",
    );
}

#[test]
fn after_recovery_the_window_is_the_threshold() {
    // RFC 6675 section 5, RFC 6937: cwnd = ssthresh when all of the episode is acknowledged.
    Script::client("cubic").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:10001
         100  >  .  1:1001
         200  <  .  ack 10001
         200  is cwnd 7 ssthresh 7 state Open",
    );
}

#[test]
fn one_sacked_segment_waits_a_quarter_of_the_round_trip() {
    // RFC 8985 section 6.2 step 4: min_RTT / 4 = 25 ms after the RTT; two ticks of 4 ms more (Linux).
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:2001
         100  is state Disorder
         132  quiet
         133  >  .  1:1001
         133  is state Recovery",
    );
}

#[test]
fn a_segment_that_comes_within_the_reordering_window_is_not_lost() {
    // RFC 8985 section 3.2.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:2001
         120  <  .  ack 2001
         150  quiet
         150  is state Open recoveries 0 retransmissions 0",
    );
}

#[test]
fn reordering_that_was_seen_makes_rack_wait() {
    // RFC 8985 section 6.2 step 4: after reordering was seen, three SACKed segments alone start nothing.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:2001
         110  <  .  ack 10001
         111  app write 10000
         111  >  P. 10001:20001
         211  <  .  ack 11001 sack 12001:16001
         211  is state Disorder",
    );
}

#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    // RFC 8985 section 6.1: RACK finds lost retransmissions without a timeout.
    Script::client("reno").established().run(
        "0    app write endless
         0    >  .  1:10001
         100  <  .  ack 1 sack 1001:4001
         100  >  .  1:1001
         100  >  .  10001:11001
         101  <  .  ack 1 sack 1001:10001
         101  >  .  11001:14001
         201  <  .  ack 1 sack 1001:11001
         201  >  .  1:1001
         201  >  .  14001:15001
         201  is timeouts 0 recoveries 1",
    );
}

#[test]
fn a_segment_sent_before_the_retransmission_says_nothing_of_it() {
    // RFC 8985 section 6.2 step 2: only a segment sent later counts.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:4001
         100  >  .  1:1001
         150  <  .  ack 1 sack 1001:9001
         150  is lost 1 retransmitting 1
         180  quiet",
    );
}

#[test]
fn counting_marks_lost_below_three_sacked_segments() {
    // RFC 6675 section 4, IsLost, with RACK off: segment 1 has three SACKed above it, segment 3 only two.
    Script::new(Role::Client, "reno", |tcp| tcp.rack = false).established().run(
        "0    app write 10000
         0    >  P. 1:10001
         100  <  .  ack 1 sack 1001:2001,3001:5001
         100  >  .  1:1001
         100  is lost 1",
    );
}
