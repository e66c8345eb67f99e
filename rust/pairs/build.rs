//! The tables of a vocabulary: which merges can ever come first, and the edges of all tokens.

use super::atoms::Atoms;
use super::general::Log;
use super::merges::{Merge, Merges, NEVER};
use super::run::Step;
use super::spine::{Builder, Life, Side, Spines, meet};

/// Everything that is known while the tables are made.
struct Tables<'a> {
    atoms: &'a Atoms,
    merges: Merges,
    spines: Spines,
    /// By id the least rank of its merges as the left symbol, or [`NEVER`].
    least_as_left: Vec<u32>,
    least_as_right: Vec<u32>,
    /// By id the time of the last step of a self-canonical token's run.
    ends: Vec<u32>,
}

/// Merges and edges of a vocabulary; all ids and ranks must be within their limits.
pub(super) fn build(atoms: &Atoms, list: &[Merge]) -> (Merges, Spines) {
    let ids = atoms.ids();
    let is_regular = is_regular(atoms, list);
    let room = if is_regular { ids.min(list.len()) } else { list.len() };
    let mut tables = Tables {
        atoms,
        merges: Merges::with_room(list, room),
        spines: Spines::new(ids),
        least_as_left: vec![NEVER; ids],
        least_as_right: vec![NEVER; ids],
        ends: vec![0; ids],
    };
    for (rank, merge) in (1..).zip(list) {
        let least = &mut tables.least_as_left[merge.left as usize];
        *least = rank.min(*least);
        let least = &mut tables.least_as_right[merge.right as usize];
        *least = rank.min(*least);
    }
    if is_regular {
        tables.compose_all(list);
    } else {
        tables.run_all(list);
    }
    (tables.merges, tables.spines)
}

/// Whether every symbol stands for the same atoms wherever it comes from.
///
/// Then a merge of rank c can come first only if it is the last step of its product's own run, for until then nothing
/// has crossed the ends of the product (see the module's lemma). So of all merges one per self-canonical token is alive.
fn is_regular(atoms: &Atoms, list: &[Merge]) -> bool {
    atoms.are_atoms()
        && list.iter().all(|merge| {
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
    fn end(&self) -> u32 {
        self.merges.end()
    }

    /// Follow the run of every token with all merges.
    fn run_all(&mut self, list: &[Merge]) {
        for (rank, merge) in (1..).zip(list) {
            self.merges.insert(merge.left, merge.right, rank);
        }
        for id in (0..).take(self.atoms.ids()) {
            if let Some(log) = Log::of(self.atoms, &self.merges, id).filter(|log| log.result == [id]) {
                self.set_from_run(id, &log.steps);
            }
        }
    }

    /// Compose the edges of every token from those of its two parts, short tokens before long ones.
    ///
    /// A token is self-canonical iff a merge of two self-canonical parts makes it, and no other merge comes first across
    /// their edge. Those that could make something shorter and are therefore known already.
    fn compose_all(&mut self, list: &[Merge]) {
        for id in (0..).take(self.atoms.ids()) {
            if self.atoms.of(id) == [id] {
                self.set_from_run(id, &[Step { rank: 0, first: id, last: id }]);
            }
        }
        for index in by_length(self.atoms, list) {
            let merge = list[index as usize];
            let parts_are =
                |test: fn(&Spines, u32) -> bool| test(&self.spines, merge.left) && test(&self.spines, merge.right);
            if self.spines.is_self_canonical(merge.product) || !parts_are(Spines::is_self_canonical) {
                continue;
            }
            let rank = index + 1;
            if parts_are(Spines::is_plain) {
                self.compose(merge, rank);
            } else {
                self.run_one(merge, rank);
            }
        }
    }

    fn compose(&mut self, merge: Merge, rank: u32) {
        let Merge { left, right, product } = merge;
        if meet(&self.merges, self.spines.edge(Side::Right, left), self.spines.edge(Side::Left, right)) {
            return;
        }
        self.merges.insert(left, right, rank);
        let (left_end, right_end) = (self.ends[left as usize], self.ends[right as usize]);
        let time = rank.max(left_end).max(right_end);
        self.ends[product as usize] = time;
        // Between the birth of a part and its death at the same time only the other part can have made a step of that
        // time, and only the right one, since the left one's come first.
        let left_peak = if time > left_end || right_end == time { time } else { rank };
        let right_peak = if time > right_end { time } else { rank };
        let left = Life { symbol: left, birth: left_end, death: time, peak: left_peak };
        let right = Life { symbol: right, birth: right_end, death: time, peak: right_peak };
        for (side, part) in [(Side::Left, left), (Side::Right, right)] {
            let mut builder = Builder::before_end(self.spines.edge(side, part.symbol), side, self.end());
            builder.push_if(side, part, self.least(side, part.symbol));
            let whole = Life { symbol: product, birth: time, death: self.end(), peak: self.end() };
            builder.push_if(side, whole, self.least(side, product));
            self.spines.set(side, product, builder.edge);
        }
    }

    /// The same for a token of whose parts one has an edge that is not written down.
    fn run_one(&mut self, merge: Merge, rank: u32) {
        let Some(mut log) = Log::of(self.atoms, &self.merges, merge.product) else { return };
        if log.result == [merge.left, merge.right] {
            self.merges.insert(merge.left, merge.right, rank);
            log.steps.push(Step { rank, first: merge.product, last: merge.product });
            self.set_from_run(merge.product, &log.steps);
        }
    }

    fn set_from_run(&mut self, id: u32, steps: &[Step]) {
        self.ends[id as usize] = steps.iter().map(|step| step.rank).max().unwrap_or(0);
        for side in [Side::Left, Side::Right] {
            let edge = Builder::follow(side, steps, self.end(), |symbol| self.least(side, symbol));
            self.spines.set(side, id, edge);
        }
    }

    /// The least rank that a symbol at this edge of a token can merge with across it.
    fn least(&self, side: Side, symbol: u32) -> u32 {
        match side {
            Side::Left => self.least_as_right[symbol as usize],
            Side::Right => self.least_as_left[symbol as usize],
        }
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
