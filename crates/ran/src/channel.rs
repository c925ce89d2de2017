//! The channel between a cell and a UE in one direction: its SINR on each PRB, computed when
//! somebody asks and only as far as it can have changed.

use airlane_core::{Dbm, Decibel, Duration, Instant};
use airlane_radio::{Fading, Mobility, PathLoss, Position, RadioPath, noise};

/// How long a moving UE's path loss is taken as constant. At 40 km/h that is 11 cm.
const PATH_LOSS_REFRESH: Duration = Duration::from_millis(10);

/// What a link budget is made of, apart from distance and fading.
#[derive(Clone, Debug)]
pub(crate) struct LinkBudget {
    pub(crate) path_loss: PathLoss,
    pub(crate) tx_power: Dbm,
    pub(crate) noise_figure: Decibel,
    /// Transmit diversity and antennas.
    pub(crate) gain: Decibel,
    /// PRBs that the transmit power is spread over.
    pub(crate) prbs: u16,
}

impl LinkBudget {
    /// SINR of a PRB without fading, as a factor.
    fn sinr(&self, path: &RadioPath) -> f32 {
        let sent = noise::prb_power(self.tx_power, usize::from(self.prbs)) + self.gain;
        noise::prb_snr(sent, self.path_loss.loss(path), noise::prb_noise(self.noise_figure))
    }
}

/// The channel of one UE in one direction.
#[derive(Debug)]
pub(crate) struct Channel {
    budget: LinkBudget,
    site: Position,
    fading: Option<Fading>,
    mean_sinr: f32,
    computed_at: Option<Instant>,
}

impl Channel {
    pub(crate) fn new(budget: LinkBudget, site: Position, fading: Option<Fading>) -> Self {
        Self { budget, site, fading, mean_sinr: 0.0, computed_at: None }
    }

    /// True without fading: the SINR is the same on every PRB.
    pub(crate) fn is_flat(&self) -> bool {
        self.fading.is_none()
    }

    /// SINR before fading, as a factor, for a UE that moves like this.
    pub(crate) fn mean_sinr(&mut self, now: Instant, mobility: &mut Mobility) -> f32 {
        let stale = match self.computed_at {
            None => true,
            Some(at) => !mobility.is_static() && now.saturating_since(at) >= PATH_LOSS_REFRESH,
        };
        if stale {
            let path = RadioPath::between(&self.site, &mobility.position_at(now), true);
            self.mean_sinr = self.budget.sinr(&path);
            self.computed_at = Some(now);
        }
        self.mean_sinr
    }

    /// Writes the SINR of each PRB at `now`, as factors.
    pub(crate) fn sinr(&mut self, now: Instant, mean_sinr: f32, out: &mut [f32]) {
        match &mut self.fading {
            None => out.fill(mean_sinr),
            Some(fading) => {
                fading.gains(now, out);
                for gain in out {
                    *gain *= mean_sinr;
                }
            }
        }
    }
}
