//! The tokenizers that rows are made for, as `prepare.py` laid them out.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;
use tito_audit::tokenizer::{LoadOptions, Tokenizer};

/// A tokenizer with what makes rows of it.
pub struct Known {
    /// What it is called in a report.
    pub name: String,
    /// Itself.
    pub tokenizer: Tokenizer,
    /// Tokens that rows are mostly made of.
    pub nasty: Vec<i64>,
    /// One more than its greatest id.
    pub size: i64,
    by_bytes: HashMap<Vec<u8>, i64>,
}

impl Known {
    /// Whether a fast engine answers for it.
    pub fn is_fast(&self) -> bool {
        self.tokenizer.unproven().is_none()
    }

    /// The two tokens that spell a token: the `choice`th pair of those there are.
    pub fn cut(&self, id: i64, choice: usize) -> Option<[i64; 2]> {
        let bytes = self.tokenizer.surface(self.tokenizer.known(id))?;
        let halves = (1..bytes.len()).filter_map(|at| {
            let (left, right) = bytes.split_at(at);
            Some([*self.by_bytes.get(left)?, *self.by_bytes.get(right)?])
        });
        let pairs: Vec<_> = halves.collect();
        pairs.get(choice.checked_rem(pairs.len())?).copied()
    }
}

/// Load what `tokenizers.json` lists, beside this crate or where `TITO_FUZZ` says.
pub fn load() -> Vec<Known> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/work/tokenizers.json");
    let list = std::env::var_os("TITO_FUZZ").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let list = std::fs::read(list).expect("prepare.py was run");
    let list: Vec<Value> = serde_json::from_slice(&list).expect("prepare.py writes JSON");
    list.iter().map(known).collect()
}

fn known(entry: &Value) -> Known {
    let text = |name: &str| entry[name].as_str().expect("a text").to_owned();
    let json = std::fs::read(text("path")).expect("prepare.py names files that are there");
    let tokenizer = Tokenizer::from_json(&json, LoadOptions::default()).expect("a tokenizer that loads");
    let nasty: Vec<i64> = entry["nasty"].as_array().expect("a list").iter().filter_map(Value::as_i64).collect();
    let size = entry["size"].as_i64().expect("a number");
    let ids = (0..size).filter_map(|id| Some((tokenizer.surface(tokenizer.known(id))?.to_vec(), id)));
    Known { by_bytes: ids.collect(), name: text("name"), tokenizer, nasty, size }
}
