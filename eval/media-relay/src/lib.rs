//! Measures relays for SIP calls beside each other.
