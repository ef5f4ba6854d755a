//! Buffers that are lent to another thread and reused when they are returned.

use std::collections::VecDeque;
use std::sync::Arc;

/// The buffer that was lent longest ago, if its borrower has let go of it.
pub(crate) fn take_back<T>(lent: &mut VecDeque<Arc<T>>) -> Option<Arc<T>> {
    Arc::get_mut(lent.front_mut()?)?;
    lent.pop_front()
}
