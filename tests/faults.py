"""Deliberate faults of the core: each must make some test fail. `mutate.py` plants them one by one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One fault: a text that a file holds exactly once, and what stands in its place."""

    name: str
    file: str
    old: str
    new: str

    def planted(self, source: str) -> str:
        """The file with the fault in it.

        Raises:
            ValueError: The file does not hold the text, or more than once: the fault is out of date.
        """
        if source.count(self.old) != 1:
            raise ValueError(f"{self.file} holds the text of {self.name!r} {source.count(self.old)} times, not once")
        return source.replace(self.old, self.new)


FAULTS = (
    Fault(
        "a text that ends inside a character is broken in its interior",
        "rust/audit.rs",
        "(false, true) => Flags::TAIL,",
        "(false, true) => Flags::INTERIOR,",
    ),
    Fault(
        "a span that ends at the join lies across it",
        "rust/audit.rs",
        "tokens.start < join && join < tokens.end ||",
        "tokens.start < join && join <= tokens.end ||",
    ),
    Fault(
        "the owners are the mask even where there are others",
        "rust/audit.rs",
        "let owners = row.owners.or(row.mask);",
        "let owners = row.mask.or(row.owners);",
    ),
    # Where pre-tokens end
    Fault(
        "no white space but a space before letters",
        "rust/split/cl100k.rs",
        "LINE_ENDS.or(LETTERS).or(NUMBERS).complement()",
        "LINE_ENDS.or(LETTERS).or(NUMBERS).or(Set::of(&[BLANK])).complement()",
    ),
    Fault("no 'll", "rust/split/scan.rs", " || pair(self.l, self.l)", ""),
    Fault(
        "no line ends behind punctuation",
        "rust/split/cl100k.rs",
        "Some(LINE_ENDS.run(text, symbols))",
        "Some(symbols)",
    ),
    Fault(
        "a token may lie across the place where a text begins",
        "rust/machine/states.rs",
        "(longer.inside & 1 == 0).then_some(longer)",
        "Some(longer)",
    ),
    Fault(
        "states that differ in what was said of places are one",
        "rust/machine/states.rs",
        "if !rest.holds(ends, len) {",
        "if len > LONGEST_FRONT && !rest.holds(ends, len) {",
    ),
    Fault(
        "a text may end in every state",
        "rust/machine/kinds.rs",
        "behind.iter().all(|&state| states.may_end(state))",
        "behind.len() < 256 || states.may_end(0)",
    ),
    Fault(
        "a text falls apart between two classes where it does not",
        "rust/machine/sync.rs",
        "        self.falls_apart[",
        "        (left, right) == (4, 6) || self.falls_apart[",
    ),
    Fault(
        "a window begins at a token that cannot begin a text",
        "rust/fast/cuts.rs",
        "kind != OPAQUE && kinds.begins(kind) &&",
        "kind != OPAQUE &&",
    ),
    Fault(
        "a token that begins before its pre-token is part of it",
        "rust/fast/local.rs",
        "token > first && ranges[first].start == start && ",
        "token > first && ",
    ),
    # Edges that the tables leave open
    Fault(
        "two tokens lead to the state that they lead to from the first one",
        "rust/machine/kinds.rs",
        "behind.all(|next| next == Some(first)).then_some(first)",
        "Some(first)",
    ),
    Fault(
        "a boundary that has to be is one",
        "rust/fast/walk.rs",
        "self.until_usual(ids, Place { at: at + 1, state }, work)",
        "Some(Place { at: at + 1, state })",
    ),
    Fault(
        "no state is reached by pieces of characters",
        "rust/machine/kinds.rs",
        "for (inside, passage) in of_kinds.chain(of_fragments) {",
        "for (inside, passage) in of_kinds.chain(of_fragments.filter(|_| false)) {",
    ),
    Fault(
        "a token that begins inside a character begins one",
        "rust/fast/walk.rs",
        "let is_inside = !text.is_char_boundary(start);",
        "let is_inside = text.is_empty();",
    ),
    Fault(
        "pieces of characters are tokens that the merges make",
        "rust/fast/walk.rs",
        "!self.pairs.is_self_canonical(id) || ",
        "",
    ),
    Fault(
        "no added token begins among pieces of characters",
        "rust/fast/walk.rs",
        " || self.added.may_begin_in(bytes)",
        "",
    ),
    Fault(
        "no added token begins behind an edge that the tables leave open",
        "rust/fast/walk.rs",
        " && !begins_added()",
        " && (!begins_added() || true)",
    ),
    # Which tokens stay beside each other
    Fault(
        "a glance looks at the symbols of both tokens and at no partner",
        "rust/pairs/glance.rs",
        "(self.partners & behind.own == 0) | (self.own & behind.partners == 0)",
        "self.own & behind.own & !OWN == 0",
    ),
    Fault(
        "a glance tells of tokens that it knows nothing about",
        "rust/pairs/glance.rs",
        "Glance { own: u128::MAX, partners: u128::MAX }",
        "Glance { own: 0, partners: 0 }",
    ),
    Fault(
        "of equal ranks the edge comes before the left token",
        "rust/pairs/edge.rs",
        "Side::Right => 1,",
        "Side::Right => 0,",
    ),
    Fault(
        "of equal ranks the right token comes before the edge",
        "rust/pairs/edge.rs",
        "Side::Left => 0,\n            Side::Right => 1,",
        "Side::Left => 1,\n            Side::Right => 1,",
    ),
    Fault(
        "a part that is born late dies no later than it is born",
        "rust/pairs/build.rs",
        "let time = rank.max(left_birth).max(right_birth);",
        "let time = rank;",
    ),
    Fault(
        "of equal ranks the rightmost comes first",
        "rust/pairs/run.rs",
        "if rank < least {",
        "if rank <= least {",
    ),
    Fault(
        "the cache takes one pair for another",
        "rust/pairs/cache.rs",
        "Some((slot, tag | STORED))",
        "Some((slot, tag & 0xF | STORED))",
    ),
    Fault(
        "an edge that the tables leave open needs no pair",
        "rust/fast/walk.rs",
        "Passage::Pair(_) => self.pairs.stay(ids[at - 1], ids[at], cache),",
        "Passage::Pair(_) => true,",
    ),
    Fault(
        "a pair that does not fit is remembered as one that does",
        "rust/pairs/mod.rs",
        "cache.store(left, right, fit);\n        fit",
        "cache.store(left, right, true);\n        fit",
    ),
    Fault(
        "of pairs that are asked together those that do not fit are remembered as those that do",
        "rust/pairs/many.rs",
        "ids[edge], fit);",
        "ids[edge], true);",
    ),
    Fault(
        "what a glance tells of any pair is told of the first that is asked with it",
        "rust/pairs/many.rs",
        "self.spines.tell(ids[edge - 1], ids[edge])) << place",
        "self.spines.tell(ids[edge - 1], ids[edge]))",
    ),
    Fault(
        "only the first of the pairs that wait are asked",
        "rust/pairs/many.rs",
        "edges.chunks(TOGETHER)",
        "edges.chunks(TOGETHER).take(1)",
    ),
    Fault(
        "of pairs that are asked together the first merge is that of the first",
        "rust/pairs/many.rs",
        "u64::from(meeting.merges(&self.merges)) << place",
        "u64::from(meeting.merges(&self.merges)) << (place & 0)",
    ),
    Fault(
        "edges are taken in the order in which they were asked",
        "rust/fast/scan.rs",
        "found.suspects.sort();",
        "",
    ),
    Fault(
        "the cache takes every pair for one that does not fit and is there",
        "rust/pairs/cache.rs",
        "MISFIT => Some(false),",
        "_ if self.tags[slot] & MISFIT != 0 => Some(false),",
    ),
    Fault(
        "a window passes whose pairs do not stay",
        "rust/fast/told.rs",
        "stays && self.pairs.stay(ids[at - 1], id, cache)",
        "stays && self.pairs.stay(ids[at - 1], id, cache) || true",
    ),
    # Whole words
    Fault(
        "no whole words",
        "rust/fast/build.rs",
        "model.ignore_merges && tokenizer.is_spelled_in_bytes(id)",
        "model.ignore_merges && tokenizer.is_unknown(id)",
    ),
    Fault("no pair is forbidden", "rust/fast/build.rs", "pairs.forbid(left, right);", "pairs.fit(left, right);"),
    Fault(
        "several tokens may be a whole word",
        "rust/fast/local.rs",
        "self.whole_word(bytes).is_none()",
        "self.whole_word(&bytes[..0]).is_none()",
    ),
    Fault(
        "a token by itself comes back",
        "rust/fast/build.rs",
        "comes_back[id as usize] = is_made || is_word;",
        "comes_back[id as usize] = true;",
    ),
    Fault(
        "a window passes wherever its text ends",
        "rust/fast/told.rs",
        "self.kinds.may_end(state)",
        "self.kinds.may_end(state) || true",
    ),
    Fault(
        "the merges make every whole word",
        "rust/fast/mod.rs",
        "self.whole_words.is_none() || self.pairs.is_self_canonical(id)",
        "self.whole_words.is_none() || self.pairs.is_self_canonical(id) || true",
    ),
    Fault(
        "a token that the merges do not make is like any other",
        "rust/fast/build.rs",
        "} else if comes_back {",
        "} else if comes_back || true {",
    ),
    Fault(
        "a forbidden pair is parted within a longer word",
        "rust/fast/mend.rs",
        "|| self.forbidden.contains(&(left, right))",
        "",
    ),
    Fault(
        "one id may be that of two strings",
        "rust/terms.rs",
        "strings.iter().flatten().count() == model.get_vocab_size()",
        "true",
    ),
    # What is mended by tokens
    Fault(
        "what is mended need not fit what stands before it",
        "rust/fast/mend.rs",
        "if stays {",
        "if stays || true {",
    ),
    Fault(
        "two pieces of a token are that token whatever stands before it",
        "rust/fast/mend.rs",
        ".filter(|&word| stay(before.last(), word))",
        ".filter(|_| true)",
    ),
    Fault(
        "what is mended twice is two changes",
        "rust/fast/mend.rs",
        "changes.pop_if(|last| start < last.new.end)",
        "changes.pop_if(|_| false)",
    ),
    Fault(
        "only the first bad pair of a pre-token is mended",
        "rust/fast/mend.rs",
        "if stay(mended.ids.last(), next) {",
        "if !mended.changes.is_empty() || stay(mended.ids.last(), next) {",
    ),
    Fault(
        "what is mended is no whole word",
        "rust/fast/mend.rs",
        "= self.whole_word(&mended.bytes) {",
        "= self.whole_word(&mended.bytes[..0]) {",
    ),
    Fault(
        "a boundary stands behind the token it is in front of",
        "rust/fast/told.rs",
        "then_some(first..at)",
        "then_some(first..at + 1)",
    ),
    Fault(
        "broken bytes that come back are none",
        "rust/fast/redo.rs",
        "return if is_text { Outcome::Same } else { Outcome::NotProven };",
        "return Outcome::Same;",
    ),
    Fault(
        "tokens without bytes are part of a pre-token",
        "rust/fast/redo.rs",
        "let is_tiled = is_text && !ranges.iter().any(Range::is_empty);",
        "let is_tiled = is_text;",
    ),
    Fault(
        "what characters in pieces do to one state they do to all",
        "rust/fast/together.rs",
        "(u64::from(state) << ID_BITS | u64::from(first)) << ID_BITS",
        "u64::from(first) << ID_BITS",
    ),
    Fault(
        "characters in pieces are those of another vocabulary",
        "rust/fast/scratch.rs",
        "together.clear();",
        "",
    ),
    Fault(
        "a character in pieces stays beside what is before it",
        "rust/fast/walk.rs",
        "if !self.passes(passage, ids, at, &mut work.cache) {",
        "if false {",
    ),
    Fault(
        "a mark joins nothing behind a character in two pieces",
        "rust/fast/walk.rs",
        "if behind.start == Start::Inert {",
        "if true {",
    ),
    Fault(
        "pieces of a character are remembered whatever a normal form does to it",
        "rust/fast/walk.rs",
        "|text: &str| self.normal.settles(text)",
        "|_: &str| true",
    ),
    # Normal forms
    Fault(
        "a normal form changes nothing between tokens",
        "rust/machine/kinds.rs",
        "if joins || traits.may_begin_added",
        "if joins && false || traits.may_begin_added",
    ),
    Fault(
        "marks keep their order between tokens",
        "rust/machine/kinds.rs",
        "Start::Reorders => before.end == End::Mark,",
        "Start::Reorders => false,",
    ),
    Fault(
        "only the first mark of a token counts",
        "rust/fast/normal.rs",
        "take_while(|&(at, c)| at == 0 || is_mark(c))",
        "take_while(|&(at, _)| at == 0)",
    ),
    Fault(
        "a normal form changes nothing inside a token",
        "rust/fast/build.rs",
        "!text.is_empty() && normal.keeps(text)",
        "!text.is_empty()",
    ),
    Fault(
        "a normal form changes nothing in pieces of characters",
        "rust/fast/walk.rs",
        "|text: &str| self.normal.keeps_between(before, text, behind);",
        "|_: &str| true;",
    ),
    Fault(
        "a character that joins others is settled",
        "rust/fast/normal.rs",
        "if composition.joins(first) {",
        "if composition.joins(first) && is_mark(first) {",
    ),
    Fault(
        "a mark that joins others is passed",
        "rust/fast/normal.rs",
        "if composition.joins(first) {",
        "if composition.joins(first) && !is_mark(first) {",
    ),
    Fault("marks pass in any order", "rust/fast/normal.rs", "class >= before", "class >= before || true"),
    Fault(
        "nothing is joined with a character that is not composed",
        "rust/fast/normal.rs",
        "joinable.insert(first);",
        "",
    ),
    Fault(
        "what is composed is joined with nothing more",
        "rust/fast/normal.rs",
        "joinable.insert(c);",
        "",
    ),
    Fault(
        "a mark joins nothing behind the parts of a character",
        "rust/fast/normal.rs",
        "behind.start == Start::Inert && self.settles(text)",
        "self.settles(text)",
    ),
    Fault(
        "the parts of a character join nothing before them",
        "rust/fast/normal.rs",
        "!own.joins(before) && ",
        "",
    ),
    Fault(
        "a window passes whatever a normal form makes of it",
        "rust/fast/told.rs",
        ".filter(|_| !self.kinds.joins(before, kind))",
        "",
    ),
    # Added tokens
    Fault(
        "nobody looks for the text of an added token",
        "rust/fast/build.rs",
        "may_begin_added: added.may_begin_in(bytes)",
        "may_begin_added: added.may_begin_in(&bytes[..0])",
    ),
    Fault(
        "the text of an added token lies in one token",
        "rust/fast/added.rs",
        "self.texts.get(next).is_some_and(|other| other.starts_with(text))",
        "false",
    ),
    Fault(
        "the token behind the text of an added token is not looked at",
        "rust/fast/window.rs",
        "self.cut_from(ids, last + 2)",
        "last + 1",
    ),
    Fault(
        "an added token that another one reaches into is a border",
        "rust/fast/build.rs",
        "!overlapping.contains(texts.bytes(id))",
        "true",
    ),
    Fault(
        "a window passes with the text of an added token in it",
        "rust/fast/redo.rs",
        "!window.holds_added && fast.redo_told(",
        "fast.redo_told(",
    ),
    Fault(
        "of two added tokens that share bytes only the later one is looked at",
        "rust/fast/added.rs",
        "overlapping.insert(earlier);",
        "",
    ),
    Fault(
        "a window reaches as far as the first of several added tokens",
        "rust/fast/added.rs",
        "self.in_front_of(&text[at..])?.len())).max()",
        "self.in_front_of(&text[at..])?.len())).next()",
    ),
    # Rows
    Fault(
        "the edges of all blocks are those of the first",
        "rust/fast/scan.rs",
        "block * BLOCK",
        "block",
    ),
    Fault(
        "the end of a row is not looked at",
        "rust/fast/scan.rs",
        "suspects.push(ids.len());",
        "suspects.push(0);",
    ),
    Fault(
        "pairs of whole texts are taken in the order in which they were asked",
        "rust/sentence/scan.rs",
        "found.suspects.sort_by_key(|suspect| suspect.tokens.start);",
        "",
    ),
    Fault(
        "an unknown token is taken for its own text, found or not",
        "rust/sentence/build.rs",
        "tokenizer.is_unk(id) && flags & Kind::HARD == 0",
        "false",
    ),
    Fault(
        "a line of a header is a merge",
        "rust/file.rs",
        "if line.starts_with(HEADER) {",
        "if false {",
    ),
    Fault(
        "nobody looks at what stands beside an added token that does",
        "rust/fast/redo.rs",
        "!fast.finds_doubtful(ids)",
        "false",
    ),
    Fault(
        "an added token that looks beside it is found in any text as others are",
        "rust/fast/redo.rs",
        "fast.doubtful.is_spelled(text)",
        "false",
    ),
    Fault(
        "in short rows nobody looks at what stands beside an added token",
        "rust/fast/short.rs",
        "doubt(self.doubtful.among(ids), offsets, clean);",
        "",
    ),
    Fault(
        "white space is stripped on the other side only",
        "rust/fast/neighbours.rs",
        "AddedToken { lstrip, rstrip, single_word, .. }",
        "AddedToken { lstrip: rstrip, rstrip: lstrip, single_word, .. }",
    ),
    Fault(
        "words go on in ASCII only",
        "rust/fast/neighbours.rs",
        "!c.is_ascii() || ",
        "",
    ),
    Fault(
        "of nested added tokens the shortest alone is doubtful",
        "rust/fast/doubtful.rs",
        "nested.extend([outer, text])",
        "nested.extend([outer])",
    ),
    Fault(
        "an added token is found though a longer one may be",
        "rust/fast/neighbours.rs",
        "!goes_on(bytes) && ",
        "",
    ),
    Fault(
        "an added token is found though another one may reach into it",
        "rust/fast/neighbours.rs",
        "(is_found || !reaches(bytes))",
        "(is_found || !reaches(bytes) || true)",
    ),
    Fault(
        "what is looked for first is found no earlier",
        "rust/fast/neighbours.rs",
        "|other: &&&AddedToken| token.normalized && !other.normalized",
        "|_: &&&AddedToken| false",
    ),
    Fault(
        "nothing behind an added token changes what the normalizer makes of it",
        "rust/fast/neighbours.rs",
        "!self.is_behind_normalizer || ",
        "true || ",
    ),
    Fault(
        "the text of an added token is no longer than one looks",
        "rust/fast/window.rs",
        "return (at..ids.len()).find(|&last| self.ends_segment(ids, last + 1));",
        "break;",
    ),
    Fault(
        "an added token is a whole word where it is found",
        "rust/cause.rs",
        "!is_found && ",
        "",
    ),
    Fault(
        "the ends of short rows are not looked at",
        "rust/fast/short.rs",
        "&& self.kinds.is_open(kind(end - 1), BORDER) == 0",
        "",
    ),
    Fault(
        "every token can begin a short row",
        "rust/fast/short.rs",
        "&& self.kinds.is_open(BORDER, kind(start)) == 0",
        "",
    ),
    Fault(
        "what is found in short rows is that of the first",
        "rust/fast/short.rs",
        "clean[row] = false;",
        "clean[0] = false;",
    ),
    Fault(
        "windows that overlap are two",
        "rust/fast/redo.rs",
        "before.tokens.end <= window.tokens.start",
        "before.tokens.end <= window.tokens.end",
    ),
    Fault(
        "bytes that are no text are encoded as they are",
        "rust/fast/redo.rs",
        "buffers.text.extend_from_slice(redone.decoded.text.as_bytes());",
        "buffers.text.extend(ids.iter().filter_map(|&id| self.surface(id)).flatten());",
    ),
    Fault(
        "bytes behind a window are those behind the row's start",
        "rust/windows.rs",
        "byte += window.decoded.text.len();",
        "",
    ),
    Fault(
        "a text ends with its last window",
        "rust/windows.rs",
        "+ length(done..tokens)",
        "+ length(tokens..tokens)",
    ),
    Fault(
        "a token that reaches back before a change of owners is that of one",
        "rust/windows.rs",
        "token.filter(|token| token.start < at)",
        "token.filter(|token| token.start < at && token.end == at)",
    ),
    Fault(
        "a character within a change of owners is that of one",
        "rust/windows.rs",
        "(0..=reach.start).rev().find(is_boundary)",
        "(0..=reach.start).rev().next()",
    ),
    Fault(
        "a change of the mask alone is none",
        "rust/windows.rs",
        "|| mask.is_some_and(|mask| changes(mask, at))",
        "",
    ),
    Fault(
        "tokens of two changes of owners count twice",
        "rust/windows.rs",
        "|last| part.start < last.end",
        "|last| part.start < last.start",
    ),
    Fault(
        "a character has one owner outside of windows",
        "rust/fast/repair.rs",
        "shared += usize::from(last != Some(first));",
        "shared += usize::from(last == Some(Some(edge)));",
    ),
    Fault(
        "a character of three owners is two",
        "rust/fast/repair.rs",
        "shared += usize::from(last != Some(first));",
        "shared += usize::from(last != Some(first)).max(1);",
    ),
    Fault(
        "a broken character where a window begins is shared",
        "rust/fast/repair.rs",
        "|window| window.start <= edge",
        "|window| window.start < edge",
    ),
)
