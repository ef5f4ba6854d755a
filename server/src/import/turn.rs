//! LiveKit's embedded TURN server as Weir's own.

use serde_json::{Map, Value, json};

use super::Imported;

const RELAY_PORTS: &str = "media reaches Weir within this machine: TURN needs no further ports";
const TLS_ELSEWHERE: &str =
    "a load balancer that ends TLS passes TCP to `turn: {port}`; its name stands in `turn: {urls: [...]}`";
const NO_CERTIFICATE: &str =
    "TURN over TLS is `turn: {tls: true}` with a certificate and a name in `tls:` (docs/operate/networks.md)";

impl Imported {
    /// Takes over the section `turn`.
    pub(super) fn take_turn(&mut self, turn: &Map<String, Value>) {
        if turn.get("enabled") != Some(&Value::Bool(true)) {
            return;
        }
        let port = |key| {
            turn.get(key)
                .and_then(Value::as_u64)
                .filter(|port| (1..=65_535).contains(port))
        };
        let text = |key| turn.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (udp, tls, domain) = (port("udp_port"), port("tls_port"), text("domain"));
        let mut urls = Vec::new();
        if let Some(port) = udp {
            self.set("turn.port", json!(port));
            let over = |transport| domain.map(|domain| format!("turn:{domain}:{port}?transport={transport}"));
            urls.extend(["udp", "tcp"].into_iter().filter_map(over));
        }
        let is_ended_elsewhere = turn.get("external_tls") == Some(&Value::Bool(true));
        match (tls, domain, text("cert_file"), text("key_file")) {
            (None, ..) => {}
            (Some(_), ..) if is_ended_elsewhere => self.note("turn.tls_port", TLS_ELSEWHERE),
            (Some(port), Some(domain), Some(chain), Some(key)) => {
                self.set("tls.port", json!(port));
                self.set("tls.certificates", json!([{"chain": chain, "key": key}]));
                // The port of HTTP goes on as LiveKit's does, behind a proxy for example.
                self.set("tls.redirect", json!(false));
                self.set("tls.hsts", json!(0));
                self.set("turn.tls", json!(true));
                urls.push(format!("turns:{domain}:{port}?transport=tcp"));
            }
            (Some(_), ..) => self.note("turn.tls_port", NO_CERTIFICATE),
        }
        let has_own = self.weir.contains_key("turn");
        if has_own && !urls.is_empty() {
            self.set("turn.urls", json!(urls));
        }
        if !has_own && tls.is_none() {
            self.note("turn", "it has neither `udp_port` nor `tls_port`");
        }
        for key in turn.keys() {
            match key.as_str() {
                "enabled" | "domain" | "udp_port" | "tls_port" | "cert_file" | "key_file" | "external_tls" => {}
                "relay_range_start" | "relay_range_end" => self.note(&format!("turn.{key}"), RELAY_PORTS),
                _ => self.note(&format!("turn.{key}"), "there is no such setting"),
            }
        }
    }
}
