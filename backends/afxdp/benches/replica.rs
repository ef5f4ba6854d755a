//! Measures the cost of a replica on a cable, by ring and by socket, in nanoseconds of the worker's
//! processor time, including the kernel's work.
//!
//! `cargo bench -p backend-afxdp --bench replica`, as root. One publisher sends packets of 1,200
//! bytes in bursts of one, two and three every 5 ms, as libwebrtc paces a video. Fifty receivers
//! get them encrypted. At the far end of the cable an XDP program drops them. `-- rings 2 400` or
//! `-- sockets 2 400` runs one plane with one burst size and that many bursts, for perf.

use costs::{Load, Scene, Way};
use skip::skipped;

const RECEIVERS: u32 = 50;
const BURSTS: u16 = 400;
const ROUNDS: usize = 7;

fn main() {
    let scene = match Scene::cable(1) {
        Ok(scene) => scene,
        Err(reason) => return skipped("nothing was measured", reason),
    };
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    match words.as_slice() {
        [way, burst, rest @ ..] => {
            let bursts = rest
                .first()
                .map_or(BURSTS, |bursts| bursts.parse().expect("a number of bursts"));
            let way = if way == "rings" { Way::Rings } else { Way::Sockets };
            let burst = burst.parse().expect("a number of packets");
            println!("{:.0} ns", measure(&scene, way, burst, bursts));
        }
        _ => (1..=3).for_each(|burst| compare(&scene, burst)),
    }
}

/// Alternating runs, and their medians.
fn compare(scene: &Scene, burst: u16) {
    let (mut sockets, mut rings, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (socket, ring) = (
            measure(scene, Way::Sockets, burst, BURSTS),
            measure(scene, Way::Rings, burst, BURSTS),
        );
        sockets.push(socket);
        rings.push(ring);
        ratios.push(ring / socket);
    }
    let [sockets, rings, ratio] = [sockets, rings, ratios].map(|mut runs| {
        runs.sort_by(f64::total_cmp);
        (runs[0], runs[ROUNDS / 2], runs[ROUNDS - 1])
    });
    let show = |(least, median, most): (f64, f64, f64)| format!("{median:.0} ({least:.0}-{most:.0}) ns");
    println!(
        "bursts of {burst}: sockets {}, rings {}, ratio {:.2} ({:.2}-{:.2})",
        show(sockets),
        show(rings),
        ratio.1,
        ratio.0,
        ratio.2
    );
}

/// Nanoseconds of the worker for each replica.
fn measure(scene: &Scene, way: Way, burst: u16, bursts: u16) -> f64 {
    let load = Load {
        way,
        is_encrypted: true,
        workers: 1,
        receivers: RECEIVERS,
        burst,
        bursts,
    };
    let packet = costs::measure(scene, load).unwrap_or_else(|error| panic!("{error}"));
    packet / f64::from(RECEIVERS)
}
