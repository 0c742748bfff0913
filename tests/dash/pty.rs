//! vmctl on a terminal of its own, and what it writes there.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

const POLL: Duration = Duration::from_millis(20);
/// Looks until a wait is given up: one minute.
const LOOKS: usize = 3_000;

/// A program on a terminal.
pub(crate) struct Pty {
    master: Option<OwnedFd>,
    /// Kept open, so that modes can be looked at after the program has ended.
    slave: Option<File>,
    child: Child,
    seen: Arc<Mutex<Vec<u8>>>,
    /// Whether the terminal takes no bytes any more.
    stuck: Arc<AtomicBool>,
}

impl Pty {
    /// Starts a program on a terminal of that size.
    pub(crate) fn start(mut command: Command, (width, height): (u16, u16)) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = i32::try_from(OFlags::NOCTTY.bits()).unwrap();
        let slave = File::options()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(name.to_str().unwrap())
            .unwrap();
        resize(&master, width, height);
        let end = || slave.try_clone().unwrap();
        command
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            // A stop meant for the program must not stop the tests.
            .process_group(0);
        let child = command.spawn().unwrap();
        drop(command);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stuck = Arc::new(AtomicBool::new(false));
        read(&master, Arc::clone(&seen), Arc::clone(&stuck));
        Self {
            master: Some(master),
            slave: Some(slave),
            child,
            seen,
            stuck,
        }
    }

    /// From now on the terminal takes no bytes.
    pub(crate) fn stop_reading(&self) {
        self.stuck.store(true, Ordering::SeqCst);
    }

    /// Types bytes.
    pub(crate) fn send(&self, bytes: &[u8]) {
        let master = self.master.as_ref().unwrap().try_clone().unwrap();
        File::from(master).write_all(bytes).unwrap();
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Gives the terminal another size, and says so.
    pub(crate) fn resize(&self, width: u16, height: u16) {
        resize(self.master.as_ref().unwrap(), width, height);
        self.signal(Signal::WINCH);
    }

    /// Everything that was written so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    /// How many bytes were written so far.
    pub(crate) fn written(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// Waits until something was written behind a place; returns where that ends.
    pub(crate) fn wait_for(&self, words: &str, from: usize) -> usize {
        let mut found = None;
        until(&format!("{words:?} is written"), || {
            let text = self.text();
            found = text
                .get(from.min(text.len())..)
                .and_then(|text| text.find(words));
            found.is_some()
        });
        from + found.unwrap_or_default() + words.len()
    }

    /// Waits until something is on the screen: it is drawn anew until it is, because a frame holds only what has changed.
    pub(crate) fn wait_for_drawn(&self, words: &str) {
        let mut looks = 0;
        until(&format!("{words:?} is on the screen"), || {
            if looks % 25 == 0 {
                self.send(b"\x0c");
            }
            looks += 1;
            self.text().contains(words)
        });
    }

    /// Whether keys come one by one and unseen.
    pub(crate) fn is_raw(&self) -> bool {
        let modes = tcgetattr(self.slave.as_ref().unwrap()).unwrap().local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// State letter and CPU time in ticks of the process, its own end included as long as nobody has asked for it.
    pub(crate) fn process(&self) -> (char, u64) {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        let ticks = |index: usize| fields[index].parse::<u64>().unwrap();
        (fields[0].chars().next().unwrap(), ticks(11) + ticks(12))
    }

    /// The window is closed: nothing of the terminal is left but the program's own end.
    pub(crate) fn close(&mut self) {
        self.slave = None;
        self.master = None;
        // The reader's own end goes with what it writes to.
        self.seen = Arc::default();
    }

    /// Waits for the end; returns the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let mut code = None;
        until("the program ends", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.and_then(|status| status.code())
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes what is written, until the window is closed. It looks at the terminal before it reads: a read under way would
/// keep the terminal open.
fn read(master: &OwnedFd, seen: Arc<Mutex<Vec<u8>>>, stuck: Arc<AtomicBool>) {
    let weak = Arc::downgrade(&seen);
    drop(seen);
    let mut reader = File::from(master.try_clone().unwrap());
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        loop {
            let Some(seen) = weak.upgrade() else { return };
            let wait = Timespec {
                tv_sec: 0,
                tv_nsec: 20_000_000,
            };
            let ready = poll(&mut [PollFd::new(&reader, PollFlags::IN)], Some(&wait)).unwrap_or(0);
            if stuck.load(Ordering::SeqCst) || ready == 0 {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            match reader.read(&mut bytes) {
                Ok(length @ 1..) => seen.lock().unwrap().extend_from_slice(&bytes[..length]),
                Ok(_) | Err(_) => return,
            }
        }
    });
}

fn resize(master: &OwnedFd, width: u16, height: u16) {
    let size = Winsize {
        ws_col: width,
        ws_row: height,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(master, size).unwrap();
}

/// Waits until `condition` holds.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if condition() {
            return;
        }
        thread::sleep(POLL);
    }
    panic!("waited a minute in vain until {what}");
}
