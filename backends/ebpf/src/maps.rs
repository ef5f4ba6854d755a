//! Maps of a loaded object.

use aya::Ebpf;
use aya::maps::{Map, MapError};

use crate::{EbpfError, Step};

/// Takes a map out of the object under the type that its program gives it.
pub(crate) fn take<T: TryFrom<Map, Error = MapError>>(loaded: &mut Ebpf, name: &str) -> Result<T, EbpfError> {
    let map = loaded.take_map(name).expect("the object has it");
    T::try_from(map).map_err(|error| EbpfError::inside(Step::Tables, error))
}
