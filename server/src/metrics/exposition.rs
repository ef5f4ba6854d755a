//! The two text formats of `/metrics`: OpenMetrics, and Prometheus' own of version 0.0.4, which has
//! other names for types and names a counter with its `_total`.
//!
//! Source: OpenMetrics 1.0; Prometheus, "Exposition formats".

/// The media type of OpenMetrics.
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The media type of the other format.
pub(crate) const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a client asks for OpenMetrics in its `Accept` headers, and does not prefer plain text.
pub(crate) fn is_open_metrics<'a>(accept: impl Iterator<Item = &'a str>) -> bool {
    let (mut open, mut plain) = (0.0, 0.0);
    for kind in accept.flat_map(|value| value.split(',')) {
        let mut parts = kind.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
        let weight: f32 = weight.unwrap_or(1.0);
        match name.as_str() {
            "application/openmetrics-text" => open = weight.max(open),
            "text/plain" => plain = weight.max(plain),
            _ => {}
        }
    }
    open > 0.0 && open >= plain
}

/// The same metrics in Prometheus' own format.
pub(crate) fn plain(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let (mut help, mut at_one_moment) = ("", None);
    for line in open_metrics.lines() {
        if let Some(said) = line.strip_prefix("# HELP ") {
            help = said;
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|said| said.split_once(' ')) {
            at_one_moment = Some(name).filter(|_| kind == "gaugehistogram");
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "gaugehistogram" => ("", "histogram"),
                "unknown" if name.ends_with("_total") => ("", "counter"),
                "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            if let Some((_, said)) = help.split_once(' ').filter(|(named, _)| *named == name) {
                text += &format!("# HELP {name}{suffix} {said}\n");
            }
            text += &format!("# TYPE {name}{suffix} {kind}\n");
        } else if !line.starts_with('#') {
            // A distribution at one moment has other names for its sum and its count there.
            let rest = at_one_moment.and_then(|name| line.strip_prefix(name)?.strip_prefix("_g"));
            match (at_one_moment, rest) {
                (Some(name), Some(rest)) => text += &format!("{name}_{rest}\n"),
                _ => text += &format!("{line}\n"),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_get_open_metrics_if_they_ask_for_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (accept, expected) in [
            (&[][..], false),
            (&["*/*"], false),
            (&["text/plain"], false),
            (&[prometheus], true),
            (&["application/openmetrics-text"], true),
            (&["text/html", "Application/OpenMetrics-Text; version=1.0.0"], true),
            (&["application/openmetrics-text;q=0.1, text/plain;q=0.9"], false),
            (&["application/openmetrics-text;q=0"], false),
        ] {
            assert_eq!(is_open_metrics(accept.iter().copied()), expected, "{accept:?}");
        }
    }

    #[test]
    fn types_have_the_names_of_the_other_format() {
        let open = "# HELP a Things.\n# TYPE a counter\na_total{b=\"c\"} 1\n# HELP b One.\n# TYPE b gaugehistogram\n\
                    b_bucket{le=\"+Inf\"} 3\nb_gcount 3\nb_gsum 4.5\n# HELP w Build.\n# TYPE w info\nw_info{v=\"1\"} 1\n\
                    # TYPE d gauge\n# UNIT d seconds\nd 2\n# EOF\n";
        let expected = "# HELP a_total Things.\n# TYPE a_total counter\na_total{b=\"c\"} 1\n# HELP b One.\n\
                        # TYPE b histogram\nb_bucket{le=\"+Inf\"} 3\nb_count 3\nb_sum 4.5\n# HELP w_info Build.\n\
                        # TYPE w_info gauge\nw_info{v=\"1\"} 1\n# TYPE d gauge\nd 2\n";
        assert_eq!(plain(open), expected);
    }
}
