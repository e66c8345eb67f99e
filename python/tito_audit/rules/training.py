"""Rules about what the trainer scored, and about who owns which token: TITO110, TITO111, TITO301 to TITO306."""

from __future__ import annotations

from tito_audit.rules.shape import BYTES, CONTROL, KEEP_THE_IDS, TINY, Rule

TRAINED_IDS = (
    Rule(
        code="TITO110",
        name="training-ids-differ",
        severity="error",
        headline="the ids that the trainer scored are not the sampled ones",
        meaning="The record says what was trained (train_ids), and it differs. retokenized: the text is the same and "
        "was cut into other tokens, and each place has its cause. rewritten: the text itself differs.",
        why="The importance ratio compares logprobs of different tokens, and the mask covers others than were meant. "
        "This has happened, it is no exposure.",
        how_it_arises="Somewhere between sampler and loss ids were decoded and encoded again, or the conversation was "
        "rendered anew by a chat template.",
        fix=KEEP_THE_IDS,
        example=TINY
        + """\
>>> r = tito.check([0, 0], tok, train_ids=[1])
>>> r.realised_kind, [found.code for found in r.findings]
('retokenized', ['TITO101', 'TITO110'])
""",
    ),
    Rule(
        code="TITO111",
        name="training-ids-truncated",
        severity="warning",
        headline="the trainer scored only the beginning or the end of the sampled ids",
        meaning="The training ids are a proper prefix or suffix of the sampled ones; the tokens lost are given.",
        why="What was cut off is not trained. A cut at the end takes the end id along, a cut at the start the context.",
        how_it_arises="A maximum length of the trainer below that of the sampler, a prompt that is cut from the left.",
        fix="Let sampler and trainer have the same limits, or leave cut rows out.",
        example=CONTROL
        + """\
>>> r = tito.check([1, 0], tok, train_ids=[1])
>>> r.realised_kind, [found.code for found in r.findings]
('truncated', ['TITO111'])
""",
    ),
)

OWNERSHIP = (
    Rule(
        code="TITO301",
        name="straddling-token",
        severity="note",
        headline="a re-encoded token covers bytes with both mask values",
        meaning="Part of the token's text was sampled by the model, part came from a tool or the prompt.",
        why="No mask value is right for it: 1 trains on somebody else's text, 0 drops what the model did.",
        how_it_arises="The answer goes on where a tool result ended, and the encoder merges across the joint.",
        fix=KEEP_THE_IDS,
        example=TINY
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
        example=BYTES
        + """\
>>> print(tito.check([ids["Ã"], ids["©"]], tok, mask=[0, 1]).findings[0])
TITO302 shared-character: 1 character whose bytes have several owners, from the tokens at 0, 1
""",
    ),
    Rule(
        code="TITO303",
        name="mask-shifted",
        severity="error",
        headline="the mask is shifted against the turns",
        meaning="Laid on the ids, the mask is exactly that of the turns or roles, moved by one to three tokens. Turns "
        "before the first trained one may be left out, and the control id right behind a turn may belong to it.",
        why="The first or last token of every turn is not trained, and one of somebody else is.",
        how_it_arises="A mask that marks the position before each target (labels shifted by one) read as one that "
        "marks the targets, or shifted twice; a begin-of-sequence id that was added after the mask was made.",
        fix="Build the mask together with the ids. A mask of predicting positions is read with --mask-convention "
        "predictor.",
        example=CONTROL
        + """\
>>> turns = [{"role": "tool", "start": 0, "end": 2}, {"role": "assistant", "start": 2, "end": 4}]
>>> print(tito.check([1, 0, 2, 1], tok, mask=[0, 1, 1, 0], turns=turns).findings[0])
TITO303 mask-shifted: the whole mask lies 1 token before the turns; where it marks the position before each target: \
--mask-convention predictor
""",
    ),
    Rule(
        code="TITO304",
        name="mask-role-conflict",
        severity="error",
        headline="the mask contradicts the turns or roles",
        meaning="Tokens of a tool, a user or a template have mask 1, or tokens that the model sampled have mask 0. "
        "What a template writes around a turn of the assistant may have mask 0, and so may a beginning with an added "
        "token (a header, a prefilled <think>), a turn that is only a header, and turns before the first trained one.",
        why="Text of others is trained as if the policy had chosen it, or what it did choose is not.",
        how_it_arises="An inverted mask, a mask from text search or from lengths of re-encoded pieces, a tool result "
        "that was appended to the buffer with mask 1.",
        fix="Extend ids, mask and roles in one place, where a turn is appended.",
        example=CONTROL
        + """\
>>> turns = [{"role": "tool", "start": 0, "end": 2}, {"role": "assistant", "start": 2, "end": 4}]
>>> print(tito.check([1, 0, 2, 1], tok, mask=[1, 1, 0, 0], turns=turns).findings[0])
TITO304 mask-role-conflict: the mask is inverted: 2 tokens that the model did not sample with mask 1, first at 0; 2 \
tokens that it sampled with mask 0, first at 2
""",
    ),
    Rule(
        code="TITO305",
        name="special-inside-tool-text",
        severity="warning",
        headline="control ids stand inside text of a tool or a user",
        meaning="A segment whose role is tool, user or environment holds ids of special tokens, apart from those that "
        "a chat template puts around its text: a header and an end, and before the first message of a user those of "
        "the system.",
        why="Somebody else's text speaks with the authority of the template: it can end a turn and begin another.",
        how_it_arises="Tool output or user text was encoded with special tokens switched on.",
        fix="Encode untrusted text with special tokens as ordinary text.",
        example=CONTROL
        + """\
>>> ids, owners = [1, 1, 1, 3, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
>>> r = tito.check(ids, tok, owners=owners, owner_names=["tool", "assistant"])
>>> print(r.findings[0])
TITO305 special-inside-tool-text: control ids inside tool text: "<e>" at 3
""",
    ),
    Rule(
        code="TITO306",
        name="training-mask-wrong",
        severity="error",
        headline="a trained token's mask differs from the mask of the bytes it covers",
        meaning="The record says what was trained and with which mask, and tokens that lie over bytes of one mask "
        "value have the other. Tokens over bytes of both values, for which no mask is right, are counted apart.",
        why="Text of others is trained as if the policy had chosen it, or what it did choose is not.",
        how_it_arises="The mask was made for the sampled ids and laid on re-encoded ones, or carried over by length.",
        fix=KEEP_THE_IDS,
        example=CONTROL
        + """\
>>> r = tito.check([1, 0], tok, mask=[0, 1], train_ids=[1, 0], train_mask=[1, 0])
>>> r.realised, [found.code for found in r.findings]
(False, ['TITO306', 'TITO604'])
""",
    ),
)
