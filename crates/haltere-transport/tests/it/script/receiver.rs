//! The receiving side: acknowledgements, SACK and DSACK blocks, timestamps.

use super::table::Script;
use haltere_transport::Role;

/// A receiver past its first segments: acknowledgements are delayed.
fn server() -> Script {
    Script::new(Role::Server, "reno", |tcp| tcp.quick_acks = 0).established()
}

#[test]
fn every_second_full_segment_is_acknowledged() {
    // RFC 5681 section 4.2.
    server().run(
        "0    <  .  1:1001 ack 1
         1    <  .  1001:2001 ack 1
         1    >  .  1:1 ack 2001
         2    <  .  2001:3001 ack 1
         3    <  .  3001:4001 ack 1
         3    >  .  ack 4001",
    );
}

#[test]
fn one_segment_is_acknowledged_after_40_to_44_ms() {
    // RFC 9293 section 3.8.6.3 (at most 500 ms); Linux: 40 ms, to the next tick of 4 ms.
    server().run(
        "0    <  .  1:1001 ack 1
         43   quiet
         44   >  .  ack 1001",
    );
}

#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    // Linux: quick acknowledgements while the sender is in slow start.
    Script::server("reno").established().run(
        "0    <  .  1:1001 ack 1
         0    >  .  ack 1001
         1    <  .  1001:2001 ack 1
         1    >  .  ack 2001
         2    <  .  2001:3001 ack 1
         2    >  .  ack 3001",
    );
}

#[test]
fn data_out_of_order_is_acknowledged_at_once() {
    // RFC 5681 section 4.2, RFC 2018 section 4.
    server().run(
        "0    <  .  1001:2001 ack 1
         0    >  .  ack 1 sack 1001:2001",
    );
}

#[test]
fn the_newest_block_comes_first() {
    // RFC 2018 section 4.
    server().run(
        "0    <  .  1001:2001 ack 1
         0    >  .  ack 1 sack 1001:2001
         1    <  .  5001:6001 ack 1
         1    >  .  ack 1 sack 5001:6001,1001:2001
         2    <  .  3001:4001 ack 1
         2    >  .  ack 1 sack 3001:4001,5001:6001,1001:2001",
    );
}

#[test]
fn with_timestamps_three_blocks_fit() {
    // RFC 2018 section 3: 40 bytes of options.
    Script::new(Role::Server, "reno", |tcp| (tcp.quick_acks, tcp.sack_delay) = (0, haltere_units::Dur::ZERO))
        .with_timestamps()
        .established()
        .run(
            "0    <  .  1001:2001 ack 1
             0    >  .  ack 1 sack 1001:2001
             1    <  .  3001:4001 ack 1
             1    >  .  ack 1 sack 3001:4001,1001:2001
             2    <  .  5001:6001 ack 1
             2    >  .  ack 1 sack 5001:6001,3001:4001,1001:2001
             3    <  .  7001:8001 ack 1
             3    >  .  ack 1 sack 7001:8001,5001:6001,3001:4001",
        );
}

#[test]
fn without_timestamps_four_blocks_fit() {
    // RFC 2018 section 3.
    Script::new(Role::Server, "reno", |tcp| (tcp.quick_acks, tcp.sack_delay) = (0, haltere_units::Dur::ZERO))
        .established()
        .run(
            "0    <  .  1001:2001 ack 1
             0    >  .  sack 1001:2001
             1    <  .  3001:4001 ack 1
             1    >  .  sack 3001:4001,1001:2001
             2    <  .  5001:6001 ack 1
             2    >  .  sack 5001:6001,3001:4001,1001:2001
             3    <  .  7001:8001 ack 1
             3    >  .  ack 1 sack 7001:8001,5001:6001,3001:4001,1001:2001",
        );
}

#[test]
fn blocks_that_touch_become_one() {
    // RFC 2018 section 3: a block is a contiguous range.
    server().run(
        "0    <  .  1001:2001 ack 1
         0    >  .  sack 1001:2001
         1    <  .  2001:3001 ack 1
         1    >  .  sack 1001:3001",
    );
}

#[test]
fn without_sack_a_duplicate_has_no_blocks() {
    // RFC 2018 section 4: only if the peer permitted it.
    Script::server("reno").peer(|p| p.sack = false).established().run(
        "0    <  .  1001:2001 ack 1
         0    >  .  ack 1 sack none",
    );
}

#[test]
fn a_filled_hole_is_acknowledged_at_once() {
    // RFC 5681 section 4.2.
    server().run(
        "0    <  .  1001:2001 ack 1
         0    >  .  ack 1 sack 1001:2001
         5    <  .  1:1001 ack 1
         5    >  .  ack 2001 sack none",
    );
}

#[test]
fn a_repeated_segment_is_reported() {
    // RFC 2883 section 4.1.1.
    server().run(
        "0    <  .  1:1001 ack 1
         1    <  .  1001:2001 ack 1
         1    >  .  ack 2001
         5    <  .  1:1001 ack 1
         5    >  .  ack 2001 sack 1:1001
         6    <  .  2001:3001 ack 1
         7    <  .  3001:4001 ack 1
         7    >  .  ack 4001 sack none",
    );
}

#[test]
fn a_segment_repeated_in_part_is_reported_in_part() {
    // RFC 2883 section 4.2: only the bytes received twice.
    server().run(
        "0    <  .  1:1001 ack 1
         1    <  .  1001:2001 ack 1
         1    >  .  ack 2001
         5    <  .  1501:2501 ack 1
         48   >  .  ack 2501 sack 1501:2001",
    );
}

