//! The fast engine beside the reference on some two thousand short rows, whenever a tokenizer is loaded.
//!
//! What is proven is proven of the tokenizers that exist; a file that is unlike all of them in some way nobody thought of
//! is found out here, before it answers anything.

use crate::audit::{PipelineOptions, Row, RowAudit};
use crate::engine::{Engine, Proven};
use crate::tokenizer::Tokenizer;

const ROWS: u32 = 2_000;
const LONGEST: u32 = 9;
/// Tokens of up to so many bytes are where pre-tokens begin and end.
const SHORT: usize = 3;

/// White space, contractions, digits, marks, scripts: what families of pre-tokenizers differ in.
const TEXTS: [&str; 6] = [
    "It's 12,345.67 - WE'LL see; they'd've  gone\n\n\tdef f(x):\r\n    return x[0]['re']  # don't\n   \n",
    "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 10}}</tool_call>\n<|im_end|>",
    "Größe naïve e\u{301}a\u{327}\u{301} Ångström Việt Nam ½ ﬁ Ⅷ ①２３ ſo 'ſ",
    "日本語のテキスト、カタカナ・漢字。한국어 ᄒ\u{1161}ᆫ 中文",
    "Привет שלום عَلَيْكُم हिन्दी क़ानून ภาษาไทย",
    "😀👩\u{200d}👩\u{200d}👧 ❤\u{fe0f} ∀x∈ℝ \u{a0}\u{2003}\u{85}\u{200b}\u{feff}\u{fffd}\u{0}//\n/",
];

/// Where the engines differ first, in words; `None` if nowhere.
pub(crate) fn difference(tokenizer: &Tokenizer, proven: &Proven) -> Option<String> {
    let rows = Rows::new(tokenizer);
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    // One for all rows, as in a batch: none must leave anything to the next.
    let mut found = RowAudit::default();
    for _ in 0..ROWS {
        let ids = rows.draw(&mut random);
        let mask: Vec<u8> = ids.iter().map(|_| u8::from(random.below(2) == 1)).collect();
        let row = Row { ids: &ids, mask: Some(&mask), ..Row::default() };
        if tokenizer.audit_proven(&mut found, proven, &row).is_none() {
            continue;
        }
        let is_same = tokenizer.audit(&row, PipelineOptions::default(), Engine::Reference).is_ok_and(|expected| {
            (found.engine, found.encoded_bytes) = (expected.engine, expected.encoded_bytes);
            found == expected
        });
        if !is_same {
            return Some(format!("it failed its self-test on the ids {ids:?}"));
        }
    }
    None
}

/// What rows are made of.
struct Rows {
    natural: Vec<u32>,
    short: Vec<u32>,
    added: Vec<u32>,
    count: u32,
}

impl Rows {
    fn new(tokenizer: &Tokenizer) -> Self {
        let count = tokenizer.outside();
        let is_short = |&id: &u32| tokenizer.surface(id).is_some_and(|surface| surface.len() <= SHORT);
        let mut added: Vec<u32> = tokenizer.added_tokens().keys().copied().collect();
        added.sort_unstable();
        Self {
            natural: TEXTS.iter().filter_map(|text| tokenizer.encode(text).ok()).flatten().collect(),
            short: (0..count).filter(is_short).collect(),
            added,
            count,
        }
    }

    /// A stretch of natural tokens, some of them replaced by others.
    fn draw(&self, random: &mut Random) -> Vec<u32> {
        let length = 1 + random.below(LONGEST);
        let start = random.below(u32::try_from(self.natural.len()).unwrap_or(1));
        let changes = random.below(4);
        let natural = self.natural.iter().cycle().skip(start as usize);
        let of = |ids: &[u32], random: &mut Random| {
            ids.get(random.below(u32::try_from(ids.len()).unwrap_or(0)) as usize).copied()
        };
        let token = |&natural: &u32| match random.below(8) {
            kind if kind >= changes * 2 => natural,
            0 | 1 => of(&self.short, random).unwrap_or(natural),
            2 => random.below(self.count + 1),
            3 => of(&self.added, random).unwrap_or(natural),
            _ => of(&self.natural, random).unwrap_or(natural),
        };
        natural.take(length as usize).map(token).collect()
    }
}

/// Marsaglia's xorshift: the same rows on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from((u128::from(self.0) * u128::from(limit)) >> 64).unwrap_or(0)
    }
}
