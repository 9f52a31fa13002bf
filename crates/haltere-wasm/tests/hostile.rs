//! Modules that are wrong or hostile: each is refused before the run, or ends it with a fault that says what it did.

use haltere_congestion::outside::{Maker as Controls, OutsideControl};
use haltere_congestion::{AckEvent, LossEvent, LossKind, SenderContext};
use haltere_queue::outside::{Maker as Queues, OutsideQueue, PacketView, Verdicts};
use haltere_queue::{Backlog, DropReason, LinkContext, MarkReason, Pkt};
use haltere_units::outside::{Location, Makers, Outside, Params};
use haltere_units::{Bytes, Time};
use haltere_wasm::{limits, load};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The parts of a small control: a window of 14480 B that grows by what is acknowledged.
struct Parts {
    about: &'static str,
    memory: &'static str,
    abi: &'static str,
    start: &'static str,
    on_ack: &'static str,
    more: &'static str,
}

const CONTROL: Parts = Parts {
    about: r#"{ \"kind\": \"control\", \"summary\": \"A test.\" }"#,
    memory: r#"(memory (export "memory") 1)"#,
    abi: "(i32.const 1)",
    start: "(i64.store (i32.const 1024) (i64.const 14480)) (i64.store (i32.const 1032) (i64.const 28960)) (i64.store (i32.const 1040) (i64.const -1))",
    on_ack: "(i64.store (i32.const 1024) (i64.add (i64.load (i32.const 1024)) (i64.load (i32.const 24))))",
    more: "",
};

impl Parts {
    fn bytes(&self) -> Vec<u8> {
        let Parts { about, memory, abi, start, on_ack, more } = self;
        let text = format!(
            r#"(module
                (import "haltere" "fail" (func $fail (param i32 i32)))
                (import "haltere" "random" (func $random (result i64)))
                {memory}
                (data (i32.const 2048) "{about}\00")
                (func (export "haltere_abi") (result i32) {abi})
                (func (export "haltere_about") (result i32) (i32.const 2048))
                (func (export "haltere_event") (result i32) (i32.const 8))
                (func (export "haltere_answer") (result i32) (i32.const 1024))
                (func (export "start") {start})
                (func (export "on_ack") {on_ack})
                {more})"#
        );
        wat::parse_str(text).unwrap()
    }
    /// Why it is refused before the run.
    fn refused(&self) -> String {
        load(&self.bytes()).expect_err("refused")
    }
    /// A control and its run, whose random numbers follow from `seed`.
    fn made(&self, seed: u64) -> (Box<dyn OutsideControl>, Outside) {
        let file = File::of(&self.bytes());
        let outside = run();
        let made = {
            let maker = outside.find::<dyn Controls>("wasm").unwrap();
            let params = file.params(maker.about(file.location()).unwrap().digest);
            let (mss, initial_window) = (MSS, Bytes::new(14_480));
            maker.make(&params, &SenderContext { mss, initial_window, seed, outside: outside.clone() }).unwrap()
        };
        (made, outside)
    }
    /// A control after one acknowledgement, and its run.
    fn after_an_ack(&self) -> (Box<dyn OutsideControl>, Outside) {
        let (mut control, run) = self.made(1);
        control.on_ack(&ack());
        (control, run)
    }
    /// The fault of an acknowledgement; the window is then one segment, and later events change nothing.
    fn fault(&self) -> String {
        let (mut control, run) = self.after_an_ack();
        assert_eq!(control.cwnd(), MSS);
        control.on_ack(&ack());
        assert_eq!(control.cwnd(), MSS);
        fault_of(&run).unwrap()
    }
}

const MSS: Bytes = Bytes::new(1448);

/// A file `test.wasm` in a folder of its own, removed with it.
struct File(PathBuf);

