//! Why a span drifts. Every cause is one sentence of the form "a span is X iff ..."; the first that holds, in order of
//! precedence, is the span's cause.

use std::cell::LazyCell;

use crate::ByteRange;
use crate::align::Span;
use crate::decode::DecodeTrace;
use crate::reencode::EncodeTrace;
use crate::tokenizer::Tokenizer;

/// A cause of drift, in order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A sampled id is outside the vocabulary.
    UnknownId,
    /// The model's unknown token stands on either side.
    UnknownToken,
    /// Its bytes on D hold a U+FFFD that stands for bytes that are no UTF-8.
    InvalidUtf8,
    /// An added token whose text is not white space alone stands on either side.
    SpecialText,
    /// Decoding dropped special tokens (the pipeline's exposure only).
    SpecialSkipped,
    /// Clean-up of spaces changed the text (the pipeline's exposure only).
    CleanupSpaces,
    /// The normalizer changes the text within its bytes.
    Normalizer,
    /// Its run between added tokens comes back equal by itself, and all added ids came back.
    ControlSpacing,
    /// The surfaces of its two sides differ in the leading space only, and the space did not just move to or from a span
    /// that it touches.
    PrefixSpace,
    /// A sampled id is a byte token.
    ByteFallback,
    /// One id became another with the same bytes.
    IdAlias,
    /// A sampled id reaches across a boundary between pre-tokens.
    PretokenBoundary,
    /// Its re-encoded side is a whole pre-token that the merges alone would not give.
    WholeWord,
    /// A sampled id does not come back from its own surface.
    UnreachableToken,
    /// None of the above: an adjacent pair merged, or was cut elsewhere.
    Merge,
}

impl Cause {
    /// All causes in order of precedence.
    pub const ALL: [Self; 15] = [
        Self::UnknownId,
        Self::UnknownToken,
        Self::InvalidUtf8,
        Self::SpecialText,
        Self::SpecialSkipped,
        Self::CleanupSpaces,
        Self::Normalizer,
        Self::ControlSpacing,
        Self::PrefixSpace,
        Self::ByteFallback,
        Self::IdAlias,
        Self::PretokenBoundary,
        Self::WholeWord,
        Self::UnreachableToken,
        Self::Merge,
    ];

    /// The code under which the catalogue explains it.
    pub fn code(self) -> &'static str {
        match self {
            Self::UnknownId => "TITO005",
            Self::UnknownToken => "TITO204",
            Self::InvalidUtf8 => "TITO201",
            Self::SpecialText => "TITO107",
            Self::SpecialSkipped => "TITO205",
            Self::CleanupSpaces => "TITO206",
            Self::Normalizer => "TITO202",
            Self::ControlSpacing => "TITO207",
            Self::PrefixSpace => "TITO203",
            Self::ByteFallback => "TITO105",
            Self::IdAlias => "TITO106",
            Self::PretokenBoundary => "TITO102",
            Self::WholeWord => "TITO103",
            Self::UnreachableToken => "TITO104",
            Self::Merge => "TITO101",
        }
    }
}

/// A drifting row with both sides laid out.
pub struct Drift<'a> {
    /// The tokenizer.
    pub tokenizer: &'a Tokenizer,
    /// The sampled ids, as [`Tokenizer::known`] gives them.
    pub ids: &'a [u32],
    /// The sampled side; `None` where it cannot be placed.
    pub decoded: Option<&'a DecodeTrace>,
    /// The re-encoded side.
    pub encoded: &'a EncodeTrace,
    /// Runs of sampled tokens between added tokens that come back equal by themselves.
    pub clean_runs: &'a [std::ops::Range<usize>],
    /// Whether all runs do.
    pub artefact: bool,
}

