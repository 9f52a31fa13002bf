//! Wrong files are refused with the line that is beside them in `tests/errors`.
//!
//! `{queues}` and `{congestion}` there stand for the numbers of names in the registries, so that a new mechanism
//! changes no file. `HALTERE_BLESS=1 cargo test -p haltere-lab --test it errors` writes those lines; read the
//! difference before you commit it.

use haltere_lab::Scenario;
use std::path::PathBuf;

#[test]
fn every_wrong_file_is_refused_with_the_expected_line() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/errors"));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("tests/errors").flatten().map(|f| f.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.sort();
    assert!(files.len() >= 10, "only {} wrong files", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let name = file.file_name().and_then(|n| n.to_str()).expect("a name");
        // Names of further files count from the file's folder.
        let path = file.to_str().expect("a path of text");
        let mut error = Scenario::parse(&text, path).expect_err(name).to_string().replace(path, name);
        for kind in ["queues", "congestion"] {
            let names = haltere_lab::schema::names(kind).expect("a kind of names");
            error = error.replace(&format!("the {} names", names.len()), &format!("the {{{kind}}} names"));
        }
        assert!(!error.contains('\n'), "{name}: more than one line: {error}");
        let beside = file.with_extension("expected");
        if std::env::var_os("HALTERE_BLESS").is_some() {
            std::fs::write(&beside, format!("{error}\n")).expect("a writable file");
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        assert_eq!(error, expected.trim_end(), "{name}");
    }
}
