"""The one catalogue of findings: code, name, severity, and what a person needs to know about each.

The command, the reports, the documentation and the tests read it from here. Of each cause `Rule.iff` is the definition:
two people who classify a drift span with it come to the same cause. Where several fit, the first in this order wins:
unknown-id, unknown-token, invalid-utf8, special-text, special-skipped, cleanup-spaces, normalizer, control-spacing,
prefix-space, byte-fallback, id-alias, pretoken-boundary, whole-word, unreachable-token, merge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The worst first."""
"""``error`` fails by default, ``warning`` is shown, ``note`` is counted and shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of finding.

    Attributes:
        code: Such as ``"TITO101"``; never reused for anything else.
        name: Kebab name, such as ``"merge"``; of a cause, the name of the cause.
        severity: ``"error"``, ``"warning"`` or ``"note"``.
        headline: One line that says what is the matter.
        meaning: What it means.
        why: Why it matters for training.
        how_it_arises: How it comes about.
        fix: What to do about it.
        example: A Python session that shows it; a test runs it.
        iff: Of a cause, the definition: "A span is X iff ...".
    """

    code: str
    name: str
    severity: Severity
    headline: str
    meaning: str
    why: str
    how_it_arises: str
    fix: str
    example: str
    iff: str | None = None


def rule(code: str) -> Rule:
    """Return the rule with a code.

    Raises:
        KeyError: No such code.
    """
    return RULES[code]


_KEEP_THE_IDS = (
    "Keep the sampled ids from the sampler to the loss and never encode what was decoded: append ids to the buffer, "
    "tool results included, and build mask and logprobs as it grows."
)
_OTHER_TOKENS = (
    "A pipeline that encodes the text again scores tokens that the policy never sampled: the importance ratio compares "
    "the logprobs of two different tokens, and where the length changed every later mask entry is off."
)
_BAD_ROW_LEFT_OUT = "The row cannot be audited and is left out; what the trainer does with it is anybody's guess."

_TINY = """\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models
>>> t = Tokenizer(models.BPE({"a": 0, "aa": 1}, [("a", "a")]))
>>> t.decoder = decoders.Fuse()
>>> tok = tito.load_tokenizer(t)
"""
_BYTES = """\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
>>> ids = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
>>> t = Tokenizer(models.BPE(ids, []))
>>> t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
>>> t.decoder = decoders.ByteLevel()
>>> tok = tito.load_tokenizer(t)
"""
_CONTROL = """\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models
>>> t = Tokenizer(models.BPE({"<": 0, "e": 1, ">": 2}, []))
>>> t.decoder = decoders.Fuse()
>>> t.add_special_tokens(["<e>"])
1
>>> tok = tito.load_tokenizer(t)
"""

