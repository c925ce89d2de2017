//! The bearers of a run, for its recorder.

use airlane_core::{FlowId, UeId};
use airlane_engine::Simulation;
use airlane_ran::qos::QosClass;
use airlane_ran::{BearerRequest, RadioNetwork};
use airlane_record::BearerDescription;
use airlane_scenario::expand::OneFlow;

use crate::wiring::Places;

/// The bearers of each UE for which a flow has requested one: the default bearer, then those of classes.
pub(crate) fn of(simulation: &Simulation, places: &Places, flows: &[OneFlow]) -> Vec<BearerDescription> {
    let radio = places.mobile.and_then(|mobile| simulation.node::<RadioNetwork>(mobile.radio));
    let requests = radio.map_or(&[][..], RadioNetwork::bearer_requests);
    let mut all: Vec<BearerDescription> = Vec::new();
    for request in requests {
        if !all.iter().any(|bearer| bearer.ue == request.ue) {
            all.push(default_bearer(request.ue, requests, flows));
        }
        let is_its = |bearer: &&mut BearerDescription| {
            (bearer.ue, bearer.qi, bearer.is_admitted)
                == (request.ue, request.qos.class.qi, request.is_admitted)
        };
        match all.iter_mut().find(is_its) {
            Some(bearer) => {
                bearer.flows.push(request.flow);
                let sum = bearer.guaranteed.iter().chain(&request.qos.guaranteed).map(|rate| rate.0).sum();
                bearer.guaranteed = bearer.guaranteed.map(|_| airlane_core::BitRate(sum));
            }
            None => all.push(dedicated(request)),
        }
    }
    all
}

/// The default bearer of a UE, with the flows that requested no other one.
fn default_bearer(ue: UeId, requests: &[BearerRequest], flows: &[OneFlow]) -> BearerDescription {
    let requested = |flow: &FlowId| requests.iter().any(|request| request.flow == *flow);
    let own = (0..).map(FlowId).zip(flows).filter(|(_, flow)| flow.ue == Some(ue.index()));
    let flows = own.map(|(id, _)| id).filter(|id| !requested(id)).collect();
    BearerDescription { ue, is_admitted: true, guaranteed: None, flows, ..of_class(&QosClass::DEFAULT) }
}

fn dedicated(request: &BearerRequest) -> BearerDescription {
    BearerDescription {
        ue: request.ue,
        guaranteed: request.qos.guaranteed,
        is_admitted: request.is_admitted,
        flows: vec![request.flow],
        ..of_class(&request.qos.class)
    }
}

fn of_class(class: &QosClass) -> BearerDescription {
    BearerDescription {
        ue: UeId(0),
        qi: class.qi,
        resource: class.resource.name(),
        budget: class.delay_budget,
        guaranteed: None,
        is_admitted: true,
        flows: vec![],
    }
}
