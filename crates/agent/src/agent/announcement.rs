//! The node's description of itself.

use dataplane::DataPlane;
use southbound::{Capabilities, Node, Notice, RewritingModes};

use super::Agent;
use crate::config::{Config, NodeAddresses};
use crate::limits::TRANSPORTS_MAX;

impl Agent {
    /// Has the controller describe other addresses from now on. The TCP port stays.
    pub fn set_addresses(&mut self, addresses: NodeAddresses, plane: &dyn DataPlane, out: &mut Vec<Notice>) {
        let config = &mut self.shared.config;
        let NodeAddresses { udp, tcp, local_ips } = addresses;
        (config.addresses, config.tcp_addresses, config.local_ips) = (udp, tcp, local_ips);
        // The first notice is still to be given.
        if self.announced {
            out.push(Notice::Node(self.node(plane)));
        }
    }

    /// The description of the node for the controller.
    fn node(&self, plane: &dyn DataPlane) -> Node {
        let Config {
            node,
            addresses,
            tcp_addresses,
            certificate,
            clear_rtp,
            clear_trunks,
            ..
        } = &self.shared.config;
        Node {
            node: *node,
            addresses: addresses.clone(),
            tcp_addresses: tcp_addresses.clone(),
            fingerprint: certificate.fingerprint(),
            clear_rtp: *clear_rtp,
            clear_trunks: *clear_trunks,
            capabilities: told(plane.capabilities()),
        }
    }

    /// Describes the node, once, before everything else.
    pub(super) fn announce(&mut self, plane: &dyn DataPlane, out: &mut Vec<Notice>) {
        if !self.announced {
            self.announced = true;
            out.push(Notice::Node(self.node(plane)));
        }
    }
}

/// A device's capabilities in the controller's words.
fn told(device: dataplane::Capabilities) -> Capabilities {
    Capabilities {
        srtp: device.srtp,
        copies: device.copies,
        transport_numbers: device.transport_numbers,
        rewriting: RewritingModes {
            exact: device.rewriting.exact,
            low_memory: device.rewriting.low_memory,
            low_retransmission: device.rewriting.low_retransmission,
        },
        extensions: device.extensions,
        transports_max: device.legs_max.min(TRANSPORTS_MAX) as u64,
        streams_max: device.streams_max as u64,
        replicas_max: device.replicas_max as u64,
        relays_max: device.relays_max as u64,
    }
}
