//! Data blobs: requests to store and to read one, and the protocol's form of their keys.

use controller::{Blob, BlobKey, DataEncoding, GetBlob, StoreBlob};
use livekit_protocol as proto;
use livekit_protocol::data_blob_key::Key;

use crate::data::tracks::{schema, schema_told};

/// The blob that a client stores.
///
/// Errors: why it cannot be stored.
pub(crate) fn store(request: proto::StoreDataBlobRequest) -> Result<StoreBlob, &'static str> {
    let proto::DataBlob { key, contents } = request.blob.unwrap_or_default();
    let key = key.and_then(read).ok_or("data blob is invalid")?;
    if let BlobKey::Schema(schema) = &key
        && schema.encoding == DataEncoding::Custom(String::new())
    {
        return Err("encoding identifier is empty");
    }
    if contents.is_empty() {
        return Err("data blob is empty");
    }
    Ok(StoreBlob {
        request_id: request.request_id,
        blob: Blob {
            key,
            // Without what the vector may hold beyond its length.
            contents: contents.into_boxed_slice().into(),
        },
    })
}

/// The blob that a client asks for.
///
/// Errors: why the request cannot be understood.
pub(crate) fn get(request: proto::GetDataBlobRequest) -> Result<GetBlob, &'static str> {
    Ok(GetBlob {
        request_id: request.request_id,
        identity: request.participant_identity,
        key: request.key.and_then(read).ok_or("data blob key is required")?,
    })
}

fn read(key: proto::DataBlobKey) -> Option<BlobKey> {
    Some(match key.key? {
        Key::Generic(name) => BlobKey::Generic(name),
        Key::SchemaId(named) => BlobKey::Schema(schema(named)),
    })
}

/// A blob as the protocol writes it.
pub(crate) fn blob(blob: Blob) -> proto::DataBlob {
    proto::DataBlob {
        key: Some(key(blob.key)),
        contents: blob.contents.into(),
    }
}

/// A key as the protocol writes it.
pub(crate) fn key(key: BlobKey) -> proto::DataBlobKey {
    let key = match key {
        BlobKey::Generic(name) => Key::Generic(name),
        BlobKey::Schema(schema) => Key::SchemaId(schema_told(schema)),
    };
    proto::DataBlobKey { key: Some(key) }
}
