//! The second half of the ids.

use super::{Entry, entry};

/// From L on, by id.
pub(super) const ENTRIES: &[Entry] = &[
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
        "VMC-OWN-KUBECONFIG",
        "Your own kubeconfig, which `--use-context` changes, cannot be read or written.",
        "Leave the option out and use `vmctl env export`; the environment itself is up.",
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
