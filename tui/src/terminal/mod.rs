//! The terminal itself: its modes, its keys, and the bytes that bring a buffer to it.

mod input;
mod modes;
mod screen;

pub use input::Decoder;
pub use modes::{Modes, abandon, restore};
pub use screen::Screen;
