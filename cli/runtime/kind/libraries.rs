//! The shared libraries that this very program runs with: an image of it holds them, too, unless it is static.

use std::path::PathBuf;
use std::process::Command;

/// A file that goes into an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Where it is on this machine.
    pub(crate) from: PathBuf,
    /// Where it goes, from the root, without a leading slash.
    pub(crate) to: String,
}

/// Folder of the libraries in the image.
pub(crate) const FOLDER: &str = "lib";

/// Asks the dynamic loader. A static program has none and answers with its version: no libraries.
pub(crate) fn of_ourselves() -> std::io::Result<Vec<Placed>> {
    let output = Command::new("/proc/self/exe")
        .arg("--version")
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .output()?;
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads `libc.so.6 => /lib/libc.so.6 (0x…)`, and `/lib64/ld-linux-x86-64.so.2 (0x…)` for the loader itself, which must
/// stay where it is: its path is in the program.
fn parse(text: &str) -> Vec<Placed> {
    let line = |line: &str| {
        let line = line.trim().split(" (0x").next()?;
        if let Some((name, path)) = line.split_once(" => ") {
            return Some(Placed {
                from: PathBuf::from(path.trim()),
                to: format!("{FOLDER}/{}", name.trim().trim_start_matches('/')),
            });
        }
        let loader = line.strip_prefix('/')?;
        Some(Placed {
            from: PathBuf::from(line),
            to: loader.to_owned(),
        })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_loader_says_is_read() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f2)\n";
        let placed = |from: &str, to: &str| Placed {
            from: PathBuf::from(from),
            to: to.to_owned(),
        };
        assert_eq!(
            parse(text),
            [
                placed("/lib/x86_64-linux-gnu/libc.so.6", "lib/libc.so.6"),
                placed("/lib64/ld-linux-x86-64.so.2", "lib64/ld-linux-x86-64.so.2"),
            ]
        );
    }

    #[test]
    fn a_static_program_has_no_libraries() {
        assert_eq!(parse("vmctl 0.1.0\n"), []);
    }

    #[test]
    fn every_library_of_this_test_is_a_file() {
        for placed in of_ourselves().unwrap() {
            assert!(placed.from.is_file(), "{placed:?}");
        }
    }
}
