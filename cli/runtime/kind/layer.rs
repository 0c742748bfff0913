//! A layer of an image: files in a tar archive, and its digest. The same files give the same bytes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ring::digest::{Context, SHA256};

use super::hex;
use super::libraries::Placed;

/// A writer that passes everything on and sums it up.
struct Summed<W> {
    inner: W,
    sum: Context,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.sum.update(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Writes the files as a layer; returns its digest, 64 hexadecimal digits.
///
/// # Errors
/// A file cannot be read, or the layer not be written.
pub(crate) fn write(files: &[Placed], layer: &Path) -> io::Result<String> {
    let writer = Summed {
        inner: BufWriter::new(File::create(layer)?),
        sum: Context::new(&SHA256),
    };
    let mut tar = tar::Builder::new(writer);
    for placed in files {
        let mut file = File::open(&placed.from)?;
        let mut header = header(file.metadata()?.len());
        tar.append_data(&mut header, &placed.to, &mut file)?;
    }
    let mut writer = tar.into_inner()?;
    writer.flush()?;
    Ok(hex(writer.sum.finish().as_ref(), 32))
}

/// Adds a file of some bytes to an archive.
///
/// # Errors
/// The archive cannot be written.
pub(crate) fn append<W: Write>(
    tar: &mut tar::Builder<W>,
    path: &str,
    content: &[u8],
) -> io::Result<()> {
    let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
    tar.append_data(&mut header(size), path, content)
}

/// Of root, readable and executable by everybody, without a date.
fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o755);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}
