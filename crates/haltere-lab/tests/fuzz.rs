//! Whatever is written, reading it ends with a scenario or an error, never with a panic.

use haltere_lab::Scenario;
use proptest::prelude::*;

const GOOD: &str = include_str!("good.toml");

/// Words that files are made of, to be put where they do not belong.
const WORDS: &[&str] = &[
    "\"0s\"",
    "\"-1s\"",
    "0",
    "-1",
    "1e300",
    "18446744073709551615",
    "\"99999999999999999999s\"",
    "\"584y\"",
    "{}",
    "[]",
    "[[]]",
    "true",
    "\"1bdp\"",
    "\"100000000p\"",
    "\"codel\"",
    "{ kind = \"red\" }",
    "\"all\"",
    "\"off\"",
    "\"500000000000s\"",
    "\"18446744073709551615B\"",
    "\"1bit\"",
    "\"100%\"",
    "\"\\u0000\"",
    "\"π\"",
    "4294967295",
    "[1, 1]",
    "{ exponential = \"0s\" }",
    "\"both\"",
    "\"n1\"",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_with_another_value_never_panics(line in 0usize..60, word in 0usize..WORDS.len()) {
        let lines: Vec<&str> = GOOD.lines().collect();
        let mut lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let line = line % lines.len();
        if let Some((key, _)) = lines[line].clone().split_once(" = ") {
            lines[line] = format!("{key} = {}", WORDS[word]);
        }
        check(&lines.join("\n"));
    }

    #[test]
    fn a_file_with_bytes_cut_out_never_panics(from in 0usize..2000, length in 0usize..40) {
        let from = from % GOOD.len();
        let to = (from + length).min(GOOD.len());
        check(&format!("{}{}", &GOOD[..from], &GOOD[to..]));
    }

    #[test]
    fn any_text_never_panics(text in ".{0,200}") {
        check(&text);
        let _ = Scenario::from_json(&text, "x.json");
    }
}

fn check(text: &str) {
    match Scenario::parse(text, "x.toml") {
        Ok(scenario) => {
            scenario.plan(7).expect("what was read can be planned");
            let again = Scenario::from_value(scenario.filled(), "again").expect("what was filled in can be read");
            assert_eq!(scenario, again);
        }
        Err(error) => {
            let told = error.to_string();
            assert!(!told.contains('\n') && told.contains(" must be "), "{told}");
            assert_ne!(error.kind(), "bug", "{told}");
        }
    }
}
