//! The arithmetic of the radio, as validation holds it against other people's figures.

use airlane_core::{Decibel, Direction};
use airlane_radio::tables::{MAX_PRB, Mcs};
use airlane_radio::{Amc, AmcRule, CodedBlock, Cqi};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Downlink CQI at each of these SNRs, the same on all of `n_prb` PRBs. `rule` is
/// "mutual-information" or "piro".
#[pyfunction]
pub(crate) fn cqi(snr_db: Vec<f64>, rule: &str, n_prb: usize) -> PyResult<Vec<u8>> {
    let rule = match rule {
        "mutual-information" => AmcRule::MUTUAL_INFORMATION,
        "piro" => AmcRule::PIRO,
        other => {
            return Err(PyValueError::new_err(format!("\"mutual-information\" or \"piro\", not {other:?}")));
        }
    };
    within_band(n_prb)?;
    let amc = Amc::new(rule, Direction::Downlink, n_prb, n_prb);
    let at = |snr_db: f64| amc.wideband_cqi(&[Decibel(snr_db).linear() as f32]);
    Ok(snr_db.into_iter().map(|snr| at(snr).index()).collect())
}

/// The downlink MCS that a CQI stands for; none out of range.
#[pyfunction]
pub(crate) fn mcs_of_cqi(cqi: u8) -> PyResult<Option<u8>> {
    if cqi > Cqi::MAX.index() {
        return Err(PyValueError::new_err(format!("CQI 0 to 15, not {cqi}")));
    }
    Ok((cqi > 0).then(|| Cqi::new(cqi).mcs().index()))
}

/// The SNR in dB at which the first transmission of a downlink transport block that fills `n_prb`
/// PRBs fails with this probability.
#[pyfunction]
pub(crate) fn snr_at_error_rate(mcs: u8, n_prb: usize, error_rate: f64) -> PyResult<f64> {
    within_band(n_prb)?;
    if mcs > Mcs::MAX.index() || !(error_rate > 0.0 && error_rate < 1.0) {
        return Err(PyValueError::new_err(format!(
            "MCS 0 to 28 and a rate between 0 and 1, not {mcs} and {error_rate}"
        )));
    }
    let mcs = Mcs::new(mcs);
    let block = CodedBlock::new(mcs, Direction::Downlink, mcs.transport_block(n_prb, Direction::Downlink));
    Ok(Decibel::from_linear(f64::from(block.sinr_for(error_rate))).0)
}

fn within_band(n_prb: usize) -> PyResult<()> {
    if (1..=MAX_PRB).contains(&n_prb) {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("1 to {MAX_PRB} PRBs, not {n_prb}")))
}
