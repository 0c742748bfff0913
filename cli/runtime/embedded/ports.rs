//! Free loopback ports for servers that cannot be handed an open socket.

use std::net::{Ipv4Addr, TcpListener};

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
        assert!(port < lowest_ephemeral().max(LOWEST + 1_000));
        drop(listener);
    }
}
