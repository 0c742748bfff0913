//! A port of ours on the loopback that leads to a port of a pod, through the API server: what `kubectl port-forward`
//! does, without kubectl.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::hint::chain;

/// Longest time until the way into the pod is open.
const OPEN: Duration = Duration::from_secs(5);
/// Connections at once; two callers ask one replica.
const CONNECTIONS: usize = 8;

/// Leads into one pod until it is dropped.
pub(super) struct Forward {
    /// Ours, on the loopback.
    pub(super) port: u16,
    trouble: Trouble,
    _tasks: JoinSet<()>,
}

/// What went wrong last, in words.
type Trouble = Arc<Mutex<Option<String>>>;

impl Forward {
    /// Opens a port of ours. Whether the pod can be reached shows at the first connection.
    ///
    /// # Errors
    /// There is no free port.
    pub(super) async fn open(pods: Api<Pod>, pod: &str, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let ours = listener.local_addr()?.port();
        let trouble = Trouble::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(
            listener,
            pods,
            (pod.to_owned(), port),
            Arc::clone(&trouble),
        ));
        Ok(Self {
            port: ours,
            trouble,
            _tasks: tasks,
        })
    }

    /// Why the last connection came to nothing, if it did.
    pub(super) fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.clone()
    }
}

async fn accept(listener: TcpListener, pods: Api<Pod>, to: (String, u16), trouble: Trouble) {
    let mut connections = JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        if connections.len() >= CONNECTIONS {
            continue;
        }
        let (pods, to, trouble) = (pods.clone(), to.clone(), Arc::clone(&trouble));
        connections.spawn(async move {
            let outcome = carry(connection, &pods, &to, &trouble).await;
            if let Err(why) = outcome {
                tell(&trouble, Some(why));
            }
        });
    }
}

fn tell(trouble: &Trouble, why: Option<String>) {
    let mut told = trouble.lock().unwrap_or_else(PoisonError::into_inner);
    *told = why;
}

/// Carries one connection to its end.
async fn carry(
    mut connection: TcpStream,
    pods: &Api<Pod>,
    (pod, port): &(String, u16),
    trouble: &Trouble,
) -> Result<(), String> {
    let opening = tokio::time::timeout(OPEN, pods.portforward(pod, &[*port])).await;
    let opened = opening.map_err(|_elapsed| "the port-forward does not open".to_owned())?;
    let mut forward = opened.map_err(|error| format!("port-forward: {}", chain(&error)))?;
    let (Some(mut stream), Some(error)) = (forward.take_stream(*port), forward.take_error(*port))
    else {
        return Err("the port-forward has no such port".to_owned());
    };
    tell(trouble, None);
    let carried = tokio::select! {
        // Either side hung up; that is how connections end.
        _ended = tokio::io::copy_bidirectional(&mut connection, &mut stream) => Ok(()),
        Some(why) = error => Err(format!("port-forward: {why}")),
    };
    forward.abort();
    carried
}
