//! Named counters: an enum of what is counted, and one number for each.
//!
//! Every refusal of input has a counter of its own name, in every part of the system; this is what
//! they have in common.

#![forbid(unsafe_code)]

/// Makes an enum `Counter` and a struct `Counters` out of a list of names.
///
/// ```
/// counting::counters! {
///     /// What a letter box counts.
///     pub enum Counter {
///         /// Letters.
///         Letter = "letter",
///         /// Advertisements.
///         Refused = "refused",
///     }
/// }
/// let mut counters = Counters::default();
/// counters.count(Counter::Refused);
/// assert_eq!(counters[Counter::Refused], 1);
/// let names: Vec<_> = counters.iter().map(|(counter, _)| counter.name()).collect();
/// assert_eq!(names, ["letter", "refused"]);
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$outer:meta])* pub enum Counter { $($(#[$doc:meta])* $name:ident = $text:literal,)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Counter { $($(#[$doc])* $name,)* }

        impl Counter {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Counter] = &[$(Counter::$name,)*];

            /// The name in metrics and documents.
            pub const fn name(self) -> &'static str {
                match self { $(Counter::$name => $text,)* }
            }
        }

        /// One number for each [`Counter`].
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Counters([u64; Counter::ALL.len()]);

        impl Default for Counters {
            fn default() -> Self {
                Counters([0; Counter::ALL.len()])
            }
        }

        impl Counters {
            /// Counts one more.
            pub fn count(&mut self, counter: Counter) {
                self[counter] += 1;
            }

            /// Adds somebody else's.
            pub fn add(&mut self, other: &Counters) {
                self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
            }

            /// Each with its value.
            pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
                Counter::ALL.iter().map(|counter| (*counter, self[*counter]))
            }
        }

        impl ::std::ops::Index<Counter> for Counters {
            type Output = u64;
            fn index(&self, counter: Counter) -> &u64 {
                &self.0[counter as usize]
            }
        }

        impl ::std::ops::IndexMut<Counter> for Counters {
            fn index_mut(&mut self, counter: Counter) -> &mut u64 {
                &mut self.0[counter as usize]
            }
        }
    };
}
