//! Webhooks: events of rooms, delivered to servers of the application over HTTP.
//!
//! An event is a [`Message`]: a `WebhookEvent` of the protocol in JSON. [`Queue`] decides which
//! message is sent to which receiver and when. Its caller has the sockets: it sends each
//! [`Delivery`], signed by [`sign`], and reports the [`Outcome`].
//!
//! Source: LiveKit's protocol, `livekit_webhook.proto`, and the `webhook` package of its Go module.

mod line;
mod message;
mod queue;
mod signature;

pub use message::{ABSENT_EVENTS, EVENTS, Message};
pub use queue::{Counter, Counters, Delivery, DeliveryId, Lost, Outcome, Output, Queue, Receiver, Settings};
pub use signature::sign;

/// The `Content-Type` of a message. It is no JSON by name, so that receivers check the signature
/// before they read it.
pub const CONTENT_TYPE: &str = "application/webhook+json";

#[cfg(test)]
mod tests;
