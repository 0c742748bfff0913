//! Rust's tokens, as far as the rules need them: comments, strings and characters are left out.

/// One token and the line on which it stands, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// Splits a source into words, `::` and single signs.
pub(super) fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (length, counts) = next(rest);
        let piece = &rest[..length];
        if counts {
            tokens.push(Token { text: piece, line });
        }
        line += piece.matches('\n').count();
        at += length;
    }
    tokens
}

/// The length of what comes next, and whether it is a token.
fn next(rest: &str) -> (usize, bool) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), false);
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), false);
    }
    if let Some(length) = raw_string(rest) {
        return (length, false);
    }
    let prefix = usize::from(rest.starts_with("b\"") || rest.starts_with("c\""));
    if rest[prefix..].starts_with('"') {
        return (prefix + quoted(&rest[prefix..], '"'), false);
    }
    let prefix = usize::from(rest.starts_with("b'"));
    if is_character(&rest[prefix..]) {
        return (prefix + quoted(&rest[prefix..], '\''), false);
    }
    if rest.starts_with("::") {
        return (2, true);
    }
    // A raw identifier is the word that it names.
    let raw = rest
        .strip_prefix("r#")
        .is_some_and(|word| word.starts_with(is_word));
    if raw {
        return (2, false);
    }
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    if word > 0 {
        return (word, true);
    }
    let first = rest.chars().next().unwrap_or(' ');
    (first.len_utf8(), !first.is_whitespace())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < rest.len() {
        let step = if rest[at..].starts_with("/*") {
            depth += 1;
            2
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            2
        } else {
            rest[at..].chars().next().map_or(1, char::len_utf8)
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

fn raw_string(rest: &str) -> Option<usize> {
    let start = ["r", "br", "cr"].into_iter().find_map(|prefix| {
        let hashes = rest.strip_prefix(prefix)?;
        let count = hashes.len() - hashes.trim_start_matches('#').len();
        hashes[count..]
            .starts_with('"')
            .then_some((prefix.len() + count + 1, count))
    });
    let (begin, hashes) = start?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(
        rest[begin..]
            .find(&end)
            .map_or(rest.len(), |at| begin + at + end.len()),
    )
}

/// A character and not a lifetime: an escape, or a quote after one character.
fn is_character(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('\'')
        && match chars.next() {
            Some('\\') => true,
            Some(_) => chars.next() == Some('\''),
            None => false,
        }
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}
