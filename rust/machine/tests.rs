//! What the tables say, against the splitter that they are derived from.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use super::columns::{Passage, passage, passages};
use super::states::START;
use super::{
    BORDER, Builder, CONTEXT, CONTINUATION, Edge, End, Fragment, Kinds, OPAQUE, Split, Start, States, Sync, Traits,
    ends, strings,
};
use crate::split::Splitter;
use crate::split::tests::section;

/// A splitter as the enumeration sees it.
pub(crate) struct Family(Splitter);

impl Family {
    pub(crate) fn new(name: &str) -> Self {
        Self(Splitter::recognise(&section(name)).unwrap())
    }
}

impl Split for Family {
    fn classes(&self) -> usize {
        self.0.classes()
    }

    fn next_end(&self, text: &[u8], start: usize) -> usize {
        self.0.next_end(text, start)
    }
}

/// The machine that the tables over pairs of kinds are made of: one state after the other.
pub(crate) struct Sequential(States);

impl Sequential {
    pub(crate) fn new(family: &Family) -> Self {
        Self(States::new(family, CONTINUATION).unwrap())
    }

    /// Of every token of a text, whether a pre-token surely ends before it; `None` where more has to be known.
    pub(crate) fn walk<'t>(&self, tokens: impl IntoIterator<Item = &'t [u8]>) -> Option<Vec<bool>> {
        let mut state = START;
        let mut is_boundary = Vec::new();
        for classes in tokens {
            let (boundary, next) = match passages(&self.0, state, classes).1 {
                Passage::Boundary(next) => (true, next),
                Passage::Pair(next) => (false, next),
                Passage::Unknown => return None,
            };
            is_boundary.push(boundary);
            state = next;
        }
        self.0.may_end(state).then_some(is_boundary)
    }
}

/// Tokens of up to so many characters, all there are.
const LONGEST: usize = 3;

/// A family, and what is derived from it alone.
struct Derived {
    family: Family,
    machine: Sequential,
    sync: Sync,
    /// All short tokens.
    tokens: Vec<Vec<u8>>,
}

/// A row: tokens, and added tokens between them.
type Row = Vec<Option<Vec<u8>>>;

impl Derived {
    fn new(name: &str) -> Self {
        let family = Family::new(name);
        let machine = Sequential::new(&family);
        let sync = Sync::new(&family, &machine.0, CONTEXT);
        let tokens = strings(family.classes(), LONGEST).split_off(1);
        Self { family, machine, sync, tokens }
    }

    /// Texts of a few classes each, cut anywhere into tokens; nothing stands for an added token.
    fn rows(&self, most: usize) -> impl Strategy<Value = Row> + use<> {
        let classes = u8::try_from(self.family.classes()).unwrap();
        let alphabet = prop::collection::vec(0..classes, 1..=5);
        let character = (any::<Index>(), prop_oneof![4 => Just(0u8), 4 => Just(1), 1 => Just(2)]);
        (alphabet, prop::collection::vec(character, 1..=most)).prop_map(|(alphabet, characters)| {
            let mut row: Row = vec![Some(Vec::new())];
            for (class, cut) in characters {
                let is_full = row.last().is_some_and(|token| token.as_ref().is_none_or(|token| token.len() == LONGEST));
                if cut == 2 {
                    row.push(None);
                }
                if cut > 0 || is_full {
                    row.push(Some(Vec::new()));
                }
                row.last_mut().unwrap().as_mut().unwrap().push(*class.get(&alphabet));
            }
            row.retain(|token| token.as_ref().is_none_or(|token| !token.is_empty()));
            row
        })
    }

    /// Where the splitter ends pieces, by the place among all characters of the row; an added token ends the text.
    fn true_ends(&self, row: &Row) -> HashSet<usize> {
        let mut found = HashSet::from([0]);
        let mut start = 0;
        for segment in row.split(Option::is_none) {
            let text: Vec<u8> = segment.iter().flatten().flatten().copied().collect();
            let ends = ends(&self.family, &text);
            found.extend((0..=text.len()).filter(|&at| ends >> at & 1 == 1).map(|at| start + at));
            found.insert(start);
            start += text.len();
        }
        found
    }
}

/// What is derived for some tokens of a family.
struct Vocabulary<'d> {
    derived: &'d Derived,
    ids: HashMap<Vec<u8>, u32>,
    kinds: Kinds,
}

impl<'d> Vocabulary<'d> {
    fn new(derived: &'d Derived, tokens: &[Vec<u8>]) -> Self {
        let kinds = kinds(&derived.machine.0, tokens, |_| Traits::default());
        Self { derived, ids: tokens.iter().cloned().zip(0..).collect(), kinds }
    }

