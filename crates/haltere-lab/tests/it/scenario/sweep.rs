//! Sweeps: axes, their values, and what may not be set beside them.

use super::*;

#[test]
fn a_sweep_is_a_grid_with_the_last_axis_fastest() {
    let text = format!(
        "{DUMBBELL}\n[sweep]\n\"topology.dumbbell.pairs\" = [4, 8]\n\
         \"topology.dumbbell.bottleneck.queue\" = [\"codel\", {{ kind = \"drop_tail\", limit = \"2bdp\" }}]\n"
    );
    let points = read(&text).points().unwrap();
    let told: Vec<(Value, &str)> =
        points.iter().map(|p| (p.settings[0].1.clone(), p.scenario.plan(1).unwrap().links[0].queue.kind())).collect();
    let expected = [(json!(4), "codel"), (json!(4), "drop_tail"), (json!(8), "codel"), (json!(8), "drop_tail")];
    assert_eq!(told, expected);
    assert_eq!(points[3].scenario.plan(1).unwrap().flows.len(), 8);
    assert!(points.iter().all(|p| p.scenario.sweep.is_empty()));
}

#[test]
fn an_entry_goes_by_its_number_its_name_or_a_star() {
    let text = format!("{DUMBBELL}\n[[traffic]]\nname = \"video\"\nkind = \"bulk\"\n");
    let control = |scenario: &Scenario, i: usize| scenario.filled()["traffic"][i]["congestion"]["kind"].clone();
    for path in ["traffic.video.congestion", "traffic.1.congestion", "traffic[1].congestion"] {
        let set = read(&text).with(path, json!("vegas")).unwrap();
        assert_eq!(control(&set, 1), "vegas", "{path}");
        assert_ne!(control(&set, 0), "vegas", "{path}");
    }
    let set = read(&text).with("traffic.bulk1.congestion", json!("vegas")).unwrap();
    assert_eq!(control(&set, 0), "vegas", "an entry without a name goes by its kind and place");
    for path in ["traffic.*.congestion", "traffic[*].congestion"] {
        let set = read(&text).with(path, json!("vegas")).unwrap();
        assert_eq!((control(&set, 0), control(&set, 1)), (json!("vegas"), json!("vegas")), "{path}");
    }
    let points = read(&format!("{text}\n[sweep]\n\"traffic.*.congestion\" = [\"reno\", \"bbr\"]")).points().unwrap();
    assert_eq!((control(&points[1].scenario, 0), control(&points[1].scenario, 1)), (json!("bbr"), json!("bbr")));
}

#[test]
fn a_star_leaves_out_the_entries_whose_kind_lacks_the_key() {
    let text = format!("{DUMBBELL}\n[[traffic]]\nkind = \"ping\"\n");
    let set = read(&text).with("traffic.*.congestion", json!("vegas")).unwrap();
    assert_eq!(set.filled()["traffic"][0]["congestion"]["kind"], "vegas");
    assert_eq!(set.filled()["traffic"][1].get("congestion"), None);
    let told = read(&text).with("traffic.*.congestoin", json!("vegas")).unwrap_err().to_string();
    assert!(told.contains("did you mean `congestion`?"), "{told}");
}

#[test]
fn a_key_that_a_star_of_the_sweep_sets_cannot_be_set() {
    let swept = read(&format!("{DUMBBELL}\n[sweep]\n\"traffic.*.congestion\" = [\"reno\", \"bbr\"]"));
    let told = swept.with("traffic[0].congestion", json!("vegas")).unwrap_err().to_string();
    assert!(told.contains("the sweep sets `traffic.*.congestion`"), "{told}");
}

#[test]
fn a_path_without_its_beginning_is_refused_with_the_whole_path() {
    let told = read(DUMBBELL).with("pairs", json!(8)).unwrap_err().to_string();
    assert!(told.ends_with("did you mean `topology.dumbbell.pairs`?"), "{told}");
    let told = read(DUMBBELL).with("initial_window", json!(4)).unwrap_err().to_string();
    assert!(told.contains("`tcp.initial_window`"), "{told}");
    let told = read(DUMBBELL).with("traffic.congestion", json!("bbr")).unwrap_err().to_string();
    assert!(told.ends_with("did you mean `traffic.0.congestion`, or `traffic.*.congestion` for all?"), "{told}");
}

