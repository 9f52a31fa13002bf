//! Accurate ECN feedback (RFC 9768). The ACE field is written by its flags: A is 4, W is 2, E is 1.

use super::table::Script;
use haltere_transport::{AccurateEcn, Role};

fn client() -> Script {
    Script::new(Role::Client, "reno", |tcp| tcp.accurate_ecn = AccurateEcn::Ace)
}
fn server(feedback: AccurateEcn) -> Script {
    Script::new(Role::Server, "reno", |tcp| (tcp.accurate_ecn, tcp.quick_acks) = (feedback, 0))
}
/// A client whose SYN-ACK came back without a mark.
const OPEN: &str = "
     0    app open
     0    >  SEWA [not-ect]
     100  <  S.W ack 1 win 64000 mss 1000 wscale 7 sackOK
     100  >  .W 1:1
     100  app write 10000
     100  >  .EA 1:10001 [ect0]
";

#[test]
fn a_syn_asks_with_three_flags_and_the_third_segment_reports_the_answers_mark() {
    // Section 3.1.1, table 2 and table 3: ECT(1) arrived on the SYN (011), CE on the SYN-ACK (110).
    client().run(
        "0    app open
         0    >  SEWA [not-ect]
         100  <  S.WE ack 1 win 64000 mss 1000 [ce]
         100  >  .WA 1:1
         100  is ecn true
         100  app write 1000
         100  >  P.WA 1:1001 [ect0]          # 6: the SYN-ACK was the sixth mark, counted from 5",
    );
}

#[test]
fn acknowledgements_are_ecn_capable_unless_they_are_not_to_be() {
    for (ect_acks, code) in [(true, "[ect0]"), (false, "[not-ect]")] {
        let change = |tcp: &mut haltere_transport::TcpParams| {
            (tcp.accurate_ecn, tcp.ect_acks) = (AccurateEcn::Ace, ect_acks);
        };
        Script::new(Role::Server, "reno", change).run(&format!(
            "0    <  SEWA win 64000 mss 1000
             0    >  S.W 0:0 [not-ect]
             100  <  .W ack 1
             110  <  .EA 1:501 ack 1 [ect0]
             110  >  .EA ack 501 {code}"
        ));
    }
}

#[test]
fn a_server_that_knows_only_one_bit_is_answered_with_one_bit() {
    // Table 2, row 001.
    client().run(
        "0    app open
         0    >  SEWA
         100  <  S.E ack 1 win 64000 mss 1000
         100  >  .  1:1
         100  app write 2000
         100  >  P. 1:2001 [ect0]
         200  <  .E ack 1001
         200  is state Cwr ecn_reductions 1",
    );
}

#[test]
fn a_server_without_ecn_gets_none() {
    client().run(
        "0    app open
         0    >  SEWA
         100  <  S. ack 1 win 64000 mss 1000
         100  >  .  1:1
         100  is ecn false
         100  app write 1000
         100  >  P. 1:1001 [not-ect]",
    );
}

#[test]
fn a_server_reports_the_mark_of_the_syn() {
    server(AccurateEcn::Ace).run(
        "0    <  SEWA win 64000 mss 1000 [ect0]
         0    >  S.A 0:0
         100  <  .W ack 1
         100  is ecn true",
    );
}

#[test]
fn a_server_asked_for_one_bit_gives_one_bit() {
    server(AccurateEcn::Ace).run(
        "0    <  SEW win 64000 mss 1000
         0    >  S.E 0:0
         100  <  .  ack 1
         100  is ecn true
         110  <  .  1:1001 ack 1 [ce]
         110  >  .E ack 1001",
    );
}

#[test]
fn after_a_cleared_field_nothing_is_ecn_capable_and_marks_are_still_reported() {
    // Section 3.2.2.1, table 4, row 000 with note 1.
    server(AccurateEcn::Ace).run(
        "0    <  SEWA win 64000 mss 1000
         0    >  S.W 0:0
         100  <  .  ack 1
         110  <  .WA 1:501 ack 1 [ce]
         110  >  .WA ack 501
         120  app write 1000
         120  >  P.WA 1:1001 [not-ect]
         200  <  .EA 501:501 ack 1001
         200  is delivered_ce 0 ecn_reductions 0",
    );
}

#[test]
fn a_mark_of_the_syn_is_reported_once_and_not_counted() {
    // Section 3.2.2.2: the counter of the server stays 5, and so does the client's idea of it.
    server(AccurateEcn::Ace).run(
        "0    <  SEWA win 64000 mss 1000 [ce]
         0    >  S.WA 0:0
         100  <  .W ack 1
         110  <  .EA 1:501 ack 1 [not-ect]
         152  >  .EA ack 501                 # 5",
    );
    client().run(
        "0    app open
         0    >  SEWA [not-ect]
         100  <  S.WA ack 1 win 64000 mss 1000
         100  >  .W 1:1
         100  app write 1000
         100  >  P.EA 1:1001 [ect0]
         200  <  .WA ack 1001                # 6: the first mark
         200  is delivered_ce 1",
    );
}

#[test]
fn reserved_flags_mean_counters() {
    // Section 3.1.3.
    server(AccurateEcn::Ace).run(
        "0    <  SA win 64000 mss 1000
         0    >  S.W 0:0
         100  <  .W ack 1
         100  is ecn true",
    );
    client().run(
        "0    app open
         0    >  SEWA [not-ect]
         100  <  S.EA ack 1 win 64000 mss 1000
         100  >  .W 1:1
         100  is ecn true",
    );
}

