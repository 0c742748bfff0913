//! What a new VM must be like.

use super::{Code, Refusal};

/// Most tags of a VM.
const TAGS: usize = 50;
/// Longest tag key, in characters.
const TAG_KEY: usize = 128;
/// Longest tag value, in characters.
const TAG_VALUE: usize = 256;
/// Longest image or name, in characters.
const WORD: usize = 253;
/// Most CPUs.
const CPUS: i64 = 512;
/// Least memory: 1 MiB.
const MEMORY_MIN: u128 = 1 << 20;
/// Most memory: 64 TiB.
const MEMORY_MAX: u128 = 64 << 40;

/// The body of a create, read but not yet judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewVm {
    /// Its name, if any.
    pub name: Option<String>,
    /// The image, 1–253 visible characters.
    pub image: String,
    /// CPUs, 1–512.
    pub cpu: i64,
    /// Memory as a Kubernetes quantity, 1Mi–64Ti.
    pub memory: String,
    /// At most 50 tags, each key once.
    pub tags: Vec<(String, String)>,
    /// Whether it is to be made from a snapshot.
    pub from_snapshot: bool,
}

impl NewVm {
    /// Whether such a VM can be made.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if !is_word(&self.image) {
            let message = format!("image must be 1 to {WORD} visible characters without spaces");
            return Err(Refusal::new(Code::InvalidImage, message));
        }
        self.wrong().map_or(Ok(()), |message| {
            Err(Refusal::new(Code::InvalidSpec, message))
        })
    }

    fn wrong(&self) -> Option<String> {
        if !(1..=CPUS).contains(&self.cpu) {
            return Some(format!("cpu must be 1 to {CPUS}, got {}", self.cpu));
        }
        match bytes(&self.memory) {
            None => {
                return Some("memory must be a Kubernetes quantity such as 4Gi or 512Mi".into());
            }
            Some(MEMORY_MIN..=MEMORY_MAX) => {}
            Some(_) => return Some("memory must be 1Mi to 64Ti".into()),
        }
        if self.name.as_ref().is_some_and(|name| !is_word(name)) {
            return Some(format!(
                "name must be 1 to {WORD} visible characters without spaces, or left out"
            ));
        }
        if self.from_snapshot {
            return Some("snapshotId: this cloud has no snapshots; leave it out".into());
        }
        self.wrong_tags()
    }

    fn wrong_tags(&self) -> Option<String> {
        if self.tags.len() > TAGS {
            return Some(format!("at most {TAGS} tags, got {}", self.tags.len()));
        }
        let bad = |(key, value): &&(String, String)| {
            key.is_empty() || key.chars().count() > TAG_KEY || value.chars().count() > TAG_VALUE
        };
        self.tags.iter().find(bad).map(|(key, _)| {
            let key: String = key.chars().take(TAG_KEY).collect();
            format!("tag {key:?}: a key has 1 to {TAG_KEY} characters, a value at most {TAG_VALUE}")
        })
    }
}

fn is_word(word: &str) -> bool {
    !word.is_empty()
        && word.chars().count() <= WORD
        && !word.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// The whole bytes of a Kubernetes quantity, rounded down; `None` when it is none, is negative, or has so many digits
/// that it is out of any range.
fn bytes(quantity: &str) -> Option<u128> {
    let quantity = quantity.strip_prefix('+').unwrap_or(quantity);
    let digits = quantity
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(quantity.len());
    let (number, suffix) = quantity.split_at(digits);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0
        || whole.len() > 20
        || fraction.len() > 9
        || fraction.contains('.')
    {
        return None;
    }
    let mantissa: u128 = format!("{whole}{fraction}").parse().ok()?;
    let (multiplier, divisor) = scale(suffix)?;
    mantissa
        .checked_mul(multiplier)?
        .checked_div(divisor)?
        .checked_div(10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?)
}

/// What a suffix multiplies and divides by.
fn scale(suffix: &str) -> Option<(u128, u128)> {
    if let Some(binary) = suffix.strip_suffix('i') {
        let place = ["K", "M", "G", "T", "P", "E"]
            .iter()
            .position(|known| *known == binary)?;
        return Some((1 << (10 * (place + 1)), 1));
    }
    if let Some(place) = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
        .iter()
        .position(|known| *known == suffix)
    {
        let power = |places: usize| 1000_u128.pow(u32::try_from(places).unwrap_or(0));
        return Some(if place < 3 {
            (1, power(3 - place))
        } else {
            (power(place - 3), 1)
        });
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let power = (exponent.unsigned_abs() <= 18).then(|| 10_u128.pow(exponent.unsigned_abs()))?;
    Some(if exponent < 0 { (1, power) } else { (power, 1) })
}
