//! Ids that both sides use. The controller assigns them, except those of nodes and of messages, and
//! never uses one twice.
//!
//! A node may have several controllers. So an id that a controller assigns has two parts: the
//! controller's own [`ControllerId`] in the upper 24 bits, and a count in the lower 40. At 10,000
//! ids a second a count lasts for three years and a half. Then it goes on in the next part.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u64);
    };
}

macro_rules! assigned_id {
    ($(#[$doc:meta])* $name:ident) => {
        id! {
            $(#[$doc])*
            $name
        }

        impl $name {
            /// The id that a controller assigns as its `count`-th.
            pub const fn new(controller: ControllerId, count: u64) -> Self {
                Self(controller.id(count))
            }

            /// The controller that assigned it.
            pub const fn controller(self) -> ControllerId {
                ControllerId::of(self.0)
            }
        }
    };
}

/// One controller among those that command a node, as far as ids tell them apart. A controller
/// takes another one each time it starts, since it has forgotten its count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControllerId(u32);

impl ControllerId {
    const COUNT_BITS: u32 = 40;

    /// The 24 low bits of a number. A random one is another controller's in one of 17 million
    /// cases.
    pub const fn new(number: u32) -> Self {
        Self(number & (u32::MAX >> (Self::COUNT_BITS - u32::BITS)))
    }

    /// Its number, of 24 bits.
    pub const fn number(self) -> u32 {
        self.0
    }

    const fn id(self, count: u64) -> u64 {
        ((self.0 as u64) << Self::COUNT_BITS).wrapping_add(count)
    }

    const fn of(id: u64) -> Self {
        Self((id >> Self::COUNT_BITS) as u32)
    }
}

assigned_id! {
    /// One association with one peer: ICE, DTLS and SRTP, or SRTP alone for a direct one.
    TransportId
}
assigned_id! {
    /// One published source: a camera, a microphone, a shared screen (RFC 7656 "media source").
    TrackId
}
assigned_id! {
    /// One receiver's wish to get one track over one transport.
    SubscriptionId
}
id! {
    /// One media node: an agent and its data plane. The node chooses its id when it starts, at
    /// random.
    NodeId
}

/// One message that arrived on a data channel. The node it arrived at hands these out, so a
/// controller with several nodes can tell one node's messages from another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId {
    /// The node that the message arrived at.
    pub node: NodeId,
    /// Counts that node's messages.
    pub number: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_its_controller_and_its_count() {
        let id = TrackId::new(ControllerId::new(0xab_cdef), 7);
        assert_eq!(id, TrackId(0xabcd_ef00_0000_0007));
        assert_eq!(id.controller(), ControllerId::new(0xab_cdef));
    }

    #[test]
    fn the_first_controller_counts_from_one() {
        assert_eq!(TransportId::new(ControllerId::default(), 1), TransportId(1));
    }

    #[test]
    fn a_controller_has_24_bits() {
        assert_eq!(ControllerId::new(u32::MAX), ControllerId::new(0xff_ffff));
        let last = SubscriptionId::new(ControllerId::new(u32::MAX), (1 << 40) - 1);
        assert_eq!(last, SubscriptionId(u64::MAX));
    }
}
