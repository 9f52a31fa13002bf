//! Unknown names: the few that are nearest, and where all are.

/// So many names are listed. Of more, the nearest are proposed.
const FEW: usize = 12;
/// So many names are proposed.
const PROPOSED: usize = 3;

/// `names` as a sentence lists them: `` `a`, `b`, `c` ``.
pub(crate) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 40;
    let mut out = names.iter().take(SHOWN).map(|n| format!("`{}`", n.as_ref())).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        out.push_str(", ...");
    }
    out
}

/// What a name of `known` must be: one of a few, or one of many `what` that `where_all` lists, such as `` `haltere list
/// queues` ``.
pub(crate) fn rule<S: AsRef<str>>(known: &[S], what: &str, where_all: Option<&str>) -> String {
    match (known, where_all) {
        ([one], _) => format!("`{}`", one.as_ref()),
        (few, _) if few.len() <= FEW => format!("one of {}", listed(few)),
        (many, Some(place)) => format!("one of the {} {what} that `{place}` prints", many.len()),
        (many, None) => format!("one of {} {what}, such as {}", many.len(), listed(&many[..PROPOSED])),
    }
}

/// "did you mean ...?" with the nearest of `names`, or nothing if none is near.
pub(crate) fn did_you_mean<S: AsRef<str>>(got: &str, names: &[S]) -> String {
    match nearest(got, names).as_slice() {
        [] => String::new(),
        [one] => format!("did you mean `{one}`?"),
        [first @ .., last] => format!("did you mean {} or `{last}`?", listed(first)),
    }
}

/// The names that are as near to `got` as any, if they are near at all; else those that contain it or that it contains.
fn nearest<'a, S: AsRef<str>>(got: &str, names: &'a [S]) -> Vec<&'a str> {
    // Of one or two letters anything is near.
    let letters = got.chars().count();
    if letters < 3 {
        return Vec::new();
    }
    let mut least = usize::MAX;
    let mut near = Vec::new();
    for name in names.iter().map(AsRef::as_ref) {
        let away = distance(got, name);
        if away > 1 + letters.min(name.chars().count()) / 3 || away > least {
            continue;
        }
        if away < least {
            least = away;
            near.clear();
        }
        near.push(name);
    }
    if near.is_empty() {
        let got = got.to_lowercase();
        let alike = |name: &&str| name.len() >= 3 && (name.contains(&got) || got.contains(*name));
        near.extend(names.iter().map(AsRef::as_ref).filter(alike));
    }
    near.truncate(PROPOSED);
    near
}

/// Edit distance with transpositions of the first 64 characters, in lower case.
fn distance(a: &str, b: &str) -> usize {
    let begin = |name: &str| name.chars().take(64).flat_map(char::to_lowercase).collect::<String>();
    strsim::osa_distance(&begin(a), &begin(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_proposed_and_a_far_one_is_not() {
        let names = ["drop_tail", "codel", "fq_codel", "red"];
        assert_eq!(did_you_mean("codl", &names), "did you mean `codel`?");
        assert_eq!(did_you_mean("edr", &names), "did you mean `red`?");
        assert_eq!(did_you_mean("blue_moon", &names), "");
    }
    #[test]
    fn names_that_are_equally_near_are_all_proposed_and_a_part_of_a_name_finds_it() {
        let names = ["bbr", "bbr3", "reno", "pfifo_fast"];
        assert_eq!(did_you_mean("bbr2", &names), "did you mean `bbr` or `bbr3`?");
        assert_eq!(did_you_mean("newreno", &names), "did you mean `reno`?");
        assert_eq!(did_you_mean("pfifo", &names), "did you mean `pfifo_fast`?");
    }
    #[test]
    fn few_names_are_listed_and_of_many_it_is_said_where_all_are() {
        assert_eq!(rule(&["a"], "names", None), "`a`");
        assert_eq!(rule(&["a", "b"], "names", None), "one of `a`, `b`");
        let many: Vec<String> = (1..=53).map(|i| format!("n{i}")).collect();
        assert_eq!(rule(&many, "nodes", None), "one of 53 nodes, such as `n1`, `n2`, `n3`");
        let told = rule(&many, "names", Some("haltere list queues"));
        assert_eq!(told, "one of the 53 names that `haltere list queues` prints");
    }
}
