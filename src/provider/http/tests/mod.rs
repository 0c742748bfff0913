//! The client against servers that answer byte for byte what a test says.

mod bounds;
mod build;
mod calls;
mod feed;
mod goaway;
mod lists;
mod malformed;
mod table;
mod tls;