impl Drift<'_> {
    /// The cause of each span.
    pub fn causes(&self, spans: &[Span]) -> Vec<Cause> {
        let touch = |a: &Span, b: &Span| a.sampled.end == b.sampled.start && a.reencoded.end == b.reencoded.start;
        let mut causes = Vec::with_capacity(spans.len());
        for run in spans.chunk_by(touch) {
            // A stripped or added space stands in a span of its own: where a span beside it has the space on the other
            // side, it only moved.
            let space_moved = LazyCell::new(|| is_same_text(self.sampled_surfaces(run), self.reencoded_surfaces(run)));
            causes.extend(run.iter().map(|span| self.cause(span, || *space_moved)));
        }
        causes
    }

    fn cause(&self, span: &Span, space_moved: impl Fn() -> bool) -> Cause {
        let sampled = &self.ids[span.sampled.clone()];
        let reencoded = &self.encoded.ids[span.reencoded.clone()];
        let both = || sampled.iter().chain(reencoded).copied();
        let is_surface_of_added = |id| self.tokenizer.added(id).is_some_and(|added| !added.is_whitespace);
        if self.artefact {
            Cause::ControlSpacing
        } else if sampled.iter().any(|&id| self.tokenizer.is_unknown(id)) {
            Cause::UnknownId
        } else if both().any(|id| self.tokenizer.is_unk(id)) {
            Cause::UnknownToken
        } else if !self.invalid(span).is_empty() {
            Cause::InvalidUtf8
        } else if both().any(is_surface_of_added) {
            Cause::SpecialText
        } else if self.is_normalized(span) {
            Cause::Normalizer
        } else if self.is_clean_run(span) {
            Cause::ControlSpacing
        } else if self.differs_in_prefix(span) && !space_moved() {
            Cause::PrefixSpace
        } else if sampled.iter().any(|&id| self.tokenizer.is_byte_token(id)) {
            Cause::ByteFallback
        } else if let ([a], [b]) = (sampled, reencoded)
            && self.tokenizer.surface(*a) == self.tokenizer.surface(*b)
        {
            Cause::IdAlias
        } else if self.crosses_pre_tokens(span) {
            Cause::PretokenBoundary
        } else if self.is_whole_word(span) {
            Cause::WholeWord
        } else if sampled.iter().any(|&id| !self.tokenizer.is_reachable(id)) {
            Cause::UnreachableToken
        } else {
            Cause::Merge
        }
    }

    /// The stretches of invalid UTF-8 that a span touches; of an unlocated span, all of the row.
    pub fn invalid(&self, span: &Span) -> &[ByteRange] {
        let all = self.decoded.map_or(&[][..], |decoded| &decoded.invalid);
        span.bytes.as_ref().map_or(all, |bytes| overlapping(all, bytes))
    }

    fn is_normalized(&self, span: &Span) -> bool {
        let changed = &self.encoded.changed;
        !span.bytes.as_ref().map_or(&changed[..], |bytes| overlapping(changed, bytes)).is_empty()
    }

    fn is_clean_run(&self, span: &Span) -> bool {
        let at = self.clean_runs.partition_point(|run| run.end < span.sampled.end);
        self.clean_runs.get(at).is_some_and(|run| run.start <= span.sampled.start)
    }

    /// What the sampled ids of neighbouring spans stand for by themselves.
    fn sampled_surfaces(&self, run: &[Span]) -> impl Iterator<Item = &[u8]> {
        run.iter().flat_map(|span| self.surfaces(&self.ids[span.sampled.clone()]))
    }

    /// What the re-encoded ids of neighbouring spans stand for by themselves.
    fn reencoded_surfaces(&self, run: &[Span]) -> impl Iterator<Item = &[u8]> {
        run.iter().flat_map(|span| self.surfaces(&self.encoded.ids[span.reencoded.clone()]))
    }

    fn surfaces(&self, ids: &[u32]) -> impl Iterator<Item = &[u8]> {
        ids.iter().map(|&id| self.tokenizer.surface(id).unwrap_or_default())
    }

    fn differs_in_prefix(&self, span: &Span) -> bool {
        let run = std::slice::from_ref(span);
        let (sampled, reencoded) = (|| self.sampled_surfaces(run), || self.reencoded_surfaces(run));
        let is_space = |byte: &&u8| **byte == b' ';
        !is_same_text(sampled(), reencoded())
            && sampled().flatten().skip_while(is_space).eq(reencoded().flatten().skip_while(is_space))
    }

    fn crosses_pre_tokens(&self, span: &Span) -> bool {
        let (Some(decoded), Some(bytes)) = (self.decoded, &span.bytes) else { return false };
        let pre_tokens = &self.encoded.pre_tokens;
        let first = pre_tokens.partition_point(|pre_token| pre_token.range.end <= bytes.start);
        let mut pre_tokens = pre_tokens[first..].iter().take_while(|p| p.range.start < bytes.end).map(|p| &p.range);
        // Tokens and pre-tokens are both in order, so one walk over the starts of the later pre-tokens is enough.
        let Some(mut previous) = pre_tokens.next() else { return false };
        let mut tokens = decoded.ranges[span.sampled.clone()].iter().peekable();
        for next in pre_tokens {
            while tokens.next_if(|token| token.end <= next.start).is_some() {}
            if tokens.peek().is_some_and(|token| token.start < previous.end && next.start < token.end) {
                return true;
            }
            previous = next;
        }
        false
    }

    fn is_whole_word(&self, span: &Span) -> bool {
        if span.reencoded.len() != 1 {
            return false;
        }
        let pre_tokens = &self.encoded.pre_tokens;
        let at = pre_tokens.partition_point(|pre_token| pre_token.tokens.end <= span.reencoded.start);
        let id = self.encoded.ids[span.reencoded.start];
        pre_tokens.get(at).filter(|pre_token| pre_token.tokens == span.reencoded).is_some_and(|pre_token| {
            // The model sees nothing of an added token that is found.
            let is_found = self.tokenizer.added(id).is_some() && pre_token.normalized.is_empty();
            !is_found && !self.tokenizer.merges_make(id, &pre_token.normalized)
        })
    }
}

