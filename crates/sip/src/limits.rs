//! Limits of all lists and sizes, and the behaviour at each.

use std::time::Duration;

/// The longest control message, in bytes; a longer one is refused before it is read.
pub const MESSAGE_MAX: usize = 65_535;

/// How deep lists and dictionaries may be nested; deeper is refused.
pub const DEPTH_MAX: usize = 16;

/// The longest cookie, in bytes; a message with a longer one is dropped.
pub const COOKIE_MAX: usize = 256;

/// How long the reply to a cookie is repeated. A proxy repeats a request for about five seconds.
pub const COOKIE_LIFE: Duration = Duration::from_secs(30);

/// How many replies are kept; the oldest goes first.
pub const COOKIES_MAX: usize = 65_536;

/// How many bytes of replies are kept; the oldest goes first.
pub const COOKIE_BYTES_MAX: usize = 32 << 20;

/// Requests that wait for the media node; one more is not answered, and the proxy asks again.
pub const REQUESTS_WAITING_MAX: usize = 4_096;

/// Pairs of ports that one request may find not to open; then it is refused.
pub const PORTS_TRIED_MAX: usize = 16;

/// The longest time to wait for the media node. After it, known counts are reported, a silent call
/// ends, and a request for ports that may not be open gets no answer.
pub const NODE_WAIT: Duration = Duration::from_millis(500);

/// Time that a source may be silent in a learning window while another one as likely sends; then
/// the other one is the party.
pub const RIVAL_WAIT: Duration = Duration::from_secs(1);

/// The longest call-id, tag, branch or label, in bytes; a request with a longer one is refused.
pub const NAME_MAX: usize = 512;

/// Media sections in a session description; a description with more is refused.
pub const SECTIONS_MAX: usize = 32;

/// The longest name of a section (`a=mid`), in bytes; a longer one passes and counts as none.
pub const MID_MAX: usize = 64;

/// Bytes of the name of a DTLS association (RFC 8842 section 4). A longer one counts as none.
pub const TLS_ID_MAX: usize = 255;

/// Formats of a section that may be removed; later ones stay.
pub const FORMATS_MAX: usize = 256;

/// Codecs in one list of a request, such as those to remove; later ones are not looked at.
pub const CODECS_MAX: usize = 64;

/// `a=crypto` lines read in a section; later ones are not looked at.
pub const CRYPTOS_MAX: usize = 16;

/// ICE candidates read in a section; later ones are not looked at.
pub const CANDIDATES_MAX: usize = 64;

/// Pairs of parties in a call (it forks); one more is refused.
pub const DIALOGUES_MAX: usize = 16;

/// Ports of ours that a packet may pass one after the other on this machine. A stream through more
/// is not relayed, as one that comes back is not.
pub const OWN_HOPS_MAX: usize = 32;

/// Tags that one party of a dialogue had, one after the other; the oldest is forgotten.
pub const TAGS_MAX: usize = 8;

/// Streams of one party whose quality is kept; further ones are not.
pub const QUALITIES_MAX: usize = 4;

/// Proxies whose requests are counted separately; further ones are counted together.
pub const PROXIES_MAX: usize = 64;

/// Calls listed by default.
pub const LIST_DEFAULT: usize = 32;

/// Names of unsupported flags kept of a request for its reply; further ones are only counted.
pub const UNDONE_MAX: usize = 16;

/// The longest of such names, in characters; the rest is cut off.
pub const UNDONE_NAME_MAX: usize = 64;

/// Names of unsupported flags that are logged of a call; further ones are in replies only.
pub const WARNED_MAX: usize = 64;

/// Names of SRTP suites in one flag about them (`SDES-no-`, `SDES-only-`, `SDES-order:`); later
/// ones are not looked at.
pub const SUITES_NAMED_MAX: usize = 32;

/// Keys of one `a=crypto` line that packets may name; further ones are left out.
pub const SDES_KEYS_MAX: usize = 8;

/// How long ports are asked for their traffic after somebody looked at rates.
pub const RATES_WATCHED: Duration = Duration::from_secs(120);

/// How often each port is asked meanwhile, at most.
pub const RATE_ROUND: Duration = Duration::from_secs(5);

/// Ports that are asked at once; the next ones follow [`RATE_PORTS_EVERY`] later, so that the agent
/// is not held up.
pub const RATE_PORTS_AT_ONCE: usize = 256;

/// See [`RATE_PORTS_AT_ONCE`].
pub const RATE_PORTS_EVERY: Duration = Duration::from_millis(20);

/// How long a call without an answer and without a packet keeps its ports in any case. After that
/// it ends for a call of another address, where no port is free or there are too many calls.
pub const UNANSWERED_MIN: Duration = Duration::from_secs(10);

/// Other machines of the cluster that calls are looked for at. Further ones are refused.
pub const PEERS_MAX: usize = 64;

/// How long another machine may take to say whether it has a call. After that it counts as one
/// without the call, and is not waited for until it says anything again.
pub const ASK_MAX: Duration = Duration::from_millis(300);

/// How long a request about a call elsewhere may take. After that it is refused. A proxy has
/// repeated it once or twice by then.
pub const PASS_MAX: Duration = Duration::from_secs(2);

/// How long after the start requests about unknown calls wait for the other machines.
pub const SETTLE_MAX: Duration = Duration::from_millis(1_500);

/// How often the machine of a request is looked for. Then the request is refused.
pub const ATTEMPTS_MAX: u32 = 4;

/// Requests whose machine is looked for, or that another machine carries out. One more is not
/// answered, and the proxy asks again.
pub const HELD_MAX: usize = 4_096;

/// Bytes of such requests.
pub const HELD_BYTES_MAX: usize = 16 << 20;

/// Calls whose machine is remembered; the first one is forgotten first.
pub const HINTS_MAX: usize = 65_536;

/// Requests of one other machine that may be on their way here; one more is refused.
pub const PASSED_MAX: usize = 1_024;
