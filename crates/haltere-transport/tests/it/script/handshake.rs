//! The handshake and its options.

use super::table::Script;
use haltere_transport::Role;
use haltere_units::Dur;

#[test]
fn a_syn_offers_what_linux_offers() {
    // RFC 9293 section 3.7.1, RFC 7323, RFC 2018; the window is Linux's 64240.
    Script::client("reno").run(
        "0  app open
         0  >  S  0:0 win 64240 mss 1460 wscale 7 sackOK ts",
    );
}

#[test]
fn a_syn_is_sent_again_after_1_3_and_7_seconds() {
    // RFC 6298 section 2.1 (1 s) and 5.5 (doubled).
    Script::client("reno").run(
        "0     app open
         0     >  S  0:0
         1000  >  S  0:0
         3000  >  S  0:0
         7000  >  S  0:0
         14999 quiet",
    );
}

#[test]
fn after_the_last_syn_the_connection_is_given_up() {
    // RFC 9293 section 3.8.3, with one retransmission: 1 s and then 2 s of waiting.
    Script::new(Role::Client, "reno", |tcp| tcp.syn_retries = 1).run(
        "0     app open
         0     >  S
         1000  >  S
         2999  is closed false
         3001  is closed true
         9000  quiet",
    );
}

#[test]
fn the_third_segment_is_an_acknowledgement_alone() {
    // Linux 6.1: data that waits follows it.
    Script::client("reno").run(
        "0    app open
         0    >  S
         0    app write 500
         100  <  S. ack 1 win 64000 mss 1000 wscale 7 sackOK
         100  >  .  1:1 ack 1
         100  >  P. 1:501 ack 1",
    );
}

#[test]
fn a_peer_without_mss_option_takes_536_bytes() {
    // RFC 9293 section 3.7.1 (MUST-15).
    Script::client("reno").run(
        "0    app open
         0    >  S
         100  <  S. ack 1 win 64000
         100  >  .  1:1
         100  is mss 536
         100  app write 1072
         100  >  .  1:537
         100  >  .  537:1073",
    );
}

#[test]
fn timestamps_take_twelve_bytes_of_each_segment() {
    // RFC 7323 appendix A, RFC 6691 section 2: the MSS option counts no options.
    Script::client("reno").run(
        "0    app open
         0    >  S
         100  <  S. ack 1 win 64000 mss 1012 ts ecr 0
         100  >  .  1:1 ts
         100  is mss 1000",
    );
}

#[test]
fn without_the_peers_timestamps_none_are_sent() {
    // RFC 7323 section 3.2.
    Script::client("reno").run(
        "0    app open
         0    >  S  ts
         100  <  S. ack 1 win 64000 mss 1460 sackOK
         100  >  .  1:1 no-ts",
    );
}

#[test]
fn without_timestamps_their_room_is_used() {
    // RFC 6691 section 2. Linux 6.1: 1460 bytes.
    Script::client("reno").run(
        "0    app open
         0    >  S  mss 1460
         100  <  S. ack 1 win 64000 mss 1460 sackOK
         100  >  .  1:1
         100  is mss 1460",
    );
}

#[test]
fn without_the_peers_window_scale_windows_are_not_scaled() {
    // RFC 7323 section 2.2: both sides must have sent the option.
    Script::client("reno").peer(|p| p.wscale = None).run(
        "0    app open
         0    >  S  wscale 7
         100  <  S. ack 1 win 3000 mss 1000
         100  >  .  1:1
         100  app write 9000
         100  >  .  1:3001
         150  <  .  ack 3001 win 4000
         150  >  .  3001:7001",
    );
}

#[test]
fn the_window_of_a_syn_is_never_scaled() {
    // RFC 7323 section 2.2. The one that follows is.
    Script::client("reno").run(
        "0    app open
         0    >  S
         100  <  S. ack 1 win 2000 mss 1000 wscale 7
         100  >  .  1:1
         100  app write 9000
         100  >  .  1:2001
         150  <  .  ack 2001 win 256000
         150  >  .  2001:9001",
    );
}

#[test]
fn a_server_answers_only_what_was_offered() {
    // RFC 7323 sections 2.2 and 3.2, RFC 2018 section 2.
    Script::server("reno").run(
        "0    <  S  win 64000 mss 1000
         0    >  S. 0:0 ack 1 mss 1460 no-ts no-wscale
         100  <  .  ack 1
         100  is established true",
    );
}

#[test]
fn a_server_offers_all_that_the_client_did() {
    Script::server("reno").run(
        "0    <  S  win 64000 mss 1000 wscale 3 sackOK ts val 0
         0    >  S. 0:0 ack 1 mss 1460 ts wscale 7 sackOK ecr 0",
    );
}

#[test]
fn a_syn_ack_is_sent_again_after_1_and_3_seconds() {
    // RFC 6298 sections 2.1 and 5.5.
    Script::server("reno").run(
        "0     <  S  win 64000 mss 1000
         0     >  S. ack 1
         1000  >  S. ack 1
         3000  >  S. ack 1",
    );
}

#[test]
fn a_syn_that_comes_again_is_answered_again() {
    // RFC 9293 section 3.10.7.4: the SYN-ACK was lost.
    Script::server("reno").run(
        "0    <  S  win 64000 mss 1000
         0    >  S. ack 1
         500  <  S  win 64000 mss 1000
         500  >  S. ack 1",
    );
}

#[test]
fn a_syn_ack_that_comes_again_is_acknowledged_again() {
    // RFC 9293 section 3.10.7.4, RFC 5961 section 4: the handshake's third segment was lost.
    Script::client("reno").run(
        "0     app open
         0     >  S
         100   <  S. ack 1 win 64000 mss 1000
         100   >  .  1:1 ack 1
         1100  <  S. ack 1 win 64000 mss 1000
         1100  >  .  1:1 ack 1
         1100  is established true",
    );
}

