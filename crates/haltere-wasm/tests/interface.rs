//! The table of the interface is written into the files of each language and into the documents: `UPDATE=1 cargo test
//! -p haltere-wasm --test interface`.

use haltere_wasm::abi::{CONTROL, CONTROL_ANSWER, EVENT_BYTES, Field, IMPORTS, Layout, QUEUE, QUEUE_ANSWER};
use std::fmt::Write;
use std::path::PathBuf;

const BEGINS: &str = "The table of the interface begins here.";
const ENDS: &str = "The table of the interface ends here.";

/// Events and answers in the order of the files.
fn all() -> impl Iterator<Item = &'static Layout> {
    CONTROL.iter().chain([&CONTROL_ANSWER]).chain(QUEUE).chain([&QUEUE_ANSWER])
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The meaning with the unit, as a sentence.
fn described(field: &Field) -> String {
    match field.unit {
        "" => field.meaning.to_owned(),
        unit => format!("{} Unit: {unit}.", field.meaning),
    }
}

fn rust() -> String {
    let mut out = String::from("\n");
    for layout in all() {
        writeln!(out, "event! {{\n    /// `{}`: {}\n    {} {{", layout.export, layout.meaning, layout.name).unwrap();
        for field in layout.fields {
            writeln!(out, "        /// {}\n        {},", described(field), field.name).unwrap();
        }
        out += "    }\n}\n\n";
    }
    out
}

fn c() -> String {
    let mut out = String::from("\n");
    for layout in all() {
        writeln!(out, "/* {}: {} */\nstruct {} {{", layout.export, layout.meaning, snake(layout.name)).unwrap();
        for field in layout.fields {
            writeln!(out, "    i64 {}; /* {} */", field.name, described(field)).unwrap();
        }
        out += "};\n\n";
    }
    out += "union haltere_event {\n";
    for layout in all().filter(|layout| layout.export != CONTROL_ANSWER.export) {
        let name = snake(layout.name);
        writeln!(out, "    struct {name} {name};").unwrap();
    }
    writeln!(out, "    unsigned char room[{EVENT_BYTES}];\n}};\n").unwrap();
    out
}

fn assemblyscript() -> String {
    let mut out = String::from("\n");
    for layout in all() {
        writeln!(out, "/** `{}`: {} */\n@unmanaged\nexport class {} {{", layout.export, layout.meaning, layout.name)
            .unwrap();
        for field in layout.fields {
            writeln!(out, "  /** {} */\n  {}: i64;", described(field), field.name).unwrap();
        }
        out += "}\n\n";
    }
    out
}

fn document() -> String {
    let mut out = String::from("\n");
    let mut table = |layout: &Layout, of: &str| {
        writeln!(out, "**`{}`** of {of}: {}\n", layout.export, layout.meaning).unwrap();
        out += "| offset | field | unit | meaning |\n|--:|---|---|---|\n";
        for (i, field) in layout.fields.iter().enumerate() {
            writeln!(out, "| {} | `{}` | {} | {} |", 8 * i, field.name, field.unit, field.meaning).unwrap();
        }
        out.push('\n');
    };
    CONTROL.iter().chain([&CONTROL_ANSWER]).for_each(|layout| table(layout, "a congestion control"));
    QUEUE.iter().chain([&QUEUE_ANSWER]).for_each(|layout| table(layout, "a queue discipline"));
    out += "What a module may import from `haltere`:\n\n| name | type | what it does |\n|---|---|---|\n";
    IMPORTS.iter().for_each(|(name, ty, what)| writeln!(out, "| `{name}` | `{ty}` | {what} |").unwrap());
    out.push('\n');
    out
}

/// Holds the part of a file between the two marks to the table, or writes it.
fn hold(file: &str, table: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let begins = text.find(BEGINS).and_then(|at| Some(at + text[at..].find('\n')? + 1)).unwrap();
    let ends = text.find(ENDS).map(|at| text[..at].rfind('\n').unwrap() + 1).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{}{table}{}", &text[..begins], &text[ends..])).unwrap();
    } else {
        assert_eq!(&text[begins..ends], table, "{file}: UPDATE=1 cargo test -p haltere-wasm --test interface");
    }
}

#[test]
fn every_language_has_the_table_of_the_interface() {
    hold("python/haltere/starters/interface/haltere.rs", &rust());
    hold("python/haltere/starters/interface/haltere.h", &c());
    hold("python/haltere/starters/interface/haltere.ts", &assemblyscript());
}

#[test]
fn the_documents_have_the_table_of_the_interface() {
    hold("docs/wasm-interface.md", &document());
}

#[test]
fn every_event_fits_into_its_room() {
    assert!(all().all(|layout| 8 * layout.fields.len() <= EVENT_BYTES));
}
