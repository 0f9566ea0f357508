//! The threads of a corner turn: one that agrees with other ranks on blocks, one for each lane, and one that gives the
//! turned frames on in order.

use std::sync::Arc;

use crossbeam_channel::{Receiver, bounded};
use fringes_types::VoltageSample;

use super::CornerTurn;
use super::lane::Lane;
use super::lead::Lead;
use super::order::Order;
use crate::fx::{FromFEngine, Shared};
use crate::queue::{QueueIn, QueueOut, Sent};

/// Where the frames of this rank's F-engine come from, and what made sure of their format.
pub(crate) struct TurnIn<V: VoltageSample> {
    pub(crate) frames: Option<QueueOut<FromFEngine<V>>>,
    /// Format of the voltages.
    pub(crate) format: String,
    /// The device that correlates, if there is one.
    pub(crate) device: Option<fringes_gpu::Device>,
}

/// The threads that there are to start.
pub(crate) struct TurnThreads<V: VoltageSample> {
    lead: Lead<V>,
    lanes: Vec<Lane<V>>,
    deliver: Deliver<V>,
}

impl<V: VoltageSample> TurnThreads<V> {
    pub(crate) fn new(
        turn: CornerTurn,
        input: TurnIn<V>,
        outputs: Vec<QueueIn<FromFEngine<V>>>,
        shared: &Arc<Shared>,
    ) -> Self {
        let (mut jobs, mut lanes, mut turned) = (Vec::new(), Vec::new(), Vec::new());
        let order = Arc::new(Order::default());
        for number in 0..turn.plan.lanes {
            let (to_lane, from_lead) = bounded(1);
            let (out, delivered) = bounded(1);
            jobs.push(to_lane);
            turned.push(delivered);
            let (turn, device, shared, order) = (turn.clone(), input.device.clone(), shared.clone(), order.clone());
            lanes.push(Lane { turn, number, jobs: from_lead, out, shared, device, order });
        }
        let lead = Lead::new(turn, input, jobs, shared.clone());
        Self { lead, lanes, deliver: Deliver { turned, outputs } }
    }

    /// What the threads run.
    pub(crate) fn into_runs(self) -> Vec<Box<dyn FnOnce() + Send>> {
        let Self { lead, lanes, deliver } = self;
        let mut runs: Vec<Box<dyn FnOnce() + Send>> = vec![Box::new(move || deliver.run())];
        for lane in lanes {
            runs.push(Box::new(move || lane.run()));
        }
        runs.push(Box::new(move || lead.run()));
        runs
    }
}

/// Gives turned frames on in order.
struct Deliver<V: VoltageSample> {
    turned: Vec<Receiver<Option<FromFEngine<V>>>>,
    outputs: Vec<QueueIn<FromFEngine<V>>>,
}

impl<V: VoltageSample> Deliver<V> {
    fn run(mut self) {
        for lane in (0..self.turned.len()).cycle() {
            // A lane that ends without an end of the stream: what is under way is not complete.
            let Ok(message) = self.turned[lane].recv() else { return };
            let Some(message) = message else { continue };
            let ends = matches!(message, FromFEngine::End(_));
            // The blocks of a correlator that has failed are received nevertheless, as other ranks wait for them.
            self.outputs.retain(|output| output.send(message.clone()) != Sent::Closed);
            if ends {
                return;
            }
        }
    }
}
