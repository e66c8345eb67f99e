//! A closer look at an edge that the tables over pairs of kinds do not settle: what stands before it tells the state of the
//! splitter, and the state tells whether a pre-token ends there.
//!
//! The tables say what holds in every state, so the edges they settle need no walk. Where they do not, the state is found by
//! going back to the nearest pair of tokens behind which there is only one, two or three tokens away as a rule, and forward
//! again. Tokens that are no text by themselves are walked over together, character by character.
//!
//! Looking at a window at once, as was done before, took three to four times as long where such edges are common: indentation in
//! vocabularies without tokens for it, capitals under the o200k pattern, scripts whose characters are spelled in pieces. What
//! tokens do to states in one flat table, and one suspect for all edges of a stretch of pieces, gained nothing.

use std::ops::Range;

use crate::fast::Fast;
use crate::fast::scratch::{Buffers, Work};
use crate::machine::{BORDER, OPAQUE, Passage, START, Start, passage};
use crate::pairs::PairCache;

/// A character is made of no more tokens than that.
const MOST_PIECES: usize = 4;

/// A place in a row before which all is settled.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The token behind it; the edges before earlier tokens are settled.
    pub(crate) at: usize,
    /// The state of the splitter there.
    state: u8,
}

impl Place {
    /// A place where the text falls apart.
    pub(crate) fn afresh(at: usize) -> Self {
        Self { at, state: START }
    }
}

impl Fast {
    /// Settle the edge before token `edge`, which stays as it is sampled, and those up to where it goes on behind the place
    /// `reached`. No where its text has to be looked at, or the row drifts there.
    pub(crate) fn settle(&self, ids: &[u32], edge: usize, reached: &mut Place, work: &mut Work) -> bool {
        let known = |&at: &usize| self.kinds.state_behind(self.kind_before(ids, at), self.kinds.of(ids[at]));
        let nearest = (reached.at..edge).rev().find_map(|at| Some(Place { at: at + 1, state: known(&at)? }));
        let mut place = nearest.unwrap_or(*reached);
        while place.at < edge {
            // The edges up to here are settled: what they came to is all that counts.
            let passage = self.kinds.passage(self.kinds.of(ids[place.at]), place.state);
            let Some(state) = passage.next() else { return false };
            place = Place { at: place.at + 1, state };
        }
        let behind = match ids.get(edge).map(|&id| self.kinds.of(id)) {
            None | Some(BORDER) => self.kinds.may_end(place.state).then(|| Place::afresh(edge + 1)),
            Some(OPAQUE) => self.over_fragments(ids, place, work),
            Some(kind) => self.over_token(ids, kind, place, work),
        };
        if let Some(behind) = behind {
            *reached = behind;
        }
        behind.is_some()
    }

    /// Go over a token whose kind is known.
    fn over_token(&self, ids: &[u32], kind: u8, place: Place, work: &mut Work) -> Option<Place> {
        let Place { at, state } = place;
        let passage = self.kinds.passage(kind, state);
        if !self.is_plain(ids, at, work) {
            return None;
        }
        if self.passes(passage, ids, at, &mut work.cache) {
            return passage.next().map(|state| Place { at: at + 1, state });
        }
        // The tokens do not stay in one pre-token: a boundary must be there, and what follows has to bear it out.
        let Passage::Boundary(state) = self.kinds.assumed_passage(kind, state) else { return None };
        self.until_usual(ids, Place { at: at + 1, state }, work)
    }

    /// Go on until a state that comes about without what was assumed.
    fn until_usual(&self, ids: &[u32], mut place: Place, work: &mut Work) -> Option<Place> {
        while !self.kinds.is_usual(self.kind_before(ids, place.at), place.state) {
            let Place { at, state } = place;
            let kind = ids.get(at).map_or(BORDER, |&id| self.kinds.of(id));
            if kind == BORDER {
                return self.kinds.may_end(state).then(|| Place::afresh(at));
            }
            let passage = self.kinds.passage(kind, state);
            if !self.passes(passage, ids, at, &mut work.cache) || !self.is_plain(ids, at, work) {
                return None;
            }
            place = Place { at: at + 1, state: passage.next()? };
        }
        Some(place)
    }

    /// Whether the text is split as it is before a token: the normalizer changes nothing there, and no added token begins.
    fn is_plain(&self, ids: &[u32], at: usize, work: &mut Work) -> bool {
        let kind = self.kinds.of(ids[at]);
        let mut begins_added =
            || self.kinds.traits(kind).may_begin_added && self.added_from(ids, at, &mut work.buffers.text).is_some();
        !self.kinds.joins(self.kind_before(ids, at), kind) && !begins_added()
    }

