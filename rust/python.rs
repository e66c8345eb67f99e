//! The Python face: arrays in, columns out, the GIL released in between. Nothing is decided here.

#![expect(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]

use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyTuple};

use crate::audit::{Flags, PipelineOptions};
use crate::batch::{Batch, Ids};
use crate::cause::Cause;
use crate::columns::{AuditColumns, RealisedColumns};
use crate::engine::{Answered, Engine};
use crate::error::{Error, guarded, silence_guarded_panics};
use crate::provenance_columns::{CharacterColumns, ProvenanceColumns};
use crate::tokenizer::{LoadOptions, Tokenizer};

pyo3::import_exception!(tito_audit.errors, TokenizerError);

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Ragged(message) => PyValueError::new_err(message),
            Error::Load { .. }
            | Error::Dropout { .. }
            | Error::NotProven { .. }
            | Error::Reference { .. }
            | Error::RowTooLong => TokenizerError::new_err(error.to_string()),
        }
    }
}

/// Ids as an array of any of the three widths.
enum IdArray<'py> {
    I64(PyReadonlyArray1<'py, i64>),
    I32(PyReadonlyArray1<'py, i32>),
    U32(PyReadonlyArray1<'py, u32>),
}

impl<'py> IdArray<'py> {
    fn new(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(ids) = array.extract() {
            return Ok(Self::I64(ids));
        }
        if let Ok(ids) = array.extract() {
            return Ok(Self::I32(ids));
        }
        array
            .extract()
            .map(Self::U32)
            .map_err(|_| PyTypeError::new_err("ids must be a one-dimensional numpy array of int64, int32 or uint32"))
    }

    fn ids(&self) -> PyResult<Ids<'_>> {
        Ok(match self {
            Self::I64(ids) => Ids::I64(ids.as_slice()?),
            Self::I32(ids) => Ids::I32(ids.as_slice()?),
            Self::U32(ids) => Ids::U32(ids.as_slice()?),
        })
    }

    /// The ids of one sequence, as the tokenizer knows them.
    fn known(&self, tokenizer: &Tokenizer) -> PyResult<Vec<u32>> {
        let ids = self.ids()?;
        Ok(ids.row(tokenizer, 0..ids.len()))
    }
}

fn slice<'a, T: Element>(array: Option<&'a PyReadonlyArray1<'_, T>>) -> PyResult<Option<&'a [T]>> {
    Ok(array.map(|array| array.as_slice()).transpose()?)
}

/// A tokenizer.json in the reference engine.
#[pyclass(frozen, name = "Tokenizer", module = "tito_audit._core")]
struct PyTokenizer(Tokenizer);

#[pymethods]
impl PyTokenizer {
    #[staticmethod]
    #[pyo3(signature = (data, *, encode_special_tokens=false, ignore_dropout=false))]
    fn from_json(py: Python<'_>, data: &[u8], encode_special_tokens: bool, ignore_dropout: bool) -> PyResult<Self> {
        let options = LoadOptions { encode_special_tokens, ignore_dropout };
        Ok(Self(py.detach(|| Tokenizer::from_json(data, options))?))
    }

    #[getter]
    fn vocab_size(&self) -> usize {
        self.0.vocab_size()
    }

    #[getter]
    fn model(&self) -> &'static str {
        self.0.model_name()
    }

    #[getter]
    fn changed(&self) -> Vec<&'static str> {
        self.0.changed().to_vec()
    }

    #[getter]
    fn added_tokens(&self) -> Vec<(u32, String, bool)> {
        let mut tokens: Vec<_> = self
            .0
            .added_tokens()
            .iter()
            .map(|(&id, added)| (id, added.token.content.clone(), added.token.special))
            .collect();
        tokens.sort_unstable();
        tokens
    }

    #[getter]
    fn fast(&self) -> bool {
        self.not_fast().is_none()
    }

    #[getter]
    fn not_fast(&self) -> Option<&str> {
        self.0.unproven().map(|unproven| unproven.reason.as_str())
    }

    #[getter]
    fn demoted(&self) -> bool {
        self.0.unproven().is_some_and(|unproven| unproven.is_refuted)
    }

    fn token_bytes(&self, id: i64) -> Option<&[u8]> {
        self.0.surface(self.0.known(id))
    }

    #[pyo3(signature = (ids, *, skip_special_tokens=false, clean_up_tokenization_spaces=false))]
    fn decode(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        skip_special_tokens: bool,
        clean_up_tokenization_spaces: bool,
    ) -> PyResult<String> {
        let ids = IdArray::new(ids)?.known(&self.0)?;
        let options = PipelineOptions { skip_special_tokens, clean_up_tokenization_spaces };
        Ok(py.detach(|| guarded(|| self.0.decode_with(&ids, options)))?)
    }

    fn encode<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(py.detach(|| guarded(|| self.0.encode(text)))?.into_pyarray(py))
    }

    #[expect(clippy::too_many_arguments, reason = "the columns of a batch are the arguments")]
    #[pyo3(signature = (ids, offsets, *, mask=None, owners=None, joins=None, row_start=None, threads=1,
                        skip_special_tokens=false, clean_up_tokenization_spaces=false, engine="auto"))]
    fn audit<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        offsets: PyReadonlyArray1<'py, i64>,
        mask: Option<PyReadonlyArray1<'py, u8>>,
        owners: Option<PyReadonlyArray1<'py, u8>>,
        joins: Option<PyReadonlyArray1<'py, i64>>,
        row_start: Option<PyReadonlyArray1<'py, bool>>,
        threads: usize,
        skip_special_tokens: bool,
        clean_up_tokenization_spaces: bool,
        engine: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let engine = Engine::parse(engine)
            .ok_or_else(|| PyValueError::new_err(format!("engine {engine:?} is none of auto, fast and reference")))?;
        engine.check(&self.0)?;
        let ids = IdArray::new(ids)?;
        let batch = Batch::new(ids.ids()?, offsets.as_slice()?)?
            .with_mask(slice(mask.as_ref())?)?
            .with_owners(slice(owners.as_ref())?)?
            .with_context(slice(joins.as_ref())?, slice(row_start.as_ref())?)?;
        let options = PipelineOptions { skip_special_tokens, clean_up_tokenization_spaces };
        let columns = py.detach(|| batch.audit(&self.0, options, engine, threads));
        audit_dict(py, columns)
    }

    #[pyo3(signature = (ids, offsets, *, owners=None, threads=1))]
    fn provenance<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        offsets: PyReadonlyArray1<'py, i64>,
        owners: Option<PyReadonlyArray1<'py, u8>>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let ids = IdArray::new(ids)?;
        let batch = Batch::new(ids.ids()?, offsets.as_slice()?)?.with_owners(slice(owners.as_ref())?)?;
        let columns = py.detach(|| batch.provenance(&self.0, threads));
        provenance_dict(py, columns)
    }

    #[expect(clippy::too_many_arguments, reason = "the columns of a batch are the arguments")]
    #[pyo3(signature = (ids, offsets, trained, trained_offsets, *, mask=None, train_mask=None, threads=1))]
    fn realised<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        offsets: PyReadonlyArray1<'py, i64>,
        trained: &Bound<'py, PyAny>,
        trained_offsets: PyReadonlyArray1<'py, i64>,
        mask: Option<PyReadonlyArray1<'py, u8>>,
        train_mask: Option<PyReadonlyArray1<'py, u8>>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (ids, trained) = (IdArray::new(ids)?, IdArray::new(trained)?);
        let sampled = Batch::new(ids.ids()?, offsets.as_slice()?)?.with_mask(slice(mask.as_ref())?)?;
        let trained =
            Batch::new(trained.ids()?, trained_offsets.as_slice()?)?.with_mask(slice(train_mask.as_ref())?)?;
        let rows = py.detach(|| sampled.realised(&trained, &self.0, threads).map(RealisedColumns::new))?;
        realised_dict(py, rows)
    }
}

