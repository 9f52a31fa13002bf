//! Whatever is written, reading it ends with a scenario or an error, never with a panic.

use super::bodies::{exercise_arrivals, exercise_experiment};
use haltere_lab::Scenario;
use proptest::prelude::*;

const GOOD: &str = include_str!("../good.toml");

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
        exercise_experiment(lines.join("\n").as_bytes());
    }

    #[test]
    fn a_file_with_bytes_cut_out_never_panics(from in 0usize..2000, length in 0usize..40) {
        let from = from % GOOD.len();
        let to = (from + length).min(GOOD.len());
        exercise_experiment(format!("{}{}", &GOOD[..from], &GOOD[to..]).as_bytes());
    }

    #[test]
    fn any_text_never_panics(text in ".{0,200}") {
        exercise_experiment(text.as_bytes());
        let _ = Scenario::from_json(&text, "x.json");
    }
}

/// The files of a fuzz target's corpus.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("a corpus").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a file")).collect()
}

/// Each file of a corpus as it is, and changed: bytes replaced, cut out, doubled, and parts of another file put in.
fn mutated(target: &str, changes: u64, exercise: fn(&[u8])) {
    let files = corpus(target);
    let mut rng = haltere_plan::rng::Rng::new(19, target);
    files.iter().for_each(|file| exercise(file));
    for _ in 0..changes {
        let mut bytes = files[rng.below(files.len() as u64) as usize].clone();
        for _ in 0..=rng.below(3) {
            let mut place = |length: usize| rng.below(length as u64 + 1) as usize;
            let (from, span) = (place(bytes.len()), place(16));
            let to = (from + span).min(bytes.len());
            match place(4) {
                0 => drop(bytes.drain(from..to)),
                1 => {
                    let twice = bytes[from..to].to_vec();
                    bytes.splice(from..from, twice).for_each(drop);
                }
                2 => {
                    let other = &files[place(files.len() - 1)];
                    let start = place(other.len());
                    let end = (start + span).min(other.len());
                    bytes.splice(from..from, other[start..end].iter().copied()).for_each(drop);
                }
                _ if from < bytes.len() => bytes[from] = place(255) as u8,
                _ => {}
            }
        }
        exercise(&bytes);
    }
}

#[test]
fn changed_experiments_traces_and_tables_of_sizes_end_with_a_value_or_an_error() {
    mutated("experiment", 3000, exercise_experiment);
    mutated("trace", 20_000, haltere_lab::exercise_trace);
    mutated("arrivals", 3000, exercise_arrivals);
}
