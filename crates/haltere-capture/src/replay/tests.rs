use super::*;

fn sums(flows: &[(u64, u64)]) -> Sums {
    let mut sums = Sums::default();
    flows.iter().for_each(|&(hits, packets)| sums.add(hits, packets));
    sums
}

#[test]
fn a_rate_s_interval_takes_flows_as_clusters() {
    // r = 12/20; residuals 8 - 0.6 * 10 = 2 and 4 - 6 = -2: var = 2/1 * 8 / 400.
    let rate = sums(&[(8, 10), (4, 10)]).rate();
    assert!((rate.part - 0.6).abs() < 1e-12 && (rate.half - 1.96 * 0.2).abs() < 1e-12, "{rate:?}");
    // Flows that are all alike leave no doubt; a single one leaves nothing to tell it by.
    assert_eq!(sums(&[(5, 10), (5, 10), (5, 10)]).rate().half, 0.0);
    assert!(sums(&[(5, 10)]).rate().half.is_nan());
}

#[test]
fn a_product_s_interval_is_of_both() {
    let product = Rate { part: 0.5, half: 0.3 }.times(Rate { part: 0.8, half: 0.1 });
    assert!((product.part - 0.4).abs() < 1e-12);
    assert!((product.half - (0.24f64.powi(2) + 0.05f64.powi(2)).sqrt()).abs() < 1e-12);
}

#[test]
fn wrong_options_are_refused() {
    let rafle = ClassifierParams::default_of("rafle").unwrap();
    let good = Options { classifiers: vec![rafle], ..Options::default() };
    good.check().unwrap();
    for wrong in [
        Options { classifiers: vec![], ..good.clone() },
        Options { draws: 0, ..good.clone() },
        Options { short: Bytes::ZERO, ..good.clone() },
    ] {
        assert!(matches!(classify(&b""[..], &wrong, Watch::default()), Err(CaptureError::Param(_))));
    }
}