    /// Go over tokens that are text only together.
    fn over_fragments(&self, ids: &[u32], place: Place, work: &mut Work) -> Option<Place> {
        let Place { at: first, state } = place;
        let end = first + ids[first..].iter().take_while(|&&id| self.kinds.of(id) == OPAQUE).count();
        let behind = self.kinds.traits(ids.get(end).map_or(BORDER, |&id| self.kinds.of(id)));
        let told = if behind.start == Start::Inert { self.over_characters(ids, first..end, state, work) } else { None };
        let state = told.or_else(|| {
            let before = self.kinds.traits(self.kind_before(ids, first));
            let is_kept = |text: &str| self.normal.keeps_between(before, text, behind);
            let passage = self.over_text(&ids[first..end], state, is_kept, work)?;
            if self.passes(passage, ids, first, &mut work.cache) { passage.next() } else { None }
        });
        state.map(|state| Place { at: end, state })
    }

    /// The state behind tokens of which a few at a time are text together that the normalizer leaves alone, as nearly all are.
    fn over_characters(&self, ids: &[u32], tokens: Range<usize>, mut state: u8, work: &mut Work) -> Option<u8> {
        let Range { start: mut at, end } = tokens;
        while at < end {
            let (passage, length) = self.over_character(&ids[at..end], state, work)?;
            if !self.passes(passage, ids, at, &mut work.cache) {
                return None;
            }
            (at, state) = (at + length, passage.next()?);
        }
        Some(state)
    }

    /// What the first few of some tokens do to a state, and how many they are: most characters in pieces are two.
    fn over_character(&self, tokens: &[u32], state: u8, work: &mut Work) -> Option<(Passage, usize)> {
        let pair = tokens.first_chunk::<2>()?;
        if let Some(passage) = work.together.recall(state, *pair) {
            return Some((passage, pair.len()));
        }
        let is_kept = |text: &str| self.normal.settles(text);
        if let Some(passage) = self.over_text(pair, state, is_kept, work) {
            work.together.store(state, *pair, passage);
            return Some((passage, pair.len()));
        }
        let longer = MOST_PIECES.min(tokens.len());
        (3..=longer).find_map(|length| Some((self.over_text(&tokens[..length], state, is_kept, work)?, length)))
    }

    /// What tokens do to a state that are text only together, one that `is_kept` by the normalizer, and stay beside each other.
    fn over_text(
        &self,
        tokens: &[u32],
        mut state: u8,
        is_kept: impl Fn(&str) -> bool,
        work: &mut Work,
    ) -> Option<Passage> {
        let Work { cache, buffers: Buffers { text, classes, .. }, .. } = work;
        text.clear();
        for &id in tokens {
            let bytes = self.texts.bytes(id);
            if !self.pairs.is_self_canonical(id) || self.added.may_begin_in(bytes) {
                return None;
            }
            text.extend_from_slice(bytes);
        }
        let text = std::str::from_utf8(text).ok().filter(|text| is_kept(text))?;
        let mut characters = text.char_indices().peekable();
        let (mut start, mut of_first) = (0, Passage::Unknown);
        for at in 0..tokens.len() {
            let is_inside = !text.is_char_boundary(start);
            start += self.texts.length(&tokens[at..=at]);
            classes.clear();
            while let Some((_, c)) = characters.next_if(|&(at, _)| at < start) {
                classes.push(self.splitter.class(c));
            }
            let passage = passage(&self.states, state, is_inside, classes);
            if at == 0 {
                of_first = passage;
            } else if !self.passes(passage, tokens, at, cache) {
                return None;
            }
            state = passage.next()?;
        }
        Some(of_first.followed_to(state))
    }

    /// Whether a token stays beside the one before it where it does this to the state.
    fn passes(&self, passage: Passage, ids: &[u32], at: usize, cache: &mut PairCache) -> bool {
        match passage {
            Passage::Boundary(_) => true,
            Passage::Pair(_) => self.pairs.stay(ids[at - 1], ids[at], cache),
            Passage::Unknown => false,
        }
    }

    /// The kind of the token before another one, that of an added token where there is none: a text begins.
    pub(crate) fn kind_before(&self, ids: &[u32], at: usize) -> u8 {
        at.checked_sub(1).map_or(BORDER, |before| self.kinds.of(ids[before]))
    }
}