#[test]
fn the_syn_ack_reports_the_latest_syn_and_a_plain_one_ends_ect() {
    // Section 3.1.5.
    server(AccurateEcn::Ace).run(
        "0    <  SEWA win 64000 mss 1000
         0    >  S.W 0:0
         500  <  SEWA win 64000 mss 1000 [ect0]
         500  >  S.A 0:0
         700  <  S win 64000 mss 1000 [ect1]
         700  >  S.EW 0:0
         800  <  .W ack 1
         800  app write 1000
         800  >  P.EA 1:1001 [not-ect]",
    );
}

#[test]
fn two_kinds_of_syn_end_the_connection() {
    // Section 3.1.5: the ends would not know which of them counts.
    server(AccurateEcn::Ace).run(
        "0    <  SEWA win 64000 mss 1000
         0    >  S.W 0:0
         500  <  SEW win 64000 mss 1000
         500  >  R. 1:1",
    );
}

#[test]
fn a_lost_syn_asks_once_more() {
    // Section 3.1.4.1.
    client().run(
        "0     app open
         0     >  SEWA
         1000  >  SEWA
         3000  >  S",
    );
}

#[test]
fn a_repeated_syn_ack_is_answered_with_the_code_of_the_handshake() {
    // Section 3.2.2.1; its mark counts once.
    client().run(
        "0    app open
         0    >  SEWA [not-ect]
         100  <  S.W ack 1 win 64000 mss 1000
         100  >  .W 1:1
         300  <  S.W ack 1 win 64000 mss 1000 [ce]
         300  >  .WA 1:1
         300  app write 1000
         300  >  P.WA 1:1001 [ect0]",
    );
}

#[test]
fn the_first_mark_and_then_every_second_bring_an_acknowledgement_with_the_count() {
    // Section 3.2.2.5.1. ACE is 6 (A and W), then 0.
    server(AccurateEcn::Ace).run(
        "0    <  SEWA win 64000 mss 1000
         0    >  S.W 0:0
         100  <  .W ack 1
         110  <  .EA 1:301 ack 1 [ce]
         110  >  .WA ack 301 counts none
         111  <  .EA 301:601 ack 1 [ce]
         112  <  .EA 601:901 ack 1 [ce]
         112  >  . ack 901 counts none",
    );
}

#[test]
fn a_full_segment_has_no_room_for_the_option_or_for_blocks() {
    // RFC 9293 section 3.7.1: payload and options are at most the maximum segment size.
    server(AccurateEcn::Option).run(
        "0    <  SEWA win 64000 mss 1000 sackOK
         0    >  S.W 0:0
         100  <  .W ack 1
         110  <  .EA 1:501 ack 1 [ce]
         110  >  .WA ack 501 counts 1,500,1
         120  <  .EA 501:901 ack 1 [ect0]
         120  app write 1000
         120  >  P.WA 1:1001 ack 901 counts none
         130  <  .EA 1001:1101 ack 1 [ect0]
         130  >  .WA ack 901 sack 1001:1101",
    );
}

#[test]
fn the_option_counts_bytes_and_is_left_out_if_nothing_changed() {
    // Section 3.2.3: counters start at 1, 0, 1. A change of the codepoint is acknowledged at once.
    server(AccurateEcn::Option).run(
        "0    <  SEWA win 64000 mss 1000
         0    >  S.W 0:0 counts none
         100  <  .W ack 1
         110  <  .EA 1:601 ack 1 [ect1]
         111  <  .EA 601:1001 ack 1 [ce]
         111  >  .WA ack 1001 counts 1,400,601
         112  <  .EA 401:1001 ack 1 [not-ect]
         112  >  .WA ack 1001 counts none",
    );
}

#[test]
fn marks_reduce_once_in_a_window_and_each_is_counted() {
    // RFC 9768 section 3.2.2.5; RFC 3168 section 6.1.2 for Reno. No CWR is sent: the flag counts.
    let info = client().run(&format!(
        "{OPEN}
         200  <  .WA ack 2001                # 6
         200  is state Cwr ecn_reductions 1 ssthresh 5 delivered_ce 1
         201  <  .EWA ack 4001               # 7
         202  <  . ack 6001                  # 8
         202  is ecn_reductions 1 delivered_ce 3"
    ));
    assert_eq!(info.bytes_delivered_ce.min(3000), 3000);
}

#[test]
fn an_old_acknowledgement_changes_no_count() {
    // Section 3.2.2.5.2: an acknowledgement that was overtaken would look like a wrap of the field.
    client().run(&format!(
        "{OPEN}
         200  <  .EWA ack 4001               # 7: two marks
         201  <  .WA ack 2001                # 6, overtaken
         201  is delivered_ce 2
         202  <  .EWA ack 6001
         202  is delivered_ce 2"
    ));
}

#[test]
fn data_that_is_sent_again_is_ecn_capable_too() {
    let table = format!(
        "{OPEN}
         200  <  .EA ack 1 sack 1001:5001
         200  >  .EA 1:1001 [ect0]"
    );
    client().run(&table);
}

#[test]
fn prague_sends_ect1_on_acknowledgements_too() {
    // RFC 9331 section 4.1; Linux's accurate ECN.
    Script::new(Role::Client, "prague", |_| {}).run(
        "0    app open
         0    >  SEWA [not-ect]
         100  <  S.W ack 1 win 64000 mss 1000 wscale 7
         100  >  .W 1:1 [ect1]
         100  app write 1000
         100  >  P.EA 1:1001 [ect1]",
    );
}

#[test]
fn prague_without_a_receiver_that_counts_sends_ect0_and_halves() {
    Script::new(Role::Client, "prague", |_| {}).run(
        "0    app open
         0    >  SEWA
         100  <  S.E ack 1 win 64000 mss 1000 wscale 7
         100  >  .  1:1
         100  app write 1000
         100  >  P. 1:1001 [ect0]
         200  <  .E ack 1001
         200  is cwnd 5",
    );
}
