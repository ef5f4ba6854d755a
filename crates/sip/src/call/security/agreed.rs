//! Keys that both ends know, and when we give a party another one.
//!
//! A key of ours stays, because packets encrypted with it are on their way. A party that moves with
//! a new key is given another one: it may be another end, which does not know how often the
//! sequence numbers under the old one have wrapped. Under a new key none has (RFC 4568 section
//! 7.1.4).

use environment::Random;
use wire::srtp::SessionParameters;

use crate::sdp::Crypto;

/// Keys known to both ends.
#[derive(Clone, Debug)]
pub(crate) struct Agreed {
    pub(crate) ours: Crypto,
    pub(crate) theirs: Crypto,
    /// The party moved in an answer. The offer before it had our key already, so only our next
    /// description can have another.
    renew: bool,
}

impl Agreed {
    pub(in crate::call) fn new(ours: Crypto, theirs: Crypto) -> Self {
        Agreed {
            ours,
            theirs,
            renew: false,
        }
    }

    /// The party accepted a key of ours.
    pub(in crate::call) fn answered(before: Option<&Self>, ours: Crypto, theirs: Crypto, moved: bool) -> Self {
        let renew = before.is_some_and(|before| match before.is_sent_with(&theirs) {
            true => before.renew,
            false => moved,
        });
        Agreed { ours, theirs, renew }
    }

    /// Whether our key stays for a party that offers this key.
    pub(in crate::call) fn stays(&self, theirs: &Crypto, moved: bool) -> bool {
        is_answer(theirs, &self.ours) && !self.renew && (!moved || self.is_sent_with(theirs))
    }

    /// Whether the party still sends with the key that it had.
    fn is_sent_with(&self, theirs: &Crypto) -> bool {
        let [before, now] = [&self.theirs.key, &theirs.key];
        (before.key(), before.salt()) == (now.key(), now.salt())
    }
}

/// The keys to offer again, with another one in place of the agreed one if that is due.
pub(in crate::call) fn offered_again(
    offered: &[Crypto],
    agreed: Option<&Agreed>,
    random: &mut Random,
) -> (Vec<Crypto>, Option<Agreed>) {
    let (mut offered, mut agreed) = (offered.to_vec(), agreed.cloned());
    if let Some(agreed) = agreed.as_mut().filter(|agreed| agreed.renew) {
        // The same offer again gets the same key again.
        agreed.renew = false;
        for ours in offered.iter_mut().filter(|ours| ours.key == agreed.ours.key) {
            *ours = Crypto::fresh(ours.tag, ours.key.profile(), ours.key.parameters(), random);
        }
    }
    (offered, agreed)
}

/// Whether a key is used in the way that another one is: the same suite, and the same session
/// parameters, which the two ends agree on.
pub(in crate::call) fn is_answer(theirs: &Crypto, ours: &Crypto) -> bool {
    let agreed = |crypto: &Crypto| SessionParameters {
        mki: None,
        ..crypto.key.parameters()
    };
    theirs.tag == ours.tag && theirs.key.profile() == ours.key.profile() && agreed(theirs) == agreed(ours)
}
