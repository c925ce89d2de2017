//! The radio computations that validation compares with reference figures.

use std::sync::Arc;

use airlane_core::{Bytes, Decibel, Direction, Duration, Instant, Seeds};
use airlane_radio::bler::gap_regressors;
use airlane_radio::link_tables::LTE;
use airlane_radio::nr::{Resources, Scheme};
use airlane_radio::tables::{MAX_PRB, Mcs};
use airlane_radio::{Amc, AmcRule, CodeScheme, CodedBlock, Cqi, Fading, FrequencyGrid, Profile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Downlink CQI at each of these SNRs, the same on all of `n_prb` PRBs. `rule` is
/// "mutual-information" or "piro".
#[pyfunction]
pub(crate) fn cqi(snr_db: Vec<f64>, rule: &str, n_prb: usize) -> PyResult<Vec<u8>> {
    let rule = match rule {
        "mutual-information" => AmcRule::MUTUAL_INFORMATION,
        "piro" => AmcRule::PIRO,
        other => {
            return Err(PyValueError::new_err(format!(
                "expected \"mutual-information\" or \"piro\", not {other:?}"
            )));
        }
    };
    within_band(n_prb)?;
    let amc = Amc::new(&LTE, rule, Direction::Downlink, n_prb, n_prb);
    let at = |snr_db: f64| amc.wideband_cqi(&[Decibel(snr_db).linear() as f32]);
    Ok(snr_db.into_iter().map(|snr| at(snr).index()).collect())
}

/// The downlink MCS of a CQI; `None` out of range.
#[pyfunction]
pub(crate) fn mcs_of_cqi(cqi: u8) -> PyResult<Option<u8>> {
    if cqi > Cqi::MAX.index() {
        return Err(PyValueError::new_err(format!("expected CQI 0 to 15, not {cqi}")));
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
            "expected MCS 0 to 28 and a rate between 0 and 1, not {mcs} and {error_rate}"
        )));
    }
    let mcs = Mcs::new(mcs);
    let block = CodedBlock::new(mcs, Direction::Downlink, mcs.transport_block(n_prb, Direction::Downlink));
    Ok(Decibel::from_linear(f64::from(block.sinr_for(error_rate))).0)
}

/// The data to which the gap of the error model is fitted: for the block of `bits` with CRC that
/// this MCS sends, the six regressors, and the gap in dB that puts its error rate at `snr_db` on
/// `error_rate`.
#[pyfunction]
pub(crate) fn gap_to_fit(mcs: u8, bits: u64, snr_db: f64, error_rate: f64) -> PyResult<([f64; 6], f64)> {
    const CRC_BITS: u64 = 24;
    if mcs > Mcs::MAX.index() || bits <= CRC_BITS || !(error_rate > 0.0 && error_rate < 1.0) {
        return Err(PyValueError::new_err(format!(
            "expected MCS 0 to 28, more than 24 bits and a rate between 0 and 1, not {mcs}, {bits} and {error_rate}"
        )));
    }
    let scheme = CodeScheme::new(Mcs::new(mcs), Direction::Downlink);
    let block = CodedBlock::with_scheme(scheme, Bytes((bits - CRC_BITS) / 8));
    let bare = Decibel::from_linear(f64::from(block.without_gap().sinr_for(error_rate))).0;
    Ok((gap_regressors(scheme, block.code_block_bits()), snr_db - bare))
}

/// Linear power gains of `links` independent links, each at these times and PRBs: `f32`, little
/// endian, link by link, then time by time. `model` is "epa", "eva", "etu" or "flat"; a band of
/// `n_prb` PRBs 180 kHz apart.
#[pyfunction]
#[pyo3(signature = (model, n_prb, doppler_hz, links, seed, times_us, prbs))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn fading_gains<'py>(
    py: Python<'py>,
    model: &str,
    n_prb: usize,
    doppler_hz: f64,
    links: usize,
    seed: u64,
    times_us: Vec<u64>,
    prbs: Vec<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let profile = match model {
        "epa" => Profile::Epa,
        "eva" => Profile::Eva,
        "etu" => Profile::Etu,
        "flat" => Profile::Flat,
        other => {
            return Err(PyValueError::new_err(format!("expected epa, eva, etu or flat, not {other:?}")));
        }
    };
    within_band(n_prb)?;
    if let Some(prb) = prbs.iter().find(|&&prb| prb >= n_prb) {
        return Err(PyValueError::new_err(format!("expected a PRB below {n_prb}, not {prb}")));
    }
    if !(0.0..10e3).contains(&doppler_hz) {
        return Err(PyValueError::new_err(format!(
            "expected a Doppler shift from 0 to 10 kHz, not {doppler_hz} Hz"
        )));
    }
    // At a carrier whose wavelength is one metre, speed in m/s is Doppler shift in Hz.
    const CARRIER_HZ: f64 = airlane_radio::path_loss::SPEED_OF_LIGHT;
    let grid = Arc::new(FrequencyGrid::new(profile, n_prb, n_prb));
    let mut stream = Seeds::new(seed).stream("validation/fading");
    let mut out = vec![0.0; n_prb];
    let mut bytes = Vec::with_capacity(4 * links * times_us.len() * prbs.len());
    py.detach(|| {
        for _ in 0..links {
            let fading = Fading::new(&grid, doppler_hz, CARRIER_HZ, &mut stream);
            for &us in &times_us {
                fading.gains(Instant::ZERO + Duration::from_micros(us), &mut out);
                prbs.iter().for_each(|&prb| bytes.extend_from_slice(&out[prb].to_le_bytes()));
            }
        }
    });
    Ok(PyBytes::new(py, &bytes))
}

fn within_band(n_prb: usize) -> PyResult<()> {
    if (1..=MAX_PRB).contains(&n_prb) {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("expected 1 to {MAX_PRB} PRBs, not {n_prb}")))
}

/// Bits of a transport block of NR. `resources` is symbols, DM-RS and overhead per PRB, and PRBs; `coding` is
/// modulation order, target code rate times 1024, layers, and the factor on the amount of information. The caller
/// checks the values.
#[pyfunction]
pub(crate) fn nr_transport_block_bits(resources: (u8, u16, u16, u16), coding: (u8, f64, u8, f64)) -> u32 {
    let (symbols, dmrs_per_prb, overhead_per_prb, prbs) = resources;
    let (modulation_order, rate_x1024, layers, scaling) = coding;
    let resources = Resources { symbols, dmrs_per_prb, overhead_per_prb, prbs };
    resources.transport_block_bits(Scheme { modulation_order, rate_x1024 }, layers, scaling)
}
