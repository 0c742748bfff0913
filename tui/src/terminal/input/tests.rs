use super::*;
use crate::keys::Key::{
    BackTab, Backspace, Char, Ctrl, Down, End, Enter, Esc, Home, Left, PageDown, Right, Tab, Up,
};

#[test]
fn keys_are_known_however_the_bytes_are_cut() {
    let bytes =
        "a\x1b[A\x1b[1;5B\x1bOC\x1b[D\x1b[H\x1b[4~\x1b[6~\x1b[Z\r\t\x7f\x04é日\x1b[99;1!x~q"
            .as_bytes();
    let keys = [
        Char('a'),
        Up,
        Down,
        Right,
        Left,
        Home,
        End,
        PageDown,
        BackTab,
        Enter,
        Tab,
        Backspace,
        Ctrl('d'),
        Char('é'),
        Char('日'),
        Char('~'),
        Char('q'),
    ];
    for cut in 1..bytes.len() {
        let mut decoder = Decoder::default();
        let mut seen = Vec::new();
        for part in bytes.chunks(cut) {
            seen.extend(decoder.feed(part));
        }
        assert_eq!(seen, keys, "cut into pieces of {cut}");
        assert!(!decoder.is_waiting());
    }
}

#[test]
fn an_escape_is_a_key_once_nothing_follows() {
    let mut decoder = Decoder::default();
    assert_eq!(decoder.feed(b"\x1b"), []);
    assert!(decoder.is_waiting());
    assert_eq!(decoder.flush(), [Esc]);
    assert_eq!(decoder.feed(b"\x1bx"), [Esc, Char('x')]);
    assert!(!decoder.is_waiting());
}

#[test]
fn noise_is_no_key_and_is_not_kept() {
    let mut decoder = Decoder::default();
    let noise: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for part in noise.chunks(777) {
        let _ = decoder.feed(part);
        assert!(decoder.rest.len() <= LONGEST + 777);
    }
    let _ = decoder.feed(b"\x1b[");
    let _ = decoder.feed(&[b'1'; 500]);
    assert!(decoder.rest.len() <= LONGEST);
}
