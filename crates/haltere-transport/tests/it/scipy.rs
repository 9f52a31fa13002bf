//! Coefficients of 1,000 windows against SciPy's, which `scipy/make.py` has written down.

use haltere_transport::multipath::correlation::{mscm, red_cpi};

struct Stream(u64);
impl Stream {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// As in `make.py`.
fn windows(index: u64) -> (Vec<u64>, Vec<u64>) {
    let mut stream = Stream(index);
    let mut span = || {
        let bits = stream.below(24);
        1 + stream.below(1 << bits)
    };
    let (span, noise) = (span(), span());
    let first: Vec<u64> = (0..50).map(|_| stream.below(span)).collect();
    let second = first.iter().map(|value| value + stream.below(noise)).collect();
    (first, second)
}

#[test]
fn coefficients_are_scipys() {
    let given = include_str!("../scipy/coefficients.csv");
    let (mut checked, mut constant) = (0, 0);
    for (index, line) in given.lines().enumerate() {
        let (spearman, pearson) = line.split_once(',').unwrap();
        let (spearman, pearson): (f64, f64) = (spearman.parse().unwrap(), pearson.parse().unwrap());
        let (a, b) = windows(index as u64);
        let real = |w: &[u64]| w.iter().map(|v| *v as f64).collect::<Vec<_>>();
        let ours = (red_cpi::spearman(&a, &b), mscm::pearson(&real(&a), &real(&b)));
        if spearman.is_nan() {
            assert_eq!(ours, (None, None), "window {index}");
            constant += 1;
            continue;
        }
        let (s, p) = (ours.0.unwrap(), ours.1.unwrap());
        assert!((s - spearman).abs() < 1e-9 && (p - pearson).abs() < 1e-9, "window {index}: {s} {p}, SciPy {line}");
        // Whole numbers: ranks times 1000 are exact, two deviations and a quotient are cut off. Few distinct ranks make
        // small deviations, and what is cut off of them counts for more.
        let whole = red_cpi::spearman_integer(&a, &b) as f64 / 1000.0;
        assert!((whole - spearman).abs() <= 0.002, "window {index}: {whole}, SciPy {spearman}");
        checked += 1;
    }
    assert_eq!((checked, constant), (896, 104), "windows drawn as by the script");
}
