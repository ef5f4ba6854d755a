//! An ACME directory (RFC 8555) of a test's own: one account and one order at a time. It checks
//! names as it should, and no signatures.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::authority::Authority;
use crate::checks::{by_http, by_tls};

/// A running directory, until the end of the process.
pub(crate) struct Directory {
    port: u16,
    root: CertificateDer<'static>,
    state: Arc<Mutex<State>>,
}

struct State {
    base: String,
    authority: Authority,
    /// Ports of this machine where names are checked, of HTTP and of HTTPS.
    ports: [u16; 2],
    nonces: BTreeSet<String>,
    issued_nonces: u64,
    /// The number of the account that is known.
    account: usize,
    thumbprint: String,
    names: Vec<String>,
    /// Whether a name that was checked is the server's.
    checked: BTreeMap<String, bool>,
    chain: Option<String>,
    orders: usize,
}

/// An answer: status, further headers, and body.
type Answer = (u16, Vec<(&'static str, String)>, String);

impl Directory {
    /// Starts one that checks names at these ports of this machine.
    pub(crate) fn start(ports: [u16; 2]) -> Self {
        let authority = Authority::new();
        let own = authority.issue(&["localhost", "127.0.0.1"], 4000);
        let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_no_client_auth()
            .with_single_cert(vec![own.der], key)
            .expect("they belong together");
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let root = authority.der();
        let state = Arc::new(Mutex::new(State {
            base: format!("https://localhost:{port}"),
            authority,
            ports,
            nonces: BTreeSet::new(),
            issued_nonces: 0,
            account: 0,
            thumbprint: String::new(),
            names: Vec::new(),
            checked: BTreeMap::new(),
            chain: None,
            orders: 0,
        }));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (config, state) = (config.clone(), shared.clone());
                std::thread::spawn(move || serve(stream, config, &state));
            }
        });
        Directory { port, root, state }
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        format!("https://localhost:{}/directory", self.port)
    }

    /// The certificate that its own and those that it issues are signed by.
    pub(crate) fn root(&self) -> CertificateDer<'static> {
        self.root.clone()
    }

    /// The same in PEM.
    pub(crate) fn root_pem(&self) -> String {
        self.state.lock().expect("nobody panics with it").authority.pem()
    }

    /// Knows the account there is no longer.
    pub(crate) fn forget_account(&self) {
        self.state.lock().expect("nobody panics with it").account += 1;
    }

    /// How many orders there were.
    pub(crate) fn orders(&self) -> usize {
        self.state.lock().expect("nobody panics with it").orders
    }
}

/// Answers one request.
fn serve(stream: TcpStream, config: Arc<ServerConfig>, state: &Mutex<State>) {
    let connection = ServerConnection::new(config).expect("the settings are whole");
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    let Some((method, path, body)) = read(&mut stream) else {
        return;
    };
    let mut state = state.lock().expect("nobody panics with it");
    let (status, headers, body) = state.answer(&method, &path, &body);
    let nonce = state.nonce();
    drop(state);
    let mut answer = format!(
        "HTTP/1.1 {status} it\r\nconnection: close\r\nreplay-nonce: {nonce}\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        answer += &format!("{name}: {value}\r\n");
    }
    answer += "\r\n";
    if method != "HEAD" {
        answer += &body;
    }
    let stream = stream.get_mut();
    // A client that is gone needs no answer.
    let _ = stream.write_all(answer.as_bytes());
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

/// A request: method, path, and body.
fn read(stream: &mut impl BufRead) -> Option<(String, String, Vec<u8>)> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut len = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            len = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; len];
    stream.read_exact(&mut body).ok()?;
    Some((method, path, body))
}

impl State {
    fn answer(&mut self, method: &str, path: &str, body: &[u8]) -> Answer {
        match (method, path) {
            ("GET", "/directory") => return (200, Vec::new(), self.directory().to_string()),
            ("HEAD", "/nonce") => return (200, Vec::new(), String::new()),
            ("POST", _) => {}
            _ => return problem(404, "malformed", "there is no such resource"),
        }
        let Some((protected, payload)) = signed(body) else {
            return problem(400, "malformed", "the body is not a signed object");
        };
        let nonce = protected["nonce"].as_str().unwrap_or_default();
        // The first one of a client is refused, as directories may do with any.
        if !self.nonces.remove(nonce) || nonce == "nonce-2" {
            return problem(400, "badNonce", "this nonce is not known");
        }
        if protected["url"] != format!("{}{path}", self.base) {
            return problem(400, "unauthorized", "it was signed for another URL");
        }
        if protected["kid"].is_string() && protected["kid"] != self.account() {
            return problem(400, "accountDoesNotExist", "this account is not known");
        }
        let (resource, number) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
        match resource {
            "new-account" => self.make_account(&protected["jwk"]),
            "new-order" => self.make_order(&payload),
            "order" => self.told(self.order()),
            "authorization" => self.told(self.authorization(number)),
            "challenge" => self.check(number),
            "finalize" => self.finalize(&payload),
            "certificate" => (200, Vec::new(), self.chain.clone().unwrap_or_default()),
            _ => problem(404, "malformed", "there is no such resource"),
        }
    }

    fn nonce(&mut self) -> String {
        self.issued_nonces += 1;
        let nonce = format!("nonce-{}", self.issued_nonces);
        self.nonces.insert(nonce.clone());
        nonce
    }