/// A plain integer of Python that fits 64 bits; a bool and whatever else counts as an integer are none.
fn plain_integer(item: &Bound<'_, PyAny>) -> Option<i64> {
    item.is_exact_instance_of::<PyInt>().then(|| item.extract().ok()).flatten()
}

/// Append a list or tuple of plain integers; `None` where it is anything else.
fn append_integers(items: &Bound<'_, PyAny>, to: &mut Vec<i64>) -> Option<()> {
    if let Ok(list) = items.cast::<PyList>() {
        to.reserve(list.len());
        list.iter().try_for_each(|item| plain_integer(&item).map(|id| to.push(id)))
    } else {
        let tuple = items.cast::<PyTuple>().ok()?;
        to.reserve(tuple.len());
        tuple.iter().try_for_each(|item| plain_integer(&item).map(|id| to.push(id)))
    }
}

/// A list or tuple of integers as an array, each looked at once; `None` for anything but plain integers of 64 bits.
#[pyfunction]
fn integers<'py>(items: &Bound<'py, PyAny>) -> Option<Bound<'py, PyArray1<i64>>> {
    let mut values = Vec::new();
    append_integers(items, &mut values)?;
    Some(values.into_pyarray(items.py()))
}

/// Integers end to end, and where each row starts.
type Rows<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// The same for a list of such lists and tuples.
#[pyfunction]
fn integer_rows<'py>(rows: &Bound<'py, PyList>) -> Option<Rows<'py>> {
    let (mut values, mut offsets) = (Vec::new(), vec![0]);
    for row in rows.iter() {
        append_integers(&row, &mut values)?;
        offsets.push(i64::try_from(values.len()).ok()?);
    }
    Some((values.into_pyarray(rows.py()), offsets.into_pyarray(rows.py())))
}

