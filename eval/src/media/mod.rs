//! What clients send and receive: synthetic media, and the feedback a real client gives.

mod feedback;
mod inbound;
mod outbound;
mod payload;
mod publisher;
mod schedule;
mod stamp;
mod totals;

pub use feedback::{FeedbackCounts, Reporter};
pub use inbound::{Carries, Inbound, Wanted};
pub use outbound::{Negotiated, Outbound};
pub use payload::{DESCRIPTOR_LEN, Fragment, fragment_sizes, read_video, write_video};
pub use publisher::{PublishPlan, Publisher};
pub use schedule::{Frame, VideoPlan, VideoSchedule};
pub use stamp::Stamp;
pub use totals::{Meter, Totals};
