use std::time::Duration;

/// Times of a participant's progress, from the beginning of its connection.
///
/// Clients look at arrivals every few milliseconds, light ones every ten: these times are too large
/// by up to that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Milestones {
    /// The server let it in.
    pub joined: Option<Duration>,
    /// A transport has keys.
    pub connected: Option<Duration>,
    /// The first media packet arrived.
    pub first_media: Option<Duration>,
    /// It publishes all and hears everyone it is to hear.
    pub complete: Option<Duration>,
    /// It could show all it is to show: each video began with a key frame.
    pub decodable: Option<Duration>,
}

impl Milestones {
    /// Notes the first time.
    pub fn note(milestone: &mut Option<Duration>, after: Duration, reached: bool) {
        if reached {
            milestone.get_or_insert(after);
        }
    }
}
