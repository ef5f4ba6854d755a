//! Packets beside which the kernel has the sum of all their bytes (CHECKSUM_COMPLETE), as some
//! devices and tunnels give it: the sum stays that of the bytes.

#![allow(unsafe_code, reason = "the loader knows no flags of a trial")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::*;
use crate::relay::hook;

const BPF_PROG_TEST_RUN: libc::c_long = 10;
/// Has the kernel add up a packet before the program runs, and again afterwards
/// (`BPF_F_TEST_SKB_CHECKSUM_COMPLETE`, Linux 6.16).
const SUMMED: u32 = 1 << 2;
const REDIRECT: u32 = 7;

/// The arguments of the system call for a test run, as in `union bpf_attr`.
#[repr(C)]
#[derive(Default)]
struct Trial {
    program: u32,
    result: u32,
    len_in: u32,
    len_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_len_in: u32,
    context_len_out: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    processor: u32,
    batch: u32,
    none: u32,
}

/// Runs a frame: what the program says, and the frame then.
///
/// Errors: the kernel's; EBADMSG where the sum is not that of the packet any more.
fn run(bench: &mut Bench, frame: &[u8]) -> io::Result<(u32, Vec<u8>)> {
    let program = hook::classifier(&mut bench.offload.table.tables.loaded).expect("the object has it");
    let program = program.fd().expect("it is loaded").as_fd().as_raw_fd();
    let mut out = vec![0; frame.len()];
    let mut trial = Trial {
        program: program as u32,
        len_in: frame.len() as u32,
        len_out: out.len() as u32,
        data_in: frame.as_ptr() as u64,
        data_out: out.as_mut_ptr() as u64,
        repeat: 1,
        flags: SUMMED,
        ..Trial::default()
    };
    // SAFETY: the kernel reads and writes what the structure says, all of which outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, BPF_PROG_TEST_RUN, &raw mut trial, size_of::<Trial>()) };
    match result {
        0 => Ok((trial.result, out)),
        _ => Err(io::Error::last_os_error()),
    }
}

#[test]
fn the_sum_of_a_packet_follows_its_changes() {
    with_configs(&["near0"], |pair, like, config| {
        if config.hook != Hook::Tc {
            return;
        }
        let mut bench = Bench::with(pair, like, config);
        for (len, ttl, tos, unchecked) in [
            (12, 64, 0, false),
            (61, 3, 0x20, false),
            (172, 255, 0xff, false),
            (172, 64, 0, like.is_ipv4()),
        ] {
            let mut frame = bench.frame(&rtp(len));
            (frame.ttl, frame.tos, frame.unchecked) = (ttl, tos, unchecked);
            match run(&mut bench, &frame.bytes()) {
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    skip::skipped("nothing was tested", "the kernel is older than Linux 6.16");
                    return;
                }
                ran => {
                    let (said, out) = ran.expect("the sum is right");
                    let read = Frame::read(&out).expect("it is one");
                    assert_eq!((said, &read.payload), (REDIRECT, &rtp(len)));
                }
            }
        }
        assert_eq!(bench.count(Counter::Relayed), 4);
    });
}