/// A dict of columns under way.
struct Columns<'py>(Bound<'py, PyDict>);

impl Columns<'_> {
    fn set<T: Element>(&self, name: &str, values: Vec<T>) -> PyResult<()> {
        self.0.set_item(name, values.into_pyarray(self.0.py()))
    }
}

fn audit_dict(py: Python<'_>, columns: AuditColumns) -> PyResult<Bound<'_, PyDict>> {
    let dict = Columns(PyDict::new(py));
    dict.set("engine", columns.engine)?;
    dict.set("drifted", columns.drifted)?;
    dict.set("artefact", columns.artefact)?;
    dict.set("located", columns.located)?;
    dict.set("invalid_utf8", columns.invalid_utf8)?;
    dict.set("first_diff", columns.first_diff)?;
    dict.set("encoded_bytes", columns.encoded_bytes)?;
    dict.set("n_owner_crossing", columns.n_owner_crossing)?;
    dict.set("n_shared_chars", columns.n_shared_chars)?;
    dict.set("reencoded_ids", columns.reencoded.values)?;
    dict.set("reencoded_offsets", columns.reencoded.offsets)?;
    dict.set("unknown_positions", columns.unknown.values)?;
    dict.set("unknown_offsets", columns.unknown.offsets)?;
    dict.set("span_offsets", columns.spans.offsets)?;
    dict.set("span_cause", columns.spans.cause)?;
    dict.set("span_flags", columns.spans.flags)?;
    dict.set("span_token_start", columns.spans.token_start)?;
    dict.set("span_token_stop", columns.spans.token_stop)?;
    dict.set("span_reencoded_start", columns.spans.reencoded_start)?;
    dict.set("span_reencoded_stop", columns.spans.reencoded_stop)?;
    dict.set("span_byte_start", columns.spans.byte_start)?;
    dict.set("span_byte_stop", columns.spans.byte_stop)?;
    dict.set("straddling_offsets", columns.straddling.offsets)?;
    dict.set("straddling_index", columns.straddling.index)?;
    dict.set("straddling_id", columns.straddling.id)?;
    dict.set("straddling_byte_start", columns.straddling.byte_start)?;
    dict.set("straddling_byte_stop", columns.straddling.byte_stop)?;
    dict.set("straddling_byte_offsets", columns.straddling.mask.offsets)?;
    dict.set("straddling_mask", columns.straddling.mask.values)?;
    dict.set("straddling_owner", columns.straddling.owner)?;
    dict.set("pipeline_drifted", columns.pipeline.drifted)?;
    dict.set("pipeline_first_diff", columns.pipeline.first_diff)?;
    dict.set("pipeline_cause", columns.pipeline.cause)?;
    dict.set("pipeline_ids", columns.pipeline.ids.values)?;
    dict.set("pipeline_offsets", columns.pipeline.ids.offsets)?;
    dict.set("pipeline_lost_positions", columns.pipeline.lost.values)?;
    dict.set("pipeline_lost_offsets", columns.pipeline.lost.offsets)?;
    dict.0.set_item("errors", columns.errors)?;
    Ok(dict.0)
}

fn provenance_dict(py: Python<'_>, columns: ProvenanceColumns) -> PyResult<Bound<'_, PyDict>> {
    let dict = Columns(PyDict::new(py));
    dict.set("text_bytes", columns.bytes.text)?;
    dict.set("byte_offsets", columns.offsets)?;
    dict.set("byte_owner", columns.bytes.owner)?;
    dict.set("byte_token", columns.bytes.token)?;
    dict.0.set_item("errors", columns.errors)?;
    Ok(dict.0)
}

/// The characters of rows whose bytes `Tokenizer.provenance` gave.
#[pyfunction]
#[pyo3(signature = (text_bytes, byte_offsets, byte_token, byte_owner, *, threads=1))]
fn characters<'py>(
    py: Python<'py>,
    text_bytes: PyReadonlyArray1<'py, u8>,
    byte_offsets: PyReadonlyArray1<'py, i64>,
    byte_token: PyReadonlyArray1<'py, i32>,
    byte_owner: PyReadonlyArray1<'py, i16>,
    threads: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (text, offsets) = (text_bytes.as_slice()?, byte_offsets.as_slice()?);
    let (token, owner) = (byte_token.as_slice()?, byte_owner.as_slice()?);
    let columns = py.detach(|| CharacterColumns::new(text, offsets, token, owner, threads))?;
    let dict = Columns(PyDict::new(py));
    dict.set("char_offsets", columns.offsets)?;
    dict.set("char_owner", columns.owner)?;
    dict.set("char_token", columns.token)?;
    dict.set("char_byte", columns.byte)?;
    Ok(dict.0)
}

fn realised_dict(py: Python<'_>, columns: RealisedColumns) -> PyResult<Bound<'_, PyDict>> {
    let dict = Columns(PyDict::new(py));
    dict.set("kind", columns.kind)?;
    dict.set("first_diff", columns.first_diff)?;
    dict.set("kept_start", columns.kept_start)?;
    dict.set("lost", columns.lost)?;
    dict.set("span_offsets", columns.span_offsets)?;
    dict.set("span_cause", columns.span_cause)?;
    dict.set("span_token_start", columns.span_token_start)?;
    dict.set("span_token_stop", columns.span_token_stop)?;
    dict.set("span_trained_start", columns.span_trained_start)?;
    dict.set("span_trained_stop", columns.span_trained_stop)?;
    dict.set("span_byte_start", columns.span_byte_start)?;
    dict.set("span_byte_stop", columns.span_byte_stop)?;
    dict.set("wrong_trained", columns.wrong_trained)?;
    dict.set("wrong_untrained", columns.wrong_untrained)?;
    dict.set("straddling", columns.straddling)?;
    dict.set("wrong_positions", columns.wrong.values)?;
    dict.set("wrong_offsets", columns.wrong.offsets)?;
    dict.0.set_item("errors", columns.errors)?;
    Ok(dict.0)
}

#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Both are set up on first use otherwise, under a lock and with the GIL let go meanwhile: a process that forks in that
    // moment would leave its child waiting for ever.
    let _ = PyArray1::<i64>::zeros(module.py(), 1, false).readonly();
    let _ = module.py().get_type::<TokenizerError>();
    // Of this library alone: it has its own copy of what a hook is set in.
    silence_guarded_panics();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("TOKENIZERS_VERSION", crate::TOKENIZERS_VERSION)?;
    module.add("DEBUG_BUILD", cfg!(debug_assertions))?;
    module.add("CAUSES", pyo3::types::PyTuple::new(module.py(), Cause::ALL.map(Cause::code))?)?;
    module.add("ENGINES", pyo3::types::PyTuple::new(module.py(), Answered::NAMES)?)?;
    module.add("FLAGS", pyo3::types::PyTuple::new(module.py(), Flags::NAMES)?)?;
    module.add_function(wrap_pyfunction!(characters, module)?)?;
    module.add_function(wrap_pyfunction!(integers, module)?)?;
    module.add_function(wrap_pyfunction!(integer_rows, module)?)?;
    module.add_class::<PyTokenizer>()
}
