//! Throughput of the core on one thread: a clean row, a drifting one, and provenance. Run with `cargo bench`.
//!
//! Criterion measures the same row again and again, so the reference's word cache is warm: every figure is "seen again".

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tito_audit::audit::{PipelineOptions, Row};
use tito_audit::batch::{Batch, Ids};
use tito_audit::engine::Engine;
use tito_audit::tokenizer::{LoadOptions, Tokenizer};
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

const TEXT: &str = include_str!("../tests/corpus.txt");

/// A byte-level BPE trained on the text of the tests.
fn tokenizer() -> Tokenizer {
    let byte_level = ByteLevel::default().add_prefix_space(false);
    let mut bpe = tokenizers::Tokenizer::new(BPE::default());
    bpe.with_pre_tokenizer(Some(byte_level));
    bpe.with_decoder(Some(byte_level));
    let mut trainer: TrainerWrapper = BpeTrainer::builder()
        .vocab_size(1500)
        .show_progress(false)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build()
        .into();
    bpe.train(&mut trainer, TEXT.split_inclusive('\n')).expect("the corpus is trainable");
    let json = bpe.to_string(false).expect("a trained tokenizer is serialisable");
    Tokenizer::from_json(json.as_bytes(), LoadOptions::default()).expect("what was serialised is loadable")
}

/// Spell every 100th id byte by byte: about five drift spans per 1,000 tokens.
fn recut(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<u32> {
    let spelled = |id: u32| {
        let surface = tokenizer.surface(id).unwrap_or_default();
        let is_plain = surface.len() > 1 && surface.is_ascii();
        is_plain.then(|| {
            let bytes = surface.iter().map(|byte| char::from(*byte).to_string());
            bytes.flat_map(|byte| tokenizer.encode(&byte).expect("every byte is in the vocabulary")).collect()
        })
    };
    let recut_every_100th = |(position, id): (usize, &u32)| {
        let pieces: Option<Vec<u32>> = if position % 100 == 0 { spelled(*id) } else { None };
        pieces.unwrap_or_else(|| vec![*id])
    };
    ids.iter().enumerate().flat_map(recut_every_100th).collect()
}

fn core(criterion: &mut Criterion) {
    let tokenizer = tokenizer();
    let clean = tokenizer.encode(TEXT).expect("the corpus is text");
    let drifting = recut(&tokenizer, &clean);

    let mut group = criterion.benchmark_group("seen again");
    for (name, ids) in [("audit clean", &clean), ("audit drifting", &drifting)] {
        // Turns of 64 tokens, so that there are owners to cross.
        let mask: Vec<u8> = (0..ids.len()).map(|position| u8::from(position / 64 % 2 == 1)).collect();
        let row = Row { ids, mask: Some(&mask), ..Row::default() };
        let audit = || {
            tokenizer.audit(&row, PipelineOptions::default(), Engine::Reference).expect("the reference takes any ids")
        };
        assert_eq!(audit().first_diff.is_some(), name == "audit drifting");
        group.throughput(Throughput::Elements(ids.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| black_box(audit())));
    }

    let owners: Vec<u8> = (0..drifting.len()).map(|position| u8::from(position / 64 % 2 == 1)).collect();
    group.bench_function("provenance", |bencher| {
        let offsets = [0, i64::try_from(drifting.len()).expect("a length")];
        let batch = Batch::new(Ids::U32(&drifting), &offsets).and_then(|batch| batch.with_owners(Some(&owners)));
        let batch = batch.expect("the arrays fit together");
        bencher.iter(|| black_box(batch.provenance(&tokenizer, 1)));
    });
    group.finish();
}

criterion_group!(benches, core);
criterion_main!(benches);
