//! Requests for functions that a relay without codecs does not have.

use super::{Flags, Wish};
use crate::call::{Refused, Role};
use crate::sdp::{Description, has_packet_time};
use crate::{Counter, Relay};

impl Relay {
    /// Refuses requests that a relay without codecs cannot meet, unless they have no effect or are
    /// tolerated.
    pub(super) fn judge_wishes(
        &mut self,
        role: Role,
        description: &Description<'_>,
        flags: &mut Flags,
    ) -> Result<(), Refused> {
        if role == Role::Answer {
            // These are about offers, and scripts send them always.
            flags.undone.forget(&[Wish::Transcode, Wish::Ptime, Wish::T38]);
        }
        let (codecs, sections) = (&flags.codecs, &description.sections);
        let names_codecs = !codecs.transcode.is_empty() || !codecs.consume.is_empty();
        if names_codecs && codecs.is_offered(sections) && !codecs.is_consumed(sections) {
            flags.undone.forget(&[Wish::Transcode]);
        }
        // Packets of that length need no repacketising.
        let mut times = [flags.ptime, flags.ptime_reverse].into_iter().flatten().peekable();
        if times.peek().is_some() && times.all(|time| has_packet_time(sections, time)) {
            flags.undone.forget(&[Wish::Ptime]);
        } else {
            flags.ptime = None;
        }
        let before = flags.undone.ignored.count;
        let refused = flags.undone.tolerate(&self.config.tolerated);
        self.counters[Counter::FlagIgnored] += flags.undone.ignored.count - before;
        match refused {
            Some(wish) => {
                self.counters.count(Counter::NgUnsupported);
                Err(Refused::Wish(wish))
            }
            None => Ok(()),
        }
    }
}
