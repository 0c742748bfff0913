//! Child processes that cannot outlive the test process, however it ends.

use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex};
use std::thread;

type Order = (Command, Sender<std::io::Result<Child>>);

/// The kernel ties a child to the *thread* that starts it, and test threads come and go: this one stays.
static STARTER: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
    let (orders, inbox) = channel::<Order>();
    thread::spawn(move || {
        for (mut command, answer) in inbox {
            let _ = answer.send(command.spawn());
        }
    });
    Mutex::new(orders)
});

/// A command that runs `program` as a child tied to this process; for [`start`].
pub(crate) fn tied(program: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vmctl"));
    command
        .arg("exec-child")
        .arg(std::process::id().to_string())
        .arg(program);
    command
}

/// Starts a command made by [`tied`].
pub(crate) fn start(command: Command) -> Child {
    let (answer, result) = channel();
    let orders = STARTER.lock().expect("the starter's lock");
    orders.send((command, answer)).expect("the starter runs");
    drop(orders);
    result
        .recv()
        .expect("the starter answers")
        .expect("the child can be started")
}