#[test]
fn a_repetition_out_of_order_is_reported_before_its_block() {
    // RFC 2883 section 4.1.2: the first block is the duplicate, the second the block that holds it.
    server().run(
        "0    <  .  1001:3001 ack 1
         0    >  .  ack 1 sack 1001:3001
         1    <  .  1001:2001 ack 1
         1    >  .  ack 1 sack 1001:2001,1001:3001",
    );
}

#[test]
fn data_beyond_the_window_is_not_taken() {
    // RFC 9293 section 3.10.7.4: an unacceptable segment is answered with an ACK.
    let script = Script::new(Role::Server, "reno", |tcp| {
        tcp.quick_acks = 0;
        tcp.recv_buffer = Some(haltere_units::Bytes::new(4000));
    });
    script.established().run(
        "0    <  .  9001:10001 ack 1
         0    >  .  1:1 ack 1 sack none
         0    is received 0",
    );
}

#[test]
fn an_unread_buffer_closes_the_window_and_reading_opens_it() {
    // RFC 9293 section 3.8.6.2.2: the receiver's silly window avoidance: not before a segment fits.
    let script = Script::new(Role::Server, "reno", |tcp| {
        tcp.recv_buffer = Some(haltere_units::Bytes::new(4000));
    });
    script.established().run(
        "0    <  .  1:1001 ack 1
         0    >  .  ack 1001 win 3000
         1    <  .  1001:2001 ack 1
         1    >  .  ack 2001 win 2000
         2    <  .  2001:3001 ack 1
         3    <  .  3001:4001 ack 1
         3    >  .  ack 4001 win 0
         9    app read 4000
         9    >  .  ack 4001 win 4000",
    );
}

#[test]
fn a_window_probe_is_answered() {
    // RFC 9293 section 3.8.6.1: a segment below the window is acknowledged.
    server().run(
        "0    <  .  0:0 ack 1
         0    >  .  1:1 ack 1",
    );
}

#[test]
fn an_old_timestamp_marks_an_old_duplicate() {
    // RFC 7323 section 5.3 R1 (PAWS): not taken, but acknowledged.
    Script::new(Role::Server, "reno", |tcp| tcp.quick_acks = 0).with_timestamps().established().run(
        "10   <  .  1:1001 ack 1
         11   <  .  1001:2001 ack 1
         11   >  .  ack 2001
         20   <  .  2001:3001 ack 1 val 0
         20   >  .  ack 2001
         20   is received 2000",
    );
}

#[test]
fn the_echo_is_that_of_the_segment_acknowledged_first() {
    // RFC 7323 section 4.3: with delayed acknowledgements the earliest unacknowledged segment's timestamp.
    Script::new(Role::Server, "reno", |tcp| tcp.quick_acks = 0).with_timestamps().established().run(
        "10   <  .  1:1001 ack 1
         15   <  .  1001:2001 ack 1
         15   >  .  ack 2001 ecr 10",
    );
}

#[test]
fn the_echo_of_data_out_of_order_is_that_of_the_last_segment_in_order() {
    // RFC 7323 section 4.3.
    Script::new(Role::Server, "reno", |tcp| tcp.quick_acks = 0).with_timestamps().established().run(
        "10   <  .  1:1001 ack 1
         11   <  .  1001:2001 ack 1
         11   >  .  ack 2001 ecr 10
         20   <  .  3001:4001 ack 1
         20   >  .  ack 2001 ecr 10",
    );
}

#[test]
fn a_segment_without_timestamps_is_taken() {
    // Linux 6.1 takes it, though both sides agreed on them.
    Script::new(Role::Server, "reno", |tcp| tcp.quick_acks = 0).with_timestamps().established().run(
        "10   <  .  1:1001 ack 1 no-ts
         11   <  .  1001:2001 ack 1 no-ts
         11   >  .  ack 2001
         11   is received 2000",
    );
}

#[test]
fn the_timestamp_of_what_acknowledges_unsent_data_does_not_count() {
    // RFC 9293 section 3.10.7.4: the segment is dropped; RFC 7323 section 4.3 is about segments that are taken.
    Script::new(Role::Server, "reno", |tcp| tcp.quick_acks = 0).with_timestamps().established().run(
        "10   <  .  1:1001 ack 1
         11   <  .  1001:2001 ack 1
         11   >  .  ack 2001 ecr 10
         50   <  .  2001:3001 ack 99001
         50   >  .  ack 2001 ecr 10",
    );
}

#[test]
fn a_hole_that_is_filled_late_brings_quick_acknowledgements() {
    // Linux measures gaps between segments in order: 340 ms, more than the timeout of 300 ms, not 250 ms.
    let mut lines = String::new();
    for i in 0..16 {
        let (start, end) = (1000 * i + 1, 1000 * i + 1001);
        lines += &format!("0  <  .  {start}:{end} ack 1\n0  >  .  ack {end}\n");
    }
    Script::server("reno").established().run(&format!(
        "{lines}
         10   <  .  16001:17001 ack 1
         52   >  .  ack 17001
         100  <  .  18001:19001 ack 1
         100  >  .  ack 17001 sack 18001:19001
         350  <  .  17001:18001 ack 1
         350  >  .  ack 19001
         360  <  .  19001:20001 ack 1
         360  >  .  ack 20001"
    ));
}
