"""Rules about the round trip: TITO101 to TITO107 (the same bytes) and TITO201 to TITO207 (other bytes)."""

from __future__ import annotations

from tito_audit.rules.shape import BYTES, CONTROL, KEEP_THE_IDS, OTHER_TOKENS, TINY, Rule

SAME_BYTES = (
    Rule(
        code="TITO101",
        name="merge",
        severity="note",
        headline="neighbouring tokens merge or are cut elsewhere when the text is encoded again",
        meaning="The text is the same, but its encoder joins what the sampler emitted apart, or cuts it elsewhere.",
        why=OTHER_TOKENS,
        how_it_arises="A sampler may emit any tokens that spell a text, an encoder gives only one way. Typical places "
        "are rare words, digits, runs of white space, and the joint between a tool result and the answer.",
        fix=KEEP_THE_IDS,
        iff="A span is merge iff it is none of the other causes.",
        example=TINY
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
        why=OTHER_TOKENS,
        how_it_arises="The vocabulary has tokens such as '.b' or a space before digits that its own splitting pattern "
        "never lets through, or only in another context.",
        fix=KEEP_THE_IDS,
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
        why=OTHER_TOKENS,
        how_it_arises="Vocabularies converted from tiktoken (Llama 3, GPT-4) have a few words that the merges miss.",
        fix=KEEP_THE_IDS,
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
        why=OTHER_TOKENS,
        how_it_arises="Tokens that a vocabulary carries without the merges that make them. Models rarely emit them "
        "unless they were trained on them.",
        fix=KEEP_THE_IDS,
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
        why=OTHER_TOKENS,
        how_it_arises="SentencePiece vocabularies (Llama 2, Mistral, Gemma) have a token for each byte, and a hot "
        "sampler may emit it.",
        fix=KEEP_THE_IDS,
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
        why=OTHER_TOKENS + " The length is the same, so no shape check fires.",
        how_it_arises="A vocabulary with two entries that decode alike, such as a space beside the SentencePiece '▁'.",
        fix=KEEP_THE_IDS,
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
        why=OTHER_TOKENS + " Text that a user or a tool wrote becomes control: prompt injection at the token level.",
        how_it_arises="Text that quotes a chat template; a model that spells its end marker; an added token whose "
        "strip, single-word or normalized flag keeps it from being found again.",
        fix=KEEP_THE_IDS + " Encode untrusted text with special tokens switched off.",
        iff="A span is special-text iff an added token whose surface is not white space only stands on either side of "
        "it.",
        example=CONTROL
        + """\
>>> print(tito.check([0, 1, 2], tok).findings[0])
TITO107 special-text: "<" "e" ">" -> "<e>"
""",
    ),
)

OTHER_BYTES = (
    Rule(
        code="TITO201",
        name="invalid-utf8",
        severity="note",
        headline="the sampled bytes are no UTF-8",
        meaning="Decoding puts U+FFFD in place of bytes that form no character, and U+FFFD encodes to other tokens. A "
        "U+FFFD that the text itself holds is no drift.",
        why=OTHER_TOKENS,
        how_it_arises="A sequence that was cut inside a character (at its end: the token limit), or a hot sampler that "
        "leaves a character unfinished.",
        fix=KEEP_THE_IDS + " Decode incrementally on bytes, never token by token.",
        iff="A span is invalid-utf8 iff its bytes on D hold a U+FFFD that stands for bytes that are no UTF-8.",
        example=BYTES
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
        why=OTHER_TOKENS,
        how_it_arises="A letter and its combining accent sampled apart, capitals in a lower-casing model, white space "
        "that a SentencePiece rule folds.",
        fix=KEEP_THE_IDS,
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
        why=OTHER_TOKENS,
        how_it_arises="A response that begins inside a word and is decoded without its prompt; add_prefix_space.",
        fix=KEEP_THE_IDS + " Decode and encode prompt and response together.",
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
        why=OTHER_TOKENS,
        how_it_arises="A tokenizer without byte fallback that met a character it does not have.",
        fix=KEEP_THE_IDS + " Keep the unknown token from being sampled.",
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
        why=OTHER_TOKENS + " Every slice by length is off by the ids that were lost.",
        how_it_arises="Most code that decodes a completion for a reward passes skip_special_tokens=True.",
        fix="Use such text for rewards and logs only; never encode it again.",
        iff="A span is special-skipped iff an id was dropped (pipeline exposure only).",
        example=CONTROL
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
        why=OTHER_TOKENS,
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
