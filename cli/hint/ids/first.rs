//! The first half of the ids.

use super::{Entry, entry};

/// Up to K, by id.
pub(super) const ENTRIES: &[Entry] = &[
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
];