    fn told(&self, it: Value) -> Answer {
        (200, Vec::new(), it.to_string())
    }

    fn directory(&self) -> Value {
        let url = |path: &str| format!("{}/{path}", self.base);
        json!({ "newNonce": url("nonce"), "newAccount": url("new-account"), "newOrder": url("new-order") })
    }

    fn make_account(&mut self, jwk: &Value) -> Answer {
        // RFC 7638 section 3.
        let canonical = format!(
            r#"{{"crv":{},"kty":{},"x":{},"y":{}}}"#,
            jwk["crv"], jwk["kty"], jwk["x"], jwk["y"]
        );
        self.thumbprint = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(canonical));
        self.account += 1;
        (
            201,
            vec![("location", self.account())],
            json!({ "status": "valid" }).to_string(),
        )
    }

    fn account(&self) -> String {
        format!("{}/account/{}", self.base, self.account)
    }

    fn make_order(&mut self, payload: &Value) -> Answer {
        let identifiers = payload["identifiers"].as_array().cloned().unwrap_or_default();
        let names = identifiers.iter().filter_map(|identifier| identifier["value"].as_str());
        self.names = names.map(str::to_owned).collect();
        (self.checked, self.chain) = (BTreeMap::new(), None);
        self.orders += 1;
        let location = format!("{}/order/1", self.base);
        (201, vec![("location", location)], self.order().to_string())
    }

    fn order(&self) -> Value {
        let checked = |result: bool| self.checked.values().filter(|other| **other == result).count();
        let status = match &self.chain {
            Some(_) => "valid",
            None if checked(false) > 0 => "invalid",
            None if checked(true) == self.names.len() => "ready",
            None => "pending",
        };
        let numbers = 0..self.names.len();
        let authorizations: Vec<String> = numbers
            .map(|number| format!("{}/authorization/{number}", self.base))
            .collect();
        let mut order = json!({
            "status": status,
            "authorizations": authorizations,
            "finalize": format!("{}/finalize", self.base),
        });
        if self.chain.is_some() {
            order["certificate"] = json!(format!("{}/certificate", self.base));
        }
        order
    }

    fn authorization(&self, number: &str) -> Value {
        let name = self.name(number);
        let status = match self.checked.get(&name) {
            None => "pending",
            Some(true) => "valid",
            Some(false) => "invalid",
        };
        let challenges = ["tls-alpn-01", "http-01", "dns-01"].map(|kind| self.challenge(number, kind, status));
        json!({
            "status": status,
            "identifier": { "type": "dns", "value": name },
            "challenges": challenges,
        })
    }

    fn challenge(&self, number: &str, kind: &str, status: &str) -> Value {
        let mut challenge = json!({
            "type": kind,
            "status": status,
            "url": format!("{}/challenge/{number}-{kind}", self.base),
            "token": format!("token-{number}"),
        });
        if status == "invalid" {
            challenge["error"] =
                json!({ "type": "urn:ietf:params:acme:error:incorrectResponse", "detail": "not yours" });
        }
        challenge
    }

    /// Checks a name at once. The result is told with the authorization.
    fn check(&mut self, challenge: &str) -> Answer {
        let (number, kind) = challenge.split_once('-').unwrap_or_default();
        let name = self.name(number);
        let token = format!("token-{number}");
        let key_authorization = format!("{token}.{}", self.thumbprint);
        let [http, tls] = self.ports;
        let is_right = match kind {
            "http-01" => by_http(http, &name, &token, &key_authorization),
            "tls-alpn-01" => by_tls(tls, &name, &key_authorization),
            _ => false,
        };
        self.checked.insert(name, is_right);
        self.told(self.challenge(number, kind, "processing"))
    }

    fn finalize(&mut self, payload: &Value) -> Answer {
        if self.order()["status"] != "ready" {
            return problem(403, "orderNotReady", "names are not checked");
        }
        let request = payload["csr"].as_str().unwrap_or_default();
        let request = BASE64_URL_SAFE_NO_PAD.decode(request).unwrap_or_default();
        self.chain = self.authority.sign(request);
        match self.chain {
            Some(_) => self.told(self.order()),
            None => problem(400, "badCSR", "the request cannot be read"),
        }
    }

    fn name(&self, number: &str) -> String {
        let number: usize = number.parse().unwrap_or(usize::MAX);
        self.names.get(number).cloned().unwrap_or_default()
    }
}

/// The header and the content of a signed object (RFC 7515 section 7.2.2).
fn signed(body: &[u8]) -> Option<(Value, Value)> {
    let object: Value = serde_json::from_slice(body).ok()?;
    let part = |name: &str| BASE64_URL_SAFE_NO_PAD.decode(object[name].as_str()?).ok();
    let protected = serde_json::from_slice(&part("protected")?).ok()?;
    let payload = match &part("payload")?[..] {
        [] => Value::Null,
        bytes => serde_json::from_slice(bytes).ok()?,
    };
    Some((protected, payload))
}

fn problem(status: u16, kind: &str, detail: &str) -> Answer {
    let body = json!({ "type": format!("urn:ietf:params:acme:error:{kind}"), "detail": detail });
    (status, Vec::new(), body.to_string())
}