    fn kind(&self, row: &Row, at: usize) -> u8 {
        row[at].as_ref().map_or(BORDER, |classes| self.kinds.of(self.ids[classes]))
    }

    /// What the table says of the edge before token `at`, and of the end of the row.
    fn edge(&self, row: &Row, at: usize) -> Edge {
        let left = if at == 0 { BORDER } else { self.kind(row, at - 1) };
        self.kinds.edge(left, if at == row.len() { BORDER } else { self.kind(row, at) })
    }

    /// The rule of the engine for where a window may begin and end.
    fn falls_apart(&self, row: &Row, at: usize) -> bool {
        is_border(row, at) || ends_segment(row, at) || {
            let kind = self.kind(row, at);
            let class = |token: &Option<Vec<u8>>, last: bool| {
                let classes = token.as_ref().unwrap();
                if last { classes[classes.len() - 1] } else { classes[0] }
            };
            kind != OPAQUE
                && self.kinds.begins(kind)
                && self.derived.sync.between(class(&row[at - 1], true), class(&row[at], false))
        }
    }

    /// The windows of a row whose tables leave some edges open, or whose pairs do not all stay.
    fn windows(&self, row: &Row, bad: &[bool]) -> Vec<std::ops::Range<usize>> {
        let is_suspect = |&edge: &usize| match self.edge(row, edge) {
            Edge::Boundary => false,
            Edge::Pair => bad[edge % bad.len()],
            Edge::Unknown => true,
        };
        let mut windows: Vec<std::ops::Range<usize>> = Vec::new();
        for edge in (0..=row.len()).filter(is_suspect) {
            if windows.last().is_some_and(|last| edge < last.end) {
                continue;
            }
            let falls_apart = |&at: &usize| self.falls_apart(row, at);
            let start = if is_border(row, edge) { edge } else { (0..edge).rev().find(falls_apart).unwrap_or(0) };
            let end = if ends_segment(row, edge) {
                edge
            } else {
                (edge + 1..row.len()).find(falls_apart).unwrap_or(row.len())
            };
            windows.push(start..end);
        }
        windows
    }
}

fn kinds(states: &States, tokens: &[Vec<u8>], traits: impl Fn(usize) -> Traits) -> Kinds {
    let mut builder = Builder::new(states, tokens.len());
    for (id, classes) in tokens.iter().enumerate() {
        builder.set(u32::try_from(id).unwrap(), classes, traits(id)).unwrap();
    }
    builder.finish(states)
}

fn is_border(row: &Row, at: usize) -> bool {
    at == 0 || row[at - 1].is_none()
}

fn ends_segment(row: &Row, at: usize) -> bool {
    at == row.len() || row[at].is_none()
}

/// Places of the edges of a row among its characters, the end of the row included.
fn places(row: &Row) -> Vec<usize> {
    let length = |at: usize| row[..at].iter().flatten().map(Vec::len).sum();
    (0..=row.len()).map(length).collect()
}

fn run<S: Strategy>(cases: u32, strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() }).run(strategy, test).unwrap();
}

/// What holds of every row, whatever the tables leave open: outside the windows no boundary is wrong and no token lies
/// across one, and a window by itself is cut as it is within the row.
fn check_windows(vocabulary: &Vocabulary, row: &Row, bad: &[bool]) -> Result<bool, TestCaseError> {
    let (ends, places) = (vocabulary.derived.true_ends(row), places(row));
    let windows = vocabulary.windows(row, bad);
    let inside = |at: usize| windows.iter().any(|window| window.contains(&at));
    for (at, token) in row.iter().enumerate().filter(|(at, token)| token.is_some() && !inside(*at)) {
        prop_assert!(!(places[at] + 1..places[at + 1]).any(|place| ends.contains(&place)), "across: {at} {token:?}");
        if vocabulary.edge(row, at) == Edge::Boundary {
            prop_assert!(ends.contains(&places[at]), "no boundary before {at}");
        }
    }
    for window in &windows {
        let alone: Row = row[window.clone()].to_vec();
        let start = places[window.start];
        let expected = vocabulary.derived.true_ends(&alone).into_iter().map(|end| start + end).collect();
        let found: HashSet<usize> =
            ends.iter().copied().filter(|end| (start..=places[window.end]).contains(end)).collect();
        prop_assert_eq!(found, expected, "{:?}", window);
    }
    Ok(windows.is_empty())
}

