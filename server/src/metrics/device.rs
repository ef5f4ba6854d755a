//! The families that the parts of the data plane show, whatever they are.

use std::sync::Arc;

use dataplane::statistics::Kind;
use dataplane::{Family, Statistics};

use super::text::Text;

/// Writes the families of all parts, those of one name together.
pub(super) fn write(devices: &[Arc<dyn Statistics>], text: &mut Text) {
    let mut families: Vec<Family> = Vec::new();
    for family in devices.iter().flat_map(|device| device.families()) {
        match families.iter_mut().find(|known| known.name == family.name) {
            Some(known) => merge(known, family),
            None => families.push(family),
        }
    }
    for family in families {
        let name = format!("weir_{}", family.name);
        let (kind, sample_name) = match family.kind {
            Kind::Counter => ("counter", format!("{name}_total")),
            Kind::Gauge => ("gauge", name.clone()),
        };
        text.family(&name, kind, family.help);
        for sample in &family.samples {
            let labels = sample.labels.iter().map(|(label, value)| (*label, &**value));
            text.sample(&sample_name, &labels.collect::<Vec<_>>(), sample.value);
        }
    }
}

/// Adds the values of one part's family to those of another's.
fn merge(into: &mut Family, family: Family) {
    for sample in family.samples {
        match into.samples.iter_mut().find(|known| known.labels == sample.labels) {
            Some(known) => known.value += sample.value,
            None => into.samples.push(sample),
        }
    }
}
