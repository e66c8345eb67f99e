//! What does this id sequence turn into when it is decoded and encoded again, and where does it differ?
//!
//! The reference verdict is the `tokenizers` crate's `encode(decode(ids))`. This crate runs it, lays both id lists on
//! one axis, the UTF-8 bytes of the decoded text D, and says which tokens changed, why, and whose bytes they cover.
//!
//! Data flows one way: [`tokenizer`] loads a file; [`decode`] places the sampled tokens on D and [`reencode`] the
//! re-encoded ones; [`align`] cuts both into drift spans; [`cause`] names why; [`provenance`] says whose bytes they are;
//! [`engine`] says who may answer and [`audit`] does a row end to end, [`realised`] compares it with what was trained, and [`batch`] does many rows over
//! threads that live no longer than the call.

pub mod align;
pub mod audit;
pub mod batch;
mod byte_level;
pub mod cause;
pub mod columns;
mod compose;
pub mod decode;
mod draft;
pub mod engine;
pub mod error;
pub mod fast;
mod few_ids;
mod file;
mod ids;
mod joining;
mod kept;
pub mod machine;
pub mod pairs;
mod pool;
mod prefetch;
pub mod provenance;
pub mod provenance_columns;
pub mod realised;
pub mod reencode;
mod selftest;
pub mod sentence;
mod sources;
pub mod split;
mod surfaces;
mod terms;
pub mod tokenizer;
mod windows;

#[cfg(feature = "python")]
mod python;

pub use error::{Error, Result};

/// Version of the `tokenizers` crate that is linked in: verdicts are those of this version.
pub const TOKENIZERS_VERSION: &str = "0.23.2";

/// A half-open range of bytes of D.
pub type ByteRange = std::ops::Range<usize>;
