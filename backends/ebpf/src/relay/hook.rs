//! Where packets meet a relay program.

use std::fs;
use std::io;
use std::path;

use aya::Ebpf;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, ProgramError, SchedClassifier, TcAttachType, Xdp};
use nix::net::if_::if_nametoindex;

use super::Found;
use crate::attach::{self, Attached, Path};
use crate::pins::Pins;
use crate::{EbpfError, Step};

/// Where packets are to meet the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hook {
    /// In the driver if all interfaces' drivers can, else in the stack.
    #[default]
    Auto,
    /// In the driver, or as if it were there.
    Xdp,
    /// In the stack, before anybody else has seen them.
    Tc,
}

/// Where packets meet it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Driver,
    Stack,
    /// In the stack, made to look as in the driver.
    Generic,
}

impl Hook {
    /// The places to try.
    fn places(self) -> &'static [Place] {
        match self {
            Hook::Auto => &[Place::Driver, Place::Stack, Place::Generic],
            Hook::Xdp => &[Place::Driver, Place::Generic],
            Hook::Tc => &[Place::Stack],
        }
    }
}

impl Place {
    /// What the object calls its program for this place.
    pub(super) fn program(self) -> &'static str {
        match self {
            Place::Driver | Place::Generic => "relay",
            Place::Stack => "relay_in_stack",
        }
    }

    /// What an interface is called among links: those of the two programs are not of one kind. No interface has a colon in its name.
    fn link_name(self, interface: &str) -> String {
        match self {
            Place::Driver | Place::Generic => interface.to_owned(),
            Place::Stack => format!("tc:{interface}"),
        }
    }

    /// Where it is on an interface, whoever put it there.
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
    fn attach(self, loaded: &mut Ebpf, interfaces: &[String], pins: Option<&Pins>) -> Result<Vec<Found>, EbpfError> {
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
            Ok(Found {
                path: path.map_err(|error| EbpfError::of(Step::Attach(interface.clone()), error))?,
                interface: interface.clone(),
                attached,
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

    fn load(self, loaded: &mut Ebpf) -> Result<(), EbpfError> {
        let loading = match self {
            Place::Driver | Place::Generic => xdp(loaded)?.load(),
            Place::Stack => classifier(loaded)?.load(),
        };
        loading.map_err(failed)
    }

    /// Takes it off where it goes with this process, and makes it ready to be loaded again.
    fn unload(self, loaded: &mut Ebpf) {
        let _ = match self {
            Place::Driver | Place::Generic => xdp(loaded).map(Xdp::unload),
            Place::Stack => classifier(loaded).map(SchedClassifier::unload),
        };
    }
}

/// Puts a program on all interfaces, in the best place there is for all of them: what arrives at one may leave through any, and drivers that run programs send
/// nothing through drivers that do not.
pub(super) fn attach(
    loaded: &mut Ebpf,
    hook: Hook,
    interfaces: &[String],
    pins: Option<&Pins>,
) -> Result<(Place, Vec<Found>), EbpfError> {
    let (last, others) = hook.places().split_last().expect("there is always one");
    let mut attach = |place: Place| {
        place.load(loaded)?;
        Ok((place, place.attach(loaded, interfaces, pins)?))
    };
    let is_no_other_way = |found: &Result<_, EbpfError>| match found {
        Err(EbpfError::Failed(Step::Attach(_), error)) => !attach::is_unsupported(error),
        _ => true,
    };
    let found = others.iter().map(|place| attach(*place)).find(is_no_other_way);
    let (place, found) = match found {
        Some(found) => found?,
        None => attach(*last)?,
    };
    if let Some(pins) = pins {
        let names: Vec<_> = interfaces.iter().map(|name| place.link_name(name)).collect();
        pins.remove_other_links(&names);
    }
    Ok((place, found))
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
