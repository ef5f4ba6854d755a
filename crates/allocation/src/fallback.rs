//! Chooses smaller sizes to keep beside the grants, so that a lower rate is available at once.

use std::cmp::Reverse;

use crate::{BitRate, Grant, Key, Offer, Subscription};

/// A size is kept once everything sent with it is at most this part of the capacity.
const BEGINS: f64 = 0.97;

/// It is dropped when that exceeds this part: rates waver, and keeping it again takes a key frame.
const ENDS: f64 = 1.05;

/// Chooses a smaller size to keep beside the larger one that each subscription is granted: the
/// smallest of its encoding.
///
/// A smaller size that is not sent with the larger one needs a key frame. When a downlink becomes
/// narrow, that key frame is requested late and arrives last, after everything in the queue. A size
/// that was sent all along is available with the next frame. It uses only the rate that nothing
/// else needs, so it is the first to be dropped. The largest sizes come first: they have the
/// longest fall.
#[derive(Debug, Default)]
pub struct FallbackChooser {
    /// The subscriptions with a size that is kept.
    kept: Vec<Key>,
    candidates: Vec<Fallback>,
    sizes: Vec<Option<u8>>,
}

#[derive(Clone, Copy, Debug)]
struct Fallback {
    index: usize,
    key: Key,
    size: u8,
    /// The additional rate of keeping it.
    price: BitRate,
    /// The rate of the larger size.
    above: BitRate,
}

/// The sizes to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FallbackSizes<'a> {
    /// The spatial layer to keep for each subscription, in the order in which they were given.
    pub sizes: &'a [Option<u8>],
    /// The rate of all of them, beside the grants.
    pub used: BitRate,
}

impl FallbackChooser {
    /// Chooses the sizes to keep beside `grants`, which take `used` of the `carried` rate.
    pub fn choose(
        &mut self,
        carried: BitRate,
        used: BitRate,
        subscriptions: &[Subscription<'_>],
        grants: &[Grant],
    ) -> FallbackSizes<'_> {
        let granted = subscriptions.iter().zip(grants).enumerate();
        self.candidates.clear();
        self.candidates
            .extend(granted.filter_map(|(index, (subscription, grant))| candidate(index, subscription, grant)));
        self.candidates
            .sort_unstable_by_key(|candidate| (Reverse(candidate.above), candidate.key));
        self.sizes.clear();
        self.sizes.resize(subscriptions.len(), None);
        let mut all = used;
        for candidate in &self.candidates {
            let most = match self.kept.contains(&candidate.key) {
                true => carried.scaled(ENDS),
                false => carried.scaled(BEGINS),
            };
            let with_it = all.plus(candidate.price);
            if with_it <= most {
                all = with_it;
                self.sizes[candidate.index] = Some(candidate.size);
            }
        }
        let sizes = &self.sizes;
        self.candidates.retain(|candidate| sizes[candidate.index].is_some());
        self.kept.clear();
        self.kept.extend(self.candidates.iter().map(|candidate| candidate.key));
        FallbackSizes {
            sizes,
            used: all.less(used),
        }
    }
}

/// The smallest size below the granted one; `None` if that is the smallest, or the smaller is sent
/// with it anyway.
fn candidate(index: usize, subscription: &Subscription<'_>, grant: &Grant) -> Option<Fallback> {
    let target = grant.target()?;
    let same_encoding = |offer: &&Offer| offer.target.encoding == target.encoding && offer.rate > BitRate(0);
    let offers = subscription.offers.iter().filter(same_encoding);
    let size = offers.clone().map(|offer| offer.target.layer.spatial).min()?;
    if size >= target.layer.spatial {
        return None;
    }
    let of_size = offers.filter(|offer| offer.target.layer.spatial == size);
    let as_fast = of_size.filter(|offer| offer.target.layer.temporal <= target.layer.temporal);
    let (all, needed) = as_fast.fold((BitRate(0), BitRate(0)), |(all, needed), offer| {
        (all.plus(offer.rate), needed.plus(offer.needed_above))
    });
    // Larger sizes need either key frames alone, or all of it: other cases are not known.
    let goes_anyway = needed >= all.scaled(0.5);
    (!goes_anyway).then_some(Fallback {
        index,
        key: subscription.key,
        size,
        price: all.less(needed),
        above: target.cost(subscription.offers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodeTarget, Request};

    /// Three sizes that need the one below in key frames only, or always.
    fn sizes(needed: f64) -> Vec<Offer> {
        let rates = [100, 250, 850].map(BitRate::kilo);
        let offer = |(size, rate): (usize, BitRate)| Offer {
            target: DecodeTarget::new(0, size as u8, 0),
            rate,
            needed_above: rate.scaled(needed),
            size: (0, 0),
            fps: 0,
        };
        rates.into_iter().enumerate().map(offer).collect()
    }

    fn choose(keeper: &mut FallbackChooser, carried: u64, offers: &[Offer], granted: &[u8]) -> (Vec<Option<u8>>, u64) {
        let subscription = |(key, _): (usize, &u8)| Subscription {
            key: Key(key as u64),
            request: Request::VIDEO,
            offers,
        };
        let subscriptions: Vec<_> = granted.iter().enumerate().map(subscription).collect();
        let target = |size: &u8| DecodeTarget::new(0, *size, 0);
        let grants: Vec<_> = granted.iter().map(|size| Grant::Send(target(size))).collect();
        let costs = granted.iter().map(|size| target(size).cost(offers));
        let used = costs.fold(BitRate(0), BitRate::plus);
        let kept = keeper.choose(BitRate::kilo(carried), used, &subscriptions, &grants);
        (kept.sizes.to_vec(), kept.used.0 / 1_000)
    }

    #[test]
    fn the_largest_sizes_are_kept_first_within_the_room() {
        let offers = sizes(0.0);
        for (carried, kept, used) in [
            (1_450, vec![Some(0), Some(0), None], 200),
            (1_400, vec![None, Some(0), None], 100),
            (1_300, vec![None, None, None], 0),
        ] {
            let chosen = choose(&mut FallbackChooser::default(), carried, &offers, &[1, 2, 0]);
            assert_eq!(chosen, (kept, used), "{carried}");
        }
    }

    #[test]
    fn a_fallback_stays_while_it_fits() {
        let (offers, mut keeper) = (sizes(0.1), FallbackChooser::default());
        let mut keeps = |carried| choose(&mut keeper, carried, &offers, &[2]).0[0];
        assert_eq!(
            [970, 1_050, 930, 920, 970].map(&mut keeps),
            [None, Some(0), Some(0), None, None]
        );
    }

    #[test]
    fn a_layer_sent_anyway_is_no_fallback() {
        assert_eq!(
            choose(&mut FallbackChooser::default(), 9_000, &sizes(1.0), &[2]),
            (vec![None], 0)
        );
    }
}
