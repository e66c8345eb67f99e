//! One row end to end: round trip, spans, causes, straddling tokens, and the exposure of a pipeline's own options.

use crate::ByteRange;
use crate::align::{self, Span};
use crate::cause::{Cause, Drift};
use crate::decode::DecodeTrace;
use crate::engine::{Answered, Engine, Proven};
use crate::error::{Result, caught, guarded};
use crate::provenance::{self, Straddling};
use crate::tokenizer::{Added, Tokenizer};

/// Options of a pipeline's decoding, measured as a second exposure under its own name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PipelineOptions {
    /// Special tokens are dropped.
    pub skip_special_tokens: bool,
    /// Spaces before punctuation are dropped, as `transformers` does.
    pub clean_up_tokenization_spaces: bool,
}

impl PipelineOptions {
    /// Whether any is on.
    pub fn any(self) -> bool {
        self != Self::default()
    }
}

/// A row to judge.
#[derive(Debug, Clone, Copy, Default)]
pub struct Row<'a> {
    /// The sampled ids, as [`Tokenizer::known`] gives them.
    pub ids: &'a [u32],
    /// 0 or 1 per id.
    pub mask: Option<&'a [u8]>,
    /// Owner per id; by default the mask.
    pub owners: Option<&'a [u8]>,
    /// Number of prompt ids, where prompt and response were encoded apart.
    pub join: Option<usize>,
    /// The row lacks what stood before it.
    pub lacks_context: bool,
}

/// Marks of a span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// The names of the flags, lowest bit first.
    pub const NAMES: [&'static str; 5] = ["at_segment_join", "at_row_start", "head", "tail", "interior"];
    /// It lies across the join of prompt and response.
    pub const AT_SEGMENT_JOIN: u16 = 1;
    /// It begins a row that lacks its context.
    pub const AT_ROW_START: u16 = 2;
    /// Invalid UTF-8 at the start of the text.
    pub const HEAD: u16 = 4;
    /// Invalid UTF-8 at the end of the text: usually a truncation.
    pub const TAIL: u16 = 8;
    /// Invalid UTF-8 in between.
    pub const INTERIOR: u16 = 16;
}

/// A drift span with its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub span: Span,
    /// Why.
    pub cause: Cause,
    /// Marks.
    pub flags: Flags,
}

/// The exposure of a pipeline that decodes with its own options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// What its text encodes to.
    pub ids: Vec<u32>,
    /// First index at which that differs from the sampled ids.
    pub first_diff: Option<usize>,
    /// The first cause in order of precedence.
    pub cause: Option<Cause>,
    /// Positions of the ids that decoding dropped.
    pub lost: Vec<usize>,
}

/// What became of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowAudit {
    /// Which engine answered.
    pub engine: Answered,
    /// The re-encoded ids of a drifting row; empty for a clean one, whose own ids they are.
    pub reencoded: Vec<u32>,
    /// First index at which they differ from the sampled ones; `None` for a clean row.
    pub first_diff: Option<usize>,
    /// Whether the row drifts only because of spaces printed or added beside control tokens.
    pub artefact: bool,
    /// False where the re-encoded tokens cannot be placed on D.
    pub located: bool,
    /// Whether the sampled bytes are no UTF-8.
    pub invalid_utf8: bool,
    /// Bytes of text that were encoded to judge the row: the work it took, no part of the verdict.
    pub encoded_bytes: usize,
    /// Positions of ids outside the vocabulary.
    pub unknown: Vec<usize>,
    /// The drift spans in order.
    pub findings: Vec<Finding>,
    /// Re-encoded tokens with bytes of both mask values.
    pub straddling: Vec<Straddling>,
    /// Re-encoded tokens with several owners but one mask value.
    pub owner_crossing: usize,
    /// Characters of D with several owners.
    pub shared_characters: usize,
    /// The second exposure, where it was asked for.
    pub pipeline: Option<Pipeline>,
}

impl RowAudit {
    /// Forget the row, and keep the memory: field by field, since moving all of it takes longer than a short row.
    fn clear(&mut self) {
        let Self {
            engine,
            reencoded,
            first_diff,
            artefact,
            located,
            invalid_utf8,
            encoded_bytes,
            unknown,
            findings,
            straddling,
            owner_crossing,
            shared_characters,
            pipeline,
        } = self;
        *engine = Answered::default();
        reencoded.clear();
        *first_diff = None;
        (*artefact, *located, *invalid_utf8) = (false, false, false);
        *encoded_bytes = 0;
        unknown.clear();
        findings.clear();
        straddling.clear();
        (*owner_crossing, *shared_characters) = (0, 0);
        *pipeline = None;
    }
}

impl Tokenizer {
    /// Judge one row, with the engine that `engine` allows: whichever answers, the verdict is the same.
    ///
    /// # Errors
    /// [`Error::Reference`](crate::Error::Reference) where the reference fails on the row.
    pub fn audit(&self, row: &Row<'_>, options: PipelineOptions, engine: Engine) -> Result<RowAudit> {
        let mut audit = RowAudit::default();
        self.audit_into(&mut audit, row, options, engine)?;
        Ok(audit)
    }

