//! The running server: listeners, the timer, the data file and their end.

mod call;
mod cloud;
mod connection;
mod effect;
mod tasks;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

pub(crate) use cloud::{Cloud, Inner};

use crate::options::{KeyError, Options};
use crate::store::{Store, StoreError};
use crate::world::World;
use connection::{Line, Lines};

/// How long open calls may take to end by themselves at shutdown.
const GRACE: Duration = Duration::from_millis(300);

/// A mock provider that runs.
#[derive(Debug)]
pub struct Running {
    /// Where the API listens.
    pub addr: SocketAddr,
    /// Where the admin interface listens, when it was asked for.
    pub admin_addr: Option<SocketAddr>,
    task: JoinHandle<Result<(), Error>>,
}

/// Why the mock provider did not start or end well.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address could not be taken.
    #[error(
        "cannot listen on {addr}: {source}; stop what listens there, or give another address with {flag} (port 0 picks a free one)"
    )]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// The option that sets it.
        flag: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The API keys are wrong.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The data file is of no use.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A listener ended by itself.
    #[error("the listener on {addr} ended: {source}")]
    Listener {
        /// Its address.
        addr: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A part of the server broke: a bug.
    #[error("a task of the mock provider broke off: {0}")]
    Task(#[from] JoinError),
}

/// Starts a mock provider within this process. It listens when this returns, and ends when `shutdown` does: open calls
/// get a moment, then their connections are cut, and the data file is written a last time.
///
/// # Errors
/// When an address cannot be taken, the API keys cannot be read, or the data file is of no use. Nothing runs then.
pub async fn serve(
    options: Options,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Running, Error> {
    let keyring = options.keyring()?;
    let mut world = World::new(options.settings(), options.seed);
    let store = options
        .data_file
        .as_deref()
        .map(|path| open(path, &mut world))
        .transpose()?;
    let api = bind(options.listen, "--listen").await?;
    let admin = match options.admin_listen {
        Some(addr) => Some(bind(addr, "--admin-listen").await?),
        None => None,
    };
    let (addr, admin_addr) = (api.1, admin.as_ref().map(|(_, addr)| *addr));
    let inner = Inner::new(world, keyring, options.seed, options.request_log);
    let cloud = Arc::new(Cloud::new(inner, store));
    #[expect(clippy::disallowed_methods, reason = "the one task that the server is")]
    let task = tokio::spawn(run(cloud, api, admin, shutdown));
    Ok(Running {
        addr,
        admin_addr,
        task,
    })
}

impl Running {
    /// Waits for its end: after the shutdown that it was started with, or by itself when something broke.
    ///
    /// # Errors
    /// When a listener failed or the data file could not be written at the end.
    pub async fn wait(self) -> Result<(), Error> {
        self.task.await?
    }
}

type Bound = (TcpListener, SocketAddr);

async fn bind(addr: SocketAddr, flag: &'static str) -> Result<Bound, Error> {
    let failed = |source| Error::Bind { addr, flag, source };
    let listener = TcpListener::bind(addr).await.map_err(failed)?;
    let addr = listener.local_addr().map_err(failed)?;
    Ok((listener, addr))
}

fn open(path: &std::path::Path, world: &mut World) -> Result<Store, StoreError> {
    let (store, loaded) = Store::open(path)?;
    if let Some(loaded) = loaded {
        world
            .load(loaded)
            .map_err(|source| store.unusable(source))?;
    }
    Ok(store)
}

async fn run(
    cloud: Arc<Cloud>,
    api: Bound,
    admin: Option<Bound>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    let cut = CancellationToken::new();
    let mut tasks: JoinSet<Result<(), Error>> = JoinSet::new();
    let router = Router::new()
        .fallback(call::answer)
        .with_state(cloud.clone());
    tasks.spawn(listen(api, router, cloud.stop.clone(), cut.clone()));
    if let Some(admin) = admin {
        tasks.spawn(listen(
            admin,
            crate::admin::router(cloud.clone()),
            cloud.stop.clone(),
            cut.clone(),
        ));
    }
    tasks.spawn(tasks::keep_time(cloud.clone()));
    if cloud.store.is_some() {
        tasks.spawn(tasks::keep_file(cloud.clone()));
    }
    let early = tokio::select! {
        () = shutdown => None,
        ended = tasks.join_next() => ended,
    };
    cloud.stop.cancel();
    let mut result = early.map_or(Ok(()), |ended| ended.map_err(Error::from).flatten());
    let ended = tokio::time::timeout(GRACE, drain(&mut tasks)).await;
    cut.cancel();
    let rest = match ended {
        Ok(rest) => rest,
        Err(_) => drain(&mut tasks).await,
    };
    result = result.and(rest);
    let saved = tasks::save(&cloud).await;
    result.and(saved.map_err(Error::from))
}

async fn drain(tasks: &mut JoinSet<Result<(), Error>>) -> Result<(), Error> {
    let mut result = Ok(());
    while let Some(ended) = tasks.join_next().await {
        result = result.and(ended.map_err(Error::from).flatten());
    }
    result
}

async fn listen(
    (listener, addr): Bound,
    router: Router,
    stop: CancellationToken,
    cut: CancellationToken,
) -> Result<(), Error> {
    let service = router.into_make_service_with_connect_info::<Line>();
    axum::serve(Lines::new(listener, cut), service)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
        .map_err(|source| Error::Listener { addr, source })
}
