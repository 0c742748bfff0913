//! The checks that there are. Scripts and pages name them, so that an id never changes its meaning.

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal,)+) => {
        /// A check.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Id {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Id {
            /// Every check with what it looks at.
            #[cfg_attr(not(test), expect(dead_code, reason = "the page of the docs is made from it by a test"))]
            pub(crate) const ALL: &[(Self, &'static str)] = &[
                $((Self::$name, concat!($($doc),+)),)+
            ];

            /// The word that is printed.
            pub(crate) fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                }
            }
        }
    };
}

ids! {
    /// The system is one on which children end with their parent.
    System = "DOC-SYSTEM",
    /// `/proc` can be read: processes are told apart by it.
    Proc = "DOC-PROC",
    /// The folder of environments can be written.
    StateDir = "DOC-STATE-DIR",
    /// The folder of programs can be written.
    CacheDir = "DOC-CACHE-DIR",
    /// There is room on the disk of environments.
    Disk = "DOC-DISK",
    /// There is memory for a control plane.
    Memory = "DOC-MEMORY",
    /// There are processors for a control plane.
    Cpu = "DOC-CPU",
    /// Enough files may be open.
    OpenFiles = "DOC-OPEN-FILES",
    /// A port on the loopback address can be listened on.
    Loopback = "DOC-LOOPBACK",
    /// A proxy of the environment does not stand between us and ourselves.
    Proxy = "DOC-PROXY",
    /// The programs of a control plane are there and are what was put there.
    Tools = "DOC-TOOLS",
    /// kubectl is there.
    Kubectl = "DOC-KUBECTL",
    /// A container engine answers; without one environments run as processes.
    Engine = "DOC-ENGINE",
    /// kind is there and new enough.
    Kind = "DOC-KIND",
    /// The engine has the node image that was named.
    NodeImage = "DOC-NODE-IMAGE",
    /// The kernel's control groups are those that nodes need.
    Cgroups = "DOC-CGROUPS",
    /// Nodes may watch enough files.
    Inotify = "DOC-INOTIFY",
    /// There is room where the engine keeps images and containers.
    EngineDisk = "DOC-ENGINE-DISK",
    /// The environment exists and its files can be read.
    Environment = "DOC-ENVIRONMENT",
    /// No other command works on the environment.
    Lock = "DOC-LOCK",
    /// The supervisor runs, and is of this version of vmctl.
    Supervisor = "DOC-SUPERVISOR",
    /// Every child of the supervisor runs, and stays up.
    Children = "DOC-CHILDREN",
    /// No process is left over from an earlier run.
    Leftovers = "DOC-LEFTOVERS",
    /// The port of the environment's API server is its own.
    Ports = "DOC-PORTS",
    /// The environment's kubeconfig is private.
    Kubeconfig = "DOC-KUBECONFIG",
    /// The API server is ready.
    Api = "DOC-API",
    /// The definitions of our kinds are established and those of this version.
    Definitions = "DOC-DEFINITIONS",
    /// An operator leads.
    Leader = "DOC-LEADER",
    /// The ProviderConfigs are Ready.
    ProviderConfigs = "DOC-PROVIDER-CONFIGS",
    /// No VirtualMachine waits for a person.
    VirtualMachines = "DOC-VIRTUAL-MACHINES",
}