_RECORD = (
    Rule(
        code="TITO001",
        name="unreadable-record",
        severity="error",
        headline="the record cannot be read as token ids",
        meaning="The row cannot be parsed, or an entry where an id should be is a fraction, a bool, a string or null.",
        why=_BAD_ROW_LEFT_OUT,
        how_it_arises="Ids that went through a float column (pandas turns integers with a gap into floats), a log that "
        "writes token strings, a line that was cut while the file was written.",
        fix="Write ids as integers. After pandas: .astype('int64') on each row, with no null left.",
        example=_TINY
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
        example=_TINY
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
        example=_TINY
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
        example=_TINY
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
        example=_TINY
        + """\
>>> tito.audit([{"input": "1 + 1 = ", "output": "2"}], tok).unchecked[0].code
'TITO006'
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
        example=_TINY
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
        example=_TINY
        + """\
>>> print(tito.check([], tok).findings[0])
TITO018 empty-row: the row has no tokens
""",
    ),
)

_SAME_BYTES = (
    Rule(
        code="TITO101",
        name="merge",
        severity="note",
        headline="neighbouring tokens merge or are cut elsewhere when the text is encoded again",
        meaning="The text is the same, but its encoder joins what the sampler emitted apart, or cuts it elsewhere.",
        why=_OTHER_TOKENS,
        how_it_arises="A sampler may emit any tokens that spell a text, an encoder gives only one way. Typical places "
        "are rare words, digits, runs of white space, and the joint between a tool result and the answer.",
        fix=_KEEP_THE_IDS,
        iff="A span is merge iff it is none of the other causes.",
        example=_TINY
        + """\
>>> print(tito.check([0, 0], tok).findings[0])
TITO101 merge: "a" "a" -> "aa"
""",
    ),
    Rule(
        code="TITO102",
        name="pretoken-boundary",
        severity="note",
        headline="a sampled token reaches across a place where the encoder always cuts",
        meaning="The encoder splits text into words before it looks up tokens, and no token it gives crosses a split. "
        "The sampled one does.",
        why=_OTHER_TOKENS,
        how_it_arises="The vocabulary has tokens such as '.b' or a space before digits that its own splitting pattern "
        "never lets through, or only in another context.",
        fix=_KEEP_THE_IDS,
        iff="A span is pretoken-boundary iff a sampled id in it reaches across a pre-token boundary.",
        example="""\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
>>> t = Tokenizer(models.BPE({"a": 0, ".": 1, "a.": 2}, [("a", ".")]))
>>> t.pre_tokenizer, t.decoder = pre_tokenizers.Punctuation(), decoders.Fuse()
>>> print(tito.check([2], tito.load_tokenizer(t)).findings[0])
TITO102 pretoken-boundary: "a." -> "a" "."
""",
    ),
    Rule(
        code="TITO103",
        name="whole-word",
        severity="note",
        headline="a whole word that is in the vocabulary comes back as one token",
        meaning="The encoder looks a whole word up before it merges (ignore_merges), and finds it; the merges alone "
        "would have given several tokens.",
        why=_OTHER_TOKENS,
        how_it_arises="Vocabularies converted from tiktoken (Llama 3, GPT-4) have a few words that the merges miss.",
        fix=_KEEP_THE_IDS,
        iff="A span is whole-word iff it is one re-encoded token that is a whole pre-token and that the merges alone "
        "would not give.",
        example="""\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models
>>> t = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [], ignore_merges=True))
>>> t.decoder = decoders.Fuse()
>>> print(tito.check([0, 1], tito.load_tokenizer(t)).findings[0])
TITO103 whole-word: "a" "b" -> "ab"
""",
    ),
    Rule(
        code="TITO104",
        name="unreachable-token",
        severity="note",
        headline="no text encodes to a sampled token",
        meaning="The token is in the vocabulary, but even its own text encodes to other tokens.",
        why=_OTHER_TOKENS,
        how_it_arises="Tokens that a vocabulary carries without the merges that make them. Models rarely emit them "
        "unless they were trained on them.",
        fix=_KEEP_THE_IDS,
        iff="A span is unreachable-token iff a sampled id in it does not come back from its own surface.",
        example="""\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models
>>> t = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, []))
>>> t.decoder = decoders.Fuse()
>>> print(tito.check([2], tito.load_tokenizer(t)).findings[0])
TITO104 unreachable-token: "ab" -> "a" "b"
""",
    ),
    Rule(
        code="TITO105",
        name="byte-fallback",
        severity="note",
        headline="a byte token stands where the vocabulary has the character",
        meaning="The sampler spelled a character byte by byte; the encoder uses bytes only where it has no token.",
        why=_OTHER_TOKENS,
        how_it_arises="SentencePiece vocabularies (Llama 2, Mistral, Gemma) have a token for each byte, and a hot "
        "sampler may emit it.",
        fix=_KEEP_THE_IDS,
        iff="A span is byte-fallback iff a sampled id in it is a byte token.",
        example="""\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models
>>> t = Tokenizer(models.BPE({"a": 0, "<0x61>": 1}, [], byte_fallback=True))
>>> t.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
>>> tito.check([1], tito.load_tokenizer(t)).cause
'byte-fallback'
""",
    ),
    Rule(
        code="TITO106",
        name="id-alias",
        severity="note",
        headline="another id with the same text comes back",
        meaning="Two ids stand for the same bytes, and the encoder knows only one of them.",
        why=_OTHER_TOKENS + " The length is the same, so no shape check fires.",
        how_it_arises="A vocabulary with two entries that decode alike, such as a space beside the SentencePiece '▁'.",
        fix=_KEEP_THE_IDS,
        iff="A span is id-alias iff an id became one other id with the same bytes.",
        example="""\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
>>> t = Tokenizer(models.BPE({"a": 0, "▁": 1, " ": 2}, []))
>>> t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
>>> t.decoder = decoders.Metaspace(prepend_scheme="never", split=False)
>>> tito.check([0, 2, 0], tito.load_tokenizer(t)).cause
'id-alias'
""",
    ),
    Rule(
        code="TITO107",
        name="special-text",
        severity="note",
        headline="ordinary tokens spell an added token, which comes back as the one id (or the reverse)",
        meaning="The text holds the surface of an added token, such as an end-of-turn marker. Encoding finds added "
        "tokens first and gives the control id.",
        why=_OTHER_TOKENS + " Text that a user or a tool wrote becomes control: prompt injection at the token level.",
        how_it_arises="Text that quotes a chat template; a model that spells its end marker; an added token whose "
        "strip, single-word or normalized flag keeps it from being found again.",
        fix=_KEEP_THE_IDS + " Encode untrusted text with special tokens switched off.",
        iff="A span is special-text iff an added token whose surface is not white space only stands on either side of "
        "it.",
        example=_CONTROL
        + """\
