//! The rule for each key of LiveKit's configuration.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::config::{PortRange, is_url};
use crate::dataplane::MediaPorts;

/// One key, with everything in it.
pub(super) struct Rule {
    /// Its path in LiveKit's configuration.
    pub key: &'static str,
    /// Its path in Weir's, if it has one.
    pub weir: &'static str,
    pub takes: Takes,
    /// For a key that Weir does not have: what to do, or why there is nothing to do.
    pub note: &'static str,
}

pub(super) enum Takes {
    /// The value as it is.
    Same,
    /// The value in another form; `None` leaves the key out.
    Converted(fn(&Value) -> Result<Option<Value>, String>),
    /// The same, with a note on it.
    Explained(fn(&Value) -> Result<Explained, String>),
    Nothing,
}

/// A value of Weir's, and the note on it.
pub(super) type Explained = (Value, Option<String>);

impl Rule {
    /// Whether it is about a key inside of `section`.
    pub(super) fn is_inside(&self, section: &str) -> bool {
        self.key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
    }
}

const fn same(key: &'static str, weir: &'static str) -> Rule {
    Rule {
        key,
        weir,
        takes: Takes::Same,
        note: "",
    }
}

const fn converted(
    key: &'static str,
    weir: &'static str,
    convert: fn(&Value) -> Result<Option<Value>, String>,
) -> Rule {
    Rule {
        key,
        weir,
        takes: Takes::Converted(convert),
        note: "",
    }
}

const fn nothing(key: &'static str, note: &'static str) -> Rule {
    Rule {
        key,
        weir: "",
        takes: Takes::Nothing,
        note,
    }
}

const RANGE_END: &str = "with `port_range_start` ports of media; where `udp_port` is, neither has an effect";
const TURN_OWN: &str = "an enabled one becomes Weir's own, in `turn` and `tls` (docs/operate/networks.md)";
const TCP_ELSEWHERE: &str = "clients use TCP by themselves where UDP does not pass (docs/operate/networks.md)";
const TURN_ELSEWHERE: &str =
    "name a TURN server and the secret it shares with Weir in `turn: {...}` (docs/operate/networks.md)";
const EXTERNAL: &str =
    "clients are told of the addresses in `rtc: {node_ip: [...]}`, or of those that `use_external_ip` finds";
const ITSELF: &str = "Weir does this by itself";
const FIXED: &str = "the limit is fixed";
const STORE: &str = "it becomes the store of a cluster, in `cluster: {store: {redis: ...}}`; one machine alone needs none \
     (docs/operate/cluster.md)";
const REGION: &str = "with `redis` it becomes `cluster.region`; one machine alone has no region";
const PLACEMENT: &str =
    "the cluster chooses media nodes by region and load, without settings (docs/operate/cluster.md)";
const DIRECT: &str =
    "machines of a cluster have no messages in Redis: they talk to each other (docs/operate/cluster.md)";
const DATA: &str = "docs/use/data.md has the bounds of data channels";
const NO_SETTING: &str = "there is no such setting";

