//! Reads the reference tables under `data/`; for tests only.

/// The rows of a CSV whose first field is a number; other fields that are not numbers become NaN.
pub(crate) fn rows(text: &str) -> Vec<Vec<f64>> {
    text.lines()
        .map(|line| line.split(',').map(|field| field.parse().unwrap_or(f64::NAN)).collect::<Vec<f64>>())
        .filter(|row| row[0].is_finite())
        .collect()
}
