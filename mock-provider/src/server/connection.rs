//! Connections that can be cut: how a fault rule takes an answer away, and how shutdown ends calls that hang.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Accepts connections that can be cut.
pub(super) struct Lines {
    listener: TcpListener,
    cut_all: CancellationToken,
}

/// The handle with which a call cuts its own connection.
#[derive(Debug, Clone)]
pub(super) struct Line(CancellationToken);

/// A connection that fails in both directions once it is cut.
pub(super) struct Cuttable {
    stream: TcpStream,
    cut: CancellationToken,
    wait: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Lines {
    pub(super) fn new(listener: TcpListener, cut_all: CancellationToken) -> Self {
        Self { listener, cut_all }
    }
}

impl Line {
    /// Closes the connection; nothing that is not on its way yet reaches the client.
    pub(super) fn cut(&self) {
        self.0.cancel();
    }
}

impl Listener for Lines {
    type Io = Cuttable;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Cuttable, SocketAddr) {
        // The trait's own way for a listener: waits out errors such as too many open files.
        let (stream, addr) = Listener::accept(&mut self.listener).await;
        // Small answers leave at once. Where this fails they are only later.
        let _ = stream.set_nodelay(true);
        let cut = self.cut_all.child_token();
        let wait = Box::pin(cut.clone().cancelled_owned());
        (Cuttable { stream, cut, wait }, addr)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, Lines>> for Line {
    fn connect_info(stream: IncomingStream<'_, Lines>) -> Self {
        Self(stream.io().cut.clone())
    }
}

impl Cuttable {
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.wait.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Cuttable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Cuttable {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
