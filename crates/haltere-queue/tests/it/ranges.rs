//! Parameters that are out of their range, or contradict each other, are refused, and the error says which and why.

use crate::common::{TestPkt, link};
use haltere_queue::{LinkContext, Queue, QueueParams};
use serde_json::{Value, json};

fn error(params: Value, link: &LinkContext) -> String {
    let params: QueueParams = serde_json::from_value(params).expect("parameters");
    Queue::<TestPkt>::new(&params, link).expect_err("they are refused").to_string()
}

#[test]
fn parameters_that_cannot_be_are_refused() {
    let threshold = |lower: &str| json!({ "kind": "threshold", "upper": "10p", "lower": lower });
    let classed = |key: &str, value: Value| json!({ "kind": "classed", key: value });
    let htb = |class: Value| json!({ "kind": "htb", "classes": [class] });
    for (params, told) in [
        (json!({ "kind": "drop_tail", "limit": "0p" }), "limit must be above 0, got 0p"),
        (
            json!({ "kind": "codel", "interval": "1ms" }),
            "interval must be at least target (5ms), got 1ms; the default is `100ms`",
        ),
        (json!({ "kind": "drr", "classes": [] }), "classes must be at least one, got 0"),
        (json!({ "kind": "drr", "classes": [{ "match": { "dscp": [64] } }] }), "dscp must be from 0 to 63, got 64"),
        (json!({ "kind": "dualpi2", "coupling": 0.5 }), "coupling must be from 1 to 16, got 0.5; the default is `2`"),
        (htb(json!({ "name": "a", "parent": "x" })), "parent must be the name of a class before this one, got x"),
        (
            htb(json!({ "name": "a", "rate": "2Mbit", "ceil": "1Mbit" })),
            "ceil must be at least `rate`, which is 2Mbit, got 1Mbit",
        ),
        (htb(json!({ "name": "a", "priority": 8 })), "priority must be from 0 to 7, got 8; the default is `0`"),
        (htb(json!({ "name": "a", "rate": "0bit" })), "rate must be above 0, got 0bit; the default is `1Mbit`"),
        (json!({ "kind": "input_buffer", "socket": "0p" }), "socket must be above 0, got 0p"),
        (
            json!({ "kind": "pie", "beta": 20.0 }),
            "beta must be from 0 to 2, got 20; the default is `1.25`; tc's numbers are in sixteenths",
        ),
        (
            json!({ "kind": "policer", "limit": "9p", "queue": { "kind": "drop_tail" } }),
            "limit must be left out beside `queue`, got 9p",
        ),
        (
            json!({ "kind": "tbf", "limit": "9p", "latency": "1ms" }),
            "limit must be the only one given of `limit`, `latency` and `queue`, got limit and latency",
        ),
        (json!({ "kind": "tbf", "rate": "0bit" }), "rate must be above zero, got 0bit"),
        (
            json!({ "kind": "tbf", "rate": "8Mbit", "peakrate": "8Mbit" }),
            "peakrate must be above `rate`, which is 8Mbit, got 8Mbit",
        ),
        (
            json!({ "kind": "tbf", "queue": { "kind": "tbf" } }),
            "queue must be a discipline that withholds no packets, got tbf",
        ),
        (threshold("11p"), "lower must be at most upper (10p), got 11p"),
        (threshold("1ms"), "lower must be in the same unit as upper (10p), got 1ms"),
        (json!({ "kind": "rafle", "n": 0 }), "n must be from 1 to 1048576, got 0; the default is `40`"),
        (
            classed("classifier", json!({ "kind": "run2c", "threshold": "0B" })),
            "threshold must be above 0, got 0B; the default is `16kB`",
        ),
        (
            classed("service", json!({ "kind": "deficit_round_robin", "quantum": "1B" })),
            "quantum must be from 64 B to 1 GiB, got 1B; the default is one full packet",
        ),
        (
            classed("service", json!({ "kind": "priority", "guard": 0 })),
            "guard must be at least 1 packet, got 0; leave it out for strict priority",
        ),
    ] {
        assert_eq!(error(params, &link()), told);
    }
}

#[test]
fn what_follows_from_the_rate_is_refused_without_one() {
    let link = LinkContext { rate: None, ..link() };
    for (params, told) in [
        (
            json!({ "kind": "drop_tail", "limit": "1bdp" }),
            "limit must be in packets or bytes if the link has no rate or RTT, got 1bdp; write for example `100p`",
        ),
        (
            json!({ "kind": "threshold" }),
            "upper must be in packets, bytes or as a delay if the link has no rate or RTT, got auto; \
             write for example `42p`",
        ),
    ] {
        assert_eq!(error(params, &link), told);
    }
}
