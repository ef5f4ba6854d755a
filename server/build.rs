//! The page is embedded when the program is compiled: a new page means a new program.

fn main() {
    println!("cargo:rerun-if-changed=../web/dist");
}
