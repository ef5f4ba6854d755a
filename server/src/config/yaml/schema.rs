//! The names of all settings of a type.

use std::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::error::Error;

/// The deepest setting. A type that holds itself has an end with it.
const DEPTH_MAX: usize = 6;

/// The dotted names of all settings that a type has; `*` is a name that the user chooses.
///
/// The type is asked to read each setting by itself; the fields that it names are the next ones.
pub(super) fn names<T: DeserializeOwned>() -> Vec<String> {
    let mut names: Vec<Vec<&'static str>> = vec![Vec::new()];
    let mut asked = 0;
    while let Some(path) = names.get(asked).cloned() {
        asked += 1;
        let found = RefCell::new(&[] as &[&'static str]);
        let asking = Question {
            path: &path,
            found: &found,
        };
        // It is an error that ends each question.
        let _ = T::deserialize(asking);
        if path.len() < DEPTH_MAX {
            names.extend(
                found
                    .into_inner()
                    .iter()
                    .map(|name| [path.as_slice(), &[*name]].concat()),
            );
        }
    }
    names[1..].iter().map(|path| path.join(".")).collect()
}

/// The question about the fields of the setting at a path.
#[derive(Clone, Copy)]
struct Question<'a> {
    path: &'a [&'static str],
    found: &'a RefCell<&'static [&'static str]>,
}

impl Question<'_> {
    fn end<T>() -> Result<T, Error> {
        Err(Error::form(""))
    }

    fn visit<'de, V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        if self.path.is_empty() {
            self.found.replace(fields);
            return Self::end();
        }
        visitor.visit_map(One(Some(self)))
    }
}

impl<'de> Deserializer<'de> for Question<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Self::end()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(One(Some(self)))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit(&["*"], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.visit(fields, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct tuple tuple_struct enum identifier ignored_any
    }
}

/// A list or a mapping of the one part that is asked for.
struct One<'a>(Option<Question<'a>>);

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.take().map(|question| seed.deserialize(question)).transpose()
    }
}

impl<'de> MapAccess<'de> for One<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.0.and_then(|question| question.path.first()) else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, Error> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some(question) = self.0.take() else {
            return Question::end();
        };
        let path = &question.path[1..];
        seed.deserialize(Question { path, ..question })
    }
}
