//! What programs print, compared with files in `tests/golden/`: ids, times, ages and the like are replaced, and so are
//! the widths of columns that hang on them.

use std::fs;
use std::path::{Path, PathBuf};

/// Set to write the files instead of comparing them.
const UPDATE: &str = "UPDATE_GOLDEN";

/// Compares with the file of that name; `namespace` is the test's own.
///
/// # Panics
/// They differ.
pub(crate) fn check(file: &str, namespace: &str, printed: &str) {
    let path = path(file);
    let shown = normalised(printed, namespace);
    if std::env::var_os(UPDATE).is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        fs::write(&path, &shown).expect("the file can be written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        golden == shown,
        "{} differs from what is printed; if that is meant, set {UPDATE}=1 and commit the file\n\
         ── golden ──\n{golden}── printed ──\n{shown}",
        path.display()
    );
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file)
}

fn normalised(text: &str, namespace: &str) -> String {
    let mut shown = String::new();
    for line in text.replace(namespace, "NAMESPACE").lines() {
        shown.push_str(columns(&words(line)).trim_end());
        shown.push('\n');
    }
    shown
}

/// Every word that is another in each run becomes a placeholder.
fn words(line: &str) -> String {
    let version = line.trim_start().starts_with("Resource Version:");
    let mut shown = String::new();
    let mut word = String::new();
    for sign in line.chars().chain(['\n']) {
        if sign.is_ascii_alphanumeric() || ['-', '.', ':'].contains(&sign) {
            word.push(sign);
            continue;
        }
        let number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        shown.push_str(if version && number {
            "VERSION"
        } else {
            placeholder(&word)
        });
        word.clear();
        shown.push(sign);
    }
    shown
}

fn placeholder(word: &str) -> &str {
    let bare = word.trim_end_matches([':', '.']);
    if is_uid(bare) {
        "UID"
    } else if is_uid_cut_short(word) {
        "UID..."
    } else if bare.parse::<jiff::Timestamp>().is_ok() {
        "TIME"
    } else if is_age(bare) {
        "AGE"
    } else if bare.parse::<std::net::IpAddr>().is_ok() {
        "ADDRESS"
    } else if bare.parse::<std::net::SocketAddr>().is_ok() {
        "ADDRESS:PORT"
    } else if is_id(bare) {
        "ID"
    } else {
        word
    }
}

/// `8-4-4-4-12` hexadecimal digits.
fn is_uid(word: &str) -> bool {
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    lengths == [8, 4, 4, 4, 12] && word.split('-').all(digits)
}

/// `describe` shows the beginning of long annotations.
fn is_uid_cut_short(word: &str) -> bool {
    let begun = word.strip_suffix("...").unwrap_or_default();
    let digits = begun
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    digits && begun.find('-') == Some(8)
}

/// `7s`, `2m13s`.
fn is_age(word: &str) -> bool {
    let begins = word.starts_with(|sign: char| sign.is_ascii_digit());
    let fits = |sign: char| sign.is_ascii_digit() || "smhd".contains(sign);
    begins && word.ends_with(['s', 'm', 'h', 'd']) && word.chars().all(fits)
}

/// An id of the mock provider.
fn is_id(word: &str) -> bool {
    let number = word.strip_prefix("vm-").unwrap_or_default();
    number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Blanks behind the indentation are two at most.
fn columns(line: &str) -> String {
    let inner = line.trim_start();
    let mut shown = line[..line.len() - inner.len()].to_owned();
    let mut blanks = 0;
    for sign in inner.chars() {
        blanks = if sign == ' ' { blanks + 1 } else { 0 };
        if blanks <= 2 {
            shown.push(sign);
        }
    }
    shown
}
