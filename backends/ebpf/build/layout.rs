//! C to Rust, as much as a layout header may say: one definition of what both sides read and write.
//!
//! A header has comments, numbers (`#define NAME 1`), enumerations and structures of `__u8` to
//! `__u64`, arrays of them and other structures. A structure may not have holes: what a program has
//! not written the kernel would not let it read.

use std::fmt::Write;

/// The Rust of a header.
pub(crate) fn rust(header: &str) -> Result<String, String> {
    let mut writer = Writer::default();
    for (number, line) in (1..).zip(header.lines()) {
        writer
            .line(line.trim())
            .map_err(|reason| format!("line {number}: {reason}: {line}"))?;
    }
    match &writer.within {
        Within::Nothing => {
            let fingerprint = fingerprint(&writer.out);
            writer.put("/// Of all the above but comments: of two versions of a layout it differs.")?;
            writer.put(&format!("pub const FINGERPRINT: u64 = {fingerprint:#x};"))?;
            Ok(writer.out)
        }
        _ => Err("the last item does not end".to_owned()),
    }
}

/// FNV-1a.
fn fingerprint(text: &str) -> u64 {
    let code = text.lines().filter(|line| !line.starts_with("///"));
    code.flat_map(str::bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[derive(Default)]
struct Writer {
    out: String,
    within: Within,
}

#[derive(Default)]
enum Within {
    #[default]
    Nothing,
    /// Its name, and the sizes of its fields so far.
    Structure(String, Vec<String>),
    /// The next value.
    Enumeration(u32),
}

impl Writer {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(comment) = line.strip_prefix("//") {
            return self.put(&format!("///{comment}"));
        }
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        if !comment.is_empty() {
            self.put(&format!("///{comment}"))?;
        }
        match std::mem::take(&mut self.within) {
            Within::Nothing => self.item(code.trim()),
            Within::Structure(name, sizes) => self.field(code.trim(), name, sizes),
            Within::Enumeration(next) => self.value(code.trim(), next),
        }
    }

    fn item(&mut self, code: &str) -> Result<(), String> {
        match *code.split_whitespace().collect::<Vec<_>>() {
            [] | ["#pragma", "once"] | ["#include", _] => Ok(()),
            ["#define", name, value] => {
                let value: u32 = value.parse().map_err(|_| "a number is wanted")?;
                self.put(&format!("pub const {name}: u32 = {value};"))
            }
            ["struct", name, "{"] => {
                let name = camel(name);
                self.put("#[repr(C)]")?;
                self.put("#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]")?;
                self.put(&format!("pub struct {name} {{"))?;
                self.within = Within::Structure(name, Vec::new());
                Ok(())
            }
            ["enum", _, "{"] => {
                self.within = Within::Enumeration(0);
                Ok(())
            }
            _ => Err("not something a layout may say".to_owned()),
        }
    }

    fn field(&mut self, code: &str, name: String, mut sizes: Vec<String>) -> Result<(), String> {
        if code == "};" {
            self.put("}")?;
            self.put(&format!("// SAFETY: integers without holes between them, see below; any bytes are a value.\nunsafe impl aya::Pod for {name} {{}}"))?;
            return self.put(&format!(
                "const _: () = assert!(size_of::<{name}>() == {}, \"{name} has holes\");",
                sizes.join(" + ")
            ));
        }
        if !code.is_empty() {
            let (kind, field) = code
                .strip_suffix(';')
                .and_then(|code| code.rsplit_once(' '))
                .ok_or("a field is wanted")?;
            let (field, kind) = match field.strip_suffix(']').and_then(|field| field.split_once('[')) {
                Some((field, len)) if len.parse::<u32>().is_ok() => (field, format!("[{}; {len}]", type_of(kind)?)),
                Some((field, len)) => (field, format!("[{}; {len} as usize]", type_of(kind)?)),
                None => (field, type_of(kind)?),
            };
            self.put(&format!("pub {field}: {kind},"))?;
            sizes.push(format!("size_of::<{kind}>()"));
        }
        self.within = Within::Structure(name, sizes);
        Ok(())
    }

    fn value(&mut self, code: &str, next: u32) -> Result<(), String> {
        match code {
            "};" => return Ok(()),
            "" => self.within = Within::Enumeration(next),
            _ => {
                let name = code.strip_suffix(',').ok_or("a name and a comma are wanted")?;
                self.put(&format!("pub const {name}: u32 = {next};"))?;
                self.within = Within::Enumeration(next + 1);
            }
        }
        Ok(())
    }

    fn put(&mut self, text: &str) -> Result<(), String> {
        writeln!(self.out, "{text}").map_err(|error| error.to_string())
    }
}

fn type_of(kind: &str) -> Result<String, String> {
    match kind.split_whitespace().collect::<Vec<_>>()[..] {
        ["__u8"] => Ok("u8".to_owned()),
        ["__u16"] => Ok("u16".to_owned()),
        ["__u32"] => Ok("u32".to_owned()),
        ["__u64"] => Ok("u64".to_owned()),
        ["struct", name] => Ok(camel(name)),
        _ => Err("not a type a layout may have".to_owned()),
    }
}

fn camel(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    };
    name.split('_').map(word).collect()
}
