use super::Shutdown;
use rustix::process::{Signal, getpid, kill_process};
use std::time::Duration;

#[tokio::test]
async fn the_first_wish_drains_and_the_second_stops_at_once() {
    let shutdown = Shutdown::new();
    let other = shutdown.clone();
    assert!(!other.is_draining());
    shutdown.ask();
    other.draining().await;
    assert!(!other.now.is_cancelled());
    shutdown.ask();
    other.immediate().await;
}

#[tokio::test]
async fn a_signal_to_the_process_is_heard() {
    let shutdown = Shutdown::on_signals().unwrap();
    kill_process(getpid(), Signal::TERM).unwrap();
    tokio::time::timeout(Duration::from_secs(30), shutdown.draining())
        .await
        .unwrap();
    assert!(!shutdown.now.is_cancelled());
    kill_process(getpid(), Signal::INT).unwrap();
    tokio::time::timeout(Duration::from_secs(30), shutdown.immediate())
        .await
        .unwrap();
}
