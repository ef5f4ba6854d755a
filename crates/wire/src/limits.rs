//! Limits of all lists and sizes in peers' messages, and the behaviour at each limit.
//!
//! A description is read in one pass. Reading it allocates at most [`DESCRIPTION_COST_BASE`] bytes
//! and [`DESCRIPTION_COST`] bytes for each byte of text, which the fuzz targets check.

/// The longest description, in bytes; a longer one is refused. A meeting of a hundred people with
/// every codec of a browser needs half of it.
pub const DESCRIPTION_MAX: usize = 1 << 20;
/// Media sections in a description; a description with more is refused.
pub const SECTIONS_MAX: usize = 512;
/// The longest value of an attribute that is kept, in bytes; a longer one is left out. The names in
/// `a=group` are not counted by this limit, but there are at most [`SECTIONS_MAX`] of them.
pub const VALUE_MAX: usize = 1024;
/// The longest name of a transport protocol, in bytes; a section with a longer one is left out.
pub const PROTOCOL_MAX: usize = 64;
/// Header extensions in a section; further ones are left out.
pub const EXTENSIONS_MAX: usize = 64;
/// The longest name of a header extension, in bytes; one with a longer name is left out.
pub const EXTENSION_URI_MAX: usize = 255;
/// Candidates in a section; further ones are left out.
pub const CANDIDATES_MAX: usize = 64;
/// Fingerprints of a section or of the session; further ones are left out.
pub const FINGERPRINTS_MAX: usize = 8;
/// ICE options of a section or of the session; further ones are left out.
pub const ICE_OPTIONS_MAX: usize = 8;
/// The longest ICE option, in bytes; a longer one is left out.
pub const ICE_OPTION_MAX: usize = 32;
/// Encoding names in a section, and versions of the media in one direction of `a=simulcast`;
/// further ones are left out.
pub const RIDS_MAX: usize = 16;
/// `a=msid` lines in a section; further ones are left out.
pub const MSIDS_MAX: usize = 16;
/// `a=ssrc` lines in a section; further ones are left out.
pub const SSRC_LINES_MAX: usize = 128;
/// `a=ssrc-group` lines in a section; further ones are left out.
pub const SSRC_GROUPS_MAX: usize = 32;
/// SSRCs in a group; a group with more is left out.
pub const SSRC_GROUP_MAX: usize = 32;

/// Bytes that reading a description of no length may allocate: [`SECTIONS_MAX`] sections, each with
/// all session-level values.
pub const DESCRIPTION_COST_BASE: usize = 3 << 20;
/// Bytes that reading a description may allocate for each byte of its text.
pub const DESCRIPTION_COST: usize = 64;
