//! The committed figures 18 to 20 are those of the model.

use std::fs;
use std::path::Path;

use figures::scallop::{self, Worth};

#[test]
fn committed_files_and_the_table_are_those_of_the_model() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operate");
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let worth = scallop::worth();
    for (name, text) in scallop::files(&worth) {
        let committed = read(&docs.join("planning").join(name));
        assert!(
            committed == text,
            "docs/operate/planning/{name}: run `cargo run -p figures --bin figures18-20`"
        );
    }
    let page = read(&docs.join("planning.md"));
    let table = Worth::markdown(&worth);
    assert!(
        page.contains(&table),
        "docs/operate/planning.md lacks the table that `figures18-20` prints:\n{table}"
    );
}