#[test]
fn the_third_segment_may_carry_data() {
    // RFC 9293 section 3.10.7.4: first the acknowledgement, then the text. The first segments are acknowledged at once
    // (Linux).
    Script::server("reno").run(
        "0    <  S  win 64000 mss 1000
         0    >  S. ack 1
         100  <  P. 1:501 ack 1
         100  >  .  1:1 ack 501
         100  is received 500",
    );
}

#[test]
fn a_reset_in_answer_to_a_syn_closes() {
    // RFC 9293 section 3.10.7.3: the acknowledgement is acceptable: connection refused.
    Script::client("reno").run(
        "0    app open
         0    >  S
         100  <  R. 0:0 ack 1
         100  is reset true closed true
         9000 quiet",
    );
}

#[test]
fn a_reset_that_acknowledges_nothing_does_not_close() {
    // RFC 9293 section 3.10.7.3: without an acceptable ACK the segment is dropped.
    Script::client("reno").run(
        "0    app open
         0    >  S
         100  <  R  0:0
         100  is closed false
         200  <  S. ack 1 win 64000 mss 1000
         200  >  .  1:1",
    );
}

#[test]
fn a_syn_ack_for_another_connection_is_reset() {
    // RFC 9293 section 3.10.7.3: SEG.ACK > SND.NXT: send a reset with SEQ = SEG.ACK.
    Script::client("reno").run(
        "0    app open
         0    >  S
         100  <  S. ack 77 win 64000 mss 1000
         100  >  R  77:77
         100  is closed false",
    );
}

#[test]
fn a_listener_resets_what_acknowledges() {
    // RFC 9293 section 3.10.7.2: any acknowledgement is bad in LISTEN. A SYN is taken after it.
    Script::server("reno").run(
        "0    <  .  1:1 ack 77
         0    >  R  77:77
         10   <  S  win 64000 mss 1000
         10   >  S. ack 1",
    );
}

#[test]
fn a_half_open_server_resets_the_acknowledgement_of_another_connection() {
    // RFC 9293 section 3.10.7.4 (SYN-RECEIVED); it waits on.
    Script::server("reno").run(
        "0    <  S  win 64000 mss 1000
         0    >  S. ack 1
         50   <  .  1:1 ack 77
         50   >  R  77:77
         60   <  .  1:1 ack 1
         60   is closed false",
    );
}

#[test]
fn a_listener_ignores_a_reset() {
    // RFC 9293 section 3.10.7.2: first check for a RST, whatever else is set.
    Script::server("reno").run(
        "0    <  SR win 64000 mss 1000
         10   quiet
         20   <  R
         3000 quiet",
    );
}

#[test]
fn a_reset_of_the_half_open_server_ends_it() {
    // RFC 9293 section 3.10.7.4 (SYN-RECEIVED).
    Script::server("reno").run(
        "0     <  S  win 64000 mss 1000
         0     >  S. ack 1
         50    <  R. 1:1 ack 1
         50    is reset true
         9000  quiet",
    );
}

#[test]
fn the_handshake_gives_the_first_round_trip_time() {
    // RFC 6298 section 2.2: RTO = SRTT + 4 RTTVAR = R + 4 R / 2.
    Script::client("reno").run(
        "0    app open
         0    >  S
         100  <  S. ack 1 win 64000 mss 1000
         100  >  .  1:1
         100  is srtt 100 rto 300",
    );
}

#[test]
fn without_a_sample_from_the_handshake_the_timeout_is_3_seconds() {
    // RFC 6298 section 5.7: the SYN's timer had expired, and no sample may be taken (Karn).
    Script::client("reno").run(
        "0     app open
         0     >  S
         1000  >  S
         1100  <  S. ack 1 win 64000 mss 1000
         1100  >  .  1:1
         1100  is rto 3000",
    );
}

#[test]
fn timestamps_give_a_sample_though_the_syn_was_repeated() {
    // RFC 7323 section 4.1 lifts Karn's restriction.
    Script::client("reno").run(
        "0     app open
         0     >  S
         1000  >  S
         1100  <  S. ack 1 win 64000 mss 1012 ts ecr 1000
         1100  >  .  1:1
         1100  is srtt 100 rto 300",
    );
}

#[test]
fn one_lost_syn_leaves_the_initial_window() {
    // RFC 6928 section 2: not reset to one segment after a single retransmission of the SYN.
    Script::client("reno").run(
        "0     app open
         0     >  S
         1000  >  S
         1100  <  S. ack 1 win 64000 mss 1000
         1100  >  .  1:1
         1100  app write 20000
         1100  >  .  1:10001",
    );
}

#[test]
fn two_lost_syns_leave_a_window_of_one_segment() {
    // RFC 6928 section 2: "unless there have been more than one SYN or SYN/ACK retransmissions"; Linux does so.
    Script::client("reno").run(
        "0     app open
         0     >  S
         1000  >  S
         3000  >  S
         3100  <  S. ack 1 win 64000 mss 1000
         3100  >  .  1:1
         3100  is cwnd 1",
    );
}

#[test]
fn a_fixed_receive_buffer_sets_the_scale() {
    // RFC 7323 section 2.3: the least shift with which 16 bits hold the buffer: 1 MiB needs 5 (rounded up to the unit).
    Script::new(Role::Client, "reno", |tcp| {
        tcp.recv_buffer = Some(haltere_units::Bytes::new(1_000_000));
        tcp.initial_rto = Dur::from_secs(1);
    })
    .run(
        "0    app open
         0    >  S  win 65535 wscale 4",
    );
}
