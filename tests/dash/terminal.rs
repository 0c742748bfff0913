//! The terminal is taken, used, and given back, whatever happens to it or to the program.

use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::pty::{Pty, until};
use crate::recording::quiet;

/// Leaves the other screen: what was there before comes back.
const LEFT: &str = "\u{1b}[?1049l";
const ENTERED: &str = "\u{1b}[?1049h";

/// A dashboard of three machines, and the folder of its recording.
fn dash(size: (u16, u16)) -> (Pty, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("quiet.jsonl");
    std::fs::write(&path, quiet(3)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_vmctl"));
    command.args(["dash", "--replay"]).arg(path);
    command
        .env("VMCTL_DASH_PANIC", "yes")
        .env("RUST_BACKTRACE", "0");
    let pty = Pty::start(command, size);
    pty.wait_for("web-2", 0);
    assert!(pty.is_raw());
    (pty, dir)
}

fn given_back(pty: &Pty) {
    until("the terminal is given back", || pty.text().contains(LEFT));
    assert!(!pty.is_raw());
    let text = pty.text();
    let end = text.rsplit("\u{1b}[?25l").next().unwrap();
    assert!(end.contains("\u{1b}[?25h"), "the cursor is shown: {end:?}");
}

#[test]
fn keys_are_answered_and_q_gives_the_terminal_back() {
    let (mut pty, _dir) = dash((100, 30));
    let from = pty.written();
    pty.send(b"?");
    let from = pty.wait_for("esc closes", from);
    pty.send(b"\x1b");
    pty.wait_for("web-1", from);
    pty.send(b"q");
    assert_eq!(pty.end(), Some(0));
    given_back(&pty);
}

#[test]
fn a_window_that_is_closed_ends_the_program_which_does_not_spin() {
    let (mut pty, _dir) = dash((100, 30));
    pty.close();
    until("it has ended", || pty.process().0 == 'Z');
    let (_, ticks) = pty.process();
    // Two seconds of work at the usual hundred ticks a second: starting and drawing take a tenth of that.
    assert!(ticks < 200, "{ticks} ticks of CPU time");
    assert_eq!(pty.end(), Some(129));
}

#[test]
fn signals_end_it_and_give_the_terminal_back() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let (mut pty, _dir) = dash((100, 30));
        pty.signal(signal);
        assert_eq!(pty.end(), Some(code), "{signal:?}");
        given_back(&pty);
    }
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_speaks() {
    let (mut pty, _dir) = dash((100, 30));
    pty.send(b"\x18");
    assert_eq!(pty.end(), Some(1));
    given_back(&pty);
    let text = pty.text();
    let words = text.split(LEFT).nth(1).unwrap();
    assert!(
        words.contains("a test asked for it") && words.contains("VMC-SCREEN"),
        "{words}"
    );
}

#[test]
fn in_the_background_the_terminal_is_the_shells_and_back_everything_is_drawn_anew() {
    let (mut pty, _dir) = dash((100, 30));
    pty.send(b"\x1a");
    until("it is stopped", || pty.process().0 == 'T');
    given_back(&pty);
    let from = pty.written();
    pty.signal(Signal::CONT);
    let from = pty.wait_for(ENTERED, from);
    pty.wait_for("web-2", from);
    assert!(pty.is_raw());
    pty.send(b"q");
    assert_eq!(pty.end(), Some(0));
}

#[test]
fn any_number_of_sizes_is_survived() {
    let (mut pty, _dir) = dash((100, 30));
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..300 {
        pty.resize(random.u16(0..230), random.u16(0..80));
        if random.bool() {
            thread::sleep(Duration::from_millis(random.u64(0..8)));
        }
    }
    pty.resize(90, 25);
    let from = pty.written();
    pty.send(b"\x0c");
    pty.wait_for("web-2", from);
    pty.send(b"q");
    assert_eq!(pty.end(), Some(0));
}

#[test]
fn a_terminal_that_takes_no_bytes_holds_up_nothing() {
    // Nobody reads: the program's writes come to a halt in the middle of a frame.
    let (mut pty, _dir) = dash((200, 60));
    pty.stop_reading();
    for _ in 0..50 {
        pty.send(b"\x0ct");
        thread::sleep(Duration::from_millis(15));
    }
    pty.signal(Signal::TERM);
    assert_eq!(pty.end(), Some(143));
    assert!(!pty.is_raw());
}

#[test]
fn at_rest_nothing_is_written() {
    let (mut pty, _dir) = dash((120, 40));
    let mut before = 0;
    until("it has come to rest", || {
        let same = pty.written() == before;
        before = pty.written();
        thread::sleep(Duration::from_secs(1));
        same
    });
    thread::sleep(Duration::from_secs(3));
    assert_eq!(pty.written(), before);
    pty.send(b"q");
    assert_eq!(pty.end(), Some(0));
}
