//! Addresses from 198.18.0.0/15, the range set aside for benchmarks (RFC 2544): never loopback or link-local, which
//! Kubernetes refuses in an EndpointSlice, and never somebody's real host.

use std::net::Ipv4Addr;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// The first address of the range.
const BASE: u32 = u32::from_be_bytes([198, 18, 0, 0]);
/// Usable addresses: the range without its first and last one.
pub(super) const CAPACITY: u32 = (1 << 17) - 2;

/// One address of the range, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slot(NonZeroU32);

impl Slot {
    /// The address.
    #[must_use]
    pub fn ip(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(BASE + self.0.get())
    }
}

/// Which addresses are taken. Goes round the range, so that an address that was just freed is not given again soon.
#[derive(Debug)]
pub(super) struct AddressPool {
    taken: Vec<bool>,
    last: u32,
    free: u32,
}

impl Default for AddressPool {
    fn default() -> Self {
        Self {
            taken: vec![false; CAPACITY as usize],
            last: 0,
            free: CAPACITY,
        }
    }
}

impl AddressPool {
    /// A free address; `None` when all 131,070 are taken.
    pub(super) fn take(&mut self) -> Option<Slot> {
        if self.free == 0 {
            return None;
        }
        loop {
            self.last = self.last % CAPACITY + 1;
            if self.mark(self.last) {
                return NonZeroU32::new(self.last).map(Slot);
            }
        }
    }

    /// Takes a certain address (one that was saved); false when it is taken or outside the range.
    pub(super) fn reserve(&mut self, slot: Slot) -> bool {
        slot.0.get() <= CAPACITY && self.mark(slot.0.get())
    }

    pub(super) fn free(&mut self, slot: Option<Slot>) {
        if let Some(slot) = slot
            && let Some(taken) = self.taken.get_mut(slot.0.get() as usize - 1)
            && std::mem::take(taken)
        {
            self.free += 1;
        }
    }

    fn mark(&mut self, place: u32) -> bool {
        match self.taken.get_mut(place as usize - 1) {
            Some(taken) if !*taken => {
                *taken = true;
                self.free -= 1;
                true
            }
            _ => false,
        }
    }
}
