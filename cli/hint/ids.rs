//! Every error id with its meaning: `vmctl explain VMC-…`, and the page in the docs is made from this list.

/// An error id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The id, `VMC-…`.
    pub(crate) id: &'static str,
    /// What it means, one sentence.
    pub(crate) meaning: &'static str,
    /// What usually helps.
    pub(crate) help: &'static str,
}

/// The entry of that id.
pub(crate) fn find(id: &str) -> Option<&'static Entry> {
    ENTRIES
        .iter()
        .find(|entry| entry.id.eq_ignore_ascii_case(id))
}

const fn entry(id: &'static str, meaning: &'static str, help: &'static str) -> Entry {
    Entry { id, meaning, help }
}

/// All of them, by id. An id never changes its meaning and is never used again.
pub(crate) const ENTRIES: &[Entry] = &[
    entry(
        "VMC-ANSWER",
        "The API server's answer cannot be understood.",
        "Check that the address is that of an API server, and not of a proxy before it.",
    ),
    entry(
        "VMC-API",
        "The API server cannot be reached, or does not answer in time.",
        "In an environment of ours: `vmctl status`. Elsewhere: check the address in the kubeconfig.",
    ),
    entry(
        "VMC-ASSETS",
        "The folder of `--assets` does not hold the programs of a control plane.",
        "Put executable `etcd` and `kube-apiserver` into it, or leave the option out.",
    ),
    entry(
        "VMC-BINARIES",
        "No place has the programs of a control plane.",
        "Set KUBEBUILDER_ASSETS, or run once where they can be downloaded or built.",
    ),
    entry(
        "VMC-CACHE",
        "The cache of programs is damaged or cannot be used: a file is not the one that was put there.",
        "Delete the folder that the message names and run the command again.",
    ),
    entry(
        "VMC-CHILD",
        "A child process of an environment could not become its program.",
        "Read the logs of the environment; start anew with `vmctl down` and `vmctl up`.",
    ),
    entry(
        "VMC-COMPLETION",
        "No completion script can be written for this shell.",
        "Use another shell.",
    ),
    entry(
        "VMC-CONFIRM",
        "A question was not answered with what it asks for, or nobody could be asked.",
        "Run it on a terminal, or add `--yes` if that is what you want.",
    ),
    entry(
        "VMC-CONFLICT",
        "Somebody else changed the object, or owns a field of it.",
        "Run the command again; for `apply`, leave the field out or add `--force-conflicts`.",
    ),
    entry(
        "VMC-CONTROL-PLANE",
        "The control plane of an environment could not be started.",
        "The lines below the message are the program's own; more is in the logs of the environment.",
    ),
    entry(
        "VMC-DELETED",
        "The object was deleted or replaced while it was waited for.",
        "See what there is: `vmctl get vm`.",
    ),
    entry(
        "VMC-DELETING",
        "An object of this name is being deleted.",
        "Wait until it is gone: `vmctl wait vm NAME --for delete`.",
    ),
    entry(
        "VMC-DIAG",
        "The support archive cannot be written.",
        "Name a file of yours with `-f`.",
    ),
    entry(
        "VMC-DIFFERENT",
        "An object of this name exists with another spec.",
        "Choose another name, ask for what is there, or delete it first.",
    ),
    entry(
        "VMC-DOCTOR",
        "A check of `vmctl doctor` failed.",
        "Do what the check says; its id is explained below.",
    ),
    entry(
        "VMC-EDIT",
        "An edit was refused and given up, or its file cannot be written.",
        "What was typed is in the file that the message names.",
    ),
    entry(
        "VMC-EDITOR",
        "The editor cannot be run or failed.",
        "Set EDITOR to an editor that waits until the file is closed.",
    ),
    entry(
        "VMC-ENDED",
        "The command was ended by a signal, as it is meant to be ended.",
        "Nothing; it is not printed.",
    ),
    entry(
        "VMC-ENGINE",
        "The container engine or kind cannot be used.",
        "Start the engine and run the command again, or choose `--runtime embedded`.",
    ),
    entry(
        "VMC-ENVIRONMENT",
        "The files of an environment cannot be used.",
        "Remove it and make it anew: `vmctl down && vmctl up`.",
    ),
    entry(
        "VMC-EXISTS",
        "An object of this name exists.",
        "Choose another name, or add `--if-absent`.",
    ),
    entry(
        "VMC-FILES",
        "A file or folder of ours cannot be written.",
        "Set XDG_STATE_HOME (or XDG_CACHE_HOME) to a folder of yours.",
    ),
    entry(
        "VMC-FORBIDDEN",
        "The credentials do not allow this.",
        "See what they allow: `kubectl auth can-i --list`.",
    ),
    entry(
        "VMC-FOREIGN",
        "The cluster is no environment of vmctl, and it was not named.",
        "Name the cluster that you mean with `--context NAME`.",
    ),
    entry(
        "VMC-HOME",
        "There is no home directory.",
        "Set HOME, or XDG_STATE_HOME and XDG_CACHE_HOME.",
    ),
    entry(
        "VMC-HTTP",
        "An HTTP client cannot be made.",
        "Report it with the message.",
    ),
    entry(
        "VMC-IMAGE",
        "No image of the operator or of the mock provider can be had.",
        "The message says which, and how it is built or named.",
    ),
    entry(
        "VMC-INPUT",
        "A manifest cannot be read.",
        "Correct the file that the message names; nothing was changed.",
    ),
    entry(
        "VMC-INTERRUPTED",
        "The command was ended by a signal; what was begun is told.",
        "The message names the command that goes on.",
    ),
    entry(
        "VMC-INTERVAL",
        "The interval of the dashboard is too short.",
        "Take 100ms or longer.",
    ),
    entry(
        "VMC-INVALID",
        "The API server refuses the object or the request.",
        "Correct what the message names; `vmctl explain` knows the fields.",
    ),
    entry(
        "VMC-KIND",
        "The verb does not work on this kind.",
        "The message lists the kinds that it works on.",
    ),
    entry(
        "VMC-KUBECONFIG",
        "A kubeconfig cannot be used.",
        "See what there is: `kubectl config get-contexts`.",
    ),
    entry(
        "VMC-KUBECTL",
        "kubectl cannot be run.",
        "Install it, or put it beside etcd in `--assets`.",
    ),
    entry(
        "VMC-LEFTOVERS",
        "Something is left of an environment that was removed.",
        "Run the same command again; the message lists what is left.",
    ),
    entry(
        "VMC-LOCKED",
        "Another command works on this environment.",
        "Wait until it has ended, or end it.",
    ),
    entry(
        "VMC-LOGS-IN-PODS",
        "In a cluster the lines are in pods, and this form of the command reads files.",
        "The message has the command for pods.",
    ),
    entry(
        "VMC-MACHINE",
        "The VirtualMachine that proves an environment cannot be made or removed.",
        "Read the operator's log in the environment's logs.",
    ),
    entry(
        "VMC-MAN",
        "A manual page cannot be written.",
        "Name a folder of yours with `--dir`.",
    ),
    entry(
        "VMC-MANIFEST",
        "A manifest that is part of vmctl is damaged.",
        "Install vmctl anew.",
    ),
    entry(
        "VMC-METRICS",
        "The operator's metrics cannot be had.",
        "See what runs: `vmctl status`.",
    ),
    entry(
        "VMC-MOCK",
        "The mock provider cannot run.",
        "The message names the address or file that is in the way.",
    ),
    entry(
        "VMC-NAME",
        "Something is no name, or a name is missing.",
        "The message says what a name looks like.",
    ),
    entry(
        "VMC-NO-ENVIRONMENT",
        "There is no environment of this name.",
        "Make it: `vmctl up --env NAME`.",
    ),
    entry(
        "VMC-NO-FIELD",
        "The kind has no such field.",
        "The message lists the fields that are there.",
    ),
    entry(
        "VMC-NO-KIND",
        "The API server does not know the kind.",
        "Install the definitions: `vmctl up`, or `kubectl apply -f config/crd/`.",
    ),
    entry(
        "VMC-NO-LOG",
        "The environment has no log of this program.",
        "The message lists the programs that have one.",
    ),
    entry(
        "VMC-NO-NAMESPACE",
        "There is no such namespace.",
        "Choose another one with `-n`, or create it.",
    ),
    entry(
        "VMC-NO-OPERATOR",
        "There are VirtualMachines and no operator that could remove them.",
        "Repair it with `vmctl install`, or leave the VMs where they are with `--orphan`.",
    ),
    entry(
        "VMC-NODE-IMAGE",
        "The node image of kind cannot be had.",
        "Name one that the engine has with the option that the message names.",
    ),
    entry(
        "VMC-NOT-FOUND",
        "There is no such object.",
        "See what there is: `vmctl get vm`.",
    ),
    entry(
        "VMC-NOT-READY",
        "Something of the environment does not run.",
        "Run `vmctl up`: it starts what is missing.",
    ),
    entry(
        "VMC-NOT-RUNNING",
        "The environment exists, but nothing of it runs.",
        "Run `vmctl up`: its data is kept.",
    ),
    entry(
        "VMC-OFFLINE",
        "`--offline`, and a program that is needed is not in the cache.",
        "Run `vmctl up` once with a network; the message lists what is missing.",
    ),
    entry(
        "VMC-PIPE",
        "The reader of the output has gone.",
        "Nothing; it is not printed.",
    ),
    entry(
        "VMC-PREFLIGHT",
        "The machine cannot run an environment.",
        "Do what the message says; `vmctl doctor --pre` shows every check.",
    ),
    entry(
        "VMC-PRINT",
        "An object cannot be printed.",
        "Print it in another form: `-o json`, `-o yaml` or `-o name`.",
    ),
    entry(
        "VMC-RECORD",
        "A recording of the dashboard cannot be written.",
        "Name a file of yours with `--record`.",
    ),
    entry(
        "VMC-REFUSED",
        "The API server refuses for a reason that has no id of its own.",
        "The message has its words.",
    ),
    entry(
        "VMC-REMOVE",
        "The folder of an environment cannot be removed.",
        "See who uses it, then run the same command again.",
    ),
    entry(
        "VMC-REPLAY",
        "A file is no recording of the dashboard.",
        "Name a file that `vmctl dash --record` has written.",
    ),
    entry(
        "VMC-RUN-IN-PODS",
        "The operator of this environment runs in pods and cannot be replaced by a process.",
        "The message says what works instead.",
    ),
    entry(
        "VMC-RUN-OPERATOR",
        "The operator cannot be run in the foreground.",
        "The message has its words.",
    ),
    entry(
        "VMC-RUNTIME",
        "vmctl cannot start its own tasks.",
        "The machine is out of threads or memory.",
    ),
    entry(
        "VMC-RUNTIME-KIND",
        "The environment exists with another runtime than the one that was asked for.",
        "Remove it first, or give the new one another name.",
    ),
    entry(
        "VMC-SCREEN",
        "The dashboard ended for a reason of its own.",
        "Print instead: `vmctl dash --once`; report it with the message.",
    ),
    entry(
        "VMC-SIGNAL",
        "Signals cannot be listened to.",
        "Report it with the message.",
    ),
    entry(
        "VMC-SOURCE",
        "A source of the dashboard ended for a reason of its own.",
        "Report it with the message.",
    ),
    entry(
        "VMC-STALLED",
        "The VirtualMachine waits for a person.",
        "Do what the message says; the reason is that of the condition.",
    ),
    entry(
        "VMC-STATE",
        "A file of an environment is missing or damaged.",
        "Remove it and make it anew: `vmctl down && vmctl up`.",
    ),
    entry(
        "VMC-STDOUT",
        "The output cannot be written.",
        "The disk may be full.",
    ),
    entry(
        "VMC-SUPERVISOR",
        "The process that owns an environment ended or cannot be started.",
        "Read the logs of the environment, then run `vmctl up`.",
    ),
    entry(
        "VMC-TERMINAL",
        "The terminal cannot show the dashboard.",
        "Print instead: `vmctl dash --once`.",
    ),
    entry(
        "VMC-THRESHOLD",
        "A threshold of `dash --fail-if` was crossed.",
        "See why: `vmctl dash`.",
    ),
    entry(
        "VMC-TIMEOUT",
        "A wait ran out; what is missing is told.",
        "Wait again; the message has the command.",
    ),
    entry(
        "VMC-TLS",
        "Another TLS provider is installed in this process.",
        "Report it with the message.",
    ),
    entry(
        "VMC-TOKEN",
        "The file with a token for metrics cannot be read.",
        "Write one: `kubectl create token SERVICEACCOUNT > FILE`.",
    ),
    entry(
        "VMC-UNAUTHORIZED",
        "The API server does not know the credentials.",
        "Renew the credentials in the kubeconfig.",
    ),
    entry(
        "VMC-UNMEASURED",
        "What `dash --fail-if` asks about was not measured.",
        "Look longer with `--duration`; the message says what is missing.",
    ),
    entry(
        "VMC-UNREACHABLE",
        "The dashboard cannot reach the API server.",
        "See whether it is up: `vmctl status`.",
    ),
    entry(
        "VMC-USAGE",
        "The command line contradicts itself or lacks something.",
        "The message says what; `--help` has examples.",
    ),
];

#[cfg(test)]
mod tests;
