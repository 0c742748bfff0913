//! Questions before what cannot be taken back, and before work on a cluster that is not ours.

use std::io::{BufRead, IsTerminal};

use crate::cluster::Cluster;
use crate::hint::{Exit, Failure};
use crate::output::Talk;

/// Lets a verb that changes something go on: always in an environment of ours; elsewhere only where `--context` names
/// the cluster and somebody confirms, or `--yes` does.
///
/// # Errors
/// [`Exit::Conflict`]: refused.
pub(crate) async fn may_change(cluster: &Cluster, yes: bool) -> Result<(), Failure> {
    if cluster.ours {
        return Ok(());
    }
    if !cluster.context_named {
        let cause = format!("{} is no environment of vmctl", cluster.label);
        return Err(Failure::new(Exit::Conflict, "VMC-FOREIGN", cause)
            .fix("name the cluster that you mean with --context NAME"));
    }
    if yes {
        return Ok(());
    }
    let question = format!(
        "{} at {} is no environment of vmctl; type yes to work on it all the same:",
        cluster.label, cluster.server
    );
    ask(&question, "yes").await
}

/// Asks on the terminal; only the exact answer lets the command go on.
///
/// # Errors
/// [`Exit::Conflict`]: another answer, or nobody to ask.
pub(crate) async fn ask(question: &str, answer: &str) -> Result<(), Failure> {
    let refused = |cause: String| Failure::new(Exit::Conflict, "VMC-CONFIRM", cause);
    if !std::io::stdin().is_terminal() {
        let cause = format!("nobody can be asked: {question}");
        return Err(refused(cause).fix("add --yes if that is what you want"));
    }
    Talk::new(false).line(question);
    // Not on our one thread, which must notice Ctrl-C meanwhile.
    let typed = tokio::task::spawn_blocking(|| {
        let mut typed = String::new();
        let read = std::io::stdin().lock().read_line(&mut typed);
        read.map(|_| typed).unwrap_or_default()
    });
    if typed.await.unwrap_or_default().trim() == answer {
        return Ok(());
    }
    Err(refused("not confirmed, nothing was changed".to_owned())
        .fix(format!("run the command again and type {answer}")))
}