    /// As [`audit`](Self::audit), into one that lends its memory.
    pub(crate) fn audit_into(
        &self,
        audit: &mut RowAudit,
        row: &Row<'_>,
        options: PipelineOptions,
        engine: Engine,
    ) -> Result<()> {
        let fast = self.fast().filter(|_| engine != Engine::Reference);
        let mut answer = |fast| {
            self.audit_proven(audit, fast, row)?;
            audit.pipeline = options.any().then(|| self.pipeline(row.ids, audit, options));
            Some(())
        };
        // Nothing is known to make a fast engine panic, and should it, there is one that can answer.
        if fast.and_then(|fast| caught(|| answer(fast)).ok().flatten()).is_none() {
            *audit = guarded(|| self.reference_audit(row, options))?;
        }
        Ok(())
    }

    /// The fast engine's answer, `None` where only the reference may judge the row.
    pub(crate) fn audit_proven(&self, audit: &mut RowAudit, proven: &Proven, row: &Row<'_>) -> Option<()> {
        audit.clear();
        audit.engine = Answered::Fast;
        audit.located = true;
        match proven {
            Proven::ByteLevel(fast) => self.audit_fast(audit, fast, row),
            Proven::Sentence(sentence) => self.audit_sentence(audit, sentence, row),
        }
    }

    /// The reference's answer.
    fn reference_audit(&self, row: &Row<'_>, options: PipelineOptions) -> Result<RowAudit> {
        let text = self.decode(row.ids, false)?;
        let mut audit = RowAudit {
            reencoded: self.encode(&text)?,
            encoded_bytes: text.len(),
            located: true,
            unknown: positions(row.ids, |id| self.is_unknown(id)),
            ..RowAudit::default()
        };
        audit.first_diff = align::first_diff(row.ids, &audit.reencoded);
        let owners = row.owners.or(row.mask);
        let has_several_owners = owners.is_some_and(|owners| owners.iter().any(|owner| owner != &owners[0]));
        let is_traced = audit.first_diff.is_some() || has_several_owners || text.contains(char::REPLACEMENT_CHARACTER);
        let decoded = is_traced.then(|| self.trace_decode(row.ids, &text)).flatten();
        audit.invalid_utf8 = decoded.as_ref().is_some_and(|decoded| !decoded.invalid.is_empty());
        let byte_owner = match (&decoded, owners) {
            (Some(decoded), Some(owners)) => provenance::owner_of_bytes(text.len(), &decoded.ranges, owners),
            _ => Vec::new(),
        };
        if has_several_owners && !byte_owner.is_empty() {
            audit.shared_characters = provenance::shared_characters(&text, &byte_owner);
        }
        if audit.first_diff.is_some() {
            self.explain(row, &text, decoded.as_ref(), &byte_owner, &mut audit)?;
        } else {
            audit.reencoded = Vec::new();
        }
        if options.any() {
            audit.pipeline = Some(self.pipeline(row.ids, &audit, options));
        }
        Ok(audit)
    }

    /// Fill in why and where a drifting row drifts.
    fn explain(
        &self,
        row: &Row<'_>,
        text: &str,
        decoded: Option<&DecodeTrace>,
        byte_owner: &[i16],
        audit: &mut RowAudit,
    ) -> Result<()> {
        let mut encoded = self.trace_encode(text)?;
        audit.encoded_bytes += text.len();
        // A trace that disagrees with the verdict places nothing, but the ids it is asked about are those of the verdict.
        encoded.located &= encoded.ids == audit.reencoded;
        encoded.ids.clone_from(&audit.reencoded);
        audit.located = encoded.located && decoded.is_some();
        let spans = align::laid_out(row.ids, decoded, &encoded);
        let runs = self.clean_runs(row.ids, &audit.reencoded);
        audit.encoded_bytes += runs.encoded_bytes;
        audit.artefact = runs.all_clean;
        let drift = Drift {
            tokenizer: self,
            ids: row.ids,
            decoded,
            encoded: &encoded,
            clean_runs: &runs.clean,
            artefact: runs.all_clean,
        };
        let causes = drift.causes(&spans);
        audit.findings = spans
            .into_iter()
            .zip(causes)
            .map(|(span, cause)| Finding {
                flags: flags(row, &span, cause, drift.invalid(&span), text.len()),
                span,
                cause,
            })
            .collect();
        if audit.located && !byte_owner.is_empty() {
            // Without owners of their own, the owners of the bytes are their mask.
            let own_mask = match (row.mask, row.owners, decoded) {
                (Some(mask), Some(_), Some(decoded)) => {
                    Some(provenance::owner_of_bytes(text.len(), &decoded.ranges, mask))
                }
                _ => None,
            };
            let byte_mask = row.mask.map(|_| own_mask.as_deref().unwrap_or(byte_owner));
            (audit.straddling, audit.owner_crossing) = provenance::straddling(&encoded.ranges, byte_mask, byte_owner);
        }
        Ok(())
    }

