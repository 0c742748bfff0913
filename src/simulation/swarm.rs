//! What a run may suffer: which faults and which users' acts are on, and the numbers of its cloud.

use std::time::Duration;

use crate::domain::Capabilities;
use crate::lifecycle::{Config, Losses};

macro_rules! words {
    ($($(#[doc = $doc:literal])+ $word:ident,)+) => {
        /// What may happen; everything that is off does not.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(super) struct Words {
            $($(#[doc = $doc])+ pub(super) $word: bool,)+
        }

        impl Words {
            /// Reads a list such as `delete,crash,lost`.
            pub(super) fn parse(list: &str) -> Self {
                let mut words = Self::default();
                for word in list.split(',').filter(|word| !word.is_empty()) {
                    match word {
                        $(stringify!($word) => words.$word = true,)+
                        other => panic!("no such word: {other}"),
                    }
                }
                words
            }

            /// Turns each word on with chances that differ from run to run: few faults go deep, many go wide. Those
            /// that break an assumption of the protocol stay off.
            pub(super) fn random(random: &mut fastrand::Rng) -> Self {
                let mut words = Self::default();
                let chance = [15, 35, 60][random.usize(..3)];
                // A generator of their own: words that came later leave the draws of older seeds alone.
                let mut others = fastrand::Rng::with_seed(random.get_seed() ^ 0x1a7e_0000_0000_0000);
                $(
                    let newer = stringify!($word) == "reuse";
                    let random = if newer { &mut others } else { &mut *random };
                    words.$word = random.u8(..100) < chance;
                )+
                words.late = false;
                words
            }

            /// The words that are on.
            pub(super) fn list(&self) -> String {
                let mut list = Vec::new();
                $(if self.$word { list.push(stringify!($word)); })+
                list.join(",")
            }
        }
    };
}

words! {
    /// Users delete.
    delete,
    /// Users make an object again under a name that was used.
    recreate,
    /// … from an exported manifest with the old intent and finalizer; also under another name.
    copy,
    /// Users strip finalizer, annotation or both.
    strip,
    /// Users strip the status.
    stripstatus,
    /// Users edit the spec.
    edit,
    /// A tool rewrites a label.
    relabel,
    /// Processes crash.
    crash,
    /// Requests and answers are lost or late.
    lost,
    /// The API server acknowledges a finalizer on an object that a racing DELETE removes.
    race,
    /// A watch is replaced by a list, which jumps over versions.
    relist,
    /// A process that starts lists an old state.
    stale,
    /// The leader is paused, and believes for a while when it wakes up.
    pause,
    /// A second leader while the first still believes, without the fence of the term.
    overlap,
    /// The ProviderConfig is gone for a while.
    noconfig,
    /// Finds miss young instances.
    lag,
    /// Finds show instances that are gone.
    ghost,
    /// Instances vanish.
    vanish,
    /// Keys live for a short time.
    expire,
    /// The quota is used up once.
    quota,
    /// One image is refused for good.
    invalid,
    /// The provider fails: before or after applying.
    errors,
    /// A create that is repeated soon is still in work.
    inuse,
    /// A deletion takes time.
    slowdelete,
    /// The limiter holds requests back before they are sent.
    limiter,
    /// Requests take effect after their time-out: breaks an assumption.
    late,
    /// Ids of instances that went are given to somebody else's.
    reuse,
}

/// Which requests the network's faults are for: faults that fall on everything seldom meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    Everything,
    Creates,
    Writes,
    Cluster,
    Cloud,
}

/// A run's parameters.
#[derive(Clone, Debug)]
pub(super) struct Swarm {
    pub(super) words: Words,
    /// Names that users use.
    pub(super) names: usize,
    /// Faults before they stop.
    pub(super) faults: u32,
    /// Users' acts before they stop.
    pub(super) acts: u32,
    /// Steps after which faults and acts stop in any case.
    pub(super) storm: u32,
    pub(super) timeout: Duration,
    pub(super) lag: Duration,
    pub(super) key_life: Duration,
    pub(super) provisioning: Duration,
    pub(super) deletion: Duration,
    pub(super) poll: Duration,
    /// How eager time is to go on, 1 to 20.
    pub(super) haste: u32,
    /// How often faults come, 1 to 20.
    pub(super) malice: u32,
    pub(super) aim: Aim,
    /// How slow watches are, 1 (slow) to 20.
    pub(super) watch: u32,
    /// The cloud knows neither keys nor tags nor lists. Steered, never drawn.
    pub(super) basic: bool,
    /// All instances vanish at one moment. Steered, never drawn.
    pub(super) mass_loss: bool,
    /// A list in place of a watch may show an older state than the watch did. Steered, never drawn.
    pub(super) back_in_time: bool,
}

impl Swarm {
    /// A run's parameters; `words` fixes what may happen, else it is drawn.
    pub(super) fn draw(random: &mut fastrand::Rng, words: Option<Words>) -> Self {
        let drawn = Words::random(random);
        let words = words.unwrap_or(drawn);
        let choose = |random: &mut fastrand::Rng, list: &[u64]| {
            Duration::from_secs(list[random.usize(..list.len())])
        };
        let timeout = choose(random, &[5, 10, 10, 20]);
        let lag = choose(random, &[0, 1, 2, 5]);
        // Half a key's life must outlast a long pair of looks, or a settled doubt is in doubt again before it counts.
        let short_life = (timeout + lag + Duration::from_secs(5)) * 4;
        let long_life = Duration::from_hours(24);
        Self {
            names: if random.u8(..4) == 0 { 2 } else { 1 },
            faults: random.u32(1..=10),
            acts: random.u32(1..=7),
            storm: random.u32(40..=300),
            timeout,
            lag,
            key_life: if words.expire { short_life } else { long_life },
            provisioning: choose(random, &[0, 3, 20]),
            deletion: choose(random, &[2, 15]),
            poll: Duration::from_mins(5),
            haste: random.u32(1..=20),
            malice: random.u32(1..=20),
            aim: [
                Aim::Everything,
                Aim::Creates,
                Aim::Writes,
                Aim::Cluster,
                Aim::Cloud,
            ][random.usize(..5)],
            watch: random.u32(1..=20),
            basic: false,
            mass_loss: false,
            back_in_time: false,
            words,
        }
    }

    /// The one ProviderConfig.
    pub(super) fn config(&self) -> Config {
        Config {
            name: "cloud".to_owned(),
            terminating: false,
            protected: true,
            paused: false,
            watched: false,
            awaited: false,
            allow_unsafe_create: false,
            confirmed_loss: None,
            losses: Losses::default(),
            timeout: self.timeout,
            poll: self.poll,
            capabilities: if self.basic {
                Capabilities::default()
            } else {
                self.offered()
            },
        }
    }

    fn offered(&self) -> Capabilities {
        Capabilities {
            account: None,
            list: true,
            tag_filter: true,
            list_lag: self.lag,
            changes: false,
            key_lifetime: Some(self.key_life),
            delete_is_async: self.words.slowdelete,
        }
    }
}
