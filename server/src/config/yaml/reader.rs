//! Parts of a file as values of types.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::error::{Cause, Error};
use super::node::{Content, Entry, Node};

impl Node {
    /// Its text.
    ///
    /// Errors: it has none, and this form is expected.
    fn text(&self, form: &str) -> Result<&str, Error> {
        match &self.content {
            Content::Text(text) => Ok(text),
            Content::Nothing | Content::List(_) | Content::Map(_) => Err(Error::form(form)),
        }
    }

    /// Whether a setting of this name was left out of this mapping.
    pub(super) fn has_left_out(&self, name: &str) -> bool {
        match &self.content {
            Content::Map(entries) => entries.iter().any(|entry| entry.key == name && entry.value.is_none()),
            Content::Nothing | Content::Text(_) | Content::List(_) => false,
        }
    }

    fn number<T>(&self, form: String, parse: impl Fn(&str, u32) -> Option<T>) -> Result<T, Error> {
        let text = self.text(&form)?.replace('_', "");
        let (digits, radix) = match text.get(..2) {
            Some("0x") => (&text[2..], 16),
            Some("0o") => (&text[2..], 8),
            Some("0b") => (&text[2..], 2),
            _ => (text.as_str(), 10),
        };
        parse(digits, radix).ok_or_else(|| Error::form(form))
    }
}

macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.number(whole(<$type>::MIN as i128, <$type>::MAX as i128), |digits, radix| {
                <$type>::from_str_radix(digits, radix).ok()
            })?)
        }
    )*};
}

/// The form of a whole number.
fn whole(first: i128, last: i128) -> String {
    match last {
        last if last > i128::from(u32::MAX) => format!("a whole number of {first} or more"),
        last => format!("a whole number from {first} to {last}"),
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.content {
            Content::Nothing => visitor.visit_unit(),
            Content::Text(text) => visitor.visit_borrowed_str(text),
            Content::List(_) => self.deserialize_seq(visitor),
            Content::Map(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        const FORM: &str = "`true` or `false`";
        match self.text(FORM)?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "y" => visitor.visit_bool(true),
            "false" | "no" | "off" | "n" => visitor.visit_bool(false),
            _ => Err(Error::form(FORM)),
        }
    }

    whole_numbers! {
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    /// A text that is no number is left to the visitor, which knows the form.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.content {
            Content::Text(text) => match text.replace('_', "").parse() {
                Ok(number) => visitor.visit_f64(number),
                Err(_) => visitor.visit_borrowed_str(text),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.text("one text")?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.content {
            Content::Nothing => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.content {
            Content::List(list) => visitor.visit_seq(Elements(list.iter().enumerate())),
            Content::Nothing => visitor.visit_seq(Elements([].iter().enumerate())),
            _ => Err(Error::form("a list")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.content {
            Content::Map(entries) => {
                let mut entries = Entries::new(entries);
                let read = visitor.visit_map(&mut entries);
                // An error about a key itself comes before its value is asked for.
                read.map_err(|error| match (&error.cause, entries.value) {
                    (Cause::Twice(_), Some((number, _))) => error.within(number),
                    _ => error,
                })
            }
            Content::Nothing => visitor.visit_map(Entries::new(&[])),
            _ => Err(Error::form("a section of settings")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let form = || format!("one of {}", variants.join(", "));
        let Content::Map(entries) = &self.content else {
            let name = self.text(&form())?;
            return visitor.visit_enum(Choice { name, section: None });
        };
        match entries.as_slice() {
            [
                Entry {
                    key,
                    value: Some(section),
                    ..
                },
            ] => {
                let section = Some(section);
                let read = visitor.visit_enum(Choice { name: key, section });
                read.map_err(|error| error.within(0))
            }
            // Its section has an error that was told.
            [Entry { key, value: None, .. }] => Err(match variants.iter().find(|name| *name == key) {
                Some(name) => Cause::Missing(name).into(),
                None => Error::form(form()),
            }),
            _ => Err(Error::form(form())),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        char bytes byte_buf unit unit_struct tuple tuple_struct identifier i128 u128
    }
}

struct Elements<'de>(std::iter::Enumerate<std::slice::Iter<'de, Node>>);

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let next = self.0.next();
        next.map(|(number, node)| seed.deserialize(node).map_err(|error| error.within(number)))
            .transpose()
    }
}

struct Entries<'de> {
    rest: std::iter::Enumerate<std::slice::Iter<'de, Entry>>,
    value: Option<(usize, &'de Node)>,
}

impl<'de> Entries<'de> {
    fn new(entries: &'de [Entry]) -> Self {
        Entries {
            rest: entries.iter().enumerate(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let next = self.rest.by_ref();
        let next = next.find_map(|(number, entry)| Some((number, entry, entry.value.as_ref()?)));
        let Some((number, entry, value)) = next else {
            return Ok(None);
        };
        self.value = Some((number, value));
        let key: StrDeserializer<'_, Error> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|error| error.within(number))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (number, value) = self.value.take().expect("a value follows its key");
        seed.deserialize(value).map_err(|error| error.within(number))
    }
}

/// A choice by its name, which may have a section of settings below it.
struct Choice<'de> {
    name: &'de str,
    section: Option<&'de Node>,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let name: StrDeserializer<'_, Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.section.map(|section| &section.content) {
            None | Some(Content::Nothing) => Ok(()),
            Some(_) => Err(Error::form(format!("`{}` without settings", self.name))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        match self.section {
            Some(section) => seed.deserialize(section),
            None => Err(Error::form(format!(
                "`{}` with a section of settings below it",
                self.name
            ))),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Err(Error::form("one text"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        match self.section {
            Some(section) => section.deserialize_map(visitor),
            None => Err(Error::form(format!(
                "`{}` with a section of settings below it",
                self.name
            ))),
        }
    }
}
