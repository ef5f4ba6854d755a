//! Every field of every method of the server API, made in every wrong way.

use fuzz::{brief, every_field, targets};

#[test]
fn no_field_of_any_method_does_harm() {
    let target = targets::named("api_schema");
    let inputs = every_field();
    assert!(inputs.len() > 1000, "{} inputs", inputs.len());
    inputs.iter().for_each(|input| brief::once(target, input));
}
