//! Finds out what the switch has, and gives it the program if it has another.
//!
//! A cookie tells whether the switch has the program. If so, its entries are read, and only what
//! differs is written. Otherwise the program is installed, which ends all entries. BMv2 keeps the
//! nodes of its multicast groups then and forgets their names, and each would copy packets for
//! ever, so groups are deleted first.

use std::collections::BTreeMap;

use p4runtime::v1;
use p4runtime::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::v1::set_forwarding_pipeline_config_request::Action;
use tonic::{Code, Status};
use tracing::info;

use super::session::{Client, Session};
use crate::entry::{Key, Value};
use crate::table_writer::BATCH_MAX;

/// Asks for the cookie of the switch's program; `None` if it has none.
pub(super) async fn cookie(mut client: Client, device: u64) -> Result<Option<u64>, Status> {
    let request = v1::GetForwardingPipelineConfigRequest {
        device_id: device,
        response_type: ResponseType::CookieOnly.into(),
    };
    match client.get_forwarding_pipeline_config(request).await {
        Ok(response) => Ok(response
            .into_inner()
            .config
            .and_then(|config| config.cookie)
            .map(|cookie| cookie.cookie)),
        // It has no program.
        Err(status) if matches!(status.code(), Code::FailedPrecondition | Code::NotFound) => Ok(None),
        Err(status) => Err(status),
    }
}

impl Session<'_> {
    /// Has the switch have the program, and learns its entries.
    pub(super) async fn reconcile(&mut self) -> Result<(), Status> {
        let found = cookie(self.client.clone(), self.device).await?;
        if found == Some(self.program.cookie) {
            let (entries, foreign) = self.read_all().await?;
            info!(entries = entries.len(), foreign, "the switch has the program");
            self.shared.handle(|core| core.found(entries, foreign));
        } else {
            self.install(found.is_some()).await?;
            info!("the program is installed on the switch");
            self.shared.handle(|core| core.installed());
        }
        Ok(())
    }

    async fn install(&mut self, has_another: bool) -> Result<(), Status> {
        if has_another {
            for wildcard in [wildcard_groups(), wildcard_sessions()] {
                let found = self.read(vec![wildcard]).await.unwrap_or_default();
                self.delete(found).await?;
            }
        }
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: self.device,
            election_id: Some(self.election()),
            action: Action::VerifyAndCommit.into(),
            config: Some(self.program.config()),
            ..Default::default()
        };
        self.client.set_forwarding_pipeline_config(request).await?;
        Ok(())
    }

    /// All entries of the switch. Those of a kind that is never written here are deleted and
    /// counted.
    async fn read_all(&mut self) -> Result<(BTreeMap<Key, Value>, usize), Status> {
        let tables = v1::Entity {
            entity: Some(v1::entity::Entity::TableEntry(v1::TableEntry::default())),
        };
        let mut entities = self.read(vec![tables]).await?;
        // A server that cannot tell is found out by its refusals of writes.
        entities.extend(self.read(vec![wildcard_groups()]).await.unwrap_or_default());
        entities.extend(self.read(vec![wildcard_sessions()]).await.unwrap_or_default());
        let mut entries = BTreeMap::new();
        let mut foreign = Vec::new();
        for entity in entities {
            match self.shared.schema.entry(&entity) {
                Some((key, value)) => drop(entries.insert(key, value)),
                None if is_entry(&entity) => foreign.push(entity),
                None => {}
            }
        }
        let count = foreign.len();
        self.delete(foreign).await?;
        Ok((entries, count))
    }

    /// Reads entities.
    pub(super) async fn read(&mut self, entities: Vec<v1::Entity>) -> Result<Vec<v1::Entity>, Status> {
        read(self.client.clone(), self.device, entities).await
    }

    /// Deletes entries whose names are not known here. One that cannot be deleted stays.
    async fn delete(&mut self, entities: Vec<v1::Entity>) -> Result<(), Status> {
        for batch in entities.chunks(BATCH_MAX) {
            let updates = batch.iter().map(|entity| v1::Update {
                r#type: v1::update::Type::Delete.into(),
                entity: Some(entity.clone()),
            });
            let request = self.write_request(updates.collect());
            match self.client.write(request).await {
                Err(status) if status.code() == Code::Unavailable => return Err(status),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads entities.
pub(super) async fn read(
    mut client: Client,
    device: u64,
    entities: Vec<v1::Entity>,
) -> Result<Vec<v1::Entity>, Status> {
    let request = v1::ReadRequest {
        device_id: device,
        entities,
        ..Default::default()
    };
    let mut responses = client.read(request).await?.into_inner();
    let mut found = Vec::new();
    while let Some(response) = responses.message().await? {
        found.extend(response.entities);
    }
    Ok(found)
}

fn wildcard_groups() -> v1::Entity {
    replication(Replication::MulticastGroupEntry(v1::MulticastGroupEntry::default()))
}

fn wildcard_sessions() -> v1::Entity {
    replication(Replication::CloneSessionEntry(v1::CloneSessionEntry::default()))
}

fn replication(entry: Replication) -> v1::Entity {
    v1::Entity {
        entity: Some(v1::entity::Entity::PacketReplicationEngineEntry(
            v1::PacketReplicationEngineEntry { r#type: Some(entry) },
        )),
    }
}

/// Whether it is an entry that can be deleted: not what a table does with packets of no entry.
fn is_entry(entity: &v1::Entity) -> bool {
    match &entity.entity {
        Some(v1::entity::Entity::TableEntry(entry)) => !entry.is_default_action && !entry.is_const,
        entity => entity.is_some(),
    }
}