#[test]
fn the_values_of_an_axis_may_lie_between_two_ends() {
    let axis = "{ logspace = { from = \"1Mbit\", to = \"100Mbit\", count = 3 }, when = { pairs = 4 } }";
    let text = format!(
        "{DUMBBELL}\n[sweep]\n\"topology.dumbbell.pairs\" = [2, 4]\n\"topology.dumbbell.bottleneck.rate\" = {axis}"
    );
    let points = read(&text).points().unwrap();
    let rates: Vec<String> =
        points.iter().map(|p| p.scenario.filled()["topology"]["dumbbell"]["bottleneck"]["rate"].to_string()).collect();
    assert_eq!(rates[1..], ["\"1Mbit\"", "\"10Mbit\"", "\"100Mbit\""]);
    assert_eq!(points.len(), 4, "pairs = 2 has the rate of the file alone");
    let both = "{ values = [1, 2], linspace = { from = 1, to = 5, count = 3 } }";
    let told = refused(&format!("{DUMBBELL}\n[sweep]\n\"topology.dumbbell.pairs\" = {both}"));
    assert!(told.contains("one of `values`, `linspace` and `logspace`"), "{told}");
}

#[test]
fn zipped_axes_are_one_axis_and_skip_leaves_points_out() {
    let text = format!(
        "{DUMBBELL}\n[sweep]\n\"topology.dumbbell.pairs\" = [4, 8]\n\
         zip = [{{ duration = [\"60s\", \"70s\"], warmup = [\"1s\", \"2s\"] }}]\n\
         skip = [{{ when = {{ pairs = 8, duration = \"70s\" }} }}]\n"
    );
    let told: Vec<Vec<Value>> = read(&text)
        .points()
        .unwrap()
        .iter()
        .map(|p| p.settings.iter().map(|(_, value)| value.clone()).collect())
        .collect();
    let expected = [json!([4, "60s", "1s"]), json!([4, "70s", "2s"]), json!([8, "60s", "1s"])];
    assert_eq!(json!(told), json!(expected));
    let again = haltere_lab::Scenario::from_value(read(&text).filled(), "").unwrap();
    assert_eq!(again.points().unwrap().len(), 3, "the filled scenario has the same sweep");
}

#[test]
fn an_axis_with_a_condition_counts_only_where_it_holds() {
    let text = format!(
        "{DUMBBELL}\n[sweep]\n\"topology.dumbbell.bottleneck.queue\" = [\"drop_tail\", \"codel\"]\n\
         \"topology.dumbbell.bottleneck.queue.target\" = {{ values = [\"5ms\", \"20ms\"], when = {{ queue = \"codel\" }} }}\n"
    );
    let counts: Vec<usize> = read(&text).points().unwrap().iter().map(|p| p.settings.len()).collect();
    assert_eq!(counts, [1, 2, 2]);
}

#[test]
fn without_a_sweep_there_is_one_point_the_scenario_itself() {
    let scenario = read(DUMBBELL);
    let points = scenario.points().unwrap();
    assert_eq!(points.len(), 1);
    assert_eq!((&points[0].scenario, points[0].settings.len()), (&scenario, 0));
}

#[test]
fn a_swept_key_that_does_not_exist_is_told_with_its_point() {
    let told = refused(&format!("{DUMBBELL}\n[sweep]\n\"topology.dumbbell.piars\" = [4]"));
    assert!(
        told.contains("sweep point topology.dumbbell.piars = 4") && told.contains("did you mean `pairs`?"),
        "{told}"
    );
    let told = refused(&format!("{DUMBBELL}\n[sweep]\n\"traffic[3].count\" = [4]"));
    assert!(told.contains("[3] in a list of 1"), "{told}");
}
