//! Lists with limits.

use super::Flaw;

/// A list that takes no more than its limit.
pub(super) trait Bounded<T> {
    /// Adds a value that was read, if it was and there is room for it.
    fn add(&mut self, read: Option<T>, max: usize, name: &'static str) -> Result<(), Flaw>;
}

impl<T> Bounded<T> for Vec<T> {
    fn add(&mut self, read: Option<T>, max: usize, name: &'static str) -> Result<(), Flaw> {
        let value = read.ok_or(Flaw::Unreadable(name))?;
        if self.len() == max {
            return Err(Flaw::TooMany(name));
        }
        self.push(value);
        Ok(())
    }
}
