"""Rules about the record: TITO001 to TITO019."""

from __future__ import annotations

from tito_audit.rules.shape import BAD_ROW_LEFT_OUT, CONTROL, TINY, Rule

RECORD = (
    Rule(
        code="TITO001",
        name="unreadable-record",
        severity="error",
        headline="the record cannot be read as token ids",
        meaning="The row cannot be parsed, an entry where an id should be is a fraction, a bool, a string or null, or "
        "the reference tokenizer itself fails on the row; the message says which.",
        why=BAD_ROW_LEFT_OUT,
        how_it_arises="Ids that went through a float column (pandas turns integers with a gap into floats), a log that "
        "writes token strings, a line that was cut while the file was written. The reference fails where an added "
        "token strips white space that is another added token; no encoder reads such a text until one of them loses "
        "its lstrip or rstrip.",
        fix="Write ids as integers. After pandas: .astype('int64') on each row, with no null left.",
        example=TINY
        + """\
>>> tito.check([0, 1.0], tok)
Traceback (most recent call last):
tito_audit.errors.RecordError: token_ids: 1.0 at position 1 is no integer (got float)
""",
    ),
    Rule(
        code="TITO002",
        name="length-mismatch",
        severity="error",
        headline="a per-token array has another length than the ids",
        meaning="Mask, owners, logprobs or another per-token array does not have one entry per token id.",
        why="Which entry belongs to which token is unknown. Cutting or padding would silently train the wrong ones.",
        how_it_arises="The array was made for the re-encoded ids, for the response without the prompt, before the "
        "sequence was cut, or one token after it.",
        fix="Build every per-token array together with the ids. A mask for the response alone goes with prompt_ids.",
        example=TINY
        + """\
>>> tito.check([0, 0, 0], tok, mask=[0, 1])
Traceback (most recent call last):
tito_audit.errors.RecordError: mask has 2 entries, the token ids have 3 (one entry per token is needed; nothing is \
cut or padded)
""",
    ),
    Rule(
        code="TITO003",
        name="reference-skew",
        severity="warning",
        headline="the installed tokenizers is of another minor version than the one audited with",
        meaning="The verdict is that of the tokenizers version linked into this package. The wheel in this environment "
        "has another major or minor version.",
        why="Between minor versions the way text is split or decoded has changed before, so the pipeline may drift "
        "where the audit is clean, or the reverse.",
        how_it_arises="The environment pins an older tokenizers, or this package is older than the environment.",
        fix="Install the same minor version of tokenizers, or a matching version of this package.",
        example="""\
>>> from tito_audit.tokenizer import version_skew
>>> print(version_skew("0.21.4", "0.23.2"))
installed tokenizers 0.21.4, audited with 0.23.2: a pipeline on the installed one may split text differently (install \
tokenizers 0.23.* to be sure)
""",
    ),
    Rule(
        code="TITO004",
        name="no-trainable-token",
        severity="warning",
        headline="the mask is 0 everywhere",
        meaning="No token of the row is trained.",
        why="A mean over its trained tokens divides by zero; the NaN spreads to the whole batch, or a guard hides it.",
        how_it_arises="A trajectory that ends inside a tool result, a response cut to nothing, a mask that was "
        "inverted or made for another row.",
        fix="Leave such rows out before the loss, or find out why the mask is empty.",
        example=TINY
        + """\
>>> print(tito.check([0, 1], tok, mask=[0, 0]).findings[0])
TITO004 no-trainable-token: the mask is 0 at all 2 tokens: nothing is trained
""",
    ),
    Rule(
        code="TITO005",
        name="unknown-id",
        severity="error",
        headline="an id is outside the vocabulary",
        meaning="The tokenizer has no such id. It decodes to nothing, so the text does not show it. Where the size of "
        "the embedding is given (model_vocab_size, --model-vocab-size), its padded range is told from impossible ids.",
        why="The text that rewards and judges see lacks the token; a trainer may index past its embedding.",
        how_it_arises="An embedding that is padded beyond the vocabulary and was sampled without masking the padding, "
        "the tokenizer of another model, -1 or -100 as a filler, an integer that wrapped around.",
        fix="Mask the padded logits in the sampler, and audit with the tokenizer the sampler used.",
        iff="A span is unknown-id iff a sampled id in it is outside the vocabulary.",
        example=TINY
        + """\
>>> print(tito.check([0, 7, -1], tok, model_vocab_size=8).findings[0])
TITO005 unknown-id: outside the vocabulary of 2 ids: 7 at 1, -1 at 2 (1 in the padded range of the embedding of 8 \
rows, 1 beyond it)
""",
    ),
    Rule(
        code="TITO006",
        name="no-token-ids",
        severity="error",
        headline="the file stores text only",
        meaning="No column of the file holds token ids, so nothing in it can be audited.",
        why="What was sampled cannot be recovered from text: encoding the text gives one of many possible sequences.",
        how_it_arises="Most default rollout dumps write prompt and completion as text.",
        fix="Log the ids that the sampler returned beside the text (prompt and response ids, the mask, the logprobs).",
        example=TINY
        + """\
>>> tito.audit([{"input": "1 + 1 = ", "output": "2"}], tok).unchecked[0].code
'TITO006'
""",
    ),
    Rule(
        code="TITO008",
        name="fabricated-ids",
        severity="error",
        headline="a trained run of tokens is a placeholder that no sampler emits",
        meaning="All tokens of a run of mask 1 are id 0 or padding, two or more of them, or have a logprob of exactly "
        "0.0, three or more. A shorter run says nothing: a sampler may emit id 0, and be certain of a short answer and "
        "its end. A token whose logprob is another number was sampled and is not meant.",
        why="The policy is trained on tokens that it never chose; with logprob 0.0 the importance ratio takes them for "
        "certain.",
        how_it_arises="A generation that failed and was replaced by zeros or padding, a buffer that was never filled, "
        "tokens that the framework appended with a logprob of 0.0.",
        fix="Leave such rows out, or give the tokens mask 0, where the placeholder is made.",
        example=CONTROL
        + """\
>>> print(tito.check([1, 0, 0], tok, mask=[0, 1, 1]).findings[0])
TITO008 fabricated-ids: 2 tokens of whole runs of mask 1 are only id 0
""",
    ),
    Rule(
        code="TITO009",
        name="two-sources-disagree",
        severity="error",
        headline="the record holds the same tokens twice, and they differ",
        meaning="Beside the ids the record has them once more (prompt_ids and response_ids beside token_ids, "
        "completion_ids beside response_ids, the ids in its logprob entries), and not the same ones. Padding and the "
        "order of columns make no difference.",
        why="One of the two was not sampled. Logprobs that belong to other ids make every ratio wrong.",
        how_it_arises="Ids from the engine beside ids from a tokenize call, logprob entries that are shifted by one, a "
        "sequence that was edited in one column only.",
        fix="Keep one source, the ids that the engine returned, and derive the others from it.",
        example=CONTROL
        + """\
>>> entries = [{"token_id": 1, "logprob": -0.1}, {"token_id": 2, "logprob": -0.2}]
>>> print(tito.check([1, 0], tok, logprobs=entries).findings[0])
TITO009 two-sources-disagree: logprobs holds other ids than the row, at 1
""",
    ),
    Rule(
        code="TITO010",
        name="engine-mismatch",
        severity="error",
        headline="a row that was judged again by the reference came out differently",
        meaning="The fast engine is proven to answer as the reference does, and some of its rows are judged again all "
        "the same. On this row they disagree: the finding holds both answers. The columns are the reference's.",
        why="Whatever the fast engine said of other rows may be wrong too, so not everything was checked: the command "
        "exits with 2.",
        how_it_arises="A bug of this package, or memory that was changed or damaged while it was read.",
        fix="Check again with --engine reference (in Python: load_tokenizer(..., engine='reference')), and report the "
        "bug with the tokenizer and the ids of the row.",
        example=TINY
        + """\
>>> tok.engine in {"fast", "reference"}, tito.load_tokenizer(tok, engine="reference").engine
(True, 'reference')
>>> tito.check_batch([[0, 0]], tok).mismatches
{}
""",
    ),
    Rule(
        code="TITO011",
        name="duplicate-bos",
        severity="error",
        headline="two ids that begin a sequence stand at its start",
        meaning="The first two tokens both are the id that begins a sequence.",
        why="The model never saw that in training, and the sampler's logprobs are those of another context.",
        how_it_arises="A chat template writes the token as text, and the text is encoded with special tokens added "
        "once more.",
        fix="Encode what a template rendered with add_special_tokens=False.",
        example=CONTROL
        + """\
>>> from tokenizers import processors
>>> t.post_processor = processors.TemplateProcessing(single="<e> $A", special_tokens=[("<e>", 3)])
>>> print(tito.check([3, 3, 1], tito.load_tokenizer(t)).findings[0])
TITO011 duplicate-bos: two ids that begin a sequence stand at its start, at 0 and 1
""",
    ),
    Rule(
        code="TITO012",
        name="missing-eos",
        severity="warning",
        headline="the sampler stopped by itself, but no end id is trained",
        meaning="The finish reason says that the response ended by itself, and its last trained token is none of the "
        "ids that end one (those of the record, or else of the tokenizer). The reason is that of the last turn: where "
        "this is not trained, nothing is said.",
        why="The model is not trained to stop, and responses grow longer.",
        how_it_arises="An engine that returns no stop id, a stop string, a response that was stripped.",
        fix="Have the engine return the end id with the others. A stop string needs nothing.",
        example=CONTROL
        + """\
>>> record = {"completion_ids": [1, 0], "mask": [1, 1], "finish_reason": "stop", "eos_ids": [3]}
>>> print(tito.audit([record], tok).findings[0].finding)
TITO012 missing-eos: the sampler stopped by itself, but the last trained token, at 1, ends nothing
""",
    ),
    Rule(
        code="TITO013",
        name="appended-eos",
        severity="error",
        headline="an end id that was not sampled is trained",
        meaning="The response was cut short by its limit and yet its last trained token is an end id, behind which the "
        "row has nothing but padding and white space; or an end id with mask 1 lies beyond the number of sampled "
        "tokens.",
        why="The policy is rewarded or punished for an end that it did not choose, with a logprob that nobody "
        "computed.",
        how_it_arises="A framework that appends the end id where the engine returned none.",
        fix="Append it with mask 0, or not at all.",
        example=CONTROL
        + """\
>>> record = {"completion_ids": [1, 3], "mask": [1, 1], "finish_reason": "length", "eos_ids": [3]}
>>> print(tito.audit([record], tok).findings[0].finding)
TITO013 appended-eos: an end id that was not sampled is trained after the sampler's limit, at 1
""",
    ),
    Rule(
        code="TITO014",
        name="trained-padding",
        severity="error",
        headline="padding has mask 1",
        meaning="An id that pads has mask 1, or the attention mask leaves out a token that the mask trains. Where the "
        "same id also ends a response, it is the real end unless it stands right behind an id that ends or pads. A "
        "token with a logprob other than 0.0 was sampled and is not meant.",
        why="The loss counts tokens that are not there, and longer padding weighs more.",
        how_it_arises="A mask that is padded with 1, or made from lengths of another batch; a padding id that equals "
        "the end id and is masked by position.",
        fix="Multiply the mask by the attention mask, and pad masks with 0.",
        example=CONTROL
        + """\
>>> record = {"token_ids": [1, 3, 3], "mask": [1, 1, 1], "pad_id": 3, "eos_ids": [3]}
>>> print(tito.audit([record], tok).findings[0].finding)
TITO014 trained-padding: padding has mask 1: 1 token, at 2
""",
    ),
    Rule(
        code="TITO015",
        name="masked-eos",
        severity="warning",
        headline="the id that ends a turn has mask 0",
        meaning="Directly after trained tokens stands an end id with mask 0, and nothing says that the turn was cut "
        "short.",
        why="The model is not trained to stop. Some recipes do it on purpose.",
        how_it_arises="Masking by padding id where padding and end are one id, a template that writes the end id, a "
        "mask that ends one token early.",
        fix="Give the end id mask 1 where the sampler emitted it.",
        example=CONTROL
        + """\
>>> print(tito.audit([{"token_ids": [1, 3], "mask": [1, 0], "eos_ids": [3]}], tok).findings[0].finding)
TITO015 masked-eos: the id that ends a turn has mask 0 right after mask 1, at 1
""",
    ),
    Rule(
        code="TITO016",
        name="mask-value",
        severity="error",
        headline="a mask entry is neither 0/1, bool nor a weight",
        meaning="The mask holds a value without a meaning here, such as -100, 2, null or NaN.",
        why="Read as true, -100 would train every token that it is there to leave out.",
        how_it_arises="Labels used as a mask (-100 outside training, token ids inside), a sum of two masks.",
        fix="Say what the value means: of a dataset with mask_ignore=-100 (--mask-ignore -100) for a value that marks "
        "tokens outside training, and with null_mask= (--null-mask all-trained or all-context) for a null mask; in "
        "memory with np.where. Weights are finite floats of 0 or more.",
        example=TINY
        + """\
>>> tito.check([0, 1], tok, mask=[-100, 1])
Traceback (most recent call last):
tito_audit.errors.RecordError: mask: -100 is neither 0/1, bool nor a weight (1 such entry, at position 0); where -100 \
marks tokens outside training, pass np.where(np.equal(mask, -100), 0, mask)
""",
    ),
    Rule(
        code="TITO017",
        name="logprob-value",
        severity="error",
        headline="a logprob is null, NaN, infinite or positive",
        meaning="The entry is no logarithm of a probability.",
        why="It makes ratio and loss of the whole batch NaN, or scales one token's gradient without bound.",
        how_it_arises="A sampler that returns no logprob for the first token, -inf from a masked logit, a logprob "
        "taken before the softmax.",
        fix="Record the sampler's own logprob of every sampled token; write 0.0 where the mask is 0.",
        example="""\
>>> import tito_audit as tito
>>> tito.masked_mean([-0.5, float("nan")], [1, 1])
Traceback (most recent call last):
tito_audit.errors.RecordError: values: nan at position 1, under a mask that is not 0, is no finite number
""",
    ),
    Rule(
        code="TITO018",
        name="empty-row",
        severity="warning",
        headline="the row has no tokens",
        meaning="The list of ids is empty.",
        why="It counts as a rollout but trains nothing; means over its tokens divide by zero.",
        how_it_arises="A generation that failed or was cut to nothing and was written all the same.",
        fix="Leave it out, and look for the failure that it stands for.",
        example=TINY
        + """\
>>> print(tito.check([], tok).findings[0])
TITO018 empty-row: the row has no tokens
""",
    ),
    Rule(
        code="TITO019",
        name="duplicate-row-id",
        severity="warning",
        headline="a name of a record comes twice",
        meaning="An earlier record of the dataset has the same id.",
        why="The same rollout may be trained twice, and whoever joins tables by the id mixes rows up.",
        how_it_arises="A file that was written twice after a restart, an id that counts within a worker or a step "
        "only.",
        fix="Write each rollout once, and make ids unique over the whole dataset.",
        example=CONTROL
        + """\
>>> report = tito.audit([{"id": "a", "token_ids": [1]}, {"id": "a", "token_ids": [1]}], tok)
>>> [(found.row, found.finding.code) for found in report.findings]
[(2, 'TITO019')]
""",
    ),
)