/// Whether two texts in pieces are the same: by pieces, for byte by byte takes a good part of explaining a row.
fn is_same_text<'t>(mut left: impl Iterator<Item = &'t [u8]>, mut right: impl Iterator<Item = &'t [u8]>) -> bool {
    let (mut of_left, mut of_right): (&[u8], &[u8]) = (&[], &[]);
    loop {
        while of_left.is_empty() {
            let Some(next) = left.next() else { return of_right.is_empty() && right.all(<[u8]>::is_empty) };
            of_left = next;
        }
        while of_right.is_empty() {
            let Some(next) = right.next() else { return false };
            of_right = next;
        }
        let both = of_left.len().min(of_right.len());
        if of_left[..both] != of_right[..both] {
            return false;
        }
        (of_left, of_right) = (&of_left[both..], &of_right[both..]);
    }
}

/// Those of `sorted` disjoint ranges that share a byte with `bytes`: by search, since a row may have many of both.
fn overlapping<'r>(sorted: &'r [ByteRange], bytes: &ByteRange) -> &'r [ByteRange] {
    let first = sorted.partition_point(|range| range.end <= bytes.start);
    let count = sorted[first..].partition_point(|range| range.start < bytes.end);
    &sorted[first..first + count]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::is_same_text;

    proptest! {
        #[test]
        fn texts_in_pieces_are_the_same_iff_their_bytes_are(
            left in prop::collection::vec(prop::collection::vec(0..2u8, 0..4), 0..5),
            right in prop::collection::vec(prop::collection::vec(0..2u8, 0..4), 0..5),
            cut in any::<prop::sample::Index>(),
        ) {
            let same = |left: &[Vec<u8>], right: &[Vec<u8>]| {
                is_same_text(left.iter().map(Vec::as_slice), right.iter().map(Vec::as_slice))
            };
            prop_assert_eq!(same(&left, &right), left.concat() == right.concat());
            let whole = left.concat();
            let (first, second) = whole.split_at(cut.index(whole.len() + 1));
            prop_assert!(same(&left, &[first.to_vec(), second.to_vec()]));
            prop_assert!(same(&[first.to_vec(), second.to_vec()], &left));
        }
    }
}
