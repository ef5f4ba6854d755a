//! Why there is no configuration.

use std::fmt;
use std::net::SocketAddr;

/// Why there is no configuration. Each is a sentence for the operator, who must act.
#[derive(Debug)]
pub enum ConfigError {
    /// The file cannot be read.
    Unreadable(String, std::io::Error),
    /// The file is not what it should be; says the line.
    Invalid(String, String),
    /// A key is not written "key:secret".
    Key,
    /// There is nobody whose tokens would be accepted.
    NoKeys,
    /// A secret is too short to be one.
    ShortSecret(String),
    /// Calls could be controlled from other machines, and nobody said from which.
    SipForEverybody(SocketAddr),
    /// This machine has no address for the media of SIP calls.
    SipNowhere,
    /// Names in `/metrics` without a token, or with one that could be guessed, would be everybody's
    /// to read.
    NamesForEverybody,
    /// `/metrics` cannot both be everybody's and ask for a token.
    OpenAndGuarded,
    /// With a limit of nothing nobody could connect.
    NoPlaces,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Unreadable(file, error) => write!(f, "cannot read {file}: {error}"),
            ConfigError::Invalid(file, error) => write!(f, "{file}: {error}"),
            ConfigError::Key => write!(f, "an API key is written \"key:secret\""),
            ConfigError::NoKeys => {
                write!(
                    f,
                    "no API keys: set `keys:` or `key_file:` in the configuration file, or WEIR_KEYS, or use --dev to try things out"
                )
            }
            ConfigError::ShortSecret(key) => {
                write!(
                    f,
                    "the secret of API key {key} is shorter than 32 characters: anybody could guess it"
                )
            }
            ConfigError::SipForEverybody(address) => {
                write!(
                    f,
                    "`sip:` listens on {address}: say in its `allow` which addresses or networks may control calls"
                )
            }
            ConfigError::SipNowhere => {
                write!(f, "`sip:` needs an interface: say `interfaces: [{{address: ...}}]`")
            }
            ConfigError::NamesForEverybody => {
                write!(
                    f,
                    "`metrics: {{names: true}}` needs a `token` of 16 characters or more beside it"
                )
            }
            ConfigError::OpenAndGuarded => {
                write!(f, "`metrics:` has a `token` and is `open`: it can be one of the two")
            }
            ConfigError::NoPlaces => write!(f, "`limits:` need values above 0"),
        }
    }
}

impl std::error::Error for ConfigError {}
