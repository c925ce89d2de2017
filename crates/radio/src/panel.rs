//! Panels of antenna elements with vertical pattern and electrical downtilt: TR 36.873 clause 7.1 (Table 7.1-1)
//! and TR 38.901 clause 7.3 (Table 7.3-1), which have the same element.
//!
//! One port is transmitted by all rows and columns of the panel. Not included: mechanical tilt, beams to the side,
//! and several panels. Polarization has no effect on the gain.

use airlane_core::Decibel;

/// Widths of the element's pattern, θ_3dB and φ_3dB, in degrees.
const WIDTH_DEG: f64 = 65.0;
/// SLA_V and A_max: the greatest attenuation in the vertical cut, and in all.
const ATTENUATION_DB: f64 = 30.0;
/// G_E,max: maximum gain of an element over an isotropic antenna.
const ELEMENT_GAIN_DB: f64 = 8.0;

/// A panel of elements that transmit one port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Panel {
    /// K: number of elements above each other.
    pub rows: u32,
    /// Number of elements next to each other.
    pub columns: u32,
    /// d_V: distance of the rows in wavelengths.
    pub row_spacing: f64,
    /// d_H: distance of the columns in wavelengths.
    pub column_spacing: f64,
    /// θ_etilt: electrical tilt as the zenith angle of the beam, degrees: 90 is horizontal, 102 points 12 degrees
    /// down.
    pub tilt_deg: f64,
}

impl Panel {
    /// A single element.
    pub const ELEMENT: Self = Self::new(1, 1, 90.0);

    /// A panel with elements half a wavelength apart.
    #[must_use]
    pub const fn new(rows: u32, columns: u32, tilt_deg: f64) -> Self {
        Self { rows, columns, row_spacing: 0.5, column_spacing: 0.5, tilt_deg }
    }

    /// Gain over an isotropic antenna towards a zenith angle (0 is up) and an azimuth from the beam, in degrees.
    #[must_use]
    pub fn gain(&self, zenith_deg: f64, azimuth_deg: f64) -> Decibel {
        element_gain(zenith_deg, azimuth_deg)
            + self.vertical_factor(zenith_deg)
            + self.horizontal_factor(zenith_deg, azimuth_deg)
    }

    /// |Σ w_m v_m|² over the rows with the weights w_m of TR 36.873 clause 7.1, whose total power is one.
    #[must_use]
    pub fn vertical_factor(&self, zenith_deg: f64) -> Decibel {
        let cosine = |degrees: f64| libm::cos(degrees.to_radians());
        let turns = self.row_spacing * (cosine(zenith_deg) - cosine(self.tilt_deg));
        array_factor(self.rows, turns)
    }

    /// The factor over the columns, which transmit in phase.
    #[must_use]
    pub fn horizontal_factor(&self, zenith_deg: f64, azimuth_deg: f64) -> Decibel {
        if self.columns == 1 {
            return Decibel(0.0);
        }
        let sine = |degrees: f64| libm::sin(degrees.to_radians());
        array_factor(self.columns, self.column_spacing * sine(zenith_deg) * sine(azimuth_deg))
    }
}

/// Power of elements of a total power of one whose waves are this share of a turn apart.
fn array_factor(elements: u32, turns: f64) -> Decibel {
    let phase = core::f64::consts::PI * turns;
    let (k, sine) = (f64::from(elements), libm::sin(phase));
    // The sum of the geometric series: sin(Kφ) / sin(φ), whose limit at φ = 0 is K.
    let sum = if sine.abs() < 1e-9 { k } else { libm::sin(k * phase) / sine };
    Decibel::from_linear(sum * sum / k)
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
        close(Panel::ELEMENT.gain(90.0, 0.0), 8.0);
        // 12 (32.5 / 65)² = 3 dB in each cut.
        close(Panel::ELEMENT.gain(122.5, 0.0), 5.0);
        close(Panel::ELEMENT.gain(90.0, -32.5), 5.0);
        close(Panel::ELEMENT.gain(122.5, 360.0 + 32.5), 2.0);
        // Behind: 30 dB, also where both cuts are attenuated.
        close(Panel::ELEMENT.gain(90.0, 180.0), -22.0);
        close(Panel::ELEMENT.gain(0.0, 180.0), -22.0);
    }

    #[test]
    fn a_column_by_hand() {
        let column = Panel::new(10, 1, 102.0);
        // In its beam ten elements add 10 dB; the element loses 12 (12 / 65)² = 0.409 dB.
        close(column.vertical_factor(102.0), 10.0);
        close(column.gain(102.0, 0.0), 8.0 + 10.0 - 0.409);
        // Zeros where K d (cos θ - cos θ_tilt) is an integer: cos θ = cos 102° + 0.2, θ = 90.453°.
        let zero = libm::acos(libm::cos(102.0_f64.to_radians()) + 0.2).to_degrees();
        assert!(column.vertical_factor(zero).0 < -100.0);
        // Between: at 90°, φ = π 0.5 · 0.20791 = 0.32659, (sin 3.2659 / sin 0.32659)² / 10 = 0.01493.
        close(column.vertical_factor(90.0), 10.0 * libm::log10(0.014_93));
    }

    #[test]
    fn columns_by_hand() {
        let panel = Panel::new(4, 4, 102.0);
        // In its beam, sixteen elements add 12.041 dB.
        close(panel.gain(102.0, 0.0), 8.0 + 12.041 - 0.409);
        // Four columns have a zero where 4 d sin φ = 1: at 30 degrees to the side, on the horizon.
        assert!(panel.horizontal_factor(90.0, 30.0).0 < -100.0);
        // At 90 degrees, neighbours are half a turn apart: (sin 2π / sin π/2)² / 4, a zero again; with two columns too.
        assert!(panel.horizontal_factor(90.0, 90.0).0 < -100.0);
        // At 15 degrees: φ = π 0.5 · 0.25882 = 0.40655, (sin 1.62621 / sin 0.40655)² / 4 = (0.99847 / 0.39545)² / 4.
        close(panel.horizontal_factor(90.0, 15.0), 10.0 * libm::log10(1.593_78));
        // Above the panel all columns are in phase.
        close(panel.horizontal_factor(0.0, 40.0), 6.0206);
    }
}
