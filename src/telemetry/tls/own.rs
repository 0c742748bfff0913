//! A certificate that the process makes for itself, where nobody gives it one.

use jiff::{Timestamp, ToSpan};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use super::{Error, Pair};

/// How long it is valid. It is made anew long before.
const DAYS: i64 = 365;

/// A certificate of our own, and the authority that signed it and nothing else: its key is gone already.
#[derive(Debug)]
pub struct OwnCertificate {
    /// What to serve with.
    pub pair: Pair,
    /// The authority's certificate as PEM, for clients to check us by.
    pub authority: String,
    /// From when on another one should be made: after two thirds of its life.
    pub renew_after: Timestamp,
}

impl OwnCertificate {
    /// Makes one for these host names and addresses. `identity` tells the authorities of several processes apart.
    ///
    /// # Errors
    /// A name is none, or there is no randomness.
    pub fn make(identity: &str, names: &[String], now: Timestamp) -> Result<Self, Error> {
        let mut authority = CertificateParams::default();
        let common_name = format!("vmoperator metrics of {identity}");
        authority
            .distinguished_name
            .push(DnType::CommonName, common_name);
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        validity(&mut authority, now);
        let authority_key = KeyPair::generate().map_err(Error::Make)?;
        let certificate = authority.self_signed(&authority_key).map_err(Error::Make)?;
        let issuer = Issuer::new(authority, authority_key);
        let pair = leaf(names, now, &issuer)?;
        Ok(Self {
            pair,
            authority: certificate.pem(),
            renew_after: later(now, DAYS * 2 / 3),
        })
    }
}

fn leaf(names: &[String], now: Timestamp, issuer: &Issuer<'_, KeyPair>) -> Result<Pair, Error> {
    let mut params = CertificateParams::new(names.to_vec()).map_err(Error::Make)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "vmoperator metrics");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    validity(&mut params, now);
    let key = KeyPair::generate().map_err(Error::Make)?;
    let certificate = params.signed_by(&key, issuer).map_err(Error::Make)?;
    let whose = ("our own certificate", "our own key");
    Pair::read(
        whose,
        certificate.pem().as_bytes(),
        key.serialize_pem().as_bytes(),
    )
}

/// From the day before, for clients whose clock is behind.
fn validity(params: &mut CertificateParams, now: Timestamp) {
    // To the day: the only form that rcgen takes without another crate for time.
    let date = |at: Timestamp| {
        let day = at.to_zoned(jiff::tz::TimeZone::UTC).date();
        let part = |number: i8| u8::try_from(number).unwrap_or(1);
        rcgen::date_time_ymd(i32::from(day.year()), part(day.month()), part(day.day()))
    };
    params.not_before = date(later(now, -1));
    params.not_after = date(later(now, DAYS));
}

fn later(now: Timestamp, days: i64) -> Timestamp {
    now.checked_add((days * 24).hours()).unwrap_or(now)
}
