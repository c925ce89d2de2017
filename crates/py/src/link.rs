//! Blocks, codes and layers of NR that validation compares with reference figures.

use airlane_core::Decibel;
use airlane_radio::layers::simulation::{Channels, FITTED};
use airlane_radio::layers::{Antennas, Correlation, LayerTable, LineOfSight, Precoding};
use airlane_radio::nr::{CodeBlocks, Ldpc, McsTable, Resources, Scheme};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The SNR in dB at which one code block of each of these (modulation order, code rate times 1024, bits) fails with this
/// probability, in a family of LDPC decoders.
#[pyfunction]
pub(crate) fn nr_thresholds(
    py: Python<'_>,
    ldpc: &str,
    blocks: Vec<(u8, f64, u32)>,
    error_rate: f64,
) -> PyResult<Vec<f64>> {
    let family = Ldpc::ALL.into_iter().find(|family| family.name() == ldpc);
    let family = family.ok_or_else(|| PyValueError::new_err(format!("no family of LDPC is {ldpc:?}")))?;
    let known = |block: &(u8, f64, u32)| [2, 4, 6, 8].contains(&block.0) && block.1 > 0.0 && block.1 < 1024.0;
    if let Some(block) = blocks.iter().find(|block| !known(block)) {
        return Err(PyValueError::new_err(format!("no code block is {block:?}")));
    }
    if !(error_rate > 0.0 && error_rate < 1.0) {
        return Err(PyValueError::new_err(format!("expected a rate between 0 and 1, not {error_rate}")));
    }
    let of = |&(modulation_order, rate_x1024, bits): &(u8, f64, u32)| {
        let block = family.code_block(Scheme { modulation_order, rate_x1024 }, bits);
        Decibel::from_linear(f64::from(block.sinr_for(error_rate))).0
    };
    Ok(py.detach(|| blocks.iter().map(of).collect()))
}

/// Bits of a transport block on one layer with MCS table 1, and the code rate of its code blocks over its channel bits.
/// `resources` is symbols, DM-RS per PRB, and PRBs.
#[pyfunction]
pub(crate) fn nr_block(mcs: u8, resources: (u8, u16, u16)) -> PyResult<(u32, f64)> {
    let scheme = McsTable::Qam64.scheme(mcs);
    let scheme = scheme.ok_or_else(|| PyValueError::new_err(format!("MCS table 1 has no MCS {mcs}")))?;
    let (symbols, dmrs_per_prb, prbs) = resources;
    let resources = Resources { symbols, dmrs_per_prb, overhead_per_prb: 0, prbs };
    let bits = resources.transport_block_bits(scheme, 1, 1.0);
    let blocks = CodeBlocks::new(bits, scheme.rate());
    let channel_bits = resources.elements() * u32::from(scheme.modulation_order);
    Ok((bits, f64::from(blocks.count * blocks.bits) / f64::from(channel_bits)))
}

/// For each mean SNR in dB: mean and fifth percentile of the bits per resource element of the best number of layers, of
/// simulated channels and of the table. The channels are not those to which the table is fitted.
#[pyfunction]
pub(crate) fn layer_information(
    py: Python<'_>,
    antennas: (u8, u8),
    kind: (&str, &str, bool),
    snr_db: Vec<f64>,
) -> PyResult<Vec<[f64; 4]>> {
    let (correlation, precoding, seen) = kind;
    let correlation = match correlation {
        "low" => Correlation::Low,
        "medium" => Correlation::Medium,
        "medium-a" => Correlation::MediumA,
        "high" => Correlation::High,
        other => return Err(PyValueError::new_err(format!("no correlation is {other:?}"))),
    };
    let precoding = match precoding {
        "singular" => Precoding::Singular,
        "codebook" => Precoding::Codebook,
        other => return Err(PyValueError::new_err(format!("no precoding is {other:?}"))),
    };
    let sight = if seen { LineOfSight::Tdl } else { LineOfSight::None };
    let antennas = Antennas { tx: antennas.0, rx: antennas.1 };
    let table = LayerTable::new(antennas, correlation, precoding, sight)
        .ok_or_else(|| PyValueError::new_err(format!("expected 1, 2 or 4 antennas, not {antennas:?}")))?;
    Ok(py.detach(|| {
        let channels = Channels::draw(antennas, correlation, sight, FITTED + 1);
        let of = |snr_db: f64| {
            let both = channels.information(&table, precoding, Decibel(snr_db).linear());
            let [simulated, modelled] = both
                .map(|values| [values.iter().sum::<f64>() / values.len() as f64, values[values.len() / 20]]);
            [simulated[0], modelled[0], simulated[1], modelled[1]]
        };
        snr_db.into_iter().map(of).collect()
    }))
}
