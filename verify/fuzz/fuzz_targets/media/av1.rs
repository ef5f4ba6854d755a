#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::av1(data));
