//! The forwarding pipeline: verified, saved, committed, read back.

use p4runtime::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::v1::{
    self, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest, SetForwardingPipelineConfigRequest,
};
use tonic::Code;

use super::Device;
use super::pipeline::Pipeline;
use super::refusal::{Refusal, invalid, refuse};

impl Device {
    /// Sets the pipeline. A push clears all entries, counters and registers, and forgets groups
    /// and sessions without deleting them; so does BMv2.
    pub fn set_pipeline(&mut self, request: &SetForwardingPipelineConfigRequest) -> Result<(), Refusal> {
        self.check_device(request.device_id)?;
        let config = request.config.as_ref();
        let loaded = || match config {
            Some(config) => Pipeline::new(config),
            None => invalid("there is no configuration"),
        };
        match Action::try_from(request.action) {
            Ok(Action::Verify) => loaded().map(|_| ()),
            Ok(Action::VerifyAndSave) => {
                self.saved = Some(loaded()?);
                Ok(())
            }
            Ok(Action::VerifyAndCommit) => {
                let pipeline = loaded()?;
                self.commit(pipeline);
                Ok(())
            }
            Ok(Action::Commit) => match self.saved.take() {
                Some(pipeline) => {
                    self.commit(pipeline);
                    Ok(())
                }
                None => refuse(Code::FailedPrecondition, "no pipeline is saved"),
            },
            Ok(Action::ReconcileAndCommit) => self.reconcile(loaded()?),
            Ok(Action::Unspecified) | Err(_) => invalid("the action is not set"),
        }
    }

    /// Loads a program and its description in text form, as a controller's push does.
    pub fn load(&mut self, json: &str, p4info: &str) -> Result<(), Refusal> {
        let info = match p4runtime::p4info(p4info) {
            Ok(info) => info,
            Err(error) => return invalid(error.to_string()),
        };
        let config = ForwardingPipelineConfig {
            p4info: Some(info),
            p4_device_config: json.into(),
            cookie: None,
        };
        let pipeline = Pipeline::new(&config)?;
        self.commit(pipeline);
        Ok(())
    }

    fn commit(&mut self, pipeline: Pipeline) {
        self.pipeline = Some(pipeline);
        self.groups.clear();
        self.sessions.clear();
    }

    /// Replaces the pipeline and writes its entries again. Groups and sessions stay.
    fn reconcile(&mut self, pipeline: Pipeline) -> Result<(), Refusal> {
        let Some(before) = self.pipeline.take() else {
            self.commit(pipeline);
            return Ok(());
        };
        let all = v1::entity::Entity::TableEntry(v1::TableEntry::default());
        let request = v1::ReadRequest {
            device_id: self.options.device_id,
            entities: vec![v1::Entity { entity: Some(all) }],
            ..Default::default()
        };
        self.pipeline = Some(before);
        let entries = self.read(&request)?;
        let before = self.pipeline.replace(pipeline);
        for entity in entries {
            let Some(v1::entity::Entity::TableEntry(entry)) = entity.entity else {
                continue;
            };
            if entry.is_const {
                continue;
            }
            if let Err(refusal) = self.write_entry(v1::update::Type::Insert, &entry) {
                self.pipeline = before;
                return refuse(Code::Unknown, format!("cannot be reconciled: {refusal}"));
            }
        }
        Ok(())
    }

    /// The pipeline, or as much of it as is asked for.
    pub fn get_pipeline(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<ForwardingPipelineConfig, Refusal> {
        self.check_device(request.device_id)?;
        let config = &self.pipeline()?.config;
        let (with_info, with_program) = match ResponseType::try_from(request.response_type) {
            Ok(ResponseType::All) => (true, true),
            Ok(ResponseType::CookieOnly) => (false, false),
            Ok(ResponseType::P4infoAndCookie) => (true, false),
            Ok(ResponseType::DeviceConfigAndCookie) => (false, true),
            Err(_) => return invalid("the type of the response is unknown"),
        };
        Ok(ForwardingPipelineConfig {
            p4info: config.p4info.clone().filter(|_| with_info),
            p4_device_config: if with_program {
                config.p4_device_config.clone()
            } else {
                Vec::new()
            },
            cookie: config.cookie,
        })
    }
}