>>> print(tito.check([0, 1, 2], tok).findings[0])
TITO107 special-text: "<" "e" ">" -> "<e>"
""",
    ),
)

_OTHER_BYTES = (
    Rule(
        code="TITO201",
        name="invalid-utf8",
        severity="note",
        headline="the sampled bytes are no UTF-8",
        meaning="Decoding puts U+FFFD in place of bytes that form no character, and U+FFFD encodes to other tokens. A "
        "U+FFFD that the text itself holds is no drift.",
        why=_OTHER_TOKENS,
        how_it_arises="A sequence that was cut inside a character (at its end: the token limit), or a hot sampler that "
        "leaves a character unfinished.",
        fix=_KEEP_THE_IDS + " Decode incrementally on bytes, never token by token.",
        iff="A span is invalid-utf8 iff its bytes on D hold a U+FFFD that stands for bytes that are no UTF-8.",
        example=_BYTES
        + r"""
>>> print(tito.check([ids["a"], ids["Ã"]], tok).findings[0])
TITO201 invalid-utf8: "\xC3" -> "\xEF" "\xBF" "\xBD" (tail)
""".lstrip(),
    ),
    Rule(
        code="TITO202",
        name="normalizer",
        severity="note",
        headline="the tokenizer's normalizer rewrites the text before it encodes",
        meaning="Encoding first normalizes (NFC, NFKC, lower case, replacements), and that changes this text, so even "
        "the text of the re-encoded ids differs.",
        why=_OTHER_TOKENS,
        how_it_arises="A letter and its combining accent sampled apart, capitals in a lower-casing model, white space "
        "that a SentencePiece rule folds.",
        fix=_KEEP_THE_IDS,
        iff="A span is normalizer iff the normalizer changes the text within its bytes.",
        example="""\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models, normalizers
>>> t = Tokenizer(models.BPE({"a": 0, "A": 1}, []))
>>> t.normalizer, t.decoder = normalizers.Lowercase(), decoders.Fuse()
>>> print(tito.check([1], tito.load_tokenizer(t)).findings[0])
TITO202 normalizer: "A" -> "a"
""",
    ),
    Rule(
        code="TITO203",
        name="prefix-space",
        severity="note",
        headline="a leading space is added or dropped",
        meaning="SentencePiece-like tokenizers put a space before the text when they encode and take one off when they "
        "decode. A first token without the space comes back with it.",
        why=_OTHER_TOKENS,
        how_it_arises="A response that begins inside a word and is decoded without its prompt; add_prefix_space.",
        fix=_KEEP_THE_IDS + " Decode and encode prompt and response together.",
        iff="A span is prefix-space iff the surfaces of its two sides differ in the leading space only, and those of "
        "the run of touching spans around it differ too (else the space only moved).",
        example="""\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
>>> t = Tokenizer(models.BPE({"▁": 0, "a": 1, "▁a": 2}, [("▁", "a")]))
>>> t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
>>> print(tito.check([1], tito.load_tokenizer(t)).findings[0])
TITO203 prefix-space: "a" -> "·a"
""",
    ),
    Rule(
        code="TITO204",
        name="unknown-token",
        severity="note",
        headline="the unknown token stands on either side",
        meaning="The unknown id prints its name instead of the text that was there, or text comes back as unknown.",
        why=_OTHER_TOKENS,
        how_it_arises="A tokenizer without byte fallback that met a character it does not have.",
        fix=_KEEP_THE_IDS + " Keep the unknown token from being sampled.",
        iff="A span is unknown-token iff it holds the model's unknown token on either side.",
        example="""\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, models, pre_tokenizers
>>> t = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
>>> t.pre_tokenizer = pre_tokenizers.Whitespace()
>>> tito.check([1], tito.load_tokenizer(t)).cause
'unknown-token'
""",
    ),
    Rule(
        code="TITO205",
        name="special-skipped",
        severity="note",
        headline="decoding with skip_special_tokens drops ids",
        meaning="A pipeline that decodes with skip_special_tokens=True loses every control token, and their neighbours "
        "may merge. Measured apart from drift, on request.",
        why=_OTHER_TOKENS + " Every slice by length is off by the ids that were lost.",
        how_it_arises="Most code that decodes a completion for a reward passes skip_special_tokens=True.",
        fix="Use such text for rewards and logs only; never encode it again.",
        iff="A span is special-skipped iff an id was dropped (pipeline exposure only).",
        example=_CONTROL
        + """\
