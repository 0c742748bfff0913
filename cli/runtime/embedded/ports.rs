//! Free loopback ports for servers that cannot be handed an open socket.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use super::identity::executable;
use crate::clock;

/// Below the range that the kernel gives to outgoing connections. A client that reconnects to a server which is just
/// being restarted could otherwise be given the server's own port, and hold it.
const LOWEST: u16 = 16_384;

/// Picks a port that is free at this moment. Whoever starts the server must still expect a collision and pick again.
///
/// `None` when a thousand tries found none.
pub(crate) fn pick() -> Option<u16> {
    let end = lowest_ephemeral().max(LOWEST + 1_000);
    (0..1_000)
        .map(|_| fastrand::u16(LOWEST..end))
        .find(|port| is_free(*port))
}

/// Whether a server could listen there now.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// How long a process that was killed may take to close its sockets.
const CLOSING: Duration = Duration::from_secs(2);
/// How often a socket that is being closed is looked at.
const POLL: Duration = Duration::from_millis(10);

/// Whether a server could listen there now, or in a moment: a process that is just ending is found by nobody any more, by
/// its program or its environment, before the kernel closes its sockets. Blocks for two seconds at most, and only where no
/// living process is seen to listen.
pub(crate) fn becomes_free(port: u16) -> bool {
    let begun = clock::now();
    loop {
        if is_free(port) {
            return true;
        }
        if is_held(port) || begun.elapsed() > CLOSING {
            return false;
        }
        clock::block(POLL);
    }
}

/// Whether a process that is seen to live listens there.
fn is_held(port: u16) -> bool {
    listener(port).is_some_and(|pid| executable(pid).is_some())
}

/// The process that listens on a loopback port; `None` where nobody does, or we may not see who.
pub(crate) fn listener(port: u16) -> Option<u32> {
    let table = std::fs::read_to_string("/proc/net/tcp").ok()?;
    let socket = table.lines().find_map(|line| listening(line, port))?;
    let pids = std::fs::read_dir("/proc").ok()?.flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|pid| holds(*pid, &socket))
}

/// The socket of a line of the kernel's table, where it listens on this port: `socket:[INODE]`.
fn listening(line: &str, port: u16) -> Option<String> {
    const LISTEN: &str = "0A";
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (_, local) = words.get(1)?.split_once(':')?;
    let ours = u16::from_str_radix(local, 16) == Ok(port) && *words.get(3)? == LISTEN;
    ours.then(|| words.get(9).map(|inode| format!("socket:[{inode}]")))?
}

fn holds(pid: u32, socket: &str) -> bool {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
    files.into_iter().flatten().flatten().any(|file| {
        std::fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == socket)
    })
}

fn lowest_ephemeral() -> u16 {
    std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|range| range.split_ascii_whitespace().next()?.parse().ok())
        .unwrap_or(32_768)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picked_port_can_be_bound_and_then_counts_as_taken() {
        let (listener, port) = std::iter::repeat_with(|| pick().unwrap())
            .take(100)
            .find_map(|port| Some((TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?, port)))
            .unwrap();
        assert!(!is_free(port));
        assert_eq!(super::listener(port), Some(std::process::id()));
        assert!(port < lowest_ephemeral().max(LOWEST + 1_000));
        drop(listener);
        assert_eq!(super::listener(port), None);
    }

    #[test]
    fn a_socket_that_is_just_being_closed_is_waited_for_and_a_server_is_not() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = server.local_addr().unwrap().port();
        assert!(is_held(port) && !becomes_free(port));

        // Bound and without a listener that could be named, like the sockets of a process that is ending.
        let closing = tokio::net::TcpSocket::new_v4().unwrap();
        closing.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let port = closing.local_addr().unwrap().port();
        assert!(!is_free(port) && !is_held(port));
        let closer = std::thread::spawn(move || {
            clock::block(POLL * 5);
            drop(closing);
        });
        assert!(becomes_free(port));
        closer.join().unwrap();
    }
}
