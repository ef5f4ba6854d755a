//! The share of copies that arrive within half a frame's time after a burst.
//!
//! Source: eXpressSFU, appendix A: 64 packets at once, 100 copies of each, 20 ms.

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use harness::clock;

use crate::bare::Sink;
use crate::measure::total;
use crate::scene::Scene;
use crate::way::Way;

/// The columns of the file.
pub(crate) const HEADER: &str = "way,packets,receivers,bursts,share_within,share_arrived";

const PACKETS: u32 = 64;
const RECEIVERS: u32 = 100;
/// Measured bursts; one more precedes them.
const BURSTS: u32 = 4;
const DEADLINE: Duration = Duration::from_millis(20);
/// Time in which copies that are late arrive.
const AFTER: Duration = Duration::from_millis(200);

/// A row of the file.
pub(crate) fn measure(scene: &mut Scene, sink: &mut Sink, way: Way) -> Result<String, Box<dyn Error + Send + Sync>> {
    let running = way.start(scene, RECEIVERS)?;
    // Routes are looked up and sockets warm up.
    burst(scene, sink);
    let (mut within, mut arrived) = (0, 0);
    for _ in 0..BURSTS {
        let [soon, late] = burst(scene, sink);
        within += soon;
        arrived += late;
    }
    drop(running);
    let share = |copies: u64| format!("{:.4}", copies as f64 / f64::from(BURSTS * PACKETS * RECEIVERS));
    let cells = [
        way.name().to_owned(),
        PACKETS.to_string(),
        RECEIVERS.to_string(),
        BURSTS.to_string(),
        share(within),
        share(arrived),
    ];
    Ok(harness::csv::line(&cells))
}

/// Copies that have arrived at the deadline, and later.
fn burst(scene: &mut Scene, sink: &mut Sink) -> [u64; 2] {
    sink.clear();
    let start = clock::now();
    for _ in 0..PACKETS {
        scene.speak();
    }
    sleep(DEADLINE.saturating_sub(start.elapsed()));
    let within = total(&sink.read());
    sleep(AFTER);
    [within, total(&sink.read())]
}
