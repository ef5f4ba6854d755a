//! Media of clients: synthetic streams, and the feedback of a real client.

mod camera;
mod feedback;
mod inbound;
mod instream;
mod layers;
mod ledger;
mod outbound;
mod pacer;
mod payload;
mod publish_plan;
mod publisher;
mod schedule;
mod speech;
mod totals;

pub use camera::Camera;
pub use feedback::{FeedbackCounts, Reporter};
pub use harness::Stamp;
pub use inbound::{Carries, Inbound};
pub use instream::Shown;
pub use layers::Dependency;
pub use ledger::Ledger;
pub use outbound::{Negotiated, Outbound, Place};
pub use payload::{write_audio, write_video};
pub use publish_plan::PublishPlan;
pub use publisher::{AUDIO_PAYLOAD_LEN, AUDIO_TICKS, Publisher};
pub use schedule::VideoPlan;
pub use speech::{AUDIO_INTERVAL, Speech};
pub use totals::{Meter, Totals};
