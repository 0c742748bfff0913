//! A thread beside the runtime that wakes it now and then, so that one future that blocks does not stop all of it.
//!
//! Of a runtime's threads one looks at sockets and timers while the others sleep. It runs what an event woke by itself and
//! wakes nobody for a single task; if that task blocks, nothing looks at sockets and timers any more, although every other
//! thread is free. A task from outside wakes one of them, and on its way back to sleep that one takes the place.

use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::runtime::Handle;

/// Wakes a runtime until it is dropped.
#[derive(Debug)]
pub struct Pulse {
    _alive: Arc<()>,
}

impl Pulse {
    /// How often; a renewal of the lease is due every two seconds.
    pub const PERIOD: Duration = Duration::from_millis(500);

    /// Begins with the runtime of that handle.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(runtime: Handle) -> std::io::Result<Self> {
        let alive = Arc::new(());
        let wanted = Arc::downgrade(&alive);
        let beat = move || {
            while wanted.strong_count() > 0 {
                thread::sleep(Self::PERIOD);
                drop(runtime.spawn(async {}));
            }
        };
        thread::Builder::new()
            .name("runtime-pulse".to_owned())
            .spawn(beat)?;
        Ok(Self { _alive: alive })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::clock::{Clock, TokioClock, wait_until};
    use std::io::Write;
    use std::sync::mpsc::{Receiver, channel};
    use tokio::io::AsyncReadExt;

    /// The longest wait for a sign of life.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// Reads one byte, and then blocks its thread until it is let go.
    async fn block(mut stream: tokio::net::TcpStream, let_go: Receiver<()>) {
        let mut byte = [0];
        stream.read_exact(&mut byte).await.unwrap();
        let _ = let_go.recv();
    }

    /// Without a pulse, three of the four threads sleep on for ever (tokio 1.54.1, every time).
    #[test]
    fn a_task_that_blocks_the_thread_which_looks_at_timers_does_not_stop_them() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(4)
            .enable_all()
            .build()
            .unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let (ticks, ticked) = channel();
        let (let_go, waits) = channel::<()>();
        let pulse = Pulse::start(runtime.handle().clone()).unwrap();
        runtime.spawn(async move {
            let stream = tokio::net::TcpStream::from_std(theirs).unwrap();
            block(stream, waits).await;
        });
        runtime.spawn(async move {
            let clock = TokioClock::new();
            while ticks.send(()).is_ok() {
                wait_until(&clock, clock.now() + Duration::from_millis(200)).await;
            }
        });
        // Everybody is asleep, one of them over sockets and timers; then a byte comes.
        thread::sleep(Duration::from_millis(300));
        ours.write_all(b"x").unwrap();
        thread::sleep(Duration::from_millis(100));
        while ticked.try_recv().is_ok() {}
        // One may have been on its way.
        let lives = (0..3).all(|_| ticked.recv_timeout(PATIENCE).is_ok());
        drop((let_go, pulse));
        runtime.shutdown_background();
        assert!(lives, "nobody looked at timers any more");
    }
}
