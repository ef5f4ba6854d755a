//! GHASH: a message as a polynomial over GF(2^128), its value at the hash key.
//!
//! The standard writes elements with their lowest term first; as numbers they are the other way
//! round, and a product comes out one bit too low. The hash key is kept times x to make up for it.
//! Products are summed before they are reduced, so that a group is reduced once.
//!
//! Source: NIST SP 800-38D section 6.4; Gueron and Kounavis, "Intel Carry-Less Multiplication
//! Instruction and its Usage for Computing the GCM Mode".

use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::{BLOCK, GROUP, VECTOR, VECTORS, number};

/// One for each block of a group, and one for the block of lengths.
const POWERS: usize = GROUP / BLOCK + 1;

/// The field's polynomial x^128 + x^7 + x^2 + x + 1, lowest term first, without the term that does
/// not fit.
const POLYNOMIAL: u128 = (0xc2 << 120) | 1;

/// The hash key's powers.
///
/// Shape: the highest first, so that the last `n` are those of `n` blocks, in their order.
#[repr(C)]
pub(super) struct HashKey([__m128i; POWERS]);

impl HashKey {
    #[target_feature(enable = "avx512bw,vaes,vpclmulqdq")]
    pub(super) fn new(key: __m128i) -> Self {
        let key = (u128::from(_mm_extract_epi64::<1>(key) as u64) << 64) | u128::from(_mm_cvtsi128_si64(key) as u64);
        let key = number((key << 1) ^ ((key >> 127) * POLYNOMIAL));
        let (mut powers, mut power) = ([key; POWERS], key);
        for place in powers.iter_mut().rev() {
            *place = power;
            let mut product = Sum::zero();
            product.add(_mm512_zextsi128_si512(power), _mm512_zextsi128_si512(key));
            power = product.reduced();
        }
        HashKey(powers)
    }

    /// Four powers for four of the last `blocks` blocks: their first is that of the first one. One
    /// is left at least, and beyond the last there is zero.
    #[target_feature(enable = "avx512bw,vaes,vpclmulqdq")]
    #[inline]
    pub(super) fn from(&self, blocks: usize) -> __m512i {
        let powers = &self.0[POWERS - blocks..];
        let mask = 0xff >> (8 - 2 * blocks.min(VECTOR / BLOCK));
        // SAFETY: the mask has two bits for each of the powers that are there.
        unsafe { _mm512_maskz_loadu_epi64(mask, powers.as_ptr().cast()) }
    }

    /// The powers for a group, without one for lengths.
    #[target_feature(enable = "avx512bw,vaes,vpclmulqdq")]
    #[inline]
    pub(super) fn of_group(&self) -> [__m512i; VECTORS] {
        [self.from(16), self.from(12), self.from(8), self.from(4)]
    }

    /// The hash behind what is authenticated and not encrypted.
    #[target_feature(enable = "avx512bw,vaes,vpclmulqdq")]
    #[inline]
    pub(super) fn clear(&self, clear: &[u8]) -> __m128i {
        let mut hash = _mm_setzero_si128();
        for part in clear.chunks(VECTOR) {
            let mask = u64::MAX >> (VECTOR - part.len());
            // SAFETY: the mask has a bit for each of the chunk's bytes.
            let part_padded = unsafe { _mm512_maskz_loadu_epi8(mask, part.as_ptr().cast()) };
            let blocks = _mm512_xor_si512(reversed_each(part_padded), _mm512_zextsi128_si512(hash));
            let mut sum = Sum::zero();
            sum.add(blocks, self.from(part.len().div_ceil(BLOCK)));
            hash = sum.reduced();
        }
        hash
    }
}

impl Zeroize for HashKey {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// Products of blocks and powers, in four lanes, not yet reduced.
pub(super) struct Sum {
    low: __m512i,
    middle: __m512i,
    high: __m512i,
}

impl Sum {
    #[target_feature(enable = "avx512bw,vaes,vpclmulqdq")]
    #[inline]
    pub(super) fn zero() -> Self {
        let zero = _mm512_setzero_si512();
        Sum {
            low: zero,
            middle: zero,
            high: zero,
        }
    }

    #[target_feature(enable = "avx512bw,vaes,vpclmulqdq")]
    #[inline]
    pub(super) fn add(&mut self, blocks: __m512i, powers: __m512i) {
        let (left, right) = (
            _mm512_clmulepi64_epi128::<0x01>(blocks, powers),
            _mm512_clmulepi64_epi128::<0x10>(blocks, powers),
        );
        self.low = _mm512_xor_si512(self.low, _mm512_clmulepi64_epi128::<0x00>(blocks, powers));
        self.middle = _mm512_ternarylogic_epi64::<XOR>(self.middle, left, right);
        self.high = _mm512_xor_si512(self.high, _mm512_clmulepi64_epi128::<0x11>(blocks, powers));
    }

    /// The sum of all lanes as an element of the field: the low half is folded into the middle, and
    /// that into the high half.
    #[target_feature(enable = "avx512bw,vaes,vpclmulqdq")]
    #[inline]
    pub(super) fn reduced(self) -> __m128i {
        let middle = _mm512_xor_si512(self.middle, folded(self.low));
        let sum = _mm512_xor_si512(self.high, folded(middle));
        let half = _mm256_xor_si256(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum));
        _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half))
    }
}

/// The truth table of a sum of three.
const XOR: i32 = 0x96;

/// One step of reduction in each lane: the polynomial times its lower half, added to the lane with
/// its halves swapped.
#[target_feature(enable = "avx512bw,vaes,vpclmulqdq")]
#[inline]
fn folded(lanes: __m512i) -> __m512i {
    let polynomial = _mm512_broadcast_i32x4(number(POLYNOMIAL));
    let product = _mm512_clmulepi64_epi128::<0x01>(polynomial, lanes);
    _mm512_xor_si512(product, _mm512_shuffle_epi32::<0b01_00_11_10>(lanes))
}

/// A block's bytes in reverse order: from bytes to a number, and back.
#[target_feature(enable = "avx512bw,vaes,vpclmulqdq")]
#[inline]
pub(super) fn reversed(block: __m128i) -> __m128i {
    _mm_shuffle_epi8(block, number(REVERSE))
}

/// The same in each lane.
#[target_feature(enable = "avx512bw,vaes,vpclmulqdq")]
#[inline]
pub(super) fn reversed_each(blocks: __m512i) -> __m512i {
    _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(number(REVERSE)))
}

/// Each byte's new place.
const REVERSE: u128 = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f;
