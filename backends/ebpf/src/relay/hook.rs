//! The hook where a relay program runs.

use std::fs;
use std::io;
use std::path;

use aya::Ebpf;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, ProgramError, SchedClassifier, TcAttachType, Xdp};
use nix::net::if_::if_nametoindex;

use super::Attachment;
use super::letting_go::Trial;
use crate::attach::{self, Attached, Path};
use crate::pins::Pins;
use crate::{EbpfError, Step, is_loopback};

/// The configured hook of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hook {
    /// In the driver if all interfaces' drivers can, else in the stack.
    #[default]
    Auto,
    /// The same, but never as if it were in the driver.
    WithoutGeneric,
    /// In the driver, or as if it were there.
    Xdp,
    /// In the stack, before anybody else has seen them.
    Tc,
}

/// The actual hook of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Driver,
    Stack,
    /// In the stack, in the form that the driver would have used (generic XDP).
    Generic,
}

impl Hook {
    /// The places to try.
    fn places(self) -> &'static [Place] {
        match self {
            Hook::Auto => &[Place::Driver, Place::Stack, Place::Generic],
            Hook::WithoutGeneric => &[Place::Driver, Place::Stack],
            Hook::Xdp => &[Place::Driver, Place::Generic],
            Hook::Tc => &[Place::Stack],
        }
    }
}

impl Place {
    /// The name of the object's program for this place.
    pub(super) fn program(self) -> &'static str {
        match self {
            Place::Driver | Place::Generic => "relay",
            Place::Stack => "relay_in_stack",
        }
    }

    /// The name of an interface's link. The links of the two programs are of different kinds, so
    /// their names differ. No interface has a colon in its name.
    fn link_name(self, interface: &str) -> String {
        match self {
            Place::Driver | Place::Generic => interface.to_owned(),
            Place::Stack => format!("tc:{interface}"),
        }
    }

    /// The place of the program on an interface, whoever attached it.
    fn path(self, interface: &str, attached: Attached) -> io::Result<Path> {
        Ok(match (self, attached) {
            (Place::Stack, _) | (_, Attached::Stack) => Path::Stack,
            (_, Attached::Native) => Path::Driver,
            (_, Attached::Generic) => Path::Generic,
            (_, Attached::Adopted) if attach::is_native(interface)? => Path::Driver,
            (_, Attached::Adopted) => Path::Generic,
        })
    }

    /// Puts the program on all interfaces or on none.
    fn attach(
        self,
        loaded: &mut Ebpf,
        interfaces: &[String],
        pins: Option<&Pins>,
    ) -> Result<Vec<Attachment>, EbpfError> {
        let mut put = Vec::new();
        for interface in interfaces {
            let link = pins.map(|pins| pins.link(&self.link_name(interface)));
            match self.attach_one(loaded, interface, link.as_deref()) {
                Ok(attached) => put.push((interface, attached, link)),
                Err(error) => {
                    self.unload(loaded);
                    let ours = put.iter().filter(|(_, attached, _)| *attached != Attached::Adopted);
                    ours.filter_map(|(_, _, link)| link.as_ref()).for_each(|link| {
                        let _ = fs::remove_file(link);
                    });
                    return Err(error);
                }
            }
        }
        let found = put.into_iter().map(|(interface, attached, _)| {
            let path = self.path(interface, attached);
            Ok(Attachment {
                path: path.map_err(|error| EbpfError::of(Step::Attach(interface.clone()), error))?,
                interface: interface.clone(),
                attached,
                why_not: None,
            })
        });
        found.collect()
    }

    fn attach_one(self, loaded: &mut Ebpf, interface: &str, link: Option<&path::Path>) -> Result<Attached, EbpfError> {
        let number = if_nametoindex(interface).map_err(|_| EbpfError::NoInterface(interface.to_owned()))?;
        match self {
            Place::Driver => attach::attach(xdp(loaded)?, interface, link, |xdp| attach::in_driver(xdp, number)),
            Place::Generic => attach::attach(xdp(loaded)?, interface, link, |xdp| attach::generic(xdp, number)),
            Place::Stack => attach::attach(classifier(loaded)?, interface, link, |program| {
                // Before those that copy rooms: what is a relay's is no room's.
                let first = TcAttachOptions::TcxOrder(LinkOrder::first());
                let id = program.attach_with_options(interface, TcAttachType::Ingress, first)?;
                Ok((id, Attached::Stack))
            }),
        }
    }

    /// Loads it where that was not done yet.
    fn load_once(self, loaded: &mut Ebpf) -> Result<(), EbpfError> {
        match loaded
            .program(self.program())
            .is_some_and(|program| program.fd().is_ok())
        {
            true => Ok(()),
            false => self.load(loaded),
        }
    }

    fn load(self, loaded: &mut Ebpf) -> Result<(), EbpfError> {
        let loading = match self {
            Place::Driver | Place::Generic => xdp(loaded)?.load(),
            Place::Stack => classifier(loaded)?.load(),
        };
        loading.map_err(failed)
    }

    /// Detaches the program where its links end with the process, so that it can be loaded again.
    fn unload(self, loaded: &mut Ebpf) {
        let _ = match self {
            Place::Driver | Place::Generic => xdp(loaded).map(Xdp::unload),
            Place::Stack => classifier(loaded).map(SchedClassifier::unload),
        };
    }
}

