//! The end of a connection.

use super::table::Script;
use haltere_transport::Role;

#[test]
fn the_fin_takes_a_number_and_is_acknowledged() {
    // RFC 9293 section 3.6.
    Script::client("reno").established().run(
        "0    app write 2000
         0    >  P. 1:2001
         50   app close
         50   >  F. 2001:2001
         150  <  .  ack 2002
         150  is closed false
         160  <  F. 1:1 ack 2002
         160  >  .  ack 2
         160  is closed true",
    );
}

#[test]
fn a_fin_rides_on_data_that_waits() {
    // RFC 9293 section 3.6; Linux: on the last segment not yet sent.
    Script::client("reno").established().run(
        "0    app write 10000
         0    >  P. 1:10001
         0    app write 2000
         0    app close
         100  <  .  ack 10001
         100  >  F. 10001:12001",
    );
}

#[test]
fn the_last_segment_with_the_fin_does_not_wait_for_the_window() {
    // Linux 6.1: eleven segments and a window of ten: the eleventh goes, as it carries the FIN.
    Script::client("reno").established().run(
        "0    app write 11000 close
         0    >  F. 1:11001
         0    is in_flight 11",
    );
}

#[test]
fn a_lost_fin_is_sent_again() {
    // RFC 9293 section 3.6: it is as reliable as data.
    Script::new(Role::Client, "reno", |tcp| tcp.tlp = false).established().run(
        "0    app close
         0    >  F. 1:1
         300  >  F. 1:1
         900  >  F. 1:1",
    );
}

#[test]
fn the_peers_fin_after_data_is_acknowledged_after_40_to_44_ms() {
    // Linux 6.1: a bare FIN is no reason for haste; the acknowledgement is delayed.
    Script::new(Role::Server, "reno", |tcp| tcp.quick_acks = 0).established().run(
        "0    <  .  1:1001 ack 1
         1    <  .  1001:2001 ack 1
         1    >  .  ack 2001
         10   <  F. 2001:2001 ack 1
         10   is peer_closed true
         52   >  .  ack 2002",
    );
}

#[test]
fn data_is_still_taken_after_our_fin() {
    // RFC 9293 section 3.6.1: half-closed.
    Script::client("reno").established().run(
        "0    app close
         0    >  F. 1:1
         100  <  .  ack 2
         200  <  P. 1:1001 ack 2
         200  >  .  2:2 ack 1001
         200  is readable 1000",
    );
}

#[test]
fn data_is_still_sent_after_the_peers_fin() {
    // RFC 9293 section 3.6: CLOSE-WAIT.
    Script::client("reno").established().run(
        "0    app write endless
         0    >  .  1:10001
         5    <  .  1:1001 ack 1
         5    >  .  10001:10001 ack 1001
         10   <  F. 1001:1001 ack 1
         10   is peer_closed true
         52   >  .  10001:10001 ack 1002
         100  <  .  1002:1002 ack 10001
         100  >  .  10001:30001 ack 1002",
    );
}

#[test]
fn both_may_close_at_once() {
    // RFC 9293 section 3.6, figure 13.
    Script::client("reno").established().run(
        "0    app close
         0    >  F. 1:1 ack 1
         50   <  F. 1:1 ack 1
         50   >  .  2:2 ack 2
         100  <  .  2:2 ack 2
         100  is closed true",
    );
}

#[test]
fn a_fin_that_comes_again_is_acknowledged_again() {
    // RFC 9293 section 3.10.7.4 (TIME-WAIT).
    Script::client("reno").established().run(
        "0    app close
         0    >  F. 1:1
         50   <  F. 1:1 ack 2
         50   >  .  ack 2
         400  <  F. 1:1 ack 2
         400  >  .  2:2 ack 2",
    );
}

#[test]
fn a_fin_before_its_data_waits_for_it() {
    // RFC 9293 section 3.10.7.4: the FIN counts once everything before it is here.
    Script::server("reno").established().run(
        "0    <  F. 1001:2001 ack 1
         0    >  .  ack 1 sack 1001:2002
         0    is peer_closed false
         5    <  .  1:1001 ack 1
         5    >  .  ack 2002
         5    is peer_closed true received 2000",
    );
}

#[test]
fn a_reset_at_the_expected_number_closes() {
    // RFC 9293 section 3.10.7.4, RFC 5961 section 3.2.
    Script::client("reno").established().run(
        "0    app write endless
         0    >  .  1:10001
         50   <  R  1:1
         50   is reset true closed true
         9000 quiet",
    );
}

#[test]
fn a_reset_outside_the_window_is_ignored() {
    // RFC 9293 section 3.10.7.4.
    Script::client("reno").established().run(
        "0    <  R  3000001:3000001
         0    is reset false",
    );
}

#[test]
fn a_reset_inside_the_window_but_not_at_its_start_is_challenged() {
    // RFC 9293 section 3.10.7.4, RFC 5961 section 3.2.
    Script::client("reno").established().run(
        "0    <  R  1001:1001
         0    >  .  1:1 ack 1
         0    is reset false",
    );
}

#[test]
fn a_closed_endpoint_answers_with_a_reset() {
    // RFC 9293 section 3.10.7.1, and so RFC 5961 section 3.2: a reset that came out of order is challenged, and comes
    // again.
    Script::client("reno").established().run(
        "0    app write 1000
         0    >  P. 1:1001
         10   app abort
         10   >  R. 1001:1001
         60   <  .  1:1 ack 1
         60   >  R  1:1
         70   <  R  1:1
         9000 quiet",
    );
}

#[test]
fn a_syn_in_the_connection_is_challenged() {
    // RFC 5961 section 4.2.
    Script::client("reno").established().run(
        "0    <  S  1001:1001
         0    >  .  1:1 ack 1
         0    is reset false",
    );
}

#[test]
fn abort_sends_a_reset() {
    // RFC 9293 section 3.10.5.
    Script::client("reno").established().run(
        "0    app write 2000
         0    >  P. 1:2001
         10   app abort
         10   >  R. 2001:2001
         10   is closed true
         9000 quiet",
    );
}