    /// The runs between borders that come back equal when decoded and encoded by themselves.
    ///
    /// Borders are the added tokens that leave the spaces beside them alone. There is nothing to separate without a
    /// border, and nothing to conclude where other added tokens came back.
    pub(crate) fn clean_runs(&self, sampled: &[u32], reencoded: &[u32]) -> CleanRuns {
        let is_added = |id: &&u32| self.added(**id).is_some();
        let is_border = |id: u32| self.added(id).is_some_and(Added::is_border);
        if !sampled.iter().any(|&id| is_border(id))
            || !sampled.iter().filter(is_added).eq(reencoded.iter().filter(is_added))
        {
            return CleanRuns::default();
        }
        let mut runs = CleanRuns { all_clean: true, ..CleanRuns::default() };
        let mut start = 0;
        for run in sampled.split(|&id| is_border(id)) {
            // A run that the reference refuses by itself does not come back, whatever became of the whole row.
            let text = guarded(|| self.decode(run, false)).unwrap_or_default();
            runs.encoded_bytes += text.len();
            if guarded(|| self.encode(&text)).is_ok_and(|ids| ids == run) {
                runs.clean.push(start..start + run.len());
            } else {
                runs.all_clean = false;
            }
            start += run.len() + 1;
        }
        runs
    }

    /// The second exposure; where the reference refuses the pipeline's text, nothing comes back.
    fn pipeline(&self, ids: &[u32], audit: &RowAudit, options: PipelineOptions) -> Pipeline {
        let lost = if options.skip_special_tokens { positions(ids, |id| self.is_skipped(id)) } else { Vec::new() };
        let (text, is_cleaned) = guarded(|| self.pipeline_text(ids, options)).unwrap_or_default();
        let reencoded = guarded(|| self.encode(&text)).unwrap_or_default();
        let first_diff = align::first_diff(ids, &reencoded);
        let own = [(!lost.is_empty(), Cause::SpecialSkipped), (is_cleaned, Cause::CleanupSpaces)];
        let own = own.into_iter().filter_map(|(holds, cause)| holds.then_some(cause));
        // A cause that the plain round trip shows already stays one here.
        let plain = audit.findings.iter().map(|finding| finding.cause);
        let cause = first_diff.map(|_| own.chain(plain).min().unwrap_or(Cause::Merge));
        Pipeline { ids: reencoded, first_diff, cause, lost }
    }

    /// The text of a pipeline that decodes with its own options.
    ///
    /// # Errors
    /// [`Error::Reference`](crate::Error::Reference) where the reference fails.
    pub fn decode_with(&self, ids: &[u32], options: PipelineOptions) -> Result<String> {
        Ok(self.pipeline_text(ids, options)?.0)
    }

    /// The text of a pipeline, and whether the clean-up changed it.
    fn pipeline_text(&self, ids: &[u32], options: PipelineOptions) -> Result<(String, bool)> {
        let text = self.decode(ids, options.skip_special_tokens)?;
        if !options.clean_up_tokenization_spaces {
            return Ok((text, false));
        }
        let cleaned = clean_up_spaces(&text);
        let is_cleaned = cleaned != text;
        Ok((cleaned, is_cleaned))
    }
}

/// The runs between borders that come back equal by themselves.
#[derive(Default)]
pub(crate) struct CleanRuns {
    /// All do, and there is a border.
    pub(crate) all_clean: bool,
    /// Those that do.
    pub(crate) clean: Vec<std::ops::Range<usize>>,
    /// Bytes of text that were encoded to know.
    pub(crate) encoded_bytes: usize,
}

fn positions(ids: &[u32], mut holds: impl FnMut(u32) -> bool) -> Vec<usize> {
    ids.iter().enumerate().filter(|(_, id)| holds(**id)).map(|(position, _)| position).collect()
}

/// The marks of a span of a text of `bytes` bytes; `invalid` are the stretches of invalid UTF-8 that it touches.
pub(crate) fn flags(row: &Row<'_>, span: &Span, cause: Cause, invalid: &[ByteRange], bytes: usize) -> Flags {
    let tokens = &span.sampled;
    let mut flags = 0;
    if row
        .join
        .is_some_and(|join| tokens.start < join && join < tokens.end || tokens.is_empty() && tokens.start == join)
    {
        flags |= Flags::AT_SEGMENT_JOIN;
    }
    if row.lacks_context && tokens.start == 0 {
        flags |= Flags::AT_ROW_START;
    }
    if cause == Cause::InvalidUtf8 {
        for at in invalid {
            flags |= match (at.start == 0, at.end == bytes) {
                (true, true) => Flags::HEAD | Flags::TAIL,
                (true, false) => Flags::HEAD,
                (false, true) => Flags::TAIL,
                (false, false) => Flags::INTERIOR,
            };
        }
    }
    Flags(flags)
}

/// `clean_up_tokenization` of `transformers`.
fn clean_up_spaces(text: &str) -> String {
    [(" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"), (" 's", "'s")]
        .into_iter()
        .chain([(" 've", "'ve"), (" 're", "'re")])
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
