#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::vp9(data));