impl File {
    fn of(module: &[u8]) -> File {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("haltere-hostile-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("test.wasm"), module).unwrap();
        File(folder)
    }
    fn location(&self) -> Location<'_> {
        Location { source: "test.wasm", folder: self.0.to_str().unwrap() }
    }
    fn params(&self, digest: String) -> Params {
        let Location { source, folder } = self.location();
        Params { language: "wasm".into(), source: source.into(), folder: folder.into(), digest, ..Params::default() }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A run that keeps the first fault.
fn run() -> Outside {
    let mut makers = Makers::default();
    haltere_wasm::add(&mut makers);
    Outside::of(&Arc::new(makers))
}

fn fault_of(run: &Outside) -> Option<String> {
    run.fault().map(ToString::to_string)
}

/// 1000 bytes are acknowledged after a second and a half. Field 2 of the event, at 24, is `delivered`.
fn ack() -> AckEvent {
    let mut ev = AckEvent::at(Time::from_ns(1_500_000_000));
    (ev.acked, ev.delivered) = (Bytes::new(1000), Bytes::new(1000));
    ev
}

#[test]
fn a_module_answers_an_event() {
    let (control, run) = CONTROL.after_an_ack();
    assert_eq!(
        (control.cwnd(), control.ssthresh(), control.pacing_rate()),
        (Bytes::new(15_480), Bytes::new(28_960), None)
    );
    assert_eq!(fault_of(&run), None);
}

/// A control that asks for a reduction at its first acknowledgement.
fn asking(more: &'static str) -> Parts {
    Parts {
        memory: r#"(import "haltere" "ask_reduction" (func $ask)) (memory (export "memory") 1)"#,
        on_ack: "(if (i32.eqz (i32.load (i32.const 3000))) (then (call $ask))) (i32.store (i32.const 3000) (i32.const 1))",
        more,
        ..CONTROL
    }
}

#[test]
fn a_control_may_ask_for_a_reduction() {
    // Field 5 of the event, at 48, is `asked`.
    let parts = asking(r#"(func (export "on_loss") (i64.store (i32.const 1024) (i64.load (i32.const 48))))"#);
    let (mut control, run) = parts.after_an_ack();
    assert!(control.wants_reduction() && fault_of(&run).is_none());
    assert!(control.clone_box().wants_reduction(), "a copy wants what the original wants");
    control.on_loss(&LossEvent::at(Time::ZERO, LossKind::Asked));
    assert_eq!((control.wants_reduction(), control.cwnd()), (false, Bytes::new(1)));
    control.on_ack(&ack());
    assert!(!control.wants_reduction(), "one wish is one reduction");
}

#[test]
fn only_an_acknowledgement_may_ask_for_a_reduction() {
    let (mut control, run) = asking(r#"(func (export "on_loss") (call $ask))"#).after_an_ack();
    control.on_loss(&LossEvent::at(Time::ZERO, LossKind::Loss));
    let fault = fault_of(&run).unwrap();
    let told = "wasm:test.wasm: on_loss must return, got a call of `ask_reduction`, which only `on_ack` may call at ";
    assert!(fault.starts_with(told), "{fault}");
    assert!(!control.wants_reduction());
}

#[test]
fn a_copy_has_the_memory_and_the_globals_and_goes_its_own_way() {
    let counting = Parts {
        more: "(global $count (mut i64) (i64.const 0))",
        on_ack: "(global.set $count (i64.add (global.get $count) (i64.const 1))) (i64.store (i32.const 1024) (global.get $count))",
        ..CONTROL
    };
    let (mut control, _) = counting.after_an_ack();
    let mut copy = control.clone_box();
    copy.on_ack(&ack());
    copy.on_ack(&ack());
    control.on_ack(&ack());
    assert_eq!((control.cwnd(), copy.cwnd()), (Bytes::new(2), Bytes::new(3)));
}

#[test]
fn initial_values_that_are_no_constants_are_there_from_the_start() {
    let initialized = Parts {
        more: r#"(global $first (mut i64) (i64.const 0)) (func (export "_initialize") (global.set $first (i64.const 77)))"#,
        on_ack: "(i64.store (i32.const 1024) (global.get $first))",
        ..CONTROL
    };
    assert_eq!(initialized.after_an_ack().0.cwnd(), Bytes::new(77));
    let endless = Parts { more: r#"(func (export "_initialize") (loop (br 0)))"#, ..CONTROL };
    assert_eq!(endless.refused(), "_initialize must return, got no end within 10000000 instructions");
}

#[test]
fn random_numbers_follow_from_the_seed() {
    let random = Parts { on_ack: "(i64.store (i32.const 1024) (i64.shr_u (call $random) (i64.const 1)))", ..CONTROL };
    let window = |seed| {
        let (mut control, _) = random.made(seed);
        control.on_ack(&ack());
        control.cwnd()
    };
    assert_eq!(window(1), window(1));
    assert_ne!(window(1), window(2));
}

#[test]
fn a_file_that_is_no_module_is_refused() {
    let refused = |bytes: &[u8]| load(bytes).expect_err("refused");
    assert_eq!(refused(b""), "module must be WebAssembly in its binary format, got an empty file");
    assert!(refused(b"(module)").ends_with("got a file that does not begin with `\\0asm`"));
    assert!(refused(b"\0asm\x01\0\0\0\xff").starts_with("module must be WebAssembly without vector"));
    let large = vec![0; limits::MODULE_BYTES as usize + 1];
    assert_eq!(refused(&large), "module must be at most 4194304 bytes, got 4194305");
}

#[test]
fn a_cut_off_module_is_refused_at_every_length() {
    let whole = CONTROL.bytes();
    // The names of functions come last, and nobody needs them.
    let needed = whole.windows(5).position(|bytes| bytes == b"\x04name").unwrap() - 2;
    assert!(load(&whole[..needed]).is_ok());
    for len in 0..needed {
        assert!(load(&whole[..len]).is_err(), "{len} of {} bytes", whole.len());
    }
}

#[test]
fn a_module_with_a_start_function_vectors_or_threads_is_refused() {
    let refused = |more| Parts { more, ..CONTROL }.refused();
    assert!(refused("(func $f) (start $f)").contains("a start function"));
    assert!(refused("(func (result v128) (v128.const i64x2 0 0))").contains("with the error"));
    assert!(refused("(func (result i32) (i32.atomic.load (i32.const 0)))").contains("with the error"));
}

#[test]
fn a_module_with_another_interface_is_refused() {
    let refused = Parts { abi: "(i32.const 7)", ..CONTROL }.refused();
    assert_eq!(refused, "`haltere_abi` must return 1, got 7; build the module with the template of this version");
    let text = r#"(module (import "env" "clock" (func (result i64))) (memory (export "memory") 1)
        (func (export "haltere_abi") (result i32) i32.const 1) (func (export "haltere_about") (result i32) i32.const 1)
        (func (export "haltere_event") (result i32) i32.const 1) (func (export "haltere_answer") (result i32) i32.const 1))"#;
    let refused = load(&wat::parse_str(text).unwrap()).unwrap_err();
    assert!(
        refused
            .starts_with("an import of a module must be one of `haltere.ask_reduction()`, `haltere.random() -> i64`"),
        "{refused}"
    );
    assert!(refused.ends_with("got `env.clock`"), "{refused}");
}

#[test]
fn wrong_exports_are_refused_by_name() {
    let refused = |more| Parts { more, ..CONTROL }.refused();
    let misspelt = refused(r#"(func (export "on_lost"))"#);
    assert!(
        misspelt.starts_with("an event of a congestion control must be one of `start`, `on_established`"),
        "{misspelt}"
    );
    assert!(misspelt.ends_with("got the export `on_lost`"), "{misspelt}");
    let typed = refused(r#"(func (export "on_loss") (param i32))"#);
    assert_eq!(typed, "the export `on_loss` must be a function `on_loss()`, got another type");
    let none = Parts { memory: "(memory 1)", ..CONTROL }.refused();
    assert_eq!(none, "module must export its memory as `memory`, got none");
    let parameters = r#"{ \"kind\": \"control\", \"summary\": \"A test.\", \"parameters\": [ { \"name\": \"a\", \"format\": \"number\", \"default\": 1, \"meaning\": \"A.\" } ] }"#;
    let unexported = Parts { about: parameters, ..CONTROL }.refused();
    assert_eq!(unexported, "module must export the function `haltere_params() -> i32`, got none of that name");
}

#[test]
fn bad_pointers_are_refused() {
    let text = with_address("haltere_event", 65_536 - 8);
    assert!(
        text.starts_with("`haltere_event` must return a multiple of 8 with room for 512 bytes in a memory of 65536"),
        "{text}"
    );
    assert!(with_address("haltere_event", 4).ends_with("got 4"));
    assert!(with_address("haltere_answer", -8).ends_with("got 4294967288"));
    assert!(with_address("haltere_about", 65_535).contains("`haltere_about` must return the JSON of a description"));
    assert!(with_address("haltere_about", -1).contains("`haltere_about` must return the address of UTF-8"));
}

/// Why the small control is refused if that export returns another address.
fn with_address(export: &str, address: i32) -> String {
    let mut text = format!(
        r#"(module (memory (export "memory") 1) (data (i32.const 2048) "{}\00")
        (func (export "start") (i64.store (i32.const 1024) (i64.const 14480)) (i64.store (i32.const 1040) (i64.const -1)))"#,
        CONTROL.about
    );
    for (name, at) in [("haltere_abi", 1), ("haltere_about", 2048), ("haltere_event", 8), ("haltere_answer", 1024)] {
        let at = if name == export { address } else { at };
        text += &format!(r#"(func (export "{name}") (result i32) (i32.const {at}))"#);
    }
    load(&wat::parse_str(text + ")").unwrap()).expect_err("refused")
}

#[test]
fn too_much_memory_is_refused_and_does_not_grow() {
    let refused = Parts { memory: r#"(memory (export "memory") 2000)"#, ..CONTROL }.refused();
    assert!(refused.starts_with("module must start within 67108864 bytes of memory and 4 tables of"), "{refused}");
    // `memory.grow` gives -1, as it does on a machine without more memory; the window says so.
    let growing = Parts {
        on_ack: "(i64.store (i32.const 1024) (i64.sub (i64.const 5) (i64.extend_i32_s (memory.grow (i32.const 2000)))))",
        ..CONTROL
    };
    let (control, run) = growing.after_an_ack();
    assert_eq!((control.cwnd(), fault_of(&run)), (Bytes::new(6), None));
}

#[test]
fn too_large_a_table_is_refused_and_does_not_grow() {
    let refused = |more| Parts { more, ..CONTROL }.refused();
    let limit = "module must start within 67108864 bytes of memory and 4 tables of 65536 elements, got: ";
    for more in ["(table 65537 funcref)", "(table 9000000 externref)"] {
        assert!(refused(more).starts_with(limit), "{}", refused(more));
    }
    let five = "(table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)";
    assert!(refused(five).starts_with(limit), "{}", refused(five));
    // A module of 308 bytes had 4.3 GB this way.
    let growing = Parts {
        more: "(table $t 0 funcref)",
        on_ack: "(i64.store (i32.const 1024) (i64.extend_i32_u (i32.sub (i32.const 5) (table.grow $t (ref.null func) \
                 (i32.const 500000000)))))",
        ..CONTROL
    };
    let (control, run) = growing.after_an_ack();
    assert_eq!((control.cwnd(), fault_of(&run)), (Bytes::new(6), None));
}

#[test]
fn a_table_within_the_limit_grows() {
    let growing = Parts {
        more: "(table $t 1 funcref)",
        on_ack: "(drop (table.grow $t (ref.null func) (i32.const 65535))) \
                 (i64.store (i32.const 1024) (i64.extend_i32_u (table.size $t)))",
        ..CONTROL
    };
    assert_eq!(growing.after_an_ack().0.cwnd(), Bytes::new(65_536));
}

#[test]
fn too_many_globals_elements_memories_and_segments_are_refused() {
    let many = |what: &str, count: usize| {
        let more: &'static str = Box::leak(what.repeat(count).into_boxed_str());
        load(&Parts { more, ..CONTROL }.bytes()).map(drop)
    };
    for (what, fits, rule) in [
        ("(global i32 (i32.const 0))", 1000, "limit of 1000 global variables"),
        ("(table 0 funcref)", 4, "4 tables of 65536 elements"),
        ("(elem func)", 1000, "limit of 1000 active element segments"),
        ("(data \"\")", 999, "limit of 1000 active data segments"),
        ("(memory 1)", 0, "limit of 1 memories"),
    ] {
        assert_eq!(many(what, fits), Ok(()), "{what}");
        let refused = many(what, fits + 1).unwrap_err();
        assert!(refused.contains(rule), "{what}: {refused}");
    }
    let elements = |count: usize| {
        let more: &'static str = Box::leak(format!("(func $f) (elem func{})", " $f".repeat(count)).into_boxed_str());
        load(&Parts { more, ..CONTROL }.bytes()).map(drop)
    };
    assert_eq!(elements(limits::ELEMENT_SECTION_BYTES - 100), Ok(()));
    let refused = elements(limits::ELEMENT_SECTION_BYTES).unwrap_err();
    assert!(refused.starts_with("the section of elements of a module must be at most 262144 bytes"), "{refused}");
}

#[test]
fn an_endless_loop_ends_the_run() {
    let fault = Parts { on_ack: "(loop (br 0))", ..CONTROL }.fault();
    assert_eq!(fault, "wasm:test.wasm: on_ack must return, got no end within 10000000 instructions at 1.5s");
    let refused = Parts { start: "(loop (br 0))", ..CONTROL }.refused();
    assert_eq!(refused, "start must return, got no end within 10000000 instructions");
}

#[test]
fn a_trap_ends_the_run_with_what_it_was() {
    let fault = |on_ack| Parts { on_ack, ..CONTROL }.fault();
    assert!(
        fault("(unreachable)")
            .contains("on_ack must return, got the instruction `unreachable`, a panic or an abort at 1.5s")
    );
    assert!(fault("(drop (i64.load (i32.const -8)))").contains("got an access outside of its memory"));
    assert!(fault("(drop (i64.div_s (i64.const 1) (i64.const 0)))").contains("got a trap: "));
    assert!(fault("(call $fail (i32.const 2048) (i32.const 7))").contains("got the failure `{ \"kind`"));
    assert!(fault("(call $fail (i32.const -1) (i32.const -1))").contains("got the failure ``"));
    let deep = Parts { on_ack: "(call $deep)", more: "(func $deep (call $deep))", ..CONTROL };
    assert!(deep.fault().contains("got a stack that overflows"));
}

#[test]
fn an_answer_that_no_control_may_give_ends_the_run() {
    let fault = |on_ack| Parts { on_ack, ..CONTROL }.fault();
    assert_eq!(
        fault("(i64.store (i32.const 1024) (i64.const 0))"),
        "wasm:test.wasm: cwnd must be at least 1 B, got 0 B after `on_ack` at 1.5s"
    );
    assert!(fault("(i64.store (i32.const 1032) (i64.const -5))").contains("ssthresh must be at least 0 B, got -5 B"));
    assert!(fault("(i64.store (i32.const 1040) (i64.const 0))").contains("pacing_rate must be above 0 bit/s, or -1"));
    let refused = Parts { start: "", ..CONTROL }.refused();
    assert_eq!(refused, "cwnd must be at least 1 B, got 0 B after `start`");
}

/// A queue that keeps what `enqueue` and `dequeue` are given to do.
fn queue(enqueue: &str, dequeue: &str) -> (Box<dyn OutsideQueue>, Outside) {
    let text = format!(
        r#"(module
        (import "haltere" "drop" (func $drop (param i64 i32)))
        (import "haltere" "mark" (func $mark (param i64 i32) (result i32)))
        (import "haltere" "random" (func $random (result i64)))
        (memory (export "memory") 1)
        (data (i32.const 2048) "{{ \"kind\": \"queue\", \"summary\": \"A test.\" }}\00")
        (func (export "haltere_abi") (result i32) (i32.const 1))
        (func (export "haltere_about") (result i32) (i32.const 2048))
        (func (export "haltere_event") (result i32) (i32.const 8))
        (func (export "haltere_answer") (result i32) (i32.const 1024))
        (func (export "start") (i64.store (i32.const 1032) (i64.const -1)) (i64.store (i32.const 1040) (i64.const -1)))
        (func (export "enqueue") {enqueue})
        (func (export "dequeue") {dequeue}))"#
    );
    let file = File::of(&wat::parse_str(text).unwrap());
    let outside = run();
    let made = {
        let maker = outside.find::<dyn Queues>("wasm").unwrap();
        let params = file.params(maker.about(file.location()).unwrap().digest);
        let link = LinkContext { rate: None, rtt: None, packet: Bytes::new(1514), seed: 1, outside: outside.clone() };
        maker.make(&params, &link).unwrap()
    };
    (made, outside)
}

/// Writes down what a queue asks for.
#[derive(Default)]
struct Asked(Vec<String>);

impl Verdicts for Asked {
    fn drop(&mut self, id: u64, reason: DropReason) {
        self.0.push(format!("drop {id} {reason:?}"));
    }
    fn mark(&mut self, id: u64, reason: MarkReason) -> bool {
        self.0.push(format!("mark {id} {reason:?}"));
        false
    }
    fn random(&mut self) -> u64 {
        self.0.push("random".into());
        7
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: 1, bytes: 100 }
    }
}

/// A packet of 100 bytes with that number.
fn packet(id: u64) -> PacketView {
    struct P;
    impl Pkt for P {
        fn len(&self) -> u32 {
            100
        }
        fn ecn(&self) -> haltere_queue::Ecn {
            haltere_queue::Ecn::NotEct
        }
        fn set_ce(&mut self) {}
        fn flow(&self) -> haltere_queue::FlowKey {
            haltere_queue::FlowKey::default()
        }
    }
    PacketView::of(id, &P)
}

#[test]
fn a_queue_asks_in_the_middle_of_a_call_and_is_answered() {
    // Marks the packet; as that is refused because it is not ECN-capable, draws a number and drops packet 0.
    let (mut queue, run) = queue(
        "(if (i32.eqz (call $mark (i64.load (i32.const 16)) (i32.const 1))) (then (call $drop (i64.and (call $random) (i64.const 0)) (i32.const 1))))",
        "(i64.store (i32.const 1024) (i64.const 5))",
    );
    let mut asked = Asked::default();
    queue.enqueue(Time::ZERO, &packet(3), &mut asked);
    assert_eq!(fault_of(&run), None);
    assert_eq!(
        asked.0,
        ["random", "mark 3 Threshold", "drop 0 Congestion"],
        "it is seeded once, and decides in this order"
    );
    assert_eq!(queue.dequeue(Time::ZERO, &mut asked), Some(5));
}

#[test]
fn a_queue_that_traps_or_asks_without_end_ends_the_run() {
    let (mut trapping, run) = queue("(unreachable)", "");
    trapping.enqueue(Time::ZERO, &packet(0), &mut Asked::default());
    let fault = fault_of(&run).unwrap();
    assert!(fault.starts_with("wasm:test.wasm: enqueue must return, got the instruction `unreachable`"));
    assert_eq!(trapping.dequeue(Time::ZERO, &mut Asked::default()), None);
    let (mut endless, run) = queue("(loop (br 0))", "");
    endless.enqueue(Time::ZERO, &packet(0), &mut Asked::default());
    let fault = fault_of(&run).unwrap();
    assert!(fault.contains("no end within"));
}

#[test]
fn a_copy_of_a_queue_goes_its_own_way() {
    let counts = "(i64.store (i32.const 1024) (i64.add (i64.load (i32.const 1024)) (i64.const 1)))";
    let (mut original, _) = queue("", counts);
    original.dequeue(Time::ZERO, &mut Asked::default());
    let mut copy = original.clone_box();
    assert_eq!(copy.dequeue(Time::ZERO, &mut Asked::default()), Some(2));
    assert_eq!(original.dequeue(Time::ZERO, &mut Asked::default()), Some(2));
}
