//! What may not stand beside an added token that is found for certain.
//!
//! Encoding looks for added tokens from the left, and of those that begin at one place it takes the longest. So a token is found
//! where its text stands unless another one reaches into it from before, or begins with it and goes on behind it; and the flags
//! of the token may want more. All of that shows in the tokens on both sides of it.

use tokenizers::AddedToken;

use crate::fast::normal::Normal;

/// So many fronts, and rests, are looked for beside a token at most.
const MOST: usize = 32;

/// What the neighbours of one added token must not do.
pub(crate) struct Neighbours {
    /// Ends of a text from which another added text reaches into the token.
    fronts: Vec<Box<[u8]>>,
    /// Beginnings of a text with which a longer added token goes on behind this one.
    rests: Vec<Box<[u8]>>,
    /// With its flags.
    token: AddedToken,
    /// It is looked for in what the normalizer makes of the text.
    is_behind_normalizer: bool,
}

impl Neighbours {
    /// Those of a token among `all`; `None` where what its neighbours are does not tell.
    pub(crate) fn of(token: &AddedToken, all: &[&AddedToken], normal: &Normal) -> Option<Self> {
        let own = token.content.as_str();
        let is_behind_normalizer = normal.precedes(token);
        // Those that are not normalized are looked for first, also within it.
        let comes_first = |other: &&&AddedToken| token.normalized && !other.normalized;
        let is_broken_by = |other: &AddedToken| {
            own.contains(&other.content) || cuts(&other.content).any(|(front, _)| own.ends_with(front))
        };
        if is_behind_normalizer && !normal.settles(own)
            || all.iter().filter(comes_first).any(|other| is_broken_by(other))
        {
            return None;
        }
        let texts = || all.iter().map(|other| other.content.as_str());
        let reaching = texts().flat_map(cuts).filter(|(_, rest)| own.starts_with(rest) || rest.starts_with(own));
        let longer = texts().filter_map(|other| other.strip_prefix(own)).filter(|rest| !rest.is_empty());
        let fronts = least(reaching.map(|(front, _)| front.as_bytes()).collect(), <[u8]>::ends_with)?;
        let rests = least(longer.map(str::as_bytes).collect(), <[u8]>::starts_with)?;
        Some(Self { fronts, rests, token: token.clone(), is_behind_normalizer })
    }

    /// Whether the token is found between two others, of which one may be none: the row begins or ends there. The one before it
    /// may be an added token that `is_found` itself, so that the search goes on behind it: none that is looked for earlier begins
    /// in it, or it would not keep apart.
    pub(crate) fn leave_it(
        &self,
        before: Option<&[u8]>,
        is_found: bool,
        behind: Option<&[u8]>,
        normal: &Normal,
    ) -> bool {
        let AddedToken { lstrip, rstrip, single_word, .. } = self.token;
        let reaches = |bytes: &[u8]| self.fronts.iter().any(|front| bytes.ends_with(front) || front.ends_with(bytes));
        let goes_on = |bytes: &[u8]| self.rests.iter().any(|rest| bytes.starts_with(rest) || rest.starts_with(bytes));
        let leaves = |c: char, strips: bool| !(strips && c.is_whitespace() || single_word && may_be_of_word(c));
        let settles = |c: char| !self.is_behind_normalizer || normal.settles(c.encode_utf8(&mut [0; 4]));
        before.is_none_or(|bytes| {
            let last = text(bytes).chars().next_back();
            (is_found || !reaches(bytes)) && (!(lstrip || single_word) || last.is_some_and(|c| leaves(c, lstrip)))
        }) && behind.is_none_or(|bytes| {
            let first = text(bytes).chars().next();
            let is_asked = rstrip || single_word || self.is_behind_normalizer;
            !goes_on(bytes) && (!is_asked || first.is_some_and(|c| leaves(c, rstrip) && settles(c)))
        })
    }
}

/// A text in two parts, in every way.
fn cuts(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.char_indices().skip(1).map(|(at, _)| text.split_at(at))
}

/// Of some parts of texts those that hold no other one: a lesser one says as much. `None` where they are too many.
fn least(mut parts: Vec<&[u8]>, holds: impl Fn(&[u8], &[u8]) -> bool) -> Option<Vec<Box<[u8]>>> {
    parts.sort_unstable_by_key(|part| part.len());
    let mut least: Vec<Box<[u8]>> = Vec::new();
    for part in parts {
        if !least.iter().any(|least| holds(part, least)) {
            least.push(part.into());
        }
        if least.len() > MOST {
            return None;
        }
    }
    Some(least)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// Whether the reference may take a character for one of a word; what is not ASCII is taken for one.
fn may_be_of_word(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || c == '_'
}
