//! Tokens that are text only together with their neighbours.

use crate::machine::Fragment;
use crate::split::Splitter;

/// Whether a byte goes on with a character that another one begins.
pub(crate) fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// All that a token can be within a text, which it is not by itself: a character that ends beyond it may be of any class of
/// those `beyond_ascii`. Nothing for a token that no text holds.
pub(crate) fn fragments(bytes: &[u8], splitter: &Splitter, beyond_ascii: &[u8]) -> Vec<Fragment> {
    let begin = bytes.iter().take_while(|&&byte| is_continuation(byte)).count();
    let rest = &bytes[begin..];
    let (text, is_whole) = match std::str::from_utf8(rest) {
        Ok(text) => (text, true),
        Err(error) if error.error_len().is_none() => {
            (std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(), false)
        }
        Err(_) => return Vec::new(),
    };
    let is_inside = begin > 0;
    let classes: Vec<u8> = text.chars().map(|c| splitter.class(c)).collect();
    if !is_whole {
        let longer = |&last: &u8| [&classes[..], &[last]].concat();
        return beyond_ascii.iter().map(|last| Fragment { is_inside, is_open: true, classes: longer(last) }).collect();
    }
    // What only goes on with a character may end it or not.
    let ends = if classes.is_empty() { &[false, true][..] } else { &[false] };
    ends.iter().map(|&is_open| Fragment { is_inside, is_open, classes: classes.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::tests::section;

    #[test]
    fn a_fragment_is_every_class_that_its_last_character_may_have() {
        let splitter = Splitter::recognise(&section("qwen")).unwrap();
        let beyond_ascii = splitter.classes_beyond_ascii();
        let [a, symbol, space] = ['a', '!', ' '].map(|c| splitter.class(c));
        assert!(beyond_ascii.contains(&splitter.class('漢')) && !beyond_ascii.contains(&space), "{beyond_ascii:?}");
        let of = |bytes: &[u8]| fragments(bytes, &splitter, &beyond_ascii);
        let inside = |is_open, classes: &[u8]| Fragment { is_inside: true, is_open, classes: classes.to_vec() };
        assert_eq!(of(b"\x80"), [inside(false, &[]), inside(true, &[])]);
        assert_eq!(of(b"\x80\x80a!"), [inside(false, &[a, symbol])]);
        let open: Vec<Vec<u8>> = of(b" \xe6\xbc").into_iter().map(|fragment| fragment.classes).collect();
        assert_eq!(open, beyond_ascii.iter().map(|&class| vec![space, class]).collect::<Vec<_>>());
        assert!(of(b"\xe6\xbc").iter().all(|fragment| !fragment.is_inside && fragment.is_open));
        assert_eq!(of(b"\xff"), []);
        assert_eq!(of(b"\xe6a"), []);
    }
}