/// What is known of a family: states, kinds of a vocabulary of all short tokens, pairs of kinds that are undecided, and
/// pairs of classes between which a text falls apart. None of it has to be so; but more of one and less of the other is
/// slower, and should be noticed.
fn size(derived: &Derived) -> [usize; 4] {
    let all = Vocabulary::new(derived, &derived.tokens).kinds;
    let kinds: HashSet<u8> = all.of_tokens().iter().copied().filter(|&kind| kind != OPAQUE).collect();
    let pairs = kinds.iter().flat_map(|&left| kinds.iter().map(move |&right| (left, right)));
    let unknown = pairs.filter(|&(left, right)| all.edge(left, right) == Edge::Unknown).count();
    let classes = 0..u8::try_from(derived.family.classes()).unwrap();
    let apart = classes.clone().flat_map(|left| classes.clone().map(move |right| (left, right)));
    let apart = apart.filter(|&(left, right)| derived.sync.between(left, right)).count();
    [derived.machine.0.count(), kinds.len(), unknown, apart]
}

/// The tests that hold for every family.
macro_rules! families {
    ($($module:ident $name:literal $size:expr;)*) => {$(
        mod $module {
            use super::*;

            static DERIVED: LazyLock<Derived> = LazyLock::new(|| Derived::new($name));

            #[test]
            fn longer_continuations_tell_nothing_new() {
                let longer = States::new(&DERIVED.family, CONTINUATION + 1).unwrap();
                assert!(DERIVED.machine.0 == longer);
            }

            #[test]
            fn longer_contexts_tell_nothing_new() {
                assert!(DERIVED.sync == Sync::new(&DERIVED.family, &DERIVED.machine.0, CONTEXT + 1));
            }

            #[test]
            fn it_has_the_size_that_it_had() {
                assert_eq!(size(&DERIVED), $size);
            }

            #[test]
            fn a_text_falls_apart_where_it_is_said_to_and_nowhere_else() {
                falls_apart(&DERIVED);
            }

            #[test]
            fn the_machine_is_right_where_it_knows() {
                machine(&DERIVED);
            }

            #[test]
            fn pairs_of_kinds_are_right_where_they_know_and_behind_windows() {
                windows(&DERIVED);
            }

            #[test]
            fn the_states_beside_fragments_are_known_ones() {
                beside_fragments(&DERIVED);
            }

            #[test]
            fn traits_only_take_away() {
                traits(&DERIVED);
            }
        }
    )*};
}

families! {
    gpt2 "gpt2" [16, 22, 76, 47];
    digits "digits" [15, 21, 73, 50];
    cl100k "cl100k" [20, 32, 164, 54];
    qwen "qwen" [18, 30, 150, 55];
    qwen3_5 "qwen3.5" [18, 30, 150, 55];
    o200k "o200k" [34, 148, 9744, 134];
    tekken "tekken" [19, 53, 965, 44];
    deepseek "deepseek" [26, 29, 131, 106];
}

/// By the definition: for all short texts on both sides, and long ones at random.
fn falls_apart(derived: &Derived) {
    let classes = derived.family.classes();
    let holds = |left: &[u8], right: &[u8]| {
        let upto = (2 << left.len()) - 1;
        let alone = ends(&derived.family, left);
        ends(&derived.family, &[left, right].concat()) & upto == alone
    };
    let rights = strings(classes, 2).split_off(1);
    let mut expected = vec![true; classes * classes];
    for left in &derived.tokens {
        for right in &rights {
            let pair = usize::from(left[left.len() - 1]) * classes + usize::from(right[0]);
            expected[pair] = expected[pair] && holds(left, right);
        }
    }
    for (pair, expected) in expected.into_iter().enumerate() {
        let [left, right] = [pair / classes, pair % classes].map(|class| u8::try_from(class).unwrap());
        assert_eq!(derived.sync.between(left, right), expected, "{left} {right}");
    }
    let text = |row: Row| -> Vec<u8> { row.into_iter().flatten().flatten().collect() };
    run(4_000, &(derived.rows(25), derived.rows(25)), |(left, right)| {
        let (left, right) = (text(left), text(right));
        if derived.sync.between(left[left.len() - 1], right[0]) {
            prop_assert!(holds(&left, &right));
        }
        Ok(())
    });
}

fn machine(derived: &Derived) {
    let known = Cell::new(0);
    run(4_000, &derived.rows(20), |row| {
        let (all, places) = (derived.true_ends(&row), places(&row));
        let mut first = 0;
        for segment in row.split(Option::is_none) {
            if let Some(is_boundary) = derived.machine.walk(segment.iter().flatten().map(Vec::as_slice)) {
                known.set(known.get() + 1);
                for (at, is_boundary) in (first..).zip(is_boundary) {
                    prop_assert!(!is_boundary || all.contains(&places[at]), "no boundary before {}", at);
                    prop_assert!(!(places[at] + 1..places[at + 1]).any(|place| all.contains(&place)), "across {}", at);
                }
            }
            first += segment.len() + 1;
        }
        Ok(())
    });
    assert!(known.get() > 100, "only {} texts", known.get());
}