/// All keys of LiveKit 1.13's configuration, in its order.
pub(super) const RULES: &[Rule] = &[
    same("port", "port"),
    converted("bind_addresses", "bind", addresses),
    same("keys", "keys"),
    same("key_file", "key_file"),
    nothing("development", "start with `weir serve --dev`"),
    same("log_level", "log.level"),
    same("logging.level", "log.level"),
    same("logging.json", "log.json"),
    nothing(
        "logging.sample",
        "the log has no lines for packets, and never blocks a call",
    ),
    nothing("logging.pion_level", "there is no Pion"),
    nothing(
        "logging.component_levels",
        "filters by part stand in `log: {level: ...}`",
    ),
    nothing("prometheus_port", "`/metrics` is on the HTTP port"),
    nothing("prometheus.port", "`/metrics` is on the HTTP port"),
    nothing(
        "prometheus.username",
        "`/metrics` is protected by `metrics: {token: ...}`",
    ),
    nothing(
        "prometheus.password",
        "`/metrics` is protected by `metrics: {token: ...}`",
    ),
    nothing("debug_handler", NO_SETTING),
    Rule {
        key: "rtc.udp_port",
        weir: "rtc.port",
        takes: Takes::Explained(ports),
        note: "",
    },
    Rule {
        key: "rtc.port_range_start",
        weir: "rtc.port",
        takes: Takes::Explained(ports),
        note: "",
    },
    nothing("rtc.port_range_end", RANGE_END),
    same("rtc.tcp_port", "rtc.tcp_port"),
    nothing("rtc.allow_tcp_fallback", TCP_ELSEWHERE),
    nothing("rtc.tcp_fallback_rtt_threshold", TCP_ELSEWHERE),
    nothing("rtc.allow_udp_unstable_fallback", TCP_ELSEWHERE),
    nothing("rtc.force_tcp", TCP_ELSEWHERE),
    converted("rtc.node_ip", "rtc.node_ip", node_ips),
    nothing("rtc.node_ip_auto_generated", EXTERNAL),
    same("rtc.use_external_ip", "rtc.use_external_ip"),
    nothing("rtc.external_ip_only", EXTERNAL),
    nothing("rtc.advertise_internal_ip", EXTERNAL),
    nothing("rtc.skip_external_ip_validation", EXTERNAL),
    nothing("rtc.use_ice_lite", "Weir always uses ICE lite"),
    same("rtc.stun_servers", "rtc.stun_servers"),
    nothing("rtc.turn_servers", TURN_ELSEWHERE),
    converted("rtc.congestion_control.enabled", "rtc.adaptation", boolean),
    nothing(
        "rtc.congestion_control",
        "`rtc: {policy: ...}` says how a downlink is divided (docs/design/allocation.md)",
    ),
    nothing("rtc.packet_buffer_size", ITSELF),
    nothing("rtc.packet_buffer_size_video", ITSELF),
    nothing("rtc.packet_buffer_size_audio", ITSELF),
    nothing("rtc.pli_throttle", ITSELF),
    nothing(
        "rtc.enable_loopback_candidate",
        "loopback is offered where `bind` names it",
    ),
    same("rtc.interfaces", "rtc.interfaces"),
    same("rtc.ips", "rtc.ips"),
    nothing("rtc.use_mdns", "a server has no mDNS candidates"),
    nothing("rtc.strict_acks", DATA),
    nothing("rtc.batch_io", ITSELF),
    nothing("rtc.data_channel_max_buffered_amount", DATA),
    nothing("rtc.datachannel_slow_threshold", DATA),
    nothing("rtc.datachannel_lossy_target_latency", DATA),
    nothing("rtc.datachannel_data_track_target_latency", DATA),
    nothing("rtc.reconnect_on_publication_error", ITSELF),
    nothing("rtc.reconnect_on_subscription_error", ITSELF),
    nothing("rtc.reconnect_on_data_channel_error", ITSELF),
    nothing("rtc.forward_stats", "`/metrics` has what is forwarded"),
    nothing("rtc.enable_rtp_stream_restart_detection", ITSELF),
    nothing("rtc.enable_warp", NO_SETTING),
    same("room.auto_create", "room.auto_create"),
    converted("room.departure_timeout", "room.departure_timeout", seconds),
    converted("room.empty_timeout", "room.empty_timeout", seconds),
    converted("room.max_participants", "room.max_participants", unless_zero),
    nothing(
        "room.enabled_codecs",
        "clients choose among all codecs that are forwarded (docs/use/protocol.md)",
    ),
    same("room.enable_remote_unmute", "room.enable_remote_unmute"),
    nothing(
        "room.playout_delay",
        "`rtc: {playout_delay_max: ...}` bounds the delay that losses need",
    ),
    nothing("room.sync_streams", NO_SETTING),
    nothing("room.create_room_timeout", ITSELF),
    nothing("room.create_room_attempts", ITSELF),
    nothing("room.enable_full_room_in_webhooks", NO_SETTING),
    nothing("room.update_batch_target_size", ITSELF),
    nothing("room.max_metadata_size", FIXED),
    nothing("room.max_room_name_length", FIXED),
    nothing("room.max_participant_identity_length", FIXED),
    nothing("room.room_configurations", NO_SETTING),
    nothing(
        "audio",
        "`audio: {loudest: ..., from: ...}` says how many voices a large room hears",
    ),
    nothing("video", ITSELF),
    nothing("turn", TURN_OWN),
    converted("webhook.urls", "webhook.urls", urls),
    same("webhook.api_key", "webhook.api_key"),
    nothing(
        "webhook.url_notifier",
        "events wait in one queue for each room and receiver, as in `resource_url_notifier`",
    ),
    converted("webhook.resource_url_notifier.max_age", "webhook.max_age", duration),
    converted(
        "webhook.resource_url_notifier.max_depth",
        "webhook.max_depth",
        unless_zero,
    ),
    same("webhook.filter_params.include_events", "webhook.include_events"),
    same("webhook.filter_params.exclude_events", "webhook.exclude_events"),
    nothing("agents", "Weir dispatches agents without settings (docs/use/agents.md)"),
    nothing("ingress", "there is no ingress service"),
    nothing(
        "sip",
        "SIP calls go through a SIP proxy, with Weir as its relay (docs/operate/sip.md)",
    ),
    converted("limit.subscription_limit_video", "rtc.last_n", unless_zero),
    nothing("limit", FIXED),
    nothing("redis", STORE),
    nothing("region", REGION),
    nothing("node_selector", PLACEMENT),
    nothing("signal_relay", DIRECT),
    nothing("psrpc", DIRECT),
    nothing("node_stats", ITSELF),
    nothing("api", DIRECT),
    nothing("metric", "metrics of clients are dropped; `/metrics` has Weir's own"),
    nothing("trace", NO_SETTING),
    nothing("enable_data_tracks", "data tracks are always enabled"),
    nothing("enable_participant_data_blob", "data blobs are always enabled"),
];

