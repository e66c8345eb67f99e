//! The fast engine answers as the reference does, whatever rows a coverage-guided fuzzer comes up with.
//!
//! `make fuzz-smoke` builds and runs it; `FUZZ_SECONDS=36000 make fuzz-smoke` is the long run.

#![no_main]

mod known;
mod rows;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tito_audit::columns::AuditColumns;
use tito_audit::engine::Engine;

use known::Known;
use rows::Rows;

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(known::load);

/// What the rows became, without what says how that was found out.
fn verdicts(columns: AuditColumns) -> AuditColumns {
    AuditColumns { engine: Vec::new(), encoded_bytes: Vec::new(), ..columns }
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
        let (ours, theirs) = (verdicts(rows.audit(Engine::Auto)), verdicts(rows.audit(Engine::Reference)));
        if ours != theirs {
            eprintln!("{rows}\nfast: {ours:?}\nreference: {theirs:?}");
            std::process::abort();
        }
    }
);