fn windows(derived: &Derived) {
    let all = Vocabulary::new(derived, &derived.tokens);
    let known = Cell::new(0);
    let bad = prop::collection::vec(any::<bool>(), 1..20);
    run(4_000, &(derived.rows(20), bad), |(row, bad)| {
        known.set(known.get() + u32::from(check_windows(&all, &row, &bad)?));
        Ok(())
    });
    assert!(known.get() > 100, "{} rows without a window", known.get());
}

/// Of vocabularies that have but some tokens of a row and all others as fragments: the states in which a token stands beside
/// another one are among those that the tables were made for.
fn beside_fragments(derived: &Derived) {
    let known = Cell::new([0; 2]);
    run(4_000, &(derived.rows(12), any::<u64>(), any::<u64>()), |(row, chosen, inside)| {
        let is_token = |at: usize| chosen >> at & 1 == 1 || row.get(at).is_none_or(Option::is_none);
        // Characters end inside a fragment only where another one goes on.
        let is_inside = |at: usize| at > 0 && !is_token(at) && !is_token(at - 1) && inside >> at & 1 == 1;
        let fragment = |at: usize| Fragment {
            is_inside: is_inside(at),
            is_open: is_inside(at + 1),
            classes: row[at].clone().unwrap(),
        };
        let mut builder = Builder::new(&derived.machine.0, row.len());
        for (id, at) in (0u32..).zip(0..row.len()) {
            match &row[at] {
                None => builder.set_border(id),
                Some(classes) if is_token(at) => builder.set(id, classes, Traits::default()).unwrap(),
                Some(_) => builder.set_fragment(fragment(at)),
            }
        }
        let kinds = builder.finish(&derived.machine.0);
        let mut state = START;
        for (id, at) in (0u32..).zip(0..row.len()) {
            let Some(classes) = &row[at] else {
                state = START;
                continue;
            };
            let passage = if is_token(at) {
                passage(&derived.machine.0, state, false, classes)
            } else {
                fragment(at).passage(&derived.machine.0, state)
            };
            let Some(next) = passage.next() else { break };
            if is_token(at) && (at == 0 || is_token(at - 1)) {
                let [left, right] = [if at == 0 { BORDER } else { kinds.of(id - 1) }, kinds.of(id)];
                let is_boundary = kinds.edge(left, right) == Edge::Boundary;
                prop_assert!(!is_boundary || passage == Passage::Boundary(next), "no boundary before {}", at);
                let behind = kinds.state_behind(left, right);
                prop_assert!(behind.is_none_or(|state| state == next), "{:?} behind {}", behind, at);
                let [all, single] = known.get();
                known.set([all + 1, single + u32::from(behind.is_some())]);
            }
            state = next;
        }
        Ok(())
    });
    let [all, single] = known.get();
    assert!(all > 1_000 && 4 * single > all, "{single} of {all} pairs of tokens lead to one state");
}

/// Whatever tokens are besides their classes, an edge is what the classes say, or undecided.
fn traits(derived: &Derived) {
    let start = |id: usize| [Start::Inert, Start::Reorders, Start::Composes][id / 2 % 3];
    let traits = |id: usize| Traits {
        start: start(id),
        end: [End::Inert, End::Joinable, End::Mark][id / 6 % 3],
        may_begin_added: id.is_multiple_of(2),
    };
    // Few tokens: kinds are numbered in a byte.
    let tokens = &derived.tokens[..derived.tokens.len().min(300)];
    let plain = kinds(&derived.machine.0, tokens, |_| Traits::default());
    let kinds = kinds(&derived.machine.0, tokens, traits);
    let ids = || 0..u32::try_from(tokens.len()).unwrap();
    for (left, right) in ids().flat_map(|left| ids().map(move |right| (left, right))) {
        let bare = plain.edge(plain.of(left), plain.of(right));
        let (before, behind) = (traits(left as usize), traits(right as usize));
        let joins = matches!(
            (before.end, behind.start),
            (End::Mark, Start::Reorders) | (End::Joinable | End::Mark, Start::Composes)
        );
        let (left, right) = (kinds.of(left), kinds.of(right));
        assert!(left == OPAQUE || right == OPAQUE || kinds.joins(left, right) == joins);
        let expected = if joins || behind.may_begin_added { Edge::Unknown } else { bare };
        assert_eq!(kinds.edge(left, right), expected);
        assert_eq!(kinds.is_open(left, right) == 0, expected == Edge::Boundary);
    }
}
