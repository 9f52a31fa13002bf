use crate::testing::{cable, exercise_router, link, run_script};
use haltere_queue::QueueParams;
use haltere_units::{Dur, Time};
use proptest::prelude::*;

#[test]
fn more_frames_than_one_turn_takes_all_pass() {
    let queue = || QueueParams::default_of("drop_tail").unwrap();
    let frame = |i: u16| {
        let mut f = vec![0; 60];
        f[20..22].copy_from_slice(&i.to_be_bytes());
        f
    };
    let script = |n| (0..n).map(|i| (Time::from_ns(1), frame(i))).collect::<Vec<_>>();
    let router = run_script(
        cable(link(0, 1, queue()), link(1, 0, queue())),
        vec![script(500), script(300)],
        Time::ZERO + Dur::from_secs(1),
    );
    assert_eq!((router.ports[1].sent.len(), router.ports[0].sent.len()), (500, 300));
    assert!(router.ports[1].sent.iter().map(|(_, b)| b).eq((0..500).map(frame).collect::<Vec<_>>().iter()));
}

#[test]
fn an_idle_router_sleeps() {
    let queue = || QueueParams::default_of("drop_tail").unwrap();
    let script = vec![(Time::ZERO + Dur::from_secs(9), vec![0; 60])];
    let router = run_script(
        cable(link(0, 1, queue()), link(1, 0, queue())),
        vec![script, vec![]],
        Time::ZERO + Dur::from_secs(10),
    );
    assert!(router.turns < 10, "{} turns for one frame", router.turns);
}

#[test]
fn a_frame_without_bytes_passes_a_cell() {
    let queue = || QueueParams::default_of("cell").unwrap();
    let mut params = cable(link(0, 1, queue()), link(1, 0, queue()));
    params.plan.framing = 0;
    let router =
        run_script(params, vec![vec![(Time::from_ns(1), vec![0; 14])], vec![]], Time::ZERO + Dur::from_secs(1));
    assert_eq!(router.ports[1].sent.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn no_script_breaks_the_router(bytes in proptest::collection::vec(any::<u8>(), 0..1500)) {
        exercise_router(&bytes);
    }
}
