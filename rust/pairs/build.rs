//! The tables of a vocabulary: which merges can ever come first, and the edges of all tokens.

use super::atoms::Atoms;
use super::edge::Life;
use super::general;
use super::glance::Partners;
use super::merges::{Merge, Merges, NEVER};
use super::run::run;
use super::spine::{Answer, Spines};

/// Everything that is known while the tables are made.
struct Tables<'a> {
    atoms: &'a Atoms,
    merges: Merges,
    spines: Spines,
    /// The least ranks of merges that may be alive: no more than the least times of those that are.
    least_ranks: Least,
    least_times: Least,
}

/// Of the merges of every symbol the least rank or time, or [`NEVER`].
#[derive(PartialEq)]
struct Least {
    as_left: Vec<u32>,
    as_right: Vec<u32>,
}

impl Least {
    fn new(ids: usize) -> Self {
        Self { as_left: vec![NEVER; ids], as_right: vec![NEVER; ids] }
    }

    fn count(&mut self, merge: Merge, rank: u32) {
        for (least, symbol) in [(&mut self.as_left, merge.left), (&mut self.as_right, merge.right)] {
            let least = &mut least[symbol as usize];
            *least = rank.min(*least);
        }
    }
}

/// Merges and edges of a vocabulary; all ids and ranks must be within their limits.
pub(super) fn build(atoms: &Atoms, list: &[Merge]) -> (Merges, Spines) {
    let is_regular = is_regular(atoms, list);
    let ids = atoms.ids();
    let room = if is_regular { ids.min(list.len()) } else { list.len() };
    let merges = Merges::with_room(list, room);
    let mut tables = Tables {
        atoms,
        spines: Spines::new(ids, merges.end()),
        merges,
        least_ranks: Least::new(ids),
        least_times: Least::new(ids),
    };
    if is_regular {
        tables.compose_all(list);
    } else {
        tables.run_all(list);
    }
    let [of_left, of_right] = Partners::of_both(ids, list, &tables.merges);
    tables.spines.right.glance(&of_left);
    tables.spines.left.glance(&of_right);
    (tables.merges, tables.spines)
}

/// Whether every symbol that runs of atoms come to stands for its own atoms, wherever it comes from.
///
/// Then a merge can come first only if it is the last step of its product's own run, for until then nothing has crossed
/// the ends of the product (see the module's lemma). So of all merges one per self-canonical token is alive.
fn is_regular(atoms: &Atoms, list: &[Merge]) -> bool {
    list.iter().all(|merge| {
        let (left, right) = (atoms.of(merge.left), atoms.of(merge.right));
        let product = atoms.of(merge.product);
        !left.is_empty()
            && !right.is_empty()
            && product.len() == left.len() + right.len()
            && product.starts_with(left)
            && product.ends_with(right)
    })
}

impl Tables<'_> {
    /// Apply all merges to every token: nothing is known of a symbol but what stands beside it.
    fn run_all(&mut self, list: &[Merge]) {
        for (rank, merge) in (1..).zip(list) {
            self.merges.insert(merge.left, merge.right, rank, rank);
        }
        let mut symbols = Vec::new();
        for id in (0..).take(self.atoms.ids()) {
            symbols.clear();
            symbols.extend_from_slice(self.atoms.of(id));
            run(&self.merges, &mut symbols, |_| ());
            if symbols == [id] {
                self.spines.left.set_general(id);
                self.spines.right.set_general(id);
            }
        }
    }

    /// Compose every token of its two parts, short ones before long ones.
    ///
    /// A token is self-canonical iff a merge of two self-canonical parts makes it, and no other merge comes first across
    /// their edge. Those that could make something shorter and are therefore known already.
    fn compose_all(&mut self, list: &[Merge]) {
        for (rank, merge) in (1..).zip(list) {
            self.least_ranks.count(*merge, rank);
        }
        for id in (0..).take(self.atoms.ids()) {
            if self.atoms.of(id) == [id] {
                self.set_edges(id, None);
            }
        }
        for index in by_length(self.atoms, list) {
            let merge = list[index as usize];
            if !self.spines.left.is_self_canonical(merge.product) && self.fit(merge.left, merge.right) {
                self.compose(merge, index + 1);
            }
        }
        if self.least_ranks != self.least_times {
            let Spines { left, right, births } = &mut self.spines;
            left.tighten(births, &self.least_times.as_right);
            right.tighten(births, &self.least_times.as_left);
        }
    }

    fn fit(&self, left: u32, right: u32) -> bool {
        match self.spines.ask(&self.merges, left, right) {
            Answer::Fit => true,
            Answer::NoFit => false,
            Answer::Unknown => general::fit(self.atoms, &self.merges, left, right),
        }
    }

    fn compose(&mut self, merge: Merge, rank: u32) {
        let [left_birth, right_birth] = [merge.left, merge.right].map(|part| self.spines.births[part as usize]);
        let time = rank.max(left_birth).max(right_birth);
        self.merges.insert(merge.left, merge.right, rank, time);
        self.least_times.count(merge, time);
        self.spines.births[merge.product as usize] = time;
        // Where a part is born at the time of its death, only the other part can have taken a step of that rank in
        // between, and only the right one, since the left one's come first.
        let left_peak = if time > left_birth || time == right_birth { time } else { rank };
        let right_peak = if time > right_birth { time } else { rank };
        let left = Life { symbol: merge.left, birth: left_birth, death: time, peak: left_peak };
        let right = Life { symbol: merge.right, birth: right_birth, death: time, peak: right_peak };
        self.set_edges(merge.product, Some((left, right)));
    }

    fn set_edges(&mut self, id: u32, parts: Option<(Life, Life)>) {
        let (left_part, right_part) = parts.unzip();
        let Spines { left, right, births } = &mut self.spines;
        left.set(id, left_part, births, &self.least_ranks.as_right);
        right.set(id, right_part, births, &self.least_ranks.as_left);
    }
}

/// The places of merges in the list, those of short products first and of equally short ones the last: of a pair that is
/// listed twice the later place counts.
fn by_length(atoms: &Atoms, list: &[Merge]) -> Vec<u32> {
    let length = |merge: &Merge| atoms.of(merge.product).len();
    let longest = list.iter().map(length).max().unwrap_or(0);
    let mut starts = vec![0usize; longest + 2];
    for merge in list {
        starts[length(merge) + 1] += 1;
    }
    for length in 1..starts.len() {
        starts[length] += starts[length - 1];
    }
    let mut order = vec![0; list.len()];
    let count = u32::try_from(list.len()).expect("ranks have fewer bits");
    for (index, merge) in (0..count).zip(list).rev() {
        let place = &mut starts[length(merge)];
        order[*place] = index;
        *place += 1;
    }
    order
}
