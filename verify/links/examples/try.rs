//! Prints what each scenario comes to.
use links::*;
fn main() {
    let pick = std::env::args().nth(1).unwrap_or_default();
    let seeds: u64 = std::env::args().nth(2).and_then(|s| s.parse().ok()).unwrap_or(3);
    let who = if std::env::args().nth(3).is_some() {
        Candidate::RtcInterceptor
    } else {
        Candidate::Weir
    };
    let mut bad = 0;
    for s in catalogue().iter().filter(|s| s.name.contains(&pick)) {
        let mut lines = vec![String::new(); 8];
        let mut late = 0;
        for seed in 1..=seeds {
            let t = run(s, who, seed);
            match s.kind {
                scenario::Kind::Shares => {
                    lines[0] += &format!(
                        "{:.2}/{:3} ",
                        judge::share(&t).unwrap(),
                        t.samples.iter().skip(100).map(|s| s.queue).max().unwrap().as_millis()
                    )
                }
                scenario::Kind::Follows => lines[0] += &format!("{:.2} ", judge::following(s, &t)),
                scenario::Kind::Settles => {
                    for (i, j) in judge::phases(s, &t).iter().enumerate() {
                        if lines[i].is_empty() {
                            lines[i] = format!("{:.1}: ", j.capacity / 1e6);
                        }
                        late += !j.in_time() as u32;
                        lines[i] += &format!(
                            "{}{:4.1} {:.2} {:3} | ",
                            if j.in_time() { " " } else { "*" },
                            j.settled.map_or(99.0, |s| s.as_secs_f32()),
                            j.level,
                            j.queue.as_millis()
                        );
                    }
                }
            }
            if std::env::var("TRACE").is_ok() {
                for s in t.samples.iter().step_by(2) {
                    println!(
                        "{:6.2} avail {:5.0} q {:4} {}",
                        s.at.as_secs_f32(),
                        s.available / 1e3,
                        s.queue.as_millis(),
                        s.flows
                            .iter()
                            .map(|f| format!("t {:5.0} s {:5.0}", f.target / 1e3, f.sendable / 1e3))
                            .collect::<Vec<_>>()
                            .join(" | ")
                    );
                }
            }
        }
        bad += late;
        println!("{} late {late}", s.name);
        if std::env::var("BRIEF").is_err() || late > 0 || !matches!(s.kind, scenario::Kind::Settles) {
            for l in lines.iter().filter(|l| !l.is_empty()) {
                println!("    {l}");
            }
        }
    }
    println!("LATE {bad}");
}
