//! Every error id with its meaning: `vmctl explain VMC-…`, and the page in the docs is made from this list.

mod first;
mod second;

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
    all().find(|entry| entry.id.eq_ignore_ascii_case(id))
}

const fn entry(id: &'static str, meaning: &'static str, help: &'static str) -> Entry {
    Entry { id, meaning, help }
}

/// All of them, by id. An id never changes its meaning and is never used again.
pub(crate) fn all() -> impl Iterator<Item = &'static Entry> {
    first::ENTRIES.iter().chain(second::ENTRIES)
}

#[cfg(test)]
mod tests;