>>> r = tito.check([1, 3, 1], tok, skip_special_tokens=True)
>>> r.drifted, r.pipeline.drifted, r.pipeline.cause, r.pipeline.lost_positions
(False, True, 'special-skipped', (1,))
""",
    ),
    Rule(
        code="TITO206",
        name="cleanup-spaces",
        severity="note",
        headline="clean_up_tokenization_spaces removes spaces before punctuation",
        meaning="A pipeline that decodes with the clean-up on loses real spaces (' .' becomes '.'). Measured apart "
        "from drift, on request.",
        why=_OTHER_TOKENS,
        how_it_arises="Older tokenizer_config.json files switch it on.",
        fix="Decode with clean_up_tokenization_spaces=False.",
        iff="A span is cleanup-spaces iff the clean-up changed the text (pipeline exposure only).",
        example="""\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models
>>> t = Tokenizer(models.BPE({"a": 0, " ": 1, ".": 2}, []))
>>> t.decoder = decoders.Fuse()
>>> r = tito.check([0, 1, 2], tito.load_tokenizer(t), clean_up_tokenization_spaces=True)
>>> r.drifted, r.pipeline.cause, r.pipeline.text
(False, 'cleanup-spaces', 'a.')
""",
    ),
    Rule(
        code="TITO207",
        name="control-spacing",
        severity="note",
        headline="only a space that is printed or added beside a control token differs",
        meaning="The ids are exactly what encoding each stretch between control tokens gives; decoding the whole row "
        "prints a space beside them, or encoding adds one. An artefact of the decoder, counted apart.",
        why="Nothing is wrong with the ids. A pipeline that encodes the printed text again would still get others.",
        how_it_arises="SentencePiece: '<s>' and '▁Hello' print '<s> Hello', which encodes with one more '▁'.",
        fix="Nothing needs to be done while ids are kept.",
        iff="A span is control-spacing iff the run between added tokens that holds it comes back equal when decoded "
        "and encoded by itself and the added ids of the whole row are the same.",
        example="""\
>>> import tito_audit as tito
>>> from tokenizers import Tokenizer, decoders, models, normalizers
>>> t = Tokenizer(models.BPE({"▁": 0, "a": 1, "▁a": 2}, [("▁", "a")]))
>>> t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
>>> t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
>>> t.add_special_tokens(["<s>"])
1
>>> r = tito.check([3, 2], tito.load_tokenizer(t))
>>> r.drifted, r.artefact, r.cause, r.reencoded_ids.tolist()
(True, True, 'control-spacing', [3, 0, 2])
""",
    ),
)

_OWNERSHIP = (
    Rule(
        code="TITO301",
        name="straddling-token",
        severity="note",
        headline="a re-encoded token covers bytes with both mask values",
        meaning="Part of the token's text was sampled by the model, part came from a tool or the prompt.",
        why="No mask value is right for it: 1 trains on somebody else's text, 0 drops what the model did.",
        how_it_arises="The answer goes on where a tool result ended, and the encoder merges across the joint.",
        fix=_KEEP_THE_IDS,
        example=_TINY
        + """\
>>> r = tito.check([0, 0], tok, mask=[0, 1])
>>> print(r.findings[1])
TITO301 straddling-token: "aa" covers 1 byte of mask 0 and 1 byte of mask 1: no mask value is right for it
""",
    ),
    Rule(
        code="TITO302",
        name="shared-character",
        severity="note",
        headline="the bytes of one character have several owners",
        meaning="Two tokens of different owners produced one character together.",
        why="A mask over characters or over decoded text cannot be right for it; a mask over ids can.",
        how_it_arises="A byte-level tokenizer cuts inside characters, and the cut fell on the edge of a segment.",
        fix="Keep masks on ids.",
        example=_BYTES
        + """\
>>> print(tito.check([ids["Ã"], ids["©"]], tok, mask=[0, 1]).findings[0])
TITO302 shared-character: 1 character whose bytes have several owners, from the tokens at 0, 1
""",
    ),
    Rule(
        code="TITO305",
        name="special-inside-tool-text",
        severity="warning",
        headline="control ids stand inside text of a tool or a user",
        meaning="A segment whose role is tool or user holds ids of special tokens.",
        why="Somebody else's text speaks with the authority of the template: it can end a turn and begin another.",
        how_it_arises="Tool output or user text was encoded with special tokens switched on.",
        fix="Encode untrusted text with special tokens as ordinary text, and put the template's own control tokens "
        "into segments of their own.",
        example=_CONTROL
        + """\
>>> r = tito.check([1, 3, 1], tok, owners=[0, 0, 1], owner_names=["tool", "assistant"])
>>> print(r.findings[0])
TITO305 special-inside-tool-text: control ids inside tool text: "<e>" at 1
""",
    ),
)

RULES: dict[str, Rule] = {each.code: each for each in (*_RECORD, *_SAME_BYTES, *_OTHER_BYTES, *_OWNERSHIP)}
"""Code to rule, in the order of the codes."""
