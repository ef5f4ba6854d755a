//! The program as a relay of SIP calls, over loopback: a proxy that says what it would, and phones
//! that send RTP.

mod calls;
mod control;
mod phone;
mod program;
mod proxy;