/// Attaches the program to all interfaces, at the best place that all of them support. A packet
/// that arrives at one interface may be sent through any, and drivers that run programs cannot
/// redirect to drivers that do not. Packets that this machine sends itself pass no driver, so the
/// program is in the stack on the loopback interface.
pub(super) fn attach(
    loaded: &mut Ebpf,
    hook: Hook,
    interfaces: &[String],
    trial: &mut Trial,
    pins: Option<&Pins>,
) -> Result<(Place, Vec<Attachment>), EbpfError> {
    let (own, others): (Vec<_>, Vec<_>) = interfaces.iter().cloned().partition(|name| is_loopback(name));
    let places = if others.is_empty() {
        Hook::Tc.places()
    } else {
        hook.places()
    };
    let (place, mut found) = attach_in_best(loaded, places, &others, trial, pins)?;
    if !own.is_empty() {
        if place != Place::Stack {
            Place::Stack.load(loaded)?;
        }
        found.extend(Place::Stack.attach(loaded, &own, pins)?);
    }
    if let Some(pins) = pins {
        pins.remove_other_links(&link_names(&found));
    }
    Ok((place, found))
}

fn attach_in_best(
    loaded: &mut Ebpf,
    places: &[Place],
    interfaces: &[String],
    trial: &mut Trial,
    pins: Option<&Pins>,
) -> Result<(Place, Vec<Attachment>), EbpfError> {
    let mut why_not = None;
    for (place, is_last) in places.iter().zip((0..places.len()).rev().map(|left| left == 0)) {
        place.load(loaded)?;
        let attached = place.attach(loaded, interfaces, pins);
        let tried = attached.and_then(|found| match place {
            Place::Driver => trial
                .on_all(loaded, &found)
                .map(|()| found)
                .inspect_err(|_| place.unload(loaded)),
            Place::Stack | Place::Generic => Ok(found),
        });
        match tried {
            Ok(found) => {
                let why_not = why_not.map(|error: EbpfError| error.to_string());
                let found = found.into_iter().map(|found| Attachment {
                    why_not: why_not.clone(),
                    ..found
                });
                return Ok((*place, found.collect()));
            }
            Err(error) if !is_last && is_about_place(&error) => why_not = why_not.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    unreachable!("the last place says what there is to say")
}

/// Moves the program from drivers into the stack, after one of the drivers has stopped to send its
/// packets.
pub(super) fn move_to_stack(
    loaded: &mut Ebpf,
    found: &mut [Attachment],
    why: &EbpfError,
    pins: Option<&Pins>,
) -> Result<(), EbpfError> {
    let names: Vec<String> = found.iter().map(|found| found.interface.clone()).collect();
    let moving = |found: &&mut Attachment| found.path == Path::Driver;
    for found in found.iter_mut().filter(moving) {
        (found.path, found.attached) = (Path::Stack, Attached::Stack);
        found.why_not = Some(why.to_string());
    }
    let in_stack = Place::Stack.load_once(loaded).and_then(|()| {
        let missing: Vec<String> = names.iter().filter(|name| !is_loopback(name)).cloned().collect();
        Place::Stack.attach(loaded, &missing, pins)
    });
    // The driver's program is unloaded even after an error, so that no more packets are lost there.
    Place::Driver.unload(loaded);
    if let Some(pins) = pins {
        pins.remove_other_links(&link_names(found));
    }
    in_stack.map(drop)
}

fn link_names(found: &[Attachment]) -> Vec<String> {
    let name = |found: &Attachment| match found.path {
        Path::Stack => Place::Stack.link_name(&found.interface),
        Path::Driver | Path::Generic => Place::Driver.link_name(&found.interface),
    };
    found.iter().map(name).collect()
}

/// Whether another place may do.
fn is_about_place(error: &EbpfError) -> bool {
    match error {
        EbpfError::Failed(Step::Attach(_), error) => attach::is_unsupported(error),
        EbpfError::Taken(_) | EbpfError::SendsNone(_) => true,
        _ => false,
    }
}

pub(super) fn xdp(loaded: &mut Ebpf) -> Result<&mut Xdp, EbpfError> {
    let program = loaded.program_mut(Place::Driver.program()).expect("the object has it");
    program.try_into().map_err(failed)
}

pub(super) fn classifier(loaded: &mut Ebpf) -> Result<&mut SchedClassifier, EbpfError> {
    let program = loaded.program_mut(Place::Stack.program()).expect("the object has it");
    program.try_into().map_err(failed)
}

fn failed(error: ProgramError) -> EbpfError {
    EbpfError::inside(Step::Load, error)
}
