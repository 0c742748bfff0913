//! Screen of `vmctl dash`.
