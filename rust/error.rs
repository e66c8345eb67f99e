//! What can go wrong, said in the words of a user's file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that this crate refuses.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The reference cannot read the file.
    #[error("not a tokenizer.json that `tokenizers` {version} can load: {reason}", version = crate::TOKENIZERS_VERSION)]
    Load {
        /// The reference's own words.
        reason: String,
    },
    /// A BPE with `dropout > 0` encodes at random: there is no canonical form to compare with.
    #[error(
        "model.dropout is {dropout}: encoding is random, so no round trip can be judged; pass ignore_dropout=True to audit \
         with dropout off"
    )]
    Dropout {
        /// The file's value.
        dropout: f32,
    },
    /// The fast engine was asked for, and nothing proves that it answers as the reference does.
    #[error("no fast engine is proven for this tokenizer: {reason}")]
    NotProven {
        /// What stands in the way.
        reason: String,
    },
    /// The reference refused or crashed on one row.
    #[error("the reference tokenizer failed on this row: {reason}")]
    Reference {
        /// The reference's own words.
        reason: String,
    },
    /// A row whose bytes cannot be numbered.
    #[error("the row has more than 2,147,483,647 tokens or bytes of text: too many for its provenance")]
    RowTooLong,
    /// Ragged input that does not fit together.
    #[error("{0}")]
    Ragged(String),
}

impl Error {
    /// Wrap an error of the reference that arose while a row was decoded or encoded.
    pub(crate) fn reference(reason: impl std::fmt::Display) -> Self {
        Self::Reference { reason: reason.to_string() }
    }
}

thread_local! {
    /// Whether a panic of this thread becomes an error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Call the reference, and make an error of its panic.
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    let was_guarded = IS_GUARDED.replace(true);
    let result = caught(call);
    IS_GUARDED.set(was_guarded);
    result.unwrap_or_else(|message| Err(Error::reference(message)))
}

/// Let panics that become errors print nothing from now on: the error says what they would.
pub fn silence_guarded_panics() {
    let print = take_hook();
    set_hook(Box::new(move |panic| {
        if !IS_GUARDED.get() {
            print(panic);
        }
    }));
}

/// Call what may panic, and give the message if it does.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| panic_message(payload.as_ref()))
}

/// The message of a caught panic.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".to_owned())
}
