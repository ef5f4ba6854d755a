//! SDES towards the other side.

use wire::srtp::{SessionParameters, SrtpProfile};

use crate::sdp::suite_name;

/// SDES towards the other side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sdes {
    /// None.
    pub(crate) off: bool,
    /// Keys are padded.
    pub(crate) padded: bool,
    /// Keys state their lifetime.
    pub(crate) lifetime: bool,
    /// Keys in the description are accepted rather than DTLS, where both are offered.
    pub(crate) prefer: bool,
    /// No suites beyond the offered ones.
    pub(crate) nonew: bool,
    /// Suites not to offer.
    pub(crate) without: Vec<String>,
    /// The only suites to offer.
    pub(crate) only: Vec<String>,
    /// Suites to put first, in this order.
    pub(crate) order: Vec<String>,
    /// Suites to accept rather than others, in this order.
    pub(crate) offerer_order: Vec<String>,
    /// The protection to leave out.
    pub(crate) leaves_out: SessionParameters,
}

impl Sdes {
    /// Whether a suite may pass.
    pub(crate) fn wants(&self, suite: &str) -> bool {
        match self.only.is_empty() {
            _ if self.nonew => true,
            true => !names(&self.without, suite),
            false => names(&self.only, suite),
        }
    }

    /// Whether a suite is offered, and accepted before others. One without encryption is where the
    /// proxy names it: nobody is to have it because of a list that it is the end of.
    pub(crate) fn offers(&self, suite: SrtpProfile) -> bool {
        let name = suite_name(suite);
        let is_named = || names(&self.only, name) || names(&self.order, name) || names(&self.offerer_order, name);
        self.wants(name) && (!suite.is_null() || is_named())
    }

    /// The position of a suite: the first is 0.
    pub(crate) fn rank(&self, suite: &str) -> usize {
        place(&self.order, suite)
    }

    /// The same for accepting.
    pub(crate) fn rank_for_offerer(&self, suite: &str) -> usize {
        place(&self.offerer_order, suite)
    }

    /// The session parameters of an offered key. AEAD has none of these omissions.
    pub(crate) fn parameters(&self, suite: SrtpProfile) -> SessionParameters {
        if suite.is_aead() {
            SessionParameters::default()
        } else {
            self.leaves_out
        }
    }
}

fn names(list: &[String], suite: &str) -> bool {
    list.iter().any(|other| other.eq_ignore_ascii_case(suite))
}

fn place(list: &[String], suite: &str) -> usize {
    let place = list.iter().position(|other| other.eq_ignore_ascii_case(suite));
    place.unwrap_or(list.len())
}
