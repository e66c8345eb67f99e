//! What the scan has to know of a token: four bytes.

use std::collections::HashMap;

use super::trie::{Bytes, has, set};
use crate::sources::SPACE_MARKER;

/// A token as the scan sees it: from the lowest byte on its flags, the classes of its first and its last character, and the
/// number of the set of bytes that it has to be looked at in front of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kind(u32);

impl Kind {
    /// A byte of a character that has no token.
    pub(super) const BYTE: u8 = 1;
    /// An added token that is found in the text.
    pub(super) const HARD: u8 = 1 << 1;
    /// Only the reference may judge a row with it.
    pub(super) const ODD: u8 = 1 << 2;
    /// The text of an added token may begin in it, or it may be the front of a longer one.
    pub(super) const LOOK: u8 = 1 << 3;
    /// The merges do not make it.
    pub(super) const ALONE: u8 = 1 << 4;
    /// It holds the text of an added token.
    pub(super) const BROKEN: u8 = 1 << 5;
    /// It is an added token, whether its text is found or spelled by the model.
    pub(super) const ADDED: u8 = 1 << 6;
    /// What is put in front of a row.
    pub(super) const START: Self = Self(Self::HARD as u32);

    fn new(flags: u8, first: u8, last: u8, look: u8) -> Self {
        Self(u32::from_le_bytes([flags, first, last, look]))
    }

    #[inline]
    pub(super) fn has(self, flag: u8) -> bool {
        self.0 & u32::from(flag) != 0
    }

    /// What both have.
    #[inline]
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(super) fn is_byte(self) -> bool {
        self.has(Self::BYTE)
    }

    #[inline]
    pub(super) fn is_hard(self) -> bool {
        self.has(Self::HARD)
    }

    /// Whether a text, or what stands beside one, is told from the pair alone.
    #[inline]
    pub(super) fn is_plain_beside(self, other: Self) -> bool {
        !self.or(other).has(!Self::ADDED)
    }

    #[inline]
    fn first(self) -> u8 {
        self.0.to_le_bytes()[1]
    }

    #[inline]
    fn last(self) -> u8 {
        self.0.to_le_bytes()[2]
    }

    #[inline]
    fn look(self) -> u8 {
        self.0.to_le_bytes()[3]
    }
}

/// The kinds of all tokens.
pub(super) struct Kinds {
    ids: Vec<Kind>,
    /// Sets of bytes, each once.
    looks: Vec<Bytes>,
    numbers: HashMap<Bytes, u8>,
}

impl Kinds {
    /// No token yet.
    pub(super) fn with_capacity(ids: usize) -> Self {
        Self { ids: Vec::with_capacity(ids), looks: Vec::new(), numbers: HashMap::new() }
    }

    /// Add the next id: its flags, its text, and the bytes in front of which it has to be looked at.
    pub(super) fn push(&mut self, flags: u8, text: &str, look: &Bytes) {
        let class = |c: Option<char>| c.map_or(0, class);
        let is_looked_at = look.iter().any(|&bits| bits != 0);
        let look = if is_looked_at { self.number(look) } else { 0 };
        let flags = flags | if is_looked_at { Kind::LOOK } else { 0 };
        self.ids.push(Kind::new(flags, class(text.chars().next()), class(text.chars().next_back()), look));
    }

    /// The number of a set; where there are too many, that of one that holds more.
    fn number(&mut self, look: &Bytes) -> u8 {
        let next = self.looks.len();
        let (look, next) =
            if next < usize::from(u8::MAX) { (*look, next) } else { ([u64::MAX; 4], usize::from(u8::MAX)) };
        let next = u8::try_from(next).unwrap_or(u8::MAX);
        let number = *self.numbers.entry(look).or_insert(next);
        if usize::from(number) == self.looks.len() {
            self.looks.push(look);
        }
        number
    }

    /// Of an id of the vocabulary, or the one that stands for all others.
    #[inline]
    pub(super) fn of(&self, id: u32) -> Kind {
        self.ids[id as usize]
    }

    /// The kinds by id.
    #[inline]
    pub(super) fn by_id(&self) -> &[Kind] {
        &self.ids
    }

    /// Whether a token that is looked at may begin a text that goes on with `byte`.
    #[inline]
    pub(super) fn may_go_on(&self, kind: Kind, byte: u8) -> bool {
        has(&self.looks[usize::from(kind.look())], byte)
    }
}

/// One of 256 for every character: ASCII has a class of its own each.
fn class(c: char) -> u8 {
    let c = if c == SPACE_MARKER { ' ' } else { c };
    u8::try_from(u32::from(c)).ok().filter(u8::is_ascii).unwrap_or_else(|| {
        let mixed = u32::from(c).wrapping_mul(0x9E37_79B1) >> 25;
        0x80 | u8::try_from(mixed).unwrap_or_default()
    })
}

/// Between which characters some merge goes: elsewhere every two tokens stay that the merges make.
pub(super) struct Crossings(Box<[Bytes; 256]>);

impl Crossings {
    /// No merge yet.
    pub(super) fn new() -> Self {
        Self(Box::new([[0; 4]; 256]))
    }

    /// Add a merge by the texts of both sides.
    pub(super) fn insert(&mut self, left: &str, right: &str) {
        if let (Some(left), Some(right)) = (left.chars().next_back(), right.chars().next()) {
            set(&mut self.0[usize::from(class(left))], class(right));
        }
    }

    /// Whether a merge may go across the edge between two tokens.
    #[inline]
    pub(super) fn may_cross(&self, left: Kind, right: Kind) -> bool {
        has(&self.0[usize::from(left.last())], right.first())
    }
}

/// The symbols that a text begins as.
pub(super) struct Letters {
    /// By the upper bits of a character, where its page begins; characters of page 0 have no symbol.
    pages: Vec<u32>,
    symbols: Vec<u32>,
    /// The symbol of every byte of a character that has none, in models with byte fallback.
    bytes: Option<Box<[u32; 256]>>,
}

const PAGE: usize = 256;
const NONE: u32 = u32::MAX;

impl Letters {
    /// No character yet.
    pub(super) fn new(bytes: Option<Box<[u32; 256]>>) -> Self {
        Self { pages: vec![0; (char::MAX as usize + 1) / PAGE], symbols: vec![NONE; PAGE], bytes }
    }

    /// Give a character its symbol.
    pub(super) fn insert(&mut self, c: char, symbol: u32) {
        let page = &mut self.pages[c as usize / PAGE];
        if *page == 0 {
            *page = u32::try_from(self.symbols.len() / PAGE).expect("there are fewer pages");
            self.symbols.resize(self.symbols.len() + PAGE, NONE);
        }
        self.symbols[*page as usize * PAGE + c as usize % PAGE] = symbol;
    }

    /// The symbol of a character, if it has one of its own.
    #[inline]
    pub(super) fn of(&self, c: char) -> Option<u32> {
        let page = self.pages[c as usize / PAGE] as usize;
        Some(self.symbols[page * PAGE + c as usize % PAGE]).filter(|&symbol| symbol != NONE)
    }

    /// Add the symbols of `text`, in which spaces stand for themselves; `None` where a character has none.
    pub(super) fn spell(&self, text: &str, symbols: &mut Vec<u32>) -> Option<()> {
        for c in text.chars() {
            if let Some(symbol) = self.of(if c == ' ' { SPACE_MARKER } else { c }) {
                symbols.push(symbol);
            } else {
                let bytes = self.bytes.as_deref()?;
                symbols.extend(c.encode_utf8(&mut [0; 4]).bytes().map(|byte| bytes[usize::from(byte)]));
            }
        }
        Some(())
    }
}