/// A list of addresses. LiveKit takes an empty one for all.
fn addresses(value: &Value) -> Result<Option<Value>, String> {
    let texts = strings(value).ok_or("its value is no list of addresses")?;
    let named: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    if let Some(other) = named.iter().find(|text| text.parse::<IpAddr>().is_err()) {
        return Err(format!("{} is no IP address", other.escape_debug()));
    }
    Ok((!named.is_empty()).then(|| json!(named)))
}

/// One address, or one of each family.
fn node_ips(value: &Value) -> Result<Option<Value>, String> {
    match value {
        Value::Object(families) => {
            let both: Vec<Value> = ["v4", "v6"]
                .iter()
                .filter_map(|family| families.get(*family))
                .cloned()
                .collect();
            addresses(&Value::Array(both))
        }
        _ => addresses(value),
    }
}

/// A list of addresses that webhooks can be sent to.
fn urls(value: &Value) -> Result<Option<Value>, String> {
    let urls = strings(value).ok_or("its value is no list of URLs")?;
    match urls.iter().find(|url| !is_url(url)) {
        Some(other) => Err(format!("{} is no URL that webhooks are sent to", other.escape_debug())),
        None => Ok(Some(json!(urls))),
    }
}

/// A duration in the form of Go, as `1m30s`, or in nanoseconds. 0 is the default.
fn duration(value: &Value) -> Result<Option<Value>, String> {
    let nanoseconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => nanoseconds(text),
        _ => None,
    };
    let nanoseconds = nanoseconds.filter(|number| *number >= 0.0);
    let seconds = nanoseconds.ok_or("its value is no duration")? / 1e9;
    Ok((seconds > 0.0).then(|| json!(seconds)))
}

/// The nanoseconds of a text such as `1m30s`.
fn nanoseconds(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 8] = [
        ("ns", 1.0),
        ("us", 1e3),
        ("\u{b5}s", 1e3),
        ("\u{3bc}s", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("m", 60e9),
        ("h", 3600e9),
    ];
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at(digits);
        let unit = after
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum += number.parse::<f64>().ok()? * factor;
        rest = after;
    }
    (!text.is_empty()).then_some(sum)
}

/// A port, or a range, of which only the first port is taken where there cannot be as many workers.
fn ports(value: &Value) -> Result<Explained, String> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return Err("its value is no port".to_owned()),
    };
    match (text.parse::<MediaPorts>(), text.parse::<PortRange>()) {
        (Ok(ports), _) if ports.first() == 0 => Err("its value is no port".to_owned()),
        (Ok(ports), _) if ports.count() == 1 => Ok((json!(ports.first()), None)),
        (Ok(ports), _) => {
            let count = ports.count();
            let note =
                format!("{ports} makes {count} workers, one for each port; one port serves any number of workers");
            Ok((json!(ports.to_string()), Some(note)))
        }
        (Err(form), Ok(PortRange(range))) if *range.start() > 0 => {
            let first = range.start();
            let note = format!("of {text} only port {first} is used: {form}");
            Ok((json!(first), Some(note)))
        }
        (Err(form), _) => Err(form),
    }
}

/// A number that means no limit where it is 0 or less.
fn unless_zero(value: &Value) -> Result<Option<Value>, String> {
    let number = value.as_i64().ok_or("its value is no number")?;
    Ok((number > 0).then(|| json!(number)))
}

fn seconds(value: &Value) -> Result<Option<Value>, String> {
    let number = value.as_u64().ok_or("its value is no number of seconds")?;
    Ok(Some(json!(number)))
}

fn boolean(value: &Value) -> Result<Option<Value>, String> {
    let value = value.as_bool().ok_or("its value is neither true nor false")?;
    Ok(Some(json!(value)))
}

fn strings(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(one) => Some(vec![one]),
        Value::Array(all) => all.iter().map(Value::as_str).collect(),
        _ => None,
    }
}
