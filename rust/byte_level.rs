//! The printable stand-ins that byte-level tokenizers use for bytes (GPT-2's `bytes_to_unicode`).

/// Bytes that stand for themselves; the others are numbered from U+0100 upwards.
const fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// One more than the last stand-in, U+0143.
const LIMIT: usize = 0x144;

// Built at compile time: a lock around them could be held by another thread when the process forks.
const CHAR_OF: [char; 256] = TABLES.0;
const BYTE_OF: [Option<u8>; LIMIT] = TABLES.1;

const TABLES: ([char; 256], [Option<u8>; LIMIT]) = tables();

const fn tables() -> ([char; 256], [Option<u8>; LIMIT]) {
    let mut char_of = ['\0'; 256];
    let mut byte_of = [None; LIMIT];
    let mut next = '\u{100}';
    let mut byte = 0u8;
    loop {
        let stand_in = if is_printable(byte) {
            byte as char
        } else {
            let this = next;
            next = char::from_u32(this as u32 + 1).expect("far below the surrogates");
            this
        };
        char_of[byte as usize] = stand_in;
        byte_of[stand_in as usize] = Some(byte);
        if byte == u8::MAX {
            return (char_of, byte_of);
        }
        byte += 1;
    }
}

/// The character that stands for `byte`.
pub fn char_of(byte: u8) -> char {
    CHAR_OF[usize::from(byte)]
}

/// The byte that `c` stands for, if it is one of the 256 stand-ins.
pub fn byte_of(c: char) -> Option<u8> {
    BYTE_OF.get(c as usize).copied().flatten()
}

/// The bytes of a token as the reference's byte-level decoder reads them: stand-ins, or the token's own UTF-8 as soon as
/// one character is none.
pub fn decode_token(token: &str) -> Vec<u8> {
    token.chars().map(byte_of).collect::<Option<Vec<u8>>>().unwrap_or_else(|| token.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_a_bijection() {
        for byte in 0..=255 {
            assert_eq!(byte_of(char_of(byte)), Some(byte));
        }
        assert_eq!(char_of(b' '), 'Ġ');
        assert_eq!(byte_of('\u{144}'), None);
    }

    #[test]
    fn a_token_with_a_foreign_character_is_its_own_text() {
        assert_eq!(decode_token("Ġé"), vec![b' ', 0xE9]);
        assert_eq!(decode_token("Ġ▁"), "Ġ▁".as_bytes());
    }
}
