//! Certificates and handshakes in `/metrics`.

use std::time::Duration;

use super::text::Text;
use crate::tls::Certificates;
use crate::tls::certificate::seconds;
use crate::tls::counters::{HandshakeResult, OrderResult};

/// The families of HTTPS at this time.
pub(super) fn write(certificates: &Certificates, unix: Duration, text: &mut Text) {
    let name = "weir_tls_certificate_expiry_seconds";
    text.family(
        name,
        "gauge",
        "Seconds for which a certificate is still valid, by its first name; negative for one that has expired",
    );
    let now = seconds(unix);
    for (first_name, not_after) in certificates.expiries() {
        text.sample(name, &[("name", &first_name)], not_after.saturating_sub(now));
    }
    let name = "weir_tls_handshakes";
    text.family(name, "counter", "TLS handshakes, by result");
    for (handshake, result) in HandshakeResult::NAMES {
        let value = certificates.handshakes(handshake);
        text.sample(&format!("{name}_total"), &[("result", result)], value);
    }
    let name = "weir_tls_orders";
    text.family(
        name,
        "counter",
        "Orders of certificates at an ACME directory, by result",
    );
    for (ordered, result) in OrderResult::NAMES {
        text.sample(
            &format!("{name}_total"),
            &[("result", result)],
            certificates.orders(ordered),
        );
    }
}
