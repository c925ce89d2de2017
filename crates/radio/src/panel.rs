//! A column of antenna elements with vertical pattern and electrical downtilt: TR 36.873 clause 7.1 (Table 7.1-1)
//! and TR 38.901 clause 7.3 (Table 7.3-1), which have the same element.
//!
//! Not included: several columns or panels, polarization (the elements are vertical, and so is the antenna of the
//! UE), and mechanical tilt.

use airlane_core::Decibel;

/// Widths of the element's pattern, θ_3dB and φ_3dB, in degrees.
const WIDTH_DEG: f64 = 65.0;
/// SLA_V and A_max: the greatest attenuation in the vertical cut, and in all.
const ATTENUATION_DB: f64 = 30.0;
/// G_E,max: maximum gain of an element over an isotropic antenna.
const ELEMENT_GAIN_DB: f64 = 8.0;

/// A vertical column of elements that transmit one port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// K: number of elements.
    pub elements: u32,
    /// d_V: distance of elements in wavelengths.
    pub spacing: f64,
    /// θ_etilt: electrical tilt as the zenith angle of the beam, degrees: 90 is horizontal, 102 points 12 degrees
    /// down.
    pub tilt_deg: f64,
}

impl Column {
    /// One element.
    pub const ELEMENT: Self = Self { elements: 1, spacing: 0.5, tilt_deg: 90.0 };

    /// Gain over an isotropic antenna towards a zenith angle (0 is up) and an azimuth from the beam, in degrees.
    #[must_use]
    pub fn gain(&self, zenith_deg: f64, azimuth_deg: f64) -> Decibel {
        element_gain(zenith_deg, azimuth_deg) + self.array_factor(zenith_deg)
    }

    /// |Σ w_m v_m|² with the weights w_m of TR 36.873 clause 7.1, whose total power is one.
    #[must_use]
    pub fn array_factor(&self, zenith_deg: f64) -> Decibel {
        let cosine = |degrees: f64| libm::cos(degrees.to_radians());
        let phase = core::f64::consts::PI * self.spacing * (cosine(zenith_deg) - cosine(self.tilt_deg));
        let (k, sine) = (f64::from(self.elements), libm::sin(phase));
        // The sum of the geometric series: sin(Kφ) / sin(φ), whose limit at φ = 0 is K.
        let sum = if sine.abs() < 1e-9 { k } else { libm::sin(k * phase) / sine };
        Decibel::from_linear(sum * sum / k)
    }
}

/// Gain of one element: vertical and horizontal cut, and their sum limited to A_max.
pub(crate) fn element_gain(zenith_deg: f64, azimuth_deg: f64) -> Decibel {
    let cut = |off_deg: f64| {
        let widths = off_deg / WIDTH_DEG;
        (12.0 * widths * widths).min(ATTENUATION_DB)
    };
    let turns = azimuth_deg / 360.0;
    let azimuth_deg = (turns - libm::round(turns)) * 360.0; // -180 to 180
    let attenuation = (cut(zenith_deg - 90.0) + cut(azimuth_deg)).min(ATTENUATION_DB);
    Decibel(ELEMENT_GAIN_DB - attenuation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: Decibel, expected: f64) {
        assert!((ours.0 - expected).abs() < 1e-3, "{ours:?}, expected {expected}");
    }

    #[test]
    fn an_element_by_hand() {
        close(Column::ELEMENT.gain(90.0, 0.0), 8.0);
        // 12 (32.5 / 65)² = 3 dB in each cut.
        close(Column::ELEMENT.gain(122.5, 0.0), 5.0);
        close(Column::ELEMENT.gain(90.0, -32.5), 5.0);
        close(Column::ELEMENT.gain(122.5, 360.0 + 32.5), 2.0);
        // Behind: 30 dB, also where both cuts are attenuated.
        close(Column::ELEMENT.gain(90.0, 180.0), -22.0);
        close(Column::ELEMENT.gain(0.0, 180.0), -22.0);
    }

    #[test]
    fn a_column_by_hand() {
        let column = Column { elements: 10, spacing: 0.5, tilt_deg: 102.0 };
        // In its beam ten elements add 10 dB; the element loses 12 (12 / 65)² = 0.409 dB.
        close(column.array_factor(102.0), 10.0);
        close(column.gain(102.0, 0.0), 8.0 + 10.0 - 0.409);
        // Zeros where K d (cos θ - cos θ_tilt) is an integer: cos θ = cos 102° + 0.2, θ = 90.453°.
        let zero = libm::acos(libm::cos(102.0_f64.to_radians()) + 0.2).to_degrees();
        assert!(column.array_factor(zero).0 < -100.0);
        // Between: at 90°, φ = π 0.5 · 0.20791 = 0.32659, (sin 3.2659 / sin 0.32659)² / 10 = 0.01493.
        close(column.array_factor(90.0), 10.0 * libm::log10(0.014_93));
    }
}
