//! Bytes of a terminal as keys. Whoever reads the bytes decides what an end of them means, which is why this is not
//! left to a library that would try again for ever.

use crate::keys::Key;

/// Most bytes of a key that is not complete yet.
const LONGEST: usize = 64;

/// Makes keys from bytes, however they are cut into pieces.
#[derive(Debug, Default)]
pub struct Decoder {
    rest: Vec<u8>,
}

/// What a beginning is.
enum Found {
    /// A key, or something that is none, of so many bytes.
    Token(Option<Key>, usize),
    /// More is to come.
    More,
}

impl Decoder {
    /// Takes bytes and gives the keys that are complete. An escape alone stays until [`Decoder::flush`]: it may be the
    /// begin of an arrow.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.rest.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while !self.rest.is_empty() {
            match first(&self.rest) {
                Found::Token(key, length) => {
                    keys.extend(key);
                    self.rest.drain(..length.clamp(1, self.rest.len()));
                }
                Found::More if self.rest.len() > LONGEST => self.rest.clear(),
                Found::More => break,
            }
        }
        keys
    }

    /// Whether bytes wait for more.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Nothing more came for a while: an escape that waits was the key.
    pub fn flush(&mut self) -> Vec<Key> {
        let rest = std::mem::take(&mut self.rest);
        match rest.as_slice() {
            [0x1b, tail @ ..] => {
                let mut keys = vec![Key::Esc];
                // Alt and a key is an escape and a key.
                if !matches!(tail, [b'[' | b'O', ..]) {
                    keys.extend(self.feed(tail));
                }
                keys
            }
            _cut => Vec::new(),
        }
    }
}

fn first(bytes: &[u8]) -> Found {
    match bytes {
        [0x1b] | [0x1b, b'[' | b'O'] => Found::More,
        [0x1b, b'[', tail @ ..] => sequence(tail),
        [0x1b, b'O', letter, ..] => Found::Token(arrow(*letter), 3),
        [0x1b, ..] => Found::Token(Some(Key::Esc), 1),
        [b'\r' | b'\n', ..] => Found::Token(Some(Key::Enter), 1),
        [b'\t', ..] => Found::Token(Some(Key::Tab), 1),
        [0x7f | 0x08, ..] => Found::Token(Some(Key::Backspace), 1),
        [0, ..] => Found::Token(None, 1),
        [control @ 1..=26, ..] => Found::Token(Some(Key::Ctrl((b'a' + control - 1).into())), 1),
        _text => character(bytes),
    }
}

/// What follows `ESC [`: parameters, then a letter or a tilde.
fn sequence(tail: &[u8]) -> Found {
    let Some(end) = tail.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return Found::More;
    };
    let (parameters, last) = (&tail[..end], tail[end]);
    let number = parameters
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default();
    let key = match (last, number) {
        (b'~', b"1" | b"7") => Some(Key::Home),
        (b'~', b"4" | b"8") => Some(Key::End),
        (b'~', b"5") => Some(Key::PageUp),
        (b'~', b"6") => Some(Key::PageDown),
        (b'Z', _) => Some(Key::BackTab),
        (letter, _) => arrow(letter),
    };
    Found::Token(key, end + 3)
}

fn arrow(letter: u8) -> Option<Key> {
    match letter {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        b'C' => Some(Key::Right),
        b'D' => Some(Key::Left),
        b'H' => Some(Key::Home),
        b'F' => Some(Key::End),
        _other => None,
    }
}

/// One character of UTF-8; a byte that begins none is skipped.
fn character(bytes: &[u8]) -> Found {
    let length = match bytes.first() {
        Some(0x20..=0x7e) => 1,
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) | None => return Found::Token(None, 1),
    };
    let Some(part) = bytes.get(..length) else {
        return Found::More;
    };
    match std::str::from_utf8(part) {
        Ok(text) => Found::Token(text.chars().next().map(Key::Char), length),
        Err(_) => Found::Token(None, 1),
    }
}

#[cfg(test)]
mod tests;
