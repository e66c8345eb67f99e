//! The fast engine answers as the reference does, whatever rows a coverage-guided fuzzer comes up with.
//!
//! `make fuzz-smoke` builds and runs it; `FUZZ_SECONDS=36000 make fuzz-smoke` is the long run.

#![no_main]

mod known;
mod rows;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tito_audit::audit::RowAudit;
use tito_audit::engine::{Answered, Engine};
use tito_audit::error::Error;

use known::Known;
use rows::Rows;

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(known::load);

/// What a row became, without what says how that was found out.
fn verdict(row: Result<RowAudit, Error>) -> Result<RowAudit, String> {
    row.map(|row| RowAudit { engine: Answered::default(), encoded_bytes: 0, ..row }).map_err(|error| error.to_string())
}

fuzz_target!(
    init: {
        // A panic of either engine is that row's error. libFuzzer's own hook would end the run instead.
        drop(std::panic::take_hook());
        std::panic::set_hook(Box::new(|_| ()));
        println!("{} tokenizers, {} of them with a fast engine", KNOWN.len(), KNOWN.iter().filter(|known| known.is_fast()).count());
    },
    |data: &[u8]| {
        let Some(rows) = Rows::new(data, &KNOWN) else { return };
        let (ours, theirs) = (rows.audit(Engine::Auto), rows.audit(Engine::Reference));
        assert_eq!(ours.len(), theirs.len(), "as many answers as rows");
        for (index, (ours, theirs)) in ours.into_iter().zip(theirs).map(|(ours, theirs)| (verdict(ours), verdict(theirs))).enumerate() {
            if ours != theirs {
                eprintln!("{rows}\nrow {index}\nfast: {ours:?}\nreference: {theirs:?}");
                std::process::abort();
            }
        }
    }
);
